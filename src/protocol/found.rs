//! Addresses that list servers name while the run goes on.

use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;

/// Collects the addresses of one list, each once. A list protocol is told whether an address is new, so that it notices a list that
/// goes round in circles.
#[derive(Debug, Default)]
pub struct Found {
    seen: HashSet<SocketAddr>,
    queue: VecDeque<SocketAddr>,
    is_cut: bool,
    ragged: u32,
}

impl Found {
    /// Takes an address and says whether it is new. Beyond a million addresses, new ones are not taken any more.
    pub(crate) fn push(&mut self, address: SocketAddr) -> bool {
        if self.seen.len() >= LIMIT && !self.seen.contains(&address) {
            self.is_cut = true;
            return false;
        }
        let new = self.seen.insert(address);
        if new {
            self.queue.push_back(address);
        }
        new
    }

    /// The next new address, in the order in which they came.
    pub fn pop(&mut self) -> Option<SocketAddr> {
        self.queue.pop_front()
    }

    /// Takes note of a datagram that ends within an entry.
    pub(crate) fn note_ragged(&mut self) {
        self.ragged = self.ragged.saturating_add(1);
    }

    /// Datagrams that ended within an entry.
    #[must_use]
    pub fn ragged(&self) -> u32 {
        self.ragged
    }

    /// Different addresses that were taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// True if none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// True if addresses were not taken because there were too many.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Most addresses that are kept: more than any list has, few enough to hold (a hostile list has no end).
const LIMIT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_new_once_and_comes_out_once() {
        let mut found = Found::default();
        let [one, two] = ["192.0.2.1:1", "192.0.2.1:2"].map(|a| a.parse::<SocketAddr>().unwrap());
        assert!(found.push(one) && found.push(two) && !found.push(one));
        assert_eq!([found.pop(), found.pop(), found.pop()], [Some(one), Some(two), None]);
        assert!(!found.push(two));
        assert!(!found.is_cut());
    }

    #[test]
    fn a_list_without_an_end_is_cut_and_that_is_known() {
        let mut found = Found::default();
        let address = |n: u32| SocketAddr::from((n.to_be_bytes(), 27_015));
        let taken = (0..=LIMIT as u32).filter(|n| found.push(address(*n))).count();
        assert_eq!((taken, found.len(), found.is_cut()), (LIMIT, LIMIT, true));
        assert!(!found.push(address(7)), "it is known already");
    }
}
