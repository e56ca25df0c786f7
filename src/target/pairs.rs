//! Single IPv4 addresses on single ports, 8 bytes each.

use super::halves::Halves;
use super::ip_range::{ipv4_key, is_ipv4};

/// A set of addresses with a port each.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// See [`pair`]; ascending once settled.
    all: Vec<u64>,
    halves: Halves,
}

impl Pairs {
    /// Adds the IPv4 address with this key on `port`. Call [`Pairs::settle`] before you look any up.
    pub(super) fn insert(&mut self, key: u128, port: u16) {
        self.all.push(pair(key, port));
    }

    /// Sorts the pairs, each once.
    pub(super) fn settle(&mut self) {
        self.all.sort_unstable();
        self.all.dedup();
        self.all.shrink_to_fit();
        self.halves = Halves::of(&self.all, |pair| (pair >> 16) as u32);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether the address with this key is in the set with `port`.
    pub(super) fn contains(&self, key: u128, port: u16) -> bool {
        is_ipv4(key) && self.all.get(self.place(pair(key, port))) == Some(&pair(key, port))
    }

    /// The first address of the set from `key` on, as a key, with its ports in ascending order.
    pub(super) fn next(&self, key: u128) -> Option<(u128, impl Iterator<Item = u16>)> {
        let bits = if is_ipv4(key) { key as u32 } else { 0 };
        if key > ipv4_key(bits) {
            return None;
        }
        let from = self.place(pair(ipv4_key(bits), 0));
        let ip = self.all.get(from)? >> 16;
        let ports = self.all[from..].iter().take_while(move |pair| *pair >> 16 == ip).map(|pair| *pair as u16);
        Some((ipv4_key(ip as u32), ports))
    }

    /// The place of the first pair that is not less than `pair`.
    fn place(&self, pair: u64) -> usize {
        let places = self.halves.places((pair >> 16) as u32, self.all.len());
        let from = places.start;
        from + self.all[places].partition_point(|other| *other < pair)
    }
}

/// The IPv4 address with this key, and a port, in one number that is ordered by address.
fn pair(key: u128, port: u16) -> u64 {
    u64::from(key as u32) << 16 | u64::from(port)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn the_set_does_what_a_sorted_set_does(
            many: bool,
            some in prop::collection::vec((0_u32..4, 0_u32..6, 1_u16..5), 0..40),
            asked in prop::collection::vec((0_u32..4, 0_u32..7, 0_u16..6), 1..40),
        ) {
            // On both sides of the borders of upper halves.
            let place = |half: u32, low: u32| ((half + 1) << 16).wrapping_add(low).wrapping_sub(3);
            let mut all: BTreeSet<(u32, u16)> = some.iter().map(|&(half, low, port)| (place(half, low), port)).collect();
            if many {
                all.extend((0..300).map(|n| (0x4000_0000 + n * 0x8001, 9)));
            }
            let mut pairs = Pairs::default();
            for (ip, port) in all.iter().rev().chain(&all) {
                pairs.insert(ipv4_key(*ip), *port);
            }
            pairs.settle();
            prop_assert_eq!(pairs.is_empty(), all.is_empty());
            for (half, low, port) in asked {
                let ip = place(half, low);
                prop_assert_eq!(pairs.contains(ipv4_key(ip), port), all.contains(&(ip, port)));
                let next = all.range((ip, 0)..).next().map(|(ip, _)| *ip);
                let found = pairs.next(ipv4_key(ip)).map(|(key, ports)| (key, ports.collect::<Vec<_>>()));
                let expected = next.map(|next| {
                    (ipv4_key(next), all.range((next, 0)..=(next, u16::MAX)).map(|(_, port)| *port).collect())
                });
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(pairs.next(u128::MAX).is_some(), false);
            prop_assert_eq!(pairs.next(0).map(|(key, _)| key), all.first().map(|(ip, _)| ipv4_key(*ip)));
        }
    }
}
