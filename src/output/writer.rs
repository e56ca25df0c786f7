//! The writer thread: takes batches of finished flights, decodes them, and writes their rows.
//!
//! It is the only place where answers are decoded, so that the loop never waits for a string. Rows are written when
//! enough wait, and at least once a second. When an output fails, the run is told to stop; what still comes goes to the
//! others.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, select, tick};

use super::sink::State;
use super::{Assembler, Filter, OutputError, Raw, Sink};
use crate::engine::Batch;
use crate::ledger::{Latency, Rows};
use crate::record::ServerRecord;

/// What the writer did.
pub struct Report {
    /// Counts of rows.
    pub rows: Rows,
    /// Round-trip times of all that answered.
    pub latency: Latency,
    /// The outputs, for [`Sink::commit`].
    pub sinks: Vec<Sink>,
    /// The file of datagrams, if there is one.
    pub raw: Option<Raw>,
    /// The output that failed.
    pub error: Option<OutputError>,
    /// Every output's reader has closed its end.
    pub closed: bool,
}

impl Report {
    /// Says how many of the rows that were `given` to the outputs are written.
    pub fn count(&mut self, given: u64) {
        // A row counts as written when it is in every output whose reader wanted all of them.
        let wanted = self.sinks.iter().filter(|sink| self.closed || sink.state() != State::Closed);
        self.rows.written = wanted.map(Sink::written).min().unwrap_or(0);
        self.rows.unwritten = given - self.rows.written;
    }
}

/// Starts the thread: rows for which `filter` holds go to `sinks`, and datagrams to `raw`. It ends when the channel of
/// `batches` is closed; `failed` is called once when an output fails.
#[must_use]
pub fn spawn(
    assembler: Assembler,
    filter: Filter,
    sinks: Vec<Sink>,
    raw: Option<Raw>,
    batches: Receiver<Batch>,
    returned: Sender<Batch>,
    failed: impl FnOnce() + Send + 'static,
) -> JoinHandle<Report> {
    let mut writer = Writer {
        assembler,
        filter,
        failed: Some(Box::new(failed)),
        record: ServerRecord::new(),
        made: 0,
        report: Report { rows: Rows::default(), latency: Latency::new(), sinks, raw, error: None, closed: false },
    };
    thread::spawn(move || {
        let flush = tick(FLUSH_EVERY);
        loop {
            select! {
                recv(batches) -> batch => match batch {
                    Ok(batch) => {
                        writer.write(&batch);
                        // The loop may be gone, or have enough; then the batch is dropped.
                        let _ = returned.try_send(batch);
                    }
                    Err(_) => return writer.finish(),
                },
                recv(flush) -> _ => writer.flush(),
            }
        }
    })
}

struct Writer {
    assembler: Assembler,
    filter: Filter,
    failed: Option<Box<dyn FnOnce() + Send>>,
    record: ServerRecord,
    /// Rows that were made, whether or not they could be written.
    made: u64,
    report: Report,
}

impl Writer {
    fn write(&mut self, batch: &Batch) {
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
            self.made += 1;
            if self.filter.holds(&record) {
                self.each_sink(|sink| sink.row(&record));
            } else {
                self.report.rows.withheld += 1;
            }
        }
        self.record = record;
    }

    /// Does `act` on every sink. When one fails, or nobody reads the last one any more, the run ends; what still comes
    /// is written to the others.
    fn each_sink(&mut self, mut act: impl FnMut(&mut Sink) -> Result<(), OutputError>) {
        for sink in &mut self.report.sinks {
            if let Err(error) = act(sink) {
                self.report.error.get_or_insert(error);
            }
        }
        self.report.closed = self.report.sinks.iter().all(|sink| sink.state() == State::Closed);
        self.end_if_there_is_no_use();
    }

    /// Does `act` on the file of datagrams.
    fn raw(&mut self, act: impl FnOnce(&mut Raw) -> Result<(), OutputError>) {
        if let Some(Err(error)) = self.report.raw.as_mut().map(act) {
            self.report.error.get_or_insert(error);
            self.end_if_there_is_no_use();
        }
    }

    fn flush(&mut self) {
        self.raw(Raw::flush);
        self.each_sink(Sink::flush);
    }

    fn end_if_there_is_no_use(&mut self) {
        if (self.report.error.is_some() || self.report.closed)
            && let Some(failed) = self.failed.take()
        {
            failed();
        }
    }

    fn finish(mut self) -> Report {
        self.flush();
        self.report.count(self.made - self.report.rows.withheld);
        self.report
    }
}

/// Rows wait no longer than this.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
