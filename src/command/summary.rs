//! The account of a run for a person, on standard error.

use std::fmt;

use serde::Serialize;

use crate::ledger::{Datagrams, Input};
use crate::output::Sink;
use crate::output::metadata::Metadata;

/// What a run did, in a few lines.
pub(super) struct Summary<'a, I, S> {
    pub metadata: &'a Metadata<I, S>,
    pub sinks: &'a [Sink],
    /// The outputs have taken their names.
    pub complete: bool,
}

impl<I: Serialize, S: Serialize> fmt::Display for Summary<'_, I, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ledger = &self.metadata.ledger;
        let scheduled = ledger.targets.scheduled;
        let seconds = self.metadata.seconds;
        write!(f, "asked {scheduled} targets in {seconds:.2} s ({:.0}/s)", scheduled as f64 / seconds.max(1e-6))?;
        for (i, (status, count)) in ledger.rows.status.iter().enumerate() {
            write!(f, "{} {count} {status}", if i == 0 { ":" } else { "," })?;
        }
        writeln!(f)?;
        targets(f, &ledger.input, scheduled)?;
        datagrams(f, &ledger.datagrams)?;
        let rtt = &self.metadata.rtt_ms;
        if let (Some(p50), Some(p90), Some(p99)) = (rtt.quantile_ms(0.5), rtt.quantile_ms(0.9), rtt.quantile_ms(0.99)) {
            writeln!(f, "round-trip time: median {p50:.1} ms, 90 % within {p90:.1} ms, 99 % within {p99:.1} ms")?;
        }
        for sink in self.sinks {
            writeln!(f, "{} rows in {}", sink.written(), self.place(sink))?;
        }
        if self.metadata.stop != "done" {
            writeln!(f, "stopped early: {}", self.metadata.stop)?;
        }
        Ok(())
    }
}

impl<I, S> Summary<'_, I, S> {
    fn place(&self, sink: &Sink) -> String {
        if self.complete { sink.destination().name().into() } else { sink.destination().place() }
    }
}

fn targets(f: &mut fmt::Formatter<'_>, input: &Input, scheduled: u64) -> fmt::Result {
    let Input { read, invalid, duplicate, excluded_reserved, excluded_private, excluded_listed, not_started } = input;
    write!(f, "targets: {read} read = {scheduled} asked + {invalid} invalid + {duplicate} duplicate + ")?;
    write!(f, "{} excluded", excluded_reserved + excluded_private + excluded_listed)?;
    if excluded_reserved + excluded_private + excluded_listed > 0 {
        write!(f, " ({excluded_reserved} reserved, {excluded_private} private, {excluded_listed} listed)")?;
    }
    writeln!(f, " + {not_started} not started")?;
    if *excluded_private > 0 {
        writeln!(f, "private addresses from files are asked with --include-private")?;
    }
    Ok(())
}

fn datagrams(f: &mut fmt::Formatter<'_>, d: &Datagrams) -> fmt::Result {
    writeln!(
        f,
        "sent: {} datagrams = {} first + {} retries + {} follow-ups; {} refused by the system",
        d.sent, d.sent_first, d.sent_retry, d.sent_follow_up, d.send_errors
    )?;
    writeln!(
        f,
        "received: {} datagrams = {} matched + {} late + {} duplicate + {} unsolicited + {} undecodable; \
         {} dropped by the kernel, {} ICMP errors",
        d.received,
        d.matched,
        d.late,
        d.duplicate,
        d.unsolicited,
        d.undecodable,
        d.dropped_by_kernel,
        d.icmp_matched + d.icmp_stray
    )
}
