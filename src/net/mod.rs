//! Sockets and the clock: everything that happens outside of the engine's bytes and times.

use std::io;
use std::net::SocketAddr;

mod batch;
pub(crate) mod driver;
mod lane;
pub mod options;
pub(crate) mod queue;
pub(crate) mod resolver;
pub(crate) mod socket;
pub(crate) mod sys;
pub(crate) mod transport;
pub(crate) mod turn;
pub(crate) mod udp;

/// A system call that failed: what was being done, to what, and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {subject}: {source}{}", advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default())]
pub struct Error {
    operation: &'static str,
    subject: String,
    source: io::Error,
    advice: Option<String>,
}

impl Error {
    /// The failure of `operation` on `address`.
    #[must_use]
    pub(crate) fn new(operation: &'static str, address: SocketAddr, source: io::Error) -> Self {
        Self { operation, subject: address.to_string(), source, advice: None }
    }

    /// The system's error number, if it was the system that failed.
    #[must_use]
    pub fn os_error(&self) -> Option<i32> {
        self.source.raw_os_error()
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// The failure of `operation` on something that has no address.
    #[must_use]
    pub(crate) fn on(operation: &'static str, subject: &str, source: io::Error) -> Self {
        Self { operation, subject: subject.to_owned(), source, advice: None }
    }

    /// The same, with what to do about it.
    #[must_use]
    pub(crate) fn advising(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// Datagrams of a batch: enough to share the cost of a call, few enough to read between batches.
pub(crate) const BATCH: usize = 64;
