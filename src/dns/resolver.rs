//! Many lookups at a time: which question goes to which server when, and what a datagram answers.
//!
//! The caller moves the bytes and the clock: it sends what [`Resolver::poll_transmit`] and [`Resolver::poll_connect`] give,
//! passes in what comes, and calls [`Resolver::handle_timeout`] at [`Resolver::poll_timeout`]. At most [`IN_FLIGHT`]
//! questions are under way, which also bounds the pace. A stranger who wants to be heard has to guess the source port, the
//! id and the question at the right moment, and has one chance for each: what does not fit is counted and ignored.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use slab::Slab;

use super::answer::{Answer, Wanted};
use super::config::Config;
use super::course::{Course, Next, Outcome, Rules};
use super::health::Server;
use super::hosts::Hosts;
use super::lookup::{Answered, Asked, Connect, Deadline, Flight, Lookup, State, Way};
use super::message::{self, Kind, Name, Reply};
use crate::ledger::NameQueries;
use crate::target::NameError;

/// Looks names up.
pub(crate) struct Resolver {
    rules: Rules,
    timeout: Duration,
    servers: Vec<Server>,
    /// The server whose turn it is, if they take turns.
    turn: usize,
    lookups: Slab<Lookup>,
    /// Lookups whose question was not asked yet.
    fresh: VecDeque<usize>,
    /// Lookups to be repeated, by number of tries. Those with fewer tries go first: they have probably lost a datagram, while
    /// the name servers of the others are probably silent.
    again: [VecDeque<usize>; TRIES as usize],
    /// Those whose question is to be asked over TCP.
    cut: VecDeque<usize>,
    /// Questions in flight over UDP.
    flights: HashMap<(Way, u16), Flight>,
    /// Repetitions among them.
    repetitions: usize,
    streams: HashMap<u64, usize>,
    next_stream: u64,
    deadlines: BTreeSet<(Instant, Deadline)>,
    answers: VecDeque<Answered>,
    /// Nothing has answered for so long that lookups are given up.
    gave_up: bool,
    random: Box<dyn FnMut() -> u64 + Send>,
    queries: NameQueries,
}

impl Resolver {
    /// A resolver that asks the servers of `config`, and waits `timeout` for the answer to a first try. `random` gives bits
    /// that nobody else can foresee.
    #[must_use]
    pub(crate) fn new(
        config: Config,
        hosts: Hosts,
        wanted: Wanted,
        timeout: Duration,
        random: impl FnMut() -> u64 + Send + 'static,
    ) -> Self {
        Self {
            servers: config.servers.iter().map(|server| Server::new(*server)).collect(),
            rules: Rules { config, hosts, wanted },
            timeout,
            turn: 0,
            lookups: Slab::new(),
            fresh: VecDeque::new(),
            again: Default::default(),
            cut: VecDeque::new(),
            flights: HashMap::new(),
            repetitions: 0,
            streams: HashMap::new(),
            next_stream: 0,
            deadlines: BTreeSet::new(),
            answers: VecDeque::new(),
            gave_up: false,
            random: Box::new(random),
            queries: NameQueries::default(),
        }
    }

    /// The servers, by number.
    pub(crate) fn servers(&self) -> impl Iterator<Item = SocketAddr> {
        self.servers.iter().map(|server| server.address)
    }

    /// Whether another lookup may begin now: as many are under way as it makes sense to know.
    #[must_use]
    pub(crate) fn has_room(&self) -> bool {
        self.fresh.len() < IN_FLIGHT && self.lookups.len() < MOST_LOOKUPS
    }

    /// True if no lookup is under way.
    #[must_use]
    pub(crate) fn is_idle(&self) -> bool {
        self.lookups.is_empty() && self.answers.is_empty()
    }

    /// What was sent and received so far.
    #[must_use]
    pub(crate) const fn queries(&self) -> NameQueries {
        self.queries
    }

    /// Looks `name` up, or its `service`, as in `_minecraft._tcp`. The answer has the same `number`.
    pub(crate) fn look_up(&mut self, number: u32, name: Box<str>, service: Option<&str>) {
        let course = match Course::begin(name.clone(), service, &self.rules) {
            Ok(course) => course,
            Err(answer) => return self.answers.push_back(Answered { number, name, answer }),
        };
        if self.gave_up {
            let answer = Answer::Failed(NameError::NoServer);
            return self.answers.push_back(Answered { number, name, answer });
        }
        let (state, failure) = (State::Queued, NameError::Silence);
        let slot = self.lookups.insert(Lookup { number, course, state, tries: 0, failures: 0, server: None, failure });
        self.fresh.push_back(slot);
    }

    /// Takes a lookup that has ended; call until `None` after everything that was passed in.
    #[must_use = "an answer that is taken and dropped is lost"]
    pub(crate) fn poll_answer(&mut self) -> Option<Answered> {
        self.answers.pop_front()
    }

    /// Writes the next question that may leave now into `buffer`, and says by which way; call until `None` after everything
    /// that was passed in.
    #[must_use = "a question that is taken and not sent counts as one without an answer"]
    pub(crate) fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Way> {
        let probe = |server: &Server| server.probe_at().is_some_and(|at| at <= now);
        if let Some(server) = self.servers.iter().position(probe) {
            return Some(self.probe(server, now, buffer));
        }
        if self.flights.len() + self.streams.len() + self.cut.len() >= IN_FLIGHT
            || !self.servers.iter().any(Server::is_up)
        {
            return None;
        }
        let slot = self.next_lookup()?;
        let server = self.choose_server(self.lookups[slot].server);
        let (way, id) = self.unused(server);
        let lookup = &mut self.lookups[slot];
        let until = now + backoff(self.timeout, lookup.tries);
        let (name, kind) = lookup.course.question();
        message::write(id, name, kind, buffer);
        let is_repetition = lookup.tries > 0;
        self.queries.sent += 1;
        self.queries.sent_retry += u64::from(is_repetition);
        self.repetitions += usize::from(is_repetition);
        lookup.server = Some(server);
        lookup.state = State::Flying(way, id, until);
        self.flights.insert((way, id), Flight { asked: Asked::Lookup(slot), sent: now, is_repetition });
        self.deadlines.insert((until, Deadline::Lookup(slot)));
        Some(way)
    }

    /// Takes a question that is to be asked over TCP; call until `None` after everything that was passed in.
    #[must_use = "a question that is taken and not asked counts as one without an answer"]
    pub(crate) fn poll_connect(&mut self, now: Instant) -> Option<Connect> {
        if self.streams.len() >= STREAMS {
            return None;
        }
        let slot = self.cut.pop_front()?;
        let (stream, id) = (self.next_stream, (self.random)() as u16);
        self.next_stream += 1;
        let lookup = &mut self.lookups[slot];
        let until = now + backoff(self.timeout, lookup.tries + 1);
        lookup.state = State::Stream(stream, until);
        let to = self.servers[usize::from(lookup.server.unwrap_or(0))].address;
        let mut message = Vec::new();
        let (name, kind) = lookup.course.question();
        message::write(id, name, kind, &mut message);
        self.streams.insert(stream, slot);
        self.deadlines.insert((until, Deadline::Lookup(slot)));
        self.queries.sent += 1;
        self.queries.sent_tcp += 1;
        Some(Connect { stream, to, message })
    }

    /// Whether an answer on `stream` is still waited for; if not, it is to be closed.
    #[must_use]
    pub(crate) fn wants(&self, stream: u64) -> bool {
        self.streams.contains_key(&stream)
    }

    /// Records that a datagram has come from the server of `way` to its socket.
    pub(crate) fn handle_datagram(&mut self, now: Instant, way: Way, data: &[u8]) {
        self.queries.received += 1;
        let key = message::id(data).map(|id| (way, id));
        let Some((key, flight)) = key.and_then(|key| Some((key, self.flights.get(&key)?))) else {
            self.queries.stray += 1;
            return;
        };
        let asked = flight.asked;
        let reply = match asked {
            Asked::Lookup(slot) => {
                let (name, kind) = self.lookups[slot].course.question();
                message::read(data, name, kind)
            }
            Asked::Probe(_) => message::read(data, &Name::root_vec(), Kind::Soa),
        };
        let Some(reply) = reply else {
            self.queries.stray += 1;
            return;
        };
        self.land(key);
        self.servers[usize::from(way.server)].handle_answer(now);
        self.gave_up = false;
        match asked {
            Asked::Probe(until) => drop(self.deadlines.remove(&(until, Deadline::Probe(key.0, key.1)))),
            Asked::Lookup(slot) => self.handle_reply(slot, reply, now),
        }
    }

    /// Records what came over a stream: a whole message without its length, or nothing because it failed.
    pub(crate) fn handle_stream(&mut self, now: Instant, stream: u64, data: Option<&[u8]>) {
        let Some(slot) = self.streams.remove(&stream) else { return };
        let lookup = &self.lookups[slot];
        let (name, kind) = lookup.course.question();
        let reply = data.and_then(|data| message::read(data, name, kind));
        self.queries.received += u64::from(data.is_some());
        match reply {
            Some(Reply::Truncated) | None => {
                self.queries.stray += u64::from(data.is_some());
                self.handle_reply(slot, Reply::Failure, now);
            }
            Some(reply) => self.handle_reply(slot, reply, now),
        }
    }

    /// Records that nobody listens at a server, or that no way leads there.
    pub(crate) fn handle_refusal(&mut self, now: Instant, server: u8) {
        let Some(refusing) = self.servers.get_mut(usize::from(server)) else { return };
        refusing.handle_refusal(now);
        let lost: Vec<_> = self.flights.keys().filter(|(way, _)| way.server == server).copied().collect();
        for key in lost {
            match self.land(key) {
                Some(Asked::Lookup(slot)) => {
                    self.forget_deadline(slot);
                    self.fail(slot, NameError::Silence, None, now);
                }
                Some(Asked::Probe(until)) => drop(self.deadlines.remove(&(until, Deadline::Probe(key.0, key.1)))),
                None => {}
            }
        }
    }

    /// When [`Resolver::handle_timeout`] has something to do, or [`Resolver::poll_transmit`] has.
    #[must_use]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let first = self.deadlines.first().map(|(at, _)| *at);
        let probes = self.servers.iter().filter_map(Server::probe_at);
        first.into_iter().chain(probes).chain(self.gives_up_at().filter(|_| !self.gave_up)).min()
    }

    /// Records that it is `now`. Call it after what has come by now was passed in.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        // Bounded by what is under way: what is asked again has a later deadline.
        while let Some((_, deadline)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.pop_first();
            match deadline {
                Deadline::Probe(way, id) => {
                    self.land((way, id));
                    self.servers[usize::from(way.server)].handle_silent_probe(now);
                }
                Deadline::Lookup(slot) => self.handle_silence(slot, now),
            }
        }
        if self.gives_up_at().is_some_and(|at| at <= now) {
            self.give_up();
        }
    }

    fn handle_silence(&mut self, slot: usize, now: Instant) {
        match self.lookups[slot].state {
            State::Flying(way, id, _) => {
                if let Some(flight) = self.flights.get(&(way, id)) {
                    self.servers[usize::from(way.server)].handle_silence(flight.sent, now);
                }
                self.land((way, id));
                self.fail(slot, NameError::Silence, None, now);
            }
            State::Stream(stream, _) => {
                self.streams.remove(&stream);
                self.fail(slot, NameError::Silence, None, now);
            }
            State::Waiting => {
                self.ask_again(slot);
            }
            State::Queued => {}
        }
    }

    fn handle_reply(&mut self, slot: usize, reply: Reply, now: Instant) {
        self.forget_deadline(slot);
        match reply {
            Reply::Truncated => {
                self.lookups[slot].state = State::Queued;
                self.cut.push_back(slot);
            }
            Reply::Failure => {
                let lookup = &self.lookups[slot];
                // Others may know more. If all have been asked, a pause may help.
                let is_last = lookup.tries as usize + 1 >= self.servers.iter().filter(|server| server.is_up()).count();
                let pause = is_last.then(|| backoff(self.timeout, lookup.tries));
                self.fail(slot, NameError::ServerFailure, pause, now);
            }
            reply => self.conclude(slot, Outcome::Reply(reply)),
        }
    }

    /// Counts a try that came to nothing; the next one is after a `pause`.
    fn fail(&mut self, slot: usize, failure: NameError, pause: Option<Duration>, now: Instant) {
        let lookup = &mut self.lookups[slot];
        lookup.tries += 1;
        lookup.failure = lookup.failure.max(failure);
        lookup.failures += u32::from(failure == NameError::ServerFailure);
        if lookup.tries >= TRIES || lookup.failures >= MOST_FAILURES {
            let failure = lookup.failure;
            return self.conclude(slot, Outcome::GivenUp(failure));
        }
        if let Some(pause) = pause {
            lookup.state = State::Waiting;
            self.deadlines.insert((now + pause, Deadline::Lookup(slot)));
        } else {
            self.ask_again(slot);
        }
    }

    fn conclude(&mut self, slot: usize, outcome: Outcome) {
        let lookup = &mut self.lookups[slot];
        match lookup.course.handle(outcome, &self.rules) {
            Next::Ask => {
                (lookup.state, lookup.failure) = (State::Queued, NameError::Silence);
                (lookup.tries, lookup.failures) = (0, 0);
                // What was begun is finished first.
                self.fresh.push_front(slot);
            }
            Next::Done(answer) => self.finish(slot, answer),
        }
    }

    fn finish(&mut self, slot: usize, answer: Answer) {
        let Lookup { number, course, .. } = self.lookups.remove(slot);
        self.answers.push_back(Answered { number, name: course.into_text(), answer });
    }

    /// When all lookups are given up: every server has been down for a while.
    fn gives_up_at(&self) -> Option<Instant> {
        let since = self.servers.iter().map(Server::down_since).collect::<Option<Vec<_>>>()?.into_iter().max()?;
        let refusing = self.servers.iter().all(Server::is_refusing);
        Some(since + self.timeout * if refusing { PATIENCE_IF_REFUSED } else { PATIENCE })
    }

    fn give_up(&mut self) {
        self.gave_up = true;
        let slots: Vec<_> = self.lookups.iter().map(|(slot, _)| slot).collect();
        let probes = |asked: &Asked| matches!(asked, Asked::Probe(_));
        self.flights.retain(|_, flight| probes(&flight.asked));
        self.deadlines.retain(|(_, deadline)| matches!(deadline, Deadline::Probe(..)));
        self.repetitions = 0;
        self.streams.clear();
        [&mut self.fresh, &mut self.cut].into_iter().chain(&mut self.again).for_each(VecDeque::clear);
        for slot in slots {
            self.finish(slot, Answer::Failed(NameError::NoServer));
        }
    }

    /// The lookup whose question is next. Repetitions never take more than half of the room, so that names whose servers
    /// are silent do not hold up the others.
    fn next_lookup(&mut self) -> Option<usize> {
        let (fresh, mut again) = (&mut self.fresh, self.again.iter_mut());
        if self.repetitions < IN_FLIGHT / 2 {
            again.find_map(VecDeque::pop_front).or_else(|| fresh.pop_front())
        } else {
            fresh.pop_front().or_else(|| again.find_map(VecDeque::pop_front))
        }
    }

    fn ask_again(&mut self, slot: usize) {
        let lookup = &mut self.lookups[slot];
        lookup.state = State::Queued;
        // A lookup that has had all its tries has ended.
        if let Some(queue) = self.again.get_mut(lookup.tries as usize) {
            queue.push_back(slot);
        }
    }

    /// One of the servers that are up: another one than `last`, if there is; else the first, or the one whose turn it is.
    fn choose_server(&mut self, last: Option<u8>) -> u8 {
        let count = self.servers.len();
        let first = match last {
            Some(last) => usize::from(last) + 1,
            None if self.rules.config.rotate => {
                self.turn = (self.turn + 1) % count;
                self.turn
            }
            None => 0,
        };
        let up = (first..first + count).map(|number| number % count).find(|number| self.servers[*number].is_up());
        up.unwrap_or(0) as u8
    }

    /// A source port of `server` and an id that are not in use.
    fn unused(&mut self, server: u8) -> (Way, u16) {
        // Bounded by chance: of half a million, fewer than a thousand are in use.
        loop {
            let bits = (self.random)();
            let way = Way { server, socket: (bits >> 32) as u8 % SOURCE_PORTS };
            if !self.flights.contains_key(&(way, bits as u16)) {
                return (way, bits as u16);
            }
        }
    }

    fn probe(&mut self, server: usize, now: Instant, buffer: &mut Vec<u8>) -> Way {
        self.servers[server].handle_probe();
        let (way, id) = self.unused(server as u8);
        message::write(id, &Name::root_vec(), Kind::Soa, buffer);
        let until = now + self.timeout;
        self.flights.insert((way, id), Flight { asked: Asked::Probe(until), sent: now, is_repetition: false });
        self.deadlines.insert((until, Deadline::Probe(way, id)));
        self.queries.sent += 1;
        self.queries.sent_probe += 1;
        way
    }

    /// Ends a flight, and says what was asked.
    fn land(&mut self, key: (Way, u16)) -> Option<Asked> {
        let flight = self.flights.remove(&key)?;
        self.repetitions -= usize::from(flight.is_repetition);
        Some(flight.asked)
    }

    fn forget_deadline(&mut self, slot: usize) {
        if let State::Flying(_, _, until) | State::Stream(_, until) = self.lookups[slot].state {
            self.deadlines.remove(&(until, Deadline::Lookup(slot)));
        }
    }
}

/// How long a try waits that follows so many others: up to four times as long as the first.
fn backoff(timeout: Duration, tries: u32) -> Duration {
    timeout.saturating_mul(1 << tries.min(2))
}

/// Questions that are in flight at the same time.
pub(super) const IN_FLIGHT: usize = 256;
/// Source ports of each server.
pub(crate) const SOURCE_PORTS: u8 = 8;
/// Streams that are open at the same time.
const STREAMS: usize = 16;
/// Lookups that are known at the same time: most of them wait to be repeated.
const MOST_LOOKUPS: usize = 1 << 16;
/// Tries of each question: one in ten may be lost without a name in a hundred thousand to be given up.
const TRIES: u32 = 5;
/// Tries of a question that servers failed to answer.
const MOST_FAILURES: u32 = 3;
/// Times the timeout, after which lookups are given up if no server is up.
const PATIENCE: u32 = 8;
const PATIENCE_IF_REFUSED: u32 = 3;
