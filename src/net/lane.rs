//! One socket of a scan: whether it may have more to give, its errors, and until when everything was read from it.
#![expect(clippy::disallowed_methods, reason = "the arrival of a datagram is timed here")]

use std::io::ErrorKind;
use std::time::Instant;

use mio::net::UdpSocket;

use super::batch::DatagramIo;
use super::options::Local;
use super::socket::{self, Granted};
use super::transport::{Event, Failure};
use super::{Error, sys};

/// One socket.
pub(super) struct Lane {
    pub(super) socket: UdpSocket,
    pub(super) granted: Granted,
    /// It may have more to give: set by an event, cleared when it would block.
    pub(super) readable: bool,
    /// Since when it always had more to give, if it had in the last turn.
    behind_since: Option<Instant>,
    /// Datagrams received since then.
    received: usize,
}

impl Lane {
    pub(super) fn open(local: &Local, ipv6: bool) -> Result<Self, Error> {
        let (socket, granted) = socket::open(local, ipv6)?;
        let socket = UdpSocket::from_std(socket);
        Ok(Self { socket, granted, readable: true, behind_since: None, received: 0 })
    }

    /// Empties the error queue. Entries fill the receive buffer, so they must not be left there.
    pub(super) fn errors(&self, tell: &mut impl FnMut(Event<'_>)) {
        // Bounded; what is left is taken in the next turn.
        for _ in 0..MOST_RECEIVED {
            match sys::receive_error(&self.socket) {
                Ok(Some(sys::QueuedError { to, cause, offender })) => {
                    tell(Event::Failed(Failure { to, slot: None, cause, offender }));
                }
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }

    /// Receives what waits, up to a bound.
    pub(super) fn receive(&mut self, io: &mut dyn DatagramIo, tell: &mut impl FnMut(Event<'_>)) {
        let mut received = 0;
        let mut failures = 0;
        while self.readable && received < MOST_RECEIVED {
            // Read by the first datagram of a call: the call is what takes the time.
            let mut at = None;
            let mut take = |from, data: &[u8]| {
                let at = *at.get_or_insert_with(Instant::now);
                tell(Event::Datagram { from, at: Some(at), data });
            };
            match io.receive(&self.socket, &mut take) {
                Ok(count) => received += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                // The system reports an error of an earlier datagram on whatever call comes next. The error is in the
                // queue with its address, so the call is repeated. Only a socket that keeps failing is left until the
                // next event or deadline.
                Err(_) if failures < MOST_FAILURES => {
                    failures += 1;
                    self.errors(tell);
                }
                Err(_) => self.readable = false,
            }
        }
        self.received += received;
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

/// Datagrams, or errors, that are taken in one turn before something is sent again.
const MOST_RECEIVED: usize = 1024;
/// Failures in a row that may be those of earlier datagrams.
const MOST_FAILURES: usize = 8;
/// Bytes of a receive buffer that the smallest datagram takes, at the least.
const LEAST_COST: usize = 256;
