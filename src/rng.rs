//! Seeded randomness: one generator, one mixing function and one keyed address hash.
//!
//! Everything random in fragscan (visiting order, simulated servers, lossy links, nonces) comes from a seed that is
//! printed, so that a run can be repeated. None of it is cryptographic; the address hash is keyed so that a stranger
//! who chooses source addresses cannot choose collisions in our tables.

use std::net::{IpAddr, SocketAddr};

/// A small seeded generator (`SplitMix64`: one addition and one [`mix`] a number, every seed is good).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator that gives the same sequence for the same `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix(self.0)
    }

    /// A number in `0..bound` (0 for a bound of 0), by multiplication; its bias is below `bound` / 2^64.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// True with probability `share`, which is meant to lie in 0..=1.
    pub fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && unit(self.next_u64()) < share
    }
}

/// Mixes 64 bits so that each input bit changes about half of the output bits; a bijection.
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Maps 64 random bits onto `0.0..1.0`.
#[must_use]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

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

/// The increment of `SplitMix64`: 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_sequence_of_splitmix64() {
        // Reference values for seed 1234567, from the algorithm's public test vectors.
        let mut rng = Rng::new(1_234_567);
        assert_eq!(
            [rng.next_u64(), rng.next_u64(), rng.next_u64()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_below_a_bound_reach_both_ends_and_no_further() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 5];
        for _ in 0..10_000 {
            seen[rng.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (1_800..2_200).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn a_chance_comes_true_as_often_as_it_says() {
        let mut rng = Rng::new(9);
        let hits = (0..100_000).filter(|_| rng.chance(0.1)).count();
        assert!((9_500..10_500).contains(&hits), "{hits}");
        assert!(!rng.chance(0.0));
        assert!(rng.chance(1.0));
    }

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
