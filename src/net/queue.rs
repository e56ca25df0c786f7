//! What waits to be sent: a queue for each lane, so that the system can hold up one without the others.
//!
//! Queued datagrams have been charged to the limits on the pace already, so they leave first. No queue ever holds more
//! than one [`BATCH`], which those limits always let leave at once: no burst follows the end of a blockage.
//!
//! The engine does not know lanes, and the next datagram may belong to any. Therefore:
//!
//! * Queues are filled until one that is not blocked has a batch, which the next flush hands to the system.
//! * A queue that is blocked is filled up to a batch too. Any further datagram for it is refused ([`Refusal::Full`]).
//!   The engine parks its flight until no lane is blocked, and goes on with the flights of the other lanes. The parked
//!   flight then sends within the limits on the pace.
//! * When every queue is full, the engine is asked for nothing until the blocked lanes are tried again, [`RETRY`]
//!   later.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::BATCH;
use super::sys::Cause;
use super::transport::{Event, Failure, Refusal};
use crate::engine::Slot;

/// The queues of all lanes.
#[derive(Debug)]
pub(crate) struct Queues {
    all: Vec<Queue>,
    has_room: bool,
}

#[derive(Debug, Default)]
struct Queue {
    outgoing: Outgoing,
    /// When the lane is tried again, if the system took no more on it.
    blocked_until: Option<Instant>,
}

/// What sends for the queues.
pub(crate) trait System {
    /// Sends the first datagrams of `outgoing` on a lane and says how many left. An error is about the first datagram, and
    /// means that none left.
    fn send(&mut self, lane: usize, outgoing: &Outgoing) -> io::Result<usize>;

    /// Reports each error that waits on a lane, up to a bound.
    fn errors(&mut self, lane: usize, tell: &mut impl FnMut(Event<'_>));
}

impl Queues {
    /// One for each of `lanes`.
    #[must_use]
    pub(crate) fn new(lanes: usize) -> Self {
        let all = std::iter::repeat_with(Queue::default).take(lanes).collect();
        Self { all, has_room: true }
    }

    /// Queues a datagram for a lane.
    pub(crate) fn submit(&mut self, lane: usize, slot: Slot, to: SocketAddr, data: &[u8]) -> Result<(), Refusal> {
        let queue = &mut self.all[lane];
        if queue.outgoing.is_full() {
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
    pub(crate) fn has_room(&self) -> bool {
        self.has_room
    }

    /// When the first of the blocked lanes is tried again, if one is blocked.
    #[must_use]
    pub(crate) fn blocked_until(&self) -> Option<Instant> {
        self.all.iter().filter_map(|queue| queue.blocked_until).min()
    }

    /// Hands what waits to `system`, and reports what became of each datagram.
    pub(crate) fn flush(&mut self, now: Instant, system: &mut impl System, tell: &mut impl FnMut(Event<'_>)) {
        for (lane, queue) in self.all.iter_mut().enumerate() {
            if queue.blocked_until.is_some_and(|until| now < until) {
                continue;
            }
            let blocked = send_all(lane, &mut queue.outgoing, system, tell);
            queue.blocked_until = blocked.then(|| now + RETRY);
        }
        self.has_room = !self.are_all_full();
    }

    fn are_all_full(&self) -> bool {
        self.all.iter().all(|queue| queue.outgoing.is_full())
    }
}

/// Sends what waits for a lane; true if the system takes no more at the moment.
fn send_all(lane: usize, outgoing: &mut Outgoing, system: &mut impl System, tell: &mut impl FnMut(Event<'_>)) -> bool {
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
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// The flight of each, where it goes, and where it ends in `bytes`.
    ends: Vec<(Slot, SocketAddr, usize)>,
    sent: usize,
}

impl Outgoing {
    /// Adds a datagram of `slot` for `to`.
    pub(crate) fn push(&mut self, slot: Slot, to: SocketAddr, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.ends.push((slot, to, self.bytes.len()));
    }

    /// The first datagram that has not left.
    #[must_use]
    pub(crate) fn front(&self) -> Option<(Slot, SocketAddr, &[u8])> {
        self.iter().next()
    }

    /// All that have not left, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, SocketAddr, &[u8])> {
        let begin = self.sent.checked_sub(1).map_or(0, |last| self.ends[last].2);
        let waiting = &self.ends[self.sent..];
        let starts = std::iter::once(begin).chain(waiting.iter().map(|(.., end)| *end));
        starts.zip(waiting).map(|(start, (slot, to, end))| (*slot, *to, &self.bytes[start..*end]))
    }

    /// The first `count` have left, or never will.
    pub(crate) fn advance(&mut self, count: usize) {
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
    pub(crate) fn len(&self) -> usize {
        self.ends.len() - self.sent
    }

    /// True when a whole batch waits.
    fn is_full(&self) -> bool {
        self.len() >= BATCH
    }
}

/// How soon a lane or the writer is tried again if it accepts nothing at the moment.
pub(crate) const RETRY: Duration = Duration::from_millis(1);
/// Failures in a row that may be those of earlier datagrams.
const MOST_FAILURES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::start;

    const MS: Duration = Duration::from_millis(1);

    fn to(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Answers for each datagram with what the closure says about its lane and port.
    struct Scripted<F>(F);

    impl<F: FnMut(usize, u16) -> Result<(), i32>> System for Scripted<F> {
        fn send(&mut self, lane: usize, outgoing: &Outgoing) -> io::Result<usize> {
            let mut left = 0;
            for (_, to, data) in outgoing.iter() {
                assert_eq!(data, to.port().to_be_bytes());
                match (self.0)(lane, to.port()) {
                    Ok(()) => left += 1,
                    Err(error) if left == 0 => return Err(io::Error::from_raw_os_error(error)),
                    Err(_) => break,
                }
            }
            Ok(left)
        }

        fn errors(&mut self, _lane: usize, _tell: &mut impl FnMut(Event<'_>)) {}
    }

    fn submit(queues: &mut Queues, lane: usize, port: u16) -> Result<(), Refusal> {
        queues.submit(lane, Slot::numbered(port.into()), to(port), &port.to_be_bytes())
    }

    /// The events of a flush, each as a word and a port.
    fn flush(
        queues: &mut Queues,
        now: Instant,
        system: impl FnMut(usize, u16) -> Result<(), i32>,
    ) -> Vec<(&'static str, u16)> {
        let mut told = Vec::new();
        queues.flush(now, &mut Scripted(system), &mut |event| {
            let (word, slot, to) = match event {
                Event::Accepted { slot, to } => ("accepted", slot, to),
                Event::Congested { slot, to, os_error: libc::ENOBUFS } => ("congested", slot, to),
                Event::Blocked { slot, to } => ("blocked", slot, to),
                Event::Failed(Failure { to, slot: Some(slot), cause: Cause::Local(libc::EPERM), offender: None }) => {
                    ("refused", slot, to)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(slot, Slot::numbered(to.port().into()));
            told.push((word, to.port()));
        });
        told
    }

    #[test]
    fn what_becomes_of_each_datagram_is_told() {
        let mut queues = Queues::new(2);
        for (lane, port) in [(0, 1), (1, 2), (0, 3), (1, 4), (0, 5), (1, 6)] {
            submit(&mut queues, lane, port).unwrap();
        }
        let says = |_, port| match port {
            3 => Err(libc::EPERM),
            2 => Err(libc::ENOBUFS),
            4 => Err(libc::EAGAIN),
            _ => Ok(()),
        };
        let now = start();
        let told = flush(&mut queues, now, says);
        assert_eq!(told, [("accepted", 1), ("refused", 3), ("accepted", 5), ("congested", 2), ("blocked", 4)]);
        assert_eq!(queues.blocked_until(), Some(now + RETRY));
        // The others go on meanwhile, and it is not tried too soon.
        submit(&mut queues, 0, 7).unwrap();
        assert_eq!(flush(&mut queues, now + MS / 2, |_, _| Ok(())), [("accepted", 7)]);
        assert_eq!(flush(&mut queues, now + MS, |_, _| Ok(())), [("accepted", 4), ("accepted", 6)]);
        assert_eq!(queues.blocked_until(), None);
    }

    #[test]
    fn a_queue_holds_a_batch_and_there_is_room_for_as_long_as_another_may_take_more() {
        let mut queues = Queues::new(2);
        let now = start();
        let blocked = |lane, _| if lane == 0 { Err(libc::EAGAIN) } else { Ok(()) };
        submit(&mut queues, 0, 1).unwrap();
        flush(&mut queues, now, blocked);
        for port in 2..=64 {
            assert!(queues.has_room());
            submit(&mut queues, 0, port).unwrap();
        }
        assert!(queues.has_room(), "for lane 1");
        assert_eq!(submit(&mut queues, 0, 65), Err(Refusal::Full));
        for port in 101..=164 {
            assert!(queues.has_room());
            submit(&mut queues, 1, port).unwrap();
        }
        assert!(!queues.has_room(), "the batch of lane 1 can leave");
        assert_eq!(flush(&mut queues, now, blocked).len(), 64);
        assert!(queues.has_room());
        // Both are blocked and full.
        for port in 101..=164 {
            submit(&mut queues, 1, port).unwrap();
        }
        assert_eq!(flush(&mut queues, now + MS, |_, _| Err(libc::EAGAIN)), [("blocked", 1), ("blocked", 101)]);
        assert!(!queues.has_room());
        assert_eq!(flush(&mut queues, now + 2 * MS, |_, _| Ok(())).len(), 128);
        assert!(queues.has_room());
    }

    #[test]
    fn datagrams_leave_in_order_and_stay_until_they_have() {
        let mut outgoing = Outgoing::default();
        let slot = Slot::numbered;
        for port in 1..=3 {
            outgoing.push(slot(port.into()), to(port), &vec![port as u8; usize::from(port)]);
        }
        assert_eq!(outgoing.front(), Some((slot(1), to(1), &[1][..])));
        outgoing.advance(1);
        let left = [(slot(2), to(2), &[2, 2][..]), (slot(3), to(3), &[3, 3, 3])];
        assert_eq!(outgoing.iter().collect::<Vec<_>>(), left);
        assert_eq!(outgoing.front(), Some(left[0]));
        assert_eq!(outgoing.len(), 2);
        outgoing.advance(2);
        assert!(outgoing.len() == 0 && outgoing.front().is_none());
    }

    #[test]
    fn a_queue_that_never_runs_empty_does_not_grow() {
        let mut outgoing = Outgoing::default();
        let mut next = 0;
        let mut push = |outgoing: &mut Outgoing| {
            outgoing.push(Slot::numbered(0), to(next), &next.to_be_bytes());
            next += 1;
        };
        (0..BATCH).for_each(|_| push(&mut outgoing));
        for port in 0..10_000 {
            assert_eq!(outgoing.front(), Some((Slot::numbered(0), to(port), &port.to_be_bytes()[..])));
            outgoing.advance(1);
            push(&mut outgoing);
            assert_eq!(outgoing.len(), BATCH);
            assert!(outgoing.ends.len() <= 2 * BATCH && outgoing.bytes.len() <= 4 * BATCH);
        }
    }
}
