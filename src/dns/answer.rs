//! Where a name leads, and which of its addresses are wanted.

use std::net::IpAddr;

use crate::target::NameError;

/// Where a name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To these addresses, at least one; with a port if a service was looked for and its record says one.
    Addresses(Box<[IpAddr]>, Option<u16>),
    /// Nowhere, for good.
    Failed(NameError),
}

/// The families of addresses that are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Family {
    /// Both, and IPv4 where one address is enough.
    #[default]
    Any,
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}

impl Family {
    /// Whether `ip` belongs to it.
    #[must_use]
    pub(crate) const fn has(self, ip: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Ipv4 => ip.is_ipv4(),
            Self::Ipv6 => ip.is_ipv6(),
        }
    }
}

/// Which addresses of a name are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Of which families.
    pub(crate) family: Family,
    /// All of them, not only the first.
    pub(crate) all: bool,
}

impl Wanted {
    /// The answer of a name that has the addresses `found`, in order, and whose service is at `port`.
    #[must_use]
    pub(crate) fn choose(self, found: impl IntoIterator<Item = IpAddr>, port: Option<u16>) -> Answer {
        let (mut chosen, mut is_blocked) = (Vec::new(), false);
        for ip in found.into_iter().map(|ip| ip.to_canonical()).filter(|ip| self.family.has(*ip)) {
            is_blocked |= ip.is_unspecified();
            if !ip.is_unspecified() && !chosen.contains(&ip) && chosen.len() < MOST_ADDRESSES {
                chosen.push(ip);
            }
        }
        if !self.all {
            // One name is one server, which may have an address of each family.
            let first = chosen.iter().position(IpAddr::is_ipv4).unwrap_or(0);
            chosen = chosen.get(first).copied().into_iter().collect();
        }
        match (chosen.is_empty(), is_blocked) {
            (false, _) => Answer::Addresses(chosen.into(), port),
            (true, true) => Answer::Failed(NameError::Blocked),
            (true, false) => Answer::Failed(NameError::NoAddress),
        }
    }
}

/// Addresses of one name that are used, whatever its servers say.
pub(super) const MOST_ADDRESSES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_of_ipv4_if_there_is_one_and_all_of_them_come_once() {
        let found: Vec<IpAddr> =
            ["2001:db8::1", "192.0.2.1", "::", "::ffff:192.0.2.2", "192.0.2.1"].map(|ip| ip.parse().unwrap()).into();
        let chosen = |family, all| match (Wanted { family, all }).choose(found.clone(), Some(7)) {
            Answer::Addresses(ips, Some(7)) => ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            other => panic!("{other:?}"),
        };
        assert_eq!(chosen(Family::Any, false), "192.0.2.1");
        assert_eq!(chosen(Family::Ipv6, false), "2001:db8::1");
        assert_eq!(chosen(Family::Any, true), "2001:db8::1 192.0.2.1 192.0.2.2");
        assert_eq!(chosen(Family::Ipv4, true), "192.0.2.1 192.0.2.2");
    }

    #[test]
    fn what_only_has_the_unspecified_address_is_blocked() {
        let failed = |family, ips: &[&str]| {
            let found: Vec<IpAddr> = ips.iter().map(|ip| ip.parse().unwrap()).collect();
            (Wanted { family, all: false }).choose(found, None)
        };
        assert_eq!(failed(Family::Any, &["0.0.0.0"]), Answer::Failed(NameError::Blocked));
        assert_eq!(failed(Family::Any, &["::"]), Answer::Failed(NameError::Blocked));
        assert_eq!(failed(Family::Ipv6, &["192.0.2.1"]), Answer::Failed(NameError::NoAddress));
        assert_eq!(failed(Family::Any, &[]), Answer::Failed(NameError::NoAddress));
    }

    #[test]
    fn a_name_with_thousands_of_addresses_is_a_few_targets() {
        let found = (0..5_000_u32).map(|n| IpAddr::from((0x0808_0000 + n).to_be_bytes()));
        let Answer::Addresses(ips, None) = (Wanted { family: Family::Any, all: true }).choose(found, None) else {
            panic!("it has addresses")
        };
        assert_eq!(ips.len(), MOST_ADDRESSES);
    }
}
