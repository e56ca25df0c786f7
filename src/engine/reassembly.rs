//! Pieces of split replies, kept per flight until the protocol can join them.
//!
//! The buffers live in a slab and are reused. How pieces fit together is the protocol's business; what they may cost is
//! decided here: pieces a flight, bytes a flight, and bytes in all.

use slab::Slab;

use crate::protocol::Join;

/// The pieces of every flight that has some.
#[derive(Debug)]
pub(super) struct Reassembly {
    sets: Slab<Pieces>,
    spare: Vec<Pieces>,
    held: usize,
    most_held: usize,
}

/// What became of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is the newest of its flight's pieces.
    Yes,
    /// The flight has the same piece already.
    Duplicate,
    /// A limit is reached; the piece was dropped.
    Full,
}

impl Reassembly {
    /// Keeps at most `most_held` bytes of pieces in all.
    #[must_use]
    pub(super) fn new(most_held: usize) -> Self {
        Self { sets: Slab::new(), spare: Vec::new(), held: 0, most_held }
    }

    /// Keeps `piece` in the set `key`, which is made when there is none.
    pub(super) fn keep(&mut self, key: &mut Option<usize>, piece: &[u8]) -> Kept {
        if self.held + piece.len() > self.most_held {
            return Kept::Full;
        }
        let index = *key.get_or_insert_with(|| self.sets.insert(self.spare.pop().unwrap_or_default()));
        let Some(set) = self.sets.get_mut(index) else { return Kept::Full };
        if set.iter().any(|other| other == piece) {
            return Kept::Duplicate;
        }
        if set.ends.len() >= MOST_PIECES || set.bytes.len() + piece.len() > MOST_BYTES {
            return Kept::Full;
        }
        set.bytes.extend_from_slice(piece);
        set.ends.push(set.bytes.len() as u32);
        self.held += piece.len();
        Kept::Yes
    }

    /// Lets `join` look at all pieces of a set, in order of arrival.
    pub(super) fn join(&self, key: usize, join: impl FnOnce(&[&[u8]]) -> Join) -> Join {
        let pieces: Vec<&[u8]> = self.sets.get(key).map(|set| set.iter().collect()).unwrap_or_default();
        join(&pieces)
    }

    /// Forgets a flight's pieces.
    pub(super) fn release(&mut self, key: &mut Option<usize>) {
        let Some(mut set) = key.take().and_then(|index| self.sets.try_remove(index)) else { return };
        self.held -= set.bytes.len();
        set.bytes.clear();
        set.ends.clear();
        if set.bytes.capacity() <= KEPT_CAPACITY && self.spare.len() < MOST_SPARE {
            self.spare.push(set);
        }
    }

    /// Bytes that are held.
    #[must_use]
    pub(super) fn held(&self) -> usize {
        self.held
    }
}

#[derive(Debug, Default)]
struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Pieces {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start as usize..end as usize])
    }
}

/// Most pieces of one flight: 255 is the most that one split header can number, and a retry may bring a second set.
pub(super) const MOST_PIECES: usize = 512;
/// Most bytes of one flight.
pub(super) const MOST_BYTES: usize = 1 << 20;
/// A spare buffer keeps at most this much.
const KEPT_CAPACITY: usize = 64 << 10;
const MOST_SPARE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_in_order_of_arrival_and_once() {
        let mut reassembly = Reassembly::new(1_000);
        let mut key = None;
        assert_eq!(reassembly.keep(&mut key, b"two"), Kept::Yes);
        assert_eq!(reassembly.keep(&mut key, b"one"), Kept::Yes);
        assert_eq!(reassembly.keep(&mut key, b"two"), Kept::Duplicate);
        let joined = reassembly.join(key.unwrap(), |pieces| {
            assert_eq!(pieces, [b"two", b"one"]);
            Join::Whole
        });
        assert_eq!(joined, Join::Whole);
        reassembly.release(&mut key);
        assert_eq!((key, reassembly.held()), (None, 0));
    }

    #[test]
    fn the_memory_limits_hold() {
        let mut reassembly = Reassembly::new(3 << 20);
        let mut keys = vec![None; 5];
        let piece = |n: usize, size: usize| {
            let mut piece = vec![0; size];
            piece[..8].copy_from_slice(&n.to_le_bytes());
            piece
        };
        for n in 0..10_000 {
            let _ = reassembly.keep(&mut keys[n % 5], &piece(n, 60_000));
            assert!(reassembly.held() <= 3 << 20);
        }
        for key in &mut keys {
            reassembly.release(key);
        }
        let mut key = None;
        let kept = (0..10_000).filter(|&n| reassembly.keep(&mut key, &piece(n, 8)) == Kept::Yes).count();
        assert_eq!(kept, MOST_PIECES);
        reassembly.release(&mut key);
        assert_eq!(reassembly.held(), 0);
    }
}
