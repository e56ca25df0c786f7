//! A farm on real sockets: one wildcard socket answers for every server, or each server has a port and a socket of its own.
//!
//! A wildcard socket learns from packet information which address was asked and answers from it. On loopback it is bound to
//! the loopback device, so that a simulated server is never visible from outside. Elsewhere nobody is answered but the
//! clients that were listed, and what is larger than its request only as [`site`](super::site) says.
#![expect(clippy::disallowed_methods, reason = "delayed replies need the clock")]

use std::cmp::Reverse;
use std::collections::hash_map::RandomState;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};

use super::link::{Link, LinkSettings};
use super::site::{Clients, Place, Site, is_own_address};
use super::{Farm, FarmSettings, Masters, Servers};
use crate::net::{BATCH, Error, socket, sys};
use crate::protocol::Replies;

/// Servers that answer until it is dropped.
pub(crate) struct Serving<S: Servers = Farm> {
    servers: S,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<Served>>,
}

/// What a farm did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// Datagrams that arrived for a server.
    pub requests: u64,
    /// Datagrams that were sent back.
    pub replies: u64,
    /// Replies that the system did not take.
    pub send_errors: u64,
    /// Requests that the kernel dropped because the receive buffer was full.
    pub dropped_by_kernel: u64,
    /// Datagrams of others than the clients.
    pub strangers: u64,
    /// Requests whose answer did not leave: it is larger, and the client has not proved its address.
    pub unproven: u64,
}

/// Starts a farm on `port`, or on any free port.
pub(crate) fn start(settings: FarmSettings, port: Option<u16>) -> Result<Serving, Error> {
    let make = |port| Ok(Farm::new(settings, port, closed_port(port)?));
    start_servers(make, settings.link, settings.seed, port)
}

/// Starts the servers that `make` gives for a port, with a `link` to them whose fates follow from `seed`, on `port` or on
/// any free one.
pub(crate) fn start_servers<S: Servers>(
    make: impl FnOnce(u16) -> io::Result<S>,
    link: LinkSettings,
    seed: u64,
    port: Option<u16>,
) -> Result<Serving<S>, Error> {
    let wanted = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port.unwrap_or(0)));
    let launch = || {
        let socket = open(wanted, Some(b"lo"))?;
        let servers = make(socket.local_addr()?.port())?;
        launch(servers, vec![(0, socket)], (link, seed), Place::LOOPBACK, None)
    };
    launch().map_err(|source| Error::new("starting simulated servers on", wanted, source))
}

/// Starts list servers on 127.0.0.1, from `port` on, with a `link` to them whose fates follow from `seed`.
pub(crate) fn start_masters(
    masters: &Masters,
    link: LinkSettings,
    seed: u64,
    port: u16,
) -> Result<Serving<Masters>, Error> {
    let place = Place::Ports(Ipv4Addr::LOCALHOST);
    let failed = |address| move |source| Error::new("starting list servers on", address, source);
    let open = |number| {
        let address = place.address(number, port).into();
        Ok((number, open(address, Some(b"lo")).map_err(failed(address))?))
    };
    let sockets = masters.numbered().map(|(number, _)| open(number)).collect::<Result<_, Error>>()?;
    launch(masters.clone(), sockets, (link, seed), place, None).map_err(failed(place.address(0, port).into()))
}

/// Starts a farm at a site, on `port` or from that on, for the site's clients and nobody else.
pub(crate) fn start_at(settings: FarmSettings, Site { place, clients }: Site, port: u16) -> Result<Serving, Error> {
    let launch = || {
        // Whoever knows the seed must not know the challenges of others.
        let secret = RandomState::new().hash_one(settings.seed);
        let farm = Farm::new(settings, port, closed_port(port)?).at(place, secret);
        let sockets = match place {
            Place::Addresses(_) => vec![(0, open((Ipv4Addr::UNSPECIFIED, port).into(), None)?)],
            Place::Ports(_) => (0..farm.len())
                .filter(|index| !farm.is_refused(*index))
                .map(|index| Ok((index, open(farm.address(index), None)?)))
                .collect::<io::Result<_>>()?,
        };
        launch(farm, sockets, (settings.link, settings.seed), place, Some(clients))
    };
    let first = place.address(0, port).into();
    launch().map_err(|source| Error::new("starting simulated servers on", first, source))
}

/// Starts `servers` on `sockets`, each of which is on the port of the server that it is named with.
fn launch<S: Servers>(
    servers: S,
    sockets: Vec<(u32, UdpSocket)>,
    (link, seed): (LinkSettings, u64),
    place: Place,
    clients: Option<Clients>,
) -> io::Result<Serving<S>> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), Token(sockets.len()))?;
    for (number, (_, socket)) in sockets.iter().enumerate() {
        poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), Token(number), Interest::READABLE)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server {
        servers: servers.clone(),
        sockets,
        place,
        clients,
        there: Link::new(link, seed),
        back: Link::new(link, !seed),
        perfect: link.is_perfect(),
        delayed: BinaryHeap::new(),
        replies: Replies::default(),
        to_another: Replies::default(),
        receive: sys::ReceiveBatch::new(BATCH, LARGEST_REQUEST, true),
        send: sys::SendBatch::new(BATCH),
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
    pub(crate) fn servers(&self) -> &S {
        &self.servers
    }

    /// Stops it and says what it did.
    #[must_use]
    pub(crate) fn stop(mut self) -> Served {
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
    sockets: Vec<(u32, UdpSocket)>,
    place: Place,
    /// Everybody, if there are none: on loopback nobody else can ask.
    clients: Option<Clients>,
    there: Link,
    back: Link,
    perfect: bool,
    delayed: BinaryHeap<Reverse<Delayed>>,
    replies: Replies,
    /// What a client at another port would have been told.
    to_another: Replies,
    receive: sys::ReceiveBatch,
    send: sys::SendBatch,
    /// Replies that leave now.
    outgoing: Vec<Outgoing>,
    bytes: Vec<u8>,
    served: Served,
}

/// A reply that leaves now: on which socket, to whom, from which address, and where it ends in the bytes of all.
struct Outgoing {
    socket: usize,
    to: SocketAddr,
    local: Ipv4Addr,
    end: usize,
}

/// A reply that leaves later.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Delayed {
    at: Instant,
    socket: usize,
    to: SocketAddr,
    local: Ipv4Addr,
    data: Vec<u8>,
}

impl<S: Servers> Server<S> {
    fn run(mut self, mut poll: Poll, stop: &AtomicBool) -> Served {
        let mut events = Events::with_capacity(MOST_EVENTS);
        // Sockets that may have more to give, each of them once.
        let mut ready: VecDeque<usize> = (0..self.sockets.len()).collect();
        let mut is_ready = vec![true; self.sockets.len()];
        while !stop.load(Ordering::Acquire) {
            for _ in 0..AT_ONCE {
                let Some(socket) = ready.pop_front() else { break };
                is_ready[socket] = self.answer_batch(socket);
                if is_ready[socket] {
                    ready.push_back(socket);
                }
            }
            self.take_due();
            self.send_all();
            let wait = if ready.is_empty() { self.next_reply() } else { Duration::ZERO };
            // An interrupted poll is one that ends early.
            let _ = poll.poll(&mut events, Some(wait));
            for Token(socket) in events.iter().map(Event::token) {
                if is_ready.get(socket) == Some(&false) {
                    is_ready[socket] = true;
                    ready.push_back(socket);
                }
            }
        }
        let dropped = self.sockets.iter().map(|(_, socket)| sys::dropped(socket).map_or(0, u64::from));
        self.served.dropped_by_kernel = dropped.sum();
        self.served
    }

    /// How long until a delayed reply is due.
    fn next_reply(&self) -> Duration {
        self.delayed.peek().map_or(LONGEST_SLEEP, |Reverse(delayed)| {
            delayed.at.saturating_duration_since(Instant::now()).min(LONGEST_SLEEP)
        })
    }

    /// Answers the datagrams that wait on a socket, up to a batch, and sends what is due; false when none waits.
    fn answer_batch(&mut self, socket: usize) -> bool {
        let Self { servers, place, clients, there, back, perfect, delayed, replies, to_another, .. } = self;
        let Self { sockets, outgoing, bytes, served, receive, .. } = self;
        let (on, from) = &sockets[socket];
        let now = Instant::now();
        let mut take = |client, local: Option<Ipv4Addr>, request: &[u8]| {
            if clients.as_ref().is_some_and(|clients| !clients.contains(&client)) {
                served.strangers += 1;
                return;
            }
            let Some(local) = local else { return };
            let Some(index) = place.index(local, *on).filter(|index| *index < servers.count()) else { return };
            served.requests += 1;
            let fates = if *perfect { [Some(Duration::ZERO), None] } else { there.fate() };
            for there in fates.into_iter().flatten() {
                servers.answer(index, client, request, replies);
                if clients.is_some() && !may_leave(servers, (index, client, request), replies, to_another) {
                    served.unproven += 1;
                    replies.clear();
                }
                for reply in replies.iter() {
                    if *perfect {
                        bytes.extend_from_slice(reply);
                        outgoing.push(Outgoing { socket, to: client, local, end: bytes.len() });
                        continue;
                    }
                    for back in back.fate().into_iter().flatten() {
                        let at = now + there + back;
                        delayed.push(Reverse(Delayed { at, socket, to: client, local, data: reply.to_vec() }));
                    }
                }
                replies.clear();
            }
        };
        let more = match receive.receive(from, &mut take) {
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
            if let Some(Reverse(Delayed { socket, to, local, data, .. })) = self.delayed.pop() {
                self.bytes.extend_from_slice(&data);
                self.outgoing.push(Outgoing { socket, to, local, end: self.bytes.len() });
            }
        }
    }

    /// Sends what leaves now. What the system does not take is lost, as on a real link.
    fn send_all(&mut self) {
        let mut sent = 0;
        // Bounded by the replies: each turn sends or gives up at least one.
        while sent < self.outgoing.len() {
            let start = sent.checked_sub(1).map_or(0, |last| self.outgoing[last].end);
            let starts = std::iter::once(start).chain(self.outgoing[sent..].iter().map(|reply| reply.end));
            let socket = self.outgoing[sent].socket;
            let waiting = starts
                .zip(&self.outgoing[sent..])
                .take_while(|(_, reply)| reply.socket == socket)
                .map(|(start, reply)| (reply.to, Some(reply.local), &self.bytes[start..reply.end]));
            if let Ok(count) = self.send.send(&self.sockets[socket].1, waiting) {
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

/// True if what a server answers to a request of a client floods nobody. Only a challenge makes answers to two ports of a
/// host differ: whoever is told more than was sent, where another port would not be for the same request, has sent one back.
fn may_leave<S: Servers>(
    servers: &S,
    (index, client, request): (u32, SocketAddr, &[u8]),
    replies: &Replies,
    to_another: &mut Replies,
) -> bool {
    let size = |replies: &Replies| replies.iter().map(<[u8]>::len).sum::<usize>();
    if size(replies) <= request.len() || matches!(client.ip(), IpAddr::V4(ip) if is_own_address(ip)) {
        return true;
    }
    to_another.clear();
    servers.answer(index, SocketAddr::new(client.ip(), client.port() ^ 1), request, to_another);
    size(to_another) <= request.len()
}

/// A socket that hears one network device only, or all.
fn open(address: SocketAddr, device: Option<&[u8]>) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind_device(device)?;
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

/// Events that are taken at a time.
const MOST_EVENTS: usize = 256;
/// Batches that are answered before somebody asks whether to stop.
const AT_ONCE: usize = 16;
/// Bytes of a request that are looked at; no protocol's are longer.
const LARGEST_REQUEST: usize = 2048;
/// A thread that nothing wakes looks around this often.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::farm::{Behaviour, Share};
    use crate::protocol::Manner;

    #[test]
    fn strangers_get_no_more_than_they_sent_before_they_have_proved_their_address() {
        let settings = FarmSettings { challenge: Share::percent(100.0), ..FarmSettings::of_every_kind() };
        let farm = Farm::new(settings, 27_015, 27_016).at(Place::LOOPBACK, 5);
        let stranger = SocketAddr::from(([198, 51, 100, 7], 5_000));
        let friend = SocketAddr::from(([192, 168, 1, 7], 5_000));
        let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0".as_slice();
        let ask = |index, client, request: &[u8]| {
            let (mut replies, mut to_another) = (Replies::default(), Replies::default());
            farm.answer(index, client, request, &mut replies);
            let leaves = may_leave(&farm, (index, client, request), &replies, &mut to_another);
            (replies.iter().map(<[u8]>::to_vec).collect::<Vec<_>>(), leaves)
        };
        let (mut proved, mut refused) = (0, 0);
        for index in 0..2_000 {
            if !matches!(farm.behaviour(index), Behaviour::Answers(_)) {
                continue;
            }
            let sound = farm.behaviour(index) == Behaviour::Answers(Manner::Sound);
            let (first, leaves) = ask(index, stranger, info);
            assert_eq!(leaves, first.concat().len() <= info.len(), "server {index}: {first:?}");
            refused += u32::from(!leaves);
            if !sound {
                continue;
            }
            assert!(leaves && first.len() == 1 && first[0].len() == 9 && first[0][4] == b'A', "{first:?}");
            let (answer, leaves) = ask(index, stranger, &[info, &first[0][5..]].concat());
            assert!(leaves && answer.concat().len() > info.len() + 4, "{answer:?}");
            // A token of Minecraft's is text, and longer for some ports than for others: that proves nothing.
            let handshake = b"\xFE\xFD\x09\0\0\0\x01".as_slice();
            let (token, leaves) = ask(index, stranger, handshake);
            assert_eq!(leaves, token.concat().len() <= handshake.len(), "server {index}: {token:?}");
            // A challenge of another port is none.
            let (again, _) = ask(index, SocketAddr::new(stranger.ip(), 5_001), &[info, &first[0][5..]].concat());
            assert_eq!(again[0][4], b'A', "server {index}");
            proved += 1;
            // A protocol without a challenge proves nothing; whoever has an address that strangers do not have need not.
            let old = b"\xFF\xFF\xFF\xFFrules\0";
            let (answer, leaves) = ask(index, stranger, old);
            assert_eq!(leaves, answer.concat().len() <= old.len(), "server {index}: {answer:?}");
            assert_eq!(ask(index, friend, old), (answer, true), "server {index}");
        }
        assert!(proved > 1_500 && refused > 10, "{proved} {refused}");
    }
}
