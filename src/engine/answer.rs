//! What a datagram does to the flight that it is for.

use std::fmt;
use std::net::SocketAddr;
use std::time::Instant;

use super::finished::keep_answer;
use super::flight::{Role, Slot};
use super::reassembly::Kept;
use super::recent::Sender;
use super::{Direction, Engine, Leg, MOST_HELD, microseconds};
use crate::protocol::{AnySession, Ignored, Join, Next, Step};
use crate::record::{Query, QuerySet, Status};
use crate::target::Target;
use crate::wire::DecodeError;

impl Engine {
    /// Takes a datagram from `from` that arrived at `received`, and says what was odd about it, if anything was.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        received: Instant,
        from: SocketAddr,
        data: &[u8],
    ) -> Option<Oddity> {
        self.datagrams.received += 1;
        let Some(slot) = self.flights.find(&from) else {
            let oddity = match self.recent.sender(&from) {
                Sender::Answered => Oddity::Ignored(Ignored::Duplicate),
                Sender::GivenUp => Oddity::Ignored(Ignored::Late),
                Sender::OtherPort => {
                    self.datagrams.other_port += 1;
                    Oddity::OtherPort
                }
                Sender::Stranger => Oddity::Ignored(Ignored::Unsolicited),
            };
            self.count_ignored(if let Oddity::Ignored(class) = oddity { class } else { Ignored::Unsolicited });
            return Some(oddity);
        };
        self.log(slot, Direction::Received, received, now, data);
        let asked = self.asking(slot);
        let before = self.flights.get_mut(slot).map(|flight| flight.session);
        let step = self.ask_protocol(slot, data).or_else(|error| self.go_back(slot, data).ok_or(error));
        match step {
            Err(error) => {
                self.count_undecodable(slot, Status::Malformed);
                return Some(Oddity::Undecodable(error));
            }
            Ok(Step::Ignore(class)) => {
                self.count_ignored(class);
                return Some(Oddity::Ignored(class));
            }
            Ok(Step::Part) => self.take_part(slot, data, now, received),
            Ok(Step::Answer(_)) if !self.has_room_for(slot, data) => {
                self.datagrams.over_limit += 1;
                self.count_undecodable(slot, Status::Malformed);
                // As if it had not come: the next try may find room.
                if let Some((flight, before)) = self.flights.get_mut(slot).zip(before) {
                    flight.session = before;
                }
            }
            Ok(Step::Answer(next)) => {
                if asked.contains(Query::Ping) && next != Next::Stay {
                    self.count_ping(slot, received);
                }
                self.take_answer(slot, data, next, now, received);
            }
            Ok(Step::Move(next)) => {
                self.count_matched(slot, received);
                self.proceed(slot, next, now);
            }
        }
        None
    }

    /// The queries that a flight is asking.
    pub(super) fn asking(&mut self, slot: Slot) -> QuerySet {
        let Some(flight) = self.flights.get_mut(slot) else { return QuerySet::NONE };
        let (protocol, ask) = flight.asked(&self.plans, &self.settings);
        protocol.asking(&flight.session, &ask)
    }

    fn ask_protocol(&mut self, slot: Slot, data: &[u8]) -> Result<Step, DecodeError> {
        let Some(flight) = self.flights.get_mut(slot) else { return Ok(Step::Ignore(Ignored::Late)) };
        let (protocol, ask) = flight.asked(&self.plans, &self.settings);
        let found = match &mut flight.role {
            Role::List(found) => &mut **found,
            Role::Server => &mut self.found,
        };
        let step = protocol.receive(&mut flight.session, &ask, data, found);
        let asked = Target { address: flight.address, plan: flight.plan, origin: flight.origin };
        // Bounded by the bytes of the datagram.
        while let Some(address) = found.pop() {
            self.source.handle_found(asked, address);
            self.awaiting = false;
        }
        step
    }

    /// A reply that is none of the current leg's protocol may be that of an earlier leg's, whose server is slow: then the
    /// flight goes back to it, once.
    fn go_back(&mut self, slot: Slot, data: &[u8]) -> Option<Step> {
        let flight = self.flights.get_mut(slot)?;
        let plan = &self.plans[usize::from(flight.plan)];
        let current = plan.leg(flight.leg)?.protocol;
        if flight.went_back || plan.speaks_only(current) {
            return None;
        }
        let earlier =
            (0..flight.leg).rev().take(plan.legs.len()).filter_map(|number| Some((number, plan.leg(number)?)));
        let here = |leg: &Leg| leg.port.apply(flight.target_port) == Some(flight.address.port());
        for (number, leg) in earlier.filter(|(_, leg)| leg.protocol != current && here(leg)) {
            let mut session = AnySession::default();
            let ask = plan.ask(leg.protocol, &self.settings, flight.address);
            let step = leg.protocol.receive(&mut session, &ask, data, &mut self.found);
            if let Ok(step @ (Step::Part | Step::Answer(_) | Step::Move(_))) = step {
                flight.begin_leg(number, plan, flight.budget);
                flight.session = session;
                flight.once = false;
                flight.went_back = true;
                return Some(step);
            }
        }
        None
    }

    fn take_answer(&mut self, slot: Slot, data: &[u8], next: Next, now: Instant, received: Instant) {
        self.count_matched(slot, received);
        self.keep(slot, data);
        self.proceed(slot, next, now);
    }

    /// Bytes that one flight may hold at the moment: a share of what is left, so that those who send much, and do not
    /// finish, leave room for the others; and never less than honest replies need, whatever the others do.
    fn allowance(&self) -> usize {
        (MOST_HELD.saturating_sub(self.held()) / SHARES).max(LEAST_ALLOWANCE)
    }

    fn has_room_for(&mut self, slot: Slot, answer: &[u8]) -> bool {
        let allowance = self.allowance();
        self.flights.get_mut(slot).is_some_and(|flight| flight.answers.len() + answer.len() <= allowance)
    }

    fn take_part(&mut self, slot: Slot, data: &[u8], now: Instant, received: Instant) {
        let allowance = self.allowance();
        let Some(flight) = self.flights.get_mut(slot) else { return };
        if flight.joins >= MOST_JOINS {
            self.datagrams.over_limit += 1;
            self.count_undecodable(slot, Status::SplitCorrupt);
            return;
        }
        match self.reassembly.keep(&mut flight.parts, data, allowance) {
            Kept::Duplicate => {
                self.datagrams.duplicate += 1;
                return;
            }
            Kept::Full => {
                self.datagrams.over_limit += 1;
                self.count_undecodable(slot, Status::SplitIncomplete);
                return;
            }
            Kept::Yes => {}
        }
        flight.fragments += 1;
        self.note(slot, Status::SplitIncomplete);
        self.count_matched(slot, received);
        self.join(slot, now);
    }

    /// Lets the protocol put the pieces together, and receives what comes of it.
    fn join(&mut self, slot: Slot, now: Instant) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let Some(parts) = flight.parts else { return };
        let (protocol, _) = flight.asked(&self.plans, &self.settings);
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        match self.reassembly.join(parts, |pieces| protocol.join(&mut flight.session, pieces, &mut whole)) {
            Join::More => {}
            Join::Corrupt => {
                flight.joins += 1;
                self.reassembly.release(&mut flight.parts);
                self.note(slot, Status::SplitCorrupt);
            }
            Join::Whole => {
                flight.joins += 1;
                self.reassembly.release(&mut flight.parts);
                if self.has_room_for(slot, &whole) {
                    self.take_whole(slot, &whole, now);
                } else {
                    self.datagrams.over_limit += 1;
                }
            }
        }
        whole.shrink_to(MOST_SCRATCH);
        self.whole = whole;
    }

    /// Receives a message that was put together.
    fn take_whole(&mut self, slot: Slot, whole: &[u8], now: Instant) {
        match self.ask_protocol(slot, whole) {
            Ok(Step::Answer(next)) => {
                self.keep(slot, whole);
                self.proceed(slot, next, now);
            }
            Ok(Step::Move(next)) => self.proceed(slot, next, now),
            // The pieces are counted already; they make what nobody waits for.
            Ok(Step::Ignore(_)) => {}
            // What they make is no message, or is split once more.
            Ok(Step::Part) | Err(_) => self.note(slot, Status::SplitCorrupt),
        }
    }

    fn keep(&mut self, slot: Slot, answer: &[u8]) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let before = flight.answers.len();
        keep_answer(&mut flight.answers, answer);
        flight.answer_count += 1;
        self.answer_bytes += flight.answers.len() - before;
    }

    fn count_matched(&mut self, slot: Slot, received: Instant) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        self.datagrams.matched += 1;
        flight.received += 1;
        if flight.rtt.is_none() {
            flight.rtt = Some(since(flight.last_sent, received));
            flight.since_planned = flight.planned.map(|planned| since(planned, received));
            flight.rtt_ambiguous = flight.tries > 1;
        }
    }

    fn count_ping(&mut self, slot: Slot, received: Instant) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        flight.ping = Some(since(flight.last_sent, received));
    }

    fn count_undecodable(&mut self, slot: Slot, evidence: Status) {
        self.datagrams.undecodable += 1;
        self.note(slot, evidence);
    }

    fn count_ignored(&mut self, class: Ignored) {
        match class {
            Ignored::Late => self.datagrams.late += 1,
            Ignored::Duplicate => self.datagrams.duplicate += 1,
            Ignored::Unsolicited => self.datagrams.unsolicited += 1,
            Ignored::Spoofed => {
                self.datagrams.unsolicited += 1;
                self.datagrams.spoofed += 1;
            }
        }
    }
}

/// Microseconds.
fn since(sent: Instant, received: Instant) -> u32 {
    microseconds(received.saturating_duration_since(sent))
}

/// What is odd about a datagram that was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// It was ignored.
    Ignored(Ignored),
    /// Its host was asked, at another port.
    OtherPort,
    /// It is no message of its protocol.
    Undecodable(DecodeError),
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignored(Ignored::Late) => "late: nobody waits for it any more",
            Self::Ignored(Ignored::Duplicate) => "duplicate: the same came before",
            Self::Ignored(Ignored::Spoofed) => "unsolicited: it lacks the token that was asked for",
            Self::Ignored(Ignored::Unsolicited) => "unsolicited: nobody asked for it",
            Self::OtherPort => "unsolicited: its host was asked, at another port",
            Self::Undecodable(error) => return write!(f, "undecodable: {error}"),
        })
    }
}

/// A flight may hold one of so many shares of what is left.
const SHARES: usize = 8;
/// Bytes of pieces, and as many of answers, that any flight may hold.
const LEAST_ALLOWANCE: usize = 16 << 10;
/// Replies of one flight that are put together: three for each query. Decompression takes milliseconds of a hostile one.
const MOST_JOINS: u32 = 12;
/// Bytes that the buffer for joined messages keeps.
const MOST_SCRATCH: usize = 256 << 10;
