//! Datagrams counted in cohorts, by the time at which they were sent.
//!
//! A cohort is complete one time-out after its last datagram may have left: by then each is answered or silent. First
//! datagrams are counted apart from follow-ups, which go to hosts that exist: the two are never silent equally often.
//! Retries are not counted.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::silence::Count;
use crate::engine::flight::Cause;

/// The cohorts that are not complete yet, oldest first: as many as fit into a time-out.
#[derive(Debug)]
pub(super) struct Cohorts {
    began: Instant,
    timeout: Duration,
    open: VecDeque<Cohort>,
}

/// Datagrams that were sent within a short time.
#[derive(Debug, Default)]
pub(super) struct Cohort {
    /// The first one is 0.
    number: u32,
    /// Retries too.
    all: u32,
    pub(super) first: Count,
    pub(super) follow_ups: Count,
    /// A target could not begin because the window was full.
    pub(super) window_full: bool,
    /// The rate was what limited it.
    pub(super) rate_reached: bool,
}

impl Cohorts {
    /// Cohorts of a run that begins at `now` and waits for an answer for `timeout`.
    pub(super) fn new(timeout: Duration, now: Instant) -> Self {
        Self { began: now, timeout, open: VecDeque::new() }
    }

    /// How long one cohort lasts: a tenth of a time-out, so that few are open at a time.
    pub(super) fn length(&self) -> Duration {
        (self.timeout / 10).max(SHORTEST)
    }

    /// Counts a datagram that leaves at `now` for `cause`, at no more than `rate` per second, if the rate adapts.
    pub(super) fn count_sent(&mut self, now: Instant, cause: Cause, rate: Option<f64>) {
        let number = self.number(now);
        if self.open.back().is_none_or(|cohort| cohort.number < number) {
            let length = self.length().as_secs_f64();
            if let (Some(cohort), Some(rate)) = (self.open.back_mut(), rate) {
                cohort.rate_reached = f64::from(cohort.all) >= REACHED * rate * length;
            }
            self.open.push_back(Cohort { number, ..Cohort::default() });
        }
        if let Some(cohort) = self.open.back_mut() {
            cohort.all += 1;
            cohort.of(cause).iter_mut().for_each(|count| count.sent += 1);
        }
    }

    /// Takes back a datagram that `left` for `cause` and was not sent after all.
    pub(super) fn count_unsent(&mut self, left: Instant, cause: Cause) {
        self.count(left, cause, |count| count.sent = count.sent.saturating_sub(1));
    }

    /// Counts a datagram that `left` for `cause` and stayed unanswered.
    pub(super) fn count_silent(&mut self, left: Instant, cause: Cause) {
        self.count(left, cause, |count| count.silent += 1);
    }

    /// Notes that a target could not begin because the window was full.
    pub(super) fn note_full_window(&mut self) {
        if let Some(cohort) = self.open.back_mut() {
            cohort.window_full = true;
        }
    }

    /// Takes the oldest cohort if it is complete at `now`, and says when it began; call until `None`.
    #[must_use]
    pub(super) fn poll_complete(&mut self, now: Instant) -> Option<(Instant, Cohort)> {
        let began = self.began + self.length() * self.open.front()?.number;
        if began + self.length() + self.timeout > now {
            return None;
        }
        Some((began, self.open.pop_front()?))
    }

    fn count(&mut self, left: Instant, cause: Cause, change: impl Fn(&mut Count)) {
        let number = self.number(left);
        // Bounded by the cohorts of a time-out.
        let cohort = self.open.iter_mut().find(|cohort| cohort.number == number);
        cohort.into_iter().filter_map(|cohort| cohort.of(cause)).for_each(change);
    }

    fn number(&self, at: Instant) -> u32 {
        (at.saturating_duration_since(self.began).as_nanos() / self.length().as_nanos()) as u32
    }
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

/// A rate was reached when so much of it was used.
const REACHED: f64 = 0.75;
/// Time-outs are never so short that cohorts need to be shorter.
const SHORTEST: Duration = Duration::from_millis(1);
