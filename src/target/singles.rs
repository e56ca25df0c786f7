//! Single IPv4 targets, of which a file may hold ten million: 16 bytes each, sorted and deduplicated in place.

use super::Tally;
use super::claim::Block;
use super::exclude::{Ruling, Zones};
use super::ip_range::ipv4_key;
use super::ports::{PortSets, Ports};

/// One IPv4 address on one port, not typed as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Single {
    pub(super) ip: u32,
    pub(super) port: u16,
    pub(super) plan: u16,
    /// The time of the mention, as in [`Block`].
    pub(super) mention: u32,
    pub(super) origin: u32,
}

impl Single {
    /// Equal targets stand together, the first mention in front.
    pub(super) fn sort_key(&self) -> u128 {
        u128::from(self.plan) << 80 | u128::from(self.ip) << 48 | u128::from(self.port) << 32 | u128::from(self.mention)
    }

    pub(super) const fn target(&self) -> (u16, u32, u16) {
        (self.plan, self.ip, self.port)
    }

    pub(super) fn into_block(self, sets: &mut PortSets) -> Block {
        let Self { ip, port, plan, mention, origin } = self;
        let ports = sets.share(&Ports::one(port));
        Block { first: ipv4_key(ip), last: ipv4_key(ip), ports, mention, origin, plan, typed: false }
    }
}

/// Drops and counts sorted singles that are excluded or named again.
pub(super) fn thin(singles: &mut Vec<Single>, zones: &Zones, tally: &mut Tally) {
    let mut previous = None;
    singles.retain(|single| {
        match zones.ruling_at(ipv4_key(single.ip), single.port, false) {
            Some(Ruling::Invalid) => tally.invalid += 1,
            Some(Ruling::Excluded(reason)) => tally.excluded[reason] += 1,
            None if previous == Some(single.target()) => tally.duplicate += 1,
            None => {
                previous = Some(single.target());
                return true;
            }
        }
        false
    });
}

/// Takes out the sorted singles that lie inside a block of their plan.
pub(super) fn take_covered(singles: &mut Vec<Single>, blocks: &[Block]) -> Vec<Single> {
    let mut hulls: Vec<_> = blocks.iter().map(|block| (block.plan, block.first, block.last)).collect();
    hulls.sort_unstable();
    hulls.dedup_by(|next, hull| {
        let joins = next.0 == hull.0 && next.1 <= hull.2;
        if joins {
            hull.2 = hull.2.max(next.2);
        }
        joins
    });
    let mut hulls = hulls.into_iter().peekable();
    let mut covered = Vec::new();
    if hulls.peek().is_none() {
        return covered;
    }
    singles.retain(|single| {
        let place = (single.plan, ipv4_key(single.ip));
        while hulls.peek().is_some_and(|&(plan, _, last)| (plan, last) < place) {
            hulls.next();
        }
        let inside = hulls.peek().is_some_and(|&(plan, first, _)| plan == place.0 && first <= place.1);
        if inside {
            covered.push(*single);
        }
        !inside
    });
    covered
}
