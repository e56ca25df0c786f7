//! One output: a format, its lines that wait, and where they go.

use super::{Destination, OutputError, RowFormat};
use crate::record::ServerRecord;

/// An output of rows.
pub struct Sink {
    format: Box<dyn RowFormat>,
    destination: Destination,
    buffer: Vec<u8>,
    waiting: u64,
    written: u64,
    failed: bool,
}

impl Sink {
    /// Rows in `format` to `destination`.
    #[must_use]
    pub fn new(format: Box<dyn RowFormat>, destination: Destination) -> Self {
        Self { format, destination, buffer: Vec::new(), waiting: 0, written: 0, failed: false }
    }

    /// Adds a row; writes when enough wait. After a failure it takes no more.
    pub fn row(&mut self, record: &ServerRecord) -> Result<(), OutputError> {
        if self.failed {
            return Ok(());
        }
        self.format.row(record);
        self.waiting += 1;
        if self.format.len() >= ENOUGH { self.flush() } else { Ok(()) }
    }

    /// Writes the rows that wait.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        if self.failed || self.format.is_empty() {
            return Ok(());
        }
        self.format.take(&mut self.buffer);
        self.destination.write(&self.buffer).inspect_err(|_| self.failed = true)?;
        self.written += std::mem::take(&mut self.waiting);
        Ok(())
    }

    /// Rows that are at the destination.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Where they are.
    #[must_use]
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Gives a complete file its name.
    pub fn commit(&mut self) -> Result<(), OutputError> {
        self.destination.commit()
    }
}

/// Bytes that are worth a write.
const ENOUGH: usize = 64 << 10;
