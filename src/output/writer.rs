//! The writer: takes batches of finished flights, decodes them, and gives their records to the sinks.
//!
//! It is the only place where answers are decoded, so that the loop never waits for a string. When a sink fails, the run
//! is told to stop; what still comes goes to the others.

use super::{Assembler, Filter, OutputError, Raw, Sink};
use crate::engine::Batch;
use crate::ledger::{Latency, Rows};
use crate::record::ServerRecord;

/// Takes the batches of a run, on a thread of its own.
pub(crate) trait Consumer: Send {
    /// What is known when the last batch was taken.
    type Report: Send;

    /// Takes a batch.
    fn take(&mut self, batch: &Batch);

    /// Writes what waits; called about once a second.
    fn flush(&mut self) {}

    /// Ends, after the last batch.
    fn finish(self) -> Self::Report;
}

/// What the writer did.
pub(crate) struct Report<'a> {
    /// Counts of rows.
    pub rows: Rows,
    /// Round-trip times of all that answered.
    pub latency: Latency,
    /// The sinks, for [`Sink::commit`].
    pub sinks: Vec<Box<dyn Sink + 'a>>,
    /// The file of datagrams, if there is one.
    pub raw: Option<Raw>,
    /// The output that failed.
    pub error: Option<OutputError>,
    /// Every sink is closed.
    pub closed: bool,
}

/// Makes records of finished flights.
pub(crate) struct Writer<'a> {
    assembler: Assembler,
    filter: Filter,
    failed: Option<Box<dyn FnOnce() + Send>>,
    record: ServerRecord,
    /// Records that were given to the sinks, whether or not they could take them.
    given: u64,
    report: Report<'a>,
}

impl<'a> Writer<'a> {
    /// Gives records for which `filter` holds to `sinks`, and datagrams to `raw`. Calls `failed` once when nothing can
    /// be written any more, or nobody wants more.
    #[must_use]
    pub(crate) fn new(
        assembler: Assembler,
        filter: Filter,
        sinks: Vec<Box<dyn Sink + 'a>>,
        raw: Option<Raw>,
        failed: impl FnOnce() + Send + 'static,
    ) -> Self {
        Self {
            assembler,
            filter,
            failed: Some(Box::new(failed)),
            record: ServerRecord::new(),
            given: 0,
            report: Report { rows: Rows::default(), latency: Latency::new(), sinks, raw, error: None, closed: false },
        }
    }

    /// Calls `act` on every sink. When one fails, or the last one is closed, the run ends; what still comes is given to
    /// the others.
    fn each_sink(&mut self, mut act: impl FnMut(&mut dyn Sink) -> Result<(), OutputError>) {
        for sink in &mut self.report.sinks {
            if let Err(error) = act(sink.as_mut()) {
                self.report.error.get_or_insert(error);
            }
        }
        let sinks = &self.report.sinks;
        self.report.closed = !sinks.is_empty() && sinks.iter().all(|sink| sink.is_closed());
        self.end_if_there_is_no_use();
    }

    /// Does `act` on the file of datagrams.
    fn raw(&mut self, act: impl FnOnce(&mut Raw) -> Result<(), OutputError>) {
        if let Some(Err(error)) = self.report.raw.as_mut().map(act) {
            self.report.error.get_or_insert(error);
            self.end_if_there_is_no_use();
        }
    }

    fn give(&mut self, record: &ServerRecord) {
        self.given += 1;
        self.each_sink(|sink| sink.record(record));
    }

    fn end_if_there_is_no_use(&mut self) {
        if (self.report.error.is_some() || self.report.closed)
            && let Some(failed) = self.failed.take()
        {
            failed();
        }
    }
}

impl<'a> Consumer for Writer<'a> {
    type Report = Report<'a>;

    fn take(&mut self, batch: &Batch) {
        let epoch = self.assembler.epoch;
        self.raw(|raw| raw.take(batch, &epoch));
        let mut answers = Vec::new();
        let mut record = std::mem::take(&mut self.record);
        for finished in batch.iter() {
            self.assembler.assemble(batch, finished, &mut answers, &mut record);
            let rows = &mut self.report.rows;
            rows.status.add(record.status);
            rows.sent += u64::from(record.sent);
            rows.received += u64::from(record.received);
            if let Some(us) = record.rtt_us {
                self.report.latency.record(us);
            }
            if self.filter.holds(&record) {
                self.give(&record);
            } else {
                self.report.rows.withheld += 1;
            }
        }
        for target in batch.printed() {
            self.assembler.name(*target, &mut record);
            self.give(&record);
        }
        self.record = record;
    }

    fn flush(&mut self) {
        self.raw(Raw::flush);
        self.each_sink(|sink| sink.flush());
    }

    fn finish(mut self) -> Report<'a> {
        self.flush();
        let Report { sinks, closed, rows, .. } = &mut self.report;
        // A row counts as written when it is in every output whose reader wanted all of them.
        let wanted = sinks.iter().filter(|sink| *closed || !sink.is_closed());
        rows.written = wanted.map(|sink| sink.written()).min().unwrap_or(self.given);
        rows.unwritten = self.given - rows.written;
        self.report
    }
}
