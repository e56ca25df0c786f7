//! The arguments of `fragscan scan`, checked, with every input read.

use std::fmt::Display;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use super::game;
use super::input::{AUTO, InputDigest, Inputs, Reading, more_lines, server_protocol};
use super::limits::Limits;
use super::output::{Output, outputs, refuse_collisions};
use super::steam;
use super::value;
use crate::cli::ScanArgs;
use crate::engine::{Plan, Settings};
use crate::error::Error;
use crate::farm::{Farm, FarmSettings};
use crate::net::batch;
use crate::net::socket::{self, Local};
use crate::output::{Filter, Format, is_stdout};
use crate::record::{self, List, Selection};
use crate::target::stream::Stream;
use crate::target::{Dedup, ExclusionReason, FetchedEnds, Order, Origins, Ports, Source, Tally};

/// What a scan does.
pub struct ScanConfig {
    /// Simulated servers to start first.
    pub farm: Option<FarmSettings>,
    /// Where rows go.
    pub outputs: Vec<Output>,
    /// What is written of each record, if it was chosen.
    pub selection: Option<Selection>,
    /// Whether tables have colours.
    pub colour: Colour,
    /// Rows that are written.
    pub filter: Filter,
    /// Where datagrams go as they came.
    pub raw: Option<PathBuf>,
    /// Where metadata goes, besides the files next to the outputs.
    pub metadata: Option<PathBuf>,
    /// Targets are printed and not asked.
    pub dry_run: bool,
    /// What is said on standard error.
    pub messages: Messages,
    /// Where datagrams are sent from.
    pub local: Local,
    /// How they are sent and received.
    pub io: batch::Path,
    /// Lines of the input that could not be read, the first few of them.
    pub complaints: Vec<String>,
    /// How many could not be read.
    pub bad_lines: u64,
    /// Seed of the order and of everything keyed.
    pub seed: u64,
    /// The order.
    pub order: Order,
    /// What the input files held.
    pub digests: Vec<InputDigest>,
    /// What is not understood, or not had as a whole, is an error.
    pub strict: bool,
    flag_clones: bool,
    /// Standard input is read while the scan runs; the origin of its targets.
    stdin: Option<u32>,
    inputs: Inputs,
    limits: Limits,
}

/// What is said on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// Neither summary nor progress.
    pub quiet: bool,
    /// Progress also where there is no terminal.
    pub progress: bool,
    /// Odd datagrams are explained.
    pub verbose: bool,
}

/// Whether tables have colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal.
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl FromStr for Colour {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err(format!("{word:?} is no time for colours: write auto, always or never")),
        }
    }
}

/// A scan whose targets are known, or become known while it runs.
pub struct Prepared {
    /// The targets.
    pub targets: Box<dyn Source>,
    /// Some may be IPv4, some may be IPv6.
    pub families: (bool, bool),
    /// What became of the input so far.
    pub tally: Arc<Mutex<Tally>>,
    /// Settings of the engine.
    pub settings: Settings,
    /// Plans of the targets.
    pub plans: Arc<[Plan]>,
    /// Origins of the targets.
    pub origins: Origins,
    /// Origins of the list servers.
    pub list_servers: Vec<u32>,
    /// How the lists that threads fetch have ended.
    pub fetched: FetchedEnds,
    /// Whether answers that many ports of an address give are flagged.
    pub flag_clones: bool,
}

/// Reads the arguments of `fragscan scan` and all of its input; `random` is the seed if none was typed.
pub fn scan(args: ScanArgs, random: u64) -> Result<ScanConfig, Error> {
    let limits = Limits::read(&args)?;
    let order = match args.order.as_str() {
        "shuffled" => Order::Shuffled,
        "input" => Order::Input,
        other => return Err(Error::usage(format!("--order: {other:?} is no order: write shuffled or input"))),
    };
    if let Some(path) = &args.raw
        && !is_stdout(path)
        && !path.starts_with("/dev")
        && path.extension().is_none_or(|extension| extension != "pcapng")
    {
        return Err(Error::usage(format!("--raw: {} holds a pcapng: give it that extension", path.display())));
    }
    let local = local(&args)?;
    let outputs = outputs(&args.output, args.format.as_deref())?;
    let formats: Vec<Format> = outputs.iter().map(|output| output.format).collect();
    let read = args.input.iter().chain(&args.exclude_file).map(PathBuf::as_path);
    refuse_collisions(read, &outputs, [("--metadata", args.metadata.as_deref()), ("--raw", args.raw.as_deref())])?;
    let (mut inputs, stdin) = inputs(&args)?;
    if args.strict && inputs.bad_lines > 0 {
        let first = inputs.complaints.first().map_or("", String::as_str);
        let more = inputs.bad_lines - 1;
        let others = if more > 0 { format!(", and {}", more_lines(more)) } else { String::new() };
        return Err(Error::usage(format!("{first}{others}; nothing was sent, because of --strict")));
    }
    Ok(ScanConfig {
        farm: inputs.farm,
        selection: selection(&args.fields, &formats)?,
        outputs,
        colour: value::parse("--color", &args.color)?,
        filter: filter("--where", &args.condition)?,
        raw: args.raw,
        metadata: args.metadata,
        dry_run: args.dry_run,
        messages: Messages { quiet: args.quiet, progress: args.progress, verbose: args.verbose },
        local,
        io: io(&args.io)?,
        complaints: std::mem::take(&mut inputs.complaints),
        bad_lines: inputs.bad_lines,
        seed: args.seed.unwrap_or(random),
        order,
        digests: std::mem::take(&mut inputs.digests),
        flag_clones: args.flag_clones,
        strict: args.strict,
        stdin,
        inputs,
        limits,
    })
}

impl ScanConfig {
    /// Leaves out all lists, for a dry run, and returns what they are called.
    pub fn forget_lists(&mut self) -> Vec<Arc<str>> {
        self.inputs.forget_lists()
    }

    /// Makes the set of targets, with those of the farm that was started in the meantime.
    ///
    /// With `--strict`, targets that cannot be asked at all are an error too.
    /// `complain` is told of what cannot be read of standard input later, and of what holds up a list.
    pub fn prepare(
        mut self,
        farm: Option<&Farm>,
        complain: impl Fn(&dyn Display) + Clone + Send + 'static,
    ) -> Result<Prepared, Error> {
        if let Some(farm) = farm {
            self.inputs.add_farm(farm);
        }
        let zones = self.inputs.builder.zones();
        let mut lists = std::mem::take(&mut self.inputs.lists);
        let named = self.inputs.list_names.iter().map(|list| list.mention.origin);
        let list_servers = lists.known.iter().map(|list| list.origin).chain(named).collect();
        let fetched = FetchedEnds::default();
        let later =
            self.stdin.is_some() || !self.inputs.names.is_empty() || lists.open > 0 || !self.inputs.steam.is_empty();
        let origins = self.inputs.origins.clone();
        let plans = std::mem::take(&mut self.inputs.plans).into();
        let (targets, tally) = std::mem::take(&mut self.inputs.builder)
            .build(self.order, self.seed)
            .map_err(|reason| Error::usage(reason.to_string()))?;
        let unaskable = tally.invalid - self.bad_lines;
        if self.strict && unaskable > 0 {
            return Err(Error::usage(format!("{}; nothing was sent, because of --strict", why_unaskable(unaskable))));
        }
        // An earlier output must not be replaced by an empty one because a list was broken.
        if targets.is_empty() && !later && !self.inputs.had_lists {
            return Err(Error::usage(self.inputs.why_nothing(&tally)));
        }
        let settings = self.limits.settings(targets.all_loopback() && !later, self.seed);
        let mut families = (targets.has_ipv4(), targets.has_ipv6());
        let tally = Arc::new(Mutex::new(tally));
        let targets: Box<dyn Source> = if later {
            families = (true, true);
            let say = (!self.messages.quiet).then(|| complain.clone());
            lists.fetched = steam::start(std::mem::take(&mut self.inputs.steam), &origins, &fetched, say.as_ref())?;
            let items = self.inputs.start(self.stdin, complain)?;
            let known = Dedup::new(targets, self.seed);
            Box::new(Stream::new(known, items, lists, zones, Arc::clone(&tally), self.order, self.seed))
        } else {
            Box::new(targets)
        };

        let flag_clones = self.flag_clones;
        Ok(Prepared { targets, families, tally, settings, plans, origins, list_servers, fetched, flag_clones })
    }
}

/// What to say of addresses that nothing can be sent to.
#[must_use]
pub fn why_unaskable(count: u64) -> String {
    format!("{count} targets are addresses to which nothing can be sent (0.0.0.0, ::, 127.255.255.255)")
}

/// Why nothing was asked.
#[must_use]
pub fn why_nothing(tally: &Tally) -> String {
    format!("there is nothing to scan: {}", what_is_left_out(tally))
}

/// What of the input is not asked, and why.
#[must_use]
pub fn what_is_left_out(tally: &Tally) -> String {
    let Tally { read, invalid, excluded, .. } = tally;
    let reasons = [
        (ExclusionReason::Reserved, "in networks that are reserved, such as those for documentation, and never asked"),
        (ExclusionReason::Private, "private, which are left out without --include-private unless they are arguments"),
        (ExclusionReason::Listed, "excluded by you"),
    ];
    let reasons = reasons.into_iter().filter(|(reason, _)| excluded[*reason] > 0);
    let reasons: Vec<_> = reasons.map(|(reason, why)| format!("; {} {why}", excluded[reason])).collect();
    format!("of {read} targets read, {invalid} are invalid{}", reasons.concat())
}

fn io(word: &str) -> Result<batch::Path, Error> {
    match word {
        "auto" | "mmsg" => Ok(batch::Path::Mmsg),
        "portable" => Ok(batch::Path::Portable),
        _ => Err(Error::usage(format!("--io: {word:?} is no way to send: write auto, mmsg or portable"))),
    }
}

fn local(args: &ScanArgs) -> Result<Local, Error> {
    let mut local = Local {
        interface: args.sending.interface.clone(),
        sockets: args.sockets,
        receive_buffer: args.rcvbuf.as_deref().map(|text| value::size("--rcvbuf", text)).transpose()?,
        ..Local::default()
    };
    if !(1..=MOST_SOCKETS).contains(&args.sockets) {
        return Err(Error::usage(format!("--sockets: {} is not in 1 to {MOST_SOCKETS}", args.sockets)));
    }
    for ip in &args.sending.source_ip {
        let taken = match ip {
            IpAddr::V4(ip) => local.ipv4.replace(*ip).is_some(),
            IpAddr::V6(ip) => local.ipv6.replace(*ip).is_some(),
        };
        if taken {
            return Err(Error::usage("--source-ip: write one IPv4 address and one IPv6 address at most"));
        }
        if let Err(reason) = socket::claim(*ip) {
            return Err(Error::usage(format!("--source-ip: {ip} is no address of this machine: {reason}")));
        }
    }
    if let Some(text) = &args.sending.source_port {
        let ports: Ports = value::parse("--source-port", text)?;
        local.ports = ports.ranges().next();
        if args.sockets > 1 && local.ports.is_some_and(|(first, last)| usize::from(last - first) + 1 < args.sockets) {
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

/// Reads everything but standard input, of which only the origin is returned: unless `--strict` wants all lines to be
/// looked at before the first datagram, it is read while the scan runs.
fn inputs(args: &ScanArgs) -> Result<(Inputs, Option<u32>), Error> {
    if args.targets.is_empty() && args.input.is_empty() && args.from.is_empty() {
        return Err(Error::usage(
            "there is nothing to scan: name targets, or a file of them with --input (try farm:1000 for simulated ones)",
        ));
    }
    let game = args.game.as_deref().map(game::game).transpose()?;
    let (flag, name) = match game {
        Some(game) => ("--game", game.protocol.as_str()),
        None => ("--protocol", args.protocol.as_deref().unwrap_or(DEFAULT_PROTOCOL)),
    };
    let protocol = match name {
        AUTO => None,
        name => Some(server_protocol(name).map_err(|reason| Error::usage(format!("{flag}: {reason}")))?),
    };
    let ports = args.ports.as_deref().map(|text| value::parse::<Ports>("--ports", text)).transpose()?;
    let rounds = u8::try_from(args.retries.saturating_add(1)).unwrap_or(u8::MAX);
    let mut inputs = Inputs::new(args.include_private, Reading { protocol, game, ports }, rounds);
    inputs.filter = filter("--input-where", &args.input_condition)?;
    for text in &args.exclude {
        inputs.exclude(text).map_err(|reason| Error::usage(format!("--exclude {text:?}: {reason}")))?;
    }
    for path in &args.exclude_file {
        inputs.exclude_file(path)?;
    }
    for text in &args.targets {
        inputs.argument(text)?;
    }
    inputs.lists(args, args.protocol.is_some() || game.is_some())?;
    let mut stdin = None;
    for path in &args.input {
        if path == Path::new("-") && !args.strict {
            stdin = Some(inputs.file_origin(path).0);
        } else {
            inputs.file(path)?;
        }
    }
    Ok((inputs, stdin))
}

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

/// Protocol of targets and lists that name none.
pub const DEFAULT_PROTOCOL: &str = "a2s";
const MOST_SOCKETS: usize = 64;
