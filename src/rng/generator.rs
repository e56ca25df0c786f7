//! The generator, and the function that mixes its bits.

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
    pub(crate) fn chance(&mut self, share: f64) -> bool {
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
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
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
}
