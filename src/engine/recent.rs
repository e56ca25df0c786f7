//! Which targets ended lately: tells a late answer or a second copy from a datagram that nobody asked for.
//!
//! A hash table of small buckets, in each of which a new entry takes the place of the oldest: constant time and fixed
//! memory, and nearly all of the latest targets are still there. An entry is half of the keyed hash, and the place comes
//! from the other half: small enough to stay in the processor's cache, and a stranger's address passes for a known one
//! once in 2^27 times.

use std::net::SocketAddr;

use crate::rng::AddressHasher;

/// What is remembered of a datagram's sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
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
pub(crate) struct Recent {
    servers: Buckets,
    hosts: Buckets,
    hasher: AddressHasher,
}

impl Recent {
    /// Room for about `capacity` targets, within reason.
    #[must_use]
    pub(crate) fn new(capacity: usize, hasher: AddressHasher) -> Self {
        let buckets = (capacity.clamp(LEAST, MOST) / WAYS).next_power_of_two();
        Self { servers: Buckets::new(buckets), hosts: Buckets::new(buckets), hasher }
    }

    /// A target has begun: its host is known.
    pub(crate) fn begin(&mut self, address: &SocketAddr) {
        let hash = self.hasher.ip(&address.ip());
        if !self.hosts.has(hash, KNOWN) {
            self.hosts.put(hash, KNOWN);
        }
    }

    /// A target has ended.
    pub(crate) fn end(&mut self, address: &SocketAddr, answered: bool) {
        self.servers.put(self.hasher.socket(address), if answered { ANSWERED } else { KNOWN });
    }

    /// What is known about the sender of a datagram that no flight waits for.
    #[must_use]
    pub(crate) fn sender(&self, address: &SocketAddr) -> Sender {
        let hash = self.hasher.socket(address);
        if self.servers.has(hash, ANSWERED) {
            Sender::Answered
        } else if self.servers.has(hash, KNOWN) {
            Sender::GivenUp
        } else if self.hosts.has(self.hasher.ip(&address.ip()), KNOWN) {
            Sender::OtherPort
        } else {
            Sender::Stranger
        }
    }
}

/// Hashes, each with a tag of two bits that is not zero; the newest of a bucket stands first.
#[derive(Debug)]
struct Buckets(Box<[[u32; WAYS]]>);

impl Buckets {
    fn new(count: usize) -> Self {
        Self(vec![[0; WAYS]; count].into())
    }

    fn has(&self, hash: u64, tag: u32) -> bool {
        self.0[self.place(hash)].contains(&entry(hash, tag))
    }

    fn put(&mut self, hash: u64, tag: u32) {
        let place = self.place(hash);
        let bucket = &mut self.0[place];
        bucket.rotate_right(1);
        bucket[0] = entry(hash, tag);
    }

    fn place(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.0.len() - 1)
    }
}

fn entry(hash: u64, tag: u32) -> u32 {
    hash as u32 & !0b11 | tag
}

/// Tag of a host, and of a target that has not answered.
const KNOWN: u32 = 0b01;
/// Tag of a target that has answered.
const ANSWERED: u32 = 0b11;

const WAYS: usize = 4;
const LEAST: usize = 1 << 15;
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
    fn nearly_all_of_the_latest_targets_are_remembered_and_strangers_are_not_taken_for_them() {
        let mut recent = Recent::new(LEAST, AddressHasher::new(2));
        let address = |n: u32| SocketAddr::from((n.to_be_bytes(), 27_015));
        for n in 0..1_000_000 {
            recent.end(&address(n), true);
        }
        let latest = LEAST as u32 / 4;
        let known = (1_000_000 - latest..1_000_000).filter(|&n| recent.sender(&address(n)) == Sender::Answered);
        assert!(known.count() as u32 > latest * 99 / 100);
        assert!((2_000_000..2_100_000).all(|n| recent.sender(&address(n)) == Sender::Stranger));
    }
}
