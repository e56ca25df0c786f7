//! `fragscan scan`: ask many servers, write one row for each, and account for all of them.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
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
use crate::engine::{Leg, Plan};
use crate::error::{Error, NO_NAME_SERVER};
use crate::input::{Opened, what_is_left_out, why_nothing};
use crate::output::{Look, count};
use crate::protocol;
use crate::run::Scan;
use crate::target::{NameError, PortRule, Target, TargetSpec};

/// Scans what was typed.
pub(super) fn run(args: ScanArgs, typed: &[OsString]) -> Result<ExitCode, Error> {
    let (resolve, quiet) = (args.resolve, args.quiet);
    let config = config::scan(args, io::stdout().is_terminal())?;
    if config.dry_run { list(scan_of(config, typed), resolve, quiet) } else { asking(config, typed, Manner::Scan) }
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
fn list(scan: Scan<'_>, resolve: bool, quiet: bool) -> Result<ExitCode, Error> {
    let (opened, lists) = scan.dry_run(resolve)?;
    for list in &lists {
        // A name may end in a colon itself.
        let list = list.trim_end_matches(':');
        say(&format_args!("list {list}: not asked in a dry run; fragscan list prints its servers"));
    }
    let account = opened.account.clone();
    let mut printed = 0;
    print(|out| {
        printed = print_targets(opened, out)?;
        Ok(())
    })?;
    let tally = account.tally();
    if printed == 0 && lists.is_empty() && account.names().looked_up == 0 {
        return Err(Error::usage(why_nothing(&tally)));
    }
    if !quiet && tally.invalid + tally.duplicate + tally.excluded.total() > 0 {
        say(&format_args!("{} printed; {}", count(printed, "target"), what_is_left_out(&tally)));
    }
    Ok(if account.names().no_server > 0 { ExitCode::from(NO_NAME_SERVER) } else { ExitCode::SUCCESS })
}

/// Prints all targets, one a line, and returns how many they are.
fn print_targets(opened: Opened, out: &mut dyn Write) -> io::Result<u64> {
    let Opened { mut source, plans, origins, .. } = opened;
    let mut printed = 0;
    loop {
        match source.poll_target() {
            Poll::Ready(Some(Target { address, plan, .. })) => {
                printed += 1;
                writeln!(out, "{}", as_typed(&plans[usize::from(plan)], address))?;
            }
            Poll::Ready(None) => return Ok(printed),
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
            printed += 1;
            let plan = &plans[usize::from(name.plan)];
            let word = protocol_word(plan).filter(|_| !text.contains("://"));
            let word = word.map(|word| format!("{word}://")).unwrap_or_default();
            let port = TargetSpec::parse(text).ok().and_then(|spec| spec.ports?.single());
            let ports = port.map(|port| other_ports(plan, port)).unwrap_or_default();
            writeln!(out, "{word}{text}{ports}")?;
        }
    }
}

/// The target at `address` as it would be typed, to be asked as `plan` says.
fn as_typed(plan: &Plan, address: SocketAddr) -> String {
    let word = protocol_word(plan).map(|word| format!("{word}://")).unwrap_or_default();
    let is_at_usual_ports = plan.legs.iter().all(|leg| matches!(leg.port, PortRule::Fixed(_)));
    match address.ip() {
        ip if tries_all(plan) && is_at_usual_ports => format!("{word}{ip}"),
        _ => format!("{word}{address}{}", other_ports(plan, address.port())),
    }
}

/// The protocol that a target has to name to be asked as `plan` says; none if that is the default protocol or a game's.
fn protocol_word(plan: &Plan) -> Option<&'static str> {
    if tries_all(plan) {
        return Some(AUTO);
    }
    let protocol = plan.legs.first()?.protocol;
    (plan.legs.len() == 1 && protocol != usual_protocol()).then_some(protocol.spec().name)
}

/// A comment that names the ports at which `plan` asks a target with port `own`; empty if that is the only one, or if every
/// protocol is tried.
fn other_ports(plan: &Plan, own: u16) -> String {
    if tries_all(plan) {
        return String::new();
    }
    let mut from = 0;
    // Further rounds repeat the first.
    let legs = std::iter::from_fn(|| {
        let (number, port) = plan.next_leg(from, own).filter(|(number, _)| usize::from(*number) < plan.legs.len())?;
        from = number + 1;
        Some((plan.leg(number)?.protocol, port))
    });
    let legs: Vec<_> = legs.collect();
    if legs.iter().all(|(_, port)| *port == own) && legs.len() == 1 {
        return String::new();
    }
    let one_protocol = legs.iter().all(|(protocol, _)| Some(*protocol) == legs.first().map(|(first, _)| *first));
    let asked =
        legs.iter().map(
            |(protocol, port)| {
                if one_protocol { port.to_string() } else { format!("{}:{port}", protocol.spec().name) }
            },
        );
    format!(" # asked at {} in turn", asked.collect::<Vec<_>>().join(", "))
}

/// Whether `plan` is that of `--protocol auto`.
fn tries_all(plan: &Plan) -> bool {
    // Games that speak all of them have other ports, too.
    let is_usual = |leg: &Leg| match leg.port {
        PortRule::Own | PortRule::Within { .. } => true,
        PortRule::Fixed(port) => port == leg.protocol.spec().default_port,
        _ => false,
    };
    let at_their_ports = plan.legs.iter().all(|leg| matches!(leg.port, PortRule::Fixed(_)));
    let at_own_port = plan.legs.iter().all(|leg| !matches!(leg.port, PortRule::Fixed(_)));
    (at_their_ports || at_own_port)
        && plan.legs.iter().all(is_usual)
        && protocol::in_auto().all(|protocol| plan.legs.iter().any(|leg| leg.protocol == protocol))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_printed_as_it_would_be_typed_with_the_ports_at_which_it_is_asked() {
        let of = |name| protocol::by_name(name).unwrap();
        let leg = |name, port| Leg { protocol: of(name), port };
        let all = |port: fn(u16) -> PortRule| {
            Plan::new(
                protocol::in_auto()
                    .map(|protocol| Leg { protocol, port: port(protocol.spec().default_port) })
                    .collect(),
            )
        };
        let dayz = vec![leg("a2s", PortRule::Offset(1)), leg("a2s", PortRule::Own)];
        let both = [dayz.clone(), vec![leg("quake3", PortRule::Own)]].concat();
        for (plan, expected) in [
            (Plan::of(of("a2s")), "127.0.0.1:2302"),
            (Plan::of(of("quake3")), "quake3://127.0.0.1:2302"),
            (all(|_| PortRule::Own), "auto://127.0.0.1:2302"),
            (all(PortRule::Fixed), "auto://127.0.0.1"),
            (Plan::new(dayz), "127.0.0.1:2302 # asked at 2303, 2302 in turn"),
            (
                Plan { rounds: 3, ..Plan::new(both) },
                "127.0.0.1:2302 # asked at a2s:2303, a2s:2302, quake3:2302 in turn",
            ),
        ] {
            assert_eq!(as_typed(&plan, SocketAddr::from(([127, 0, 0, 1], 2302))), expected);
        }
    }
}
