//! Which mention gets which addresses: overlapping blocks become disjoint segments.
//!
//! For each plan the blocks are swept over the address axis. Between two cuts (a block or a zone begins or ends) all
//! addresses fare alike, so the tally is a matter of multiplication. There the first mention takes its ports, less
//! what is excluded; the second takes what the first left; and so on. Mentions with the same ports differ only in
//! their time, so they form a group in which the first takes everything: the work between two cuts grows with the
//! number of different port sets, not with the number of blocks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use super::blocklist::{Class, ExclusionReason};
use super::exclude::{Zone, Zones, blocked};
use super::ip_range::address;
use super::ports::{PortSets, Ports};
use super::sweep::{Step, sweep};
use super::{Tally, Target};

/// One mention of one or more addresses, each on one or more ports.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) first: u128,
    pub(super) last: u128,
    /// A shared set: blocks with equal ports point to the same one.
    pub(super) ports: Arc<Ports>,
    /// The time of the mention: lower is earlier.
    pub(super) mention: u32,
    pub(super) origin: u32,
    pub(super) plan: u16,
    pub(super) typed: bool,
}

/// Targets that go to one mention: each address on each port. Segments are disjoint, and those of one mention ascend.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) first: u128,
    pub(super) addresses: u64,
    pub(super) ports: Arc<Ports>,
    pub(super) mention: u32,
    pub(super) origin: u32,
    pub(super) plan: u16,
}

impl Segment {
    /// How many targets.
    pub(super) fn len(&self) -> u64 {
        self.addresses * u64::from(self.ports.len())
    }

    /// The last address.
    pub(super) fn last(&self) -> u128 {
        self.first + u128::from(self.addresses) - 1
    }

    /// The target with `index` others before it: address by address, port by port at each.
    pub(super) fn target(&self, index: u64) -> Option<Target> {
        let ports = u64::from(self.ports.len());
        let port = self.ports.nth((index % ports) as u32)?;
        let ip = address(self.first + u128::from(index / ports));
        Some(Target { address: SocketAddr::new(ip, port), plan: self.plan, origin: self.origin })
    }
}

/// Works out the segments of all blocks and counts what is left over; the caller has made sure that all expanded
/// targets together are fewer than 2^63.
pub(super) fn claim(mut blocks: Vec<Block>, zones: &Zones, sets: &mut PortSets, tally: &mut Tally) -> Vec<Segment> {
    blocks.sort_unstable_by_key(|block| (block.plan, block.first, block.mention));
    let mut segments = Vec::new();
    for blocks in blocks.chunk_by(|one, next| one.plan == next.plan) {
        let mut claims = Claims {
            blocks,
            groups: HashMap::new(),
            claimants: Vec::new(),
            latest: Vec::new(),
            segments: &mut segments,
            sets: &mut *sets,
            tally: &mut *tally,
        };
        sweep(
            blocks.len(),
            |index| (blocks[index].first, blocks[index].last),
            |step| match step {
                Step::Enter(index) => claims.enter(index),
                Step::Leave(index) => claims.leave(index),
                Step::Interval(first, last) => claims.divide(first, last, zones),
            },
        );
    }
    segments.shrink_to_fit();
    segments
}

/// The sweep over the blocks of one plan.
struct Claims<'a> {
    blocks: &'a [Block],
    /// The active blocks, by port set (its pointer) and whether they were typed.
    groups: HashMap<(usize, bool), Group>,
    /// Who claims the current addresses; empty between uses.
    claimants: Vec<Claimant>,
    /// The segments that reach up to the current addresses, by mention.
    latest: Vec<usize>,
    segments: &'a mut Vec<Segment>,
    sets: &'a mut PortSets,
    tally: &'a mut Tally,
}

/// Active blocks with the same ports.
struct Group {
    ports: Arc<Ports>,
    typed: bool,
    active: u64,
    /// (mention, index) of its blocks, earliest first; those that have ended are dropped when they come to the top.
    queue: BinaryHeap<Reverse<(u32, usize)>>,
}

/// The first mention of a group, with what is not excluded of its ports.
struct Claimant {
    mention: u32,
    block: usize,
    ports: Arc<Ports>,
    /// How many mentions claim the same.
    mentions: u64,
}

impl Claims<'_> {
    fn enter(&mut self, index: usize) {
        let block = &self.blocks[index];
        let group = self.groups.entry(group_key(block)).or_insert_with(|| Group {
            ports: Arc::clone(&block.ports),
            typed: block.typed,
            active: 0,
            queue: BinaryHeap::new(),
        });
        group.active += 1;
        group.queue.push(Reverse((block.mention, index)));
    }

    fn leave(&mut self, index: usize) {
        let key = group_key(&self.blocks[index]);
        if let Some(group) = self.groups.get_mut(&key) {
            group.active -= 1;
            if group.active == 0 {
                self.groups.remove(&key);
            }
        }
    }

    /// Cuts an interval, in which the same blocks are active, at the zones.
    fn divide(&mut self, first: u128, last: u128, zones: &Zones) {
        let mut at = first;
        for zone in zones.overlapping(first, last) {
            if at < zone.first {
                self.settle(at, zone.first - 1, None);
            }
            let until = zone.last;
            self.settle(zone.first, until, Some(&zone));
            if until == last {
                return;
            }
            at = until + 1;
        }
        self.settle(at, last, None);
    }

    /// Gives addresses, between which nothing changes, to those who claim them first.
    fn settle(&mut self, first: u128, last: u128, zone: Option<&Zone>) {
        let addresses = (last - first) as u64 + 1; // fewer than 2^63, as all targets are
        let mut claimants = std::mem::take(&mut self.claimants);
        for group in self.groups.values_mut() {
            claimants.extend(group.claim(first, addresses, zone, self.blocks, self.tally));
        }
        claimants.sort_unstable_by_key(|claimant| claimant.mention);

        let mut latest = Vec::with_capacity(claimants.len());
        let mut taken = Ports::default();
        for claimant in &claimants {
            let won = if taken.is_empty() {
                Arc::clone(&claimant.ports)
            } else {
                self.sets.share(&claimant.ports.subtract(&taken))
            };
            let claimed = claimant.mentions * addresses * u64::from(claimant.ports.len());
            self.tally.duplicate += claimed - addresses * u64::from(won.len());
            if !won.is_empty() {
                taken = taken.union(&won);
                latest.push(self.give(claimant, first, addresses, won));
            }
        }
        self.latest = latest;
        claimants.clear();
        self.claimants = claimants;
    }

    /// Makes a segment, or lengthens the mention's last one when it comes right before; returns its index.
    fn give(&mut self, claimant: &Claimant, first: u128, addresses: u64, ports: Arc<Ports>) -> usize {
        let place = self.latest.binary_search_by_key(&claimant.mention, |&index| self.segments[index].mention);
        if let Ok(place) = place {
            let index = self.latest[place];
            let segment = &mut self.segments[index];
            if segment.first + u128::from(segment.addresses) == first && segment.ports == ports {
                segment.addresses += addresses;
                return index;
            }
        }
        let Block { mention, origin, plan, .. } = self.blocks[claimant.block];
        self.segments.push(Segment { first, addresses, ports, mention, origin, plan });
        self.segments.len() - 1
    }
}

impl Group {
    /// Counts what is excluded at these addresses; what remains is claimed by the first mention.
    fn claim(
        &mut self,
        first: u128,
        addresses: u64,
        zone: Option<&Zone>,
        blocks: &[Block],
        tally: &mut Tally,
    ) -> Option<Claimant> {
        let expanded = |ports: &Ports| self.active * addresses * u64::from(ports.len());
        let mut ports = Arc::clone(&self.ports);
        if let Some(zone) = zone {
            if zone.class == Class::Invalid {
                tally.invalid += expanded(&ports);
                return None;
            }
            if !zone.listed.is_empty() {
                ports = Arc::new(ports.subtract(&zone.listed));
                tally.excluded[ExclusionReason::Listed] += expanded(&self.ports) - expanded(&ports);
            }
            if let Some(reason) = blocked(zone.class, self.typed) {
                tally.excluded[reason] += expanded(&ports);
                return None;
            }
        }
        if ports.is_empty() {
            return None;
        }
        // Bounded by the queue, which holds an active block as long as the group exists.
        while self.queue.peek().is_some_and(|Reverse((_, block))| blocks[*block].last < first) {
            self.queue.pop();
        }
        let Reverse((mention, block)) = *self.queue.peek()?;
        Some(Claimant { mention, block, ports, mentions: self.active })
    }
}

/// Equal sets are shared, so the pointer tells them apart.
fn group_key(block: &Block) -> (usize, bool) {
    (Arc::as_ptr(&block.ports).addr(), block.typed)
}
