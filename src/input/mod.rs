//! From options to targets: arguments, files, standard input, names and lists become one source.
//!
//! ```text
//! arguments, files ── reading ──► the set ───────────────────┐
//! names ── resolve ──┐                                       ▼
//! standard input ────┼──► items ──────────────────► stream (dedup) ──► engine
//! Steam's lists ─────┘              list servers, asked by the engine ▲
//! ```
//!
//! What is known before the first datagram is a set; the rest is a stream that follows it. That each target comes once is
//! [`Dedup`]'s to see to.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use crossbeam_channel::bounded;

use crate::config::{InputOptions, Limits, farm_target};
use crate::engine::Plan;
use crate::error::Error;
use crate::farm::{Farm, FarmSettings, Speaks};
use crate::list::steam_api::without_keys;
use crate::output::Filter;
use crate::target::{
    Dedup, Hosts, IpRange, Order, Origin, Origins, Ports, Source, Target, TargetSetBuilder, TargetSpec,
};

mod account;
mod fetched;
mod files;
mod lines;
mod listing;
mod lists;
mod names;
mod plans;
mod reading;
mod resolve;
mod srv;
mod stdin;
mod steam;
mod stream;

pub(crate) use account::{Account, what_is_left_out, why_nothing};
pub(crate) use fetched::FetchedEnd;
pub(crate) use files::InputDigest;
pub(crate) use names::{Mention, Named};
pub(crate) use stream::{Arrivals, Item, Stream};
#[cfg(test)]
pub(crate) use {
    fetched::{Fetched, FetchedEnds},
    names::Answer,
    stream::Lists,
};

use account::why_unaskable;
use files::each_line;
use lines::without_comment;
use listing::Listing;
use lists::NamedLists;
use plans::Plans;
use reading::{Reading, Whom, target_of_line};
use resolve::Resolver;
use srv::NameServers;

/// Everything that was named, read up to what only a running scan can wait for.
pub(crate) struct Input {
    set: TargetSetBuilder,
    plans: Plans,
    origins: Origins,
    reading: Reading,
    /// Conditions on the rows of earlier outputs.
    condition: Filter,
    /// Names to be resolved.
    names: Vec<Named>,
    lists: NamedLists,
    /// Standard input is read while the scan runs; the origin of its targets.
    stdin: Option<u32>,
    iterator: Option<Box<dyn Iterator<Item = SocketAddr> + Send>>,
    farm: Option<NamedFarm>,
    /// The origin of arguments that are single addresses.
    argument_origin: u32,
    order: Order,
    strict: bool,
    files: FilesRead,
}

/// What the files held that were read before the scan.
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
}

/// Simulated servers among the targets.
#[derive(Debug, Clone, Copy)]
struct NamedFarm {
    settings: FarmSettings,
    origin: u32,
}

/// Targets that a scan can take, and what it needs to know about them.
pub(crate) struct Opened {
    /// The targets.
    pub source: Box<dyn Source>,
    /// What their plans say.
    pub plans: Arc<[Plan]>,
    /// Who named them.
    pub origins: Origins,
    /// What becomes of the input; it goes on changing while the scan runs.
    pub account: Account,
    /// Where they are.
    pub reach: Reach,
}

/// Where targets are, as far as it is known before the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// There may be IPv4 targets.
    pub ipv4: bool,
    /// There may be IPv6 targets.
    pub ipv6: bool,
    /// All are on loopback, and it is known that they are.
    pub loopback_only: bool,
}

impl Opened {
    /// The targets of a source of somebody else's, which follow `plans`.
    #[must_use]
    pub(crate) fn foreign(source: Box<dyn Source>, plans: Vec<Plan>) -> Self {
        let origins = Origins::default();
        // Targets that name no origin have this one.
        let _ = origins.add(Origin::default());
        let reach = Reach { ipv4: true, ipv6: true, loopback_only: false };
        Self { source, plans: plans.into(), origins, account: Account::foreign(), reach }
    }
}

impl Input {
    /// Reads everything but standard input, which is read while the scan runs unless `options` are strict. What an
    /// `iterator` gives is taken as the scan goes on. `limits` say how often a protocol is tried that is one of several,
    /// and how often Steam is asked.
    pub(crate) fn read(
        options: InputOptions,
        limits: &Limits,
        iterator: Option<Box<dyn Iterator<Item = SocketAddr> + Send>>,
    ) -> Result<Self, Error> {
        let mut options = options;
        let condition = std::mem::take(&mut options.condition);
        let InputOptions { targets, files, exclude, exclude_files, lists, .. } = &options;
        if targets.is_empty() && files.is_empty() && lists.is_empty() && iterator.is_none() {
            return Err(Error::usage(
                "there is nothing to scan: name targets, or a file of them with --input (try farm:1000 for simulated \
                 ones)",
            ));
        }
        let mut plans = Plans::new();
        let reading = Reading::new(&options, &mut plans, limits.rounds());
        let origins = Origins::default();
        let mut input = Self {
            set: TargetSetBuilder::new(options.include_private),
            plans,
            reading,
            condition,
            names: Vec::new(),
            lists: NamedLists::default(),
            stdin: None,
            iterator,
            farm: None,
            argument_origin: origins.add(Origin::default()),
            origins,
            order: options.order,
            strict: options.strict,
            files: FilesRead::default(),
        };
        for text in exclude {
            input.exclude(text).map_err(|reason| Error::usage(format!("--exclude {text:?}: {reason}")))?;
        }
        for path in exclude_files {
            input.exclude_file(path)?;
        }
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

    /// Simulated servers that are to be started before [`Input::open`].
    #[must_use]
    pub(crate) fn farm(&self) -> Option<FarmSettings> {
        self.farm.map(|farm| farm.settings)
    }

    /// What the files held that were read.
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

    /// Makes the source, with the servers of the `farm` that was started in the meantime, and starts the threads that
    /// resolve names, read standard input and fetch lists.
    ///
    /// If the input is strict, targets that cannot be asked at all are an error too. `complain` is told of what cannot be
    /// read of standard input later, and of what holds up a list.
    pub(crate) fn open(
        mut self,
        farm: Option<&Farm>,
        seed: u64,
        complain: impl Fn(&dyn Display) + Clone + Send + 'static,
    ) -> Result<Opened, Error> {
        if let Some(farm) = farm {
            self.add_farm(farm);
        }
        let grows = self.stdin.is_some() || self.iterator.is_some() || !self.names.is_empty() || !self.lists.is_empty();
        let zones = self.set.zones();
        let set = std::mem::take(&mut self.set);
        let (targets, tally) = set.build(self.order, seed).map_err(|reason| Error::usage(reason.to_string()))?;
        let unaskable = tally.invalid - self.files.bad_lines;
        if self.strict && unaskable > 0 {
            return Err(Error::usage(format!("{}; nothing was sent, because of --strict", why_unaskable(unaskable))));
        }
        // An earlier output must not be replaced by an empty one because a list was broken.
        if targets.is_empty() && !grows && !self.lists.were_left_out() {
            let held_back = match self.files.held_back {
                0 => String::new(),
                rows => format!("; {rows} rows do not meet --input-where"),
            };
            return Err(Error::usage(format!("{}{held_back}", why_nothing(&tally))));
        }
        let reach = Reach {
            ipv4: grows || targets.has_ipv4(),
            ipv6: grows || targets.has_ipv6(),
            loopback_only: !grows && targets.all_loopback(),
        };
        let mut account = Account::new(Arc::new(Mutex::new(tally)), self.files.bad_lines);
        account.list_servers = self.lists.origins();
        let origins = self.origins.clone();
        if !grows {
            let plans = self.plans.all().into();
            return Ok(Opened { source: Box::new(targets), plans, origins, account, reach });
        }
        let (lists, list_names) = self.lists.start(&origins, &account.fetched, &complain)?;
        let (sender, items) = bounded(WAITING);
        let (plan, origin) = (self.reading.plan_of_servers(), self.argument_origin);
        let given = self.iterator.map(|addresses| {
            let targets = addresses.map(move |address| Item::Target(Target { address, plan, origin }));
            Arrivals::Given(Box::new(targets))
        });
        let arrivals = given.into_iter().chain([Arrivals::Sent(items)]).collect();
        let known = Dedup::new(targets, seed);
        let stream = Stream::new(known, arrivals, lists, zones, Arc::clone(&account.tally), self.order, seed);
        let failed = |source| Error::Input { name: "names and standard input".into(), source };
        let mut resolver = Resolver::start(sender.clone(), &NameServers::of_system()).map_err(failed)?;
        let Self { names, stdin, reading, condition, plans, .. } = self;
        let lines = stdin.map(|origin| stdin::Lines { reading, condition, origin, origins: origins.clone() });
        thread::Builder::new()
            .spawn(move || {
                // Whoever does not take a name has ended, because the scan has.
                if list_names.into_iter().chain(names).all(|name| resolver.mention(name))
                    && let Some(lines) = lines
                {
                    lines.read(&complain, &sender, &mut resolver);
                }
            })
            .map_err(failed)?;
        Ok(Opened { source: Box::new(stream), plans: plans.all().into(), origins, account, reach })
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
            return self.name_farm(text, servers, parameters).map_err(wrong);
        }
        self.add(&spec, text, None).map_err(wrong)
    }

    /// Adds the targets of a file. Lines that cannot be read are counted and noted.
    fn file(&mut self, path: &Path) -> Result<(), Error> {
        let (plain, source) = self.file_origin(path);
        let mut listing = Listing::default();
        let digest = each_line(path, |number, line| {
            let result = target_of_line(&mut listing, &self.condition, line).and_then(|text| {
                let Some(text) = text else {
                    self.files.held_back += u64::from(!self.condition.is_empty());
                    return Ok(());
                };
                let spec = TargetSpec::parse(&text).map_err(|reason| reason.to_string())?;
                self.add(&spec, &text, Some((&source, plain)))
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
        self.files.digests.push(digest);
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

    /// Leaves out what `text` names.
    fn exclude(&mut self, text: &str) -> Result<(), String> {
        let spec = TargetSpec::parse_exclusion(text).map_err(|reason| reason.to_string())?;
        match spec.hosts {
            // Where others may be asked than the port that a target names, any of the host may be.
            Hosts::Range(range) => {
                self.set.exclude(range, spec.ports.as_ref().filter(|_| self.reading.names_all_ports()));
            }
            Hosts::Name(name) => {
                return Err(format!("{name:?} is a name: write addresses, ranges or blocks to leave out"));
            }
            Hosts::Farm { .. } => return Err("simulated servers cannot be left out".into()),
        }
        Ok(())
    }

    /// Leaves out what the lines of a file name. A line that cannot be read is an error: what was meant to be left out
    /// must not be asked.
    fn exclude_file(&mut self, path: &Path) -> Result<(), Error> {
        let digest = each_line(path, |number, line| {
            line.and_then(|text| match without_comment(text) {
                "" => Ok(()),
                text => self.exclude(text),
            })
            .map_err(|reason| Error::usage(format!("{}:{number}: {reason}", path.display())))
        })?;
        self.files.digests.push(digest);
        Ok(())
    }

    fn name_farm(&mut self, text: &str, servers: u32, parameters: &str) -> Result<(), String> {
        if self.farm.is_some() {
            return Err("one farm is enough for a scan".into());
        }
        let mut settings = farm_target(servers, parameters).map_err(|error| error.to_string())?;
        // Its servers speak what they are asked in, unless something else is wanted.
        if settings.speaks == Speaks::Any {
            settings.speaks = self.reading.protocol.map_or(Speaks::OneEach, Speaks::Only);
        }
        self.farm = Some(NamedFarm { settings, origin: self.origin(text, None) });
        Ok(())
    }

    /// Adds the servers of a farm, now that its port is known.
    fn add_farm(&mut self, farm: &Farm) {
        let plan = self.reading.plan_of_servers();
        let origin = self.farm.map_or(self.argument_origin, |farm| farm.origin);
        // Neighbours on the same port are one range.
        let mut first = 0;
        for index in 1..=farm.len() {
            let port = farm.address(first).port();
            if index == farm.len() || farm.address(index).port() != port {
                let (from, to) = (farm.address(first).ip(), farm.address(index - 1).ip());
                if let Some(range) = IpRange::new(from, to) {
                    self.set.add(range, &Ports::one(port), plan, origin, true);
                }
                first = index;
            }
        }
    }

    /// Adds one target; `file` is the file's name and the origin of its single addresses.
    fn add(&mut self, spec: &TargetSpec<'_>, text: &str, file: Option<(&Arc<str>, u32)>) -> Result<(), String> {
        let (whom, ports, plan) = self.reading.read(spec)?;
        let range = match whom {
            Whom::Range(range) => range,
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

/// What to say of lines that cannot be read, besides those that are shown.
#[must_use]
pub(crate) fn more_lines(count: u64) -> String {
    format!("{count} more lines cannot be read")
}

/// Lines that cannot be read are shown up to this many.
const MOST_COMPLAINTS: usize = 20;
/// Items that were read and not taken.
const WAITING: usize = 1 << 14;
