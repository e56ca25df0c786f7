//! Which addresses to ask, and in which order.
//!
//! ```text
//! bytes ─ lines ─→ text ─ TargetSpec ─→ IpRange × Ports ─ TargetSetBuilder ─→ TargetSet ─ poll_target ─→ engine
//!                                                          ↑ Exclusions         ↑ Permutation
//!                                                          blocklist, --exclude  seed
//! ```
//!
//! A target is a plan (what to ask) at an address. However often it is named, it is visited once, and every mention
//! lands in exactly one class of the `Tally`. Ranges stay ranges from the command line to the last target: the whole
//! of IPv4 costs as much memory as one address, because duplicates and exclusions are subtracted from the ranges
//! (`claim`) and the order comes from a keyed permutation of the index (`permute`).
//!
//! Knowing protocols is left to others; so are the clock and the sockets.

use std::net::SocketAddr;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::task::Poll;

use crate::record::ListFacts;

mod address_set;
mod blocklist;
mod claim;
mod dedup;
mod exclude;
mod halves;
mod ip_range;
mod name_error;
mod origins;
mod pairs;
mod parse;
mod parse_error;
pub(crate) mod permute;
mod port_rule;
mod ports;
mod ranges;
mod set;
mod singles;
mod spans;
mod sweep;
#[cfg(test)]
mod tests;

pub use self::name_error::NameError;
pub use self::origins::Origins;
pub use self::parse_error::ParseError;
pub use self::port_rule::PortRule;
pub use self::ports::Ports;

pub(crate) use self::blocklist::ExclusionReason;
pub(crate) use self::dedup::{Dedup, NewRange};
pub(crate) use self::exclude::{Exclusions, Ruling, Zones};
pub(crate) use self::ip_range::IpRange;
pub(crate) use self::parse::{Hosts, TargetSpec};
pub(crate) use self::permute::Permutation;
pub(crate) use self::ranges::TargetSetBuilder;
pub(crate) use self::set::TargetSet;

/// One (plan, address) to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// Where to send; an IPv4-mapped IPv6 address never stands here.
    pub address: SocketAddr,
    /// What to ask: an index into the caller's plans.
    pub plan: u16,
    /// Who named it first: an index into the caller's [`Origin`]s.
    pub origin: u32,
}

/// The interface on whose network a link-local address is; 0 for other addresses.
pub(crate) const fn scope(address: &SocketAddr) -> u32 {
    match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(address) => address.scope_id(),
    }
}

/// Where targets come from; the engine pulls.
///
/// All methods are called on the thread that runs the scan, between datagrams, so none of them may wait. A list of targets
/// is a source: `targets.into_iter()`.
pub trait Source: Send {
    /// Takes the next target: `Pending` if it is not known yet, and the engine asks again within some 10 ms; `Ready(None)`
    /// if there are no more, for good.
    #[must_use = "a target that is taken and dropped is never asked"]
    fn poll_target(&mut self) -> Poll<Option<Target>>;

    /// Takes a name that finally could not be resolved; call until `None`.
    #[must_use = "a name that is taken and dropped is nowhere in the account"]
    fn poll_unresolved(&mut self) -> Option<Unresolved> {
        None
    }

    /// Takes the news that a target has ended; a source that goes round may give it again from now on.
    fn handle_ended(&mut self, _target: Target) {}

    /// Takes an address that `list`, a list server that was given as a target, has named for the first time.
    fn handle_found(&mut self, _list: Target, _address: SocketAddr) {}

    /// Records that no more targets will be taken. Takes in what has arrived so far, so that the account includes it.
    fn handle_stop(&mut self) {}

    /// How many targets are left, as far as they are known. If the run stops early, they count as not started.
    fn remaining(&self) -> Option<u64>;

    /// True if more may become known than [`Source::remaining`] counts.
    fn is_growing(&self) -> bool {
        false
    }

    /// True if there are no more, and will be none.
    fn is_exhausted(&self) -> bool {
        !self.is_growing() && self.remaining() == Some(0)
    }
}

impl Source for std::vec::IntoIter<Target> {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        Poll::Ready(self.next())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

/// A name without an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unresolved {
    /// What was to be asked: an index into the caller's plans.
    pub plan: u16,
    /// Who named it: an index into the caller's [`Origin`]s.
    pub origin: u32,
    /// Why it has none.
    pub error: NameError,
}

/// Who named a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// What was written, when it stands for more than the one address (a range, a block, a port list).
    pub text: Option<Arc<str>>,
    /// The file's or list's name; `None` for an argument.
    pub source: Option<Arc<str>>,
    /// What the list says about the target, if it says anything.
    pub facts: Option<Arc<ListFacts>>,
}

/// What became of everything that was read: `read = invalid + duplicate + excluded.total() + targets kept`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Every expanded target, and every line that could not be read, once.
    pub read: u64,
    /// Lines that could not be read, and targets that no datagram can reach (127.255.255.255, 0.0.0.0, ::).
    pub invalid: u64,
    /// Targets named again.
    pub duplicate: u64,
    /// Targets not asked on purpose; a target that is named twice and excluded counts twice here.
    pub excluded: PerReason,
}

/// One count for each [`ExclusionReason`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PerReason([u64; ExclusionReason::ALL.len()]);

impl PerReason {
    /// The sum over all reasons.
    #[must_use]
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Index<ExclusionReason> for PerReason {
    type Output = u64;

    fn index(&self, reason: ExclusionReason) -> &u64 {
        &self.0[reason as usize]
    }
}

impl IndexMut<ExclusionReason> for PerReason {
    fn index_mut(&mut self, reason: ExclusionReason) -> &mut u64 {
        &mut self.0[reason as usize]
    }
}

/// The order in which targets are visited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Seeded and pseudo-random, so that no network is asked in a burst.
    #[default]
    Shuffled,
    /// As they were named; inside a range address by address, and port by port at each.
    Input,
}
