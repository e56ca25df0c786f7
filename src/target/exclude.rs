//! What is not to be asked: the blocklist and the user's own exclusions, as disjoint zones of the address axis.
//!
//! The user's word comes first (a private address that is also listed counts as listed), then the blocklist. Nothing
//! but the user's word excludes loopback.

use std::net::SocketAddr;
use std::sync::Arc;

use super::blocklist::{self, Class, ExclusionReason};
use super::ip_range::{IpRange, key};
use super::ports::{PortSets, Ports};
use super::sweep::{Step, sweep};

/// Exclusions as they are collected.
#[derive(Debug, Default)]
pub(crate) struct Exclusions {
    include_private: bool,
    listed: Vec<Listed>,
    sets: PortSets,
}

#[derive(Debug)]
struct Listed {
    first: u128,
    last: u128,
    ports: Arc<Ports>,
}

/// Exclusions as they are applied.
#[derive(Debug, Clone)]
pub(crate) struct Zones(Vec<Zone>);

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
        let ports = self.sets.share(ports.unwrap_or(&Ports::all()));
        self.listed.extend(hosts.pieces().map(|(first, last)| Listed { first, last, ports: Arc::clone(&ports) }));
    }

    /// Cuts the axis into zones; n log n in the number of exclusions.
    #[must_use]
    pub(crate) fn zones(&self) -> Zones {
        let mut special = blocklist::pieces();
        special.retain(|&(_, _, class)| !(self.include_private && class == Class::Private));
        let spans: Vec<_> = (special.iter().map(|&(first, last, _)| (first, last)))
            .chain(self.listed.iter().map(|listed| (listed.first, listed.last)))
            .collect();
        let mut zones = Vec::new();
        let mut sets = PortSets::default();
        let mut class = Class::Ordinary;
        let mut active = ActivePorts::default();
        sweep(
            spans.len(),
            |index| spans[index],
            |step| match step {
                Step::Enter(index) => match special.get(index) {
                    Some(piece) => class = piece.2,
                    None => active.enter(&self.listed[index - special.len()].ports),
                },
                Step::Leave(index) => match special.get(index) {
                    Some(_) => class = Class::Ordinary,
                    None => active.leave(&self.listed[index - special.len()].ports),
                },
                Step::Interval(first, last) => {
                    add(&mut zones, Zone { first, last, class, listed: active.union(&mut sets) });
                }
            },
        );
        zones.shrink_to_fit();
        Zones(zones)
    }
}

impl Zones {
    /// What becomes of a target that came as an argument (`typed`) or from elsewhere; `None`: it is asked.
    #[must_use]
    pub(crate) fn ruling(&self, address: &SocketAddr, typed: bool) -> Option<Ruling> {
        self.ruling_at(key(address.ip()), address.port(), typed)
    }

    pub(super) fn ruling_at(&self, key: u128, port: u16, typed: bool) -> Option<Ruling> {
        let zone = self.0.get(self.0.partition_point(|zone| zone.last < key)).filter(|zone| zone.first <= key)?;
        match zone.class {
            Class::Invalid => Some(Ruling::Invalid),
            _ if zone.listed.contains(port) => Some(Ruling::Excluded(ExclusionReason::Listed)),
            class => blocked(class, typed).map(Ruling::Excluded),
        }
    }

    /// The zones that have a part between `first` and `last`, ascending.
    pub(super) fn overlapping(&self, first: u128, last: u128) -> impl Iterator<Item = &Zone> {
        let from = self.0.partition_point(|zone| zone.last < first);
        self.0.iter().skip(from).take_while(move |zone| zone.first <= last)
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

/// Appends a zone, or lengthens the last one when nothing changes between them.
fn add(zones: &mut Vec<Zone>, zone: Zone) {
    match zones.last_mut() {
        Some(last)
            if last.last + 1 == zone.first && last.class == zone.class && Arc::ptr_eq(&last.listed, &zone.listed) =>
        {
            last.last = zone.last;
        }
        _ => zones.push(zone),
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
        let zones = Exclusions::new(false).zones();
        for address in ["10.1.2.3:1", "100.64.0.1:1", "[fd00::1]:1"] {
            assert_eq!(ruling(&zones, address, false), Some(Ruling::Excluded(ExclusionReason::Private)));
            assert_eq!(ruling(&zones, address, true), None);
            assert_eq!(ruling(&Exclusions::new(true).zones(), address, false), None);
        }
    }

    #[test]
    fn reserved_networks_are_excluded_even_when_typed_and_loopback_never() {
        let zones = Exclusions::new(true).zones();
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
        let zones = exclusions.zones();
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
        let zones = exclusions.zones();
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
        assert_eq!(exclusions.zones().overlapping(first, last).count(), 1);
    }
}
