//! A window and a rate that find their own size: they grow evenly while nothing is lost, and are halved when something is.
//!
//! What is lost on this machine (a full receive buffer, a full send queue) is reported and acted on at once. What is lost
//! on the way is silence, and so is a host that is not there: of a usual list a third is silent, and that says nothing. So
//! it is not silence that counts but a rise of it. Datagrams are counted in cohorts, by the time at which they were sent;
//! a cohort is judged one time-out later, when all of it is answered or silent, and only if it was sent after the last
//! decrease: what was sent before is no evidence against what is in force now. First datagrams and follow-ups, which go
//! to hosts that are there, are told apart, since they are never silent equally often; retries are not counted.
//!
//! A run that begins above what the way takes knows nothing but loss, and takes it for usual. Therefore, where follow-ups
//! are usually silent (or first datagrams, if there are no follow-ups), some decreases go twice as deep, to see whether
//! that ends it.
//!
//! A limit grows only where it was the limit, by a share of itself a second; the share is taken anew at each doubling.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::flight::Cause;
use super::settings::Settings;
use crate::ledger::Datagrams;

/// What limits did that found their own size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adapted {
    /// Targets in flight, if the window adapted.
    pub window: Option<Course>,
    /// Datagrams a second, if the rate adapted.
    pub rate: Option<Course>,
}

/// How one limit changed during a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Course {
    /// Its first value.
    pub start: u64,
    /// Its last value.
    pub end: u64,
    /// Its least value.
    pub least: u64,
    /// Its greatest value.
    pub greatest: u64,
    /// How often it grew.
    pub increases: u64,
    /// How often it was halved.
    pub decreases: u64,
    /// The first 500 changes; increases in a row are one.
    pub changes: Vec<Change>,
}

/// A change of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Seconds from the beginning of the run; of several increases those of the last.
    pub seconds: f64,
    /// The value from then on.
    pub value: u64,
    /// Why.
    pub reason: Reason,
}

/// Why a limit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It was reached, and nothing was lost.
    Grown,
    /// The kernel dropped what came because a receive buffer was full.
    Dropped,
    /// The system had no room for what was to be sent.
    Refused,
    /// More than usual stayed unanswered.
    Silence,
}

/// Adapts the window, the rate, or both.
#[derive(Debug)]
pub(super) struct Adaptive {
    window: Option<Limit>,
    rate: Option<Limit>,
    began: Instant,
    timeout: Duration,
    /// Those that are not judged yet, oldest first: as many as a time-out has room for.
    cohorts: VecDeque<Cohort>,
    first: Silence,
    follow_ups: Silence,
    decreased: Option<Instant>,
    /// Decreases because of silence.
    rises: u32,
    /// What was counted before.
    dropped: u64,
    refused: u64,
}

impl Adaptive {
    /// What `settings` want adapted, if they want anything.
    pub(super) fn new(settings: &Settings, now: Instant) -> Option<Self> {
        let auto = settings.auto;
        let most = settings.rate.packets.unwrap_or(f64::INFINITY);
        (auto.window || auto.rate).then(|| Self {
            window: auto.window.then(|| Limit::new(FIRST_WINDOW, LEAST_WINDOW, settings.window as f64)),
            rate: auto.rate.then(|| Limit::new(FIRST_RATE, LEAST_RATE, most)),
            began: now,
            timeout: settings.timeout,
            cohorts: VecDeque::new(),
            first: Silence::default(),
            follow_ups: Silence::default(),
            decreased: None,
            rises: 0,
            dropped: 0,
            refused: 0,
        })
    }

    /// Targets that may be in flight, if that adapts.
    pub(super) fn window(&self) -> Option<usize> {
        self.window.as_ref().map(|window| window.value as usize)
    }

    /// Datagrams that may leave in a second, if that adapts.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.as_ref().map(|rate| rate.value)
    }

    pub(super) fn adapted(&self) -> Adapted {
        let course = |limit: &Option<Limit>| limit.as_ref().map(|limit| limit.course.clone());
        Adapted { window: course(&self.window), rate: course(&self.rate) }
    }

    /// Begins with no more targets in flight than `bytes` of receive buffers hold answers, should all come at once.
    pub(super) fn begin_within(&mut self, bytes: usize) {
        if let Some(window) = &mut self.window {
            *window = Limit::new(((bytes / ANSWER) as f64).min(FIRST_WINDOW), LEAST_WINDOW, window.most);
        }
    }

    /// Takes the news that a datagram leaves.
    pub(super) fn handle_sent(&mut self, now: Instant, cause: Cause) {
        let number = self.number(now);
        if self.cohorts.back().is_none_or(|cohort| cohort.number < number) {
            self.close();
            self.cohorts.push_back(Cohort { number, ..Cohort::default() });
        }
        if let Some(cohort) = self.cohorts.back_mut() {
            cohort.all += 1;
            cohort.of(cause).iter_mut().for_each(|count| count.sent += 1);
        }
    }

    /// Takes the news that the system had no room for the last datagram of a flight, which `left` for `cause`.
    pub(super) fn handle_unsent(&mut self, left: Instant, cause: Cause) {
        self.count(left, cause, |count| count.sent = count.sent.saturating_sub(1));
    }

    /// Takes the news that the first try of a step, which `left` for `cause`, stayed unanswered.
    pub(super) fn handle_silence(&mut self, left: Instant, cause: Cause) {
        self.count(left, cause, |count| count.silent += 1);
    }

    /// Takes the news that a target could not begin because the window was full.
    pub(super) fn handle_full_window(&mut self) {
        if let Some(cohort) = self.cohorts.back_mut() {
            cohort.window_full = true;
        }
    }

    /// Judges what is known at `now`, after all deadlines until then; true if a limit has changed.
    pub(super) fn judge(&mut self, now: Instant, datagrams: &Datagrams) -> bool {
        let before = (self.window(), self.rate());
        let refused = datagrams.congested + datagrams.blocked;
        let lost = if datagrams.dropped_by_kernel > self.dropped {
            Some(Reason::Dropped)
        } else {
            (refused > self.refused).then_some(Reason::Refused)
        };
        (self.dropped, self.refused) = (datagrams.dropped_by_kernel, refused);
        if let Some(reason) = lost
            && self.decreased.is_none_or(|at| at + PAUSE <= now)
        {
            self.decrease(now, reason);
        }
        // Bounded by the cohorts.
        while let Some(cohort) = self.cohorts.front() {
            let began = self.began + self.cohort_length() * cohort.number;
            if began + self.cohort_length() + self.timeout > now {
                break;
            }
            let Some(cohort) = self.cohorts.pop_front() else { break };
            if self.decreased.is_none_or(|at| at <= began) {
                self.weigh(&cohort, now);
            }
        }
        before != (self.window(), self.rate())
    }

    fn weigh(&mut self, cohort: &Cohort, now: Instant) {
        let verdicts = [self.first.weigh(cohort.first), self.follow_ups.weigh(cohort.follow_ups)];
        if verdicts.contains(&Some(Verdict::Risen)) {
            self.decrease(now, Reason::Silence);
            return;
        }
        let (length, at) = (self.cohort_length(), now - self.began);
        let known = verdicts.contains(&Some(Verdict::Usual));
        for (limit, reached) in [(&mut self.window, cohort.window_full), (&mut self.rate, cohort.rate_reached)] {
            if let Some(limit) = limit {
                limit.unproven += if reached { length } else { Duration::ZERO };
                if known {
                    limit.grow(at);
                }
            }
        }
    }

    fn decrease(&mut self, now: Instant, reason: Reason) {
        let probes = reason == Reason::Silence && self.may_be_ours() && self.rises.is_multiple_of(PROBE_EVERY);
        self.rises += u32::from(reason == Reason::Silence);
        self.decreased = Some(now);
        self.first.forget();
        self.follow_ups.forget();
        let at = now - self.began;
        let parts = if probes { 4.0 } else { 2.0 };
        self.window.iter_mut().chain(&mut self.rate).for_each(|limit| limit.divide(parts, at, reason));
    }

    /// True if the silence that seems usual may be loss that never ended: there is some where there should be none.
    fn may_be_ours(&self) -> bool {
        self.follow_ups.usual.or(self.first.usual).is_some_and(|usual| usual > LEAST_RISE)
    }

    /// The last cohort is complete: was the rate what limited it?
    fn close(&mut self) {
        let length = self.cohort_length().as_secs_f64();
        if let (Some(cohort), Some(rate)) = (self.cohorts.back_mut(), &self.rate) {
            cohort.rate_reached = f64::from(cohort.all) >= REACHED * rate.value * length;
        }
    }

    fn count(&mut self, left: Instant, cause: Cause, change: impl Fn(&mut Count)) {
        let number = self.number(left);
        // Bounded by the cohorts of a time-out.
        let cohort = self.cohorts.iter_mut().find(|cohort| cohort.number == number);
        cohort.into_iter().filter_map(|cohort| cohort.of(cause)).for_each(change);
    }

    /// A tenth of a time-out, so that few are open at a time.
    fn cohort_length(&self) -> Duration {
        (self.timeout / 10).max(SHORTEST_COHORT)
    }

    fn number(&self, at: Instant) -> u32 {
        (at.saturating_duration_since(self.began).as_nanos() / self.cohort_length().as_nanos()) as u32
    }
}

/// Datagrams that were sent within a short time.
#[derive(Debug, Default)]
struct Cohort {
    /// The first one is 0.
    number: u32,
    /// Retries too.
    all: u32,
    first: Count,
    follow_ups: Count,
    window_full: bool,
    rate_reached: bool,
}

impl Cohort {
    fn of(&mut self, cause: Cause) -> Option<&mut Count> {
        match cause {
            Cause::First => Some(&mut self.first),
            Cause::FollowUp => Some(&mut self.follow_ups),
            Cause::Retry => None,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    sent: u32,
    silent: u32,
}

/// How much of what is sent stays unanswered: lately, and usually.
#[derive(Debug, Default)]
struct Silence {
    lately: Count,
    usual: Option<f64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Usual,
    Risen,
}

impl Silence {
    /// Adds what a cohort had of it; a verdict, once there are enough for one.
    fn weigh(&mut self, count: Count) -> Option<Verdict> {
        self.lately.sent += count.sent;
        self.lately.silent += count.silent;
        if self.lately.sent < ENOUGH {
            return None;
        }
        let Count { sent, silent } = std::mem::take(&mut self.lately);
        let share = f64::from(silent) / f64::from(sent);
        let usual = self.usual.unwrap_or(share);
        // Two samples of about this size from one population seldom differ by so many standard errors.
        let of_both = f64::midpoint(share, usual);
        let error = (2.0 * of_both * (1.0 - of_both) / f64::from(sent)).max(0.0).sqrt();
        let risen = share > usual + LEAST_RISE.max(SURE * error);
        // What stays so after some decreases does not come from the pace, and becomes usual.
        let weight = if risen || share < usual { QUICK } else { SLOW };
        self.usual = Some(usual + weight * (share - usual));
        Some(if risen { Verdict::Risen } else { Verdict::Usual })
    }

    fn forget(&mut self) {
        self.lately = Count::default();
    }
}

/// A number that grows and is halved.
#[derive(Debug)]
struct Limit {
    value: f64,
    least: f64,
    most: f64,
    /// What it grows by in a second is a share of this.
    base: f64,
    share: f64,
    /// For so long it was reached, without a verdict.
    unproven: Duration,
    course: Course,
}

impl Limit {
    fn new(start: f64, least: f64, most: f64) -> Self {
        let start = start.max(least).min(most);
        let value = start.round() as u64;
        Self {
            value: start,
            least: least.min(most),
            most,
            base: start,
            share: EARLY_SHARE,
            unproven: Duration::ZERO,
            course: Course {
                start: value,
                end: value,
                least: value,
                greatest: value,
                increases: 0,
                decreases: 0,
                changes: Vec::new(),
            },
        }
    }

    fn grow(&mut self, at: Duration) {
        let time = std::mem::take(&mut self.unproven).min(LONGEST_GROWTH);
        if self.value >= self.base * 2.0 {
            self.base = self.value;
        }
        self.change((self.value + self.share * self.base * time.as_secs_f64()).min(self.most), at, Reason::Grown);
    }

    fn divide(&mut self, parts: f64, at: Duration, reason: Reason) {
        self.unproven = Duration::ZERO;
        self.share = LATER_SHARE;
        self.change((self.value / parts).max(self.least), at, reason);
        self.base = self.value;
    }

    fn change(&mut self, value: f64, at: Duration, reason: Reason) {
        if value.total_cmp(&self.value).is_eq() {
            return;
        }
        self.value = value;
        let value = value.round() as u64;
        let course = &mut self.course;
        course.end = value;
        course.least = course.least.min(value);
        course.greatest = course.greatest.max(value);
        let grown = reason == Reason::Grown;
        *(if grown { &mut course.increases } else { &mut course.decreases }) += 1;
        let change = Change { seconds: at.as_secs_f64(), value, reason };
        let again = grown && course.changes.last().is_some_and(|last| last.reason == Reason::Grown);
        if again {
            course.changes.pop();
        }
        if course.changes.len() < MOST_CHANGES {
            course.changes.push(change);
        }
    }
}

/// Targets in flight, at first.
const FIRST_WINDOW: f64 = 1_000.0;
/// The least number of targets in flight that adapts.
pub const LEAST_WINDOW: f64 = 64.0;
/// Datagrams a second, at first.
const FIRST_RATE: f64 = 2_000.0;
/// The least rate that adapts, in datagrams a second.
pub const LEAST_RATE: f64 = 100.0;
/// Bytes of a receive buffer that a short answer takes from a usual network card.
const ANSWER: usize = 2304;
/// What a limit grows by in a second: until it is halved for the first time, and from then on.
const EARLY_SHARE: f64 = 0.5;
const LATER_SHARE: f64 = 0.25;
/// A verdict makes a limit grow for no longer than this.
const LONGEST_GROWTH: Duration = Duration::from_secs(1);
/// A rate was reached when so much of it was used.
const REACHED: f64 = 0.75;
/// What is lost here halves a limit no more often than this: answers to what was sent before are still on their way.
const PAUSE: Duration = Duration::from_millis(200);
/// Datagrams that make a verdict.
const ENOUGH: u32 = 400;
/// Standard errors that are no accident: with some ten verdicts a second, one in an hour or two is.
const SURE: f64 = 3.5;
/// A rise of silence that is worth halving the pace.
const LEAST_RISE: f64 = 0.02;
/// Of so many decreases because of silence the first goes twice as deep, where it is not clear that nothing is lost before.
const PROBE_EVERY: u32 = 4;
/// How much a verdict moves what is usual: one of less silence or of a rise, and one of a little more silence. A pace that
/// grows must not drag it along, or nothing would ever be a rise.
const QUICK: f64 = 1.0 / 8.0;
const SLOW: f64 = 1.0 / 64.0;
/// Time-outs are never so short that cohorts need to be shorter.
const SHORTEST_COHORT: Duration = Duration::from_millis(1);
/// Changes that are kept; the others are counted.
const MOST_CHANGES: usize = 500;

#[cfg(test)]
mod tests {
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

    fn rate(scan: &Simulation) -> Course {
        scan.engine.adapted().unwrap().rate.unwrap()
    }

    fn window(scan: &Simulation) -> Course {
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
            let Course { start, least, greatest, increases, decreases, changes, .. } = rate(&scan);
            assert_eq!(start, 2_000);
            assert!(least as f64 >= takes / 4.0 && greatest as f64 <= takes * 4.0, "{least} to {greatest}");
            let because = |reason| changes.iter().filter(|change| change.reason == reason).count() as u64;
            assert!(because(Reason::Grown) > 3 && increases > because(Reason::Grown), "{changes:?}");
            assert!(decreases == because(Reason::Silence) && decreases > 3, "{changes:?}");
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
        let Course { end, greatest, decreases, .. } = rate(&scan);
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
        let Course { start, end, least, greatest, changes, .. } = adapted.unwrap().window.unwrap();
        assert_eq!((most as u64, start, greatest), (1_000, 1_000, 1_000));
        assert!(dropped * 10 < dropped_if_fixed, "{dropped} and {dropped_if_fixed}");
        assert!(least >= 64 && end < 500, "{changes:?}");
        assert_eq!((changes[0].reason, changes[0].value), (Reason::Dropped, 500));
        assert!(changes.iter().any(|change| change.reason == Reason::Grown), "it is tried again: {changes:?}");
    }

    #[test]
    fn hosts_that_are_silent_do_not_make_the_window_shrink() {
        for (silent, grown) in [(40.0, 5_000), (95.0, 1_200)] {
            let mut scan = window_only(farm(30_000, silent));
            scan.run_until(Duration::from_secs(12));
            let Course { start, end, decreases, .. } = window(&scan);
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
        assert!(window.changes.iter().chain(&rate.changes).all(|change| change.reason == Reason::Refused));
    }

    #[test]
    fn only_a_rise_that_is_sure_is_a_rise() {
        let count = |sent, silent| Count { sent, silent };
        let mut silence = Silence::default();
        assert_eq!(silence.weigh(count(399, 399)), None, "too few");
        let mut silence = Silence::default();
        assert_eq!(silence.weigh(count(400, 120)), Some(Verdict::Usual));
        // Two samples of 400 with a share of a third differ by 3.3 % usually, and by 11.6 % at 3.5 times that.
        assert_eq!(silence.weigh(count(400, 160)), Some(Verdict::Usual));
        assert_eq!(silence.weigh(count(400, 172)), Some(Verdict::Risen));
        let mut silence = Silence::default();
        assert_eq!(silence.weigh(count(100_000, 30_000)), Some(Verdict::Usual));
        assert_eq!(silence.weigh(count(100_000, 31_900)), Some(Verdict::Usual), "sure, and not worth it");
        assert_eq!(silence.weigh(count(100_000, 32_100)), Some(Verdict::Risen));
        // What does not end becomes usual.
        let rises = (0..50).take_while(|_| silence.weigh(count(1_000, 900)) == Some(Verdict::Risen)).count();
        assert!((5..20).contains(&rises), "{rises}");
    }

    #[test]
    fn changes_are_kept_up_to_a_number_and_counted_beyond() {
        let mut limit = Limit::new(1_000.0, 64.0, 65_536.0);
        for second in 0..1_000 {
            limit.unproven = Duration::from_millis(500);
            limit.grow(Duration::from_secs(second));
            limit.unproven = Duration::from_millis(500);
            limit.grow(Duration::from_secs(second));
            if second % 2 == 1 {
                limit.divide(2.0, Duration::from_secs(second), Reason::Dropped);
            }
        }
        let Course { increases, decreases, changes, .. } = limit.course;
        assert_eq!((increases, decreases, changes.len()), (2_000, 500, MOST_CHANGES));
        let reasons = changes.iter().map(|change| change.reason);
        assert!(reasons.eq([Reason::Grown, Reason::Dropped].into_iter().cycle().take(MOST_CHANGES)));
        assert!(changes[0].seconds > 0.9 && changes[0].value == 2_000, "the last of four increases: {:?}", changes[0]);
    }
}
