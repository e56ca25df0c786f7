//! Networks in which nobody is to be asked, and those that need a word from the user first.
//!
//! Source: the IANA IPv4 Special-Purpose Address Registry and the IANA IPv6 Special-Purpose Address Registry
//! (RFC 6890, RFC 8190), and the multicast blocks of the two address space registries. Table written 2026-11.
//!
//! All rows of both registries stand here but `::ffff:0:0/96`, which is read as the IPv4 address it stands for. The
//! most specific row decides:
//!
//! * What the registry calls not globally reachable is [`Class::Reserved`]: no server can be there.
//! * Private-use, shared and unique-local space is [`Class::Private`]: servers are there, but usually somebody else's
//!   list does not mean ours. It is asked when typed as an argument, or with `--include-private`.
//! * Networks that the registry calls globally reachable are [`Class::Ordinary`]: to the routers they are like any
//!   other, and whoever runs a server there would be missed without a word. Through `64:ff9b::/96` (NAT64) a host
//!   without IPv4 reaches every IPv4 server. The same holds for `2001::/32` and `2002::/16` (Teredo, 6to4), for which
//!   the registry gives no answer because it depends on the embedded IPv4 address.
//! * Single addresses that belong to one service everywhere (PCP, TURN, service registration anycast) are reachable,
//!   but no game server can live there: reserved.
//! * Loopback is never excluded; the farm lives there. But Linux refuses 127.255.255.255, the loopback's broadcast
//!   address, and takes the unspecified address for this host, so that answers come from another address: such
//!   targets are [`Class::Invalid`].

use ipnet::IpNet;

use super::ip_range::IpRange;
use super::sweep::{Step, sweep};

/// Why a target is not asked although it could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ExclusionReason {
    /// In a network where no server can be.
    Reserved,
    /// In a private network, and neither typed as an argument nor allowed by `--include-private`.
    Private,
    /// Named by the user's exclusions.
    Listed,
}

impl ExclusionReason {
    /// All reasons, in the order of their values.
    pub(crate) const ALL: [Self; 3] = [Self::Reserved, Self::Private, Self::Listed];
}

/// What a network is to a scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Like any other, in spite of its row.
    Ordinary,
    /// This machine: always asked.
    Loopback,
    /// Never asked.
    Reserved,
    /// Asked when the user says so.
    Private,
    /// Cannot be asked: the kernel refuses the address or takes another.
    Invalid,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    /// The block in CIDR form.
    pub block: &'static str,
    /// Its name in the registry.
    pub name: &'static str,
    /// The number of the RFC that the registry names for it.
    pub rfc: u16,
    /// What it is to a scanner.
    pub class: Class,
}

impl Network {
    /// The addresses of the block.
    #[must_use]
    pub(crate) fn range(&self) -> IpRange {
        self.block.parse::<IpNet>().expect("the table holds blocks").into()
    }
}

/// The most specific row that contains `ip`; what [`pieces`] must agree with.
#[cfg(test)]
pub(super) fn lookup(ip: std::net::IpAddr) -> Option<&'static Network> {
    NETWORKS.iter().filter(|network| network.range().contains(ip)).min_by_key(|network| network.range().count())
}

/// The table on the axis of addresses: disjoint ascending pieces as (first, last, class), without ordinary ones.
pub(super) fn pieces() -> Vec<(u128, u128, Class)> {
    let rows: Vec<_> = NETWORKS
        .iter()
        .flat_map(|network| network.range().pieces().map(|(first, last)| (first, last, network.class)))
        .collect();
    let mut active = vec![false; rows.len()];
    let mut pieces = Vec::new();
    sweep(
        rows.len(),
        |row| (rows[row].0, rows[row].1),
        |step| match step {
            Step::Enter(row) => active[row] = true,
            Step::Leave(row) => active[row] = false,
            Step::Interval(first, last) => {
                let inside = rows.iter().zip(&active).filter(|(_, active)| **active).map(|(row, _)| row);
                let class = inside.min_by_key(|row| row.1 - row.0).map_or(Class::Ordinary, |row| row.2);
                if class != Class::Ordinary {
                    pieces.push((first, last, class));
                }
            }
        },
    );
    pieces
}

const fn row(block: &'static str, name: &'static str, rfc: u16, class: Class) -> Network {
    Network { block, name, rfc, class }
}

/// The special-purpose networks. A row inside another one takes precedence over it.
pub(crate) const NETWORKS: &[Network] = &[
    // IANA IPv4 Special-Purpose Address Registry
    row("0.0.0.0/8", "This network", 791, Class::Reserved),
    row("0.0.0.0/32", "This host on this network", 1122, Class::Invalid),
    row("10.0.0.0/8", "Private-Use", 1918, Class::Private),
    row("100.64.0.0/10", "Shared Address Space", 6598, Class::Private),
    row("127.0.0.0/8", "Loopback", 1122, Class::Loopback),
    row("127.255.255.255/32", "Loopback broadcast (not in the registry)", 1122, Class::Invalid),
    row("169.254.0.0/16", "Link Local", 3927, Class::Reserved),
    row("172.16.0.0/12", "Private-Use", 1918, Class::Private),
    row("192.0.0.0/24", "IETF Protocol Assignments", 6890, Class::Reserved),
    row("192.0.0.0/29", "IPv4 Service Continuity Prefix", 7335, Class::Reserved),
    row("192.0.0.8/32", "IPv4 dummy address", 7600, Class::Reserved),
    row("192.0.0.9/32", "Port Control Protocol Anycast", 7723, Class::Reserved),
    row("192.0.0.10/32", "Traversal Using Relays around NAT Anycast", 8155, Class::Reserved),
    row("192.0.0.170/32", "NAT64/DNS64 Discovery", 8880, Class::Reserved),
    row("192.0.0.171/32", "NAT64/DNS64 Discovery", 8880, Class::Reserved),
    row("192.0.2.0/24", "Documentation (TEST-NET-1)", 5737, Class::Reserved),
    row("192.31.196.0/24", "AS112-v4", 7535, Class::Ordinary),
    row("192.52.193.0/24", "AMT", 7450, Class::Ordinary),
    row("192.88.99.0/24", "Deprecated (6to4 Relay Anycast)", 7526, Class::Reserved),
    row("192.88.99.2/32", "6a44-relay anycast address", 6751, Class::Reserved),
    row("192.168.0.0/16", "Private-Use", 1918, Class::Private),
    row("192.175.48.0/24", "Direct Delegation AS112 Service", 7534, Class::Ordinary),
    row("198.18.0.0/15", "Benchmarking", 2544, Class::Reserved),
    row("198.51.100.0/24", "Documentation (TEST-NET-2)", 5737, Class::Reserved),
    row("203.0.113.0/24", "Documentation (TEST-NET-3)", 5737, Class::Reserved),
    row("240.0.0.0/4", "Reserved", 1112, Class::Reserved),
    row("255.255.255.255/32", "Limited Broadcast", 919, Class::Reserved),
    // IANA IPv4 Address Space Registry
    row("224.0.0.0/4", "Multicast", 5771, Class::Reserved),
    // IANA IPv6 Special-Purpose Address Registry
    row("::1/128", "Loopback Address", 4291, Class::Loopback),
    row("::/128", "Unspecified Address", 4291, Class::Invalid),
    // "::ffff:0:0/96", IPv4-mapped Address, RFC 4291, does not stand here: see above
    row("64:ff9b::/96", "IPv4-IPv6 Translat.", 6052, Class::Ordinary),
    row("64:ff9b:1::/48", "IPv4-IPv6 Translat.", 8215, Class::Reserved),
    row("100::/64", "Discard-Only Address Block", 6666, Class::Reserved),
    row("100:0:0:1::/64", "Dummy IPv6 Prefix", 9780, Class::Reserved),
    row("2001::/23", "IETF Protocol Assignments", 2928, Class::Reserved),
    row("2001::/32", "TEREDO", 4380, Class::Ordinary),
    row("2001:1::1/128", "Port Control Protocol Anycast", 7723, Class::Reserved),
    row("2001:1::2/128", "Traversal Using Relays around NAT Anycast", 8155, Class::Reserved),
    row("2001:1::3/128", "DNS-SD Service Registration Protocol Anycast", 9665, Class::Reserved),
    row("2001:2::/48", "Benchmarking", 5180, Class::Reserved),
    row("2001:3::/32", "AMT", 7450, Class::Ordinary),
    row("2001:4:112::/48", "AS112-v6", 7535, Class::Ordinary),
    row("2001:10::/28", "Deprecated (previously ORCHID)", 4843, Class::Reserved),
    row("2001:20::/28", "ORCHIDv2", 7343, Class::Ordinary),
    row("2001:30::/28", "Drone Remote ID Protocol Entity Tags (DETs) Prefix", 9374, Class::Ordinary),
    row("2001:db8::/32", "Documentation", 3849, Class::Reserved),
    row("2002::/16", "6to4", 3056, Class::Ordinary),
    row("2620:4f:8000::/48", "Direct Delegation AS112 Service", 7534, Class::Ordinary),
    row("3fff::/20", "Documentation", 9637, Class::Reserved),
    row("5f00::/16", "Segment Routing (SRv6) SIDs", 9602, Class::Reserved),
    row("fc00::/7", "Unique-Local", 4193, Class::Private),
    row("fe80::/10", "Link-Local Unicast", 4291, Class::Reserved),
    // Internet Protocol Version 6 Address Space
    row("ff00::/8", "Multicast", 4291, Class::Reserved),
];

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::target::ip_range::key;

    /// The class of an address by the pieces and by the table, which must agree.
    fn class(ip: &str) -> Class {
        let ip: IpAddr = ip.parse().expect("an address");
        let piece = pieces().into_iter().find(|&(first, last, _)| (first..=last).contains(&key(ip)));
        let class = piece.map_or(Class::Ordinary, |(_, _, class)| class);
        assert_eq!(class, lookup(ip).map_or(Class::Ordinary, |network| network.class), "{ip}");
        class
    }

    #[test]
    fn the_table_holds_blocks_without_host_bits() {
        for network in NETWORKS {
            let net: IpNet = network.block.parse().expect("a block");
            assert_eq!(net, net.trunc(), "{}", network.block);
            assert!(NETWORKS.iter().filter(|other| other.range() == network.range()).count() == 1, "{}", network.block);
        }
    }

    #[test]
    fn the_pieces_ascend_without_overlap() {
        let pieces = pieces();
        assert!(pieces.iter().all(|(first, last, _)| first <= last));
        assert!(pieces.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn every_class_has_its_networks() {
        for (ip, expected) in [
            ("0.0.0.0", Class::Invalid),
            ("0.0.0.1", Class::Reserved),
            ("1.1.1.1", Class::Ordinary),
            ("9.255.255.255", Class::Ordinary),
            ("10.0.0.0", Class::Private),
            ("10.255.255.255", Class::Private),
            ("100.63.255.255", Class::Ordinary),
            ("100.64.0.0", Class::Private),
            ("100.128.0.0", Class::Ordinary),
            ("127.0.0.0", Class::Loopback),
            ("127.255.255.254", Class::Loopback),
            ("127.255.255.255", Class::Invalid),
            ("128.0.0.0", Class::Ordinary),
            ("169.254.169.254", Class::Reserved),
            ("172.31.255.255", Class::Private),
            ("172.32.0.0", Class::Ordinary),
            ("192.0.0.9", Class::Reserved),
            ("192.0.1.0", Class::Ordinary),
            ("192.31.196.1", Class::Ordinary),
            ("192.52.193.1", Class::Ordinary),
            ("192.175.48.1", Class::Ordinary),
            ("192.168.1.1", Class::Private),
            ("198.19.255.255", Class::Reserved),
            ("198.20.0.0", Class::Ordinary),
            ("223.255.255.255", Class::Ordinary),
            ("224.0.0.1", Class::Reserved),
            ("255.255.255.255", Class::Reserved),
        ] {
            assert_eq!(class(ip), expected, "{ip}");
        }
    }

    #[test]
    fn rows_inside_reserved_ipv6_blocks_take_precedence() {
        for (ip, expected) in [
            ("::", Class::Invalid),
            ("::1", Class::Loopback),
            ("::2", Class::Ordinary),
            ("64:ff9b::102:304", Class::Ordinary),
            ("64:ff9b:1::1", Class::Reserved),
            ("100::1", Class::Reserved),
            ("100:0:0:1::1", Class::Reserved),
            ("100:0:0:2::1", Class::Ordinary),
            ("2001::1", Class::Ordinary),
            ("2001:1::1", Class::Reserved),
            ("2001:1::4", Class::Reserved),
            ("2001:3::1", Class::Ordinary),
            ("2001:4:112::1", Class::Ordinary),
            ("2001:4:113::1", Class::Reserved),
            ("2001:1f::1", Class::Reserved),
            ("2001:20::1", Class::Ordinary),
            ("2001:3f::1", Class::Ordinary),
            ("2001:40::1", Class::Reserved),
            ("2001:200::1", Class::Ordinary),
            ("2001:db8::1", Class::Reserved),
            ("2002::1", Class::Ordinary),
            ("2a00::1", Class::Ordinary),
            ("3fff:fff::1", Class::Reserved),
            ("3fff:1000::1", Class::Ordinary),
            ("5f00::1", Class::Reserved),
            ("fd00::1", Class::Private),
            ("fe80::1", Class::Reserved),
            ("ff02::1", Class::Reserved),
        ] {
            assert_eq!(class(ip), expected, "{ip}");
        }
    }

    #[test]
    fn the_table_names_the_network_of_an_address() {
        let network = lookup("192.0.2.1".parse().expect("an address")).expect("a row");
        assert_eq!((network.name, network.rfc), ("Documentation (TEST-NET-1)", 5737));
        assert_eq!(lookup("1.1.1.1".parse().expect("an address")), None);
        assert!(ExclusionReason::ALL.iter().enumerate().all(|(place, &reason)| reason as usize == place));
    }
}
