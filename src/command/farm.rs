//! `fragscan farm`: simulated or recorded servers on loopback, until a signal.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use signal_hook::iterator::Signals;

use super::{say, signals};
use crate::capture;
use crate::cli::FarmArgs;
use crate::config::{self, FarmConfig, MasterConfig};
use crate::error::Error;
use crate::farm::serve::{self, Served};
use crate::farm::site::Site;
use crate::farm::{Farm, Masters, Recorded, ReplayFarm};
use crate::net;
use crate::net::socket;
use crate::offline::{self, Sorter};
use crate::output::{Destination, OutputError};
use crate::protocol;

/// Starts the servers, says where they are, and answers until Ctrl-C.
pub(super) fn run(args: FarmArgs) -> Result<ExitCode, Error> {
    let config = config::farm(args)?;
    let signals =
        Signals::new(signals::stopping()).map_err(|source| net::Error::on("waiting for", "signals", source))?;
    match &config.replay {
        Some(folder) => replay(folder, &config, signals)?,
        None => simulate(config, signals)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn simulate(config: FarmConfig, signals: Signals) -> Result<(), Error> {
    claim(config.site.as_ref(), config.bind.as_deref().unwrap_or_default())?;
    let serving = match config.site {
        Some(site) => serve::start_at(config.settings, site, config.port),
        None => serve::start(config.settings, Some(config.port)),
    }
    .map_err(|error| if_taken(error, "--port"))?;
    let farm = serving.servers();
    let first_list = config.masters.as_ref().map_or(0, |masters| u32::from(masters.port));
    let masters = config.masters.map(|masters| start_masters(masters, farm)).transpose()?;
    if let Some(path) = config.list.as_deref() {
        let line = |index| match farm.protocol(index) {
            Some(protocol) => format!("{}://{}", protocol.spec().name, farm.address(index)),
            None => farm.address(index).to_string(),
        };
        write_list(path, (0..farm.len()).map(line))?;
    }
    let (first, last) = (farm.address(0), farm.address(farm.len() - 1));
    let count = farm.len();
    if first.ip() == last.ip() && count > 1 {
        let last = farm.port() + (count - 1) as u16;
        say(&format_args!("{count} simulated servers at {} on ports {}-{last}; {STOP}", first.ip(), farm.port()));
    } else {
        say(&format_args!("{count} simulated servers at {}-{} on port {}; {STOP}", first.ip(), last.ip(), farm.port()));
    }
    if let Some(masters) = &masters {
        for (number, list) in masters.servers().numbered() {
            say(&format_args!("a list of them at {}://127.0.0.1:{}", list.spec().name, first_list + number));
        }
    }
    until_stopped(signals);
    // Whoever asks the lists asks the servers too: the lists' requests are counted apart.
    let lists = masters.map(serve::Serving::stop);
    account(serving.stop(), "");
    if let Some(lists) = lists {
        account(lists, "the lists: ");
    }
    Ok(())
}

/// Refuses a site whose addresses do not belong to this machine; `bind` is what was typed.
fn claim(site: Option<&Site>, bind: &str) -> Result<(), Error> {
    let Some(first) = site.map(|site| site.place.first()) else { return Ok(()) };
    socket::claim(first.into()).map_err(|reason| {
        Error::usage(format!(
            "--bind: {first} is not an address of this machine: {reason}; `ip route add local {bind} dev lo` makes all of \
             a network its own"
        ))
    })
}

/// Starts the list servers of `farm`.
fn start_masters(config: MasterConfig, farm: &Farm) -> Result<serve::Serving<Masters>, Error> {
    let MasterConfig { kinds, port, style, link } = config;
    let masters = Masters::new(&kinds, style, farm);
    let serving = serve::start_masters(&masters, link, farm.settings().seed, port);
    serving.map_err(|error| if_taken(error, "--master-port"))
}

fn replay(folder: &Path, config: &FarmConfig, signals: Signals) -> Result<(), Error> {
    let servers = recorded(folder)?;
    let make = |port| Ok(ReplayFarm::new(servers, port));
    let serving = serve::start_servers(make, config.settings.link, config.settings.seed, Some(config.port));
    let serving = serving.map_err(|error| if_taken(error, "--port"))?;
    let farm = serving.servers();
    if let Some(path) = &config.list {
        let line = |(address, server): (_, &Recorded)| {
            // A list server is no target.
            let comment = if server.protocol.lists().is_some() { "# " } else { "" };
            format!("# {}\n{comment}{}://{address}", server.name, server.protocol.spec().name)
        };
        write_list(path, farm.iter().map(line))?;
    }
    let count = farm.iter().len();
    say(&format_args!("{count} recorded servers at 127.0.0.2 and on, on port {}; {STOP}", config.port));
    until_stopped(signals);
    account(serving.stop(), "");
    Ok(())
}

/// Says what to do about a port that is taken, which is the one of `flag`.
fn if_taken(error: net::Error, flag: &str) -> Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            error.advising(format!("another farm may be running: choose a free port with {flag}")).into()
        }
        _ => error.into(),
    }
}

/// The servers in the files of `folder`, in the order of the files' names.
fn recorded(folder: &Path) -> Result<Vec<Recorded>, Error> {
    let failed = |source| Error::Input { name: folder.display().to_string(), source };
    let entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let is_capture = |path: &PathBuf| {
        path.extension().is_some_and(|extension| CAPTURES.iter().any(|known| extension.eq_ignore_ascii_case(known)))
    };
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(is_capture).collect();
    paths.sort();
    let mut servers = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let file = fs::File::open(&path).map_err(|source| Error::Input { name: name.clone(), source })?;
        let mut sorter = Sorter::default();
        for datagram in capture::read(&name, file)?.datagrams {
            sorter.push(datagram);
        }
        servers.extend(sorter.finish().recordings.into_iter().map(|recording| {
            let protocol = offline::recognise_among(protocol::all(), &recording);
            Recorded {
                name: recording.address.map_or_else(|| name.clone(), |address| format!("{name} {address}")),
                protocol,
                replies: recording.answers(protocol).into_iter().map(<[u8]>::to_vec).collect(),
            }
        }));
    }
    if servers.is_empty() {
        return Err(Error::usage(format!("--replay: there is no file of datagrams in {}", folder.display())));
    }
    Ok(servers)
}

fn until_stopped(mut signals: Signals) {
    let _ = signals.forever().next();
}

/// Says what `whose` servers did.
fn account(served: Served, whose: &str) {
    say(&format_args!(
        "{whose}answered {} requests with {} datagrams; {} replies refused by the system, {} requests dropped by the kernel",
        served.requests, served.replies, served.send_errors, served.dropped_by_kernel
    ));
    if served.strangers + served.unproven > 0 {
        say(&format_args!(
            "not answered: {} datagrams of others than the clients, {} requests of clients who had not proved their address",
            served.strangers, served.unproven
        ));
    }
}

fn write_list(path: &Path, lines: impl Iterator<Item = String>) -> Result<(), OutputError> {
    let mut list = Vec::new();
    for line in lines {
        // Writing to a vector cannot fail.
        let _ = writeln!(list, "{line}");
    }
    let mut destination = Destination::named(path)?;
    destination.write(&list)?;
    destination.commit()
}

const STOP: &str = "stop with Ctrl-C";
/// Extensions of files of datagrams.
const CAPTURES: [&str; 5] = ["hex", "pcap", "pcapng", "cap", "gz"];
