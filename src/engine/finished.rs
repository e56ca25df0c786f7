//! Finished targets on their way to the writer thread: raw answers, packed into batches that are used again.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Instant;

use super::Icmp;
use super::flight::Reasons;
use crate::record::Status;
use crate::target::{NameError, Target};

/// One target that has ended, with everything but its decoded answers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finished {
    /// Address that was asked last; port 0 if none was.
    pub address: SocketAddr,
    /// Number of its plan.
    pub plan: u16,
    /// Number of the plan's leg that answered or was tried last.
    pub leg: u16,
    /// Number of its origin.
    pub origin: u32,
    /// The port that the target named; a plan may have it asked at another.
    pub target_port: u16,
    /// How it ended; [`Status::Ok`] may turn out to be partial once it is decoded.
    pub status: Status,
    /// The ICMP error that came for it.
    pub icmp: Option<Icmp>,
    /// The operating system's error number, if it refused to send.
    pub os_error: Option<i32>,
    /// Why its name has no address, if it is the name that failed.
    pub name_error: Option<NameError>,
    /// When the first datagram left, if one did.
    pub first_sent: Option<Instant>,
    /// Why queries have no answer.
    pub reasons: Reasons,
    /// Round-trip time of the first answer in microseconds.
    pub rtt_us: Option<u32>,
    /// Microseconds from when the first datagram would have left at an even pace to the first answer.
    pub planned_us: Option<u32>,
    /// Microseconds of that pace, just before it, in which nothing left although something might have.
    pub forgotten_us: u32,
    /// Round-trip time of the ping query in microseconds.
    pub ping_us: Option<u32>,
    /// That answer may belong to an earlier try.
    pub rtt_ambiguous: bool,
    /// One, and one more for each retry.
    pub attempts: u32,
    /// Datagrams sent.
    pub sent: u32,
    /// Datagrams used.
    pub received: u32,
    /// Pieces of split replies among them.
    pub fragments: u32,
    /// Where its answers lie in the batch.
    pub(super) answers: Range<usize>,
}

/// Finished targets with their answers' bytes, and what was sent and received in the meantime, if that is wanted.
#[derive(Debug, Default)]
pub struct Batch {
    finished: Vec<Finished>,
    bytes: Vec<u8>,
    logged: Vec<(Direction, SocketAddr, Instant, Range<usize>)>,
    printed: Vec<Target>,
}

/// A datagram that was exchanged with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Logged<'a> {
    /// To it or from it.
    pub direction: Direction,
    /// The server.
    pub server: SocketAddr,
    /// When it was sent or came.
    pub at: Instant,
    /// Its bytes.
    pub data: &'a [u8],
}

/// Which way a datagram went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To a server.
    Sent,
    /// From a server.
    Received,
}

impl Batch {
    /// The targets, in the order in which they ended.
    pub fn iter(&self) -> impl Iterator<Item = &Finished> {
        self.finished.iter()
    }

    /// The answers of `finished`, which is one of this batch, are put into `answers`.
    pub fn answers<'a>(&'a self, finished: &Finished, answers: &mut Vec<&'a [u8]>) {
        answers.clear();
        let mut rest = self.bytes.get(finished.answers.clone()).unwrap_or_default();
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let Some((answer, behind)) = behind.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
            answers.push(answer);
            rest = behind;
        }
    }

    /// The datagrams, in the order in which they were sent and came.
    pub fn logged(&self) -> impl Iterator<Item = Logged<'_>> {
        self.logged.iter().map(|(direction, server, at, place)| Logged {
            direction: *direction,
            server: *server,
            at: *at,
            data: self.bytes.get(place.clone()).unwrap_or_default(),
        })
    }

    /// Targets that are not asked, in the order in which they became known.
    #[must_use]
    pub fn printed(&self) -> &[Target] {
        &self.printed
    }

    /// Targets in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.finished.len()
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty() && self.logged.is_empty() && self.printed.is_empty()
    }

    /// True when the batch is worth handing over.
    pub(super) fn is_full(&self) -> bool {
        let targets = self.finished.len() * size_of::<Finished>() + self.printed.len() * size_of::<Target>();
        self.bytes.len() + targets >= FULL
    }

    /// Adds a target whose kept answers are `answers`, each preceded by its length.
    pub(super) fn push(&mut self, mut finished: Finished, answers: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(answers);
        finished.answers = start..self.bytes.len();
        self.finished.push(finished);
    }

    /// Adds a datagram.
    pub(super) fn log(&mut self, direction: Direction, server: SocketAddr, at: Instant, data: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(data);
        self.logged.push((direction, server, at, start..self.bytes.len()));
    }

    /// Adds a target that is not asked.
    pub(super) fn print(&mut self, target: Target) {
        self.printed.push(target);
    }

    /// Makes it empty; capacity stays, within reason.
    pub(super) fn clear(&mut self) {
        self.finished.clear();
        self.logged.clear();
        self.printed.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_CAPACITY);
    }
}

/// Appends `answer` to `answers`, preceded by its length.
pub(super) fn keep_answer(answers: &mut Vec<u8>, answer: &[u8]) {
    answers.extend_from_slice(&(answer.len() as u32).to_le_bytes());
    answers.extend_from_slice(answer);
}

/// No answers yet: [`Batch::push`] says where they are.
pub(super) const NO_ANSWERS: Range<usize> = 0..0;

impl Finished {
    /// A target with nothing known but where it is and how it ended.
    pub(super) fn new(address: SocketAddr, status: Status, first_sent: Option<Instant>) -> Self {
        Self {
            address,
            plan: 0,
            leg: 0,
            origin: 0,
            target_port: address.port(),
            status,
            icmp: None,
            os_error: None,
            name_error: None,
            first_sent,
            reasons: Reasons::default(),
            rtt_us: None,
            planned_us: None,
            forgotten_us: 0,
            ping_us: None,
            rtt_ambiguous: false,
            attempts: 0,
            sent: 0,
            received: 0,
            fragments: 0,
            answers: NO_ANSWERS,
        }
    }
}

/// Bytes of a full batch.
const FULL: usize = 64 << 10;
/// Bytes of answers that an empty batch keeps room for.
const KEPT_CAPACITY: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::start;

    #[test]
    fn answers_come_out_with_their_target() {
        let mut batch = Batch::default();
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        for n in 0..3_u8 {
            let mut answers = Vec::new();
            (0..n).for_each(|m| keep_answer(&mut answers, &vec![n; usize::from(m)]));
            batch.push(Finished::new(address, Status::Ok, Some(start())), &answers);
        }
        let mut answers = Vec::new();
        let all: Vec<Vec<Vec<u8>>> = batch
            .iter()
            .map(|finished| {
                batch.answers(finished, &mut answers);
                answers.iter().map(|a| a.to_vec()).collect()
            })
            .collect();
        assert_eq!(all, [vec![], vec![vec![]], vec![vec![], vec![2]]]);
        batch.clear();
        assert!(batch.is_empty());
    }
}
