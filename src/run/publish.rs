//! The end of a run: outputs get their final names, and metadata are written beside them.

use std::fs;
use std::path::Path;

use super::outcome::Outcome;
use crate::engine::ListEnd;
use crate::input::{Account, FetchedEnd, FilesRead};
use crate::ledger::Ledger;
use crate::net::driver::{self, Stop, read_clocks};
use crate::output::metadata::{self, Metadata, OutputDigest, RawDigest, SettingsInForce, rfc3339};
use crate::output::writer::Report;
use crate::output::{Destination, Epoch, ListReport, NameLog, OutputError, Raw, Sink, partial};
use crate::record::Status;
use crate::target::{Order, Origins};

/// What is known about a run before it starts, for the account at its end.
pub(super) struct Publisher {
    pub epoch: Epoch,
    pub arguments: Vec<String>,
    pub seed: u64,
    pub order: Order,
    pub files: FilesRead,
    /// Where names led.
    pub names: Option<NameLog>,
    pub metadata: Option<Destination>,
    pub settings: SettingsInForce,
    /// What becomes of the input.
    pub account: Account,
    pub origins: Origins,
}

impl Publisher {
    /// Completes the outputs of a run that has come to its end, and writes its metadata.
    pub(super) fn publish(self, ended: driver::Outcome, mut report: Report<'_>) -> Outcome {
        let (now, _) = read_clocks();
        let finished_us = self.epoch.unix_us(now);
        let ends = ListEnd::with_unasked(ended.lists, self.account.list_servers());
        let asked = ends.iter().map(|end| ListReport::asked(end, &self.origins));
        let lists = asked.chain(self.account.fetched_lists().iter().map(FetchedEnd::report)).collect();
        let ledger = Ledger {
            input: self.account.of_ledger(&ended.snapshot),
            targets: ended.snapshot.targets,
            datagrams: ended.snapshot.datagrams,
            rows: report.rows.clone(),
            lists: ListEnd::datagrams(&ends),
            names: self.account.names(),
        };
        let lists_stopped = ends.iter().filter(|list| list.status == Status::Aborted).count() as u64;
        let unfinished = ledger.input.not_started + ledger.rows.status.of(Status::Aborted) + lists_stopped;
        let early = ended.stop.filter(|_| unfinished > 0 || !ended.snapshot.exhausted);
        let mut error = report.error.take();
        let has_ended = early.is_none() && error.is_none();
        // An earlier output must not be replaced by an empty one because nobody wrote the list.
        let is_empty = has_ended && ledger.targets.scheduled + ledger.input.printed == 0;
        if is_empty {
            report.sinks.iter_mut().for_each(|sink| sink.discard());
            report.raw.iter_mut().for_each(Raw::discard);
        } else if has_ended {
            error = commit(&mut report).err();
        }
        if let Some(names) = &self.names {
            let finished = names.finish(has_ended && error.is_none());
            error = error.or(finished.err());
        }
        let is_complete = has_ended && error.is_none() && !is_empty;
        let metadata = Metadata {
            program: metadata::PROGRAM,
            schema: metadata::SCHEMA_VERSION,
            arguments: self.arguments,
            started_at: rfc3339(self.epoch.unix_us),
            finished_at: rfc3339(finished_us),
            seconds: (finished_us - self.epoch.unix_us) as f64 / 1e6,
            stop: describe_stop(early, report.closed, error.is_some()),
            seed: self.seed,
            order: if self.order == Order::Input { "input" } else { "shuffled" },
            inputs: self.files.digests,
            settings: self.settings,
            adapted: ended.adapted,
            sockets: ended.granted,
            outputs: report.sinks.iter().filter_map(|sink| digest(sink.as_ref())).collect(),
            raw: report.raw.as_ref().map(|raw| raw_digest(raw, ended.snapshot.unlogged)),
            lists,
            ledger,
            rtt_ms: report.latency,
        };
        let paths = report.sinks.iter().filter_map(|sink| sink.destination()?.path());
        let mut metadata_error = None;
        if !is_empty {
            let beside = paths.clone().map(metadata::beside).map(|path| Destination::file(&path));
            let mut all = beside.chain(self.metadata.map(Ok));
            metadata_error = all.try_for_each(|to| metadata::write(&metadata, &mut to?)).err();
        }
        if is_complete {
            paths.for_each(remove_leftovers);
        }
        Outcome {
            tally: self.account.tally(),
            stop: early,
            is_empty,
            is_complete,
            is_closed: report.closed,
            error,
            metadata_error,
            metadata,
        }
    }
}

fn commit(report: &mut Report<'_>) -> Result<(), OutputError> {
    report.sinks.iter_mut().try_for_each(|sink| sink.commit())?;
    report.raw.iter_mut().try_for_each(Raw::commit)
}

/// Metadata of an earlier run that stopped describes rows that are no more.
fn remove_leftovers(path: &Path) {
    // It is usually not there.
    let _ = fs::remove_file(metadata::beside(&partial(path)));
}

fn digest(sink: &dyn Sink) -> Option<OutputDigest> {
    let destination = sink.destination()?;
    Some(OutputDigest { name: destination.place(), rows: sink.written(), sha256: destination.sha256() })
}

fn raw_digest(raw: &Raw, left_out: u64) -> RawDigest {
    let destination = raw.destination();
    RawDigest { name: destination.place(), datagrams: raw.written(), left_out, sha256: destination.sha256() }
}

fn describe_stop(early: Option<Stop>, closed: bool, failed: bool) -> String {
    match early {
        Some(_) if closed => "the reader of the output closed it".into(),
        _ if failed => "the output could not be written".into(),
        None => "done".into(),
        Some(Stop::Output) => "the output could not be written".into(),
        Some(Stop::Asked) => "the program asked for it".into(),
        Some(Stop::Signal(number)) => {
            format!("signal {}", signal_hook::low_level::signal_name(number).unwrap_or("unknown"))
        }
    }
}
