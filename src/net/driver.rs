//! The loop: sockets, signals and the clock on one side, the engine on the other.
//!
//! One turn: errors, then datagrams, then deadlines (only once the sockets had nothing more to give, so that after a
//! stall the answers that wait come before the time-outs), then what may be sent, then finished targets to the writer,
//! then sleep until something happens. When the writer's channel is full, new targets are held back; reading goes on
//! and nothing is dropped.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock for the engine")]

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use mio::{Events, Interest, Poll, Token, Waker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook_mio::v1_0::Signals;

use super::batch::DatagramIo;
use super::lane::{Lane, Lanes};
use super::socket::{Granted, Local};
use super::{Error, sys};
use crate::engine::{Adapted, Batch, Engine, ListEnd, Oddity, Snapshot};

/// Runs an engine over real sockets.
pub struct Driver {
    engine: Engine,
    poll: Poll,
    events: Events,
    lanes: Lanes,
    io: Box<dyn DatagramIo>,
    /// The datagram that the engine writes.
    request: Vec<u8>,
    writer: Handover,
    signals: Signals,
    /// The next signal ends the process, whatever blocks it.
    impatient: Arc<AtomicBool>,
    /// Another driver will run after this one.
    followed: bool,
    halt: Halt,
    stop: Option<Stop>,
}

/// Channels to and from the writer thread.
pub struct Handover {
    /// Finished targets.
    pub batches: Sender<Batch>,
    /// Batches that were written and can be filled again.
    pub returned: Receiver<Batch>,
}

/// Why a run ended before every target was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A signal, by its number.
    Signal(i32),
    /// The rows could not be written.
    Output,
}

/// What is known when a run is over.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Why it ended early, if it did.
    pub stop: Option<Stop>,
    /// The engine's counters, with the kernel's drops.
    pub snapshot: Snapshot,
    /// Buffers of the IPv4 socket, or of the IPv6 socket if that is the only one.
    pub granted: Option<Granted>,
    /// What the limits did that found their own size; none if there were no such ones.
    pub adapted: Option<Adapted>,
    /// How list servers have ended.
    pub lists: Vec<ListEnd>,
}

/// Looks at a run from time to time.
pub trait Watch {
    /// How often; never, if there is nothing to show.
    fn interval(&self) -> Option<Duration>;

    /// Called about that often.
    fn look(&mut self, now: Instant, snapshot: &Snapshot);

    /// Called for each datagram that was not used.
    fn odd(&mut self, from: SocketAddr, oddity: &Oddity, data: &[u8]);

    /// Called when a signal stops the run: what is in flight has `grace` to finish.
    fn stopping(&mut self, snapshot: &Snapshot, grace: Duration);
}

/// Stops a run at once from another thread.
#[derive(Clone)]
pub struct Halt {
    asked: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Halt {
    /// Ends every flight now.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Release);
        // If the loop cannot be woken it still sees the flag when its next deadline comes.
        let _ = self.waker.wake();
    }
}

impl Driver {
    /// Opens the sockets that `ipv4` and `ipv6` ask for and takes over the signals that stop a run.
    pub fn new(
        mut engine: Engine,
        (ipv4, ipv6): (bool, bool),
        local: &Local,
        io: Box<dyn DatagramIo>,
        writer: Handover,
    ) -> Result<Self, Error> {
        let setup = |source| Error::on("setting up the event loop for", "UDP", source);
        let poll = Poll::new().map_err(setup)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER).map_err(setup)?);
        // A signal that was ignored when the program started stays ignored: `nohup` means it.
        let stopping = STOPPING.into_iter().filter(|signal| !sys::is_ignored(*signal));
        let stopping: Vec<i32> = stopping.collect();
        let impatient = impatience(&stopping).map_err(setup)?;
        let mut signals = Signals::new(&stopping).map_err(setup)?;
        poll.registry().register(&mut signals, SIGNALS, Interest::READABLE).map_err(setup)?;
        let lanes = Lanes::open(&poll, local, ipv4, ipv6, FIRST_LANE)?;
        engine.handle_receive_buffer(lanes.iter().map(|lane| lane.granted.receive_buffer).sum());
        Ok(Self {
            engine,
            lanes,
            poll,
            events: Events::with_capacity(16),
            io,
            request: Vec::new(),
            writer,
            signals,
            impatient,
            followed: false,
            halt: Halt { asked: Arc::default(), waker },
            stop: None,
        })
    }

    /// Addresses of an IPv4 and of an IPv6 socket; unspecified ones where there is none or it is bound to none.
    #[must_use]
    pub fn local_addresses(&self) -> [SocketAddr; 2] {
        self.lanes.addresses()
    }

    /// Another driver will run after this one: a signal that comes between them must not end the process, and is the
    /// caller's to notice.
    #[must_use]
    pub fn followed(mut self) -> Self {
        self.followed = true;
        self
    }

    /// A handle that stops the run from another thread.
    #[must_use]
    pub fn halt(&self) -> Halt {
        self.halt.clone()
    }

    /// Runs until every target has ended and was handed to the writer.
    pub fn run(mut self, watch: &mut dyn Watch) -> Result<Outcome, Error> {
        let mut unwritten = None;
        let mut look_at = watch.interval().map(|interval| Instant::now() + interval);
        loop {
            self.stop_if_asked();
            self.drain_errors();
            // The time is taken before the sockets are looked at, and they are looked at whenever a deadline is due: an
            // answer that has arrived by then comes before its time-out, however long the process was stopped.
            let now = Instant::now();
            if self.engine.is_due(now) {
                self.lanes.iter_mut().for_each(|lane| lane.readable = true);
            }
            let drained = self.receive(watch);
            if self.engine.is_adaptive() {
                self.engine.handle_dropped(self.lanes.dropped());
            }
            if let Some(seen) = self.lanes.seen_until(now) {
                self.engine.handle_timeout(seen);
            }
            let blocked = self.send();
            self.hand_over(&mut unwritten);
            if self.engine.is_done() && unwritten.is_none() {
                // From here on the writer alone is waited for, and nobody reads signals any more.
                if !self.followed {
                    self.impatient.store(true, Ordering::Release);
                }
                return Ok(self.outcome());
            }
            if let (Some(at), Some(interval)) = (look_at, watch.interval()) {
                let now = Instant::now();
                if now >= at {
                    watch.look(now, &self.snapshot());
                    look_at = Some(now + interval);
                }
            }
            self.wait(drained, blocked || unwritten.is_some(), look_at, watch)?;
        }
    }

    fn stop_if_asked(&mut self) {
        if self.halt.asked.swap(false, Ordering::AcqRel) {
            self.stop = Some(Stop::Output);
            let now = Instant::now();
            self.engine.stop(now);
            self.engine.stop(now);
        }
    }

    fn drain_errors(&mut self) {
        for lane in self.lanes.iter() {
            drain_errors(&mut self.engine, lane);
        }
    }

    /// Receives what waits, up to a bound; true if every socket has nothing more to give.
    fn receive(&mut self, watch: &mut dyn Watch) -> bool {
        let mut drained = true;
        for lane in self.lanes.iter_mut() {
            let (engine, io) = (&mut self.engine, &mut self.io);
            let mut received = 0;
            let mut failures = 0;
            while lane.readable && received < MOST_RECEIVED {
                // Read by the first datagram of a call: the call is what takes the time.
                let mut now = None;
                let mut take = |from, data: &[u8]| {
                    let now = *now.get_or_insert_with(Instant::now);
                    if let Some(oddity) = engine.handle_datagram(now, now, from, data) {
                        watch.odd(from, &oddity, data);
                    }
                };
                match io.receive(&lane.socket, &mut take) {
                    Ok(count) => received += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => lane.readable = false,
                    // An error of an earlier datagram is reported on whatever call comes next. It is in the queue with
                    // its address; the call is repeated, and only a socket that keeps failing is left until the next
                    // event or deadline.
                    Err(_) if failures < MOST_FAILURES => {
                        failures += 1;
                        drain_errors(engine, lane);
                    }
                    Err(_) => lane.readable = false,
                }
            }
            lane.received += received;
            drained &= !lane.readable;
        }
        drained
    }

    /// Sends a batch of what may leave; true if the system takes no more at the moment.
    fn send(&mut self) -> bool {
        let now = Instant::now();
        // What the system did not take has been charged already and leaves first; nothing is added to it, so that the
        // end of a blockage is no burst.
        if self.lanes.have_sent_all() {
            self.fill(now);
        }
        let mut blocked = false;
        for lane in self.lanes.iter_mut() {
            blocked |= send_all(&mut self.engine, self.io.as_mut(), lane, now);
        }
        blocked
    }

    /// Takes what may leave from the engine, until one socket has a batch.
    fn fill(&mut self, now: Instant) {
        let mut full = false;
        self.request.clear();
        while !full && let Some(transmit) = self.engine.poll_transmit(now, &mut self.request) {
            match self.lanes.of(&transmit.to) {
                Ok(number) => {
                    if let Some(lane) = self.lanes.get_mut(number) {
                        lane.outgoing.push(transmit.to, &self.request);
                        full = lane.outgoing.is_full();
                    }
                }
                Err(error) => self.engine.handle_send_error(now, transmit.to, error),
            }
            self.request.clear();
        }
    }

    fn hand_over(&mut self, unwritten: &mut Option<Batch>) {
        let now = Instant::now();
        while let Some(batch) = unwritten.take().or_else(|| self.engine.poll_finished(now)) {
            match self.writer.batches.try_send(batch) {
                // A writer that is gone has failed and said so; what it did not take cannot be written any more.
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                Err(TrySendError::Full(batch)) => {
                    *unwritten = Some(batch);
                    break;
                }
            }
        }
        while let Ok(batch) = self.writer.returned.try_recv() {
            self.engine.recycle(batch);
        }
        self.engine.hold_new(unwritten.is_some());
    }

    /// Sleeps until a socket, a signal, the waker, or a deadline; shortly if `retry` says that somebody is busy.
    fn wait(
        &mut self,
        drained: bool,
        retry: bool,
        look_at: Option<Instant>,
        watch: &mut dyn Watch,
    ) -> Result<(), Error> {
        let now = Instant::now();
        let deadline = [self.engine.poll_timeout(now), look_at].into_iter().flatten().min();
        let until = if retry { Some(deadline.map_or(now + RETRY, |at| at.max(now + RETRY))) } else { deadline };
        let tight = self.engine.is_tight();
        let sleep = until.map(|at| sleep_for(at.saturating_duration_since(now), tight));
        let timeout = if drained { sleep } else { Some(Duration::ZERO) };
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                return Err(Error::on("waiting for", "events", error));
            }
            _ => {}
        }
        let mut signalled = false;
        for event in &self.events {
            match event.token() {
                SIGNALS => signalled = true,
                WAKER => {}
                Token(number) => {
                    if let Some(lane) = self.lanes.get_mut(number - FIRST_LANE) {
                        lane.readable = true;
                    }
                }
            }
        }
        if signalled {
            for signal in self.signals.pending() {
                if self.stop.is_some() {
                    self.impatient.store(true, Ordering::Release);
                } else {
                    watch.stopping(&self.engine.snapshot(), self.engine.grace());
                }
                self.stop.get_or_insert(Stop::Signal(signal));
                self.engine.stop(Instant::now());
            }
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        let granted = self.lanes.iter().map(|lane| lane.granted).next();
        Outcome {
            stop: self.stop,
            snapshot: self.snapshot(),
            granted,
            adapted: self.engine.adapted(),
            lists: self.engine.lists().to_vec(),
        }
    }

    /// The engine's, with what only the sockets know.
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.engine.snapshot();
        snapshot.datagrams.dropped_by_kernel = self.lanes.dropped();
        snapshot
    }
}

/// The flag that makes the next of the `stopping` signals end the process, lowered. It is one for all drivers of a
/// process, which run one after the other: signals are watched from the first on, also between them.
fn impatience(stopping: &[i32]) -> io::Result<Arc<AtomicBool>> {
    static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);
    let mut known = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(flag) = &*known {
        flag.store(false, Ordering::Release);
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in stopping {
        register_conditional_shutdown(*signal, STOPPED, Arc::clone(&flag))?;
    }
    *known = Some(Arc::clone(&flag));
    Ok(flag)
}

/// Reads the clocks: the instant, and the microseconds since the Unix epoch that belong to it.
#[must_use]
pub fn read_clocks() -> (Instant, i64) {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (Instant::now(), i64::try_from(unix.as_micros()).unwrap_or(i64::MAX))
}

/// Empties a socket's error queue into the engine. Entries fill the receive buffer, so they must not be left there.
fn drain_errors(engine: &mut Engine, lane: &Lane) {
    // Bounded; what is left is taken in the next turn.
    for _ in 0..MOST_RECEIVED {
        match sys::receive_error(&lane.socket) {
            Ok(Some(error)) => match error.cause {
                sys::Cause::Icmp(icmp) => engine.handle_icmp(Instant::now(), error.to, icmp),
                sys::Cause::Local(number) => engine.handle_send_error(Instant::now(), error.to, number),
            },
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

/// Sends what waits on a socket; true if the system takes no more at the moment.
fn send_all(engine: &mut Engine, io: &mut dyn DatagramIo, lane: &mut Lane, now: Instant) -> bool {
    let mut failures = 0;
    // Bounded by the datagrams of the batch and the failures that are allowed in a row.
    while let Some((to, _)) = lane.outgoing.front() {
        match io.send(&lane.socket, &lane.outgoing) {
            Ok(count) => {
                lane.outgoing.advance(count);
                failures = 0;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                engine.handle_blocked();
                return true;
            }
            // There is no room on the way to this address; there may be on the way to others.
            Err(error) if is_congestion(&error) => {
                engine.handle_congestion(Instant::now(), to, error.raw_os_error().unwrap_or(libc::ENOBUFS));
                lane.outgoing.advance(1);
            }
            // It may be the error of an earlier datagram, to another address: look, and try again.
            Err(_) if failures < MOST_FAILURES => {
                failures += 1;
                drain_errors(engine, lane);
            }
            Err(error) => {
                engine.handle_send_error(now, to, error.raw_os_error().unwrap_or(libc::EIO));
                lane.outgoing.advance(1);
                failures = 0;
            }
        }
    }
    false
}

/// The system cannot take the datagram at the moment, and will later.
fn is_congestion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

/// The poll rounds up to whole milliseconds, and the limiter makes up for that. At a pace that is too fast for it the
/// wait is rounded down instead, to spin rather than to be late.
fn sleep_for(wait: Duration, is_tight: bool) -> Duration {
    if is_tight { Duration::from_millis(wait.as_millis() as u64) } else { wait }
}

const SIGNALS: Token = Token(0);
const WAKER: Token = Token(1);
/// Token of the first socket; those of the others follow.
const FIRST_LANE: usize = 2;

/// Signals that stop a run.
pub const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Exit code of a process that was told to stop once more.
const STOPPED: i32 = 3;
/// Datagrams, or errors, that are taken in one turn before something is sent again.
const MOST_RECEIVED: usize = 1024;
/// Failures in a row that may be those of earlier datagrams.
const MOST_FAILURES: usize = 8;
/// How soon a full device queue or a full channel is tried again.
const RETRY: Duration = Duration::from_millis(1);
