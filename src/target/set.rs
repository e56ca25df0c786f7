//! The set of targets, and the walk through it.
//!
//! Every target has a place in `0..len`. Places follow the order of mention; singles lie in the gaps between the
//! segments. A place is looked up by a binary search over the segments, so the set can be walked in any order: the
//! shuffled one is the identity put through a [`Permutation`]. Whether a single is in the set is another binary search:
//! over the singles themselves when the order is shuffled, and in input order over an index of 4 bytes each.

use std::net::{IpAddr, SocketAddr};
use std::task::Poll;

use super::claim::Segment;
use super::ip_range::{address, ipv4_key, is_ipv4};
use super::permute::Permutation;
use super::singles::Single;
use super::{Order, Source, Target};

/// Distinct targets in a fixed order, made by [`TargetSetBuilder`](super::TargetSetBuilder).
#[derive(Debug)]
pub(crate) struct TargetSet {
    /// By mention, or (when the order is shuffled) by target, as the builder has sorted them.
    singles: Vec<Single>,
    /// The singles' places by target, where they are sorted by mention and somebody looks for them.
    by_target: Vec<u32>,
    segments: Vec<Segment>,
    /// The place of each segment's first target, ascending.
    starts: Vec<u64>,
    /// How many singles come before each segment.
    singles_before: Vec<u64>,
    len: u64,
    permutation: Option<Permutation>,
    next: u64,
}

impl TargetSet {
    /// Lays out disjoint targets.
    pub(super) fn new(mut singles: Vec<Single>, mut segments: Vec<Segment>, order: Order, seed: u64) -> Self {
        if order == Order::Input {
            singles.sort_unstable_by_key(|single| single.mention);
        }
        segments.sort_unstable_by_key(|segment| (segment.mention, segment.first));
        let mut starts = Vec::with_capacity(segments.len());
        let mut singles_before = Vec::with_capacity(segments.len());
        let mut in_segments = 0;
        for segment in &segments {
            let before = match order {
                Order::Input => singles.partition_point(|single| single.mention < segment.mention),
                Order::Shuffled => singles.len(),
            } as u64;
            starts.push(before + in_segments);
            singles_before.push(before);
            in_segments += segment.len();
        }
        let len = singles.len() as u64 + in_segments;
        let permutation = (order == Order::Shuffled).then(|| Permutation::new(len, seed));
        Self { singles, by_target: Vec::new(), segments, starts, singles_before, len, permutation, next: 0 }
    }

    /// Makes [`TargetSet::has_single`] possible.
    pub(super) fn index_singles(&mut self) {
        if self.permutation.is_none() {
            self.by_target = (0..self.singles.len() as u32).collect(); // `build` refuses 2^32 mentions
            self.by_target.sort_unstable_by_key(|&place| self.singles[place as usize].target());
        }
    }

    /// Whether `target` is one of the singles: an IPv4 target that was named by itself and lies in no range of its plan.
    /// Call [`TargetSet::index_singles`] first.
    pub(super) fn has_single(&self, target: &Target) -> bool {
        let IpAddr::V4(ip) = target.address.ip() else { return false };
        let wanted = (target.plan, ip.to_bits(), target.address.port());
        if self.permutation.is_some() {
            self.singles.binary_search_by_key(&wanted, Single::target).is_ok()
        } else {
            self.by_target.binary_search_by_key(&wanted, |&place| self.singles[place as usize].target()).is_ok()
        }
    }

    /// The ranges.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// How many targets there are, visited or not.
    #[cfg(test)]
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The target that is visited after `visit` others.
    #[must_use]
    pub(crate) fn nth(&self, visit: u64) -> Option<Target> {
        if visit >= self.len {
            return None;
        }
        let place = self.permutation.as_ref().map_or(visit, |order| order.apply(visit));
        let begun = self.starts.partition_point(|&start| start <= place);
        let Some(index) = begun.checked_sub(1) else { return self.single(place) };
        let (segment, inside) = (self.segments.get(index)?, place - self.starts.get(index)?);
        match inside.checked_sub(segment.len()) {
            None => segment.target(inside),
            Some(behind) => self.single(self.singles_before.get(index)? + behind),
        }
    }

    /// Whether all targets are on this machine; an empty set is not.
    #[must_use]
    pub(crate) fn all_loopback(&self) -> bool {
        let covers = |first: u128, last: u128| {
            let (first, last) = (address(first), address(last));
            first.is_loopback() && last.is_loopback() && first.is_ipv4() == last.is_ipv4()
        };
        !self.is_empty()
            && self.singles.iter().all(|single| single.ip >> 24 == 127)
            && self.segments.iter().all(|segment| covers(segment.first, segment.last()))
    }

    /// Whether there is an IPv4 target.
    #[must_use]
    pub(crate) fn has_ipv4(&self) -> bool {
        !self.singles.is_empty() || self.segments.iter().any(|segment| is_ipv4(segment.first))
    }

    /// Whether there is an IPv6 target.
    #[must_use]
    pub(crate) fn has_ipv6(&self) -> bool {
        self.segments.iter().any(|segment| !is_ipv4(segment.first))
    }

    fn single(&self, index: u64) -> Option<Target> {
        let &Single { ip, port, plan, origin, .. } = self.singles.get(usize::try_from(index).ok()?)?;
        Some(Target { address: SocketAddr::new(address(ipv4_key(ip)), port), plan, origin })
    }
}

impl Source for TargetSet {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        let target = self.nth(self.next);
        self.next += u64::from(target.is_some());
        Poll::Ready(target)
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.len - self.next)
    }
}
