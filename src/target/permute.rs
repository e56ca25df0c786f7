//! A pseudo-random order that needs no memory: a keyed permutation of 0..len.
//!
//! A Feistel network permutes the numbers of as many bits as `len` needs; a result past the end is put through again
//! until it falls inside (cycle walking). The domain is less than twice `len`, so fewer than two passes are expected.
//! Because the order is a function of the index, any part of it can be visited alone: shards and resumed scans
//! need only their indices.
//!
//! The halves differ by a bit when the number of bits is odd. They are not swapped but mixed into each other in turn,
//! which is a bijection for any split. Whoever changes this must keep each round invertible: a half may change only
//! by something computed from the other half.

use crate::rng::{Rng, mix};

/// A bijection of `0..len`, chosen by a seed.
#[derive(Debug, Clone)]
pub struct Permutation {
    len: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..len` that belongs to `seed`.
    #[must_use]
    pub fn new(len: u64, seed: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let low_bits = bits.div_ceil(2);
        let mut rng = Rng::new(seed);
        Self {
            len,
            low_bits,
            low_mask: (1 << low_bits) - 1,
            high_mask: (1 << (bits - low_bits)) - 1,
            keys: [(); ROUNDS].map(|()| rng.next_u64()),
        }
    }

    /// How many numbers are permuted.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing to permute.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number that stands at place `index`; an `index` past the end stays as it is.
    #[must_use]
    pub fn apply(&self, index: u64) -> u64 {
        if index >= self.len {
            return index;
        }
        // Bounded: the walk follows the cycle of `index`, which comes back to `index` at the latest.
        let mut value = self.pass(index);
        while value >= self.len {
            value = self.pass(value);
        }
        value
    }

    fn pass(&self, value: u64) -> u64 {
        let (mut high, mut low) = (value >> self.low_bits, value & self.low_mask);
        for keys in self.keys.chunks_exact(2) {
            high ^= mix(low ^ keys[0]) & self.high_mask;
            low ^= mix(high ^ keys[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }
}

/// Even; four are the least for a pseudo-random permutation, and small domains want more.
const ROUNDS: usize = 6;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn very_long_orders_stay_inside_and_take_few_passes() {
        for len in [1 << 48, (1 << 48) + 1, (1 << 62) + 1, 1 << 63] {
            let order = Permutation::new(len, 5);
            let mut passes = 0;
            for index in (0..1_000).chain(len - 1_000..len) {
                assert!(order.apply(index) < len);
                let mut value = index;
                loop {
                    value = order.pass(value);
                    passes += 1;
                    if value < len {
                        break;
                    }
                }
            }
            assert!(passes < 2_000 * 5 / 2, "{len}: {passes}");
        }
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let order = Permutation::new(1 << 24, 11);
        // Of 10,000 pairs in 2^16 networks of 256, chance alone leaves less than one in the same network.
        let together = (0..10_000).filter(|&i| order.apply(i) >> 8 == order.apply(i + 1) >> 8).count();
        assert!(together < 10, "{together}");
    }

    #[test]
    fn every_first_place_is_about_equally_likely_over_the_seeds() {
        let mut counts = [0_u32; 10];
        for seed in 0..10_000 {
            counts[Permutation::new(10, seed).apply(3) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (850..1_150).contains(&n)), "{counts:?}");
    }

    #[test]
    fn an_index_past_the_end_stays_as_it_is() {
        assert_eq!(Permutation::new(0, 1).apply(0), 0);
        assert_eq!(Permutation::new(1, 1).apply(0), 0);
        assert_eq!(Permutation::new(3, 1).apply(3), 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn every_number_stands_at_exactly_one_place(len in 0_u64..600, seed: u64) {
            let order = Permutation::new(len, seed);
            let mut seen = vec![false; len as usize];
            for index in 0..len {
                let value = order.apply(index);
                prop_assert!(value < len, "{} of {}", value, len);
                prop_assert!(!std::mem::replace(&mut seen[value as usize], true), "{} twice", value);
            }
        }
    }
}
