//! The raw output: the datagrams of a scan as they came, in a file that `fragscan decode`, Wireshark and tcpdump read.

use std::net::SocketAddr;

use super::{Destination, Epoch, OutputError};
use crate::capture::raw;
use crate::engine::{Batch, Direction, Logged};
use crate::record::QuerySet;

/// Writes datagrams as pcapng.
pub(crate) struct Raw {
    destination: Destination,
    /// Our addresses: that of the IPv4 socket and that of the IPv6 socket.
    local: [SocketAddr; 2],
    buffer: Vec<u8>,
    waiting: u64,
    written: u64,
    failed: bool,
}

impl Raw {
    /// Datagrams to `destination` of a scan for `queries` from `local` (an IPv4 and an IPv6 address).
    #[must_use]
    pub(crate) fn new(destination: Destination, local: [SocketAddr; 2], queries: QuerySet) -> Self {
        let mut buffer = Vec::new();
        raw::put_header(&mut buffer, &queries.to_string());
        Self { destination, local, buffer, waiting: 0, written: 0, failed: false }
    }

    /// Adds the datagrams of `batch`; writes when enough wait. After a failure it takes no more.
    pub(crate) fn take(&mut self, batch: &Batch, epoch: &Epoch) -> Result<(), OutputError> {
        for Logged { direction, server, at, data } in batch.logged() {
            let us = self.local[usize::from(server.is_ipv6())];
            let (from, to) = if direction == Direction::Sent { (us, server) } else { (server, us) };
            raw::put_datagram(&mut self.buffer, epoch.unix_us(at), from, to, data);
            self.waiting += 1;
        }
        if self.buffer.len() >= ENOUGH { self.flush() } else { Ok(()) }
    }

    /// Writes what waits, in whole blocks.
    pub(crate) fn flush(&mut self) -> Result<(), OutputError> {
        if self.failed || self.buffer.is_empty() {
            self.buffer.clear();
            return Ok(());
        }
        let result = self.destination.write(&self.buffer);
        self.buffer.clear();
        self.failed = result.is_err();
        if result.is_ok() {
            self.written += std::mem::take(&mut self.waiting);
        }
        result
    }

    /// Datagrams that are at the destination.
    #[must_use]
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Where they are.
    #[must_use]
    pub(crate) fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Leaves nothing behind of a file that holds nothing.
    pub(crate) fn discard(&mut self) {
        self.destination.discard();
    }

    /// Gives a complete file its name.
    pub(crate) fn commit(&mut self) -> Result<(), OutputError> {
        self.destination.commit()
    }
}

/// Bytes that are worth a write.
const ENOUGH: usize = 256 << 10;
