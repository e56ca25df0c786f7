//! How fast datagrams leave: a hard upper bound that never bursts after a stall.
//!
//! The generic cell rate algorithm: each datagram moves a theoretical arrival time forward by its cost, and may leave
//! when that time is not in the future. The time never lags behind `now` by more than a small tolerance, so a short
//! delay is made up and a stall is forgotten: in any window of 100 ms no more than 105 % of the rate plus one datagram
//! leaves.

use std::time::{Duration, Instant};

/// Limits on what leaves in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rate {
    /// Datagrams a second; `None` is as fast as possible.
    pub packets: Option<f64>,
    /// Bits a second, with IP and UDP headers; `None` is as fast as possible.
    pub bits: Option<f64>,
}

/// Holds datagrams back so that a [`Rate`] is kept.
#[derive(Debug)]
pub struct Limiter {
    packets: Option<Cells>,
    bits: Option<Cells>,
}

impl Limiter {
    /// A limiter that has been idle before `now`.
    #[must_use]
    pub fn new(rate: Rate, now: Instant) -> Self {
        Self {
            packets: rate.packets.map(|rate| Cells::new(rate, 1, now)),
            bits: rate.bits.map(|rate| Cells::new(rate, TYPICAL_BITS, now)),
        }
    }

    /// True when a datagram may leave at `now`.
    #[must_use]
    pub fn is_ready(&mut self, now: Instant) -> bool {
        self.cells().all(|cells| cells.is_ready(now))
    }

    /// Counts a datagram of `payload` bytes that leaves now.
    pub fn charge(&mut self, payload: usize) {
        if let Some(packets) = &mut self.packets {
            packets.charge(1);
        }
        if let Some(bits) = &mut self.bits {
            bits.charge((payload + HEADERS) as u64 * 8);
        }
    }

    /// Lets `rate` datagrams leave in a second from `now` on. What may be made up is so in time, and not in datagrams, so that
    /// the bound holds over the change too, with the higher of the two rates.
    pub fn set_packets(&mut self, rate: f64, now: Instant) {
        match &mut self.packets {
            Some(packets) => packets.set(rate, 1, now),
            none => *none = Some(Cells::new(rate, 1, now)),
        }
    }

    /// When the datagram that may leave at `now` would have left if the caller were always on time; within the tolerance
    /// of `now`, whatever a stall lost, and `now` itself without a limit. Ask before it is charged.
    #[must_use]
    pub fn planned(&self, now: Instant) -> Instant {
        self.packets.iter().chain(&self.bits).map(|cells| cells.planned(now)).max().unwrap_or(now)
    }

    /// The time for datagrams that nobody sent, and that were not made up, since it was taken last.
    #[must_use]
    pub fn take_forgotten(&mut self) -> Duration {
        self.cells().map(Cells::take_forgotten).max().unwrap_or_default()
    }

    /// When it is worth asking again: not when the next single datagram may leave, but when a small batch may, so that
    /// a loop that sleeps by milliseconds need not spin.
    #[must_use]
    pub fn next_batch(&mut self, now: Instant) -> Option<Instant> {
        self.cells().map(|cells| cells.next_batch(now)).max()
    }

    /// True if so little may be made up that a delay of a millisecond or two is lost.
    #[must_use]
    pub fn is_tight(&self) -> bool {
        self.packets.iter().chain(&self.bits).any(|cells| cells.tolerance < TIGHT)
    }

    fn cells(&mut self) -> impl Iterator<Item = &mut Cells> {
        self.packets.iter_mut().chain(&mut self.bits)
    }
}

/// One limit. Times are picoseconds, relative to `last`, so that no rate has a rounding error that matters.
#[derive(Debug)]
struct Cells {
    /// Cost of one unit.
    unit: u64,
    /// How far the theoretical arrival time is ahead of `last` (negative: behind it).
    ahead: i64,
    /// Most that it may be behind.
    tolerance: i64,
    /// How far it must be behind for a batch to leave at once.
    batch: i64,
    /// What the arrival time was moved forward without a datagram.
    forgotten: i64,
    last: Instant,
}

impl Cells {
    /// `rate` units a second, with datagrams of about `size` units.
    fn new(rate: f64, size: u64, now: Instant) -> Self {
        // A conversion from floating point saturates, whatever the rate.
        let unit = (SECOND as f64 / rate).round().clamp(1.0, MOST_AHEAD as f64) as u64;
        let datagram = unit.saturating_mul(size);
        let tolerance = TOLERANCE.min(datagram.saturating_mul(BATCH - 1)) as i64;
        let datagrams_in_time = (BATCH_TIME / datagram).min(BATCH);
        let batch = (datagram.saturating_mul(datagrams_in_time.saturating_sub(1))) as i64;
        // Whoever need not spin sleeps by milliseconds, and may come one too late for the batch.
        let slack = if tolerance < TIGHT { 0 } else { TIGHT / 2 };
        Self { unit, ahead: 0, tolerance, batch: batch.min(tolerance - slack), forgotten: 0, last: now }
    }

    fn set(&mut self, rate: f64, size: u64, now: Instant) {
        let _ = self.is_ready(now);
        let Self { unit, tolerance, batch, .. } = Self::new(rate, size, now);
        let ahead = self.ahead.max(-tolerance);
        *self = Self { unit, ahead, tolerance, batch, ..*self };
    }

    fn is_ready(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.last).min(LONGEST);
        let ahead = self.ahead - (passed.as_nanos() as i64) * 1000;
        self.ahead = ahead.max(-self.tolerance);
        self.forgotten = self.forgotten.saturating_add(self.ahead - ahead);
        self.last = self.last.max(now);
        self.ahead <= 0
    }

    fn charge(&mut self, units: u64) {
        let cost = self.unit.saturating_mul(units).min(MOST_AHEAD as u64) as i64;
        self.ahead = self.ahead.saturating_add(cost).min(MOST_AHEAD);
    }

    fn planned(&self, now: Instant) -> Instant {
        let behind = Duration::from_nanos(self.ahead.min(0).unsigned_abs() / 1000);
        self.last.max(now).checked_sub(behind).unwrap_or(now)
    }

    fn take_forgotten(&mut self) -> Duration {
        Duration::from_nanos(std::mem::take(&mut self.forgotten) as u64 / 1000)
    }

    fn next_batch(&mut self, now: Instant) -> Instant {
        let _ = self.is_ready(now);
        let wait = (self.ahead + self.batch).max(0) as u64;
        now + Duration::from_nanos(wait.div_ceil(1000))
    }
}

/// Picoseconds in a second.
const SECOND: u64 = 1_000_000_000_000;
/// Deficit that may be made up: 5 ms, and never more than one batch of datagrams.
const TOLERANCE: u64 = SECOND / 200;
/// Datagrams in a batch.
const BATCH: u64 = 64;
/// Time whose datagrams make a batch, if they are fewer: 4 ms, so that a caller who comes a millisecond late is still
/// within the tolerance.
const BATCH_TIME: u64 = SECOND / 250;
/// Tolerance below which a late caller loses: 2 ms.
const TIGHT: i64 = (SECOND / 500) as i64;
/// The arrival time is kept within this distance, so that sums cannot overflow.
const MOST_AHEAD: i64 = i64::MAX / 4;
/// Pauses are looked at no further back than this.
const LONGEST: Duration = Duration::from_secs(1000);
/// Bytes of IPv4 and UDP headers.
const HEADERS: usize = 28;
/// Bits of a typical request with its headers.
const TYPICAL_BITS: u64 = 55 * 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::testing::start;

    /// Polls at the given gaps (µs) for as long as there are any, sends all that may leave, and returns when each left.
    fn run(rate: u32, gaps: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        let begin = start();
        let mut now = begin;
        let mut limiter = Limiter::new(Rate { packets: Some(f64::from(rate)), bits: None }, now);
        let mut left = Vec::new();
        for gap in gaps {
            now += Duration::from_micros(gap);
            while limiter.is_ready(now) {
                limiter.charge(25);
                left.push(now - begin);
            }
        }
        left
    }

    /// Most datagrams in any window of `length` that begins with one of them.
    fn busiest(left: &[Duration], length: Duration) -> usize {
        left.iter().enumerate().map(|(i, from)| left[i..].partition_point(|at| *at < *from + length)).max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn no_window_of_100_ms_holds_more_than_105_percent_and_one(
            rate in prop::sample::select(vec![1_u32, 7, 100, 1_000, 3_000, 10_000, 50_000, 1_000_000]),
            gaps in prop::collection::vec(prop_oneof![8 => 1_u64..2_000, 1 => 2_000_u64..50_000, 1 => Just(3_000_000)], 1..300)
        ) {
            let left = run(rate, gaps);
            let allowed = f64::from(rate) * 0.1 * 1.05 + 1.0;
            prop_assert!(busiest(&left, Duration::from_millis(100)) as f64 <= allowed + 1e-6);
        }

        #[test]
        fn no_window_holds_more_than_the_highest_rate_in_it_allows_while_the_rate_changes(
            steps in prop::collection::vec((1_u64..20_000, 10_u32..100_000, 0_u8..4), 1..200)
        ) {
            let begin = start();
            let mut now = begin;
            let mut limiter = Limiter::new(Rate { packets: Some(1_000.0), bits: None }, now);
            let mut rates = vec![(Duration::ZERO, 1_000)];
            let mut left = Vec::new();
            for (gap, rate, change) in steps {
                now += Duration::from_micros(gap);
                while limiter.is_ready(now) {
                    limiter.charge(25);
                    left.push(now - begin);
                }
                if change == 0 {
                    limiter.set_packets(f64::from(rate), now);
                    rates.push((now - begin, rate));
                    // What is lower holds from now on.
                    while limiter.is_ready(now) {
                        limiter.charge(25);
                        left.push(now - begin);
                    }
                }
            }
            let length = Duration::from_millis(100);
            for (i, from) in left.iter().enumerate() {
                let sent = left[i..].partition_point(|at| *at < *from + length);
                // The rate in force at the beginning, and all that came into force until the end.
                let first = rates.partition_point(|(at, _)| *at <= *from) - 1;
                let in_it = rates[first..].iter().take_while(|(at, _)| *at < *from + length);
                // A change at the very beginning is one too: some may have left just before it.
                let before = rates[..first].last().filter(|_| rates[first].0 == *from);
                let highest = in_it.chain(before).map(|(_, rate)| *rate).max().unwrap();
                let allowed = f64::from(highest) * 0.1 * 1.05 + 1.0;
                prop_assert!(sent as f64 <= allowed + 1e-6, "{} at {}/s", sent, highest);
            }
        }

        /// Against a naive twin that keeps the arrival time as an absolute number of picoseconds.
        #[test]
        fn every_decision_is_that_of_the_plain_algorithm(
            rate in 1_u32..2_000_000,
            steps in prop::collection::vec((0_u64..20_000_000, any::<bool>()), 1..400)
        ) {
            let begin = start();
            let mut limiter = Limiter::new(Rate { packets: Some(f64::from(rate)), bits: None }, begin);
            let unit = (1e12 / f64::from(rate)).round() as i128;
            let tolerance = (5_000_000_000_i128).min(63 * unit);
            let (mut now, mut arrival) = (0_i128, 0_i128);
            for (gap, takes) in steps {
                now += i128::from(gap) * 1_000;
                arrival = arrival.max(now - tolerance);
                let ready = limiter.is_ready(begin + Duration::from_nanos((now / 1_000) as u64));
                prop_assert_eq!(ready, arrival <= now);
                if ready && takes {
                    limiter.charge(25);
                    arrival += unit;
                }
            }
        }

        #[test]
        fn a_steady_loop_reaches_its_rate(
            rate in prop::sample::select(vec![100_u32, 1_000, 2_000, 10_000, 50_000]), gap in 100_u64..1_500
        ) {
            let left = run(rate, std::iter::repeat_n(gap, (2_000_000 / gap) as usize));
            let expected = f64::from(rate) * 2.0;
            // Above a batch a poll the loop, not the limiter, is the bound.
            let reachable = expected.min(2_000_000.0 / gap as f64 * BATCH as f64);
            prop_assert!((left.len() as f64 - reachable).abs() <= reachable * 0.01 + 2.0, "{} of {reachable}", left.len());
        }
    }

    #[test]
    fn a_loop_that_sleeps_by_milliseconds_reaches_every_rate() {
        for rate in [1_000_u32, 2_000, 5_000, 10_000, 13_000, 15_000, 20_000, 25_000, 31_000, 33_000, 50_000, 90_000] {
            let begin = start();
            let mut limiter = Limiter::new(Rate { packets: Some(f64::from(rate)), bits: None }, begin);
            let (mut now, mut sent) = (begin, 0);
            while now < begin + Duration::from_secs(1) {
                while limiter.is_ready(now) {
                    limiter.charge(25);
                    sent += 1;
                }
                let wait = limiter.next_batch(now).unwrap() - now;
                // A poll rounds up; where that is too late, the loop rounds down, and spins.
                let spins = limiter.is_tight();
                now += if spins { wait } else { Duration::from_millis(wait.as_micros().div_ceil(1_000) as u64) };
            }
            let expected = f64::from(rate);
            assert!((f64::from(sent) - expected).abs() <= expected * 0.01 + 2.0, "{sent} at {rate}/s");
            assert!(limiter.take_forgotten() < Duration::from_millis(1), "at {rate}/s");
        }
    }

    #[test]
    fn a_stall_of_three_seconds_is_forgotten() {
        let gaps = std::iter::repeat_n(1_000, 500).chain([3_000_000]).chain(std::iter::repeat_n(1_000, 500));
        let left = run(10_000, gaps);
        assert!((9_990..=10_110).contains(&left.len()), "{}", left.len());
        assert!(busiest(&left, Duration::from_millis(1)) <= 64);
    }

    #[test]
    fn planned_times_are_those_of_an_even_pace_and_a_stall_is_told() {
        let begin = start();
        let mut limiter = Limiter::new(Rate { packets: Some(1_000.0), bits: None }, begin);
        let mut planned = Vec::new();
        let mut forgotten = Vec::new();
        // Three milliseconds late, and then a second.
        for ms in [0, 3, 1_003] {
            let now = begin + Duration::from_millis(ms);
            while limiter.is_ready(now) {
                planned.push((limiter.planned(now) - begin).as_millis());
                limiter.charge(25);
            }
            forgotten.push(limiter.take_forgotten().as_millis());
        }
        assert_eq!(planned, [0, 1, 2, 3, 998, 999, 1_000, 1_001, 1_002, 1_003]);
        assert_eq!(forgotten, [0, 0, 994], "those planned at 4 to 997 ms never left");
        let unlimited = Limiter::new(Rate::default(), begin);
        assert_eq!(unlimited.planned(begin), begin);
    }

    #[test]
    fn bits_are_limited_with_their_headers() {
        let begin = start();
        let mut limiter = Limiter::new(Rate { packets: None, bits: Some(1e6) }, begin);
        let mut sent = 0;
        for ms in 0..1_000 {
            while limiter.is_ready(begin + Duration::from_millis(ms)) {
                limiter.charge(97);
                sent += 1;
            }
        }
        assert!((995..=1_010).contains(&sent), "125 bytes are 1,000 bits, so 1,000 fit in a second: {sent}");
    }

    #[test]
    fn the_next_batch_is_worth_a_sleep_at_a_moderate_rate_and_one_datagram_at_a_low_one() {
        let now = start();
        for (rate, datagrams) in [(10, 1), (2_000, 8), (10_000, 40), (100_000, 64)] {
            let mut limiter = Limiter::new(Rate { packets: Some(f64::from(rate)), bits: None }, now);
            while limiter.is_ready(now) {
                limiter.charge(25);
            }
            let next = limiter.next_batch(now).unwrap();
            let mut sent = 0;
            while limiter.is_ready(next) {
                limiter.charge(25);
                sent += 1;
            }
            assert_eq!(sent, datagrams, "at {rate}/s");
        }
    }
}
