//! The only interface to the network: it carries the datagrams of a scan, and includes lanes, errors and counters.
//!
//! A transport queues each submitted datagram on the lane of its address, and reports what became of it. Only the
//! transport knows which lane that is. The caller says which descriptor is ready and what time it is, so that a transport
//! without descriptors can take the place of sockets in virtual time.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use mio::{Registry, Token};

use super::Error;
use super::socket::Granted;
use super::sys::Cause;
use crate::engine::Slot;

/// Sends and receives datagrams without waiting.
pub(crate) trait Transport {
    /// Registers its descriptors with `registry`, with tokens from `first` on.
    fn register(&mut self, registry: &Registry, first: Token) -> Result<(), Error>;

    /// Records that the descriptor with `token` is ready. Tokens that are not its own are ignored.
    fn handle_ready(&mut self, token: Token);

    /// Reports each error that waits, up to a bound.
    fn errors(&mut self, now: Instant, tell: &mut impl FnMut(Event<'_>));

    /// Reports each datagram that waits, up to a bound, and returns how far everything has been received. `now` was
    /// taken before the call. With `all`, every descriptor is looked at, whether or not it is known to be ready.
    fn receive(&mut self, now: Instant, all: bool, tell: &mut impl FnMut(Event<'_>)) -> Received;

    /// Queues a datagram of `slot` for `to`. Call [`Transport::flush`] afterwards.
    fn submit(&mut self, slot: Slot, to: SocketAddr, data: &[u8]) -> Result<(), Refusal>;

    /// True while it is worth submitting another datagram before the next [`Transport::flush`].
    fn has_room(&self) -> bool;

    /// Hands what is queued to the system, and reports what became of each datagram. A lane on which the system accepts
    /// nothing more does not hold up the others.
    fn flush(&mut self, now: Instant, tell: &mut impl FnMut(Event<'_>));

    /// When [`Transport::flush`] is worth calling again, if the system accepts nothing more on a lane.
    fn blocked_until(&self) -> Option<Instant>;

    /// Datagrams that the kernel has dropped so far because a receive buffer was full.
    fn dropped(&self) -> u64;

    /// Addresses of an IPv4 and of an IPv6 socket; unspecified ones where there is none or it is bound to none.
    fn local_addresses(&self) -> [SocketAddr; 2];

    /// Buffers of each lane, those of IPv4 first.
    fn granted(&self) -> Vec<Granted>;
}

/// What a transport reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// A datagram arrived.
    Datagram {
        /// Its sender.
        from: SocketAddr,
        /// When it arrived, if that is known.
        at: Option<Instant>,
        /// Its bytes.
        data: &'a [u8],
    },
    /// The system has accepted a datagram.
    Accepted {
        /// As it was submitted.
        slot: Slot,
        /// As it was submitted.
        to: SocketAddr,
    },
    /// There was no room for a datagram on the way to its address. It is no longer queued.
    Congested {
        /// As it was submitted.
        slot: Slot,
        /// As it was submitted.
        to: SocketAddr,
        /// The system's error number.
        os_error: i32,
    },
    /// The system accepts nothing more on a lane at the moment. This datagram and those after it stay queued.
    Blocked {
        /// As it was submitted.
        slot: Slot,
        /// As it was submitted.
        to: SocketAddr,
    },
    /// A datagram was refused, or an error came for one that had left.
    Failed(Failure),
}

/// An error, and the datagram that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Where the datagram was to go.
    pub to: SocketAddr,
    /// The flight that it was submitted for, if that is known: an error that comes later names an address only.
    pub slot: Option<Slot>,
    /// What went wrong.
    pub cause: Cause,
    /// The host that reported it, if one did and the system says which.
    pub offender: Option<IpAddr>,
}

/// How far everything that arrived has been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// No descriptor is known to have more to give.
    pub drained: bool,
    /// Everything that arrived before this time has been reported; none if the time is no later than it was.
    pub until: Option<Instant>,
}

/// Why a datagram was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The system has accepted nothing on the address's lane for a while, and a batch already waits there.
    Full,
    /// There is no lane for such addresses; the system's error number says why.
    NoLane(i32),
}
