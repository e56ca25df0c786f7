//! The sockets of a scan as the loop sees them: which one an address belongs to, whether one may have more to give, what
//! waits to be sent on it, and what has been read for certain.

use std::net::SocketAddr;
use std::time::Instant;

use mio::net::UdpSocket;
use mio::{Interest, Poll, Token};

use super::batch::Outgoing;
use super::socket::{self, Granted, Local};
use super::{Error, sys};
use crate::rng::AddressHasher;

/// The sockets of a scan: those of IPv4 first, then those of IPv6. An address always belongs to the same one.
pub(super) struct Lanes {
    all: Vec<Lane>,
    /// How many are of IPv4.
    ipv4: usize,
    /// The system's error number if there should be IPv6 sockets and there are none.
    no_ipv6: i32,
    hasher: AddressHasher,
}

/// One socket.
pub(super) struct Lane {
    pub(super) socket: UdpSocket,
    pub(super) granted: Granted,
    /// What waits to be sent.
    pub(super) outgoing: Outgoing,
    /// It may have more to give: set by an event, cleared when it would block.
    pub(super) readable: bool,
    /// Since when it always had more to give, if it had in the last turn.
    behind_since: Option<Instant>,
    /// Datagrams received since then.
    pub(super) received: usize,
}

impl Lanes {
    /// Opens the sockets of the families that are wanted, with tokens from `first` on.
    pub(super) fn open(poll: &Poll, local: &Local, ipv4: bool, ipv6: bool, first: usize) -> Result<Self, Error> {
        let mut all = Vec::new();
        let sockets = local.sockets.max(1);
        for _ in 0..if ipv4 { sockets } else { 0 } {
            all.push(Lane::open(poll, local, false, Token(first + all.len()))?);
        }
        let ipv4 = all.len();
        let mut no_ipv6 = libc::EAFNOSUPPORT;
        for _ in 0..if ipv6 { sockets } else { 0 } {
            match Lane::open(poll, local, true, Token(first + all.len())) {
                Ok(lane) => all.push(lane),
                // A machine without IPv6 still scans the rest; the IPv6 targets end as `send_error`, with the reason.
                Err(error) => no_ipv6 = error.os_error().unwrap_or(libc::EAFNOSUPPORT),
            }
        }
        Ok(Self { all, ipv4, no_ipv6, hasher: AddressHasher::new(0) })
    }

    /// The number of the socket that `to` belongs to, or the system's error number if there is none for it.
    pub(super) fn of(&self, to: &SocketAddr) -> Result<usize, i32> {
        let (first, count) = if to.is_ipv4() { (0, self.ipv4) } else { (self.ipv4, self.all.len() - self.ipv4) };
        match count {
            0 => Err(self.no_ipv6),
            1 => Ok(first),
            count => Ok(first + (self.hasher.socket(to) % count as u64) as usize),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Lane> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.all.iter_mut()
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Lane> {
        self.all.get_mut(number)
    }

    /// True if no datagram waits to be sent.
    pub(super) fn have_sent_all(&self) -> bool {
        self.all.iter().all(|lane| lane.outgoing.is_empty())
    }

    /// The time before which everything that arrived has been read, if that is later than it was. `now` was taken before
    /// the last look at the sockets.
    pub(super) fn seen_until(&mut self, now: Instant) -> Option<Instant> {
        self.all.iter_mut().map(|lane| lane.seen_until(now)).try_fold(now, |seen, of_lane| Some(seen.min(of_lane?)))
    }

    /// Datagrams that the kernel has dropped because a receive buffer was full.
    pub(super) fn dropped(&self) -> u64 {
        self.all.iter().filter_map(|lane| sys::dropped(&lane.socket).ok()).map(u64::from).sum()
    }

    /// Addresses of an IPv4 and of an IPv6 socket; unspecified ones where there is none or it is bound to none.
    pub(super) fn addresses(&self) -> [SocketAddr; 2] {
        let unspecified = [SocketAddr::from(([0; 4], 0)), SocketAddr::from(([0_u16; 8], 0))];
        let [ipv4, ipv6] = [self.all[..self.ipv4].first(), self.all[self.ipv4..].first()];
        let of = |lane: Option<&Lane>| lane.and_then(|lane| lane.socket.local_addr().ok());
        [of(ipv4).unwrap_or(unspecified[0]), of(ipv6).unwrap_or(unspecified[1])]
    }
}

impl Lane {
    fn open(poll: &Poll, local: &Local, ipv6: bool, token: Token) -> Result<Self, Error> {
        let (socket, granted) = socket::open(local, ipv6)?;
        let mut socket = UdpSocket::from_std(socket);
        poll.registry()
            .register(&mut socket, token, Interest::READABLE)
            .map_err(|source| Error::on("watching", "a UDP socket", source))?;
        Ok(Self { socket, granted, outgoing: Outgoing::default(), readable: true, behind_since: None, received: 0 })
    }

    /// The time before which everything that arrived has been read, if that is later than it was. A flood never lets
    /// the socket run dry; but once more datagrams were read than its buffer holds, those are among them that waited
    /// when the counting began.
    fn seen_until(&mut self, now: Instant) -> Option<Instant> {
        if !self.readable {
            self.behind_since = None;
            return Some(now);
        }
        let since = *self.behind_since.get_or_insert_with(|| {
            self.received = 0;
            now
        });
        if self.received < self.granted.receive_buffer / LEAST_COST {
            return None;
        }
        self.behind_since = None;
        Some(since)
    }
}

/// Bytes of a receive buffer that the smallest datagram takes, at the least.
const LEAST_COST: usize = 256;
