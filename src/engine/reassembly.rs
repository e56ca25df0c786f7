//! Pieces of split replies, kept per flight until the protocol can join them.
//!
//! The buffers live in a slab and are reused. How pieces fit together is the protocol's business; what they may cost is
//! limited here: pieces a flight, and the bytes that the engine allows it.

use slab::Slab;

use crate::protocol::Join;

/// The pieces of every flight that has some.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    sets: Slab<Pieces>,
    spare: Vec<Pieces>,
    held: usize,
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
    /// Keeps `piece` in the set `key`, which is made when there is none and may hold `allowance` bytes.
    pub(super) fn keep(&mut self, key: &mut Option<usize>, piece: &[u8], allowance: usize) -> Kept {
        let index = *key.get_or_insert_with(|| self.sets.insert(self.spare.pop().unwrap_or_default()));
        let Some(set) = self.sets.get_mut(index) else { return Kept::Full };
        if set.iter().any(|other| other == piece) {
            return Kept::Duplicate;
        }
        if set.ends.len() >= MOST_PIECES || set.bytes.len() + piece.len() > allowance.min(MOST_BYTES) {
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

    /// Shows all pieces of a set to `visit`, in order of arrival.
    pub(super) fn visit(&self, key: usize, visit: impl FnMut(&[u8])) {
        if let Some(set) = self.sets.get(key) {
            set.iter().for_each(visit);
        }
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
        let mut reassembly = Reassembly::default();
        let mut key = None;
        assert_eq!(reassembly.keep(&mut key, b"two", 100), Kept::Yes);
        assert_eq!(reassembly.keep(&mut key, b"one", 100), Kept::Yes);
        assert_eq!(reassembly.keep(&mut key, b"two", 100), Kept::Duplicate);
        let joined = reassembly.join(key.unwrap(), |pieces| {
            assert_eq!(pieces, [b"two", b"one"]);
            Join::Whole
        });
        assert_eq!(joined, Join::Whole);
        let mut visited = Vec::new();
        reassembly.visit(key.unwrap(), |piece| visited.push(piece.to_vec()));
        assert_eq!(visited, [b"two", b"one"]);
        reassembly.release(&mut key);
        assert_eq!((key, reassembly.held()), (None, 0));
    }

    #[test]
    fn a_set_grows_no_larger_than_it_is_allowed_to() {
        let mut reassembly = Reassembly::default();
        let piece = |n: usize, size: usize| {
            let mut piece = vec![0; size];
            piece[..8].copy_from_slice(&n.to_le_bytes());
            piece
        };
        let mut key = None;
        let kept = |reassembly: &mut Reassembly, key: &mut Option<usize>, size, allowance| {
            (0..10_000).filter(|&n| reassembly.keep(key, &piece(n, size), allowance) == Kept::Yes).count()
        };
        assert_eq!(kept(&mut reassembly, &mut key, 1_000, 10_500), 10);
        assert_eq!(reassembly.held(), 10_000);
        reassembly.release(&mut key);
        assert_eq!(kept(&mut reassembly, &mut key, 60_000, usize::MAX), MOST_BYTES / 60_000);
        reassembly.release(&mut key);
        assert_eq!(kept(&mut reassembly, &mut key, 8, usize::MAX), MOST_PIECES);
        reassembly.release(&mut key);
        assert_eq!(reassembly.held(), 0);
    }
}
