//! The only place that ensures "each target once": it knows the set, and what has become known since.
//!
//! A target is a plan at an address. The set is without repetitions to begin with. Whatever comes later (a name, a line
//! of standard input, a server of a list) is compared with the set and with what came before it. Targets of a range
//! take no memory: ranges, those of the set and later ones, are kept as spans of addresses. The single targets of the
//! set are looked up in place; a later single takes 8 bytes plus its share of a hash table.

use std::net::IpAddr;

use hashbrown::HashTable;

use super::claim::{Block, Segment, claim};
use super::exclude::Zones;
use super::ip_range::key;
use super::ports::PortSets;
use super::spans::Spans;
use super::{IpRange, Ports, Tally, Target, TargetSet, scope};
use crate::rng::{AddressHasher, mix};

/// Every target that is known, and whether another one is new.
#[derive(Debug)]
pub(crate) struct Dedup {
    set: TargetSet,
    /// Ranges of the set, and those that came later.
    spans: Spans,
    /// Single targets that came later.
    singles: Singles,
    sets: PortSets,
}

/// Targets of a range that came later, none of which was known as part of an earlier range.
#[derive(Debug)]
pub(crate) struct NewRange(Segment);

impl Dedup {
    /// Knows the targets of `set`; `seed` is that of the run.
    #[must_use]
    pub(crate) fn new(mut set: TargetSet, seed: u64) -> Self {
        set.index_singles();
        let mut spans = Spans::default();
        for segment in set.segments() {
            spans.insert(segment.plan, segment.first, segment.last(), &segment.ports);
        }
        Self { set, spans, singles: Singles::new(AddressHasher::new(seed)), sets: PortSets::default() }
    }

    /// The set.
    #[must_use]
    pub(crate) const fn set(&self) -> &TargetSet {
        &self.set
    }

    /// The set, to take targets from.
    pub(crate) const fn set_mut(&mut self) -> &mut TargetSet {
        &mut self.set
    }

    /// Remembers `target`, and says whether it is new.
    #[must_use = "a target that is not new must not be asked"]
    pub(crate) fn insert(&mut self, target: &Target) -> bool {
        !self.spans.contains(target.plan, key(target.address.ip()), target.address.port())
            && !self.set.has_single(target)
            && self.singles.insert(target)
    }

    /// Remembers each of `hosts` on each of `ports` as targets of `plan` that `origin` names, without what `zones` leave
    /// out, and returns those that are new as far as ranges are known: ask [`Dedup::is_single`] for each of them.
    ///
    /// Counts everything in `tally` as read, and also what is left out or known from another range. The caller has made
    /// sure that all targets together stay below 2^63.
    #[must_use = "what is not returned is not asked"]
    pub(crate) fn insert_range(
        &mut self,
        hosts: IpRange,
        ports: &Ports,
        (plan, origin): (u16, u32),
        zones: &Zones,
        tally: &mut Tally,
    ) -> Vec<NewRange> {
        tally.read += hosts.count() as u64 * u64::from(ports.len());
        let ports = self.sets.share(ports);
        let block = |(first, last)| Block { first, last, ports: ports.clone(), mention: 0, origin, plan, typed: false };
        let claimed = claim(hosts.pieces().map(block).collect(), zones, &mut self.sets, tally);
        let mut new = Vec::new();
        for segment in claimed {
            let gaps = self.spans.insert(plan, segment.first, segment.last(), &segment.ports);
            let before = new.len();
            new.extend(gaps.into_iter().map(|gap| {
                let addresses = (gap.last - gap.first) as u64 + 1;
                NewRange(Segment { first: gap.first, addresses, ports: gap.ports, mention: 0, origin, plan })
            }));
            let kept: u64 = new.iter().skip(before).map(NewRange::len).sum();
            tally.duplicate += segment.len() - kept;
        }
        new
    }

    /// Whether a target of a range that came later is known by itself as well.
    #[must_use]
    pub(crate) fn is_single(&self, target: &Target) -> bool {
        self.set.has_single(target) || self.singles.contains(target)
    }
}

impl NewRange {
    /// How many targets.
    #[must_use]
    pub(crate) fn len(&self) -> u64 {
        self.0.len()
    }

    /// The target with `index` others before it: address by address, port by port at each.
    #[must_use]
    pub(crate) fn nth(&self, index: u64) -> Option<Target> {
        if index < self.len() { self.0.target(index) } else { None }
    }
}

/// Single targets that were seen. An IPv4 target is known exactly, an IPv6 target by a keyed hash of 64 bits.
#[derive(Debug)]
struct Singles {
    /// Many tables rather than one, so that when they grow they do not all exist twice at once.
    tables: Vec<HashTable<u64>>,
    hasher: AddressHasher,
}

impl Singles {
    fn new(hasher: AddressHasher) -> Self {
        Self { tables: (0..TABLES).map(|_| HashTable::new()).collect(), hasher }
    }

    fn contains(&self, target: &Target) -> bool {
        let (table, hash, key) = self.place(target);
        self.tables[table].find(hash, |&other| other == key).is_some()
    }

    /// False if it was seen before.
    fn insert(&mut self, target: &Target) -> bool {
        let (table, hash, key) = self.place(target);
        let table = &mut self.tables[table];
        let new = table.find(hash, |&other| other == key).is_none();
        if new {
            table.insert_unique(hash, key, |&other| mix(other));
        }
        new
    }

    /// The number of the table in which a target is, its hash, and its key.
    fn place(&self, Target { address, plan, .. }: &Target) -> (usize, u64, u64) {
        let key = match address.ip() {
            IpAddr::V4(ip) => u64::from(ip.to_bits()) << 32 | u64::from(address.port()) << 16 | u64::from(*plan),
            IpAddr::V6(_) => {
                self.hasher.socket(address) ^ mix((u64::from(scope(address)) << 32) + u64::from(*plan) + 1)
            }
        };
        let hash = mix(key);
        ((hash >> 58) as usize % TABLES, hash, key)
    }
}

const TABLES: usize = 64;
