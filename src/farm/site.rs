//! Where the servers of a farm are, and who may ask them.
//!
//! Usually they are on loopback, where nobody else can ask. On a real interface they answer listed clients only, and never
//! help to flood anybody: what would be larger than its request leaves only if the client has proved that it can be reached
//! at its address, or if that address is one that strangers do not have.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use ipnet::Ipv4Net;

/// A place, and for whom servers are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// Where they are.
    pub place: Place,
    /// Whom they answer.
    pub clients: Clients,
}

/// Where servers are, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// One at each address from this one on, all on one port.
    Addresses(Ipv4Addr),
    /// All at this address, one on each port from a first one on.
    Ports(Ipv4Addr),
}

impl Place {
    /// 127.0.0.2 and on: 127.0.0.1 is left to others.
    pub(crate) const LOOPBACK: Self = Self::Addresses(Ipv4Addr::new(127, 0, 0, 2));

    /// The address of the first server.
    #[must_use]
    pub(crate) const fn first(self) -> Ipv4Addr {
        match self {
            Self::Addresses(first) | Self::Ports(first) => first,
        }
    }

    /// Where server `index` is, if the first one is on `port`.
    #[must_use]
    pub(crate) fn address(self, index: u32, port: u16) -> SocketAddrV4 {
        match self {
            Self::Addresses(first) => SocketAddrV4::new(Ipv4Addr::from_bits(first.to_bits() + index), port),
            Self::Ports(ip) => SocketAddrV4::new(ip, port + index as u16),
        }
    }

    /// The server that is asked at `ip` on the port of server `on` (the first one, where all have the same port).
    #[must_use]
    pub(crate) fn index(self, ip: Ipv4Addr, on: u32) -> Option<u32> {
        match self {
            Self::Addresses(first) => ip.to_bits().checked_sub(first.to_bits()),
            Self::Ports(at) => (at == ip).then_some(on),
        }
    }
}

/// Networks whose hosts may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clients(Vec<Ipv4Net>);

impl Clients {
    /// The hosts of `networks`, unless so many strangers are among them that nobody can answer for all.
    pub(crate) fn new(networks: Vec<Ipv4Net>) -> Result<Self, TooMany> {
        match networks.iter().find(|network| !is_own(**network) && network.prefix_len() < WIDEST) {
            Some(network) => Err(TooMany(*network)),
            None => Ok(Self(networks)),
        }
    }

    /// True if `client` is one of them.
    #[must_use]
    pub(crate) fn contains(&self, client: &SocketAddr) -> bool {
        matches!(client, SocketAddr::V4(client) if self.0.iter().any(|network| network.contains(client.ip())))
    }
}

/// A network of too many strangers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} are more strangers than you can answer for: write /{WIDEST} or narrower, or a private network")]
pub(crate) struct TooMany(Ipv4Net);

/// True if strangers cannot have `client`'s address: it is on loopback, link-local or private.
#[must_use]
pub(crate) fn is_own_address(client: Ipv4Addr) -> bool {
    is_own(client.into())
}

fn is_own(network: Ipv4Net) -> bool {
    OWN.iter().any(|own| own.contains(&network))
}

/// Loopback, link-local, and the networks of RFC 1918.
const OWN: [Ipv4Net; 5] = [
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16),
];
/// Networks of strangers are no wider.
const WIDEST: u8 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(networks: &[&str]) -> Result<Clients, TooMany> {
        Clients::new(networks.iter().map(|network| network.parse().unwrap()).collect())
    }

    #[test]
    fn wide_networks_are_listed_only_if_no_stranger_is_in_them() {
        for fine in ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.7.0/24", "8.8.8.0/24", "8.8.8.8/32"] {
            assert!(clients(&[fine]).is_ok(), "{fine}");
        }
        for wide in ["0.0.0.0/0", "0.0.0.0/1", "8.8.8.0/23", "10.0.0.0/7", "172.16.0.0/11", "192.168.0.0/15"] {
            let message = clients(&["10.0.0.0/8", wide]).unwrap_err().to_string();
            assert!(message.contains(wide) && message.contains("/24"), "{message}");
        }
    }

    #[test]
    fn a_client_is_one_of_a_listed_network() {
        let clients = clients(&["10.1.0.0/16", "192.168.1.9/32"]).unwrap();
        let contains = |address: &str| clients.contains(&address.parse().unwrap());
        assert!(contains("10.1.255.255:1") && contains("192.168.1.9:65535"));
        assert!(!contains("10.2.0.0:1") && !contains("192.168.1.8:1") && !contains("[::ffff:10.1.0.1]:1"));
    }

    #[test]
    fn numbers_and_places_are_inverse() {
        let ip = Ipv4Addr::new(10, 9, 0, 1);
        for index in [0, 1, 254, 255, 300] {
            let at = Place::Addresses(ip).address(index, 27_015);
            assert_eq!((at.port(), Place::Addresses(ip).index(*at.ip(), 0)), (27_015, Some(index)));
            let at = Place::Ports(ip).address(index, 27_015);
            assert_eq!((u32::from(at.port()) - 27_015, Place::Ports(ip).index(*at.ip(), index)), (index, Some(index)));
        }
        let other = Ipv4Addr::new(10, 9, 0, 0);
        assert_eq!((Place::Addresses(ip).index(other, 0), Place::Ports(ip).index(other, 0)), (None, None));
    }
}
