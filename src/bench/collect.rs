//! Takes the writer's place: finished queries become counts and histograms.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::engine::Finished;
use crate::ledger::StatusCounts;
use crate::record::Status;

/// Counts finished queries.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    /// Datagrams a second at which queries are sent.
    rate: Option<f64>,
    collected: Collected,
    /// Datagrams that the queries so far have sent.
    datagrams: u64,
}

/// What became of the queries of a round.
#[derive(Debug, Clone)]
pub(crate) struct Collected {
    /// How they ended.
    pub statuses: StatusCounts,
    /// Queries that an even pace would have sent before others, and that never left: the loop stood still, or every address
    /// was in flight.
    pub not_sent: u64,
    /// When the first query began.
    pub first: Option<Instant>,
    /// When the last one began.
    pub last: Option<Instant>,
    /// When the last one began, or the last first answer came.
    pub last_answer: Option<Instant>,
    /// Microseconds from the actual send to the first answer.
    pub actual: Histogram<u64>,
    /// Microseconds from the planned send to the first answer, with the queries that were not sent: each of them would
    /// have waited for the answer to the next one that was.
    pub planned: Histogram<u64>,
}

impl Collector {
    /// For a round at `rate` datagrams a second; `None` is as fast as possible, with no plan to fall behind.
    #[must_use]
    pub(crate) fn new(rate: Option<f64>) -> Self {
        let empty = empty_histogram();
        let collected = Collected {
            statuses: StatusCounts::default(),
            not_sent: 0,
            first: None,
            last: None,
            last_answer: None,
            actual: empty.clone(),
            planned: empty,
        };
        Self { rate, collected, datagrams: 0 }
    }

    /// Counts a query.
    pub(crate) fn add(&mut self, finished: &Finished) {
        let collected = &mut self.collected;
        collected.statuses.add(finished.status);
        self.datagrams += u64::from(finished.sent);
        if let Some(sent) = finished.first_sent {
            let until = sent + Duration::from_micros(finished.rtt_us.unwrap_or(0).into());
            collected.first = Some(collected.first.map_or(sent, |first| first.min(sent)));
            collected.last = Some(collected.last.map_or(sent, |last| last.max(sent)));
            collected.last_answer = Some(collected.last_answer.map_or(until, |last| last.max(until)));
        }
        let (not_sent, gap) = match self.rate {
            Some(rate) if finished.forgotten_us > 0 => {
                // The pace counts datagrams, and a query has one or more of them.
                let datagrams = self.datagrams as f64 / collected.statuses.total() as f64;
                let gap = 1e6 * datagrams.max(1.0) / rate;
                ((f64::from(finished.forgotten_us) / gap) as u64, gap)
            }
            _ => (0, 0.0),
        };
        collected.not_sent += not_sent;
        if let Some(us) = finished.rtt_us {
            collected.actual.saturating_record(u64::from(us).max(1));
        }
        if let Some(us) = finished.planned_us {
            // Bounded by the length of the pause before this query, and the rate.
            for number in 0..=not_sent {
                let waited = f64::from(us) + number as f64 * gap;
                collected.planned.saturating_record((waited as u64).max(1));
            }
        }
    }

    /// What was counted.
    #[must_use]
    pub(crate) fn finish(self) -> Collected {
        self.collected
    }
}

impl Collected {
    /// How long queries were begun, at a pace that leaves as much time after the last one as between two; or, without a
    /// `pace`, until the last answer came, since answers set the pace then.
    #[must_use]
    pub(super) fn time(&self, pace: bool) -> Option<Duration> {
        let queries = self.statuses.total() as f64;
        if pace && queries > 1.0 {
            let between = self.last?.saturating_duration_since(self.first?);
            return Some(between.mul_f64(queries / (queries - 1.0)));
        }
        Some(self.last_answer?.saturating_duration_since(self.first?))
    }

    /// Queries that were answered; of several things asked, one at least was.
    #[must_use]
    pub(crate) fn answered(&self) -> u64 {
        self.statuses.of(Status::Ok) + self.statuses.of(Status::Partial)
    }

    /// Queries to which nothing came, or not all pieces of it.
    #[must_use]
    pub(crate) fn unanswered(&self) -> u64 {
        self.statuses.of(Status::Timeout) + self.statuses.of(Status::SplitIncomplete)
    }
}

/// Microseconds, to three digits; longer times than [`LONGEST_US`] count as that.
pub(super) fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_US, DIGITS).expect("the bounds are valid")
}

const LONGEST_US: u64 = 60_000_000;
const DIGITS: u8 = 3;
