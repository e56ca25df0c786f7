//! UDP sockets as a transport. Those of IPv4 come first, then those of IPv6, and an address always belongs to the same
//! one.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use mio::{Interest, Registry, Token};

use super::Error;
use super::batch::{DatagramIo, Path};
use super::lane::Lane;
use super::queue::{Outgoing, Queues, System};
use super::socket::{Granted, Local};
use super::sys;
use super::transport::{Event, Received, Refusal, Transport};
use crate::engine::Slot;
use crate::rng::AddressHasher;

/// The sockets of a scan.
pub struct Udp {
    sockets: Sockets,
    queues: Queues,
    /// How many are of IPv4.
    ipv4: usize,
    /// The system's error number if there should be IPv6 sockets and there are none.
    no_ipv6: i32,
    hasher: AddressHasher,
    first: Token,
}

struct Sockets {
    all: Vec<Lane>,
    io: Box<dyn DatagramIo>,
}

impl Udp {
    /// Opens the sockets that `ipv4` and `ipv6` ask for, where `local` says, to send and receive as `path` does.
    pub fn open(local: &Local, (ipv4, ipv6): (bool, bool), path: Path) -> Result<Self, Error> {
        let mut all = Vec::new();
        let sockets = local.sockets.max(1);
        for _ in 0..if ipv4 { sockets } else { 0 } {
            all.push(Lane::open(local, false)?);
        }
        let ipv4 = all.len();
        let mut no_ipv6 = libc::EAFNOSUPPORT;
        for _ in 0..if ipv6 { sockets } else { 0 } {
            match Lane::open(local, true) {
                Ok(lane) => all.push(lane),
                // A machine without IPv6 still scans the rest; the IPv6 targets end as `send_error`, with the reason.
                Err(error) => no_ipv6 = error.os_error().unwrap_or(libc::EAFNOSUPPORT),
            }
        }
        let queues = Queues::new(all.len());
        let sockets = Sockets { all, io: path.open() };
        Ok(Self { sockets, queues, ipv4, no_ipv6, hasher: AddressHasher::new(0), first: Token(0) })
    }

    /// The number of the socket that `to` belongs to, or the system's error number if there is none for it.
    fn of(&self, to: &SocketAddr) -> Result<usize, i32> {
        let (first, count) = if to.is_ipv4() { (0, self.ipv4) } else { (self.ipv4, self.sockets.all.len() - self.ipv4) };
        match count {
            0 => Err(self.no_ipv6),
            1 => Ok(first),
            count => Ok(first + (self.hasher.socket(to) % count as u64) as usize),
        }
    }
}

impl Transport for Udp {
    fn register(&mut self, registry: &Registry, first: Token) -> Result<(), Error> {
        self.first = first;
        for (number, lane) in self.sockets.all.iter_mut().enumerate() {
            registry
                .register(&mut lane.socket, Token(first.0 + number), Interest::READABLE)
                .map_err(|source| Error::on("watching", "a UDP socket", source))?;
        }
        Ok(())
    }

    fn handle_ready(&mut self, token: Token) {
        let number = token.0.checked_sub(self.first.0);
        if let Some(lane) = number.and_then(|number| self.sockets.all.get_mut(number)) {
            lane.readable = true;
        }
    }

    fn errors(&mut self, _now: Instant, tell: &mut impl FnMut(Event<'_>)) {
        self.sockets.all.iter().for_each(|lane| lane.errors(tell));
    }

    fn receive(&mut self, now: Instant, all: bool, tell: &mut impl FnMut(Event<'_>)) -> Received {
        let Sockets { all: lanes, io } = &mut self.sockets;
        let mut received = Received { drained: true, until: Some(now) };
        for lane in lanes {
            lane.readable |= all;
            lane.receive(io.as_mut(), tell);
            received.drained &= !lane.readable;
            let until = lane.seen_until(now);
            received.until = received.until.zip(until).map(|(all, this)| all.min(this));
        }
        received
    }

    fn submit(&mut self, slot: Slot, to: SocketAddr, data: &[u8]) -> Result<(), Refusal> {
        let lane = self.of(&to).map_err(Refusal::NoLane)?;
        self.queues.submit(lane, slot, to, data)
    }

    fn has_room(&self) -> bool {
        self.queues.has_room()
    }

    fn flush(&mut self, now: Instant, tell: &mut impl FnMut(Event<'_>)) {
        self.queues.flush(now, &mut self.sockets, tell);
    }

    fn blocked_until(&self) -> Option<Instant> {
        self.queues.blocked_until()
    }

    fn dropped(&self) -> u64 {
        self.sockets.all.iter().filter_map(|lane| sys::dropped(&lane.socket).ok()).map(u64::from).sum()
    }

    fn local_addresses(&self) -> [SocketAddr; 2] {
        let unspecified = [SocketAddr::from(([0; 4], 0)), SocketAddr::from(([0_u16; 8], 0))];
        let (ipv4, ipv6) = self.sockets.all.split_at(self.ipv4);
        let of = |lane: Option<&Lane>| lane.and_then(|lane| lane.socket.local_addr().ok());
        [of(ipv4.first()).unwrap_or(unspecified[0]), of(ipv6.first()).unwrap_or(unspecified[1])]
    }

    fn granted(&self) -> Vec<Granted> {
        self.sockets.all.iter().map(|lane| lane.granted).collect()
    }
}

impl System for Sockets {
    fn send(&mut self, lane: usize, outgoing: &Outgoing) -> io::Result<usize> {
        self.io.send(&self.all[lane].socket, outgoing)
    }

    fn errors(&mut self, lane: usize, tell: &mut impl FnMut(Event<'_>)) {
        self.all[lane].errors(tell);
    }
}
