//! One round, in numbers.

use std::time::Duration;

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

/// The time in which queries were begun, and what had left at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Schedule {
    /// How long that was to be.
    pub planned: Duration,
    /// How long it was: what a short stall has delayed is made up for.
    pub time: Duration,
    /// Queries that had been begun.
    pub queries: u64,
    /// Datagrams that had been sent.
    pub sent: u64,
    /// Datagrams that had been received.
    pub received: u64,
}

/// What a round has measured: `queries = answered + late + lost_there + lost_here + failed`.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    /// Datagrams a second that were asked for; `None` is as many as possible.
    pub rate: Option<f64>,
    /// The window at the end, if it found its own size.
    pub window: Option<usize>,
    /// The time in which queries were begun; as fast as possible, until the last answer came.
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
    /// Queries of the schedule that never left: the loop stood still, or every address was in flight.
    pub not_sent: u64,
    /// The longest time for which the loop stood still.
    pub stall: Duration,
    /// How the queries ended.
    pub statuses: StatusCounts,
    /// What became of datagrams.
    pub datagrams: Datagrams,
    /// Datagrams that were sent and received in the time of the round: follow-ups come later, too.
    pub in_time: (u64, u64),
    /// Microseconds from the actual send.
    pub actual: Histogram<u64>,
    /// Microseconds from the planned send.
    pub planned: Histogram<u64>,
    /// Processor time and memory.
    pub cost: Cost,
}

impl Schedule {
    /// Queries that an even pace of `rate` datagrams a second would have sent as well.
    fn not_sent(&self, rate: f64) -> u64 {
        // A query has one datagram or more, and it is not known how many those would have had that never left.
        let of_query = (self.sent as f64 / self.queries.max(1) as f64).max(1.0);
        let missing = (rate * self.planned.as_secs_f64()).floor() - self.sent as f64;
        (missing / of_query) as u64
    }
}

impl Round {
    /// Puts together what was counted of a round at `rate` datagrams a second. Without a `schedule`, a number of queries was
    /// asked, however long it took.
    #[must_use]
    pub(crate) fn new(
        rate: Option<f64>,
        schedule: Option<Schedule>,
        collected: Collected,
        snapshot: &Snapshot,
        (stall, cost): (Duration, Cost),
    ) -> Self {
        let datagrams = snapshot.datagrams;
        let queries = collected.statuses.total();
        let (answered, unanswered) = (collected.answered(), collected.unanswered());
        let refused = collected.statuses.of(Status::SendError);
        // A datagram that came too late is an answer that was given up; one that was dropped would have been an answer.
        // Each stands for one query, as far as there are queries without one.
        let late = datagrams.late.min(unanswered);
        let dropped = datagrams.dropped_by_kernel.min(unanswered - late);
        let time =
            schedule.map(|schedule| schedule.time).or_else(|| collected.time(rate.is_some())).unwrap_or_default();
        Self {
            rate,
            window: snapshot.window,
            seconds: time.as_secs_f64(),
            queries,
            answered,
            late,
            lost_there: unanswered - late - dropped,
            lost_here: dropped + refused,
            failed: queries - answered - unanswered - refused,
            not_sent: schedule.zip(rate).map_or(0, |(schedule, rate)| schedule.not_sent(rate)),
            stall,
            statuses: collected.statuses,
            datagrams,
            in_time: schedule
                .map_or((datagrams.sent, datagrams.received), |schedule| (schedule.sent, schedule.received)),
            actual: collected.actual,
            planned: collected.planned,
            cost,
        }
    }

    /// Percent of the planned queries that were not answered in time, whatever became of them.
    #[must_use]
    pub(crate) fn loss(&self) -> f64 {
        self.percent(self.planned_queries() - self.answered)
    }

    /// Queries that were sent, and those of the schedule that were not.
    fn planned_queries(&self) -> u64 {
        self.queries + self.not_sent
    }

    /// Percent of the planned queries that `part` is.
    pub(super) fn percent(&self, part: u64) -> f64 {
        let planned = self.planned_queries();
        if planned == 0 { 0.0 } else { 100.0 * part as f64 / planned as f64 }
    }

    /// So many a second.
    fn per_second(&self, count: u64) -> f64 {
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
        self.per_second(self.in_time.0)
    }

    /// Datagrams a second that were received.
    #[must_use]
    pub(crate) fn received_per_second(&self) -> f64 {
        self.per_second(self.in_time.1)
    }

    /// Every query was answered, and in time.
    #[must_use]
    pub(crate) fn is_lossless(&self) -> bool {
        self.queries > 0 && self.answered == self.queries
    }
}
