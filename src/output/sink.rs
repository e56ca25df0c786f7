//! One output: a format, its lines that wait, and where they go.

use std::io::ErrorKind;

use super::{Destination, OutputError, RowFormat};
use crate::record::ServerRecord;

/// An output of rows.
pub struct Sink {
    format: Box<dyn RowFormat>,
    destination: Destination,
    buffer: Vec<u8>,
    waiting: u64,
    written: u64,
    state: State,
}

/// Whether an output takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does.
    Open,
    /// Whoever read it has closed it: a pipe to a program that has seen enough.
    Closed,
    /// It failed.
    Failed,
}

impl Sink {
    /// Rows in `format` to `destination`.
    #[must_use]
    pub fn new(format: Box<dyn RowFormat>, destination: Destination) -> Self {
        Self { format, destination, buffer: Vec::new(), waiting: 0, written: 0, state: State::Open }
    }

    /// Adds a row; writes when enough wait. After a failure it takes no more.
    pub fn row(&mut self, record: &ServerRecord) -> Result<(), OutputError> {
        if self.state != State::Open {
            return Ok(());
        }
        self.format.row(record);
        self.waiting += 1;
        if self.format.len() >= ENOUGH { self.flush() } else { Ok(()) }
    }

    /// Writes the rows that wait. A reader that has closed its end is no error.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        if self.state != State::Open || self.format.is_empty() {
            return Ok(());
        }
        self.format.take(&mut self.buffer);
        if let Err(error) = self.destination.write(&self.buffer) {
            let closed = error.source.kind() == ErrorKind::BrokenPipe;
            self.state = if closed { State::Closed } else { State::Failed };
            return if closed { Ok(()) } else { Err(error) };
        }
        self.written += std::mem::take(&mut self.waiting);
        Ok(())
    }

    /// True if its reader has closed the other end.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    /// Whether it takes rows.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
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

    /// Leaves nothing behind of a file that holds nothing.
    pub fn discard(&mut self) {
        self.destination.discard();
    }

    /// Gives a complete file its name.
    pub fn commit(&mut self) -> Result<(), OutputError> {
        self.destination.commit()
    }
}

/// Bytes that are worth a write.
const ENOUGH: usize = 64 << 10;
