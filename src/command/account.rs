//! The account of a run: outputs that take their names, metadata beside them, a summary, and how it ended.

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::say;
use super::summary::Summary;
use crate::config::{self, ScanConfig};
use crate::engine::ListEnd;
use crate::error::{Error, STOPPED};
use crate::ledger::{Input, Ledger};
use crate::net::driver::{Outcome, Stop, read_clocks};
use crate::output::metadata::{self, Metadata, OutputDigest, RawDigest, SettingsInForce, rfc3339};
use crate::output::writer::Report;
use crate::output::{Destination, Epoch, ListReport, OutputError, Raw, Sink, partial};
use crate::record::Status;
use crate::target::{ExclusionReason, Order, Tally};

/// What is known about a run before it starts, for the account at its end.
pub(super) struct About {
    epoch: Epoch,
    arguments: Vec<String>,
    seed: u64,
    order: &'static str,
    digests: Vec<config::InputDigest>,
    metadata: Option<Destination>,
    strict: bool,
    quiet: bool,
    /// Servers of lists are printed and not asked.
    prints_only: bool,
}

impl About {
    /// What is known of a run as `config` says, which began at `epoch`.
    pub(super) fn new(config: &ScanConfig, epoch: Epoch) -> Result<Self, OutputError> {
        Ok(Self {
            epoch,
            arguments: env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
            seed: config.seed,
            order: if config.order == Order::Input { "input" } else { "shuffled" },
            digests: config.digests.clone(),
            metadata: config.metadata.as_deref().map(Destination::named).transpose()?,
            strict: config.strict,
            quiet: config.messages.quiet,
            prints_only: false,
        })
    }

    /// The same of a run that prints the servers of lists and asks none.
    pub(super) fn printing_only(self) -> Self {
        Self { prints_only: true, ..self }
    }

    /// Completes the outputs, writes metadata and summary, and says how the run ended.
    pub(super) fn finish(
        self,
        tally: Tally,
        settings: SettingsInForce,
        outcome: Outcome,
        lists: Vec<ListReport>,
        mut report: Report,
    ) -> Result<ExitCode, Error> {
        let (now, _) = read_clocks();
        let finished_us = self.epoch.unix_us(now);
        let ledger = ledger(tally, &outcome, &report, self.prints_only);
        let lists_stopped = outcome.lists.iter().filter(|list| list.status == Status::Aborted).count() as u64;
        let unfinished = ledger.input.not_started + ledger.rows.status.of(Status::Aborted) + lists_stopped;
        let early = outcome.stop.filter(|_| unfinished > 0 || !outcome.snapshot.exhausted);
        let failed = report.error.take();
        let complete = early.is_none() && failed.is_none();
        // An earlier output must not be replaced by an empty one because nobody wrote the list.
        if ledger.targets.scheduled + ledger.input.printed == 0 && complete {
            report.sinks.iter_mut().for_each(Sink::discard);
            report.raw.iter_mut().for_each(Raw::discard);
            for list in &lists {
                say(list);
            }
            if self.strict && lists.iter().any(|list| !list.complete) {
                return Ok(ExitCode::from(STOPPED));
            }
            return Err(Error::usage(if self.prints_only {
                format!("there is nothing to print: {}", config::what_is_left_out(&tally))
            } else {
                config::why_nothing(&tally)
            }));
        }
        if complete {
            report.sinks.iter_mut().try_for_each(Sink::commit)?;
            report.raw.iter_mut().try_for_each(Raw::commit)?;
        }
        let metadata = Metadata {
            program: metadata::PROGRAM,
            schema: metadata::SCHEMA_VERSION,
            arguments: self.arguments,
            started_at: rfc3339(self.epoch.unix_us),
            finished_at: rfc3339(finished_us),
            seconds: (finished_us - self.epoch.unix_us) as f64 / 1e6,
            stop: describe_stop(early, report.closed, failed.is_some()),
            seed: self.seed,
            order: self.order,
            inputs: self.digests,
            settings,
            adapted: outcome.adapted,
            sockets: outcome.granted,
            outputs: report.sinks.iter().map(digest).collect(),
            raw: report.raw.as_ref().map(|raw| raw_digest(raw, outcome.snapshot.unlogged)),
            lists,
            ledger,
            rtt_ms: report.latency,
        };
        let beside = report.sinks.iter().filter_map(|sink| sink.destination().path()).map(metadata::beside);
        let written = beside
            .map(|path| Destination::file(&path))
            .chain(self.metadata.map(Ok))
            .try_for_each(|destination| metadata::write(&metadata, &mut destination?));
        if complete {
            report.sinks.iter().filter_map(|sink| sink.destination().path()).for_each(remove_leftovers);
        }
        if !self.quiet {
            say(&Summary { metadata: &metadata, prints_only: self.prints_only });
        }
        let imbalances = metadata.ledger.check();
        if !imbalances.is_empty() {
            let all: Vec<_> = imbalances.iter().map(ToString::to_string).collect();
            return Err(Error::Ledger(all.join("; ")));
        }
        if let Some(error) = failed {
            return Err(Error::OutputLost { error, safe: what_is_safe(&report.sinks) });
        }
        written?;
        let lists_lack = self.strict && metadata.lists.iter().any(|list| !list.complete);
        Ok(if lists_lack || (early.is_some() && !report.closed) { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
    }
}

/// Metadata of an earlier run that stopped describes rows that are no more.
fn remove_leftovers(path: &Path) {
    // It is usually not there.
    let _ = fs::remove_file(metadata::beside(&partial(path)));
}

fn ledger(tally: Tally, outcome: &Outcome, report: &Report, prints_only: bool) -> Ledger {
    let printed = if prints_only { report.rows.written + report.rows.unwritten } else { 0 };
    Ledger {
        input: Input {
            read: tally.read,
            invalid: tally.invalid,
            duplicate: tally.duplicate,
            excluded_reserved: tally.excluded[ExclusionReason::Reserved],
            excluded_private: tally.excluded[ExclusionReason::Private],
            excluded_listed: tally.excluded[ExclusionReason::Listed],
            not_started: outcome.snapshot.not_started,
            printed,
        },
        targets: outcome.snapshot.targets,
        datagrams: outcome.snapshot.datagrams,
        rows: report.rows.clone(),
        lists: ListEnd::datagrams(&outcome.lists),
    }
}

fn digest(sink: &Sink) -> OutputDigest {
    let destination = sink.destination();
    OutputDigest { name: destination.place(), rows: sink.written(), sha256: destination.sha256() }
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
        Some(Stop::Signal(number)) => {
            format!("signal {}", signal_hook::low_level::signal_name(number).unwrap_or("unknown"))
        }
    }
}

fn what_is_safe(sinks: &[Sink]) -> String {
    let all: Vec<_> = sinks
        .iter()
        .map(|sink| format!("{} rows are safe in {}", sink.written(), sink.destination().place()))
        .collect();
    all.join(", ")
}
