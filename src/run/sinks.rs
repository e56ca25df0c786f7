//! Records for the program that runs the scan.

use crate::output::{OutputError, Sink};
use crate::record::ServerRecord;

/// Calls a closure with each record.
pub struct ForEach<F> {
    call: F,
    records: u64,
}

impl<F: FnMut(&ServerRecord) + Send> ForEach<F> {
    /// Calls `call`, on the writer's thread.
    pub const fn new(call: F) -> Self {
        Self { call, records: 0 }
    }
}

impl<F: FnMut(&ServerRecord) + Send> Sink for ForEach<F> {
    fn record(&mut self, record: &ServerRecord) -> Result<(), OutputError> {
        (self.call)(record);
        self.records += 1;
        Ok(())
    }

    fn written(&self) -> u64 {
        self.records
    }
}
