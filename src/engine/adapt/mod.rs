//! A window and a rate that adapt: they grow linearly while nothing is lost, and are halved when something is.
//!
//! What is lost on this machine (a full receive buffer, a full send queue) is reported and acted on at once. A datagram
//! that is lost on the way shows only as silence, and so does a host that does not exist. Therefore [`silence`] looks
//! for a rise in the timeout rate, over [`cohorts`] of datagrams. A cohort counts only if it was sent after the last
//! decrease: what was sent before says nothing about the limits that are now in force.
//!
//! A run that begins above what the path can carry has seen nothing but loss, and takes it for usual. Therefore, where
//! follow-ups are usually silent (or first datagrams, if there are no follow-ups), some decreases go twice as deep, to
//! see whether the loss ends.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::flight::Cause;
use super::settings::Settings;
use crate::ledger::Datagrams;

mod cohorts;
mod limit;
mod silence;
#[cfg(test)]
mod tests;

pub use limit::{Change, LimitHistory, Trigger};

use cohorts::{Cohort, Cohorts};
use limit::AdaptiveLimit;
use silence::{Silence, Verdict};

/// What the adaptive limits of a run did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Adapted {
    /// Targets in flight, if the window adapted.
    pub window: Option<LimitHistory>,
    /// Datagrams a second, if the rate adapted.
    pub rate: Option<LimitHistory>,
}

/// Adapts the window, the rate, or both.
#[derive(Debug)]
pub(super) struct Adaptive {
    window: Option<AdaptiveLimit>,
    rate: Option<AdaptiveLimit>,
    began: Instant,
    cohorts: Cohorts,
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
            window: auto.window.then(|| AdaptiveLimit::new(FIRST_WINDOW, LEAST_WINDOW, settings.window as f64)),
            rate: auto.rate.then(|| AdaptiveLimit::new(FIRST_RATE, LEAST_RATE, most)),
            began: now,
            cohorts: Cohorts::new(settings.timeout, now),
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
        let history = |limit: &Option<AdaptiveLimit>| limit.as_ref().map(|limit| limit.history.clone());
        Adapted { window: history(&self.window), rate: history(&self.rate) }
    }

    /// Begins with no more targets in flight than `bytes` of receive buffers hold answers, should all come at once.
    pub(super) fn begin_within(&mut self, bytes: usize) {
        if let Some(window) = &mut self.window {
            *window = AdaptiveLimit::new(((bytes / ANSWER) as f64).min(FIRST_WINDOW), LEAST_WINDOW, window.most);
        }
    }

    /// Counts a datagram that leaves for `cause`.
    pub(super) fn handle_sent(&mut self, now: Instant, cause: Cause) {
        self.cohorts.count_sent(now, cause, self.rate());
    }

    /// Records that the system had no room for the last datagram of a flight, which `left` for `cause`.
    pub(super) fn handle_unsent(&mut self, left: Instant, cause: Cause) {
        self.cohorts.count_unsent(left, cause);
    }

    /// Records that the first try of a step, which `left` for `cause`, stayed unanswered.
    pub(super) fn handle_silence(&mut self, left: Instant, cause: Cause) {
        self.cohorts.count_silent(left, cause);
    }

    /// Records that a target could not begin because the window was full.
    pub(super) fn handle_full_window(&mut self) {
        self.cohorts.note_full_window();
    }

    /// Judges what is known at `now`, after all deadlines until then; true if a limit has changed.
    pub(super) fn judge(&mut self, now: Instant, datagrams: &Datagrams) -> bool {
        let before = (self.window(), self.rate());
        let refused = datagrams.congested + datagrams.blocked;
        let lost = if datagrams.dropped_by_kernel > self.dropped {
            Some(Trigger::Dropped)
        } else {
            (refused > self.refused).then_some(Trigger::Refused)
        };
        (self.dropped, self.refused) = (datagrams.dropped_by_kernel, refused);
        if let Some(reason) = lost
            && self.decreased.is_none_or(|at| at + PAUSE <= now)
        {
            self.decrease(now, reason);
        }
        // Bounded by the cohorts.
        while let Some((began, cohort)) = self.cohorts.poll_complete(now) {
            if self.decreased.is_none_or(|at| at <= began) {
                self.weigh(&cohort, now);
            }
        }
        before != (self.window(), self.rate())
    }

    fn weigh(&mut self, cohort: &Cohort, now: Instant) {
        let verdicts = [self.first.weigh(cohort.first), self.follow_ups.weigh(cohort.follow_ups)];
        if verdicts.contains(&Some(Verdict::Risen)) {
            self.decrease(now, Trigger::Silence);
            return;
        }
        let (length, at) = (self.cohorts.length(), now - self.began);
        let known = verdicts.contains(&Some(Verdict::Usual));
        for (limit, reached) in [(&mut self.window, cohort.window_full), (&mut self.rate, cohort.rate_reached)] {
            if let Some(limit) = limit {
                if reached {
                    limit.unproven += length;
                }
                if known {
                    limit.grow(at);
                }
            }
        }
    }

    fn decrease(&mut self, now: Instant, reason: Trigger) {
        let probes = reason == Trigger::Silence && self.may_be_ours() && self.rises.is_multiple_of(PROBE_EVERY);
        self.rises += u32::from(reason == Trigger::Silence);
        self.decreased = Some(now);
        self.first.forget();
        self.follow_ups.forget();
        let at = now - self.began;
        let parts = if probes { 4.0 } else { 2.0 };
        self.window.iter_mut().chain(&mut self.rate).for_each(|limit| limit.divide(parts, at, reason));
    }

    /// True if the silence that seems usual may be loss that never ended: there is some where there should be none.
    fn may_be_ours(&self) -> bool {
        self.follow_ups.may_be_loss().or(self.first.may_be_loss()) == Some(true)
    }
}

/// Targets in flight, at first.
const FIRST_WINDOW: f64 = 1_000.0;
/// The least number of targets in flight that adapts.
pub(crate) const LEAST_WINDOW: f64 = 64.0;
/// Datagrams a second, at first.
const FIRST_RATE: f64 = 2_000.0;
/// The least rate that adapts, in datagrams a second.
pub(crate) const LEAST_RATE: f64 = 100.0;
/// Bytes of a receive buffer that a short answer takes from a usual network card.
const ANSWER: usize = 2304;
/// What is lost here halves a limit no more often than this: answers to what was sent before are still on their way.
const PAUSE: Duration = Duration::from_millis(200);
/// Of so many decreases because of silence the first goes twice as deep, where it is not clear that nothing is lost before.
const PROBE_EVERY: u32 = 4;
