//! `fragscan scan`: ask many servers, write one row for each, and account for all of them.

use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::mem;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use crossbeam_channel::after;

use super::progress::Progress;
use super::summary::Summary;
use super::{print, say, session};
use crate::cli::ScanArgs;
use crate::config::{self, Colour, Output, Prepared, ScanConfig};
use crate::engine::{ListEnd, Plan};
use crate::error::{Error, STOPPED};
use crate::farm::FarmSettings;
use crate::farm::serve::{self, Serving};
use crate::ledger::{Input, Ledger};
use crate::net::driver::{Outcome, Stop, read_clocks};
use crate::output::metadata::{self, Metadata, OutputDigest, RawDigest, SettingsInForce, rfc3339};
use crate::output::table::Look;
use crate::output::writer::Report;
use crate::output::{Destination, Epoch, ListReport, OutputError, Raw, Sink, partial};
use crate::record::Status;
use crate::target::{Order, Reason, Tally, Target};

/// Scans what was typed.
pub(super) fn run(args: ScanArgs) -> Result<ExitCode, Error> {
    let (instant, unix_us) = read_clocks();
    let epoch = Epoch { instant, unix_us };
    let mut config = config::scan(args, unix_us.unsigned_abs())?;
    complain(&config);
    let farm = config.farm.map(start_farm).transpose()?;
    if config.dry_run {
        for list in config.forget_lists() {
            // A name may end in a colon itself.
            let list = list.trim_end_matches(':');
            say(&format_args!("list {list}: not asked in a dry run; fragscan list prints its servers"));
        }
        return list(config.prepare(farm.as_ref().map(Serving::servers), |line| say(line))?);
    }
    let sinks = config.outputs.iter().map(|output| open(output, &config)).collect::<Result<Vec<_>, _>>()?;
    let raw = config.raw.as_deref().map(Destination::named).transpose()?;
    let about = About::new(&config, epoch)?;
    let filter = mem::take(&mut config.filter);
    let (shown, verbose) = (progress(&config), config.messages.verbose);
    let (local, io) = (mem::take(&mut config.local), config.io);
    let mut prepared = config.prepare(farm.as_ref().map(Serving::servers), |line| say(line))?;
    let mut progress = shown(instant);
    if verbose {
        progress = progress.with_oddities();
    }
    let in_force = SettingsInForce::new(&prepared.settings, io.as_str());
    let (fetched, origins) = (Arc::clone(&prepared.fetched), prepared.origins.clone());
    let tally = Arc::clone(&prepared.tally);
    let tally = move || *tally.lock().unwrap_or_else(PoisonError::into_inner);
    let unaskable = tally().invalid - about.bad_lines;
    if unaskable > 0 {
        say(&config::why_unaskable(unaskable));
    }
    let list_servers = mem::take(&mut prepared.list_servers);
    let (mut outcome, report) = session::run(prepared, filter, sinks, raw, epoch, (&local, io), &mut progress)?;
    drop(progress);
    drop(farm);
    outcome.lists = ListEnd::with_unasked(outcome.lists, &list_servers);
    let lists = ListReport::all(&outcome.lists, &fetched, &origins);
    about.finish(tally(), in_force, outcome, lists, report)
}

/// What is known about a run before it starts, for the account at its end.
pub(super) struct About {
    epoch: Epoch,
    arguments: Vec<String>,
    seed: u64,
    order: &'static str,
    digests: Vec<config::InputDigest>,
    metadata: Option<Destination>,
    bad_lines: u64,
    strict: bool,
    quiet: bool,
    /// Servers of lists are printed and not asked.
    prints_only: bool,
}

impl About {
    pub(super) fn new(config: &ScanConfig, epoch: Epoch) -> Result<Self, OutputError> {
        Ok(Self {
            epoch,
            arguments: env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
            seed: config.seed,
            order: if config.order == Order::Input { "input" } else { "shuffled" },
            digests: config.digests.clone(),
            metadata: config.metadata.as_deref().map(Destination::named).transpose()?,
            bad_lines: config.bad_lines,
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
            excluded_reserved: tally.excluded[Reason::Reserved],
            excluded_private: tally.excluded[Reason::Private],
            excluded_listed: tally.excluded[Reason::Listed],
            not_started: outcome.snapshot.not_started,
            printed,
        },
        targets: outcome.snapshot.targets,
        datagrams: outcome.snapshot.datagrams,
        rows: report.rows.clone(),
        lists: ListEnd::datagrams(&outcome.lists),
    }
}

/// Prints the targets instead of asking them.
fn list(prepared: Prepared) -> Result<ExitCode, Error> {
    let mut targets = prepared.targets;
    print(|out| {
        loop {
            match targets.poll_target() {
                Poll::Ready(Some(Target { address, plan, .. })) => {
                    match protocol_word(&prepared.plans[usize::from(plan)]) {
                        Some(word) => writeln!(out, "{word}://{address}")?,
                        None => writeln!(out, "{address}")?,
                    }
                }
                Poll::Ready(None) => return Ok(()),
                // Names are being resolved, or somebody is still writing.
                Poll::Pending => drop(after(A_WHILE).recv()),
            }
            while let Some(name) = targets.poll_unresolved() {
                let text = prepared.origins.find(name.origin).and_then(|origin| origin.text);
                say(&format_args!("{} cannot be resolved", text.as_deref().unwrap_or("a name")));
            }
        }
    })
}

/// The protocol that a target has to name to be asked in as `plan` has it; none if it is the default one, or a game's.
fn protocol_word(plan: &Plan) -> Option<&'static str> {
    let protocol = plan.legs.first()?.protocol;
    match plan.legs.len() {
        1 => Some(protocol.spec().name).filter(|name| *name != config::DEFAULT_PROTOCOL),
        _ => (!plan.speaks_only(protocol)).then_some(config::AUTO),
    }
}

/// How the run is shown: not at all where rows go to the same terminal, which a bar would spoil.
fn progress(config: &ScanConfig) -> fn(Instant) -> Progress {
    let rows_on_terminal = io::stdout().is_terminal() && config.outputs.iter().any(|output| output.path.is_none());
    if config.messages.quiet {
        Progress::quiet
    } else if io::stderr().is_terminal() && !rows_on_terminal {
        Progress::bar
    } else if config.messages.progress {
        Progress::lines
    } else {
        Progress::quiet
    }
}

fn complain(config: &ScanConfig) {
    for complaint in &config.complaints {
        say(complaint);
    }
    let more = config.bad_lines - config.complaints.len() as u64;
    if more > 0 {
        say(&config::more_lines(more));
    }
}

/// Starts simulated servers, on the usual port if it is free.
pub(super) fn start_farm(settings: FarmSettings) -> Result<Serving, Error> {
    Ok(serve::start(settings, Some(FARM_PORT)).or_else(|_| serve::start(settings, None))?)
}

pub(super) fn open(output: &Output, config: &ScanConfig) -> Result<Sink, OutputError> {
    let destination = Destination::named(output.path.as_deref().unwrap_or(Path::new("-")))?;
    let look = look(config.colour, output.path.is_none());
    Ok(Sink::new(output.format.writer(config.selection.as_ref(), look), destination))
}

/// How tables look: as wide as the terminal, where there is one.
fn look(colour: Colour, to_stdout: bool) -> Look {
    let terminal = to_stdout && io::stdout().is_terminal();
    let size = terminal_size::terminal_size().filter(|_| terminal);
    let colour = match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    Look { width: size.map_or(USUAL_WIDTH, |(width, _)| width.0.into()), colour }
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

/// How soon a source that had nothing is asked again.
const A_WHILE: Duration = Duration::from_millis(10);
/// Width of a table that is not for a terminal.
const USUAL_WIDTH: usize = 120;
const FARM_PORT: u16 = 27_015;
