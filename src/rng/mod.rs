//! Seeded randomness: one generator, one mixing function and one keyed address hash.
//!
//! Everything random in fragscan (visiting order, simulated servers, lossy links, nonces) comes from a seed that is
//! printed, so that a run can be repeated. None of it is cryptographic; the address hash is keyed so that a stranger
//! who chooses source addresses cannot choose collisions in our tables.

use std::net::{IpAddr, SocketAddr};

pub(crate) mod generator;

pub(crate) use generator::{Rng, mix, unit};

/// A keyed hash of addresses for tables that strangers can reach.
#[derive(Debug, Clone, Copy)]
pub struct AddressHasher {
    first: u64,
    second: u64,
}

impl AddressHasher {
    /// A hasher whose key is derived from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Self { first: rng.next_u64(), second: rng.next_u64() | 1 }
    }

    /// Hashes address and port; flow label and scope of IPv6 do not count.
    #[must_use]
    #[inline]
    pub fn socket(&self, address: &SocketAddr) -> u64 {
        self.fold(self.ip(&address.ip()) ^ u64::from(address.port()))
    }

    /// Hashes the address without its port.
    #[must_use]
    #[inline]
    pub fn ip(&self, ip: &IpAddr) -> u64 {
        match ip {
            IpAddr::V4(v4) => self.fold(u64::from(v4.to_bits()) ^ self.first),
            IpAddr::V6(v6) => {
                let bits = v6.to_bits();
                self.fold(self.fold((bits >> 64) as u64 ^ self.first) ^ bits as u64)
            }
        }
    }

    /// A 128-bit product folded onto 64 bits: every key bit reaches every output bit.
    #[inline]
    fn fold(&self, value: u64) -> u64 {
        let product = u128::from(value ^ self.second) * u128::from(self.first | 1);
        mix((product >> 64) as u64 ^ product as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_hashes_differ_by_key_address_and_port() {
        let one: SocketAddr = "192.0.2.1:27015".parse().expect("valid");
        let port: SocketAddr = "192.0.2.1:27016".parse().expect("valid");
        let host: SocketAddr = "192.0.2.2:27015".parse().expect("valid");
        let six: SocketAddr = "[2001:db8::1]:27015".parse().expect("valid");
        let hasher = AddressHasher::new(1);
        let mut all = vec![hasher.socket(&one), hasher.socket(&port), hasher.socket(&host), hasher.socket(&six)];
        all.push(AddressHasher::new(2).socket(&one));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 5);
        assert_eq!(hasher.socket(&one), hasher.socket(&one));
    }

    #[test]
    fn neighbouring_addresses_spread_over_a_table() {
        let hasher = AddressHasher::new(3);
        let mut buckets = vec![0_u32; 256];
        for i in 0..25_600_u32 {
            let ip = IpAddr::V4(std::net::Ipv4Addr::from_bits(0x7F00_0002 + i));
            buckets[(hasher.ip(&ip) & 255) as usize] += 1;
        }
        assert!(buckets.iter().all(|&n| (50..160).contains(&n)), "{buckets:?}");
    }
}
