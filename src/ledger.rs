//! Counters that must add up: where every target and every datagram of a run went.
//!
//! The loop counts what it schedules, sends and receives; the writer counts what it writes, apart; at the end the two
//! are put side by side and [`Ledger::check`] says which equations hold. One that does not is a bug of ours, never of
//! the network's.

use std::fmt;

use hdrhistogram::Histogram;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::record::Status;

/// Everything that is counted in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Ledger {
    /// What became of the input.
    pub input: Input,
    /// What became of the targets.
    pub targets: Targets,
    /// What became of the datagrams.
    pub datagrams: Datagrams,
    /// What was written.
    pub rows: Rows,
    /// Datagrams of list servers, which are no targets and have no rows.
    pub lists: ListDatagrams,
    /// What became of the names.
    pub names: Names,
}

/// The unit is a target: a plan and an address, after ranges and port lists are expanded. A line that cannot be read
/// counts as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Input {
    /// All of them.
    pub read: u64,
    /// Lines that could not be read, and addresses that cannot be asked.
    pub invalid: u64,
    /// Named before.
    pub duplicate: u64,
    /// In a special-purpose network.
    pub excluded_reserved: u64,
    /// In a private network, and not typed as an argument.
    pub excluded_private: u64,
    /// In an exclusion of the user's.
    pub excluded_listed: u64,
    /// Never asked, because the run stopped.
    pub not_started: u64,
    /// Printed and not asked: the servers of `fragscan list`.
    pub printed: u64,
}

/// Targets that were asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Targets {
    /// Those whose first datagram was handed to the kernel.
    pub scheduled: u64,
    /// Those that have ended.
    pub finished: u64,
}

/// Datagrams of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Datagrams {
    /// Handed to the kernel; the next three add up to it.
    pub sent: u64,
    /// First datagrams of a target.
    pub sent_first: u64,
    /// Repetitions after silence.
    pub sent_retry: u64,
    /// Next steps: challenges sent back, further queries.
    pub sent_follow_up: u64,
    /// Among the sent: those that the operating system then refused.
    pub send_errors: u64,
    /// Times that the system had no room for a datagram; it was sent later, and is not among `sent` for that.
    pub congested: u64,
    /// Times that a send buffer was full; what waited was sent a moment later.
    pub blocked: u64,
    /// Received; the next five add up to it.
    pub received: u64,
    /// Used by a query in flight.
    pub matched: u64,
    /// For a query that had been given up, or for an earlier step.
    pub late: u64,
    /// The same again.
    pub duplicate: u64,
    /// From a sender that was not asked, or not for this.
    pub unsolicited: u64,
    /// From a server in flight, and no message of its protocol.
    pub undecodable: u64,
    /// Among the unsolicited: from a host that was asked, at another port.
    pub other_port: u64,
    /// Among the unsolicited: without the token that was asked for.
    pub spoofed: u64,
    /// Among the undecodable: dropped because too much was held already.
    pub over_limit: u64,
    /// ICMP errors for a query in flight.
    pub icmp_matched: u64,
    /// Other ICMP errors.
    pub icmp_stray: u64,
    /// Dropped by the kernel because the receive buffer was full; not among `received`.
    pub dropped_by_kernel: u64,
}

/// Rows, as the writer counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Rows {
    /// Written to every output.
    pub written: u64,
    /// Held back by a filter.
    pub withheld: u64,
    /// Lost because an output failed or its reader closed it.
    pub unwritten: u64,
    /// How many targets ended in which way.
    pub status: StatusCounts,
    /// Sum of the rows' `sent`.
    pub sent: u64,
    /// Sum of the rows' `received`.
    pub received: u64,
}

/// Datagrams of all list servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ListDatagrams {
    /// Sent to them.
    pub sent: u64,
    /// Theirs that were used.
    pub received: u64,
}

/// What became of the names among the input: each is looked up once, however often it is mentioned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Names {
    /// All of them; the next eight add up to it.
    pub looked_up: u64,
    /// They have an address.
    pub found: u64,
    /// They do not exist.
    pub nxdomain: u64,
    /// They have no address of a family that is wanted.
    pub no_address: u64,
    /// They have no other address than 0.0.0.0 or ::.
    pub blocked: u64,
    /// The name servers could not or would not say.
    pub server_failure: u64,
    /// The name servers did not answer them, and answered others.
    pub silence: u64,
    /// No name server answered anything at that time.
    pub no_server: u64,
    /// Not known when the run stopped.
    pub unfinished: u64,
    /// What was asked of name servers. What the system's resolver asks is not among it.
    pub queries: NameQueries,
}

impl Names {
    /// Those whose fate is known.
    #[must_use]
    pub fn settled(&self) -> u64 {
        let Self { found, nxdomain, no_address, blocked, server_failure, silence, no_server, .. } = self;
        found + nxdomain + no_address + blocked + server_failure + silence + no_server
    }
}

/// Questions to name servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct NameQueries {
    /// All that were sent.
    pub sent: u64,
    /// Among them: repetitions.
    pub sent_retry: u64,
    /// Among them: those that only ask whether a server is there.
    pub sent_probe: u64,
    /// Among them: those over TCP, whose answer did not fit into a datagram.
    pub sent_tcp: u64,
    /// Messages that came.
    pub received: u64,
    /// Among them: those that fit no question in flight.
    pub stray: u64,
}

/// A count for each [`Status`].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCounts([u64; Status::COUNT]);

impl StatusCounts {
    /// Counts one more.
    pub(crate) fn add(&mut self, status: Status) {
        self.0[status as usize] += 1;
    }

    /// How many ended so.
    #[must_use]
    pub fn of(&self, status: Status) -> u64 {
        self.0[status as usize]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The statuses that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Status, u64)> {
        Status::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// `190 ok, 10 timeout`.
impl fmt::Display for StatusCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().enumerate().try_for_each(|(i, (status, count))| {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {status}")
        })
    }
}

impl fmt::Debug for StatusCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for StatusCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Status::ALL.into_iter().zip(self.0).map(|(status, count)| (status.as_str(), count)))
    }
}

impl Ledger {
    /// The equations that do not hold; none, or there is a bug.
    #[must_use]
    pub fn check(&self) -> Vec<Imbalance> {
        let Self { input, targets, datagrams, rows, lists, names } = self;
        let excluded = input.excluded_reserved + input.excluded_private + input.excluded_listed;
        let used = datagrams.matched + datagrams.late + datagrams.duplicate;
        [
            (
                "read = invalid + duplicate + excluded + not started + printed + scheduled",
                input.read,
                input.invalid + input.duplicate + excluded + input.not_started + input.printed + targets.scheduled,
            ),
            ("scheduled = finished", targets.scheduled, targets.finished),
            ("finished = sum of all statuses", targets.finished, rows.status.total()),
            (
                "sum of all statuses + printed = rows written + rows withheld + rows unwritten",
                rows.status.total() + input.printed,
                rows.written + rows.withheld + rows.unwritten,
            ),
            (
                "datagrams sent = first + retries + follow-ups",
                datagrams.sent,
                datagrams.sent_first + datagrams.sent_retry + datagrams.sent_follow_up,
            ),
            ("datagrams sent = sum of the rows' sent + the lists'", datagrams.sent, rows.sent + lists.sent),
            (
                "datagrams received = matched + late + duplicate + unsolicited + undecodable",
                datagrams.received,
                used + datagrams.unsolicited + datagrams.undecodable,
            ),
            (
                "datagrams matched = sum of the rows' received + the lists'",
                datagrams.matched,
                rows.received + lists.received,
            ),
            (
                "names looked up = found + failed in each way + unfinished",
                names.looked_up,
                names.settled() + names.unfinished,
            ),
        ]
        .into_iter()
        .filter(|(_, left, right)| left != right)
        .map(|(equation, left, right)| Imbalance { equation, left, right })
        .collect()
    }
}

/// An equation of the ledger that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imbalance {
    /// The equation.
    pub equation: &'static str,
    /// Value of its left side.
    pub left: u64,
    /// Value of its right side.
    pub right: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is not {}", self.equation, self.left, self.right)
    }
}

/// A distribution of round-trip times.
#[derive(Debug, Clone)]
pub struct Latency(Histogram<u64>);

impl Latency {
    /// An empty distribution.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST_US, DIGITS).expect("the bounds are valid"))
    }

    /// Adds a time in microseconds.
    pub(crate) fn record(&mut self, us: u32) {
        self.0.saturating_record(u64::from(us).max(1));
    }

    /// How many times there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time that `share` (0 to 1) of all do not exceed, in milliseconds, to three digits; `None` without any.
    #[must_use]
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(share) as f64 / 1000.0)
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + QUANTILES.len()))?;
        map.serialize_entry("count", &self.count())?;
        for (name, share) in QUANTILES {
            map.serialize_entry(name, &self.quantile_ms(*share))?;
        }
        map.end()
    }
}

/// Round-trip times are told apart up to this; longer ones count as this long.
const LONGEST_US: u64 = 60_000_000;
/// Significant decimal digits of a time.
const DIGITS: u8 = 3;
/// Quantiles in the metadata, in milliseconds.
const QUANTILES: &[(&str, f64)] =
    &[("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of three targets, one answered after a challenge, one silent, one refused, and of a list of two pages.
    fn balanced() -> Ledger {
        let input = Input {
            read: 9,
            invalid: 1,
            duplicate: 1,
            excluded_reserved: 2,
            excluded_private: 1,
            excluded_listed: 0,
            not_started: 1,
            printed: 0,
        };
        let targets = Targets { scheduled: 3, finished: 3 };
        let datagrams = Datagrams {
            sent: 8,
            sent_first: 4,
            sent_retry: 2,
            sent_follow_up: 2,
            received: 8,
            matched: 4,
            late: 1,
            duplicate: 1,
            unsolicited: 1,
            undecodable: 1,
            ..Datagrams::default()
        };
        let mut rows = Rows { written: 2, withheld: 1, sent: 6, received: 2, ..Rows::default() };
        for status in [Status::Ok, Status::Timeout, Status::Refused] {
            rows.status.add(status);
        }
        Ledger {
            input,
            targets,
            datagrams,
            rows,
            lists: ListDatagrams { sent: 2, received: 2 },
            names: Names::default(),
        }
    }

    #[test]
    fn a_whole_ledger_adds_up() {
        assert_eq!(balanced().check(), []);
    }

    #[test]
    fn each_number_that_is_off_breaks_an_equation() {
        let breaks: &[fn(&mut Ledger)] = &[
            |l| l.input.read += 1,
            |l| l.input.invalid += 1,
            |l| l.input.duplicate += 1,
            |l| l.input.excluded_reserved += 1,
            |l| l.input.excluded_private += 1,
            |l| l.input.excluded_listed += 1,
            |l| l.input.not_started += 1,
            |l| l.input.printed += 1,
            |l| l.targets.scheduled += 1,
            |l| l.targets.finished -= 1,
            |l| l.rows.status.add(Status::Ok),
            |l| l.rows.written -= 1,
            |l| l.rows.withheld += 1,
            |l| l.rows.unwritten += 1,
            |l| l.rows.sent -= 1,
            |l| l.rows.received += 1,
            |l| l.lists.sent += 1,
            |l| l.lists.received += 1,
            |l| l.datagrams.sent += 1,
            |l| l.datagrams.sent_first -= 1,
            |l| l.datagrams.sent_retry += 1,
            |l| l.datagrams.sent_follow_up += 1,
            |l| l.datagrams.received += 1,
            |l| l.datagrams.matched -= 1,
            |l| l.datagrams.late += 1,
            |l| l.datagrams.duplicate += 1,
            |l| l.datagrams.unsolicited += 1,
            |l| l.datagrams.undecodable += 1,
        ];
        for (i, break_it) in breaks.iter().enumerate() {
            let mut ledger = balanced();
            break_it(&mut ledger);
            assert!(!ledger.check().is_empty(), "number {i} is in no equation");
        }
    }

    #[test]
    fn an_imbalance_names_its_equation_and_both_sides() {
        let mut ledger = balanced();
        ledger.targets.finished = 2;
        let text = ledger.check()[0].to_string();
        assert_eq!(text, "scheduled = finished: 3 is not 2");
    }

    #[test]
    fn latencies_have_quantiles_to_three_digits() {
        let mut latency = Latency::new();
        assert_eq!(latency.quantile_ms(0.5), None);
        (1..=1_000).for_each(|ms| latency.record(ms * 1_000));
        let median = latency.quantile_ms(0.5).unwrap();
        assert!((499.5..=501.0).contains(&median), "{median}");
        latency.record(u32::MAX);
        assert!(latency.quantile_ms(1.0).unwrap() >= 60_000.0);
    }
}
