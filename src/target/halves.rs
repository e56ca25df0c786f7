//! Where in a sorted list to look for an IPv4 address: the upper half of the address says between which two places. So a
//! lookup takes about the same time however long the list is.

use std::ops::Range;

/// For each upper half of an address, how many entries of a list lie before all addresses with it. Lists are not longer than
/// 2^32. Empty for short ones.
#[derive(Debug, Default)]
pub(super) struct Halves(Vec<u32>);

impl Halves {
    /// Of `entries` in ascending order, each of which ends at the address `last`.
    pub(super) fn of<T>(entries: &[T], last: impl Fn(&T) -> u32) -> Self {
        if entries.len() <= FEW {
            return Self::default();
        }
        let mut ended = 0;
        let before = (0..=u16::MAX).map(|half| {
            let first = u32::from(half) << 16;
            ended += entries[ended..].partition_point(|entry| last(entry) < first);
            ended as u32
        });
        Self(before.collect())
    }

    /// The range of positions among `len` entries that contains the first entry ending at or after the address `bits`. If no
    /// entry in the range does, the first one is the next after it.
    pub(super) fn places(&self, bits: u32, len: usize) -> Range<usize> {
        let half = (bits >> 16) as usize;
        let before = |half: usize| self.0.get(half).map(|place| *place as usize);
        // What is looked for may reach into the next upper half.
        before(half).unwrap_or(0)..before(half + 1).map_or(len, |place| (place + 1).min(len))
    }

    #[cfg(test)]
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Among so many entries one is found as fast without an index.
pub(super) const FEW: usize = 64;
