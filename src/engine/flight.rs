//! The flight table: every target in flight, found by its address.
//!
//! Places are filled as the window fills and then reused, with the buffers that hang on them; a hash table of slot
//! numbers finds the slot of an address. A [`Slot`] carries a generation, so that a queue may hold one that has been
//! freed and filled again in the meantime.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hashbrown::HashTable;

use super::{Icmp, Plan, Settings};
use crate::protocol::{AnyProtocol, AnySession, Ask, Found};
use crate::record::{Query, QuerySet, Status};
use crate::rng::AddressHasher;

/// One target in flight.
#[derive(Debug)]
pub(super) struct Flight {
    /// Address that is being asked (a plan may try several ports).
    pub address: SocketAddr,
    /// Port that the target named.
    pub target_port: u16,
    /// Which plan it follows, and how far it is.
    pub plan: u16,
    pub leg: u16,
    pub origin: u32,
    pub session: AnySession,
    pub state: State,
    /// Why the last datagram was sent.
    pub last_cause: Cause,
    /// Sends of the current step.
    pub tries: u32,
    pub retries: u32,
    pub sent: u32,
    pub received: u32,
    pub fragments: u32,
    pub first_sent: Option<Instant>,
    /// When the first datagram would have left at an even pace.
    pub planned: Option<Instant>,
    /// Microseconds of that pace in which nothing left before it, for good.
    pub forgotten: u32,
    pub last_sent: Instant,
    /// When the current leg ends, come what may.
    pub budget: Instant,
    /// The least time between two of its requests.
    pub gap: Duration,
    pub deadline_kind: DeadlineKind,
    /// Legs at whose ports nobody listens, a bit each.
    pub closed: u32,
    /// A late reply has brought it back to an earlier leg.
    pub went_back: bool,
    /// When it no longer waits for its turn at the address of the next leg, once it has begun to.
    pub patience: Option<Instant>,
    /// Microseconds.
    pub rtt: Option<u32>,
    /// Microseconds from `planned` to the first answer.
    pub since_planned: Option<u32>,
    pub rtt_ambiguous: bool,
    /// Microseconds from the ping query to its answer.
    pub ping: Option<u32>,
    /// Sends of the current step that are allowed: fewer where an answer is not to be expected.
    pub once: bool,
    /// Why each query has no answer, from what came so far, indexed by [`Query`].
    pub reasons: Reasons,
    pub icmp: Option<Icmp>,
    pub os_error: Option<i32>,
    /// Kept answers, each preceded by its length.
    pub answers: Vec<u8>,
    pub answer_count: u32,
    /// Key of the pieces of a split reply.
    pub parts: Option<usize>,
    /// Replies that were put together, soundly or not.
    pub joins: u32,
    /// Bytes of raw datagrams that may still be kept.
    pub log_room: usize,
    pub role: Role,
}

/// What a flight is for: a server, unless it was begun for a list. Everything else in which the two differ is data of
/// the flight from then on.
#[derive(Debug, Default)]
pub(super) enum Role {
    /// The answers of a server.
    #[default]
    Server,
    /// A list of servers, and what it has named.
    List(Box<Found>),
}

/// How the deadlines of a flight's tries are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeadlineKind {
    /// In one lane per try: all flights wait equally long there, so deadlines are set in the order in which they fall
    /// due.
    InLane,
    /// Apart from those of other flights, since it waits longer.
    Apart,
}

/// Why queries have no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reasons([Option<Status>; Query::COUNT]);

impl Reasons {
    /// Keeps `status` for `query`, unless something that says more came before.
    pub(crate) fn note(&mut self, query: Query, status: Status) {
        let kept = &mut self.0[query as usize];
        if kept.is_none_or(|kept| kept.strength() < status.strength()) {
            *kept = Some(status);
        }
    }

    /// The same for each of `queries`.
    pub(crate) fn note_all(&mut self, queries: QuerySet, status: Status) {
        queries.iter().for_each(|query| self.note(query, status));
    }

    /// The reason why `query` has no answer, if there is one.
    #[must_use]
    pub fn of(&self, query: Query) -> Option<Status> {
        self.0[query as usize]
    }

    /// The reason that says most.
    #[must_use]
    pub fn strongest(&self) -> Option<Status> {
        self.0.iter().flatten().copied().max_by_key(|status| status.strength())
    }
}

/// What a flight waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A turn to send.
    Queued,
    /// An answer to what was sent.
    Waiting,
    /// The end of a pause before the next send.
    Pausing,
    /// Room on a lane: its own was full.
    Parked,
    /// More of what has begun to come.
    Listening,
    /// Its turn at the address of the next leg, which another flight is asking. The leg before ended so.
    Yielding(Status),
}

/// Why a datagram is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The target has begun.
    First,
    /// The last one stayed unanswered.
    Retry,
    /// The last one was answered.
    FollowUp,
}

/// Names a flight, and no other that may use its place later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub(super) index: u32,
    generation: u32,
}

#[cfg(test)]
impl Slot {
    /// An arbitrary slot, for tests of code that only passes it on.
    pub(crate) const fn numbered(index: u32) -> Self {
        Self { index, generation: 0 }
    }
}

#[derive(Debug)]
struct Place {
    generation: u32,
    used: bool,
    flight: Flight,
}

#[derive(Debug)]
pub(super) struct FlightTable {
    places: Vec<Place>,
    free: Vec<u32>,
    by_address: HashTable<u32>,
    hasher: AddressHasher,
}

impl FlightTable {
    pub(super) fn new(window: usize, hasher: AddressHasher) -> Self {
        Self {
            places: Vec::with_capacity(window.min(RESERVED)),
            free: Vec::new(),
            by_address: HashTable::with_capacity(window.min(RESERVED)),
            hasher,
        }
    }

    /// Flights in the table.
    pub(super) fn len(&self) -> usize {
        self.by_address.len()
    }

    pub(super) fn find(&self, address: &SocketAddr) -> Option<Slot> {
        let index = *self.by_address.find(self.hasher.socket(address), |&i| self.at(i).address == *address)?;
        Some(self.slot(index))
    }

    /// Adds a flight; `None` if its address is in flight already.
    pub(super) fn insert(&mut self, address: SocketAddr, now: Instant) -> Option<Slot> {
        if self.find(&address).is_some() {
            return None;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            let flight = Flight::new(address, now);
            self.places.push(Place { generation: 0, used: false, flight });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        place.used = true;
        place.flight.reset(address, now);
        self.link(index);
        Some(self.slot(index))
    }

    /// The flight of `slot`, unless it has ended.
    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Flight> {
        let place = self.places.get_mut(slot.index as usize)?;
        (place.used && place.generation == slot.generation).then_some(&mut place.flight)
    }

    /// The slot at `index`, for callers that keep indices of live flights only.
    pub(super) fn slot(&self, index: u32) -> Slot {
        Slot { index, generation: self.places[index as usize].generation }
    }

    /// Moves a flight to another address; false, with nothing changed, if that is in flight already.
    pub(super) fn move_to(&mut self, slot: Slot, address: SocketAddr) -> bool {
        if self.find(&address).is_some() {
            return false;
        }
        self.unlink(slot.index);
        self.places[slot.index as usize].flight.address = address;
        self.link(slot.index);
        true
    }

    /// Frees the place of a flight; large buffers are given back.
    pub(super) fn remove(&mut self, slot: Slot) {
        if self.get_mut(slot).is_none() {
            return;
        }
        self.unlink(slot.index);
        let place = &mut self.places[slot.index as usize];
        place.used = false;
        place.generation = place.generation.wrapping_add(1);
        if place.flight.answers.capacity() > KEPT_CAPACITY {
            place.flight.answers = Vec::new();
        }
        self.free.push(slot.index);
    }

    /// The slots of all flights.
    pub(super) fn slots(&self) -> Vec<Slot> {
        self.by_address.iter().map(|&index| self.slot(index)).collect()
    }

    fn at(&self, index: u32) -> &Flight {
        &self.places[index as usize].flight
    }

    fn link(&mut self, index: u32) {
        let hash = self.hasher.socket(&self.at(index).address);
        let (places, hasher) = (&self.places, &self.hasher);
        self.by_address.insert_unique(hash, index, |&i| hasher.socket(&places[i as usize].flight.address));
    }

    fn unlink(&mut self, index: u32) {
        let hash = self.hasher.socket(&self.at(index).address);
        if let Ok(entry) = self.by_address.find_entry(hash, |&i| i == index) {
            entry.remove();
        }
    }
}

impl Flight {
    /// The protocol that is being spoken, and what is asked in it. `plans` and `settings` are those of the run.
    pub(super) fn asked<'a>(&self, plans: &'a [Plan], settings: &Settings) -> (AnyProtocol, Ask<'a>) {
        let plan = &plans[usize::from(self.plan)];
        let protocol = plan.leg(self.leg).unwrap_or(&plan.legs[0]).protocol;
        (protocol, plan.ask(protocol, settings, self.address))
    }

    /// Its status when nothing more is asked: `over` says why, unless its protocol is done.
    pub(super) fn outcome(&mut self, over: Option<Status>) -> Status {
        if let Role::List(_) = self.role {
            return over.unwrap_or(Status::Ok);
        }
        if let Some(why) = over {
            self.reasons.note_all(QuerySet::ALL, why);
        }
        let unanswered = || self.reasons.strongest().unwrap_or(Status::Timeout);
        if self.answer_count > 0 { Status::Ok } else { unanswered() }
    }

    fn new(address: SocketAddr, now: Instant) -> Self {
        Self {
            address,
            target_port: address.port(),
            plan: 0,
            leg: 0,
            origin: 0,
            session: AnySession::default(),
            state: State::Queued,
            last_cause: Cause::First,
            tries: 0,
            retries: 0,
            sent: 0,
            received: 0,
            fragments: 0,
            first_sent: None,
            planned: None,
            forgotten: 0,
            last_sent: now,
            budget: now,
            gap: Duration::ZERO,
            deadline_kind: DeadlineKind::InLane,
            closed: 0,
            went_back: false,
            patience: None,
            rtt: None,
            since_planned: None,
            rtt_ambiguous: false,
            ping: None,
            once: false,
            reasons: Reasons::default(),
            icmp: None,
            os_error: None,
            answers: Vec::new(),
            answer_count: 0,
            parts: None,
            joins: 0,
            log_room: LOG_ROOM,
            role: Role::Server,
        }
    }

    fn reset(&mut self, address: SocketAddr, now: Instant) {
        let mut answers = std::mem::take(&mut self.answers);
        answers.clear();
        *self = Self { answers, ..Self::new(address, now) };
    }
}

/// Places for which memory is taken at once; a larger window grows into its own.
const RESERVED: usize = 1 << 16;
/// Most bytes of raw datagrams that are kept for one server.
const LOG_ROOM: usize = 512 << 10;
/// Bytes of answers that a free place may hold on to.
const KEPT_CAPACITY: usize = 4096;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::testing::start;

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, n / 4], 27_000 + u16::from(n % 4)))
    }

    proptest! {
        /// The table against a plain map from address to a number, under random inserts, removals, moves and finds.
        #[test]
        fn the_table_does_what_a_map_does(steps in prop::collection::vec((0_u8..4, 0_u8..24, 0_u8..24), 1..400)) {
            let now = start();
            let mut table = FlightTable::new(4, AddressHasher::new(5));
            let mut twin: HashMap<SocketAddr, (Slot, u32)> = HashMap::new();
            for (id, (verb, a, b)) in (0_u32..).zip(steps) {
                let (a, b) = (address(a), address(b));
                match verb {
                    0 => match table.insert(a, now) {
                        Some(slot) => {
                            table.get_mut(slot).unwrap().origin = id;
                            prop_assert!(twin.insert(a, (slot, id)).is_none());
                        }
                        None => prop_assert!(twin.contains_key(&a)),
                    },
                    1 => if let Some((slot, _)) = twin.remove(&a) {
                        table.remove(slot);
                        prop_assert!(table.get_mut(slot).is_none(), "a freed slot names nothing");
                    },
                    2 => if let Some(&(slot, id)) = twin.get(&a) {
                        let moved = table.move_to(slot, b);
                        prop_assert_eq!(moved, !twin.contains_key(&b));
                        if moved {
                            twin.remove(&a);
                            twin.insert(b, (slot, id));
                        }
                    },
                    _ => prop_assert_eq!(table.find(&a), twin.get(&a).map(|(slot, _)| *slot)),
                }
                prop_assert_eq!(table.len(), twin.len());
                for (address, (slot, id)) in &twin {
                    let flight = table.get_mut(*slot).unwrap();
                    prop_assert_eq!((flight.address, flight.origin), (*address, *id));
                }
            }
        }
    }

    #[test]
    fn a_large_answer_buffer_is_given_back_and_a_small_one_kept() {
        let now = start();
        let mut table = FlightTable::new(1, AddressHasher::new(5));
        for (size, kept) in [(100, true), (100_000, false)] {
            let slot = table.insert(address(1), now).unwrap();
            table.get_mut(slot).unwrap().answers.extend(std::iter::repeat_n(1, size));
            table.remove(slot);
            let slot = table.insert(address(1), now).unwrap();
            let answers = &table.get_mut(slot).unwrap().answers;
            assert!(answers.is_empty());
            assert_eq!(answers.capacity() >= size, kept);
            table.remove(slot);
        }
    }
}
