//! `fragscan scan`: ask many servers, write one row for each, and account for all of them.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::task::Poll;
use std::time::Duration;

use crossbeam_channel::after;

use super::account;
use super::progress::Progress;
use super::signals::Watching;
use super::summary::Manner;
use super::{print, say};
use crate::cli::ScanArgs;
use crate::cli::choice::Color;
use crate::config::{self, AUTO, Messages, Output, ScanConfig, usual_protocol};
use crate::engine::Plan;
use crate::error::Error;
use crate::input::Opened;
use crate::output::Look;
use crate::run::Scan;
use crate::target::{NameError, Target};

/// Scans what was typed.
pub(super) fn run(args: ScanArgs, typed: &[OsString]) -> Result<ExitCode, Error> {
    let resolve = args.resolve;
    let config = config::scan(args, io::stdout().is_terminal())?;
    if config.dry_run { list(scan_of(config, typed), resolve) } else { asking(config, typed, Manner::Scan) }
}

/// Runs the scan that `config` describes, and reports its outcome.
pub(super) fn asking(config: ScanConfig, typed: &[OsString], manner: Manner) -> Result<ExitCode, Error> {
    let (messages, strict) = (config.messages, config.options.input.strict);
    let mut progress = progress(messages, manner, &config.options.output.outputs);
    let run = scan_of(config, typed).prepare()?;
    let watching = Watching::begin()?;
    watching.stop(run.stopper());
    let outcome = run.run(&mut progress)?;
    drop((watching, progress));
    account::account(outcome, manner, strict, messages.quiet)
}

fn scan_of(config: ScanConfig, typed: &[OsString]) -> Scan<'static> {
    let ScanConfig { mut options, colour, .. } = config;
    options.arguments = typed.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let to_stdout = options.output.outputs.iter().any(|output| output.path.is_none());
    Scan::new(options).with_look(look(colour, to_stdout)).with_notices(|line| say(line))
}

/// Prints the targets instead of asking them.
fn list(scan: Scan<'_>, resolve: bool) -> Result<ExitCode, Error> {
    let (Opened { mut source, plans, origins, .. }, lists) = scan.dry_run(resolve)?;
    for list in lists {
        // A name may end in a colon itself.
        let list = list.trim_end_matches(':');
        say(&format_args!("list {list}: not asked in a dry run; fragscan list prints its servers"));
    }
    print(|out| {
        loop {
            match source.poll_target() {
                Poll::Ready(Some(Target { address, plan, .. })) => {
                    let plan = &plans[usize::from(plan)];
                    if let Some(word) = protocol_word(plan) {
                        write!(out, "{word}://")?;
                    }
                    writeln!(out, "{address}{}", other_ports(plan, address.port()))?;
                }
                Poll::Ready(None) => return Ok(()),
                // Names are being resolved, or somebody is still writing.
                Poll::Pending => {
                    out.flush()?;
                    let _ = after(A_WHILE).recv();
                }
            }
            while let Some(name) = source.poll_unresolved() {
                let text = origins.find(name.origin).and_then(|origin| origin.text);
                let text = text.as_deref().unwrap_or("a name");
                if name.error != NameError::NotAsked {
                    say(&format_args!("{text} has no address: {}", name.error));
                    continue;
                }
                match protocol_word(&plans[usize::from(name.plan)]).filter(|_| !text.contains("://")) {
                    Some(word) => writeln!(out, "{word}://{text}")?,
                    None => writeln!(out, "{text}")?,
                }
            }
        }
    })
}

/// The protocol that a target has to name to be asked as `plan` says; none if that is the default protocol or a game's.
fn protocol_word(plan: &Plan) -> Option<&'static str> {
    let protocol = plan.legs.first()?.protocol;
    match plan.legs.len() {
        1 => (protocol != usual_protocol()).then_some(protocol.spec().name),
        _ => (!plan.speaks_only(protocol)).then_some(AUTO),
    }
}

/// A comment that names the ports at which `plan` asks a target with port `own`; empty if that is the only one.
fn other_ports(plan: &Plan, own: u16) -> String {
    let protocol = plan.legs.first().map(|leg| leg.protocol);
    if !protocol.is_some_and(|protocol| plan.speaks_only(protocol)) {
        return String::new();
    }
    let mut from = 0;
    let legs = std::iter::from_fn(|| {
        let (number, port) = plan.next_leg(from, own)?;
        from = number + 1;
        Some(port)
    });
    let ports: Vec<_> = legs.map(|port| port.to_string()).collect();
    if ports == [own.to_string()] { String::new() } else { format!(" # asked at {} in turn", ports.join(", ")) }
}

/// How the run is shown: not at all where rows go to the same terminal, which a bar would spoil.
fn progress(messages: Messages, manner: Manner, outputs: &[Output]) -> Progress {
    let rows_on_terminal = io::stdout().is_terminal() && outputs.iter().any(|output| output.path.is_none());
    let progress = if messages.quiet {
        Progress::quiet()
    } else if io::stderr().is_terminal() && !rows_on_terminal {
        Progress::bar(manner)
    } else if messages.progress {
        Progress::lines(manner)
    } else {
        Progress::quiet()
    };
    if messages.verbose { progress.with_oddities() } else { progress }
}

/// How tables look: as wide as the terminal, where there is one.
fn look(colour: Color, to_stdout: bool) -> Look {
    let terminal = to_stdout && io::stdout().is_terminal();
    let size = terminal_size::terminal_size().filter(|_| terminal);
    let colour = match colour {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let width = size.map_or(Look::default().width, |(width, _)| width.0.into());
    Look { width, colour }
}

/// How soon a source that had nothing is asked again.
const A_WHILE: Duration = Duration::from_millis(10);
