//! The arguments of `fragscan scan`, and what other commands share with it.

use std::collections::HashSet;
use std::net::IpAddr;

use super::names::names;
use super::options::{InputOptions, NetworkOptions, OutputOptions, ScanOptions, Spoken, SteamOptions};
use super::output::outputs;
use super::protocol::chosen;
use super::{Limits, game, value};
use crate::cli::choice::Color;
use crate::cli::protocol::Protocol;
use crate::cli::{ScanArgs, SendingArgs, SteamArgs};
use crate::error::Error;
use crate::net::options::Local;
use crate::output::{Filter, Format, is_stdout};
use crate::record::{self, List, Selection};
use crate::target::Ports;

/// What `fragscan scan` does.
#[derive(Debug)]
pub(crate) struct ScanConfig {
    /// The scan.
    pub options: ScanOptions,
    /// Whether tables have colours.
    pub colour: Color,
    /// Targets are printed and not asked.
    pub dry_run: bool,
    /// What is said on standard error.
    pub messages: Messages,
}

/// What is said on standard error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Messages {
    /// Neither summary nor progress.
    pub quiet: bool,
    /// Progress also where there is no terminal.
    pub progress: bool,
    /// Odd datagrams are explained.
    pub verbose: bool,
}

/// Reads the arguments of `fragscan scan`; rows go to standard output as a table by default if that is a `terminal`.
pub(crate) fn scan(args: ScanArgs, terminal: bool) -> Result<ScanConfig, Error> {
    let limits = Limits::read(&args)?;
    if let Some(path) = &args.raw
        && !is_stdout(path)
        && !path.starts_with("/dev")
        && path.extension().is_none_or(|extension| extension != "pcapng")
    {
        return Err(Error::usage(format!("--raw: {} holds a pcapng: give it that extension", path.display())));
    }
    let outputs = outputs(&args.output, args.format.map(Format::from), terminal)?;
    let formats: Vec<Format> = outputs.iter().map(|output| output.format).collect();
    let input = InputOptions {
        naming: names(&args.naming)?,
        targets: args.targets,
        files: args.input,
        condition: filter("--input-where", &args.input_condition)?,
        lists: args.from,
        steam: args.steam.into(),
        spoken: spoken(args.protocol, &args.games)?,
        ports: args.ports.as_deref().map(|text| value::parse::<Ports>("--ports", text)).transpose()?,
        exclude: args.exclude,
        exclude_files: args.exclude_file,
        include_private: args.include_private,
        order: args.order.into(),
        strict: args.strict,
    };
    if !(1..=MOST_SOCKETS).contains(&args.sockets) {
        return Err(Error::usage(format!("--sockets: {} is not in 1 to {MOST_SOCKETS}", args.sockets)));
    }
    let local = Local {
        sockets: args.sockets,
        receive_buffer: args.rcvbuf.as_deref().map(|text| value::size("--rcvbuf", text)).transpose()?,
        ..local(args.sending, args.sockets)?
    };
    let options = ScanOptions {
        input,
        limits,
        network: NetworkOptions { local, io: args.io.into() },
        output: OutputOptions {
            selection: selection(&args.fields, &formats)?,
            outputs,
            condition: filter("--where", &args.condition)?,
            raw: args.raw,
            names: args.names,
            metadata: args.metadata,
            flag_clones: args.flag_clones,
            leftover: args.if_partial.into(),
        },
        seed: args.seed,
        arguments: Vec::new(),
    };
    Ok(ScanConfig {
        options,
        colour: args.color,
        dry_run: args.dry_run,
        messages: Messages { quiet: args.quiet, progress: args.progress, verbose: args.verbose },
    })
}

/// What `--protocol` and `--game` say.
pub(super) fn spoken(protocol: Option<Protocol>, games: &[String]) -> Result<Spoken, Error> {
    Ok(match protocol {
        _ if !games.is_empty() => Spoken::Games(game::games_of(games)?),
        None => Spoken::Usual,
        Some(Protocol::Auto) => Spoken::Auto,
        Some(Protocol::Named(protocol)) => Spoken::Protocol(chosen(protocol)?),
    })
}

impl From<SteamArgs> for SteamOptions {
    /// Each application once.
    fn from(SteamArgs { mut apps, key_file, api_url }: SteamArgs) -> Self {
        let mut known = HashSet::new();
        apps.retain(|app| known.insert(*app));
        Self { apps, key_file, api_url }
    }
}

/// Where datagrams are sent from: one socket, or `sockets` of them.
pub(super) fn local(args: SendingArgs, sockets: usize) -> Result<Local, Error> {
    let mut local = Local { interface: args.interface, sockets, ..Local::default() };
    for ip in args.source_ip {
        let taken = match ip {
            IpAddr::V4(ip) => local.ipv4.replace(ip).is_some(),
            IpAddr::V6(ip) => local.ipv6.replace(ip).is_some(),
        };
        if taken {
            return Err(Error::usage("--source-ip: write one IPv4 address and one IPv6 address at most"));
        }
    }
    if let Some(text) = &args.source_port {
        let ports: Ports = value::parse("--source-port", text)?;
        local.ports = ports.ranges().next();
        if sockets > 1 && local.ports.is_some_and(|(first, last)| usize::from(last - first) + 1 < sockets) {
            return Err(Error::usage("--source-port: there are more --sockets than ports"));
        }
        if ports.ranges().count() != 1 {
            return Err(Error::usage(format!(
                "--source-port: {text:?} is not one port or range: write 40000 or 40000-40100"
            )));
        }
    }
    Ok(local)
}

/// The columns and lists that `--fields` names, if any.
pub(super) fn selection(names: &[String], formats: &[Format]) -> Result<Option<Selection>, Error> {
    if names.is_empty() {
        return Ok(None);
    }
    if let Some(twice) = names.iter().enumerate().find_map(|(i, name)| names[..i].contains(name).then_some(name)) {
        return Err(Error::usage(format!("--fields: {twice} is named twice")));
    }
    let mut selection = Selection { columns: Vec::new(), lists: Vec::new(), always: true };
    for name in names.iter().map(|name| name.trim()) {
        if let Some(list) = List::ALL.into_iter().find(|list| list.as_str() == name) {
            selection.lists.push(list);
        } else if let Some(column) = record::column(name) {
            selection.columns.push(column);
        } else {
            let message = format!("--fields: there is no column {name:?}; `fragscan fields` lists them");
            return Err(Error::usage(message));
        }
    }
    if let Some(list) = selection.lists.first()
        && formats.iter().all(|format| *format != Format::Ndjson)
    {
        return Err(Error::usage(format!("--fields: {} is a list: only NDJSON has a place for it", list.as_str())));
    }
    Ok(Some(selection))
}

fn filter(flag: &str, conditions: &[String]) -> Result<Filter, Error> {
    let mut filter = Filter::default();
    for text in conditions {
        filter.add(text).map_err(|reason| Error::usage(format!("{flag}: {reason}")))?;
    }
    Ok(filter)
}

const MOST_SOCKETS: usize = 64;
