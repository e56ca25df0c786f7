//! From targets to datagrams: what is begun next, and what leaves for it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::adapt::Adaptive;
use super::flight::{Cause, DeadlineKind, Slot, State};
use super::{Direction, Engine, Finished, ListEnd, Transmit, microseconds};
use crate::ledger::Datagrams;
use crate::record::Status;
use crate::target::{Target, Unresolved};

impl Engine {
    /// Begins the next target that may be asked now.
    pub(super) fn start_next(&mut self, now: Instant) -> Option<Slot> {
        if !self.may_start() {
            return None;
        }
        if self.targets_in_flight() >= self.window() {
            self.adaptive.iter_mut().for_each(Adaptive::handle_full_window);
            return None;
        }
        // Bounded by the room for targets that wait, and by the lists of the run: each turn starts a target, keeps one
        // for later, or ends the loop.
        loop {
            let slot = if let Some(list) = self.lists.poll_ready(now) {
                self.start_list(list, now)
            } else if let Some(server) = self.hosts.poll_ready(now) {
                self.start_server(server, now)
            } else if self.exhausted || self.hosts.is_full() {
                return None;
            } else {
                let next = self.poll_source(now);
                self.awaiting = next.is_pending();
                self.exhausted = matches!(next, Poll::Ready(None));
                let Poll::Ready(Some(target)) = next else { return None };
                if self.settings.lists_only && self.is_printed(target, now) {
                    if self.outbox.has_full() {
                        return None;
                    }
                    continue;
                }
                self.start(target, now)
            };
            if slot.is_some() {
                return slot;
            }
        }
    }

    /// Begins a target that the source has given, or keeps it for later.
    fn start(&mut self, target: Target, now: Instant) -> Option<Slot> {
        let plan = &self.plans[usize::from(target.plan)];
        if plan.asks_for_list() {
            return self.start_list(target, now);
        }
        let pace = plan.legs[0].protocol.pace();
        if self.hosts.admit(target, pace.host, now) { self.start_server(target, now) } else { None }
    }

    /// Hands a server that a list names to the writer, unasked; false if `target` is itself a list.
    fn is_printed(&mut self, target: Target, now: Instant) -> bool {
        let is_server = !self.plans[usize::from(target.plan)].asks_for_list();
        if is_server {
            self.printed += 1;
            self.outbox.print(target, now);
        }
        is_server
    }

    fn start_server(&mut self, target: Target, now: Instant) -> Option<Slot> {
        let slot = self.begin(target, now);
        if slot.is_some() {
            self.targets.scheduled += 1;
        } else {
            self.hosts.postpone(target, now + self.until_retaken());
        }
        slot
    }

    /// How long a target waits if another plan has a flight to its address: until that flight has probably ended.
    pub(super) fn until_retaken(&self) -> Duration {
        self.settings.timeout.max(SHORTEST_WAIT)
    }

    /// Asks the source, and ends the names that it could not resolve: their targets are nowhere to be asked.
    fn poll_source(&mut self, now: Instant) -> Poll<Option<Target>> {
        let next = self.source.poll_target();
        // Bounded by what the source has taken in by now.
        while let Some(Unresolved { plan, origin, error }) = self.source.poll_unresolved() {
            let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
            if self.plans[usize::from(plan)].asks_for_list() {
                self.lists.ended(ListEnd::unasked(origin, Status::Unresolved));
                continue;
            }
            let finished =
                Finished { plan, origin, name_error: Some(error), ..Finished::new(nowhere, Status::Unresolved, None) };
            self.targets.scheduled += 1;
            self.hand_over(finished, &[], now);
        }
        next
    }

    /// Begins a flight to a server; `None` if its address is in flight already.
    pub(super) fn begin(&mut self, target: Target, now: Instant) -> Option<Slot> {
        let own = target.address.port();
        // A plan whose rules all fail is asked at the target's own port.
        let (leg, port) = self.plans[usize::from(target.plan)].next_leg(0, own).unwrap_or((0, own));
        let mut address = target.address;
        address.set_port(port);
        let slot = self.flights.insert(address, now)?;
        let flight = self.flights.get_mut(slot)?;
        flight.target_port = own;
        flight.plan = target.plan;
        flight.begin_leg(leg, &self.plans[usize::from(target.plan)], now + self.settings.budget);
        flight.origin = target.origin;
        self.recent.begin(&address);
        Some(slot)
    }

    /// True if a flight waits for its turn to send, and may. One whose protocol wants time between two datagrams to a host
    /// pauses until its host has had it.
    pub(super) fn may_send(&mut self, slot: Slot, now: Instant) -> bool {
        let Some(flight) = self.flights.get_mut(slot).filter(|flight| flight.state == State::Queued) else {
            return false;
        };
        let least = flight.asked(&self.plans, &self.settings).0.pace().host;
        let at = self.hosts.ready_at(flight.address.ip(), least, now);
        if at > now {
            flight.state = State::Pausing;
            self.deadlines.set(slot.index, at.min(flight.budget));
        }
        at <= now
    }

    /// Writes the datagram of a flight's current step and sets its deadline.
    pub(super) fn transmit(&mut self, slot: Slot, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let flight = self.flights.get_mut(slot)?;
        let (protocol, ask) = flight.asked(&self.plans, &self.settings);
        let before = buffer.len();
        protocol.request(&flight.session, &ask, buffer);
        let size = buffer.len() - before;
        self.datagrams.sent += 1;
        flight.last_cause = match (flight.sent, flight.tries) {
            (0, _) => Cause::First,
            (_, 0) => Cause::FollowUp,
            _ => Cause::Retry,
        };
        *sent_because(&mut self.datagrams, flight.last_cause) += 1;
        self.adaptive.iter_mut().for_each(|adaptive| adaptive.handle_sent(now, flight.last_cause));
        flight.retries += u32::from(flight.last_cause == Cause::Retry);
        // Nobody is asked again before its protocol's gap is over, however short the time-out.
        let another = !flight.once && flight.tries < self.settings.retries;
        let gap = if another { flight.gap } else { Duration::ZERO };
        let at = now + self.settings.wait(flight.tries).max(gap);
        if at <= flight.budget && flight.deadline_kind == DeadlineKind::InLane {
            self.deadlines.set_in_lane(slot.index, flight.tries.min(16) as u8, at);
        } else {
            self.deadlines.set(slot.index, at.min(flight.budget));
        }
        flight.tries += 1;
        flight.sent += 1;
        flight.first_sent.get_or_insert(now);
        if flight.last_cause == Cause::First {
            // A first datagram for which the system had no room comes here once more; its plan stays.
            flight.planned.get_or_insert(self.limiter.planned(now));
            flight.forgotten = microseconds(self.limiter.take_forgotten()).saturating_add(flight.forgotten);
        }
        flight.last_sent = now;
        flight.state = State::Waiting;
        let to = flight.address;
        if flight.sent == 1 {
            self.log(slot, Direction::Sent, now, now, buffer.get(before..).unwrap_or_default());
        }
        self.limiter.charge(size);
        self.hosts.charge(to.ip(), protocol.pace().host, now);
        Some(Transmit { slot, to, size })
    }
}

/// Targets are postponed by something, whatever the time-out.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// The counter of datagrams that are sent for `cause`.
pub(super) fn sent_because(datagrams: &mut Datagrams, cause: Cause) -> &mut u64 {
    match cause {
        Cause::First => &mut datagrams.sent_first,
        Cause::Retry => &mut datagrams.sent_retry,
        Cause::FollowUp => &mut datagrams.sent_follow_up,
    }
}
