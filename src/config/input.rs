//! Targets from arguments and files into one set.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::auto;
use super::farm::farm_target;
use super::game::plan as game_plan;
use super::scan::why_nothing;
use super::steam::SteamList;
use crate::engine::Plan;
use crate::error::Error;
use crate::farm::{Farm, FarmSettings, Speaks};
use crate::games::Game;
use crate::list::steam_api::without_keys;
use crate::output::Filter;
use crate::protocol::{self, AnyProtocol};
use crate::target::lines::{Lines, without_comment};
use crate::target::listing::{Line, Listing};
use crate::target::names::{Mention, Named};
use crate::target::stream::Lists;
use crate::target::{Hosts, IpRange, Origin, Origins, Ports, Tally, TargetSetBuilder, TargetSpec};

/// Collects targets, the plans they follow and who named them.
pub(super) struct Inputs {
    pub builder: TargetSetBuilder,
    pub plans: Vec<Plan>,
    pub origins: Origins,
    /// Names to be resolved.
    pub names: Vec<Named>,
    /// List servers.
    pub lists: Lists,
    /// Lists that are fetched from the Steam Web API.
    pub steam: Vec<SteamList>,
    /// Names of list servers to be resolved.
    pub list_names: Vec<Named>,
    /// There were lists, which were left out.
    pub had_lists: bool,
    pub farm: Option<FarmSettings>,
    pub digests: Vec<InputDigest>,
    /// Lines that could not be read, the first few of them.
    pub complaints: Vec<String>,
    pub bad_lines: u64,
    /// Conditions on the rows of earlier outputs.
    pub filter: Filter,
    /// Rows that the conditions held back.
    held_back: u64,
    pub reading: Reading,
    /// The origin of arguments that are single addresses.
    argument_origin: u32,
    farm_origin: u32,
}

/// How targets are read that leave something out.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Protocol of targets that name none; without one, several are tried.
    pub protocol: Option<AnyProtocol>,
    /// Game of these targets: the ports that they name are those for players.
    pub game: Option<&'static Game>,
    /// Ports of targets that name none.
    pub ports: Option<Ports>,
}

impl Reading {
    /// The hosts, the ports and the plan that `spec` means; an error for farms.
    pub(super) fn read<'a>(&self, spec: &TargetSpec<'a>) -> Result<(Whom<'a>, Ports, u16), String> {
        // Whoever names a protocol names the port at which it is spoken, as rows of earlier outputs do.
        let (protocol, game) = match spec.scheme {
            None => (self.protocol, self.game),
            Some(AUTO) => (None, None),
            Some(name) => (Some(server_protocol(name)?), None),
        };
        let written = spec.ports.as_ref().or(self.ports.as_ref());
        let whom = match spec.hosts {
            Hosts::Range(range) => Whom::Range(range),
            Hosts::Name(name) => Whom::Name {
                name,
                service: protocol.and_then(|protocol| protocol.service()).filter(|_| written.is_none()),
            },
            Hosts::Farm { .. } => return Err("simulated servers are for the command line".into()),
        };
        let usual = match (game, protocol) {
            (Some(game), _) => game.query_port,
            (None, Some(protocol)) => protocol.spec().default_port,
            // It stands for the target; each protocol has its own.
            (None, None) => protocol::in_auto().map(|protocol| protocol.spec().default_port).next().unwrap_or_default(),
        };
        let plan = match (protocol, game, written) {
            (None, _, Some(_)) => Special::Auto.plan(),
            (None, _, None) => Special::AutoAtUsualPorts.plan(),
            (_, Some(_), Some(_)) => Special::Game.plan(),
            (Some(protocol), ..) => plan_of(protocol),
        };
        Ok((whom, written.cloned().unwrap_or_else(|| Ports::one(usual)), plan))
    }
}

impl Reading {
    /// The plan of an address with a port, which names no protocol.
    pub(super) fn plan(&self) -> u16 {
        match (self.game, self.protocol) {
            (Some(_), _) => Special::Game.plan(),
            (None, Some(protocol)) => plan_of(protocol),
            (None, None) => Special::Auto.plan(),
        }
    }
}

/// Hosts that can be asked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whom<'a> {
    /// Addresses.
    Range(IpRange),
    /// A name that has to be resolved first.
    Name {
        /// The name.
        name: &'a str,
        /// The service whose SRV record is looked for.
        service: Option<&'static str>,
    },
}

/// Number of the plan that speaks `protocol`: every protocol has one, in the order of the registry.
pub(super) fn plan_of(protocol: AnyProtocol) -> u16 {
    protocol::all().position(|other| other == protocol).unwrap_or(0) as u16
}

/// Plans of more than one leg: they stand behind those of the protocols.
#[derive(Debug, Clone, Copy)]
enum Special {
    /// Every protocol at the port that the target names.
    Auto,
    /// Every protocol at its usual port.
    AutoAtUsualPorts,
    /// Looks for the query port of the game's servers.
    Game,
}

impl Special {
    /// Its number.
    fn plan(self) -> u16 {
        protocol::all().count() as u16 + self as u16
    }
}

/// All plans. A protocol that is tried among others has so many `rounds`.
fn plans(reading: &Reading, rounds: u8) -> Vec<Plan> {
    let special = [auto::at_its_port(rounds), auto::at_usual_ports(rounds)];
    let game = reading.game.zip(reading.protocol).map(|(game, protocol)| game_plan(game, protocol));
    protocol::all().map(Plan::of).chain(special).chain(game).collect()
}

/// The word for whatever protocol a server speaks.
pub const AUTO: &str = "auto";

/// What a file held when it was read.
#[derive(Debug, Clone, Serialize)]
pub struct InputDigest {
    /// The file.
    pub name: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

impl Inputs {
    pub(super) fn new(include_private: bool, reading: Reading, rounds: u8) -> Self {
        let origins = Origins::default();
        let argument_origin = origins.add(Origin::default());
        Self {
            builder: TargetSetBuilder::new(include_private),
            plans: plans(&reading, rounds),
            origins,
            names: Vec::new(),
            lists: Lists::default(),
            steam: Vec::new(),
            list_names: Vec::new(),
            had_lists: false,
            farm: None,
            digests: Vec::new(),
            complaints: Vec::new(),
            bad_lines: 0,
            filter: Filter::default(),
            held_back: 0,
            reading,
            argument_origin,
            farm_origin: argument_origin,
        }
    }

    /// Adds a target that was typed as an argument; one that cannot be read is a usage error.
    pub(super) fn argument(&mut self, text: &str) -> Result<(), Error> {
        // A list that was typed in place of a target may have a key in it.
        let wrong = |reason: String| Error::usage(without_keys(&format!("target {text:?}: {reason}")));
        let spec = TargetSpec::parse(text).map_err(|reason| wrong(reason.to_string()))?;
        if matches!(spec.hosts, Hosts::Name(_)) && Path::new(text).is_file() {
            return Err(Error::usage(format!(
                "target {text:?}: this is a file here; read targets from it with -i {text}"
            )));
        }
        self.add(&spec, text, None).map_err(wrong)
    }

    /// Adds the targets of a file; `-` is standard input. Lines that cannot be read are counted and noted.
    pub(super) fn file(&mut self, path: &Path) -> Result<(), Error> {
        let name = path.display().to_string();
        let (plain, source) = self.file_origin(path);
        let mut listing = Listing::default();
        let digest = each_line(path, |number, line| {
            let result = named(&mut listing, &self.filter, line).and_then(|text| {
                let Some(text) = text else {
                    self.held_back += 1;
                    return Ok(());
                };
                let spec = TargetSpec::parse(&text).map_err(|reason| reason.to_string())?;
                self.add(&spec, &text, Some((&source, plain)))
            });
            if let Err(reason) = result {
                self.builder.invalid();
                self.bad_lines += 1;
                if self.complaints.len() < MOST_COMPLAINTS {
                    self.complaints.push(format!("{name}:{number}: {reason}"));
                }
            }
            Ok(())
        })?;
        self.digests.push(InputDigest { name, sha256: digest });
        Ok(())
    }

    /// The origin that serves every line of a file that is a single address, and the file's name.
    pub(super) fn file_origin(&mut self, path: &Path) -> (u32, Arc<str>) {
        let source: Arc<str> = path.display().to_string().into();
        (self.origins.add(Origin { source: Some(Arc::clone(&source)), ..Origin::default() }), source)
    }

    /// Leaves out what `text` names.
    pub(super) fn exclude(&mut self, text: &str) -> Result<(), String> {
        let spec = TargetSpec::parse_exclusion(text).map_err(|reason| reason.to_string())?;
        match spec.hosts {
            // Where others may be asked than the port that a target names, any of the host may be.
            Hosts::Range(range) => {
                let names_all = self.reading.game.is_none() && self.reading.protocol.is_some();
                self.builder.exclude(range, spec.ports.as_ref().filter(|_| names_all));
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
    pub(super) fn exclude_file(&mut self, path: &Path) -> Result<(), Error> {
        let name = path.display().to_string();
        let digest = each_line(path, |number, line| {
            line.and_then(|text| match without_comment(text) {
                "" => Ok(()),
                text => self.exclude(text),
            })
            .map_err(|reason| Error::usage(format!("{name}:{number}: {reason}")))
        })?;
        self.digests.push(InputDigest { name, sha256: digest });
        Ok(())
    }

    /// Why there is nothing to ask.
    pub(super) fn why_nothing(&self, tally: &Tally) -> String {
        let held_back = if self.filter.is_empty() || self.held_back == 0 {
            String::new()
        } else {
            format!("; {} rows do not meet --input-where", self.held_back)
        };
        format!("{}{held_back}", why_nothing(tally))
    }

    /// Adds the servers of a farm, now that its port is known.
    pub(super) fn add_farm(&mut self, farm: &Farm) {
        let plan = self.reading.protocol.map_or(Special::Auto.plan(), plan_of);
        // Neighbours on the same port are one range.
        let mut first = 0;
        for index in 1..=farm.len() {
            let port = farm.address(first).port();
            if index == farm.len() || farm.address(index).port() != port {
                let (from, to) = (farm.address(first).ip(), farm.address(index - 1).ip());
                if let Some(range) = IpRange::new(from, to) {
                    self.builder.add(range, &Ports::one(port), plan, self.farm_origin, true);
                }
                first = index;
            }
        }
    }

    /// Adds one target; `file` is the file's name and the origin of its single addresses.
    fn add(&mut self, spec: &TargetSpec<'_>, text: &str, file: Option<(&Arc<str>, u32)>) -> Result<(), String> {
        if let (Hosts::Farm { servers, parameters }, None) = (&spec.hosts, file) {
            if self.farm.is_some() {
                return Err("one farm is enough for a scan".into());
            }
            let mut farm = farm_target(*servers, parameters).map_err(|error| error.to_string())?;
            // Its servers speak what they are asked in, unless something else is wanted.
            if farm.speaks == Speaks::Any {
                farm.speaks = self.reading.protocol.map_or(Speaks::OneEach, Speaks::Only);
            }
            self.farm = Some(farm);
            self.farm_origin = self.origin(text, None);
            return Ok(());
        }
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
        self.builder.add(range, &ports, plan, origin, file.is_none());
        Ok(())
    }

    fn origin(&mut self, text: &str, source: Option<Arc<str>>) -> u32 {
        self.origins.add(Origin { text: Some(text.into()), source, facts: None })
    }
}

/// The target that a line of a list names, as it would be typed; none for headers and for rows that `filter` holds back.
pub(super) fn named(
    listing: &mut Listing,
    filter: &Filter,
    line: Result<&str, String>,
) -> Result<Option<String>, String> {
    Ok(match listing.read(line?)? {
        Line::Nothing => None,
        Line::Row(_, row) if !filter.holds_for(|name| row.value(name)) => None,
        Line::Target(text) | Line::Row(text, _) => Some(text),
    })
}

/// What to say of lines that cannot be read, besides those that are shown.
#[must_use]
pub fn more_lines(count: u64) -> String {
    format!("{count} more lines cannot be read")
}

/// The protocol `name` of those that ask servers themselves.
pub(super) fn server_protocol(name: &str) -> Result<AnyProtocol, String> {
    match protocol::by_name(name) {
        Some(list) if list.lists().is_some() => {
            let url = format!("{name}://HOST:PORT");
            Err(format!(
                "{name} is a kind of list: `fragscan list {url}` prints its servers, `fragscan scan --from {url}` asks them"
            ))
        }
        Some(protocol) => Ok(protocol),
        None => {
            let servers = protocol::of_servers().map(|protocol| protocol.spec().name);
            let known: Vec<_> = servers.collect();
            Err(format!("there is no protocol {name:?} here: known are {}", known.join(", ")))
        }
    }
}

/// Calls `take` with every line of a file that says something, and returns the SHA-256 of the whole file.
pub(super) fn each_line(
    path: &Path,
    mut take: impl FnMut(u64, Result<&str, String>) -> Result<(), Error>,
) -> Result<String, Error> {
    let failed = |source| Error::Input { name: path.display().to_string(), source };
    let reader: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
    let mut digest = Sha256::new();
    let bytes = BufReader::with_capacity(BUFFER, Digested { reader, digest: &mut digest });
    let mut lines = Lines::new(unpacked(bytes).map_err(failed)?);
    while let Some((number, line)) = lines.next_line().map_err(failed)? {
        take(number, line.map_err(|reason| reason.to_string()))?;
    }
    drop(lines);
    Ok(format!("{:x}", digest.finalize()))
}

/// What is packed in `bytes`, or `bytes`: gzip and Zstandard are known by their first bytes.
fn unpacked<'a>(mut bytes: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let head = bytes.fill_buf()?;
    Ok(if head.starts_with(b"\x1F\x8B") {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(bytes)))
    } else if head.starts_with(b"\x28\xB5\x2F\xFD") {
        Box::new(BufReader::with_capacity(BUFFER, zstd::Decoder::with_buffer(bytes)?))
    } else {
        Box::new(bytes)
    })
}

/// A reader that digests what it reads.
struct Digested<'a> {
    reader: Box<dyn Read>,
    digest: &'a mut Sha256,
}

impl Read for Digested<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.reader.read(buffer)?;
        self.digest.update(&buffer[..size]);
        Ok(size)
    }
}

const BUFFER: usize = 64 << 10;
/// Lines that cannot be read are shown up to this many.
pub(super) const MOST_COMPLAINTS: usize = 20;
