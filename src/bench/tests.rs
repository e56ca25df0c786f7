//! Rounds in virtual time, and rounds that are made up.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::find::SearchResult;
use super::metrics::{Metric, Spread};
use super::*;
use crate::engine::testing::{List, Simulation, protocol, settings, start};
use crate::engine::{Engine, Plan, Rate, Settings, Snapshot};
use crate::farm::link::LinkSettings;
use crate::farm::{Farm, FarmSettings, Share};
use crate::ledger::{Datagrams, StatusCounts, Targets};
use crate::record::Status;
use crate::target::Target;

const MS: Duration = Duration::from_millis(1);

/// A round of one second in which `answered` of `queries` were answered after a millisecond, and the others never.
pub(super) fn round(queries: u64, answered: u64) -> Round {
    let mut collected = Collector::new(None).finish();
    let now = start();
    (0..answered).for_each(|_| collected.statuses.add(Status::Ok));
    (answered..queries).for_each(|_| collected.statuses.add(Status::Timeout));
    collected.actual.record_n(1_000, answered).unwrap();
    (collected.first, collected.last_answer) = (Some(now), Some(now + 1_000 * MS));
    let snapshot = snapshot(Datagrams { sent: queries, received: answered, ..Datagrams::default() });
    Round::new(None, None, collected, &snapshot, Default::default())
}

fn snapshot(datagrams: Datagrams) -> Snapshot {
    let targets = Targets::default();
    Snapshot {
        targets,
        datagrams,
        answered: 0,
        printed: 0,
        in_flight: 0,
        unlogged: 0,
        growing: false,
        not_started: 0,
        exhausted: true,
        window: None,
        rate: None,
    }
}

fn collect(rate: f64, scan: &Simulation) -> Collected {
    let mut collector = Collector::new(Some(rate));
    scan.finished.iter().for_each(|finished| collector.add(finished));
    collector.finish()
}

/// 4,000 servers without challenges, 40 ms away, at 1,000/s.
fn scan(stall: Option<(Duration, Duration)>) -> Simulation {
    let link = LinkSettings { delay: 20 * MS, ..LinkSettings::default() };
    let farm = FarmSettings { servers: 4_000, challenge: Share::default(), link, ..FarmSettings::default() };
    let settings = Settings { rate: Rate { packets: Some(1_000.0), bits: None }, ..settings() };
    let mut scan = Simulation::new(settings, Plan::of(protocol("a2s")), farm);
    scan.stall = stall;
    scan.run();
    scan
}

#[test]
fn a_stall_that_the_actual_send_hides_shows_from_the_planned_one() {
    let even = collect(1_000.0, &scan(None));
    assert_eq!((even.answered(), even.not_sent), (4_000, 0));
    // A batch of 4 ms leaves at once, so that the first of it is late by as much.
    let (actual, planned) = (even.actual.max(), even.planned.max());
    assert!(planned <= actual + 5_000, "{planned} µs, {actual} µs");

    let stalled = collect(1_000.0, &scan(Some((1_000 * MS, 3_000 * MS))));
    assert_eq!(stalled.answered(), 4_000);
    assert!(stalled.actual.max() <= actual + 100, "nobody was asked meanwhile: {} µs", stalled.actual.max());
    // Of the datagrams of three seconds a tolerance of 5 ms was made up.
    assert!((2_985..=3_000).contains(&stalled.not_sent), "{}", stalled.not_sent);
    assert_eq!(stalled.planned.len(), 4_000 + stalled.not_sent);
    let p50 = stalled.planned.value_at_quantile(0.5);
    let p99 = stalled.planned.value_at_quantile(0.99);
    assert!(p50 < 60_000, "more than half came at their time: {p50} µs");
    // The slowest 1 % of 7,000 waited 70 ms less than the whole stall.
    assert!((2_900_000..3_050_000).contains(&p99), "{p99} µs");
}

#[test]
fn queries_that_were_not_sent_are_counted_in_queries_and_not_in_datagrams() {
    let farm = FarmSettings { servers: 2_000, challenge: Share::percent(100.0), ..FarmSettings::default() };
    let settings = Settings { rate: Rate { packets: Some(1_000.0), bits: None }, ..settings() };
    let mut scan = Simulation::new(settings, Plan::of(protocol("a2s")), farm);
    scan.stall = Some((1_000 * MS, 1_000 * MS));
    scan.run();
    let collected = collect(1_000.0, &scan);
    assert!((480..=510).contains(&collected.not_sent), "two datagrams a query: {}", collected.not_sent);
}

#[test]
fn what_never_left_is_lost_like_what_was_refused() {
    let scheduled = |queries, datagrams| {
        Some(Schedule { planned: 2_000 * MS, time: 2_000 * MS, queries, sent: datagrams, received: queries })
    };
    let of = |statuses: &[(Status, u64)], rate, schedule| {
        let mut collected = Collector::new(rate).finish();
        for &(status, count) in statuses {
            (0..count).for_each(|_| collected.statuses.add(status));
        }
        Round::new(rate, schedule, collected, &snapshot(Datagrams::default()), Default::default())
    };
    let value = |round: &Round, name: &str| (Metric::named(name).unwrap().of)(round).unwrap();
    // A thousand were planned; a closed port refuses each of them.
    let refused = of(&[(Status::Refused, 1_000)], Some(500.0), scheduled(1_000, 1_000));
    assert_eq!((refused.not_sent, refused.loss(), value(&refused, "failed_percent")), (0, 100.0, 100.0));
    // A quarter never left, and a quarter of what was planned was refused.
    let half = of(&[(Status::Ok, 500), (Status::Refused, 250)], Some(500.0), scheduled(750, 750));
    assert_eq!((half.not_sent, half.loss()), (250, 50.0));
    assert_eq!((value(&half, "not_sent_percent"), value(&half, "answered_percent")), (25.0, 50.0));
    assert_eq!(half.answers_per_second().to_string(), "250", "over the time of the schedule");
    // With two datagrams a query, half as many were planned.
    let two = of(&[(Status::Ok, 400)], Some(500.0), scheduled(400, 800));
    assert_eq!((two.not_sent, two.loss()), (100, 20.0));
    let whole = of(&[(Status::Ok, 500)], Some(500.0), scheduled(500, 1_000));
    assert_eq!((whole.not_sent, whole.loss()), (0, 0.0));
    // Nothing was planned where everything leaves that can.
    assert_eq!(of(&[(Status::Ok, 5)], None, scheduled(5, 5)).not_sent, 0);
}

#[test]
fn going_round_asks_every_address_as_often_if_they_are_alike() {
    // All alike: one that needs a challenge sent back is free later, and asked less often.
    let farm = FarmSettings { servers: 50, challenge: Share::default(), ..FarmSettings::default() };
    let farm = Farm::new(farm, 27_015, 27_016);
    let targets: Vec<_> = (0..50).map(|index| Target { address: farm.address(index), plan: 0, origin: 0 }).collect();
    let mut scan = Simulation::with_targets(settings(), vec![Plan::of(protocol("a2s"))], farm, List::of([]));
    let circle = Circle::new(&targets, Some(500), Bell::default());
    scan.engine = Engine::new(settings(), vec![Plan::of(protocol("a2s"))].into(), Box::new(circle), scan.now);
    while scan.turn() {}
    let mut asked: HashMap<SocketAddr, u32> = HashMap::new();
    scan.finished.iter().for_each(|finished| *asked.entry(finished.address).or_default() += 1);
    assert_eq!(asked.len(), 50);
    assert!(asked.values().all(|&count| count == 10), "{asked:?}");
    assert_eq!(scan.count(Status::Ok), 500);
    assert_eq!(scan.ledger().targets.scheduled, 500);
}

#[test]
fn every_query_is_in_one_class_whatever_the_counters_say() {
    for (late, dropped) in [(0, 0), (3, 4), (50, 4), (3, 50), (50, 50)] {
        let mut statuses = StatusCounts::default();
        let counts = [(Status::Ok, 80), (Status::Timeout, 12), (Status::SendError, 3), (Status::Refused, 5)];
        for (status, count) in counts {
            (0..count).for_each(|_| statuses.add(status));
        }
        let collected = Collected { statuses, ..Collector::new(None).finish() };
        let datagrams = Datagrams { late, dropped_by_kernel: dropped, ..Datagrams::default() };
        let round = Round::new(None, None, collected, &snapshot(datagrams), Default::default());
        let Round { queries, answered, late, lost_there, lost_here, failed, .. } = round;
        assert_eq!((queries, answered, failed), (100, 80, 5));
        assert_eq!(queries, answered + late + lost_there + lost_here + failed);
        assert!(lost_here >= 3, "what the system did not send was lost here");
        assert!(!round.is_lossless());
    }
}

fn report(pace: Pace, rounds: Vec<Round>, found: Option<SearchResult>) -> Report {
    let about = About {
        program: "fragscan".into(),
        targets: 1,
        queries: "info".into(),
        timeout_ms: 1_000,
        retries: 0,
        window: 10,
        adaptive_window: false,
        io: "mmsg",
    };
    Report { about, pace, rounds, found }
}

#[test]
fn a_median_has_a_spread() {
    let rounds = [round(100, 90), round(100, 70), round(100, 80), round(100, 100)];
    let answered = Metric::named("answered").unwrap();
    assert_eq!(answered.spread(&rounds), Some(Spread { median: 85.0, min: 70.0, max: 100.0 }));
    assert_eq!(answered.spread(&rounds[..1]), Some(Spread { median: 90.0, min: 90.0, max: 90.0 }));
    assert_eq!(answered.spread(&[]), None);
}

#[test]
fn histograms_come_back_out_of_the_json() {
    use base64::Engine as _;
    let report = report(Pace::Fixed(None), vec![round(100, 60)], None);
    let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    let packed = value["rounds"][0]["histogram_us"]["actual"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
    let times: hdrhistogram::Histogram<u64> =
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!((times.len(), times.value_at_quantile(0.5)), (60, 1_000));
    assert_eq!(value["summary"]["loss_percent"]["median"], 40);
}

#[test]
fn a_ramp_is_judged_step_by_step_and_a_search_by_its_best_round() {
    let rounds = || vec![round(100, 100), round(200, 200), round(300, 250)];
    let ramp = report(Pace::Ramp(Ramp { from: 100.0, to: 300.0, steps: 3 }), rounds(), None);
    assert_eq!(ramp.judged().len(), 3);
    assert_eq!(ramp.summarised()[0].queries, 300, "it has the most answers a second");
    let search = report(Pace::FindMax, rounds(), Some(SearchResult { best: Some(1), plateau: None }));
    assert_eq!(search.judged()[0][0].queries, 200);
    assert!(text(&search).contains("highest rate without loss: 200 datagrams/s, 200 answers/s (round 2)"));
}
