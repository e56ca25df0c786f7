//! The sockets and the clock of the resolver: a thread of its own, which ends with the last lookup.
//!
//! Each name server has a few sockets, connected to it, so that the system lets nothing pass that comes from elsewhere and
//! says if nobody listens there. They are opened when the first question leaves.
#![expect(clippy::disallowed_methods, reason = "the resolver is told the time here")]

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use socket2::Type;

use self::stream::Streams;
use super::options::Local;
use super::{Error, socket};
use crate::dns::{Answered, Resolver, SOURCE_PORTS, Way};
use crate::ledger::NameQueries;

mod stream;

/// Takes what becomes of lookups, on the resolver's thread, which waits meanwhile.
pub(crate) trait Answers: Send {
    /// Takes what was sent and received so far, after each change.
    fn count(&mut self, queries: NameQueries);

    /// A lookup has ended; false if nobody wants to know any more.
    fn take(&mut self, answered: Answered) -> bool;
}

/// Has names looked up. When the last one of these is dropped, the thread ends after the lookups that it knows.
#[derive(Debug)]
pub(crate) struct Lookups {
    /// Taken when this is dropped, before the thread is woken.
    sender: Option<Sender<Lookup>>,
    waker: Arc<Waker>,
}

#[derive(Debug)]
struct Lookup {
    number: u32,
    name: Box<str>,
    service: Option<&'static str>,
}

/// Starts a thread that runs `resolver` and gives `answers`. Questions are sent from where `local` says.
pub(crate) fn start(resolver: Resolver, local: Local, answers: impl Answers + 'static) -> Result<Lookups, Error> {
    let setup = |source| Error::on("setting up the event loop for", "names", source);
    let poll = Poll::new().map_err(setup)?;
    let waker = Arc::new(Waker::new(poll.registry(), WAKER).map_err(setup)?);
    let (sender, lookups) = bounded(WAITING);
    let sockets = resolver.servers().map(|address| Sockets { address, open: Vec::new() }).collect();
    let (streams, kept) = (Streams::default(), Arc::clone(&waker));
    let running = Running { resolver, local, lookups, sockets, streams, is_closed: false, _waker: kept };
    thread::Builder::new().name("resolver".into()).spawn(move || running.run(poll, answers)).map_err(setup)?;
    Ok(Lookups { sender: Some(sender), waker })
}

/// Bits that nobody else can foresee: `SipHash` of a count, with a key that the system chose.
pub(crate) fn random() -> impl FnMut() -> u64 + Send {
    let (state, mut count) = (RandomState::new(), 0_u64);
    move || {
        count += 1;
        state.hash_one(count)
    }
}

impl Lookups {
    /// Has `name` looked up, or its `service`. Waits if a great many lookups are known; false if nobody takes answers any
    /// more.
    #[must_use]
    pub(crate) fn look_up(&self, number: u32, name: Box<str>, service: Option<&'static str>) -> bool {
        let sent = self.sender.as_ref().is_some_and(|sender| sender.send(Lookup { number, name, service }).is_ok());
        // A loop that cannot be woken sees it when its next deadline comes.
        let _ = self.waker.wake();
        sent
    }
}

impl Drop for Lookups {
    fn drop(&mut self) {
        self.sender = None;
        let _ = self.waker.wake();
    }
}

struct Running {
    resolver: Resolver,
    local: Local,
    lookups: Receiver<Lookup>,
    sockets: Vec<Sockets>,
    streams: Streams,
    /// No more lookups will come.
    is_closed: bool,
    /// A waker that is gone takes with it what it has not told yet.
    _waker: Arc<Waker>,
}

/// The sockets that belong to a server.
struct Sockets {
    address: SocketAddr,
    /// All or none.
    open: Vec<UdpSocket>,
}

impl Running {
    fn run(mut self, mut poll: Poll, mut answers: impl Answers) {
        let mut events = Events::with_capacity(EVENTS);
        let mut buffer = vec![0; LARGEST];
        let mut question = Vec::new();
        let mut counted = NameQueries::default();
        loop {
            self.take_lookups();
            // What has come counts before what is overdue: whoever takes answers may have been slow.
            self.receive(&mut buffer);
            self.streams.advance(|stream, data| self.resolver.handle_stream(Instant::now(), stream, data));
            self.resolver.handle_timeout(Instant::now());
            self.streams.retain(|stream| self.resolver.wants(stream));
            self.send(poll.registry(), &mut question);
            if std::mem::replace(&mut counted, self.resolver.queries()) != self.resolver.queries() {
                answers.count(counted);
            }
            let mut has_answered = false;
            while let Some(answered) = self.resolver.poll_answer() {
                has_answered = true;
                if !answers.take(answered) {
                    return;
                }
            }
            if self.is_closed && self.resolver.is_idle() {
                return;
            }
            let is_busy = has_answered || (self.resolver.has_room() && !self.lookups.is_empty());
            let now = Instant::now();
            let until = self.resolver.poll_timeout().map(|at| at.saturating_duration_since(now));
            let sleep = if is_busy { Some(Duration::ZERO) } else { until };
            match poll.poll(&mut events, sleep) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return,
                _ => {}
            }
        }
    }

    fn take_lookups(&mut self) {
        while self.resolver.has_room() {
            match self.lookups.try_recv() {
                Ok(Lookup { number, name, service }) => self.resolver.look_up(number, name, service),
                Err(problem) => {
                    self.is_closed = problem == TryRecvError::Disconnected;
                    return;
                }
            }
        }
    }

    /// Receives what waits at all sockets. They are few, and each is read until it has nothing more, as edge-triggered
    /// events want it; bounded, because nothing comes that was not asked for but from the servers themselves.
    fn receive(&mut self, buffer: &mut [u8]) {
        for (server, sockets) in self.sockets.iter().enumerate() {
            for (socket, open) in sockets.open.iter().enumerate() {
                let way = Way { server: server as u8, socket: socket as u8 };
                for _ in 0..MOST_AT_ONCE {
                    match open.recv(buffer) {
                        Ok(size) => {
                            let data = buffer.get(..size).unwrap_or_default();
                            self.resolver.handle_datagram(Instant::now(), way, data);
                        }
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        Err(_) => self.resolver.handle_refusal(Instant::now(), way.server),
                    }
                }
            }
        }
    }

    fn send(&mut self, registry: &Registry, question: &mut Vec<u8>) {
        // Bounded by the questions that may be in flight.
        while let Some(way) = self.resolver.poll_transmit(Instant::now(), question) {
            let number = usize::from(way.server);
            let Some(sockets) = self.sockets.get_mut(number) else { continue };
            let sent = sockets.open(&self.local, registry, number).and_then(|()| {
                match sockets.open.get(usize::from(way.socket)) {
                    Some(socket) => socket.send(question),
                    None => Err(ErrorKind::NotConnected.into()),
                }
            });
            match sent {
                // What the system has no room for is lost as on any way.
                Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    self.resolver.handle_refusal(Instant::now(), way.server);
                }
                _ => {}
            }
        }
        while let Some(connect) = self.resolver.poll_connect(Instant::now()) {
            let stream = connect.stream;
            if self.streams.open(&self.local, registry, connect).is_err() {
                self.resolver.handle_stream(Instant::now(), stream, None);
            }
        }
    }
}

impl Sockets {
    fn open(&mut self, local: &Local, registry: &Registry, number: usize) -> io::Result<()> {
        if !self.open.is_empty() {
            return Ok(());
        }
        let open = |socket: u8| {
            let mut open = UdpSocket::from_std(socket::connect(local, self.address, Type::DGRAM)?.into());
            let token = FIRST + number * usize::from(SOURCE_PORTS) + usize::from(socket);
            registry.register(&mut open, Token(token), Interest::READABLE)?;
            Ok(open)
        };
        self.open = (0..SOURCE_PORTS).map(open).collect::<io::Result<_>>()?;
        Ok(())
    }
}

const WAKER: Token = Token(0);
/// Token of the first socket. What is ready is not asked for: all are looked at.
const FIRST: usize = 1;
const EVENTS: usize = 256;
/// Lookups that wait until the resolver has room.
const WAITING: usize = 1 << 10;
/// Larger than any datagram.
const LARGEST: usize = 1 << 16;
/// Datagrams that are received from one socket before another has a turn.
const MOST_AT_ONCE: usize = 1 << 10;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
