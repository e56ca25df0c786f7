//! Will this machine lose datagrams at the pace of a scan? What was read of the machine, and what follows from it.
//!
//! ```text
//!   /proc, /sys, tc, a socket ──► look ──► Machine ──► examine ──► findings, each with the command that mends it
//! ```
//!
//! [`look()`] reads and judges nothing; [`examine`] judges and reads nothing, so that tests can bring any machine. What
//! could not be read is a `None`, and leads to a finding that says so. Nothing is changed: the commands are printed only.

mod buffers;
mod look;
mod queue;
mod system;
mod tracking;

pub(crate) use look::{interfaces, look};
pub(crate) use queue::Qdisc;

use serde::Serialize;

use crate::net::socket::Granted;

/// Pace and window of the scan that a machine is checked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Workload {
    /// Datagrams a second; `None` is as fast as possible.
    pub rate: Option<f64>,
    /// Most targets in flight.
    pub window: usize,
}

/// What was read of a machine. What is not there could not be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Machine {
    /// The network interface that datagrams leave through.
    pub interface: Option<String>,
    /// Buffers that a scan's socket got.
    pub granted: Option<Granted>,
    /// Largest receive buffer that may be asked for, in bytes (`net.core.rmem_max`).
    pub rmem_max: Option<u64>,
    /// The same of send buffers (`net.core.wmem_max`).
    pub wmem_max: Option<u64>,
    /// UDP datagrams that were dropped because a receive buffer was full, since the system started.
    pub receive_buffer_errors: Option<u64>,
    /// UDP datagrams that were dropped on arrival for any reason, those among them.
    pub receive_errors: Option<u64>,
    /// The table of connections.
    pub tracking: Option<Tracking>,
    /// Queues of the interface, the outermost first.
    pub qdiscs: Option<Vec<Qdisc>>,
    /// Packets that the interface's queue may hold, where the queue has no limit of its own (`txqueuelen`).
    pub tx_queue: Option<u64>,
    /// Files that this process may open, and the most that it may allow itself.
    pub open_files: Option<(u64, u64)>,
    /// Governors of the CPUs' frequencies.
    pub governors: Option<Vec<String>>,
    /// CPUs that this process may use.
    pub cpus: Option<usize>,
    /// Bytes of the largest packet of the interface.
    pub mtu: Option<u64>,
    /// The same of loopback.
    pub loopback_mtu: Option<u64>,
    /// Bytes that pieces of IPv4 packets may take while they wait for the others (`net.ipv4.ipfrag_high_thresh`).
    pub fragments: Option<u64>,
}

/// The kernel's table of connections (conntrack).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tracking {
    /// Most entries.
    pub max: u64,
    /// Entries that there are.
    pub count: u64,
    /// Seconds that an entry of UDP is kept after its last datagram.
    pub udp_timeout: u64,
    /// Whether datagrams over loopback left entries; unknown if that could not be tried.
    pub sees_udp: Option<bool>,
}

/// What one check has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The check.
    pub name: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What is there.
    pub seen: String,
    /// What a scan needs.
    pub need: String,
    /// Shell commands that mend it, one a line; a line that begins with `#` explains the next ones.
    pub mend: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Nothing is lost.
    Ok,
    /// Worth knowing; something may be lost now and then.
    Note,
    /// Datagrams will be dropped at this pace.
    Loss,
    /// Not looked at.
    Unknown,
}

impl Finding {
    fn new(name: &'static str, level: Level, seen: impl Into<String>, need: impl Into<String>) -> Self {
        Self { name, level, seen: seen.into(), need: need.into(), mend: None }
    }

    fn mended_by(self, mend: impl Into<String>) -> Self {
        Self { mend: Some(mend.into()), ..self }
    }

    /// A check that could not be made, because of `what`.
    fn not_looked_at(name: &'static str, what: &str, need: impl Into<String>) -> Self {
        Self::new(name, Level::Unknown, format!("not looked at: {what}"), need)
    }
}

impl Workload {
    /// The pace as it is typed.
    fn pace(&self) -> String {
        self.rate.map_or_else(|| "--rate max".to_owned(), |rate| format!("{rate}/s"))
    }

    /// Datagrams of so many seconds, rounded up; those of a window at most, and as many if there is no limit to the pace.
    fn datagrams(&self, seconds: f64) -> u64 {
        let window = self.window as u64;
        self.rate.map_or(window, |rate| ((rate * seconds).ceil() as u64).clamp(1, window.max(1)))
    }
}

/// Every check, in the order in which a datagram meets what is checked: out, back, and around it.
#[must_use]
pub(crate) fn examine(machine: &Machine, workload: &Workload) -> Vec<Finding> {
    vec![
        buffers::send(machine),
        queue::check(machine, workload),
        tracking::check(machine, workload),
        system::mtu(machine),
        system::fragments(machine),
        buffers::receive(machine, workload),
        buffers::dropped(machine),
        system::open_files(machine),
        system::cpus(machine),
        system::governor(machine, workload),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_which_nothing_can_be_read_is_unknown_and_loses_nothing() {
        let findings = examine(&Machine::default(), &Workload { rate: Some(2_000.0), window: 10_000 });
        assert_eq!(findings.len(), 10);
        for finding in findings {
            assert_eq!(finding.level, Level::Unknown, "{finding:?}");
            assert!(finding.seen.starts_with("not looked at: ") && finding.mend.is_none(), "{finding:?}");
        }
    }

    #[test]
    fn names_are_given_once() {
        let findings = examine(&Machine::default(), &Workload { rate: None, window: 1 });
        let names: std::collections::HashSet<_> = findings.iter().map(|finding| finding.name).collect();
        assert_eq!(names.len(), findings.len());
    }

    #[test]
    fn a_workload_counts_the_datagrams_of_a_time_up_to_its_window() {
        let workload = |rate, window| Workload { rate, window };
        assert_eq!(workload(Some(2_000.0), 10_000).datagrams(1.0), 2_000);
        assert_eq!(workload(Some(50_000.0), 10_000).datagrams(1.0), 10_000);
        assert_eq!(workload(Some(0.5), 10_000).datagrams(0.01), 1);
        assert_eq!(workload(None, 10_000).datagrams(0.01), 10_000);
    }
}
