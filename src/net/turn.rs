//! A turn of the loop, without its clock and its sleep: between an engine and a transport, at a time that the caller
//! gives.
//!
//! Errors come first, then datagrams, then deadlines. A deadline is due only once everything that arrived before it has
//! been received, so after a stall the waiting answers come before the time-outs. Then what may be sent leaves.

use std::net::SocketAddr;
use std::time::Instant;

use super::BATCH;
use super::sys::Cause;
use super::transport::{Event, Failure, Refusal, Transport};
use crate::engine::{Engine, Oddity, Snapshot, Transmit};

/// Called for each datagram that was not used, with its sender, what is odd about it, and its bytes.
pub(crate) type Odd<'a> = &'a mut dyn FnMut(SocketAddr, &Oddity, &[u8]);

/// A transport, and what an engine exchanges with it in turns.
#[derive(Debug)]
pub(crate) struct Turn<T> {
    transport: T,
    /// The datagram that the engine writes.
    request: Vec<u8>,
}

impl<T: Transport> Turn<T> {
    /// Turns over `transport`.
    pub(crate) fn new(transport: T) -> Self {
        Self { transport, request: Vec::new() }
    }

    /// The transport.
    pub(crate) fn transport(&self) -> &T {
        &self.transport
    }

    /// The same, to change it.
    pub(crate) fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The first half of a turn: gives `engine` what has arrived, and then `now`, or the time up to which everything
    /// has been received. False if more is known to wait.
    pub(crate) fn receive(&mut self, engine: &mut Engine, now: Instant, odd: Odd<'_>) -> bool {
        self.transport.errors(now, &mut |event| tell(engine, now, event, odd));
        // An answer that has arrived by now comes before its time-out, however long the process was stopped: so everything
        // is looked at whenever a deadline is due.
        let due = engine.is_due(now);
        let received = self.transport.receive(now, due, &mut |event| tell(engine, now, event, odd));
        if engine.is_adaptive() {
            engine.handle_dropped(self.transport.dropped());
        }
        if let Some(until) = received.until {
            engine.handle_timeout(until);
        }
        received.drained
    }

    /// The second half: sends a batch of what may leave at `now`. Then finished targets can be taken from the engine.
    pub(crate) fn send(&mut self, engine: &mut Engine, now: Instant) {
        self.request.clear();
        // Bounded by the room in the queues, and by a batch of refusals.
        let mut refused = 0;
        while refused < BATCH
            && self.transport.has_room()
            && let Some(transmit) = engine.poll_transmit(now, &mut self.request)
        {
            if let Err(refusal) = self.transport.submit(transmit.slot, transmit.to, &self.request) {
                refused += 1;
                refuse(engine, now, transmit, refusal);
            }
            self.request.clear();
        }
        self.transport.flush(now, &mut |event| tell(engine, now, event, &mut |_, _, _| {}));
        engine.set_blocked(self.transport.blocked_until().is_some());
    }

    /// When the next turn is due, if nothing comes before.
    #[must_use]
    pub(crate) fn poll_timeout(&self, engine: &mut Engine, now: Instant) -> Option<Instant> {
        let deadline = engine.poll_timeout(now);
        match self.transport.blocked_until() {
            // What the engine wants to send has to wait until then, however early it may leave.
            Some(retry) if !self.transport.has_room() => Some(retry),
            Some(retry) => Some(deadline.map_or(retry, |at| at.min(retry))),
            None => deadline,
        }
    }

    /// How the scan stands: the engine's counters, with what only the transport knows.
    #[must_use]
    pub(crate) fn snapshot(&self, engine: &Engine) -> Snapshot {
        let mut snapshot = engine.snapshot();
        snapshot.datagrams.dropped_by_kernel = self.transport.dropped();
        snapshot
    }
}

fn refuse(engine: &mut Engine, now: Instant, Transmit { slot, to, .. }: Transmit, refusal: Refusal) {
    match refusal {
        Refusal::Full => engine.handle_full_lane(now, slot, to, libc::EAGAIN),
        Refusal::NoLane(error) => engine.handle_send_error(now, Some(slot), to, error),
    }
}

/// Gives the engine what a transport reports.
#[expect(clippy::inline_always, reason = "saves a copy of each sender's address, right after it was written")]
#[inline(always)]
fn tell(engine: &mut Engine, now: Instant, event: Event<'_>, odd: Odd<'_>) {
    match event {
        Event::Datagram { from, at, data } => {
            let at = at.unwrap_or(now);
            if let Some(oddity) = engine.handle_datagram(now.max(at), at, from, data) {
                odd(from, &oddity, data);
            }
        }
        Event::Accepted { .. } => {}
        Event::Congested { slot, to, os_error } => engine.handle_congestion(now, slot, to, os_error),
        Event::Blocked { .. } => engine.handle_blocked(),
        Event::Failed(failure) => fail(engine, now, failure),
    }
}

fn fail(engine: &mut Engine, now: Instant, Failure { to, slot, cause, offender }: Failure) {
    match cause {
        Cause::Icmp(icmp) => engine.handle_icmp(now, to, offender, icmp),
        Cause::Local(error) => engine.handle_send_error(now, slot, to, error),
    }
}
