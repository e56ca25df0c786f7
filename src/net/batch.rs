//! How datagrams cross the system's border: one interface, Linux's form of it with up to 64 datagrams a call, and its
//! portable twin with one.

use std::io;
use std::net::SocketAddr;

use mio::net::UdpSocket;

use super::BATCH;
use super::options::IoPath;
use super::queue::Outgoing;
use super::sys;

/// Sends and receives on nonblocking sockets.
pub(crate) trait DatagramIo {
    /// Sends the first datagrams of `outgoing` and says how many left. An error is about the first datagram, and means
    /// that none left.
    fn send(&mut self, socket: &UdpSocket, outgoing: &Outgoing) -> io::Result<usize>;

    /// Receives at least one datagram and gives each to `take`; `WouldBlock` when none waits. Says how many.
    fn receive(&mut self, socket: &UdpSocket, take: &mut dyn FnMut(SocketAddr, &[u8])) -> io::Result<usize>;
}

/// What sends and receives as `path` says.
#[must_use]
pub(crate) fn open(path: IoPath) -> Box<dyn DatagramIo + Send> {
    match path {
        IoPath::Mmsg => Box::new(Mmsg::new()),
        IoPath::Portable => Box::new(Portable::new()),
    }
}

/// Up to [`BATCH`] datagrams a system call.
pub(crate) struct Mmsg {
    send: sys::SendBatch,
    receive: sys::ReceiveBatch,
}

impl Mmsg {
    /// With slots for the largest datagrams there are.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { send: sys::SendBatch::new(BATCH), receive: sys::ReceiveBatch::new(BATCH, LARGEST, false) }
    }
}

impl Default for Mmsg {
    fn default() -> Self {
        Self::new()
    }
}

impl DatagramIo for Mmsg {
    fn send(&mut self, socket: &UdpSocket, outgoing: &Outgoing) -> io::Result<usize> {
        let datagrams = outgoing.iter().map(|(_, to, data)| (to, None, data));
        socket.try_io(|| self.send.send(socket, datagrams))
    }

    fn receive(&mut self, socket: &UdpSocket, take: &mut dyn FnMut(SocketAddr, &[u8])) -> io::Result<usize> {
        socket.try_io(|| self.receive.receive(socket, &mut |from, _, data| take(from, data)))
    }
}

/// One datagram a system call, with nothing but the standard library's calls.
pub(crate) struct Portable {
    slot: Box<[u8]>,
}

impl Portable {
    /// With room for the largest datagram there is.
    #[must_use]
    pub(crate) fn new() -> Self {
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
            Some((_, to, data)) => socket.send_to(data, to).map(|_| 1),
            None => Ok(0),
        }
    }

    fn receive(&mut self, socket: &UdpSocket, take: &mut dyn FnMut(SocketAddr, &[u8])) -> io::Result<usize> {
        let (size, from) = socket.recv_from(&mut self.slot)?;
        take(from, &self.slot[..size]);
        Ok(1)
    }
}

/// Bytes of the largest UDP datagram; some games send 8 KB and more in one.
pub(crate) const LARGEST: usize = 65_535;
