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
pub(crate) mod deadlines;
mod finished;
mod flight;
mod hosts;
mod icmp;
pub(crate) mod limiter;
mod lists;
mod outbox;
mod reassembly;
mod recent;
mod send;
mod settings;
mod snapshot;
mod system;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use adapt::{Adapted, Change, LimitHistory, Trigger};
pub(crate) use adapt::{LEAST_RATE, LEAST_WINDOW};
pub use answer::Oddity;
pub use finished::{Batch, Direction, Finished, Logged};
pub use flight::{Reasons, Slot};
pub use icmp::Icmp;
pub use limiter::Rate;
pub use lists::ListEnd;
pub use settings::{Auto, Leg, Plan, Settings};
pub use snapshot::Snapshot;

use adapt::Adaptive;
use deadlines::Deadlines;
use flight::{FlightTable, State};
use hosts::Hosts;
use limiter::Limiter;
use lists::Lists;
use outbox::Outbox;
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
    lists: Lists,
    whole: Vec<u8>,
    outbox: Outbox,
    targets: Targets,
    answered: u64,
    printed: u64,
    datagrams: Datagrams,
}

/// A datagram to send; its bytes were appended to the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transmit {
    /// The flight that it belongs to: pass it back if the system does not send the datagram.
    pub slot: Slot,
    /// Where it goes.
    pub to: SocketAddr,
    /// How many bytes were appended.
    pub size: usize,
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
            lists: Lists::default(),
            whole: Vec::new(),
            outbox: Outbox::default(),
            targets: Targets::default(),
            answered: 0,
            printed: 0,
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

    /// Targets that may be in flight at the moment.
    fn window(&self) -> usize {
        self.adaptive.as_ref().and_then(Adaptive::window).unwrap_or(self.settings.window)
    }

    /// Targets in flight. List servers do not count and take no room: their next page may be minutes away.
    fn targets_in_flight(&self) -> usize {
        (self.targets.scheduled - self.targets.finished) as usize
    }

    /// When to call again, if nothing arrives before: for `poll_transmit`, `handle_timeout` or `poll_finished`.
    #[must_use]
    pub fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let work = !self.follow_ups.is_empty() || !self.retries.is_empty() || self.parked.may_leave();
        let room = self.may_start() && self.targets_in_flight() < self.window();
        let waiting = [self.hosts.earliest(), self.lists.earliest()].into_iter().flatten().min().filter(|_| room);
        let more = room && !self.exhausted && !self.hosts.is_full();
        let new = more && !self.awaiting;
        let arrival = (more && self.awaiting).then(|| now + ARRIVAL);
        let send = (work || new || waiting.is_some_and(|at| at <= now))
            .then(|| self.limiter.next_batch(now).unwrap_or(now).max(now));
        [send, arrival, waiting.filter(|at| *at > now), self.outbox.due(), self.stopping, self.deadlines.earliest()]
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
        let is_last = self.is_done();
        self.outbox.poll(now, is_last)
    }

    /// Takes a used batch back, to fill it again.
    pub fn recycle(&mut self, batch: Batch) {
        self.outbox.recycle(batch);
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
        if self.stopping.is_none() {
            self.source.handle_stop();
        }
        self.stopping = Some(if self.stopping.is_none() { now + self.grace() } else { now });
        self.handle_timeout(now);
    }

    /// True when nothing is in flight and nothing will be.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let none_left = self.exhausted && self.hosts.waiting() == 0 && self.lists.earliest().is_none();
        self.flights.len() == 0 && (none_left || self.stopping.is_some())
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
        let Some(left) = flight.log_room.checked_sub(data.len()) else {
            self.outbox.count_unlogged();
            return;
        };
        flight.log_room = left;
        self.outbox.log(direction, flight.address, at, data, now);
    }
}

fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// Bytes of pieces, and of answers that wait for others of their target, that all flights together may share; beside it
/// each has a little of its own.
const MOST_HELD: usize = 64 << 20;
/// How soon a source that had nothing is asked again.
const ARRIVAL: Duration = Duration::from_millis(10);
