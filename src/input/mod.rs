//! From options to targets: arguments, files, standard input, names and lists become one source.
//!
//! ```text
//! arguments, files ── reading ──► the set ───────────────────┐
//! names ── resolve ──┐                                       ▼
//! standard input ────┼──► items ──────────────────► stream (dedup) ──► engine
//! Steam's lists ─────┘              list servers, asked by the engine ▲
//! ```
//!
//! What is known before the first datagram is a set; the rest is a stream that follows it.
//! [`Dedup`](crate::target::Dedup) ensures that each target comes once.

use std::net::{SocketAddr, SocketAddrV6};
use std::path::Path;
use std::sync::Arc;

use crate::config::{InputOptions, Limits, NameOptions};
use crate::error::Error;
use crate::farm::FarmSettings;
use crate::list::steam_api::without_keys;
use crate::net::options::Local;
use crate::output::Filter;
use crate::target::{Hosts, Order, Origin, Origins, Ports, Target, TargetSetBuilder, TargetSpec};

mod account;
mod arrivals;
mod exclude;
mod farm;
mod fetched;
mod files;
mod formats;
mod lines;
mod lists;
mod names;
mod open;
mod outcomes;
mod plans;
mod reading;
mod resolve;
mod stdin;
mod steam;
mod stream;
mod system;

pub(crate) use account::{Account, what_is_left_out, why_nothing};
pub(crate) use arrivals::Item;
pub(crate) use fetched::FetchedEnd;
pub(crate) use files::InputDigest;
pub(crate) use names::{Mention, Named};
pub(crate) use open::Opened;
#[cfg(test)]
pub(crate) use {
    arrivals::Arrivals,
    fetched::{Fetched, FetchedEnds},
    stream::{Lists, Stream},
};

use farm::NamedFarm;
use files::each_entry;
use formats::{Context, Entry, Purpose};
use lists::NamedLists;
use plans::Plans;
use reading::{Reading, Whom};

/// Everything that was named, read as far as that is possible before the scan runs.
pub(crate) struct Input {
    set: TargetSetBuilder,
    plans: Plans,
    origins: Origins,
    reading: Reading,
    /// Conditions on the rows of earlier outputs.
    condition: Filter,
    /// Names to be resolved.
    names: Vec<Named>,
    /// Targets on the network of one interface.
    zoned: Vec<Item>,
    lists: NamedLists,
    /// Standard input is read while the scan runs; the origin of its targets.
    stdin: Option<u32>,
    /// What iterators give.
    given: Vec<Box<dyn Iterator<Item = SocketAddr> + Send>>,
    farm: Option<NamedFarm>,
    /// The origin of arguments that are single addresses.
    argument_origin: u32,
    order: Order,
    strict: bool,
    files: FilesRead,
    naming: NameOptions,
    /// Where name servers are asked from.
    local: Local,
    /// A dry run asks no name server.
    asks_names: bool,
}

/// The contents of the files that were read before the scan.
#[derive(Debug, Default)]
pub(crate) struct FilesRead {
    /// Their digests.
    pub digests: Vec<InputDigest>,
    /// Lines that could not be read, the first few of them.
    pub complaints: Vec<String>,
    /// How many could not be read.
    pub bad_lines: u64,
    /// Rows that the conditions held back.
    held_back: u64,
    /// What there is to say of the files besides.
    pub remarks: Vec<String>,
}

impl Input {
    /// Reads everything but standard input, which is read while the scan runs unless `options` are strict. The scan
    /// takes what the iterators in `given` have as it goes on. `limits` say how often each of several protocols is tried,
    /// and how often Steam is asked.
    pub(crate) fn read(
        options: InputOptions,
        limits: &Limits,
        given: Vec<Box<dyn Iterator<Item = SocketAddr> + Send>>,
    ) -> Result<Self, Error> {
        let mut options = options;
        let condition = std::mem::take(&mut options.condition);
        let InputOptions { targets, files, .. } = &options;
        if !options.names_any() && given.is_empty() {
            return Err(Error::usage(
                "there is nothing to scan: name targets, or a file of them with --input (try farm:1000 for simulated \
                 ones)",
            ));
        }
        let mut plans = Plans::new();
        let mut reading = Reading::new(&options, &mut plans, limits.rounds());
        let mut files_read = FilesRead::default();
        let zones = exclude::read(&options, &reading, &mut files_read)?;
        reading.zones = Some(zones.clone());
        let origins = Origins::default();
        let mut input = Self {
            set: TargetSetBuilder::new(zones),
            plans,
            reading,
            condition,
            names: Vec::new(),
            zoned: Vec::new(),
            lists: NamedLists::default(),
            stdin: None,
            given,
            farm: None,
            argument_origin: origins.add(Origin::default()),
            origins,
            order: options.order,
            strict: options.strict,
            files: files_read,
            naming: options.naming.clone(),
            local: Local::default(),
            asks_names: true,
        };
        for text in targets {
            input.argument(text)?;
        }
        input.add_lists(&options, limits.list_gap)?;
        for path in files {
            if path == Path::new("-") && !input.strict {
                input.stdin = Some(input.file_origin(path).0);
            } else {
                input.file(path)?;
            }
        }
        input.refuse_bad_lines()?;
        Ok(input)
    }

    /// Simulated servers to start before [`Input::open`].
    #[must_use]
    pub(crate) fn farm(&self) -> Option<FarmSettings> {
        self.farm.map(|farm| farm.settings)
    }

    /// The contents of the files that were read.
    #[must_use]
    pub(crate) fn files(&self) -> &FilesRead {
        &self.files
    }

    /// The same, for the account of the run.
    #[must_use]
    pub(crate) fn take_files(&mut self) -> FilesRead {
        let FilesRead { bad_lines, held_back, .. } = self.files;
        let counts = FilesRead { bad_lines, held_back, ..FilesRead::default() };
        std::mem::replace(&mut self.files, counts)
    }

    /// Leaves out all lists, for a dry run, and returns what they are called.
    pub(crate) fn forget_lists(&mut self) -> Vec<Arc<str>> {
        self.lists.forget(&self.origins)
    }

    /// Looks no name up, for a dry run: each is unresolved because it was not asked.
    pub(crate) fn ask_no_names(&mut self) {
        self.asks_names = false;
    }

    /// Makes the resolver send its queries from `local`, as the scan does.
    pub(crate) fn ask_names_from(&mut self, local: &Local) {
        self.local = local.clone();
    }

    /// Adds a target that was typed as an argument; one that cannot be read is a usage error.
    fn argument(&mut self, text: &str) -> Result<(), Error> {
        // A list that was typed in place of a target may have a key in it.
        let wrong = |reason: String| Error::usage(without_keys(&format!("target {text:?}: {reason}")));
        let spec = TargetSpec::parse(text).map_err(|reason| wrong(reason.to_string()))?;
        if matches!(spec.hosts, Hosts::Name(_)) && Path::new(text).is_file() {
            return Err(Error::usage(format!(
                "target {text:?}: this is a file here; read targets from it with -i {text}"
            )));
        }
        if let Hosts::Farm { servers, parameters } = spec.hosts {
            return self.name_farm(text, spec.scheme, servers, parameters).map_err(wrong);
        }
        self.add(&spec, text, None).map_err(wrong)
    }

    /// Adds the targets of a file. Lines that cannot be read are counted and noted.
    fn file(&mut self, path: &Path) -> Result<(), Error> {
        let (plain, source) = self.file_origin(path);
        let condition = std::mem::take(&mut self.condition);
        let context = Context { purpose: Purpose::Ask, exact_word: self.reading.exact_word(), condition: &condition };
        let mut passed_over = 0_u64;
        let read = each_entry(path, &context, &mut |number, entry| {
            let result = entry.and_then(|entry| match entry {
                Entry::Target(text) => {
                    let spec = TargetSpec::parse(text).map_err(|reason| reason.to_string())?;
                    self.add(&spec, text, Some((&source, plain)))
                }
                Entry::HeldBack => {
                    self.files.held_back += 1;
                    Ok(())
                }
                Entry::PassedOver => {
                    passed_over += 1;
                    Ok(())
                }
            });
            if let Err(reason) = result {
                self.set.invalid();
                self.files.bad_lines += 1;
                if self.files.complaints.len() < MOST_COMPLAINTS {
                    self.files.complaints.push(format!("{source}:{number}: {reason}"));
                }
            }
            Ok(())
        })?;
        self.condition = condition;
        self.files.remarks.extend(read.emptiness);
        self.files.remarks.extend(what_was_passed_over(&source, passed_over));
        self.files.digests.push(read.digest);
        Ok(())
    }

    /// The origin that serves every line of a file that is a single address, and the file's name.
    fn file_origin(&mut self, path: &Path) -> (u32, Arc<str>) {
        let source: Arc<str> = path.display().to_string().into();
        (self.origins.add(Origin { source: Some(Arc::clone(&source)), ..Origin::default() }), source)
    }

    fn refuse_bad_lines(&self) -> Result<(), Error> {
        if !self.strict || self.files.bad_lines == 0 {
            return Ok(());
        }
        let first = self.files.complaints.first().map_or("", String::as_str);
        let more = self.files.bad_lines - 1;
        let others = if more > 0 { format!(", and {}", more_lines(more)) } else { String::new() };
        Err(Error::usage(format!("{first}{others}; nothing was sent, because of --strict")))
    }

    /// Adds one target; `file` is the file's name and the origin of its single addresses.
    fn add(&mut self, spec: &TargetSpec<'_>, text: &str, file: Option<(&Arc<str>, u32)>) -> Result<(), String> {
        let (whom, ports, plan) = self.reading.read(spec)?;
        let range = match whom {
            Whom::Range(range) => range,
            Whom::Zoned(address) => {
                let origin = self.origin(text, file.map(|(source, _)| Arc::clone(source)));
                let item = if file.is_none() { Item::Typed } else { Item::Target };
                self.zoned.extend(each_port(address, &ports, plan, origin).map(item));
                return Ok(());
            }
            Whom::Name { name, service } => {
                let origin = self.origin(text, file.map(|(source, _)| Arc::clone(source)));
                let mention = Mention { ports, plan, origin, typed: file.is_none() };
                self.names.push(Named { name: name.into(), service, mention });
                return Ok(());
            }
        };
        let origin = match file {
            Some((_, single)) if range.is_single() && ports.len() == 1 => single,
            _ if range.is_single() && ports.len() == 1 => self.argument_origin,
            _ => self.origin(text, file.map(|(source, _)| Arc::clone(source))),
        };
        self.set.add(range, &ports, plan, origin, file.is_none());
        Ok(())
    }

    fn origin(&mut self, text: &str, source: Option<Arc<str>>) -> u32 {
        self.origins.add(Origin { text: Some(text.into()), source, facts: None })
    }
}

/// The targets at `address` on each of `ports`.
fn each_port(address: SocketAddrV6, ports: &Ports, plan: u16, origin: u32) -> impl Iterator<Item = Target> {
    ports.iter().map(move |port| {
        let address = SocketAddrV6::new(*address.ip(), port, 0, address.scope_id());
        Target { address: address.into(), plan, origin }
    })
}

/// What to say of lines that cannot be read, besides those that are shown.
#[must_use]
pub(crate) fn more_lines(count: u64) -> String {
    format!("{count} more lines cannot be read")
}

/// What to say of records that name a port at which nobody can be asked.
fn what_was_passed_over(source: &str, count: u64) -> Option<String> {
    let records = match count {
        0 => return None,
        1 => "1 record was".to_owned(),
        _ => format!("{count} records were"),
    };
    Some(format!(
        "{source}: {records} skipped: the port is closed or not UDP, or the record is not a reply from a server"
    ))
}

/// Lines that cannot be read are shown up to this many.
const MOST_COMPLAINTS: usize = 20;
