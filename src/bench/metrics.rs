//! The numbers of a round by name: one table for CSV, JSON, summaries and conditions.

use hdrhistogram::Histogram;

use super::round::Round;

/// A number that a round has.
pub(crate) struct Metric {
    /// Its name, with the unit at its end where it has one.
    pub name: &'static str,
    /// Its value; none if nothing was measured.
    pub of: fn(&Round) -> Option<f64>,
}

/// Median, least and most of some rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// Of an even number, the mean of the two in the middle.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl Metric {
    /// The metric of that name.
    #[must_use]
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// Its median and spread over `rounds`; none if no round has it.
    #[must_use]
    pub(crate) fn spread<'a>(&self, rounds: impl IntoIterator<Item = &'a Round>) -> Option<Spread> {
        let mut values: Vec<f64> = rounds.into_iter().filter_map(|round| (self.of)(round)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let median = f64::midpoint(*values.get((values.len() - 1) / 2)?, *values.get(values.len() / 2)?);
        Some(Spread { median, min, max })
    }
}

fn ms(times: &Histogram<u64>, quantile: f64) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(quantile) as f64 / 1000.0)
}

/// All of them, in the order of the columns.
pub(crate) const METRICS: &[Metric] = &[
    Metric { name: "seconds", of: |round| Some(round.seconds) },
    Metric { name: "queries", of: |round| Some(round.queries as f64) },
    Metric { name: "answered", of: |round| Some(round.answered as f64) },
    Metric { name: "late", of: |round| Some(round.late as f64) },
    Metric { name: "lost_there", of: |round| Some(round.lost_there as f64) },
    Metric { name: "lost_here", of: |round| Some(round.lost_here as f64) },
    Metric { name: "failed", of: |round| Some(round.failed as f64) },
    Metric { name: "not_sent", of: |round| Some(round.not_sent as f64) },
    Metric { name: "longest_stall_ms", of: |round| Some(round.stall.as_secs_f64() * 1e3) },
    Metric { name: "failed_percent", of: |round| Some(round.percent(round.failed)) },
    Metric { name: "not_sent_percent", of: |round| Some(round.percent(round.not_sent)) },
    Metric { name: "answered_percent", of: |round| Some(round.percent(round.answered)) },
    Metric { name: "loss_percent", of: |round| Some(round.loss()) },
    Metric { name: "answers_per_second", of: |round| Some(round.answers_per_second()) },
    Metric { name: "datagrams_sent_per_second", of: |round| Some(round.sent_per_second()) },
    Metric { name: "datagrams_received_per_second", of: |round| Some(round.received_per_second()) },
    Metric { name: "p50_ms", of: |round| ms(&round.actual, 0.5) },
    Metric { name: "p90_ms", of: |round| ms(&round.actual, 0.9) },
    Metric { name: "p99_ms", of: |round| ms(&round.actual, 0.99) },
    Metric { name: "p99.9_ms", of: |round| ms(&round.actual, 0.999) },
    Metric { name: "max_ms", of: |round| ms(&round.actual, 1.0) },
    Metric { name: "planned_p50_ms", of: |round| ms(&round.planned, 0.5) },
    Metric { name: "planned_p90_ms", of: |round| ms(&round.planned, 0.9) },
    Metric { name: "planned_p99_ms", of: |round| ms(&round.planned, 0.99) },
    Metric { name: "planned_p99.9_ms", of: |round| ms(&round.planned, 0.999) },
    Metric { name: "planned_max_ms", of: |round| ms(&round.planned, 1.0) },
    Metric { name: "datagrams_sent", of: |round| Some(round.datagrams.sent as f64) },
    Metric { name: "datagrams_received", of: |round| Some(round.datagrams.received as f64) },
    Metric { name: "dropped_by_kernel", of: |round| Some(round.datagrams.dropped_by_kernel as f64) },
    Metric { name: "send_errors", of: |round| Some(round.datagrams.send_errors as f64) },
    Metric { name: "congested", of: |round| Some(round.datagrams.congested as f64) },
    Metric { name: "loop_cpu_seconds", of: |round| Some(round.cost.of_loop.as_secs_f64()) },
    Metric { name: "process_cpu_seconds", of: |round| Some(round.cost.of_process.as_secs_f64()) },
    Metric { name: "peak_memory_bytes", of: |round| round.cost.peak_memory.map(|bytes| bytes as f64) },
];
