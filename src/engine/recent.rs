//! Which targets ended lately: tells a late answer or a second copy from a datagram that nobody asked for.
//!
//! A table with one place for each hash, in which a newer entry takes the place of an older one: constant time, fixed
//! memory, and after N places' worth of targets most of the last N are still there. An entry is the rest of the keyed
//! hash, so that a stranger's address passes for a known one once in 2^47.

use std::net::SocketAddr;

use crate::rng::AddressHasher;

/// What is remembered of a datagram's sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// It was asked and has answered.
    Answered,
    /// It was asked, and we have stopped waiting.
    GivenUp,
    /// Its address was asked, at another port.
    OtherPort,
    /// It was not asked, or longer ago than we remember.
    Stranger,
}

/// Remembers addresses.
#[derive(Debug)]
pub struct Recent {
    servers: Box<[u64]>,
    hosts: Box<[u64]>,
    hasher: AddressHasher,
}

impl Recent {
    /// Room for about `capacity` targets.
    #[must_use]
    pub fn new(capacity: usize, hasher: AddressHasher) -> Self {
        let places = capacity.clamp(LEAST, MOST).next_power_of_two();
        Self { servers: vec![0; places].into(), hosts: vec![0; places].into(), hasher }
    }

    /// A target has begun: its host is known.
    pub fn begin(&mut self, address: &SocketAddr) {
        let hash = self.hasher.ip(&address.ip()) | 1;
        let place = place(hash, &self.hosts);
        self.hosts[place] = hash;
    }

    /// A target has ended.
    pub fn end(&mut self, address: &SocketAddr, answered: bool) {
        let hash = self.hasher.socket(address);
        let place = place(hash, &self.servers);
        self.servers[place] = entry(hash, answered);
    }

    /// What is known about the sender of a datagram that no flight waits for.
    #[must_use]
    pub fn sender(&self, address: &SocketAddr) -> Sender {
        let hash = self.hasher.socket(address);
        let found = self.servers[place(hash, &self.servers)];
        if found == entry(hash, true) {
            return Sender::Answered;
        }
        if found == entry(hash, false) {
            return Sender::GivenUp;
        }
        let host = self.hasher.ip(&address.ip()) | 1;
        if self.hosts[place(host, &self.hosts)] == host { Sender::OtherPort } else { Sender::Stranger }
    }
}

/// The place is taken from the upper half, so that the lower bits, which entries use, are free.
fn place(hash: u64, table: &[u64]) -> usize {
    (hash >> 32) as usize & (table.len() - 1)
}

/// Bit 0 says that there is an entry, bit 1 that the target had answered.
fn entry(hash: u64, answered: bool) -> u64 {
    hash & !0b11 | 1 | u64::from(answered) << 1
}

const LEAST: usize = 1 << 14;
const MOST: usize = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_told_apart() {
        let mut recent = Recent::new(0, AddressHasher::new(1));
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        recent.begin(&at("192.0.2.1:1"));
        recent.end(&at("192.0.2.1:1"), true);
        recent.begin(&at("192.0.2.2:1"));
        recent.end(&at("192.0.2.2:1"), false);
        assert_eq!(recent.sender(&at("192.0.2.1:1")), Sender::Answered);
        assert_eq!(recent.sender(&at("192.0.2.2:1")), Sender::GivenUp);
        assert_eq!(recent.sender(&at("192.0.2.2:2")), Sender::OtherPort);
        assert_eq!(recent.sender(&at("192.0.2.3:1")), Sender::Stranger);
    }

    #[test]
    fn most_of_the_latest_targets_are_remembered_and_strangers_are_not_taken_for_them() {
        let mut recent = Recent::new(LEAST, AddressHasher::new(2));
        let address = |n: u32| SocketAddr::from((n.to_be_bytes(), 27_015));
        for n in 0..100_000 {
            recent.end(&address(n), true);
        }
        let known = (100_000 - LEAST as u32 / 2..100_000).filter(|&n| recent.sender(&address(n)) == Sender::Answered);
        assert!(known.count() > LEAST * 3 / 8);
        assert!((200_000..300_000).all(|n| recent.sender(&address(n)) == Sender::Stranger));
    }
}
