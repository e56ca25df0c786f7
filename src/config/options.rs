//! What a scan does, as plain data: the command line is parsed into it, and a program fills it in directly.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::limits::Limits;
use crate::dns::Family;
use crate::games::Game;
use crate::net::options::{IoPath, Local};
use crate::output::{Filter, Format, Leftover};
use crate::protocol::AnyProtocol;
use crate::record::Selection;
use crate::target::{Order, Ports};

/// What a scan does. [`Default`] is what `fragscan scan` does without options; set the fields that you want to change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ScanOptions {
    /// Whom to ask.
    pub input: InputOptions,
    /// How fast, how long, and what.
    pub limits: Limits,
    /// Where datagrams are sent from.
    pub network: NetworkOptions,
    /// Where rows go.
    pub output: OutputOptions,
    /// Seed of the order and of every keyed hash; without one it is taken from the clock.
    pub seed: Option<u64>,
    /// What the metadata record as the command line; it must hold no secrets.
    pub arguments: Vec<String>,
}

/// Whom to ask.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct InputOptions {
    /// Targets, as on the command line: `[PROTOCOL://]HOST[:PORT[-PORT][,PORT…]]`, or `farm:N`.
    pub targets: Vec<String>,
    /// Files of targets; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Conditions on the rows of earlier outputs in these files.
    pub condition: Filter,
    /// URLs of lists, as `--from` takes them.
    pub lists: Vec<String>,
    /// What to ask of lists of Steam's servers, and how.
    pub steam: SteamOptions,
    /// How to look up names.
    pub naming: NameOptions,
    /// What to speak with targets that name no protocol.
    pub spoken: Spoken,
    /// Ports of targets that name none; without them, those of the protocol.
    pub ports: Option<Ports>,
    /// Targets to leave out.
    pub exclude: Vec<String>,
    /// Files of targets to leave out.
    pub exclude_files: Vec<PathBuf>,
    /// Asks private addresses wherever they are named.
    pub include_private: bool,
    /// The order in which targets are asked.
    pub order: Order,
    /// Makes a line that cannot be read an error.
    pub strict: bool,
}

impl InputOptions {
    /// Whether any target, file or list is named.
    pub(crate) fn names_any(&self) -> bool {
        !(self.targets.is_empty() && self.files.is_empty() && self.lists.is_empty())
    }
}

/// How names are looked up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NameOptions {
    /// Name servers; without any, those of the system.
    pub servers: Vec<SocketAddr>,
    /// How long the answer to a first try is waited for; doubles with each further try.
    pub timeout: Duration,
    /// The families of addresses that are wanted.
    pub family: Family,
    /// Every address of a name is a target, not only its first.
    pub all_addresses: bool,
}

impl Default for NameOptions {
    fn default() -> Self {
        Self { servers: Vec::new(), timeout: Duration::from_secs(1), family: Family::Any, all_addresses: false }
    }
}

/// What to ask of lists of Steam's servers, and how.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SteamOptions {
    /// Only servers of these applications; of all, if there are none.
    pub apps: Vec<u32>,
    /// File with the key of the Web API; without it the key is read from the environment variable `STEAM_API_KEY`.
    pub key_file: Option<PathBuf>,
    /// The web server to ask, if not Steam's.
    pub api_url: Option<String>,
}

/// What to speak with targets that name no protocol.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Spoken {
    /// A2S; for servers from a list, the protocol that such lists are for.
    #[default]
    Usual,
    /// Whichever protocol they answer.
    Auto,
    /// This protocol.
    Protocol(AnyProtocol),
    /// The protocols of these games, one after the other until one is answered. Targets name the port for players.
    Games(Vec<&'static Game>),
}

impl Spoken {
    /// Whether a protocol or a game was chosen.
    #[must_use]
    pub const fn is_chosen(&self) -> bool {
        !matches!(self, Self::Usual)
    }
}

/// Where datagrams are sent from, and how.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NetworkOptions {
    /// Addresses, ports and buffers of the sockets.
    pub local: Local,
    /// Which system calls are used.
    pub io: IoPath,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self { local: Local { sockets: 1, ..Local::default() }, io: IoPath::Mmsg }
    }
}

/// Where rows go, and which.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OutputOptions {
    /// Files and streams.
    pub outputs: Vec<Output>,
    /// What is written of each record; everything by default.
    pub selection: Option<Selection>,
    /// Rows that are written.
    pub condition: Filter,
    /// File for the datagrams as they were received.
    pub raw: Option<PathBuf>,
    /// File for where names led.
    pub names: Option<PathBuf>,
    /// File for the metadata, besides those next to the outputs.
    pub metadata: Option<PathBuf>,
    /// Flags answers that many ports of an address give.
    pub flag_clones: bool,
    /// What to do about what an earlier run has left in a `.partial` file.
    pub leftover: Leftover,
}

/// One output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The file; `None` is standard output.
    pub path: Option<PathBuf>,
    /// What is written to it.
    pub format: Format,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Args, Command};
    use crate::config;

    #[test]
    fn the_defaults_are_those_of_the_command_line() {
        let args = Args::try_parse_from(["fragscan", "scan", "x"]).unwrap();
        let Command::Scan(args) = args.command else { panic!("scan was typed") };
        let typed = config::scan(args, false).unwrap();
        // What is typed has to be in it, and the command line always has somewhere to write to.
        let mut defaults = ScanOptions::default();
        defaults.input.targets = vec!["x".into()];
        defaults.output.outputs = vec![Output { path: None, format: Format::Csv }];
        // Every field is printed, whether or not it can be compared.
        assert_eq!(format!("{:#?}", typed.options), format!("{defaults:#?}"));
        assert_eq!((typed.dry_run, typed.messages), (false, config::Messages::default()));
    }
}
