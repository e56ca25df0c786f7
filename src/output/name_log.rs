//! Where names led: a table with one line for each address of a name, and for each name without one.
//!
//! A row of the scan has the name that led to its target first. Two names may lead to one server, or a name to an address
//! that is among the targets itself; by this table they find their row.

use std::fmt::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Destination, OutputError};
use crate::target::NameError;

/// The table; clones are the same one.
#[derive(Clone)]
pub(crate) struct NameLog(Arc<Mutex<Log>>);

struct Log {
    destination: Destination,
    lines: String,
    error: Option<OutputError>,
}

impl NameLog {
    /// A table that is written to `destination`.
    #[must_use]
    pub(crate) fn new(destination: Destination) -> Self {
        Self(Arc::new(Mutex::new(Log { destination, lines: HEADER.into(), error: None })))
    }

    /// Adds that `name` led to these addresses, and its service to a `port`.
    pub(crate) fn found(&self, name: &str, ips: &[IpAddr], port: Option<u16>) {
        let port = port.map(|port| port.to_string()).unwrap_or_default();
        self.add(|lines| ips.iter().try_for_each(|ip| writeln!(lines, "{name},{ip},{port},")));
    }

    /// Adds that `name` led nowhere.
    pub(crate) fn failed(&self, name: &str, error: NameError) {
        self.add(|lines| writeln!(lines, "{name},,,{error}"));
    }

    /// Writes what is left, and gives the file its name if the run `is_complete`.
    pub(crate) fn finish(&self, is_complete: bool) -> Result<(), OutputError> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.write();
        match log.error.take() {
            Some(error) => Err(error),
            None if is_complete => log.destination.commit(),
            None => Ok(()),
        }
    }

    /// Names are made of letters, digits, hyphens and dots, so that no cell needs quotes.
    fn add(&self, write: impl FnOnce(&mut String) -> std::fmt::Result) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A string takes everything.
        let _ = write(&mut log.lines);
        if log.lines.len() >= FULL {
            log.write();
        }
    }
}

impl Log {
    fn write(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        if self.error.is_none() && !lines.is_empty() {
            self.error = self.destination.write(lines.as_bytes()).err();
        }
    }
}

const HEADER: &str = "name,ip,port,error\n";
/// Bytes that are written at once.
const FULL: usize = 64 << 10;
