//! A farm on real loopback sockets: one wildcard socket answers for every server.
//!
//! The socket learns from packet information which address was asked and answers from it. It is bound to the loopback
//! device and drops whatever is not for 127.0.0.0/8, so that a simulated server is never visible from outside.
#![expect(clippy::disallowed_methods, reason = "delayed replies need the clock")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};

use super::link::{Link, LinkSettings};
use super::{Farm, FarmSettings, Servers};
use crate::net::{Error, batch, socket, sys};
use crate::protocol::Replies;

/// Servers that answer until it is dropped.
pub struct Serving<S: Servers = Farm> {
    servers: S,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<Served>>,
}

/// What a farm did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Datagrams that arrived for a server.
    pub requests: u64,
    /// Datagrams that were sent back.
    pub replies: u64,
    /// Replies that the system did not take.
    pub send_errors: u64,
    /// Requests that the kernel dropped because the receive buffer was full.
    pub dropped_by_kernel: u64,
}

/// Starts a farm on `port`, or on any free port.
pub fn start(settings: FarmSettings, port: Option<u16>) -> Result<Serving, Error> {
    let make = |port| Ok(Farm::new(settings, port, closed_port(port)?));
    start_servers(make, settings.link, settings.seed, port)
}

/// Starts the servers that `make` gives for a port, with a `link` to them whose fates follow from `seed`, on `port` or on
/// any free one.
pub fn start_servers<S: Servers>(
    make: impl FnOnce(u16) -> io::Result<S>,
    link: LinkSettings,
    seed: u64,
    port: Option<u16>,
) -> Result<Serving<S>, Error> {
    let wanted = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port.unwrap_or(0)));
    let failed = |source| Error::new("starting simulated servers on", wanted, source);
    let socket = open(wanted).map_err(failed)?;
    let port = socket.local_addr().map_err(failed)?.port();
    let servers = make(port).map_err(failed)?;
    let poll = Poll::new().map_err(failed)?;
    let waker = Waker::new(poll.registry(), WAKER).map_err(failed)?;
    poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), SOCKET, Interest::READABLE).map_err(failed)?;
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server {
        servers: servers.clone(),
        socket,
        there: Link::new(link, seed),
        back: Link::new(link, !seed),
        perfect: link.is_perfect(),
        delayed: BinaryHeap::new(),
        replies: Replies::default(),
        receive: sys::ReceiveBatch::new(batch::BATCH, LARGEST_REQUEST, true),
        send: sys::SendBatch::new(batch::BATCH),
        outgoing: Vec::new(),
        bytes: Vec::new(),
        served: Served::default(),
    };
    let thread = thread::spawn({
        let stop = Arc::clone(&stop);
        move || server.run(poll, &stop)
    });
    Ok(Serving { servers, stop, waker, thread: Some(thread) })
}

impl<S: Servers> Serving<S> {
    /// The servers that answer.
    #[must_use]
    pub fn servers(&self) -> &S {
        &self.servers
    }

    /// Stops it and says what it did.
    #[must_use]
    pub fn stop(mut self) -> Served {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Served> {
        self.stop.store(true, Ordering::Release);
        // A thread that cannot be woken looks at the flag when its poll times out.
        let _ = self.waker.wake();
        self.thread.take()?.join().ok()
    }
}

impl<S: Servers> Drop for Serving<S> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

struct Server<S> {
    servers: S,
    socket: UdpSocket,
    there: Link,
    back: Link,
    perfect: bool,
    delayed: BinaryHeap<Reverse<Delayed>>,
    replies: Replies,
    receive: sys::ReceiveBatch,
    send: sys::SendBatch,
    /// Replies that leave now: to whom, from which address, and where each ends in `bytes`.
    outgoing: Vec<(SocketAddr, Ipv4Addr, usize)>,
    bytes: Vec<u8>,
    served: Served,
}

/// A reply that leaves later.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Delayed {
    at: Instant,
    to: SocketAddr,
    local: Ipv4Addr,
    data: Vec<u8>,
}

impl<S: Servers> Server<S> {
    fn run(mut self, mut poll: Poll, stop: &AtomicBool) -> Served {
        let mut events = Events::with_capacity(4);
        while !stop.load(Ordering::Acquire) {
            let drained = !(0..AT_ONCE).all(|_| self.answer_batch());
            let wait = if drained { self.next_reply() } else { Duration::ZERO };
            // An interrupted poll is one that ends early.
            let _ = poll.poll(&mut events, Some(wait));
        }
        self.served.dropped_by_kernel = sys::dropped(&self.socket).map_or(0, u64::from);
        self.served
    }

    /// How long until a delayed reply is due.
    fn next_reply(&self) -> Duration {
        self.delayed.peek().map_or(LONGEST_SLEEP, |Reverse(delayed)| {
            delayed.at.saturating_duration_since(Instant::now()).min(LONGEST_SLEEP)
        })
    }

    /// Answers the datagrams that wait, up to a batch, and sends what is due; false when none waits.
    fn answer_batch(&mut self) -> bool {
        let Self { servers, there, back, perfect, delayed, replies, outgoing, bytes, served, receive, .. } = self;
        let now = Instant::now();
        let mut take = |client, local: Option<Ipv4Addr>, request: &[u8]| {
            let Some(local) = local.filter(Ipv4Addr::is_loopback) else { return };
            served.requests += 1;
            let fates = if *perfect { [Some(Duration::ZERO), None] } else { there.fate() };
            for there in fates.into_iter().flatten() {
                servers.answer(local, client, request, replies);
                for reply in replies.iter() {
                    if *perfect {
                        bytes.extend_from_slice(reply);
                        outgoing.push((client, local, bytes.len()));
                        continue;
                    }
                    for back in back.fate().into_iter().flatten() {
                        let at = now + there + back;
                        delayed.push(Reverse(Delayed { at, to: client, local, data: reply.to_vec() }));
                    }
                }
                replies.clear();
            }
        };
        let more = match receive.receive(&self.socket, &mut take) {
            Ok(_) => true,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
        self.take_due();
        self.send_all();
        more
    }

    /// Moves the delayed replies that are due to those that leave now.
    fn take_due(&mut self) {
        if self.delayed.is_empty() {
            return;
        }
        let now = Instant::now();
        while self.delayed.peek().is_some_and(|Reverse(delayed)| delayed.at <= now) {
            if let Some(Reverse(Delayed { to, local, data, .. })) = self.delayed.pop() {
                self.bytes.extend_from_slice(&data);
                self.outgoing.push((to, local, self.bytes.len()));
            }
        }
    }

    /// Sends what leaves now. What the system does not take is lost, as on a real link.
    fn send_all(&mut self) {
        let mut sent = 0;
        // Bounded by the replies: each turn sends or gives up at least one.
        while sent < self.outgoing.len() {
            let start = sent.checked_sub(1).map_or(0, |last| self.outgoing[last].2);
            let starts = std::iter::once(start).chain(self.outgoing[sent..].iter().map(|(.., end)| *end));
            let waiting = starts
                .zip(&self.outgoing[sent..])
                .map(|(start, (to, local, end))| (*to, Some(*local), &self.bytes[start..*end]));
            if let Ok(count) = self.send.send(&self.socket, waiting) {
                self.served.replies += count as u64;
                sent += count.max(1);
            } else {
                self.served.send_errors += 1;
                sent += 1;
            }
        }
        self.outgoing.clear();
        self.bytes.clear();
    }
}

/// A wildcard socket that hears loopback only.
fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind_device(Some(b"lo"))?;
    socket::tune(&socket, socket::BUFFER)?;
    sys::enable_packet_info(&socket)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// A port near `port` on which nobody listens.
fn closed_port(port: u16) -> io::Result<u16> {
    for distance in 1..1000 {
        let candidate = port.checked_add(distance).unwrap_or(port - distance);
        match UdpSocket::bind((Ipv4Addr::UNSPECIFIED, candidate)) {
            Ok(_) => return Ok(candidate),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

const SOCKET: Token = Token(0);
const WAKER: Token = Token(1);
/// Batches that are answered before somebody asks whether to stop.
const AT_ONCE: usize = 16;
/// Bytes of a request that are looked at; no protocol's are longer.
const LARGEST_REQUEST: usize = 2048;
/// A thread that nothing wakes looks around this often.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
