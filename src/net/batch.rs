//! How datagrams cross the system's border: one interface, and its portable form with one datagram a call.

use std::io;
use std::net::SocketAddr;

use mio::net::UdpSocket;

/// Sends and receives on nonblocking sockets.
pub trait DatagramIo {
    /// Sends the first datagrams of `outgoing` that are meant for `socket`'s family, and says how many left. An error
    /// is about the first datagram, and means that none left.
    fn send(&mut self, socket: &UdpSocket, outgoing: &Outgoing) -> io::Result<usize>;

    /// Receives at least one datagram and gives each to `take`; `WouldBlock` when none waits. Says how many.
    fn receive(&mut self, socket: &UdpSocket, take: &mut dyn FnMut(SocketAddr, &[u8])) -> io::Result<usize>;
}

/// One datagram a system call, with nothing but the standard library's calls.
pub struct Portable {
    slot: Box<[u8]>,
}

impl Portable {
    /// With room for the largest datagram there is.
    #[must_use]
    pub fn new() -> Self {
        Self { slot: vec![0; LARGEST].into() }
    }
}

impl Default for Portable {
    fn default() -> Self {
        Self::new()
    }
}

impl DatagramIo for Portable {
    fn send(&mut self, socket: &UdpSocket, outgoing: &Outgoing) -> io::Result<usize> {
        match outgoing.front() {
            Some((to, data)) => socket.send_to(data, to).map(|_| 1),
            None => Ok(0),
        }
    }

    fn receive(&mut self, socket: &UdpSocket, take: &mut dyn FnMut(SocketAddr, &[u8])) -> io::Result<usize> {
        let (size, from) = socket.recv_from(&mut self.slot)?;
        take(from, &self.slot[..size]);
        Ok(1)
    }
}

/// Datagrams that wait to be sent, in order. They stay until the kernel has taken them.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// Where each goes, and where it ends in `bytes`.
    ends: Vec<(SocketAddr, usize)>,
    sent: usize,
}

impl Outgoing {
    /// The buffer to append the next datagram to; [`Outgoing::push`] says where it goes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// What was appended since the last push is a datagram for `to`.
    pub fn push(&mut self, to: SocketAddr) {
        self.ends.push((to, self.bytes.len()));
    }

    /// The first datagram that has not left.
    #[must_use]
    pub fn front(&self) -> Option<(SocketAddr, &[u8])> {
        let &(to, end) = self.ends.get(self.sent)?;
        let start = self.sent.checked_sub(1).map_or(0, |last| self.ends[last].1);
        Some((to, &self.bytes[start..end]))
    }

    /// The first `count` have left, or never will.
    pub fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.ends.len() {
            self.bytes.clear();
            self.ends.clear();
            self.sent = 0;
        }
    }

    /// True when nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// True when a whole batch waits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.ends.len() >= BATCH
    }
}

/// Datagrams of a batch: enough to share the cost of a call, few enough to read between batches.
pub const BATCH: usize = 64;
/// Bytes of the largest UDP datagram; some games send 8 KB and more in one.
pub const LARGEST: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_leave_in_order_and_stay_until_they_have() {
        let mut outgoing = Outgoing::default();
        let to = |port| SocketAddr::from(([127, 0, 0, 1], port));
        for port in 1..=3 {
            outgoing.buffer().extend(std::iter::repeat_n(port as u8, usize::from(port)));
            outgoing.push(to(port));
        }
        assert_eq!(outgoing.front(), Some((to(1), &[1][..])));
        outgoing.advance(1);
        assert_eq!(outgoing.front(), Some((to(2), &[2, 2][..])));
        assert_eq!(outgoing.front(), Some((to(2), &[2, 2][..])));
        outgoing.advance(2);
        assert!(outgoing.is_empty() && outgoing.front().is_none());
    }
}
