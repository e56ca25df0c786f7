//! Targets that become known while the scan runs: threads resolve names and read standard input, and send what they
//! find, as long as somebody takes it.

use std::collections::HashSet;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::thread;

use crossbeam_channel::{Receiver, SendError, Sender, bounded};

use super::input::{Inputs, MOST_COMPLAINTS, Reading, Whom, each_line, more_lines, named};
use crate::error::Error;
use crate::output::Filter;
use crate::target::listing::Listing;
use crate::target::resolve::{self, Name};
use crate::target::srv::NameServers;
use crate::target::stream::Item;
use crate::target::{IpRange, Origin, Origins, Ports, Target, TargetSpec};

impl Inputs {
    /// Starts the threads: for the names that were collected, and for standard input if it has an `origin`. `complain` is
    /// told of the first lines that cannot be read.
    pub(super) fn start(
        self,
        stdin: Option<u32>,
        complain: impl Fn(&dyn Display) + Send + 'static,
    ) -> Result<Receiver<Item>, Error> {
        let failed = |source| Error::Input { name: "names and standard input".into(), source };
        let Self { names, list_names, reading, filter, origins, .. } = self;
        let (sender, items) = bounded(WAITING);
        let (lookup, lookups) = bounded(WAITING);
        resolve::start(&lookups, &sender, &NameServers::of_system()).map_err(failed)?;
        let mut found = Found { sender, lookup, origins, names: HashSet::new() };
        thread::Builder::new()
            .spawn(move || {
                // Whoever does not take a name has ended, because the scan has.
                if !list_names.into_iter().all(|name| found.lookup.send(name).is_ok())
                    || !names.into_iter().all(|name| found.name(name))
                {
                    return;
                }
                let Some(origin) = stdin else { return };
                if let Err(error) = read(&reading, &filter, origin, &complain, &mut found)
                    && !matches!(error, Error::Bug(_))
                {
                    complain(&error);
                }
            })
            .map_err(failed)?;
        Ok(items)
    }
}

/// Where what was found goes.
struct Found {
    sender: Sender<Item>,
    lookup: Sender<Name>,
    origins: Origins,
    /// Names that came, so that each is looked up once.
    names: HashSet<(Box<str>, Ports, Option<&'static str>, u16)>,
}

impl Found {
    /// Has a name looked up; false if nobody takes it.
    fn name(&mut self, name: Name) -> bool {
        let key = (name.name.to_ascii_lowercase().into(), name.ports.clone(), name.service, name.plan);
        if !self.names.insert(key) {
            return self.sender.send(Item::Repeated).is_ok();
        }
        self.sender.send(Item::Name).is_ok() && self.lookup.send(name).is_ok()
    }
}

fn read(
    reading: &Reading,
    filter: &Filter,
    origin: u32,
    complain: &dyn Fn(&dyn Display),
    found: &mut Found,
) -> Result<(), Error> {
    let mut listing = Listing::default();
    let mut bad = 0_usize;
    each_line(Path::new("-"), |number, line| {
        let understood = named(&mut listing, filter, line).and_then(|text| {
            let Some(text) = text else { return Ok(None) };
            let spec = TargetSpec::parse(&text).map_err(|reason| reason.to_string())?;
            let (whom, ports, plan) = reading.read(&spec)?;
            Ok(Some(match whom {
                Whom::Range(range) => send(range, &ports, plan, origin, &found.sender).is_ok(),
                Whom::Name { name, service } => {
                    let source = found.origins.find(origin).and_then(|origin| origin.source);
                    let origin = found.origins.add(Origin { text: Some(text.as_str().into()), source, facts: None });
                    let name = Name { name: name.into(), ports, service, plan, origin, typed: false };
                    found.name(name)
                }
            }))
        });
        let sent = match understood {
            Ok(sent) => sent.unwrap_or(true),
            Err(reason) => {
                bad += 1;
                if bad <= MOST_COMPLAINTS {
                    complain(&format_args!("-:{number}: {reason}"));
                }
                found.sender.send(Item::Bad).is_ok()
            }
        };
        // If the scan is over, nobody takes targets any more.
        if sent { Ok(()) } else { Err(Error::Bug("the scan ended before its input")) }
    })?;
    if bad > MOST_COMPLAINTS {
        complain(&more_lines((bad - MOST_COMPLAINTS) as u64));
    }
    Ok(())
}

/// Sends each address on each port; waits while too many are under way.
fn send(range: IpRange, ports: &Ports, plan: u16, origin: u32, sender: &Sender<Item>) -> Result<(), SendError<Item>> {
    let each = |ip: IpAddr| {
        ports.iter().try_for_each(|port| {
            let target = Target { address: SocketAddr::new(ip, port), plan, origin };
            sender.send(Item::Target { target, typed: false })
        })
    };
    match (range.first(), range.last()) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            (first.to_bits()..=last.to_bits()).try_for_each(|ip| each(Ipv4Addr::from_bits(ip).into()))
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            (first.to_bits()..=last.to_bits()).try_for_each(|ip| each(Ipv6Addr::from_bits(ip).into()))
        }
        _ => Ok(()),
    }
}

/// Targets that were read and not taken.
const WAITING: usize = 1 << 14;
