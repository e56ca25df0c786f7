//! A limit that adapts, and the history of its changes.
//!
//! It grows by a share of itself per second, and only while it is reached. The share is recomputed at each doubling, so
//! that growth between doublings is linear.

use std::time::Duration;

use serde::Serialize;

/// How one limit changed during a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LimitHistory {
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
#[non_exhaustive]
pub struct Change {
    /// Seconds from the beginning of the run; of several increases those of the last.
    pub seconds: f64,
    /// The value from then on.
    pub value: u64,
    /// Why.
    pub reason: Trigger,
}

/// Why a limit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trigger {
    /// It was reached, and nothing was lost.
    Grown,
    /// The kernel dropped what came because a receive buffer was full.
    Dropped,
    /// The system had no room for what was to be sent.
    Refused,
    /// More than usual stayed unanswered.
    Silence,
}

/// A limit that grows and is divided.
#[derive(Debug)]
pub(super) struct AdaptiveLimit {
    pub(super) value: f64,
    least: f64,
    pub(super) most: f64,
    /// What it grows by in a second is a share of this.
    base: f64,
    share: f64,
    /// How long it has been reached since it last grew.
    pub(super) unproven: Duration,
    pub(super) history: LimitHistory,
}

impl AdaptiveLimit {
    pub(super) fn new(start: f64, least: f64, most: f64) -> Self {
        let start = start.max(least).min(most);
        let value = start.round() as u64;
        Self {
            value: start,
            least: least.min(most),
            most,
            base: start,
            share: EARLY_SHARE,
            unproven: Duration::ZERO,
            history: LimitHistory {
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

    pub(super) fn grow(&mut self, at: Duration) {
        let time = std::mem::take(&mut self.unproven).min(LONGEST_GROWTH);
        if self.value >= self.base * 2.0 {
            self.base = self.value;
        }
        self.change((self.value + self.share * self.base * time.as_secs_f64()).min(self.most), at, Trigger::Grown);
    }

    pub(super) fn divide(&mut self, parts: f64, at: Duration, reason: Trigger) {
        self.unproven = Duration::ZERO;
        self.share = LATER_SHARE;
        self.change((self.value / parts).max(self.least), at, reason);
        self.base = self.value;
    }

    fn change(&mut self, value: f64, at: Duration, reason: Trigger) {
        if value.total_cmp(&self.value).is_eq() {
            return;
        }
        self.value = value;
        let value = value.round() as u64;
        let history = &mut self.history;
        history.end = value;
        history.least = history.least.min(value);
        history.greatest = history.greatest.max(value);
        let grown = reason == Trigger::Grown;
        *(if grown { &mut history.increases } else { &mut history.decreases }) += 1;
        let change = Change { seconds: at.as_secs_f64(), value, reason };
        let again = grown && history.changes.last().is_some_and(|last| last.reason == Trigger::Grown);
        if again {
            history.changes.pop();
        }
        if history.changes.len() < MOST_CHANGES {
            history.changes.push(change);
        }
    }
}

/// What a limit grows by in a second: until it is halved for the first time, and from then on.
const EARLY_SHARE: f64 = 0.5;
const LATER_SHARE: f64 = 0.25;
/// A verdict makes a limit grow for no longer than this.
const LONGEST_GROWTH: Duration = Duration::from_secs(1);
/// Changes that are kept; the others are counted.
const MOST_CHANGES: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_kept_up_to_a_number_and_counted_beyond() {
        let mut limit = AdaptiveLimit::new(1_000.0, 64.0, 65_536.0);
        for second in 0..1_000 {
            limit.unproven = Duration::from_millis(500);
            limit.grow(Duration::from_secs(second));
            limit.unproven = Duration::from_millis(500);
            limit.grow(Duration::from_secs(second));
            if second % 2 == 1 {
                limit.divide(2.0, Duration::from_secs(second), Trigger::Dropped);
            }
        }
        let LimitHistory { increases, decreases, changes, .. } = limit.history;
        assert_eq!((increases, decreases, changes.len()), (2_000, 500, MOST_CHANGES));
        let reasons = changes.iter().map(|change| change.reason);
        assert!(reasons.eq([Trigger::Grown, Trigger::Dropped].into_iter().cycle().take(MOST_CHANGES)));
        assert!(changes[0].seconds > 0.9 && changes[0].value == 2_000, "the last of four increases: {:?}", changes[0]);
    }
}
