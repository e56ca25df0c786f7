//! Reassembly of IP fragments: large replies of game servers come in several packets.
//!
//! Bytes are put together by `etherparse`; what belongs together, and for how long, is decided here. So many datagrams
//! may be incomplete at a time, the oldest gives way, and one that is incomplete for long is given up, because senders
//! use their identifications again.

use std::net::IpAddr;

use etherparse::defrag::IpDefragBuf;
use etherparse::{IpFragOffset, ip_number};

/// What fragments of one datagram have in common (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// The sender.
    pub from: IpAddr,
    /// The receiver.
    pub to: IpAddr,
    /// The sender's number for the datagram.
    pub id: u32,
    /// Where it was captured: two interfaces see two copies.
    pub interface: usize,
}

/// A part of a UDP datagram.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment<'a> {
    /// Its place in the datagram.
    pub offset: IpFragOffset,
    /// It is not the last one.
    pub more: bool,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// Datagrams of which some fragments are there.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// The oldest first. Few, so that looking through all of them is fast.
    partials: Vec<Partial>,
    /// Fragments that were given up.
    lost: u64,
}

#[derive(Debug)]
struct Partial {
    key: Key,
    began_us: Option<i64>,
    packets: u64,
    buffer: IpDefragBuf,
}

impl Fragments {
    /// Puts a fragment in, and gives the whole datagram (its UDP header first) if that was the last one missing.
    pub(super) fn handle_fragment(&mut self, key: Key, at_us: Option<i64>, part: Fragment<'_>) -> Option<Vec<u8>> {
        let found = self.partials.iter().position(|partial| partial.key == key);
        let stale = found.filter(|&at| self.partials.get(at).is_some_and(|partial| partial.is_stale(at_us)));
        if let Some(at) = stale {
            self.give_up(at);
        }
        let at = found.filter(|_| stale.is_none()).unwrap_or_else(|| {
            if self.partials.len() >= MOST_PARTIALS {
                self.give_up(0);
            }
            let buffer = IpDefragBuf::new(ip_number::UDP, Vec::new(), Vec::new());
            self.partials.push(Partial { key, began_us: at_us, packets: 0, buffer });
            self.partials.len() - 1
        });
        let partial = self.partials.get_mut(at)?;
        partial.packets += 1;
        // At most 64 KiB a datagram: the crate refuses what lies beyond.
        if partial.buffer.add(part.offset, part.more, part.bytes).is_err() {
            self.give_up(at);
            return None;
        }
        partial.buffer.is_complete().then(|| self.partials.remove(at).buffer.take_bufs().0)
    }

    /// Fragments that were given up or still wait for others.
    pub(super) fn unused(&self) -> u64 {
        self.lost + self.partials.iter().map(|partial| partial.packets).sum::<u64>()
    }

    fn give_up(&mut self, at: usize) {
        self.lost += self.partials.remove(at).packets;
    }
}

impl Partial {
    fn is_stale(&self, now_us: Option<i64>) -> bool {
        let times = self.began_us.zip(now_us);
        times.is_some_and(|(began, now)| now.abs_diff(began) > LONGEST_WAIT_US)
    }
}

/// 16 MiB of buffers.
const MOST_PARTIALS: usize = 256;
/// What Linux waits for the rest of a datagram.
const LONGEST_WAIT_US: u64 = 30_000_000;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const KEY: Key =
        Key { from: IpAddr::V4(Ipv4Addr::LOCALHOST), to: IpAddr::V4(Ipv4Addr::LOCALHOST), id: 7, interface: 0 };

    /// The part of `bytes` that begins at eight times `offset`.
    fn part(bytes: &[u8], offset: u16, length: usize) -> Fragment<'_> {
        let start = usize::from(offset) * 8;
        let end = (start + length).min(bytes.len());
        let offset = IpFragOffset::try_new(offset).unwrap();
        Fragment { offset, more: end < bytes.len(), bytes: &bytes[start..end] }
    }

    #[test]
    fn fragments_in_any_order_and_twice_give_the_datagram() {
        let bytes: Vec<u8> = (0..100).collect();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut fragments = Fragments::default();
            let mut done = Vec::new();
            for (seen, offset) in order.into_iter().enumerate() {
                done = fragments.handle_fragment(KEY, None, part(&bytes, offset * 5, 40)).unwrap_or_default();
                assert_eq!(done.is_empty(), seen < 2);
                if seen == 0 {
                    assert_eq!(fragments.handle_fragment(KEY, None, part(&bytes, offset * 5, 40)), None);
                }
            }
            assert_eq!((done, fragments.unused()), (bytes.clone(), 0));
        }
    }

    #[test]
    fn copies_on_two_interfaces_are_two_datagrams() {
        let bytes = [1; 16];
        let mut fragments = Fragments::default();
        let other = Key { interface: 1, ..KEY };
        for key in [KEY, other] {
            assert_eq!(fragments.handle_fragment(key, None, part(&bytes, 0, 8)), None);
        }
        for key in [KEY, other] {
            assert_eq!(fragments.handle_fragment(key, None, part(&bytes, 1, 8)), Some(bytes.to_vec()));
        }
    }

    #[test]
    fn an_old_fragment_does_not_meet_a_new_datagram_with_its_number() {
        let (old, new) = ([1; 16], [2; 16]);
        let mut fragments = Fragments::default();
        assert_eq!(fragments.handle_fragment(KEY, Some(0), part(&old, 0, 8)), None);
        assert_eq!(fragments.handle_fragment(KEY, Some(31_000_000), part(&new, 1, 8)), None);
        assert_eq!(fragments.unused(), 2);
        assert_eq!(fragments.handle_fragment(KEY, Some(31_000_500), part(&new, 0, 8)), Some(new.to_vec()));
        assert_eq!(fragments.unused(), 1);
    }

    #[test]
    fn incomplete_datagrams_are_bounded_and_their_fragments_counted() {
        let bytes = [1; 16];
        let mut fragments = Fragments::default();
        for id in 0..1000 {
            assert_eq!(fragments.handle_fragment(Key { id, ..KEY }, None, part(&bytes, 0, 8)), None);
        }
        assert_eq!((fragments.partials.len(), fragments.unused()), (MOST_PARTIALS, 1000));
        assert!(fragments.handle_fragment(Key { id: 999, ..KEY }, None, part(&bytes, 1, 8)).is_some());
        assert_eq!(fragments.unused(), 999);
    }

    #[test]
    fn fragments_that_contradict_each_other_are_given_up() {
        let (short, long) = ([1; 16], [2; 32]);
        let mut fragments = Fragments::default();
        assert_eq!(fragments.handle_fragment(KEY, None, part(&short, 1, 8)), None);
        assert_eq!(fragments.handle_fragment(KEY, None, part(&long, 3, 8)), None);
        assert_eq!((fragments.partials.len(), fragments.unused()), (0, 2));
    }
}
