//! The scan as a state machine: datagrams and the time go in, datagrams, deadlines and finished targets come out.
//!
//! It touches no socket and reads no clock, so a test can run ten thousand servers through it in virtual time. A driver
//! calls `handle_*` with what happened and `poll_*` until there is nothing more to do:
//!
//! ```text
//!  targets ──► poll_transmit ──► datagrams out          poll_timeout ──► when to come back
//!  datagrams in ──► handle_datagram ──► flights ──► poll_finished ──► batches for the writer
//!  the time ──► handle_timeout         ICMP, send errors ──► handle_icmp, handle_send_error
//! ```
//!
//! Bytes from the network never make a verb fail: they become an outcome of their target and a counter.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ledger::{Datagrams, Targets};
use crate::protocol::Found;
use crate::record::Status;
use crate::target::Source;

mod adapt;
mod answer;
mod course;
pub mod deadlines;
mod finished;
mod flight;
pub mod hosts;
pub mod limiter;
mod lists;
mod reassembly;
pub mod recent;
mod send;
mod settings;
mod system;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use adapt::{Adapted, Change, Course, LEAST_RATE, LEAST_WINDOW, Reason};
pub use answer::Oddity;
pub use finished::{Batch, Direction, Finished, Logged};
pub use flight::{Reasons, Slot};
pub use limiter::Rate;
pub use lists::ListEnd;
pub use settings::{Auto, Leg, Plan, Settings};

use adapt::Adaptive;
use deadlines::Deadlines;
use flight::{FlightTable, State};
use hosts::Hosts;
use limiter::Limiter;
use reassembly::Reassembly;
use recent::Recent;
use system::Parked;

/// The state of a scan.
pub struct Engine {
    settings: Settings,
    plans: Arc<[Plan]>,
    source: Box<dyn Source>,
    exhausted: bool,
    /// The source had nothing when it was asked last, and may have something later.
    awaiting: bool,
    hold_new: bool,
    stopping: Option<Instant>,
    flights: FlightTable,
    deadlines: Deadlines,
    limiter: Limiter,
    /// None if every limit is fixed.
    adaptive: Option<Adaptive>,
    hosts: Hosts,
    recent: Recent,
    reassembly: Reassembly,
    /// Bytes of kept answers in all flights.
    answer_bytes: usize,
    follow_ups: VecDeque<Slot>,
    retries: VecDeque<Slot>,
    parked: Parked,
    /// What servers that are no list servers name.
    found: Found,
    /// List servers in flight.
    open_lists: usize,
    /// List servers whose address is being asked already.
    waiting_lists: usize,
    /// Datagrams that were to be kept as they came, and were too many of one flight.
    unlogged: u64,
    ended_lists: Vec<ListEnd>,
    whole: Vec<u8>,
    batch: Batch,
    batch_began: Option<Instant>,
    full: VecDeque<Batch>,
    spare: Vec<Batch>,
    targets: Targets,
    answered: u64,
    datagrams: Datagrams,
}

/// A datagram to send; its bytes were appended to the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The flight that it belongs to: name it when the system does not send it.
    pub slot: Slot,
    /// Where it goes.
    pub to: SocketAddr,
    /// How many bytes were appended.
    pub size: usize,
}

/// An ICMP error that names a datagram of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmp {
    /// The host is there and the port is closed.
    PortUnreachable,
    /// The host cannot be reached.
    HostUnreachable,
    /// The network cannot be reached.
    NetUnreachable,
    /// A filter forbids it.
    Prohibited,
    /// Any other error.
    Other,
}

impl Icmp {
    /// The word that stands in the `icmp` column.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PortUnreachable => "port_unreachable",
            Self::HostUnreachable => "host_unreachable",
            Self::NetUnreachable => "net_unreachable",
            Self::Prohibited => "prohibited",
            Self::Other => "other",
        }
    }
}

/// How a scan stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// Counters of targets.
    pub targets: Targets,
    /// Counters of datagrams.
    pub datagrams: Datagrams,
    /// Targets that have ended with an answer.
    pub answered: u64,
    /// Targets in flight; list servers are none.
    pub in_flight: usize,
    /// Targets that were read and not asked yet, as far as that is known.
    pub not_started: u64,
    /// Datagrams that were to be kept as they came, and were not: their servers sent too much.
    pub unlogged: u64,
    /// More may become known: lists, names or standard input are still coming in.
    pub growing: bool,
    /// There are no others, and will be none.
    pub exhausted: bool,
    /// Targets that may be in flight, if that adapts.
    pub window: Option<usize>,
    /// Datagrams that may leave in a second, if that adapts.
    pub rate: Option<f64>,
}

impl Engine {
    /// A scan of `source` that follows `plans`, which targets name by number.
    #[must_use]
    pub fn new(settings: Settings, plans: Arc<[Plan]>, source: Box<dyn Source>, now: Instant) -> Self {
        let adaptive = Adaptive::new(&settings, now);
        let packets = adaptive.as_ref().and_then(Adaptive::rate).or(settings.rate.packets);
        Self {
            plans,
            source,
            exhausted: false,
            awaiting: false,
            hold_new: false,
            stopping: None,
            flights: FlightTable::new(settings.window, settings.key),
            deadlines: Deadlines::default(),
            limiter: Limiter::new(Rate { packets, ..settings.rate }, now),
            adaptive,
            hosts: Hosts::new(settings.host_gap),
            recent: Recent::new(settings.window * 8, settings.key),
            reassembly: Reassembly::default(),
            answer_bytes: 0,
            follow_ups: VecDeque::new(),
            retries: VecDeque::new(),
            parked: Parked::default(),
            found: Found::default(),
            open_lists: 0,
            waiting_lists: 0,
            unlogged: 0,
            ended_lists: Vec::new(),
            whole: Vec::new(),
            batch: Batch::default(),
            batch_began: None,
            full: VecDeque::new(),
            spare: Vec::new(),
            targets: Targets::default(),
            answered: 0,
            datagrams: Datagrams::default(),
            settings,
        }
    }

    /// Appends the next datagram that may leave at `now` to `buffer`. Call until `None`; follow-ups come first, then what
    /// was parked, retries, and new targets.
    #[must_use]
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if !self.limiter.is_ready(now) {
            return None;
        }
        // Bounded by the entries of the queues: each turn takes one.
        while let Some(slot) = self.next_queued() {
            if self.may_send(slot, now) {
                return self.transmit(slot, now, buffer);
            }
        }
        let slot = self.start_next(now)?;
        self.transmit(slot, now, buffer)
    }

    /// Deals with every deadline at or before `now`. Call it after all datagrams that have arrived by then.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.stopping.is_some_and(|end| end <= now) {
            for slot in self.flights.slots() {
                self.finish(slot, Status::Aborted, now);
            }
        }
        // Bounded by the deadlines that are due: what is set in the loop lies in the future or is queued.
        while let Some(index) = self.deadlines.pop_due(now) {
            let slot = self.flights.slot(index);
            let Some(flight) = self.flights.get_mut(slot) else { continue };
            if let Some(adaptive) = &mut self.adaptive
                && flight.state == State::Waiting
                && flight.tries == 1
            {
                adaptive.handle_silence(flight.last_sent, flight.last_cause);
            }
            match flight.state {
                State::Queued => {}
                State::Pausing | State::Parked if flight.sent > 0 && now >= flight.budget => self.silence(slot, now),
                State::Pausing | State::Parked => self.queue_follow_up(slot),
                State::Listening => self.silence(slot, now),
                State::Yielding(_) if self.stopping.is_some() => self.finish(slot, Status::Aborted, now),
                State::Yielding(status) => self.finish(slot, status, now),
                State::Waiting if now >= flight.budget || flight.once || flight.tries > self.settings.retries => {
                    self.silence(slot, now);
                }
                State::Waiting if self.stopping.is_some() => self.finish(slot, Status::Aborted, now),
                State::Waiting => {
                    flight.state = State::Queued;
                    self.retries.push_back(slot);
                }
            }
        }
        self.adapt(now);
    }

    /// Takes the bytes that receive buffers have, before anything is sent.
    pub fn handle_receive_buffer(&mut self, bytes: usize) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.begin_within(bytes);
        }
    }

    /// Takes the number of datagrams that the kernel has dropped so far because a receive buffer was full. Worth a call in
    /// each turn while [`Engine::is_adaptive`].
    pub fn handle_dropped(&mut self, so_far: u64) {
        self.datagrams.dropped_by_kernel = so_far;
    }

    /// True if a limit finds its own size.
    #[must_use]
    pub fn is_adaptive(&self) -> bool {
        self.adaptive.is_some()
    }

    /// What the limits did that found their own size; none if there are no such ones.
    #[must_use]
    pub fn adapted(&self) -> Option<Adapted> {
        self.adaptive.as_ref().map(Adaptive::adapted)
    }

    fn adapt(&mut self, now: Instant) {
        let Some(adaptive) = &mut self.adaptive else { return };
        if adaptive.judge(now, &self.datagrams)
            && let Some(rate) = adaptive.rate()
        {
            self.limiter.set_packets(rate, now);
        }
    }

    /// Targets that may be in flight at the moment. List servers take no room: a page may be minutes away.
    fn window(&self) -> usize {
        self.adaptive.as_ref().and_then(Adaptive::window).unwrap_or(self.settings.window) + self.open_lists
    }

    /// When to call again, if nothing arrives before: for `poll_transmit`, `handle_timeout` or `poll_finished`.
    #[must_use]
    pub fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let work = !self.follow_ups.is_empty() || !self.retries.is_empty() || self.parked.may_leave();
        let room = self.may_start() && self.flights.len() < self.window();
        let waiting = self.hosts.earliest().filter(|_| room);
        let more = room && !self.exhausted && !self.hosts.is_full();
        let new = more && !self.awaiting;
        let arrival = (more && self.awaiting).then(|| now + ARRIVAL);
        let send = (work || new || waiting.is_some_and(|at| at <= now))
            .then(|| self.limiter.next_batch(now).unwrap_or(now).max(now));
        let batch = self.batch_began.map(|began| began + BATCH_AGE);
        [send, arrival, waiting.filter(|at| *at > now), batch, self.stopping, self.deadlines.earliest()]
            .into_iter()
            .flatten()
            .min()
    }

    /// True if [`Engine::handle_timeout`] has something to do at `now`.
    #[must_use]
    pub fn is_due(&mut self, now: Instant) -> bool {
        self.stopping.is_some_and(|end| end <= now) || self.deadlines.earliest().is_some_and(|at| at <= now)
    }

    /// True if the pace is so fast that a caller who comes a millisecond late cannot make up for it.
    #[must_use]
    pub fn is_tight(&self) -> bool {
        self.limiter.is_tight()
    }

    /// Takes a batch of finished targets that is full, or old enough, or the last. Call until `None`, and give batches
    /// back with [`Engine::recycle`].
    #[must_use]
    pub fn poll_finished(&mut self, now: Instant) -> Option<Batch> {
        let old = self.batch_began.is_some_and(|began| now >= began + BATCH_AGE);
        if old || (self.batch_began.is_some() && self.is_done()) {
            self.close_batch();
        }
        self.full.pop_front()
    }

    /// Takes a used batch back, to fill it again.
    pub fn recycle(&mut self, mut batch: Batch) {
        batch.clear();
        if self.spare.len() < MOST_SPARE {
            self.spare.push(batch);
        }
    }

    /// While `hold` is true, no new target is started; those in flight go on.
    pub fn hold_new(&mut self, hold: bool) {
        self.hold_new = hold;
    }

    /// How long a stopped scan waits for what is in flight: one time-out.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.settings.timeout
    }

    /// The first time: starts no new target and lets those in flight finish, for [`Engine::grace`] at most. The second
    /// time: ends them all.
    pub fn stop(&mut self, now: Instant) {
        self.stopping = Some(if self.stopping.is_none() { now + self.grace() } else { now });
        self.handle_timeout(now);
    }

    /// True when nothing is in flight and nothing will be.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let none_left = self.exhausted && self.hosts.waiting() == 0;
        self.flights.len() == 0 && (none_left || self.stopping.is_some())
    }

    /// How the scan stands.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            targets: self.targets,
            datagrams: self.datagrams,
            answered: self.answered,
            in_flight: self.flights.len() - self.open_lists,
            not_started: self.source.remaining().unwrap_or(0) + (self.hosts.waiting() - self.waiting_lists) as u64,
            unlogged: self.unlogged,
            growing: self.source.is_growing(),
            exhausted: self.exhausted || self.source.is_exhausted(),
            window: self.adaptive.as_ref().and_then(Adaptive::window),
            rate: self.adaptive.as_ref().and_then(Adaptive::rate),
        }
    }

    /// Bytes of pieces, and of answers that wait for others of their target.
    fn held(&self) -> usize {
        self.answer_bytes + self.reassembly.held()
    }

    fn may_start(&self) -> bool {
        !self.hold_new && self.stopping.is_none()
    }

    /// Keeps a datagram as it was sent or came, if that is wanted, up to a limit for each flight.
    fn log(&mut self, slot: Slot, direction: Direction, at: Instant, now: Instant, data: &[u8]) {
        if !self.settings.keep_datagrams {
            return;
        }
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let most = if flight.list.is_some() { MOST_LOGGED_OF_LIST } else { MOST_LOGGED };
        if flight.logged + data.len() > most {
            self.unlogged += 1;
            return;
        }
        flight.logged += data.len();
        self.batch.log(direction, flight.address, at, data);
        self.batch_has_grown(now);
    }

    fn batch_has_grown(&mut self, now: Instant) {
        self.batch_began.get_or_insert(now);
        if self.batch.is_full() {
            self.close_batch();
        }
    }

    fn close_batch(&mut self) {
        let next = self.spare.pop().unwrap_or_default();
        self.full.push_back(std::mem::replace(&mut self.batch, next));
        self.batch_began = None;
    }
}

fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// Bytes of datagrams that are kept as they came, of one flight.
const MOST_LOGGED: usize = 512 << 10;
/// The same of a list: some ten times what the longest takes.
const MOST_LOGGED_OF_LIST: usize = 64 << 20;
/// Bytes of pieces, and of answers that wait for others of their target, that all flights together may share; beside it
/// each has a little of its own.
const MOST_HELD: usize = 64 << 20;
/// How soon a source that had nothing is asked again.
const ARRIVAL: Duration = Duration::from_millis(10);
/// A batch is handed over when its first target has waited this long.
const BATCH_AGE: Duration = Duration::from_millis(100);
/// Empty batches that are kept.
const MOST_SPARE: usize = 64;
