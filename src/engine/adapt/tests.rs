//! Adaptive limits over simulated paths, in virtual time.

use std::time::Duration;

use super::*;
use crate::engine::testing::{Bucket, Simulation, protocol, settings};
use crate::engine::{Auto, Plan, Rate};
use crate::farm::link::LinkSettings;
use crate::farm::{FarmSettings, Share};

const MS: Duration = Duration::from_millis(1);

/// Servers 40 ms away, of which `silent` percent never answer.
fn farm(servers: u32, silent: f64) -> FarmSettings {
    let link = LinkSettings { delay: 20 * MS, ..LinkSettings::default() };
    FarmSettings { servers, silent: Share::percent(silent), link, ..FarmSettings::default() }
}

fn scan(auto: Auto, farm: FarmSettings) -> Simulation {
    let rate = Rate { packets: auto.rate.then_some(50_000.0), bits: None };
    let window = if auto.window { 65_536 } else { 200_000 };
    Simulation::new(Settings { window, rate, auto, ..settings() }, Plan::of(protocol("a2s")), farm)
}

fn rate_only(farm: FarmSettings) -> Simulation {
    scan(Auto { window: false, rate: true }, farm)
}

fn window_only(farm: FarmSettings) -> Simulation {
    scan(Auto { window: true, rate: false }, farm)
}

/// Datagrams a second that left in the seconds from `from` to `to`.
fn mean(scan: &Simulation, from: u64, to: u64) -> f64 {
    let range = Duration::from_secs(from)..Duration::from_secs(to);
    scan.sent.iter().filter(|(at, _)| range.contains(at)).count() as f64 / (to - from) as f64
}

fn rate(scan: &Simulation) -> LimitHistory {
    scan.engine.adapted().unwrap().rate.unwrap()
}

fn window(scan: &Simulation) -> LimitHistory {
    scan.engine.adapted().unwrap().window.unwrap()
}

#[test]
fn the_rate_settles_below_what_the_path_takes_and_follows_when_it_takes_more() {
    // The second path takes half of what the rate begins with, so that loss is all that is known of it at first.
    for (takes, most) in [(3_000.0, 1.1), (1_000.0, 1.6)] {
        let mut scan = rate_only(farm(200_000, 40.0));
        scan.world().path = Some(Bucket::new(takes, 50));
        scan.run_until(Duration::from_secs(40));
        let before = mean(&scan, 10, 40);
        assert!((0.5 * takes..most * takes).contains(&before), "{before} of {takes}");
        scan.world().path = Some(Bucket::new(2.0 * takes, 50));
        scan.run_until(Duration::from_mins(1));
        let after = mean(&scan, 45, 60);
        assert!((takes..most * 2.0 * takes).contains(&after), "{after} of twice {takes}");
        let LimitHistory { start, least, greatest, increases, decreases, changes, .. } = rate(&scan);
        assert_eq!(start, 2_000);
        assert!(least as f64 >= takes / 4.0 && greatest as f64 <= takes * 4.0, "{least} to {greatest}");
        let because = |reason| changes.iter().filter(|change| change.reason == reason).count() as u64;
        assert!(because(Trigger::Grown) > 3 && increases > because(Trigger::Grown), "{changes:?}");
        assert!(decreases == because(Trigger::Silence) && decreases > 3, "{changes:?}");
    }
}

#[test]
fn a_path_that_takes_everything_lets_the_rate_grow_to_its_bound_and_no_further() {
    let settings = Settings {
        auto: Auto { window: true, rate: true },
        rate: Rate { packets: Some(5_000.0), bits: None },
        ..settings()
    };
    let mut scan = Simulation::new(settings, Plan::of(protocol("a2s")), farm(50_000, 40.0));
    scan.run_until(Duration::from_secs(13));
    let LimitHistory { end, greatest, decreases, .. } = rate(&scan);
    assert_eq!((end, greatest, decreases), (5_000, 5_000, 0));
    assert!(busiest(&scan, 100 * MS) <= 526, "{}", busiest(&scan, 100 * MS));
}

/// Most datagrams that left in any window of `length`.
fn busiest(scan: &Simulation, length: Duration) -> usize {
    let sent = &scan.sent;
    (0..sent.len()).map(|i| sent[i..].partition_point(|(at, _)| *at < sent[i].0 + length)).max().unwrap_or(0)
}

#[test]
fn a_rate_that_is_not_reached_does_not_grow() {
    let mut scan = rate_only(farm(5_000, 0.0));
    // One target in flight 40 ms away is 25 targets a second.
    scan.engine = {
        let targets = crate::engine::testing::List::of((0..5_000).map(|index| scan.farm().address(index)));
        let rate = Rate { packets: Some(50_000.0), bits: None };
        let settings = Settings { auto: Auto { window: false, rate: true }, rate, window: 16, ..settings() };
        crate::engine::Engine::new(settings, vec![Plan::of(protocol("a2s"))].into(), Box::new(targets), scan.now)
    };
    scan.run_until(Duration::from_secs(6));
    assert!(mean(&scan, 1, 6) > 300.0, "some hundreds a second leave: {}", mean(&scan, 1, 6));
    assert_eq!((rate(&scan).increases, rate(&scan).end), (0, 2_000));
}

#[test]
fn a_receive_buffer_that_drops_makes_the_window_shrink_and_what_is_fixed_stays() {
    let run = |auto| {
        let mut scan = scan(Auto { window: auto, rate: false }, farm(20_000, 0.0));
        scan.world().buffer = Some(Bucket::new(5_000.0, 100));
        let mut most = 0;
        while scan.turn() {
            most = most.max(scan.engine.snapshot().in_flight);
        }
        (most, scan.ledger().datagrams.dropped_by_kernel, scan.engine.adapted())
    };
    let (most, dropped_if_fixed, adapted) = run(false);
    assert_eq!((most, adapted), (20_000, None));
    let (most, dropped, adapted) = run(true);
    let LimitHistory { start, end, least, greatest, changes, .. } = adapted.unwrap().window.unwrap();
    assert_eq!((most as u64, start, greatest), (1_000, 1_000, 1_000));
    assert!(dropped * 10 < dropped_if_fixed, "{dropped} and {dropped_if_fixed}");
    assert!(least >= 64 && end < 500, "{changes:?}");
    assert_eq!((changes[0].reason, changes[0].value), (Trigger::Dropped, 500));
    assert!(changes.iter().any(|change| change.reason == Trigger::Grown), "it is tried again: {changes:?}");
}

#[test]
fn hosts_that_are_silent_do_not_make_the_window_shrink() {
    for (silent, grown) in [(40.0, 5_000), (95.0, 1_200)] {
        let mut scan = window_only(farm(30_000, silent));
        scan.run_until(Duration::from_secs(12));
        let LimitHistory { start, end, decreases, .. } = window(&scan);
        assert!(start == 1_000 && end > grown && decreases == 0, "{silent} %: {:?}", window(&scan));
    }
}

#[test]
fn the_window_begins_with_what_the_receive_buffer_holds() {
    for (bytes, begins) in [(8 << 10, 64), (230_400, 100), (32 << 20, 1_000)] {
        let mut scan = window_only(farm(10, 0.0));
        scan.engine.handle_receive_buffer(bytes);
        assert_eq!((scan.engine.snapshot().window, window(&scan).start), (Some(begins), begins as u64));
    }
}

#[test]
fn a_full_send_queue_halves_both_limits_no_more_than_five_times_a_second() {
    let mut scan = scan(Auto { window: true, rate: true }, farm(10_000, 0.0));
    let begun = scan.began;
    for ms in 1..=1_000 {
        scan.engine.handle_blocked();
        scan.engine.handle_timeout(begun + ms * MS);
    }
    let Adapted { window, rate } = scan.engine.adapted().unwrap();
    let (window, rate) = (window.unwrap(), rate.unwrap());
    assert_eq!((window.end, window.decreases), (64, 4), "500, 250, 125, and no less than 64");
    assert_eq!((rate.end, rate.decreases), (100, 5), "1000, 500, 250, 125, and no less than 100");
    assert!(window.changes.iter().chain(&rate.changes).all(|change| change.reason == Trigger::Refused));
}
