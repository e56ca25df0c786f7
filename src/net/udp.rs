//! UDP sockets as a transport. Those of IPv4 come first, then those of IPv6, and an address always belongs to the same
//! one.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use mio::{Interest, Registry, Token};

use super::Error;
use super::batch::{self, DatagramIo};
use super::lane::Lane;
use super::options::{IoPath, Local};
use super::queue::{Outgoing, Queues, System};
use super::socket::Granted;
use super::sys;
use super::transport::{Event, Received, Refusal, Transport};
use crate::engine::Slot;
use crate::rng::AddressHasher;

/// The sockets of a scan.
pub(crate) struct Udp {
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
    io: Box<dyn DatagramIo + Send>,
}

impl Udp {
    /// Opens the sockets that `ipv4` and `ipv6` ask for, where `local` says, to send and receive as `path` does.
    pub(crate) fn open(local: &Local, (ipv4, ipv6): (bool, bool), path: IoPath) -> Result<Self, Error> {
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
        let sockets = Sockets { all, io: batch::open(path) };
        Ok(Self { sockets, queues, ipv4, no_ipv6, hasher: AddressHasher::new(0), first: Token(0) })
    }

    /// The number of the socket that `to` belongs to, or the system's error number if there is none for it.
    fn of(&self, to: &SocketAddr) -> Result<usize, i32> {
        let (first, count) =
            if to.is_ipv4() { (0, self.ipv4) } else { (self.ipv4, self.sockets.all.len() - self.ipv4) };
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

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::engine::Icmp;
    use crate::engine::testing::start;
    use crate::net::sys::Cause;
    use crate::net::transport::Failure;

    #[test]
    fn both_paths_carry_datagrams_there_and_back_and_say_what_came_of_each() {
        for (path, sockets) in [(IoPath::Mmsg, 1), (IoPath::Portable, 1), (IoPath::Mmsg, 3), (IoPath::Portable, 3)] {
            let mut udp = Udp::open(&Local { sockets, ..Local::default() }, (true, false), path).unwrap();
            assert_eq!(udp.granted().len(), sockets);
            let server = UdpSocket::bind("127.0.0.1:0").unwrap();
            let closed = UdpSocket::bind("127.3.2.1:0").unwrap();
            let [to, gone] = [&server, &closed].map(|socket| socket.local_addr().unwrap());
            drop(closed);
            let now = start();
            udp.submit(Slot::numbered(1), to, b"one").unwrap();
            udp.submit(Slot::numbered(2), gone, b"two").unwrap();
            udp.submit(Slot::numbered(3), to, b"three").unwrap();
            let ipv6 = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 1));
            assert_eq!(udp.submit(Slot::numbered(4), ipv6, b"x"), Err(Refusal::NoLane(libc::EAFNOSUPPORT)));
            let (mut accepted, mut failed) = (Vec::new(), Vec::new());
            let mut note = |event: Event<'_>| match event {
                Event::Accepted { slot, to } => accepted.push((slot, to)),
                Event::Failed(failure) => failed.push(failure),
                other => panic!("{other:?}"),
            };
            udp.flush(now, &mut note);
            // Loopback queues the error before the send returns.
            udp.errors(now, &mut note);
            assert!(accepted.len() == 3 && accepted.contains(&(Slot::numbered(2), gone)), "{accepted:?}");
            let cause = Cause::Icmp(Icmp::PortUnreachable);
            assert_eq!(failed, [Failure { to: gone, slot: None, cause, offender: Some(gone.ip()) }]);
            let mut buffer = [0; 16];
            for expected in [&b"one"[..], b"three"] {
                let (size, from) = server.recv_from(&mut buffer).unwrap();
                assert_eq!(&buffer[..size], expected);
                server.send_to(&buffer[..size], from).unwrap();
            }
            let mut came = Vec::new();
            let received = udp.receive(now, true, &mut |event| match event {
                Event::Datagram { from, at: Some(_), data } => came.push((from, data.to_vec())),
                other => panic!("{other:?}"),
            });
            assert_eq!(came, [(to, b"one".to_vec()), (to, b"three".to_vec())]);
            assert_eq!(received, Received { drained: true, until: Some(now) });
        }
    }

    #[test]
    fn a_refused_send_is_told_with_its_slot() {
        for path in [IoPath::Mmsg, IoPath::Portable] {
            let mut udp = Udp::open(&Local::default(), (true, false), path).unwrap();
            // A socket may not broadcast unless it has asked for permission.
            let to = SocketAddr::from(([255; 4], 9));
            udp.submit(Slot::numbered(7), to, b"x").unwrap();
            let mut told = Vec::new();
            udp.flush(start(), &mut |event| {
                if let Event::Failed(failure) = event {
                    told.push(failure);
                }
            });
            let cause = Cause::Local(libc::EACCES);
            let refused = Failure { to, slot: Some(Slot::numbered(7)), cause, offender: None };
            assert_eq!(told, [refused]);
        }
    }
}
