//! What must not be asked: the blocklist and the user's own exclusions.
//!
//! The user's word comes first (a private address that is also listed counts as listed), then the blocklist. Nothing
//! but the user's word excludes loopback.
//!
//! Exclusions are kept in layers, each sorted and disjoint, so that a million of them take a few bytes each. The layers
//! are addresses that are excluded altogether, single IPv4 addresses on single ports, and the rest. Zones, within which
//! nothing changes, are assembled when they are needed.

use std::net::SocketAddr;
use std::sync::Arc;

use super::address_set::AddressSet;
use super::blocklist::{self, Class, ExclusionReason};
use super::ip_range::{IpRange, key};
use super::pairs::Pairs;
use super::ports::{PortSets, Ports};
use super::scope;
use super::sweep::{Step, sweep};

/// Exclusions as they are collected.
#[derive(Debug, Default)]
pub(crate) struct Exclusions {
    include_private: bool,
    whole: AddressSet,
    pairs: Pairs,
    some: Vec<Listed>,
    sets: PortSets,
}

/// Addresses that are excluded on some ports.
#[derive(Debug, Clone)]
struct Listed {
    first: u128,
    last: u128,
    ports: Arc<Ports>,
}

/// Exclusions as they are applied; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Zones(Arc<Layers>);

#[derive(Debug)]
struct Layers {
    /// What the blocklist says; disjoint and ascending.
    classes: Vec<(u128, u128, Class)>,
    /// Addresses that the user excluded on all ports.
    whole: AddressSet,
    /// Single addresses that the user excluded on single ports.
    pairs: Pairs,
    /// Addresses that the user excluded on some ports; disjoint and ascending.
    some: Vec<Listed>,
    all_ports: Arc<Ports>,
    /// The class of link-local addresses whose interface is known.
    zoned: Class,
}

/// Addresses with the same exclusions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) first: u128,
    pub(super) last: u128,
    pub(super) class: Class,
    /// The ports that the user excluded there.
    pub(super) listed: Arc<Ports>,
}

/// What becomes of a target that is not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It cannot be asked.
    Invalid,
    /// It is not asked on purpose.
    Excluded(ExclusionReason),
}

impl Exclusions {
    /// The blocklist alone; with `include_private`, without its private networks.
    #[must_use]
    pub(crate) fn new(include_private: bool) -> Self {
        Self { include_private, ..Self::default() }
    }

    /// Excludes these ports, or all when `None`, of these hosts.
    pub(crate) fn exclude(&mut self, hosts: IpRange, ports: Option<&Ports>) {
        let Some(ports) = ports.filter(|ports| ports.len() < u32::from(u16::MAX)) else {
            self.whole.insert(hosts);
            return;
        };
        if let (true, true, Some(port)) = (hosts.is_ipv4(), hosts.is_single(), ports.single()) {
            hosts.pieces().for_each(|(first, _)| self.pairs.insert(first, port));
            return;
        }
        let ports = self.sets.share(ports);
        self.some.extend(hosts.pieces().map(|(first, last)| Listed { first, last, ports: Arc::clone(&ports) }));
    }

    /// Sorts the layers; n log n in the number of exclusions.
    #[must_use]
    pub(crate) fn into_zones(mut self) -> Zones {
        let mut classes = blocklist::pieces();
        classes.retain(|&(_, _, class)| !(self.include_private && class == Class::Private));
        self.whole.settle();
        self.pairs.settle();
        let some = disjoint(&self.some);
        let all_ports = Arc::new(Ports::all());
        let zoned = if self.include_private { Class::Ordinary } else { Class::Private };
        Zones(Arc::new(Layers { zoned, classes, whole: self.whole, pairs: self.pairs, some, all_ports }))
    }
}

impl Zones {
    /// What becomes of a target that came as an argument (`typed`) or from elsewhere; `None`: it is asked.
    #[must_use]
    pub(crate) fn ruling(&self, address: &SocketAddr, typed: bool) -> Option<Ruling> {
        let (key, port) = (key(address.ip()), address.port());
        match scope(address) {
            0 => self.ruling_at(key, port, typed),
            // Servers are there, as in private networks. Exclusions leave an address out on every interface.
            _ => self.ruling_in(self.0.zoned, key, port, typed),
        }
    }

    pub(super) fn ruling_at(&self, key: u128, port: u16, typed: bool) -> Option<Ruling> {
        let layers = &*self.0;
        let class =
            layers.class(key).filter(|(first, ..)| *first <= key).map_or(Class::Ordinary, |(_, _, class)| class);
        self.ruling_in(class, key, port, typed)
    }

    fn ruling_in(&self, class: Class, key: u128, port: u16, typed: bool) -> Option<Ruling> {
        match class {
            Class::Invalid => Some(Ruling::Invalid),
            _ if self.0.lists(key, port) => Some(Ruling::Excluded(ExclusionReason::Listed)),
            class => blocked(class, typed).map(Ruling::Excluded),
        }
    }

    /// Whether single ports are excluded of an address among `hosts`, or of any address.
    pub(crate) fn exclude_ports_of(&self, hosts: Option<IpRange>) -> bool {
        let layers = &*self.0;
        let Some(hosts) = hosts else { return !layers.some.is_empty() || !layers.pairs.is_empty() };
        hosts.pieces().any(|(first, last)| {
            layers.some(first).is_some_and(|listed| listed.first <= last)
                || layers.pairs.next(first).is_some_and(|(ip, _)| ip <= last)
        })
    }

    /// The zones that have a part between `first` and `last`, ascending, without parts of them that lie outside.
    pub(super) fn overlapping(&self, first: u128, last: u128) -> impl Iterator<Item = Zone> {
        let layers = &*self.0;
        let mut at = Some(first);
        std::iter::from_fn(move || {
            let zone = layers.zone(at?, last)?;
            at = zone.last.checked_add(1);
            Some(zone)
        })
    }
}

impl Layers {
    /// What the blocklist says about the first addresses, from `key` on, that it covers.
    fn class(&self, key: u128) -> Option<(u128, u128, Class)> {
        self.classes.get(self.classes.partition_point(|class| class.1 < key)).copied()
    }

    fn some(&self, key: u128) -> Option<&Listed> {
        self.some.get(self.some.partition_point(|listed| listed.last < key))
    }

    fn lists(&self, key: u128, port: u16) -> bool {
        self.whole.contains(key)
            || self.pairs.contains(key, port)
            || self.some(key).is_some_and(|listed| listed.first <= key && listed.ports.contains(port))
    }

    /// The first zone from `at` on, up to `last`.
    fn zone(&self, mut at: u128, last: u128) -> Option<Zone> {
        let (class, whole, some, paired) = (self.class(at), self.whole.next(at), self.some(at), self.pairs.next(at));
        let spans = [
            class.map(|(first, last, _)| (first, last)),
            whole,
            some.map(|listed| (listed.first, listed.last)),
            paired.as_ref().map(|(ip, _)| (*ip, *ip)),
        ];
        let spans = spans.into_iter().flatten();
        at = at.max(spans.clone().map(|(first, _)| first).min()?);
        // Nothing changes before the next span begins or one of these ends.
        let changes = spans.map(|(from, until)| if from > at { from - 1 } else { until });
        let until = changes.min()?.min(last);
        if at > until {
            return None;
        }
        let mut listed = Arc::new(Ports::default());
        if whole.is_some_and(|(first, _)| first <= at) {
            listed = Arc::clone(&self.all_ports);
        } else {
            if let Some(some) = some.filter(|some| some.first <= at) {
                listed = Arc::clone(&some.ports);
            }
            if let Some((_, ports)) = paired.filter(|(ip, _)| *ip <= at) {
                listed = Arc::new(listed.union(&Ports::from_ranges(ports.map(|port| (port, port)))));
            }
        }
        let class = class.filter(|(first, ..)| *first <= at).map_or(Class::Ordinary, |(_, _, class)| class);
        Some(Zone { first: at, last: until, class, listed })
    }
}

/// Whether, and why, the blocklist alone excludes a class.
pub(super) const fn blocked(class: Class, typed: bool) -> Option<ExclusionReason> {
    match class {
        Class::Reserved => Some(ExclusionReason::Reserved),
        Class::Private if !typed => Some(ExclusionReason::Private),
        Class::Private | Class::Ordinary | Class::Loopback | Class::Invalid => None,
    }
}

/// Cuts overlapping exclusions where one begins or ends.
fn disjoint(listed: &[Listed]) -> Vec<Listed> {
    let mut sets = PortSets::default();
    let mut active = ActivePorts::default();
    let mut disjoint = Vec::new();
    sweep(
        listed.len(),
        |index| (listed[index].first, listed[index].last),
        |step| match step {
            Step::Enter(index) => active.enter(&listed[index].ports),
            Step::Leave(index) => active.leave(&listed[index].ports),
            Step::Interval(first, last) => add(&mut disjoint, Listed { first, last, ports: active.union(&mut sets) }),
        },
    );
    disjoint.shrink_to_fit();
    disjoint
}

/// The user's exclusions that hold at the current place of the sweep, as equal sets and how often each holds.
#[derive(Debug, Default)]
struct ActivePorts(Vec<(Arc<Ports>, u32)>);

impl ActivePorts {
    fn enter(&mut self, ports: &Arc<Ports>) {
        match self.0.iter_mut().find(|(active, _)| Arc::ptr_eq(active, ports)) {
            Some((_, times)) => *times += 1,
            None => self.0.push((Arc::clone(ports), 1)),
        }
    }

    fn leave(&mut self, ports: &Arc<Ports>) {
        if let Some((_, times)) = self.0.iter_mut().find(|(active, _)| Arc::ptr_eq(active, ports)) {
            *times -= 1;
        }
        self.0.retain(|&(_, times)| times > 0);
    }

    fn union(&self, sets: &mut PortSets) -> Arc<Ports> {
        match self.0.as_slice() {
            [(ports, _)] => sets.share(ports),
            many => sets.share(&Ports::from_ranges(many.iter().flat_map(|(ports, _)| ports.ranges()))),
        }
    }
}

/// Appends an exclusion, or lengthens the last one when nothing changes between them.
fn add(disjoint: &mut Vec<Listed>, listed: Listed) {
    match disjoint.last_mut() {
        Some(last) if last.last + 1 == listed.first && Arc::ptr_eq(&last.ports, &listed.ports) => {
            last.last = listed.last;
        }
        _ => disjoint.push(listed),
    }
}

#[cfg(test)]
mod tests {
    use ipnet::IpNet;

    use super::*;

    fn block(text: &str) -> IpRange {
        text.parse::<IpNet>().expect("a block").into()
    }

    fn ruling(zones: &Zones, address: &str, typed: bool) -> Option<Ruling> {
        zones.ruling(&address.parse().expect("an address"), typed)
    }

    #[test]
    fn private_networks_need_a_word_from_the_user() {
        let zones = Exclusions::new(false).into_zones();
        for address in ["10.1.2.3:1", "100.64.0.1:1", "[fd00::1]:1"] {
            assert_eq!(ruling(&zones, address, false), Some(Ruling::Excluded(ExclusionReason::Private)));
            assert_eq!(ruling(&zones, address, true), None);
            assert_eq!(ruling(&Exclusions::new(true).into_zones(), address, false), None);
        }
    }

    #[test]
    fn reserved_networks_are_excluded_even_when_typed_and_loopback_never() {
        let zones = Exclusions::new(true).into_zones();
        assert_eq!(ruling(&zones, "224.0.0.1:1", true), Some(Ruling::Excluded(ExclusionReason::Reserved)));
        assert_eq!(ruling(&zones, "127.0.0.1:1", false), None);
        assert_eq!(ruling(&zones, "[::1]:1", false), None);
        assert_eq!(ruling(&zones, "127.255.255.255:1", true), Some(Ruling::Invalid));
        assert_eq!(ruling(&zones, "8.8.8.8:1", false), None);
    }

    #[test]
    fn the_users_word_comes_before_the_blocklist() {
        let mut exclusions = Exclusions::new(false);
        exclusions.exclude(block("10.0.0.0/24"), Some(&Ports::one(7)));
        exclusions.exclude(block("10.0.0.128/25"), Some(&Ports::one(8)));
        exclusions.exclude(block("127.0.0.9/32"), None);
        let zones = exclusions.into_zones();
        assert_eq!(ruling(&zones, "10.0.0.1:7", true), Some(Ruling::Excluded(ExclusionReason::Listed)));
        assert_eq!(ruling(&zones, "10.0.0.1:8", true), None);
        assert_eq!(ruling(&zones, "10.0.0.1:8", false), Some(Ruling::Excluded(ExclusionReason::Private)));
        assert_eq!(ruling(&zones, "10.0.0.129:7", false), Some(Ruling::Excluded(ExclusionReason::Listed)));
        assert_eq!(ruling(&zones, "10.0.0.129:8", true), Some(Ruling::Excluded(ExclusionReason::Listed)));
        assert_eq!(ruling(&zones, "127.0.0.9:8", true), Some(Ruling::Excluded(ExclusionReason::Listed)));
    }

    #[test]
    fn excluding_all_of_ipv6_leaves_ipv4_alone() {
        let mut exclusions = Exclusions::new(false);
        exclusions.exclude(block("::/0"), None);
        let zones = exclusions.into_zones();
        assert_eq!(ruling(&zones, "[2a00::1]:1", true), Some(Ruling::Excluded(ExclusionReason::Listed)));
        assert_eq!(ruling(&zones, "8.8.8.8:1", true), None);
    }

    #[test]
    fn zones_that_do_not_differ_are_one() {
        let mut exclusions = Exclusions::new(false);
        for text in ["8.0.0.0/9", "8.128.0.0/9", "8.8.0.0/16", "8.8.8.8/32"] {
            exclusions.exclude(block(text), None);
        }
        let (first, last) = block("8.0.0.0/8").pieces().next().expect("a piece");
        assert_eq!(exclusions.into_zones().overlapping(first, last).count(), 1);
    }
}
