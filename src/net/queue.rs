//! What waits to be sent: a queue for each lane, so that the system can hold up one without the others.
//!
//! What the engine gave has been charged to the limits on the pace already. So it leaves first, and no queue ever holds
//! more than one [`BATCH`], which those limits let leave at once at any time: the end of a blockage is no burst.
//!
//! The engine does not know lanes, and the next datagram may belong to any. Therefore:
//!
//! * Queues are filled until one that flows has a batch, which the next flush takes to the system.
//! * A queue that is blocked is filled up to a batch too. What comes for it beyond that is handed back
//!   ([`Refusal::Full`]), and the others go on. For the engine that is a send for which there was no room: it costs no
//!   try and comes again a little later, charged once more, so that nothing piles up.
//! * Once a batch has been handed back, or every queue is full, nothing more is asked for until the blocked lanes are
//!   tried again, [`RETRY`] later. A blockage that lasts costs no more time than that.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::batch::BATCH;
use super::sys::Cause;
use super::transport::{Event, Failure, Refusal};
use crate::engine::Slot;

/// The queues of all lanes.
#[derive(Debug)]
pub struct Queues {
    all: Vec<Queue>,
    /// Datagrams that were handed back since a blocked lane was tried last.
    handed_back: usize,
    has_room: bool,
}

#[derive(Debug, Default)]
struct Queue {
    outgoing: Outgoing,
    /// The system took no more; it is tried again then.
    blocked_until: Option<Instant>,
}

/// What sends for the queues.
pub trait System {
    /// Sends the first datagrams of `outgoing` on a lane and says how many left. An error is about the first datagram, and
    /// means that none left.
    fn send(&mut self, lane: usize, outgoing: &Outgoing) -> io::Result<usize>;

    /// Tells of each error that waits on a lane, up to a bound.
    fn errors(&mut self, lane: usize, tell: &mut impl FnMut(Event<'_>));
}

impl Queues {
    /// One for each of `lanes`.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        let all = std::iter::repeat_with(Queue::default).take(lanes).collect();
        Self { all, handed_back: 0, has_room: true }
    }

    /// Queues a datagram for a lane.
    pub fn submit(&mut self, lane: usize, slot: Slot, to: SocketAddr, data: &[u8]) -> Result<(), Refusal> {
        let queue = &mut self.all[lane];
        if queue.outgoing.is_full() {
            self.handed_back += 1;
            self.has_room &= self.handed_back < BATCH;
            return Err(Refusal::Full);
        }
        queue.outgoing.push(slot, to, data);
        if queue.outgoing.is_full() {
            let flows = queue.blocked_until.is_none();
            self.has_room &= !flows && !self.are_all_full();
        }
        Ok(())
    }

    /// True while it is worth submitting another datagram.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.has_room
    }

    /// When the first of the blocked lanes is tried again, if one is blocked.
    #[must_use]
    pub fn blocked_until(&self) -> Option<Instant> {
        self.all.iter().filter_map(|queue| queue.blocked_until).min()
    }

    /// Hands what waits to `system`, and tells what came of each datagram.
    pub fn flush(&mut self, now: Instant, system: &mut impl System, tell: &mut impl FnMut(Event<'_>)) {
        for (lane, queue) in self.all.iter_mut().enumerate() {
            match queue.blocked_until {
                Some(until) if now < until => continue,
                Some(_) => self.handed_back = 0,
                None => {}
            }
            let blocked = send_all(lane, &mut queue.outgoing, system, tell);
            queue.blocked_until = blocked.then(|| now + RETRY);
        }
        self.has_room = self.handed_back < BATCH && !self.are_all_full();
    }

    fn are_all_full(&self) -> bool {
        self.all.iter().all(|queue| queue.outgoing.is_full())
    }
}

/// Sends what waits for a lane; true if the system takes no more at the moment.
fn send_all(
    lane: usize,
    outgoing: &mut Outgoing,
    system: &mut impl System,
    tell: &mut impl FnMut(Event<'_>),
) -> bool {
    let mut failures = 0;
    // Bounded by the datagrams of the queue and the failures that are allowed in a row.
    while let Some((slot, to, _)) = outgoing.front() {
        match system.send(lane, outgoing) {
            Ok(count) => {
                outgoing.iter().take(count).for_each(|(slot, to, _)| tell(Event::Accepted { slot, to }));
                outgoing.advance(count);
                failures = 0;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                tell(Event::Blocked { slot, to });
                return true;
            }
            // There is no room on the way to this address; there may be on the way to others.
            Err(error) if is_congestion(&error) => {
                let os_error = error.raw_os_error().unwrap_or(libc::ENOBUFS);
                tell(Event::Congested { slot, to, os_error });
                outgoing.advance(1);
            }
            // It may be the error of an earlier datagram, to another address: look, and try again.
            Err(_) if failures < MOST_FAILURES => {
                failures += 1;
                system.errors(lane, tell);
            }
            Err(error) => {
                let cause = Cause::Local(error.raw_os_error().unwrap_or(libc::EIO));
                tell(Event::Failed(Failure { to, slot: Some(slot), cause, offender: None }));
                outgoing.advance(1);
                failures = 0;
            }
        }
    }
    false
}

/// The system cannot take the datagram at the moment, and will later.
fn is_congestion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

/// Datagrams that wait to be sent, in order. They stay until the system has taken them.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// The flight of each, where it goes, and where it ends in `bytes`.
    ends: Vec<(Slot, SocketAddr, usize)>,
    sent: usize,
}

impl Outgoing {
    /// Adds a datagram of `slot` for `to`.
    pub fn push(&mut self, slot: Slot, to: SocketAddr, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.ends.push((slot, to, self.bytes.len()));
    }

    /// The first datagram that has not left.
    #[must_use]
    pub fn front(&self) -> Option<(Slot, SocketAddr, &[u8])> {
        self.iter().next()
    }

    /// All that have not left, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, SocketAddr, &[u8])> {
        let begin = self.sent.checked_sub(1).map_or(0, |last| self.ends[last].2);
        let waiting = &self.ends[self.sent..];
        let starts = std::iter::once(begin).chain(waiting.iter().map(|(.., end)| *end));
        starts.zip(waiting).map(|(start, (slot, to, end))| (*slot, *to, &self.bytes[start..*end]))
    }

    /// The first `count` have left, or never will.
    pub fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.ends.len() {
            self.bytes.clear();
            self.ends.clear();
            self.sent = 0;
        } else if self.sent >= BATCH {
            // A queue that never runs empty must not grow.
            let gone = self.ends[self.sent - 1].2;
            self.bytes.drain(..gone);
            self.ends.drain(..self.sent);
            self.ends.iter_mut().for_each(|(.., end)| *end -= gone);
            self.sent = 0;
        }
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len() - self.sent
    }

    /// True when nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when a whole batch waits.
    fn is_full(&self) -> bool {
        self.len() >= BATCH
    }
}

/// How soon something that takes no more at the moment is tried again: a lane, or the writer.
pub const RETRY: Duration = Duration::from_millis(1);
/// Failures in a row that may be those of earlier datagrams.
const MOST_FAILURES: usize = 8;
