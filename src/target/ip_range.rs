//! Ranges of addresses, and the one axis on which IPv4 and IPv6 both lie.
//!
//! An address is a 128-bit key: IPv6 as it is, IPv4 in its mapped form `::ffff:a.b.c.d`. Mapped addresses are thereby
//! the same as the IPv4 addresses they stand for, and sorting, overlap and subtraction are written once.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// One or more consecutive addresses of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IpRange {
    // Keys, see the file's documentation. Either both lie in the IPv4 part of the axis or neither does, and
    // first <= last. An IPv6 range may go across the IPv4 part (`::/0` does), which it then does not contain.
    first: u128,
    last: u128,
}

impl IpRange {
    /// The addresses from `first` to `last`, both included; `None` when the families differ or `first` > `last`.
    #[must_use]
    pub(crate) const fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        let (first, last) = (key(first), key(last));
        if is_ipv4(first) == is_ipv4(last) && first <= last { Some(Self { first, last }) } else { None }
    }

    /// The lowest address.
    #[must_use]
    pub(crate) const fn first(&self) -> IpAddr {
        address(self.first)
    }

    /// The highest address.
    #[must_use]
    pub(crate) const fn last(&self) -> IpAddr {
        address(self.last)
    }

    /// Whether these are IPv4 addresses.
    #[must_use]
    pub(crate) const fn is_ipv4(&self) -> bool {
        is_ipv4(self.first)
    }

    /// Whether it is one address only.
    #[must_use]
    pub(crate) const fn is_single(&self) -> bool {
        self.first == self.last
    }

    /// How many addresses; `u128::MAX` stands for `::/0`, which has one more.
    #[must_use]
    pub(crate) const fn count(&self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    /// Whether `ip` is one of them.
    #[cfg(test)]
    pub(crate) const fn contains(&self, ip: IpAddr) -> bool {
        let ip = key(ip);
        self.first <= ip && ip <= self.last && is_ipv4(ip) == self.is_ipv4()
    }

    /// The parts of the axis it covers, as (first, last): two when an IPv6 range goes across the IPv4 part.
    pub(super) fn pieces(self) -> impl Iterator<Item = (u128, u128)> {
        let whole = (self.first, self.last);
        let pieces = if !self.is_ipv4() && self.first < IPV4_FIRST && self.last > IPV4_LAST {
            [Some((self.first, IPV4_FIRST - 1)), Some((IPV4_LAST + 1, self.last))]
        } else {
            [Some(whole), None]
        };
        pieces.into_iter().flatten()
    }
}

impl From<IpAddr> for IpRange {
    fn from(ip: IpAddr) -> Self {
        Self { first: key(ip), last: key(ip) }
    }
}

impl From<IpNet> for IpRange {
    /// The whole block; host bits that are set in `net` do not matter.
    fn from(net: IpNet) -> Self {
        Self { first: key(net.network()), last: key(net.broadcast()) }
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first(), self.last()) {
            (first, last) if first == last => write!(f, "{first}"),
            (IpAddr::V6(first), IpAddr::V6(last)) => write!(f, "[{first}]-[{last}]"),
            (first, last) => write!(f, "{first}-{last}"),
        }
    }
}

/// An address's place on the axis.
pub(super) const fn key(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ipv4_key(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

/// The place of the IPv4 address with these bits.
pub(super) const fn ipv4_key(bits: u32) -> u128 {
    IPV4_FIRST | bits as u128
}

/// The address at a place.
pub(super) const fn address(key: u128) -> IpAddr {
    if is_ipv4(key) { IpAddr::V4(Ipv4Addr::from_bits(key as u32)) } else { IpAddr::V6(Ipv6Addr::from_bits(key)) }
}

/// Whether a place belongs to IPv4.
pub(super) const fn is_ipv4(key: u128) -> bool {
    key >> 32 == 0xFFFF
}

const IPV4_FIRST: u128 = 0xFFFF_0000_0000;
const IPV4_LAST: u128 = 0xFFFF_FFFF_FFFF;

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: &str, last: &str) -> Option<IpRange> {
        IpRange::new(first.parse().expect("an address"), last.parse().expect("an address"))
    }

    fn block(text: &str) -> IpRange {
        text.parse::<IpNet>().expect("a block").into()
    }

    #[test]
    fn a_range_has_one_family_and_runs_upwards() {
        assert_eq!(range("10.0.0.1", "10.0.0.9").expect("valid").count(), 9);
        assert_eq!(range("10.0.0.9", "10.0.0.1"), None);
        assert_eq!(range("10.0.0.1", "2001:db8::1"), None);
        assert_eq!(range("::1", "::ffff:10.0.0.1"), None);
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address_it_stands_for() {
        let mapped = range("::ffff:10.0.0.1", "::ffff:10.0.0.9").expect("valid");
        assert_eq!(mapped, range("10.0.0.1", "10.0.0.9").expect("valid"));
        assert_eq!(mapped.to_string(), "10.0.0.1-10.0.0.9");
        assert_eq!(block("::ffff:10.0.0.0/120"), block("10.0.0.0/24"));
        assert_eq!(block("::ffff:0:0/96"), block("0.0.0.0/0"));
    }

    #[test]
    fn an_ipv6_range_across_the_ipv4_part_does_not_contain_it() {
        let everything = block("::/0");
        assert_eq!(everything.count(), u128::MAX);
        assert!(everything.contains("2001:db8::1".parse().expect("an address")));
        assert!(!everything.contains("10.0.0.1".parse().expect("an address")));
        let pieces: Vec<_> = everything.pieces().collect();
        assert_eq!(pieces, [(0, IPV4_FIRST - 1), (IPV4_LAST + 1, u128::MAX)]);
        assert_eq!(block("0.0.0.0/0").pieces().collect::<Vec<_>>(), [(IPV4_FIRST, IPV4_LAST)]);
        assert_eq!(block("2001:db8::/32").pieces().count(), 1);
    }

    #[test]
    fn ranges_are_written_as_they_are_read() {
        assert_eq!(block("192.0.2.7/32").to_string(), "192.0.2.7");
        assert_eq!(range("2001:db8::1", "2001:db8::2").expect("valid").to_string(), "[2001:db8::1]-[2001:db8::2]");
    }
}
