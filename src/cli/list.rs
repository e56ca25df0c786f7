//! The arguments of `fragscan list`, and those that `fragscan scan` shares.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::choice::{IfPartial, RowFormat};
use super::names::NameArgs;

/// `fragscan list`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ListArgs {
    /// Lists to request: valve-master://HOST:PORT?region=all&filter=/appid/730, hl1-master://HOST:PORT,
    /// quake3-master://HOST:PORT?protocol=68&game=NAME or steam-api:?filter=/appid/730
    #[arg(value_name = "URL", required = true)]
    pub from: Vec<String>,

    /// What is asked of Steam's lists, and how.
    #[command(flatten)]
    pub steam: SteamArgs,

    /// Most requests per minute to each list server, or max
    #[arg(long, value_name = "RATE", default_value = "30")]
    pub list_rate: String,

    /// Leave out TARGET (an address, range or block, with or without ports); may be repeated
    #[arg(long, value_name = "TARGET")]
    pub exclude: Vec<String>,

    /// Leave out what FILE lists; may be repeated
    #[arg(long, value_name = "FILE", visible_alias = "blocklist-file", visible_short_alias = 'b')]
    pub exclude_file: Vec<PathBuf>,

    /// Print private addresses too
    #[arg(long)]
    pub include_private: bool,

    /// Wait this long for an answer to the first try; the wait doubles with each retry, up to 8 s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub timeout: String,

    /// Retry each request this many times before pausing for this list server
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub retries: u32,

    /// How names are looked up.
    #[command(flatten)]
    pub naming: NameArgs,

    /// Where requests are sent from.
    #[command(flatten)]
    pub sending: SendingArgs,

    /// Exit with code 3 if a list is incomplete
    #[arg(long)]
    pub strict: bool,

    /// Write to FILE, in the format of its extension; may be repeated [default: to standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of outputs without a known extension
    #[arg(short, long, value_name = "FORMAT", value_enum, ignore_case = true)]
    pub format: Option<RowFormat>,

    /// What to do if an earlier run that did not end has left FILE.partial
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t = IfPartial::Refuse,
        ignore_case = true
    )]
    pub if_partial: IfPartial,

    /// Explain each discarded datagram, with a hex dump of its first bytes
    #[arg(short, long)]
    pub verbose: bool,

    /// Print a progress line every five seconds if no progress bar can be shown
    #[arg(long)]
    pub progress: bool,

    /// Print neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// What is asked of Steam's lists, and how. Both commands have the lists themselves in an argument `from`.
#[derive(Debug, Args)]
pub(crate) struct SteamArgs {
    /// Request only servers of this Steam application from valve-master and steam-api lists; may be repeated, for one list
    /// per application
    #[arg(long = "app", value_name = "ID", requires = "from")]
    pub apps: Vec<u32>,

    /// File with the key for steam-api lists; without it the key is read from the environment, STEAM_API_KEY
    #[arg(long = "steam-key-file", value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Web server to ask in place of api.steampowered.com; the key goes over https only, or to this machine
    #[arg(long = "steam-api-url", value_name = "URL", hide_short_help = true)]
    pub api_url: Option<String>,
}

/// Where datagrams are sent from.
#[derive(Debug, Args)]
pub(crate) struct SendingArgs {
    /// Send from this local address; may be given once for IPv4 and once for IPv6
    #[arg(long, value_name = "IP", help_heading = "Network", alias = "bind")]
    pub source_ip: Vec<IpAddr>,

    /// Send from this port, or from the first free one of a range
    #[arg(long, value_name = "PORT[-PORT]", help_heading = "Network")]
    pub source_port: Option<String>,

    /// Send through this network interface only
    #[arg(long, value_name = "NAME", help_heading = "Network")]
    pub interface: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  fragscan list valve-master://master.example.com:27010?filter=/gamedir/valve
  fragscan list 'quake3-master://master.example.com?protocol=71&game=Quake3Arena' -o list.csv
  fragscan scan --from valve-master://master.example.com:27010 -o servers.csv      list, then scan

Regions: all, us-east, us-west, south-america, europe, asia, australia, middle-east, africa.
A server that two lists name is printed once. fragscan leaves out addresses
that cannot be asked, and private ones unless you give --include-private.
Exit code 3 with --strict if a list is incomplete.";
