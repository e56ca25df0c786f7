//! The set of targets, and the walk through it.
//!
//! Every target has a place in `0..len`. In input order places follow the mentions. In shuffled order they follow plan,
//! address and port, before they are put through a [`Permutation`]: the same set has the same order for one seed, however it
//! was written. Either way the segments form groups, and singles lie in the gaps between the groups, so that a place is
//! looked up by a binary search over the groups.
//!
//! Whether a single is in the set is another binary search: over the singles themselves when the order is shuffled, and in
//! input order over an index of 4 bytes each.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;

use super::claim::Segment;
use super::ip_range::{address, ipv4_key, is_ipv4};
use super::permute::Permutation;
use super::ports::Ports;
use super::singles::Single;
use super::sweep::{Step, sweep};
use super::{Order, Source, Target};

/// Distinct targets in a fixed order, made by [`TargetSetBuilder`](super::TargetSetBuilder).
#[derive(Debug)]
pub(crate) struct TargetSet {
    /// By mention, or (when the order is shuffled) by target, as the builder has sorted them.
    singles: Vec<Single>,
    /// The singles' places by target; needed only if they are sorted by mention and somebody looks them up.
    by_target: Vec<u32>,
    /// Group by group.
    segments: Vec<Segment>,
    /// By the place of their first target.
    groups: Vec<Group>,
    len: u64,
    permutation: Option<Permutation>,
    next: u64,
}

/// Segments at the same addresses, which have different ports of them.
#[derive(Debug)]
struct Group {
    /// The place of its first target.
    start: u64,
    /// How many singles come before it.
    singles_before: u64,
    segments: Range<usize>,
    /// The ports of all of them.
    ports: Arc<Ports>,
}

impl TargetSet {
    /// Lays out disjoint targets.
    pub(super) fn new(mut singles: Vec<Single>, mut segments: Vec<Segment>, order: Order, seed: u64) -> Self {
        if order == Order::Input {
            singles.sort_unstable_by_key(|single| single.mention);
        }
        match order {
            Order::Input => segments.sort_unstable_by_key(|segment| (segment.mention, segment.first)),
            Order::Shuffled => segments = aligned(segments),
        }
        let mut groups: Vec<Group> = Vec::with_capacity(segments.len());
        let mut len = 0;
        let mut at = 0;
        // In input order every segment is a group of its own: no two of one mention are at the same addresses.
        let is_together = |one: &Segment, next: &Segment| {
            order == Order::Shuffled && (one.plan, one.first) == (next.plan, next.first)
        };
        for members in segments.chunk_by(is_together) {
            let Some(first) = members.first() else { continue };
            let singles_before = match order {
                Order::Input => singles.partition_point(|single| single.mention < first.mention),
                Order::Shuffled => {
                    singles.partition_point(|single| (single.plan, ipv4_key(single.ip)) < (first.plan, first.first))
                }
            } as u64;
            let ports =
                members[1..].iter().fold(Arc::clone(&first.ports), |all, segment| Arc::new(all.union(&segment.ports)));
            let group = Group { start: singles_before + len, singles_before, segments: at..at + members.len(), ports };
            len += first.addresses * u64::from(group.ports.len());
            at += members.len();
            groups.push(group);
        }
        len += singles.len() as u64;
        let permutation = (order == Order::Shuffled).then(|| Permutation::new(len, seed));
        Self { singles, by_target: Vec::new(), segments, groups, len, permutation, next: 0 }
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
        let begun = self.groups.partition_point(|group| group.start <= place);
        let Some(index) = begun.checked_sub(1) else { return self.single(place) };
        let group = self.groups.get(index)?;
        let segments = self.segments.get(group.segments.clone())?;
        let (inside, ports) = (place - group.start, u64::from(group.ports.len()));
        let first = segments.first()?;
        match inside.checked_sub(first.addresses * ports) {
            None => {
                let port = group.ports.nth((inside % ports) as u32)?;
                let segment = segments.iter().find(|segment| segment.ports.contains(port))?;
                let address = SocketAddr::new(address(first.first + u128::from(inside / ports)), port);
                Some(Target { address, plan: segment.plan, origin: segment.origin })
            }
            Some(after) => self.single(group.singles_before + after),
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

/// The segments by plan and address, cut so that those of one plan are at the same addresses or have none in common.
fn aligned(mut segments: Vec<Segment>) -> Vec<Segment> {
    segments.sort_unstable_by_key(|segment| (segment.plan, segment.first));
    let overlap = |pair: &[Segment]| pair[0].plan == pair[1].plan && pair[1].first <= pair[0].last();
    if !segments.windows(2).any(overlap) {
        return segments;
    }
    let mut aligned = Vec::with_capacity(segments.len());
    for segments in segments.chunk_by(|one, next| one.plan == next.plan) {
        let mut active: Vec<usize> = Vec::new();
        sweep(
            segments.len(),
            |index| (segments[index].first, segments[index].last()),
            |step| match step {
                Step::Enter(index) => active.push(index),
                Step::Leave(index) => active.retain(|other| *other != index),
                Step::Interval(first, last) => aligned.extend(active.iter().map(|&index| {
                    let Segment { ref ports, mention, origin, plan, .. } = segments[index];
                    Segment {
                        first,
                        addresses: (last - first) as u64 + 1,
                        ports: Arc::clone(ports),
                        mention,
                        origin,
                        plan,
                    }
                })),
            },
        );
    }
    aligned
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
