//! A socket of one family as the loop sees it: whether it may have more to give, and what has been read for certain.

use std::time::Instant;

use mio::net::UdpSocket;
use mio::{Interest, Poll, Token};

use super::Error;
use super::socket::{self, Granted, Local};

/// A socket of one family.
pub(super) struct Lane {
    pub(super) socket: UdpSocket,
    pub(super) granted: Granted,
    /// It may have more to give: set by an event, cleared when it would block.
    pub(super) readable: bool,
    /// Since when it always had more to give, if it had in the last turn.
    behind_since: Option<Instant>,
    /// Datagrams received since then.
    pub(super) received: usize,
}

impl Lane {
    pub(super) fn open(poll: &Poll, local: &Local, ipv6: bool, token: Token) -> Result<Self, Error> {
        let (socket, granted) = socket::open(local, ipv6, socket::BUFFER)?;
        let mut socket = UdpSocket::from_std(socket);
        poll.registry()
            .register(&mut socket, token, Interest::READABLE)
            .map_err(|source| Error::on("watching", "a UDP socket", source))?;
        Ok(Self { socket, granted, readable: true, behind_since: None, received: 0 })
    }

    /// The time before which everything that arrived has been read, if that is later than it was. A flood never lets
    /// the socket run dry; but once more datagrams were read than its buffer holds, those are among them that waited
    /// when the counting began.
    pub(super) fn seen_until(&mut self, now: Instant) -> Option<Instant> {
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
