//! One round, in numbers.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::collect::Collected;
use crate::engine::Snapshot;
use crate::ledger::{Datagrams, StatusCounts};
use crate::record::Status;

/// What a round has cost this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cost {
    /// Processor time of the thread that sends and receives.
    pub of_loop: Duration,
    /// That of the whole process, simulated servers included.
    pub of_process: Duration,
    /// Bytes of memory that the process has had at the most, since it began.
    pub peak_memory: Option<u64>,
}

/// What a round has measured: `queries = answered + late + lost_there + lost_here + failed`.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    /// Datagrams a second that were asked for; `None` is as many as possible.
    pub rate: Option<f64>,
    /// The window at the end, if it found its own size.
    pub window: Option<usize>,
    /// From the first query to the end of sending, or to the last answer if that is later.
    pub seconds: f64,
    /// Queries that were sent.
    pub queries: u64,
    /// Those that were answered in time.
    pub answered: u64,
    /// Those whose answer came after the time-out.
    pub late: u64,
    /// Those that timed out although nothing was dropped here.
    pub lost_there: u64,
    /// Those that timed out because the kernel dropped what came, or that it refused to send.
    pub lost_here: u64,
    /// Those that ended in another way: closed ports, bans, answers that mean nothing.
    pub failed: u64,
    /// Queries of an even pace that never left.
    pub not_sent: u64,
    /// How the queries ended.
    pub statuses: StatusCounts,
    /// What became of datagrams.
    pub datagrams: Datagrams,
    /// Microseconds from the actual send.
    pub actual: Histogram<u64>,
    /// Microseconds from the planned send.
    pub planned: Histogram<u64>,
    /// Processor time and memory.
    pub cost: Cost,
}

impl Round {
    /// Puts together what was counted. `began` and `ended` are those of the sending.
    #[must_use]
    pub(crate) fn new(
        rate: Option<f64>,
        (began, ended): (Instant, Option<Instant>),
        collected: Collected,
        snapshot: &Snapshot,
        cost: Cost,
    ) -> Self {
        let datagrams = snapshot.datagrams;
        let queries = collected.statuses.total();
        let (answered, unanswered) = (collected.answered(), collected.unanswered());
        let refused = collected.statuses.of(Status::SendError);
        // A datagram that came too late is an answer that was given up; one that was dropped would have been an answer.
        // Each stands for one query, as far as there are queries without one.
        let late = datagrams.late.min(unanswered);
        let dropped = datagrams.dropped_by_kernel.min(unanswered - late);
        let first = collected.first.unwrap_or(began);
        let last = collected.last.into_iter().chain(ended).max().unwrap_or(first);
        Self {
            rate,
            window: snapshot.window,
            seconds: last.saturating_duration_since(first).as_secs_f64(),
            queries,
            answered,
            late,
            lost_there: unanswered - late - dropped,
            lost_here: dropped + refused,
            failed: queries - answered - unanswered - refused,
            not_sent: collected.not_sent,
            statuses: collected.statuses,
            datagrams,
            actual: collected.actual,
            planned: collected.planned,
            cost,
        }
    }

    /// Percent of the queries that were lost, there or here.
    #[must_use]
    pub(crate) fn loss(&self) -> f64 {
        self.percent(self.lost_there + self.lost_here)
    }

    /// Percent of the queries that `part` is.
    pub(super) fn percent(&self, part: u64) -> f64 {
        if self.queries == 0 { 0.0 } else { 100.0 * part as f64 / self.queries as f64 }
    }

    /// So many a second.
    pub(super) fn per_second(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    /// Answers a second.
    #[must_use]
    pub(crate) fn answers_per_second(&self) -> f64 {
        self.per_second(self.answered)
    }

    /// Datagrams a second that were sent.
    #[must_use]
    pub(crate) fn sent_per_second(&self) -> f64 {
        self.per_second(self.datagrams.sent)
    }

    /// Every query was answered, and in time.
    #[must_use]
    pub(crate) fn is_lossless(&self) -> bool {
        self.queries > 0 && self.answered == self.queries
    }
}
