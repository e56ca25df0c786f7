//! Servers that are hardly as many as they seem: one address whose ports all give the same answer.
//!
//! For each address the four answers that are most frequent at the moment are counted (Misra and Gries): an answer that is
//! none of them takes the place of one that has no count left, or else takes one from each. A count is thus never too
//! great, whatever else the address answers, and too small by at most a fifth of its answers: where it has many different
//! ones the flag comes late or not at all. Answers are told apart by 32 bits of a keyed hash. It takes 40 to 80 bytes an
//! address, however many ports it has.

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashTable;

use crate::record::{Flags, ServerRecord};
use crate::rng::AddressHasher;

/// Counts equal answers by address.
#[derive(Debug)]
pub(crate) struct Clones {
    hosts: HashTable<Host>,
    hasher: AddressHasher,
}

/// What is remembered of an address.
#[derive(Debug, Clone, Copy)]
struct Host {
    /// Its keyed hash, which stands for it.
    ip: u64,
    answers: [u32; ANSWERS],
    counts: [u8; ANSWERS],
}

impl Clones {
    /// Remembers nothing yet. `hasher` holds the run's key.
    #[must_use]
    pub(crate) fn new(hasher: AddressHasher) -> Self {
        Self { hosts: HashTable::new(), hasher }
    }

    /// Counts the answer in `record`, and flags it if its address gave it at twenty ports or more before. Name, map and
    /// players make an answer; a record without info is none. Each server is to be shown once.
    pub(crate) fn flag(&mut self, record: &mut ServerRecord) {
        let Some(name) = record.name.as_str() else { return };
        let ip = self.hasher.ip(&record.address.ip());
        let mut answer = DefaultHasher::new();
        // The key is in the address's hash: nobody can choose names that collide.
        (ip, record.protocol, name, record.map.as_str(), record.players).hash(&mut answer);
        let new = Host { ip, answers: [0; ANSWERS], counts: [0; ANSWERS] };
        let host = self.hosts.entry(ip, |host| host.ip == ip, |host| host.ip).or_insert(new).into_mut();
        if host.count(answer.finish() as u32) > FREE {
            record.flags |= Flags::SAME_ANSWER;
        }
    }
}

impl Host {
    /// Counts `answer`, and says how often it came at least.
    fn count(&mut self, answer: u32) -> u8 {
        let known = (0..ANSWERS).find(|place| self.counts[*place] > 0 && self.answers[*place] == answer);
        if let Some(place) = known.or_else(|| (0..ANSWERS).find(|place| self.counts[*place] == 0)) {
            self.answers[place] = answer;
            self.counts[place] = self.counts[place].saturating_add(1);
            return self.counts[place];
        }
        self.counts.iter_mut().for_each(|count| *count -= 1);
        0
    }
}

/// Answers that are counted for an address.
const ANSWERS: usize = 4;
/// Ports of an address that may give the same answer.
const FREE: u8 = 20;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::SocketAddr;

    use super::*;
    use crate::rng::Rng;

    fn answer(address: impl Into<SocketAddr>, name: &str, players: u32) -> ServerRecord {
        let mut record = ServerRecord::new();
        record.address = address.into();
        record.name.set(name.as_bytes());
        record.map.set(b"de_dust2");
        record.players = Some(players);
        record
    }

    fn is_flagged(clones: &mut Clones, mut record: ServerRecord) -> bool {
        clones.flag(&mut record);
        record.flags.contains(Flags::SAME_ANSWER)
    }

    #[test]
    fn from_the_21st_port_on_the_same_answer_is_flagged() {
        let mut clones = Clones::new(AddressHasher::new(1));
        let host = [192, 0, 2, 1];
        let flagged = (0..1_000).filter(|port| is_flagged(&mut clones, answer((host, 1 + port), "x", 3)));
        assert_eq!(flagged.collect::<Vec<_>>(), (20..1_000).collect::<Vec<_>>());
        for other in [answer((host, 1), "y", 3), answer((host, 1), "x", 4), answer(([192, 0, 2, 2], 1), "x", 3)] {
            assert!(!is_flagged(&mut clones, other));
        }
        let mut other_map = answer((host, 1), "x", 3);
        other_map.map.set(b"de_nuke");
        assert!(!is_flagged(&mut clones, other_map));
        assert!(is_flagged(&mut clones, answer((host, 2_000), "x", 3)));
        assert_eq!(clones.hosts.len(), 2);
    }

    #[test]
    fn those_that_do_not_answer_are_no_clones() {
        let mut clones = Clones::new(AddressHasher::new(1));
        assert!((1..100).all(|port| {
            let mut record = ServerRecord::new();
            record.address = ([192, 0, 2, 1], port).into();
            !is_flagged(&mut clones, record)
        }));
        assert!(clones.hosts.is_empty());
    }

    #[test]
    fn among_other_answers_the_flag_may_come_late_and_never_early() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut clones = Clones::new(AddressHasher::new(seed));
            let mut exact: HashMap<u64, u32> = HashMap::new();
            let kinds = 1 + rng.below(30);
            for turn in 0..600_u32 {
                let kind = if rng.chance(0.5) { 0 } else { rng.below(kinds) };
                let seen = exact.entry(kind).or_default();
                *seen += 1;
                let flagged = is_flagged(&mut clones, answer(([192, 0, 2, 1], 7), &kind.to_string(), 0));
                assert!(!flagged || *seen > 20, "seed {seed}, turn {turn}: early");
                let least = i64::from(*seen) - i64::from(turn + 1) / 5;
                assert!(flagged || least <= 20, "seed {seed}, turn {turn}: later than by a fifth of all");
            }
        }
    }

    #[test]
    fn an_address_takes_32_bytes() {
        assert_eq!(size_of::<Host>(), 32);
    }
}
