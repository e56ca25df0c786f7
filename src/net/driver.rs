//! The loop: a transport and the clock on one side, the engine on the other.
//!
//! Each round, the loop makes one [`Turn`], gives finished targets to the writer, and sleeps until something happens. When
//! the writer's channel is full, it holds back new targets; reading goes on and nothing is dropped. A [`Stopper`] ends
//! a run before every target was asked; the loop does not know why, whether for a signal or anything else.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock for the engine")]

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, Sender, TrySendError, unbounded};
use mio::{Events, Poll, Token, Waker};

use super::Error;
use super::queue::RETRY;
use super::socket::Granted;
use super::transport::Transport;
use super::turn::Turn;
use crate::engine::{Adapted, Batch, Engine, ListEnd, Oddity, Snapshot};

/// Runs an engine over a transport.
pub(crate) struct Driver<T> {
    engine: Engine,
    turn: Turn<T>,
    poll: Poll,
    events: Events,
    writer: Handover,
    stopper: Stopper,
    asked_to_stop: Receiver<Stop>,
    stop: Option<Stop>,
    /// When the loop slept last, and the longest time that it stood still since it began.
    awake: Option<Instant>,
    stall: Duration,
}

/// Channels to and from the writer thread.
pub(crate) struct Handover {
    /// Finished targets.
    pub batches: Sender<Batch>,
    /// Batches that were written and can be filled again.
    pub returned: Receiver<Batch>,
}

/// Why a run ended before every target was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// A signal, by its number.
    Signal(i32),
    /// Somebody asked for it.
    Asked,
    /// The rows could not be written.
    Output,
}

/// What is known when a run is over.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
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
    /// The longest time for which the loop did not poll its sockets when it should have: it was busy, or the system ran
    /// other processes.
    pub stall: Duration,
}

/// Observes a run from time to time, on the thread of its loop, which waits meanwhile.
pub trait Watch {
    /// How long until the next look; none, if there is nothing to show. Called again after each.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// Called about that often.
    fn look(&mut self, _now: Instant, _snapshot: &Snapshot) {}

    /// Called for each datagram that was not used.
    fn odd(&mut self, _from: SocketAddr, _oddity: &Oddity, _data: &[u8]) {}

    /// Called when the run is told to stop for the first time: what is in flight has `grace` to finish.
    fn stopping(&mut self, _snapshot: &Snapshot, _grace: Duration) {}
}

/// Observes nothing.
impl Watch for () {}

/// Stops a run from another thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    asked: Sender<Stop>,
    waker: Arc<Waker>,
}

impl Stopper {
    /// The first call starts no new target, and gives those in flight [`Engine::grace`] to finish. The second call ends
    /// every flight now; so does the first if the rows cannot be written. If the run is over, a call does nothing.
    pub fn stop(&self, reason: Stop) {
        // Nobody receives it once the run is over; and a loop that cannot be woken sees it when its next deadline comes.
        let _ = self.asked.send(reason);
        let _ = self.waker.wake();
    }
}

impl<T: Transport> Driver<T> {
    /// Makes `engine` ready to run over `transport`.
    pub(crate) fn new(mut engine: Engine, mut transport: T, writer: Handover) -> Result<Self, Error> {
        let setup = |source| Error::on("setting up the event loop for", "UDP", source);
        let poll = Poll::new().map_err(setup)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER).map_err(setup)?);
        transport.register(poll.registry(), FIRST)?;
        engine.handle_receive_buffer(transport.granted().iter().map(|granted| granted.receive_buffer).sum());
        let (asked, asked_to_stop) = unbounded();
        Ok(Self {
            engine,
            turn: Turn::new(transport),
            poll,
            events: Events::with_capacity(16),
            writer,
            stopper: Stopper { asked, waker },
            asked_to_stop,
            stop: None,
            awake: None,
            stall: Duration::ZERO,
        })
    }

    /// Addresses of an IPv4 and of an IPv6 socket; unspecified ones where there is none or it is bound to none.
    #[must_use]
    pub(crate) fn local_addresses(&self) -> [SocketAddr; 2] {
        self.turn.transport().local_addresses()
    }

    /// A handle that stops the run from another thread.
    #[must_use]
    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Runs until every target has ended and was handed to the writer.
    pub(crate) fn run(mut self, watch: &mut dyn Watch) -> Result<Outcome, Error> {
        let mut unwritten = None;
        let mut look_at = watch.interval().map(|interval| Instant::now() + interval);
        loop {
            self.stop_if_asked(watch);
            let odd = &mut |from, oddity: &Oddity, data: &[u8]| watch.odd(from, oddity, data);
            let drained = self.turn.receive(&mut self.engine, Instant::now(), odd);
            // Receiving takes time, and what is sent now is timed from now.
            self.turn.send(&mut self.engine, Instant::now());
            self.hand_over(&mut unwritten);
            if self.engine.is_done() && unwritten.is_none() {
                return Ok(self.outcome());
            }
            if let Some(at) = look_at {
                let now = Instant::now();
                if now >= at {
                    watch.look(now, &self.turn.snapshot(&self.engine));
                    look_at = watch.interval().map(|interval| now + interval);
                }
            }
            self.wait(drained, unwritten.is_some(), look_at)?;
        }
    }

    fn stop_if_asked(&mut self, watch: &mut dyn Watch) {
        // Bounded by how often somebody asks.
        while let Ok(reason) = self.asked_to_stop.try_recv() {
            let now = Instant::now();
            match reason {
                Stop::Signal(_) | Stop::Asked if self.stop.is_none() => {
                    watch.stopping(&self.engine.snapshot(), self.engine.grace());
                    self.stop = Some(reason);
                }
                Stop::Signal(_) | Stop::Asked => {}
                Stop::Output => {
                    self.stop = Some(reason);
                    self.engine.stop(now);
                }
            }
            self.engine.stop(now);
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

    /// Sleeps until a descriptor is ready, a stopper calls, or a deadline comes. Sleeps only briefly if the writer is
    /// `busy`, since it does not wake the loop.
    fn wait(&mut self, drained: bool, busy: bool, look_at: Option<Instant>) -> Result<(), Error> {
        let now = Instant::now();
        let deadline = [self.turn.poll_timeout(&mut self.engine, now), look_at].into_iter().flatten().min();
        let until = if busy { Some(now + RETRY) } else { deadline };
        let tight = self.engine.is_tight();
        let sleep = until.map(|at| sleep_for(at.saturating_duration_since(now), tight));
        let timeout = if drained { sleep } else { Some(Duration::ZERO) };
        let at_work = self.awake.map_or(Duration::ZERO, |awake| now.saturating_duration_since(awake));
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                return Err(Error::on("waiting for", "events", error));
            }
            _ => {}
        }
        let awake = Instant::now();
        let overslept = timeout.map_or(Duration::ZERO, |timeout| (awake - now).saturating_sub(timeout));
        self.stall = self.stall.max(at_work).max(overslept);
        self.awake = Some(awake);
        for token in self.events.iter().map(mio::event::Event::token) {
            self.turn.transport_mut().handle_ready(token);
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome {
            stop: self.stop,
            snapshot: self.turn.snapshot(&self.engine),
            granted: self.turn.transport().granted().first().copied(),
            adapted: self.engine.adapted(),
            lists: self.engine.lists().to_vec(),
            stall: self.stall,
        }
    }
}

/// Reads the clocks: the instant, and the microseconds since the Unix epoch that belong to it.
#[must_use]
pub(crate) fn read_clocks() -> (Instant, i64) {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (Instant::now(), i64::try_from(unix.as_micros()).unwrap_or(i64::MAX))
}

/// The poll rounds up to whole milliseconds, and the limiter makes up for that. At a pace that is too fast for it the
/// wait is rounded down instead, to spin rather than to be late.
fn sleep_for(wait: Duration, is_tight: bool) -> Duration {
    if is_tight { Duration::from_millis(wait.as_millis() as u64) } else { wait }
}

const WAKER: Token = Token(0);
/// Token of the transport's first descriptor.
const FIRST: Token = Token(1);
