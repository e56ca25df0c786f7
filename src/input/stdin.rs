//! Standard input as a stream: lines that another program is still writing become targets while the scan runs.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;

use crossbeam_channel::Sender;

use super::arrivals::Item;
use super::files::{FileRead, each_entry};
use super::formats::{Context, Entry, Purpose};
use super::names::{Mention, Named};
use super::reading::{Reading, Whom};
use super::resolve::Resolver;
use super::{MOST_COMPLAINTS, each_port, more_lines, what_was_passed_over};
use crate::error::Error;
use crate::output::Filter;
use crate::target::{Origin, Origins, Target, TargetSpec};

/// How lines are read, and who counts as having named their targets.
pub(super) struct Lines {
    pub reading: Reading,
    /// Conditions on the rows of earlier outputs.
    pub condition: Filter,
    /// Origin of single addresses.
    pub origin: u32,
    pub origins: Origins,
}

impl Lines {
    /// Reads standard input to its end, or until nobody takes `items` any more. `complain` is told of the first lines that
    /// cannot be read.
    pub(super) fn read(self, complain: &dyn Fn(&dyn Display), items: &Sender<Item>, resolver: &mut Resolver) {
        let (mut bad, mut passed_over) = (0_usize, 0_u64);
        let context =
            Context { purpose: Purpose::Ask, exact_word: self.reading.exact_word(), condition: &self.condition };
        let read = each_entry(Path::new("-"), &context, &mut |number, entry| {
            let line = entry.and_then(|entry| match entry {
                Entry::Target(text) => self.item(text).map(Some),
                Entry::HeldBack => Ok(None),
                Entry::PassedOver => {
                    passed_over += 1;
                    Ok(None)
                }
            });
            let sent = match line {
                Ok(None) => true,
                Ok(Some(Line::Items(all))) => all.into_iter().all(|item| items.send(item).is_ok()),
                Ok(Some(Line::Item(item))) => items.send(item).is_ok(),
                Ok(Some(Line::Name(named))) => resolver.mention(named),
                Err(reason) => {
                    bad += 1;
                    if bad <= MOST_COMPLAINTS {
                        complain(&format_args!("-:{number}: {reason}"));
                    }
                    items.send(Item::Bad).is_ok()
                }
            };
            // If the scan is over, nobody takes targets any more.
            if sent { Ok(()) } else { Err(Error::Bug(NOBODY_READS)) }
        });
        if let Some(remark) = what_was_passed_over("standard input", passed_over) {
            complain(&remark);
        }
        match read {
            Err(Error::Bug(NOBODY_READS)) => {}
            Err(error) => complain(&error),
            Ok(FileRead { emptiness: Some(emptiness), .. }) => complain(&emptiness),
            Ok(_) if bad > MOST_COMPLAINTS => complain(&more_lines((bad - MOST_COMPLAINTS) as u64)),
            Ok(_) => {}
        }
    }

    fn item(&self, text: &str) -> Result<Line, String> {
        let spec = TargetSpec::parse(text).map_err(|reason| reason.to_string())?;
        let (whom, ports, plan) = self.reading.read(&spec)?;
        if let (Whom::Range(hosts), Some(port)) = (whom, ports.single())
            && hosts.is_single()
        {
            let address = SocketAddr::new(hosts.first(), port);
            return Ok(Line::Item(Item::Target(Target { address, plan, origin: self.origin })));
        }
        let source = self.origins.find(self.origin).and_then(|origin| origin.source);
        let origin = self.origins.add(Origin { text: Some(text.into()), source, facts: None });
        Ok(match whom {
            Whom::Range(hosts) => Line::Item(Item::Range { hosts, ports, plan, origin }),
            Whom::Zoned(address) => Line::Items(each_port(address, &ports, plan, origin).map(Item::Target).collect()),
            Whom::Name { name, service } => {
                let mention = Mention { ports, plan, origin, typed: false };
                Line::Name(Named { name: name.into(), service, mention })
            }
        })
    }
}

/// What a line says.
enum Line {
    Item(Item),
    Items(Vec<Item>),
    Name(Named),
}

const NOBODY_READS: &str = "the scan ended before its input";
