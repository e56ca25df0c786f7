//! Targets that become known while the scan runs: threads resolve names and read standard input, and send what they
//! find, as long as somebody takes it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::input::{Inputs, MOST_COMPLAINTS, Reading, Whom, each_line, more_lines, named};
use crate::error::Error;
use crate::output::Filter;
use crate::target::listing::Listing;
use crate::target::names::{Mention, Named};
use crate::target::resolve::{self, Name};
use crate::target::srv::NameServers;
use crate::target::stream::Item;
use crate::target::{Origin, Origins, Target, TargetSpec};

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
        let mut found = Found { sender, lookup, origins, names: HashMap::new() };
        thread::Builder::new()
            .spawn(move || {
                // Whoever does not take a name has ended, because the scan has.
                if !list_names.into_iter().chain(names).all(|name| found.name(name)) {
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
    /// Numbers of the names that came: each is looked up once.
    names: HashMap<(Box<str>, Option<&'static str>), u32>,
}

impl Found {
    /// Says that a name was mentioned, and has it looked up the first time; false if nobody takes it.
    fn name(&mut self, Named { name, service, mention }: Named) -> bool {
        let number = self.names.len() as u32;
        match self.names.entry((name.to_ascii_lowercase().into(), service)) {
            Entry::Occupied(known) => self.sender.send(Item::Name(*known.get(), mention)).is_ok(),
            Entry::Vacant(new) => {
                new.insert(number);
                self.sender.send(Item::Name(number, mention)).is_ok()
                    && self.lookup.send(Name { number, name, service }).is_ok()
            }
        }
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
            if let (Whom::Range(hosts), Some(port)) = (whom, ports.single())
                && hosts.is_single()
            {
                let target = Target { address: SocketAddr::new(hosts.first(), port), plan, origin };
                return Ok(Some(found.sender.send(Item::Target(target)).is_ok()));
            }
            let source = found.origins.find(origin).and_then(|origin| origin.source);
            let origin = found.origins.add(Origin { text: Some(text.as_str().into()), source, facts: None });
            Ok(Some(match whom {
                Whom::Range(hosts) => found.sender.send(Item::Range { hosts, ports, plan, origin }).is_ok(),
                Whom::Name { name, service } => {
                    let mention = Mention { ports, plan, origin, typed: false };
                    found.name(Named { name: name.into(), service, mention })
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

/// Targets that were read and not taken.
const WAITING: usize = 1 << 14;
