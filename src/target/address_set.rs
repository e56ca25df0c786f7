//! Addresses as sorted, disjoint spans: 8 bytes for a span of IPv4 addresses, 32 for one of IPv6 addresses.
//!
//! A lookup takes about the same time however many spans there are, see [`Halves`].

use super::halves::Halves;
use super::ip_range::{IpRange, ipv4_key, is_ipv4};

/// A set of addresses.
#[derive(Debug, Default)]
pub(super) struct AddressSet {
    ipv4: Vec<(u32, u32)>,
    /// Where to look in `ipv4`, once it is settled.
    halves: Halves,
    ipv6: Vec<(u128, u128)>,
}

impl AddressSet {
    /// Adds addresses. Call [`AddressSet::settle`] before you look any up.
    pub(super) fn insert(&mut self, hosts: IpRange) {
        for (first, last) in hosts.pieces() {
            if is_ipv4(first) {
                self.ipv4.push((first as u32, last as u32)); // the low halves of the keys
            } else {
                self.ipv6.push((first, last));
            }
        }
    }

    /// Sorts the spans and joins those that touch.
    pub(super) fn settle(&mut self) {
        self.ipv4.sort_unstable();
        self.ipv4.dedup_by(|next, span| join(next.0.checked_sub(1).is_none_or(|before| before <= span.1), *next, span));
        self.ipv4.shrink_to_fit();
        self.ipv6.sort_unstable();
        self.ipv6.dedup_by(|next, span| join(next.0.checked_sub(1).is_none_or(|before| before <= span.1), *next, span));
        self.halves = Halves::of(&self.ipv4, |span| span.1);
    }

    /// Whether the address with this key is in the set.
    pub(super) fn contains(&self, key: u128) -> bool {
        self.next(key).is_some_and(|(first, _)| first <= key)
    }

    /// The first span that ends at `key` or after it, as (first, last), both included.
    pub(super) fn next(&self, key: u128) -> Option<(u128, u128)> {
        let next_ipv6 = |key| {
            let place = self.ipv6.partition_point(|span| span.1 < key);
            self.ipv6.get(place).copied()
        };
        let ipv4 = self.next_ipv4(key);
        // Spans of IPv6 lie before and after those of IPv4, and never across them.
        if is_ipv4(key) {
            return ipv4.or_else(|| next_ipv6(key));
        }
        let ipv6 = next_ipv6(key);
        [ipv4, ipv6].into_iter().flatten().min()
    }

    fn next_ipv4(&self, key: u128) -> Option<(u128, u128)> {
        let bits = if is_ipv4(key) {
            key as u32
        } else if key < ipv4_key(0) {
            0
        } else {
            return None;
        };
        let places = self.halves.places(bits, self.ipv4.len());
        let place = places.start + self.ipv4[places].partition_point(|span| span.1 < bits);
        let (first, last) = *self.ipv4.get(place)?;
        Some((ipv4_key(first), ipv4_key(last)))
    }
}

/// Makes `span` reach to the end of `next` if they `touch`.
fn join<T: Ord + Copy>(touch: bool, next: (T, T), span: &mut (T, T)) -> bool {
    if touch {
        span.1 = span.1.max(next.1);
    }
    touch
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::super::halves::FEW;
    use super::super::ip_range::key;
    use super::*;

    fn set(ranges: &[(IpAddr, IpAddr)]) -> AddressSet {
        let mut set = AddressSet::default();
        for &(first, last) in ranges {
            set.insert(IpRange::new(first, last).expect("it runs upwards"));
        }
        set.settle();
        set
    }

    #[test]
    fn everything_is_everything_and_ipv6_across_the_place_of_ipv4_is_not_ipv4() {
        let all_ipv6 = (IpAddr::from(Ipv6Addr::UNSPECIFIED), IpAddr::from([0xFF; 16]));
        let all_ipv4 = (IpAddr::from([0; 4]), IpAddr::from([0xFF; 4]));
        let (ipv6, ipv4) = (set(&[all_ipv6]), set(&[all_ipv4]));
        for ip in [IpAddr::from([0; 4]), IpAddr::from([8, 8, 8, 8]), IpAddr::from([0xFF; 4])] {
            assert!(ipv4.contains(key(ip)) && !ipv6.contains(key(ip)));
        }
        for ip in [all_ipv6.0, all_ipv6.1, IpAddr::from(Ipv6Addr::LOCALHOST)] {
            assert!(ipv6.contains(key(ip)) && !ipv4.contains(key(ip)));
        }
        assert_eq!(ipv4.next(0), Some((key(all_ipv4.0), key(all_ipv4.1))));
        assert_eq!(ipv4.next(u128::MAX), None);
        assert_eq!(set(&[]).next(0), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn the_set_does_what_a_list_of_ranges_does(
            many: bool,
            ranges in prop::collection::vec((0_u32..6, 0_u32..40, 0_u32..9), 0..20),
            keys in prop::collection::vec((0_u32..6, 0_u32..52), 1..40),
        ) {
            // Near the borders of upper halves, and with more spans elsewhere than are found without an index.
            let place = |half: u32, low: u32| Ipv4Addr::from_bits((half << 16).wrapping_sub(20).wrapping_add(low));
            let mut all: Vec<_> = ranges
                .iter()
                .map(|&(half, low, more)| (IpAddr::from(place(half + 1, low)), IpAddr::from(place(half + 1, low + more))))
                .collect();
            if many {
                all.extend((0..200_u32).map(|n| {
                    let ip = IpAddr::from(Ipv4Addr::from_bits(0x4000_0000 + n * 0x1_0001));
                    (ip, ip)
                }));
            }
            let set = set(&all);
            prop_assert_eq!(set.halves.is_empty(), set.ipv4.len() <= FEW);
            for (half, low) in keys {
                let ip = IpAddr::from(place(half + 1, low));
                let expected = all.iter().any(|(first, last)| *first <= ip && ip <= *last);
                prop_assert_eq!(set.contains(key(ip)), expected, "{}", ip);
                let next = all.iter().filter(|(_, last)| *last >= ip).map(|(first, _)| key(*first).max(key(ip))).min();
                prop_assert_eq!(set.next(key(ip)).map(|(first, _)| first.max(key(ip))), next, "{}", ip);
            }
            prop_assert!(set.ipv4.windows(2).all(|pair| pair[0].1 < pair[1].0 - 1), "apart");
        }
    }
}
