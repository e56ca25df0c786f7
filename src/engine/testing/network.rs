//! A transport in virtual time: a farm behind a lossy link, and in between a system that may block, refuse and report.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use mio::{Registry, Token};

use crate::engine::{Icmp, Slot};
use crate::farm::link::Link;
use crate::farm::{Behaviour, Farm, Servers};
use crate::net::Error;
use crate::net::queue::{Outgoing, Queues, System};
use crate::net::socket::Granted;
use crate::net::sys::Cause;
use crate::net::transport::{Event, Failure, Received, Refusal, Transport};
use crate::protocol::Replies;

/// The way from an engine to a farm and back.
pub(crate) struct Network {
    queues: Queues,
    world: World,
}

/// Everything on the other side of the queues.
pub(crate) struct World {
    pub now: Instant,
    began: Instant,
    /// When each datagram left, and where it went.
    pub sent: Vec<(Duration, SocketAddr)>,
    /// What the system answers when it is given a datagram at this time, on this lane and for this address.
    pub system: Box<dyn FnMut(Duration, usize, SocketAddr) -> io::Result<()>>,
    /// How much the way to the servers takes, if not everything.
    pub path: Option<Bucket>,
    /// How fast the receive buffer is read, and how much it holds, if not everything.
    pub buffer: Option<Bucket>,
    lanes: usize,
    dropped: u64,
    farm: Farm,
    there: Link,
    back: Link,
    /// Events, by their time and by their number among those of the same time.
    events: BTreeMap<(Instant, u64), Happening>,
    number: u64,
    failures: Vec<Failure>,
    arrived: Vec<(Instant, SocketAddr, Vec<u8>)>,
}

enum Happening {
    ToServer(SocketAddr, Vec<u8>),
    ToClient(SocketAddr, Vec<u8>),
    Failure(Failure),
}

/// A queue of fixed length that is emptied at an even rate, and drops what finds it full.
pub(crate) struct Bucket {
    pub rate: f64,
    depth: f64,
    level: f64,
    at: Option<Instant>,
}

impl Bucket {
    /// `rate` datagrams a second leave it, and `depth` fit in.
    pub(crate) fn new(rate: f64, depth: u32) -> Self {
        Self { rate, depth: f64::from(depth), level: 0.0, at: None }
    }

    /// Whether the datagram that comes at `now` finds room.
    fn takes(&mut self, now: Instant) -> bool {
        let passed = self.at.replace(now).map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.level = (self.level - self.rate * passed.as_secs_f64()).max(0.0);
        let room = self.level + 1.0 <= self.depth;
        self.level += f64::from(u8::from(room));
        room
    }
}

impl Network {
    /// The way to `farm`, as its settings say, with one lane.
    pub(crate) fn new(farm: Farm, now: Instant) -> Self {
        let world = World {
            now,
            began: now,
            sent: Vec::new(),
            system: Box::new(|_, _, _| Ok(())),
            path: None,
            buffer: None,
            lanes: 1,
            dropped: 0,
            there: Link::new(farm.settings().link, 1),
            back: Link::new(farm.settings().link, 2),
            farm,
            events: BTreeMap::new(),
            number: 0,
            failures: Vec::new(),
            arrived: Vec::new(),
        };
        Self { queues: Queues::new(1), world }
    }

    /// The servers.
    pub(crate) fn farm(&self) -> &Farm {
        &self.world.farm
    }

    /// The other side.
    pub(crate) fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Uses this many lanes; the last byte of an address selects its lane.
    pub(crate) fn set_lanes(&mut self, lanes: usize) {
        self.queues = Queues::new(lanes);
        self.world.lanes = lanes;
    }
}

impl World {
    /// The lane of an address.
    pub(crate) fn lane(&self, to: SocketAddr) -> usize {
        let IpAddr::V4(ip) = to.ip() else { return 0 };
        usize::from(ip.octets()[3]) % self.lanes
    }

    /// When the next event happens.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.events.keys().next().map(|(at, _)| *at)
    }

    /// A datagram from anywhere arrives a while later.
    pub(crate) fn arrive_after(&mut self, time: Duration, from: SocketAddr, data: &[u8]) {
        self.push(self.now + time, Happening::ToClient(from, data.to_vec()));
    }

    /// `offender` reports an error about a datagram to `to`, a while later.
    pub(crate) fn report_after(&mut self, time: Duration, to: SocketAddr, offender: IpAddr, icmp: Icmp) {
        self.push(self.now + time, failure(to, offender, icmp));
    }

    /// Makes happen what is due by `now`, with the times of arrival: the loop may have been away.
    fn go_on_until(&mut self, now: Instant) {
        let client = SocketAddr::from(([127, 0, 0, 1], 50_000));
        while let Some(event) = self.events.first_entry().filter(|event| event.key().0 <= now) {
            let ((at, _), happening) = event.remove_entry();
            match happening {
                Happening::ToServer(to, data) => self.serve(at, to, client, &data),
                Happening::ToClient(..) if self.buffer.as_mut().is_some_and(|buffer| !buffer.takes(at)) => {
                    self.dropped += 1;
                }
                Happening::ToClient(from, data) => self.arrived.push((at, from, data)),
                Happening::Failure(failure) => self.failures.push(failure),
            }
        }
    }

    fn serve(&mut self, at: Instant, to: SocketAddr, client: SocketAddr, data: &[u8]) {
        let IpAddr::V4(ip) = to.ip() else { return };
        let Some(index) = self.farm.index_of(ip) else { return };
        if self.farm.behaviour(index) == Behaviour::Refused || to.port() != self.farm.port() {
            self.push(at, failure(to, to.ip(), Icmp::PortUnreachable));
            return;
        }
        let mut replies = Replies::default();
        self.farm.answer(index, client, data, &mut replies);
        for reply in replies.iter() {
            for delay in self.back.fate().into_iter().flatten() {
                self.push(at + delay, Happening::ToClient(to, reply.to_vec()));
            }
        }
    }

    fn push(&mut self, at: Instant, happening: Happening) {
        self.number += 1;
        self.events.insert((at, self.number), happening);
    }
}

fn failure(to: SocketAddr, offender: IpAddr, icmp: Icmp) -> Happening {
    Happening::Failure(Failure { to, slot: None, cause: Cause::Icmp(icmp), offender: Some(offender) })
}

impl Transport for Network {
    fn register(&mut self, _registry: &Registry, _first: Token) -> Result<(), Error> {
        Ok(())
    }

    fn handle_ready(&mut self, _token: Token) {}

    fn errors(&mut self, now: Instant, tell: &mut impl FnMut(Event<'_>)) {
        self.world.go_on_until(now);
        self.world.failures.drain(..).for_each(|failure| tell(Event::Failed(failure)));
    }

    fn receive(&mut self, now: Instant, _all: bool, tell: &mut impl FnMut(Event<'_>)) -> Received {
        self.world.go_on_until(now);
        for (at, from, data) in self.world.arrived.drain(..) {
            tell(Event::Datagram { from, at: Some(at), data: &data });
        }
        Received { drained: true, until: Some(now) }
    }

    fn submit(&mut self, slot: Slot, to: SocketAddr, data: &[u8]) -> Result<(), Refusal> {
        if to.is_ipv6() {
            return Err(Refusal::NoLane(libc::EAFNOSUPPORT));
        }
        self.queues.submit(self.world.lane(to), slot, to, data)
    }

    fn has_room(&self) -> bool {
        self.queues.has_room()
    }

    fn flush(&mut self, now: Instant, tell: &mut impl FnMut(Event<'_>)) {
        self.world.now = now;
        self.queues.flush(now, &mut self.world, tell);
    }

    fn blocked_until(&self) -> Option<Instant> {
        self.queues.blocked_until()
    }

    fn dropped(&self) -> u64 {
        self.world.dropped
    }

    fn local_addresses(&self) -> [SocketAddr; 2] {
        [SocketAddr::from(([0; 4], 0)), SocketAddr::from(([0_u16; 8], 0))]
    }

    fn granted(&self) -> Vec<Granted> {
        Vec::new()
    }
}

impl System for World {
    fn send(&mut self, lane: usize, outgoing: &Outgoing) -> io::Result<usize> {
        let mut left = 0;
        for (_, to, data) in outgoing.iter() {
            let passed = self.now - self.began;
            match (self.system)(passed, lane, to) {
                Err(error) if left == 0 => return Err(error),
                Err(_) => break,
                Ok(()) => left += 1,
            }
            self.sent.push((passed, to));
            if self.path.as_mut().is_some_and(|path| !path.takes(self.now)) {
                continue;
            }
            for delay in self.there.fate().into_iter().flatten() {
                self.push(self.now + delay, Happening::ToServer(to, data.to_vec()));
            }
        }
        Ok(left)
    }

    fn errors(&mut self, _lane: usize, tell: &mut impl FnMut(Event<'_>)) {
        self.failures.drain(..).for_each(|failure| tell(Event::Failed(failure)));
    }
}
