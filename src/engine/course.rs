//! How a flight goes on and how it ends: the next step, silence, the next leg, the way to the writer.

use std::time::{Duration, Instant};

use super::finished::keep_answer;
use super::flight::{Flight, Role, Slot, State};
use super::{Engine, Finished, Leg, ListEnd, Plan};
use crate::protocol::{AnySession, Next};
use crate::record::{Query, Status};
use crate::target::Target;

impl Engine {
    pub(super) fn queue_follow_up(&mut self, slot: Slot) {
        if let Some(flight) = self.flights.get_mut(slot) {
            self.deadlines.cancel(slot.index);
            flight.state = State::Queued;
            self.follow_ups.push_back(slot);
        }
    }

    /// A step stayed unanswered, a time of listening is over, or a query was skipped.
    pub(super) fn silence(&mut self, slot: Slot, now: Instant) {
        self.note(slot, Status::Timeout);
        let next = self.next_query(slot);
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let over = match self.stopping {
            Some(_) => Some(Status::Aborted),
            None => (now >= flight.budget).then_some(Status::Timeout),
        };
        match (next, over) {
            (Next::Finish | Next::Fail(_), _) | (_, None) => self.proceed(slot, next, now),
            (_, over) => {
                // What comes next is not asked any more.
                let status = flight.outcome(over);
                self.finish(slot, status, now);
            }
        }
    }

    /// Asks the protocol how to go on.
    fn next_query(&mut self, slot: Slot) -> Next {
        // Bounded by the queries: each is skipped once.
        for _ in 0..=Query::COUNT {
            let Some(flight) = self.flights.get_mut(slot) else { break };
            let (protocol, ask) = flight.asked(&self.plans, &self.settings);
            let asked = protocol.asking(&flight.session, &ask);
            match protocol.silence(&mut flight.session, &ask) {
                Next::Skip(status) => flight.reasons.note_all(asked, status),
                next => return next,
            }
        }
        Next::Finish
    }

    /// Remembers why what is being asked has no answer, should none come.
    pub(super) fn note(&mut self, slot: Slot, status: Status) {
        let asked = self.asking(slot);
        if let Some(flight) = self.flights.get_mut(slot) {
            flight.reasons.note_all(asked, status);
        }
    }

    /// Keeps the pieces of a reply that did not become whole, for whoever wants to know how far it came.
    fn keep_pieces(&mut self, slot: Slot) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let Some(parts) = flight.parts else { return };
        let before = flight.answers.len();
        self.reassembly.visit(parts, |piece| keep_answer(&mut flight.answers, piece));
        self.reassembly.release(&mut flight.parts);
        self.answer_bytes += flight.answers.len() - before;
    }

    /// Does what a protocol said comes next.
    pub(super) fn proceed(&mut self, slot: Slot, next: Next, now: Instant) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        match next {
            Next::Send | Next::SendOnce | Next::SendAfter(_) => {
                let asked = if let Next::SendAfter(pause) = next { now + pause } else { now };
                let at = asked.max(flight.last_sent + flight.gap);
                flight.tries = 0;
                flight.once = next == Next::SendOnce;
                if at <= now {
                    self.queue_follow_up(slot);
                } else {
                    flight.state = State::Pausing;
                    self.deadlines.set(slot.index, at.min(flight.budget));
                }
            }
            Next::Listen(time) => {
                flight.state = State::Listening;
                // Who sends a little now and then must not be listened to for ever.
                let longest = flight.last_sent + time.max(LONGEST_LISTENING);
                self.deadlines.set(slot.index, (now + time).min(longest).min(flight.budget));
            }
            Next::Stay => {}
            Next::Skip(status) => {
                self.note(slot, status);
                self.silence(slot, now);
            }
            Next::Finish => {
                let status = flight.outcome(None);
                self.finish(slot, status, now);
            }
            Next::Fail(status) => self.finish(slot, status, now),
        }
    }

    /// Ends a leg: the target goes on with the next one, or is handed over.
    pub(super) fn finish(&mut self, slot: Slot, status: Status, now: Instant) {
        self.deadlines.cancel(slot.index);
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let address = flight.address;
        let answered = flight.answer_count > 0;
        self.recent.end(&address, answered);
        if let Role::List(found) = &flight.role {
            let end = ListEnd::of(flight, found, status);
            self.end_list(slot, end);
            return;
        }
        let settled = answered || matches!(status, Status::Ok | Status::Banned | Status::SendError | Status::Aborted);
        let status = if settled {
            status
        } else if self.stopping.is_none() {
            self.note_leg(slot, status);
            if self.next_leg(slot, status, now) {
                return;
            }
            status
        } else if self.leg_behind(slot).is_some() {
            // What comes next is not asked any more.
            Status::Aborted
        } else {
            status
        };
        self.keep_pieces(slot);
        let Some(flight) = self.flights.get_mut(slot) else { return };
        self.answer_bytes -= flight.answers.len();
        let finished = Finished {
            plan: flight.plan,
            leg: flight.leg,
            origin: flight.origin,
            target_port: flight.target_port,
            icmp: flight.icmp,
            os_error: flight.os_error,
            reasons: flight.reasons,
            rtt_us: flight.rtt,
            planned_us: flight.since_planned,
            forgotten_us: flight.forgotten,
            ping_us: flight.ping,
            rtt_ambiguous: flight.rtt_ambiguous,
            attempts: flight.retries + 1,
            sent: flight.sent,
            received: flight.received,
            fragments: flight.fragments,
            ..Finished::new(address, status, flight.first_sent)
        };
        let answers = std::mem::take(&mut flight.answers);
        let mut asked = address;
        asked.set_port(flight.target_port);
        self.source.handle_ended(Target { address: asked, plan: flight.plan, origin: flight.origin });
        self.hand_over(finished, &answers, now);
        if let Some(flight) = self.flights.get_mut(slot) {
            flight.answers = answers;
        }
        self.answered += u64::from(answered);
        self.flights.remove(slot);
    }

    /// Puts a target that has ended into the batch for the writer.
    pub(super) fn hand_over(&mut self, finished: Finished, answers: &[u8], now: Instant) {
        self.outbox.push(finished, answers, now);
        self.targets.finished += 1;
    }

    /// Remembers how a leg ended, for the legs after it.
    fn note_leg(&mut self, slot: Slot, status: Status) {
        if status != Status::Refused {
            if self.leg_behind(slot).is_some() {
                self.note(slot, status);
            }
            return;
        }
        let Some(flight) = self.flights.get_mut(slot) else { return };
        // Nobody listens there, whatever the protocol.
        let legs = &self.plans[usize::from(flight.plan)].legs;
        let same = |leg: &Leg| leg.port.apply(flight.target_port) == Some(flight.address.port());
        let closed = (0..u32::BITS).zip(legs).filter(|(_, leg)| same(leg)).fold(0, |bits, (bit, _)| bits | 1 << bit);
        flight.closed |= closed;
    }

    /// The leg behind that of a flight which is to be asked, and its port.
    fn leg_behind(&mut self, slot: Slot) -> Option<(u16, u16)> {
        let leg = self.flights.get_mut(slot)?.leg;
        self.leg_from(slot, leg + 1)
    }

    /// The first leg from number `from` on that is to be asked, and its port.
    fn leg_from(&mut self, slot: Slot, mut from: u16) -> Option<(u16, u16)> {
        let flight = self.flights.get_mut(slot)?;
        let plan = &self.plans[usize::from(flight.plan)];
        let is_closed = |number: u16| {
            let bit = usize::from(number) % plan.legs.len();
            bit < u32::BITS as usize && flight.closed >> bit & 1 == 1
        };
        // Bounded by the legs of all rounds.
        loop {
            let (number, port) = plan.next_leg(from, flight.target_port)?;
            if !is_closed(number) {
                return Some((number, port));
            }
            from = number + 1;
        }
    }

    /// Moves a flight whose leg ended as `status` to the next one of its plan, or has it wait; false if there is none that
    /// can be asked.
    fn next_leg(&mut self, slot: Slot, status: Status, now: Instant) -> bool {
        let Some(flight) = self.flights.get_mut(slot) else { return false };
        let mut address = flight.address;
        // Bounded by the legs. While another flight is asking the address of one, ours waits at its own, where a late answer
        // is still an answer; but not for ever, since the other may be waiting for just that. Then the leg is left out.
        let mut from = flight.leg + 1;
        while let Some((number, port)) = self.leg_from(slot, from) {
            from = number + 1;
            address.set_port(port);
            let Some(flight) = self.flights.get_mut(slot) else { return false };
            if flight.address != address && !self.flights.move_to(slot, address) {
                let Some(flight) = self.flights.get_mut(slot) else { return false };
                if now >= *flight.patience.get_or_insert(now + self.settings.budget) {
                    continue;
                }
                flight.state = State::Yielding(status);
                self.deadlines.set(slot.index, now + self.settings.timeout);
                return true;
            }
            if let Some(flight) = self.flights.get_mut(slot) {
                self.reassembly.release(&mut flight.parts);
                if status == Status::Refused {
                    // That was about the port of the leg before.
                    flight.icmp = None;
                }
                flight.begin_leg(number, &self.plans[usize::from(flight.plan)], now + self.settings.budget);
                self.queue_follow_up(slot);
                return true;
            }
        }
        false
    }
}

/// How long a request is listened for after its last answer at the longest, unless a protocol wants longer.
const LONGEST_LISTENING: Duration = Duration::from_secs(30);

impl Flight {
    /// Forgets the answers of one protocol and begins with another, or with the next try of one.
    pub(super) fn begin_leg(&mut self, leg: u16, plan: &Plan, budget: Instant) {
        self.leg = leg;
        self.gap = plan.leg(leg).map_or(Duration::ZERO, |leg| leg.protocol.pace().server);
        self.session = AnySession::default();
        self.tries = plan.round(leg);
        self.once = plan.rounds > 1;
        self.budget = budget;
        self.patience = None;
    }
}
