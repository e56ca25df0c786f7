//! What the system reports about datagrams that were sent or about to be: a refusal, a lack of room, or an ICMP error.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use super::flight::{Cause, Slot, State};
use super::send::sent_because;
use super::{Engine, Icmp};
use crate::record::Status;

/// Flights whose datagrams found the queue of their lane full.
#[derive(Debug, Default)]
pub(super) struct Parked {
    /// Some may have moved on or ended since.
    slots: VecDeque<Slot>,
    /// A lane is blocked: it may be theirs.
    is_blocked: bool,
}

impl Parked {
    /// True if some flights no longer need to be parked.
    pub(super) fn may_leave(&self) -> bool {
        !self.is_blocked && !self.slots.is_empty()
    }
}

impl Engine {
    /// Records that the operating system refused to send to `to`, with its error number. `slot` is that of the
    /// datagram, if it is known; then it counts as not sent, and the error ends no other flight, even one to the same
    /// address.
    pub fn handle_send_error(&mut self, now: Instant, slot: Option<Slot>, to: SocketAddr, os_error: i32) {
        self.datagrams.send_errors += 1;
        let is_known = slot.is_some();
        let Some(slot) = self.flight_of(slot, &to) else { return };
        if is_known {
            self.unsend(slot);
        }
        let Some(flight) = self.flights.get_mut(slot) else { return };
        flight.os_error = Some(os_error);
        self.finish(slot, Status::SendError, now);
    }

    /// Records that the system has no room for the datagram of `slot` to `to` at the moment, and has not sent it. The
    /// try does not count, and is repeated after a while, within the limits on the pace.
    pub fn handle_congestion(&mut self, now: Instant, slot: Slot, to: SocketAddr, os_error: i32) {
        self.datagrams.congested += 1;
        self.take_back(now, slot, to, os_error, State::Pausing);
    }

    /// Records that the datagram of `slot` to `to` was not sent because its lane is blocked and has a full queue. The
    /// try does not count. It is repeated, within the limits on the pace, once [`Engine::set_blocked`] says that there
    /// is room. If the flight's time ends before that, `os_error` is the reason. Meanwhile it keeps its place in the
    /// window, which bounds how many may wait.
    pub fn handle_full_lane(&mut self, now: Instant, slot: Slot, to: SocketAddr, os_error: i32) {
        self.take_back(now, slot, to, os_error, State::Parked);
    }

    /// While a lane is blocked, parked flights stay parked: nobody knows which of them belong to that lane, and sending
    /// all of them again and again would use up the pace of the others.
    pub fn set_blocked(&mut self, is_blocked: bool) {
        self.parked.is_blocked = is_blocked;
    }

    /// Records that the system accepts nothing more on a lane: what waits there is tried again, and nothing is lost.
    pub fn handle_blocked(&mut self) {
        self.datagrams.blocked += 1;
    }

    /// Records an ICMP error about a datagram that went to `to`, sent by the host `offender` if that is known. A closed
    /// port ends the target at once, if the host itself says so. Any other error is kept as the reason in case no
    /// answer comes: it may come from a router, or be forged.
    pub fn handle_icmp(&mut self, now: Instant, to: SocketAddr, offender: Option<IpAddr>, icmp: Icmp) {
        let Some(slot) = self.flights.find(&to) else {
            self.datagrams.icmp_stray += 1;
            return;
        };
        self.datagrams.icmp_matched += 1;
        let Some(flight) = self.flights.get_mut(slot) else { return };
        flight.icmp = Some(icmp);
        let says_so_itself = offender.is_none_or(|offender| offender == to.ip());
        if icmp == Icmp::PortUnreachable && says_so_itself {
            self.finish(slot, Status::Refused, now);
        } else {
            self.note(slot, Status::Unreachable);
        }
    }

    /// The next flight whose turn to send has come, before any that has not begun.
    pub(super) fn next_queued(&mut self) -> Option<Slot> {
        self.follow_ups.pop_front().or_else(|| self.unpark()).or_else(|| self.retries.pop_front())
    }

    fn unpark(&mut self) -> Option<Slot> {
        // Bounded by the entries: each turn takes one.
        while self.parked.may_leave() {
            let slot = self.parked.slots.pop_front()?;
            if let Some(flight) = self.flights.get_mut(slot).filter(|flight| flight.state == State::Parked) {
                flight.state = State::Queued;
                self.deadlines.cancel(slot.index);
                return Some(slot);
            }
        }
        None
    }

    /// Undoes the accounting of a datagram that was not sent after all; its flight waits as `state` says.
    fn take_back(&mut self, now: Instant, slot: Slot, to: SocketAddr, os_error: i32, state: State) {
        let Some(slot) = self.flight_of(Some(slot), &to) else { return };
        let Some(flight) = self.flights.get_mut(slot) else { return };
        if flight.state != State::Waiting {
            // Something has come in the meantime; the flight is beyond that datagram.
            return;
        }
        if now >= flight.budget {
            self.handle_send_error(now, Some(slot), to, os_error);
            return;
        }
        self.unsend(slot);
        let Some(flight) = self.flights.get_mut(slot) else { return };
        flight.state = state;
        if state == State::Parked {
            self.deadlines.set(slot.index, flight.budget);
            self.park(slot);
        } else {
            self.deadlines.set(slot.index, (now + CONGESTION_PAUSE).min(flight.budget));
        }
    }

    /// Undoes the accounting of the last datagram of a flight, which was not sent after all. Nothing is undone if something has
    /// come in the meantime: then the flight is beyond that datagram.
    fn unsend(&mut self, slot: Slot) {
        let Some(flight) = self.flights.get_mut(slot).filter(|flight| flight.state == State::Waiting) else { return };
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.handle_unsent(flight.last_sent, flight.last_cause);
        }
        *sent_because(&mut self.datagrams, flight.last_cause) -= 1;
        self.datagrams.sent -= 1;
        flight.retries -= u32::from(flight.last_cause == Cause::Retry);
        flight.sent -= 1;
        flight.tries -= 1;
        if flight.sent == 0 {
            flight.first_sent = None;
        }
    }

    fn park(&mut self, slot: Slot) {
        // Flights may go on or end while they are parked; their entries must not pile up.
        let (slots, flights) = (&mut self.parked.slots, &mut self.flights);
        if slots.len() > 2 * flights.len() {
            slots.retain(|slot| flights.get_mut(*slot).is_some_and(|flight| flight.state == State::Parked));
        }
        slots.push_back(slot);
    }

    /// The flight that a datagram to `to` belongs to, if it is still there: that of `slot`, or whichever has the address.
    fn flight_of(&mut self, slot: Option<Slot>, to: &SocketAddr) -> Option<Slot> {
        let Some(slot) = slot else { return self.flights.find(to) };
        // A plan may have moved on to another port since.
        self.flights.get_mut(slot).is_some_and(|flight| flight.address == *to).then_some(slot)
    }
}

/// How soon a datagram is tried again for which the system had no room.
const CONGESTION_PAUSE: Duration = Duration::from_millis(10);
