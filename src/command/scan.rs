//! `fragscan scan`: ask many servers, write one row for each, and account for all of them.

use std::env;
use std::io::{self, IsTerminal};
use std::mem;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use crossbeam_channel::after;

use super::account::About;
use super::progress::Progress;
use super::{print, say, session};
use crate::cli::ScanArgs;
use crate::config::{self, Colour, Output, Prepared, ScanConfig};
use crate::engine::{ListEnd, Plan};
use crate::error::Error;
use crate::farm::FarmSettings;
use crate::farm::serve::{self, Serving};
use crate::net::driver::read_clocks;
use crate::output::metadata::SettingsInForce;
use crate::output::table::Look;
use crate::output::{Destination, Epoch, ListReport, OutputError, Sink};
use crate::target::Target;

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
    let bad_lines = config.bad_lines;
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
    let unaskable = tally().invalid - bad_lines;
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

/// How soon a source that had nothing is asked again.
const A_WHILE: Duration = Duration::from_millis(10);
/// Width of a table that is not for a terminal.
const USUAL_WIDTH: usize = 120;
const FARM_PORT: u16 = 27_015;
