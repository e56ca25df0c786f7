//! How a flight goes on and how it ends: the next step, silence, the next leg, the way to the writer.

use std::net::SocketAddr;
use std::time::Instant;

use super::flight::{Flight, Slot, State};
use super::{Engine, Finished};
use crate::protocol::{AnySession, Next};
use crate::record::Status;

impl Engine {
    pub(super) fn queue_follow_up(&mut self, slot: Slot) {
        if let Some(flight) = self.flights.get_mut(slot) {
            self.deadlines.cancel(slot.index);
            flight.state = State::Queued;
            self.follow_ups.push_back(slot);
        }
    }

    /// A step stayed unanswered, or a time of listening is over.
    pub(super) fn silence(&mut self, slot: Slot, now: Instant) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let plan = &self.plans[usize::from(flight.plan)];
        let ask = plan.ask(&self.settings, flight.address);
        let next = plan.legs[usize::from(flight.leg)].protocol.silence(&mut flight.session, &ask);
        let over = now >= flight.budget || self.stopping.is_some();
        match next {
            Next::Send | Next::SendAfter(_) | Next::Listen(_) if over => self.proceed(slot, Next::Finish, now),
            next => self.proceed(slot, next, now),
        }
    }

    /// Does what a protocol said comes next.
    pub(super) fn proceed(&mut self, slot: Slot, next: Next, now: Instant) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        match next {
            Next::Send | Next::SendAfter(_) => {
                let gap = self.plans[usize::from(flight.plan)].legs[usize::from(flight.leg)].protocol.pace().server;
                let asked = if let Next::SendAfter(pause) = next { now + pause } else { now };
                let at = asked.max(flight.last_sent + gap);
                flight.tries = 0;
                self.reassembly.release(&mut flight.parts);
                if at <= now {
                    self.queue_follow_up(slot);
                } else {
                    flight.state = State::Pausing;
                    self.deadlines.set(slot.index, at.min(flight.budget));
                }
            }
            Next::Listen(time) => {
                flight.state = State::Listening;
                self.deadlines.set(slot.index, (now + time).min(flight.budget));
            }
            Next::Finish if flight.answer_count > 0 => self.finish(slot, Status::Ok, now),
            Next::Finish => {
                let evidence = flight.evidence;
                self.finish(slot, evidence, now);
            }
            Next::Fail(status) => self.finish(slot, status, now),
        }
    }

    /// Ends a leg: the target goes on with the next one, or is handed over.
    pub(super) fn finish(&mut self, slot: Slot, status: Status, now: Instant) {
        self.deadlines.cancel(slot.index);
        let Some(flight) = self.flights.get_mut(slot) else { return };
        self.reassembly.release(&mut flight.parts);
        let address = flight.address;
        let answered = flight.answer_count > 0;
        self.recent.end(&address, answered);
        let settled = answered || matches!(status, Status::Ok | Status::Banned | Status::SendError | Status::Aborted);
        if !settled && self.stopping.is_none() && self.next_leg(slot, now) {
            return;
        }
        let Some(flight) = self.flights.get_mut(slot) else { return };
        self.answer_bytes -= flight.answers.len();
        let finished = Finished {
            plan: flight.plan,
            leg: flight.leg,
            origin: flight.origin,
            icmp: flight.icmp,
            os_error: flight.os_error,
            rtt_us: flight.rtt,
            rtt_ambiguous: flight.rtt_ambiguous,
            attempts: flight.retries + 1,
            sent: flight.sent,
            received: flight.received,
            fragments: flight.fragments,
            ..Finished::new(address, status, flight.first_sent)
        };
        let answers = std::mem::take(&mut flight.answers);
        self.hand_over(finished, &answers, now);
        if let Some(flight) = self.flights.get_mut(slot) {
            flight.answers = answers;
        }
        self.answered += u64::from(answered);
        self.flights.remove(slot);
    }

    /// Puts a target that has ended into the batch for the writer.
    pub(super) fn hand_over(&mut self, finished: Finished, answers: &[u8], now: Instant) {
        self.batch.push(finished, answers);
        self.batch_began.get_or_insert(now);
        if self.batch.is_full() {
            self.close_batch();
        }
        self.targets.finished += 1;
    }

    /// Moves a flight to the next leg of its plan; false if there is none that can be asked.
    fn next_leg(&mut self, slot: Slot, now: Instant) -> bool {
        let Some(flight) = self.flights.get_mut(slot) else { return false };
        let (ip, target_port) = (flight.address.ip(), flight.target_port);
        let legs = &self.plans[usize::from(flight.plan)].legs;
        // Bounded by the legs. One whose address another plan is asking at the moment is left out.
        for (number, leg) in legs.iter().enumerate().skip(usize::from(flight.leg) + 1) {
            let address = SocketAddr::new(ip, leg.port.unwrap_or(target_port));
            let Some(flight) = self.flights.get_mut(slot) else { return false };
            if flight.address != address && !self.flights.move_to(slot, address) {
                continue;
            }
            if let Some(flight) = self.flights.get_mut(slot) {
                flight.begin_leg(number as u8, now + self.settings.budget);
                self.queue_follow_up(slot);
                return true;
            }
        }
        false
    }
}

impl Flight {
    /// Forgets the answers of one protocol and begins with another.
    fn begin_leg(&mut self, leg: u8, budget: Instant) {
        self.leg = leg;
        self.session = AnySession::Fresh;
        self.tries = 0;
        self.budget = budget;
    }

    /// Remembers what silence will mean, unless something stronger came before.
    pub(super) fn note(&mut self, status: Status) {
        let rank = |status| match status {
            Status::Unreachable => 1,
            Status::Malformed => 2,
            Status::SplitIncomplete => 3,
            Status::SplitCorrupt => 4,
            _ => 0,
        };
        if rank(status) > rank(self.evidence) {
            self.evidence = status;
        }
    }
}
