//! The arguments of `fragscan scan`.

use std::path::PathBuf;

use clap::Args;

use super::choice::{Color, IfPartial, Io, Order, Query, RowFormat};
use super::list::{SendingArgs, SteamArgs};
use super::names::NameArgs;
use super::protocol::{self, Protocol};

/// `fragscan scan`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScanArgs {
    /// Targets: [PROTOCOL://]HOST[:PORT[-PORT][,PORT…]]. HOST is an IPv4 or [IPv6] address, a range a-b, a CIDR block or
    /// a name; a link-local address needs its interface: [fe80::1%eth0]. GAME:// in place of PROTOCOL:// applies --game to
    /// one target. farm:N simulates N servers; 'farm:N?loss=5%&silent=10%' adds faults
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,

    /// Read targets from FILE (`-` is standard input): one per line, CSV with or without a header, an earlier output,
    /// any output of zmap, masscan, nmap (-oG, -oX), naabu or Shodan, JSON of qstat, GameDig or Steam; gzip and Zstandard
    /// are unpacked; may be repeated
    #[arg(
        short,
        long,
        value_name = "FILE",
        help_heading = "Targets",
        alias = "allowlist-file",
        alias = "input-file",
        short_alias = 'w'
    )]
    pub input: Vec<PathBuf>,

    /// Ask only rows of earlier outputs for which all conditions hold, as in status=timeout; may be repeated
    #[arg(long = "input-where", value_name = "CONDITIONS", help_heading = "Targets")]
    pub input_condition: Vec<String>,

    /// Scan the servers of a list while the list is still arriving: valve-master://HOST:PORT?region=all&filter=/appid/730,
    /// hl1-master://HOST:PORT, quake3-master://HOST:PORT?protocol=68&game=NAME or steam-api:?filter=/appid/730; may be
    /// repeated
    #[arg(long, value_name = "URL", help_heading = "Targets")]
    pub from: Vec<String>,

    /// What is asked of Steam's lists, and how.
    #[command(flatten, next_help_heading = "Targets")]
    pub steam: SteamArgs,

    /// Ports of targets that name none, as in 27015-27030,28000 [default: the protocol's]
    #[arg(short, long, value_name = "PORTS", help_heading = "Targets")]
    pub ports: Option<String>,

    /// Use this protocol for targets that name none [default: a2s; for servers from a list, the default protocol of that
    /// list type]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = protocol::to_ask(),
        ignore_case = true,
        help_heading = "Targets"
    )]
    pub protocol: Option<Protocol>,

    /// Derive the query port of targets that name no protocol from their game port, by the rules of this game (see
    /// `fragscan games`); may be repeated: fragscan tries the games in this order
    #[arg(long = "game", value_name = "KEY", help_heading = "Targets", conflicts_with = "protocol")]
    pub games: Vec<String>,

    /// What to ask each server; separate several words with commas
    #[arg(
        long,
        value_name = "QUERIES",
        value_enum,
        value_delimiter = ',',
        default_value = "info",
        ignore_case = true,
        help_heading = "Targets"
    )]
    pub queries: Vec<Query>,

    /// Leave out TARGET (an address, range or block, with or without ports); may be repeated
    #[arg(long, value_name = "TARGET", help_heading = "Targets")]
    pub exclude: Vec<String>,

    /// Leave out what FILE lists, in any form that --input reads; may be repeated
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Targets",
        visible_alias = "blocklist-file",
        alias = "excludefile",
        visible_short_alias = 'b'
    )]
    pub exclude_file: Vec<PathBuf>,

    /// Ask private addresses from files too, not only those typed as arguments
    #[arg(long, help_heading = "Targets")]
    pub include_private: bool,

    /// Order in which targets are asked
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        default_value_t = Order::Shuffled,
        ignore_case = true,
        help_heading = "Targets"
    )]
    pub order: Order,

    /// Seed of the order, to repeat it [default: from the clock, and printed]
    #[arg(long, value_name = "N", help_heading = "Targets")]
    pub seed: Option<u64>,

    /// Send nothing; print the targets in the order in which they would be asked
    #[arg(long, help_heading = "Targets", alias = "dryrun")]
    pub dry_run: bool,

    /// Look names up in a dry run too, and print their addresses
    #[arg(long, help_heading = "Targets", requires = "dry_run")]
    pub resolve: bool,

    /// Refuse to start if a line of the input cannot be read, and exit with code 3 if a list is incomplete
    #[arg(long, help_heading = "Targets")]
    pub strict: bool,

    /// Send at most this many datagrams per second, as in 2000, 50k or max; auto starts at 2000 and grows up to 50k while
    /// nothing is lost; auto:RATE grows up to RATE [default: 2000; max if every target is on loopback]
    #[arg(short, long, value_name = "RATE", help_heading = "Pace", alias = "max-rate")]
    pub rate: Option<String>,

    /// Send at most this many bits per second, including IP and UDP headers, as in 5M or max [default: max]
    #[arg(short = 'B', long, value_name = "RATE", help_heading = "Pace")]
    pub bandwidth: Option<String>,

    /// Send at most this many datagrams per second to one address, after a burst of three, or max [default: 3; max if
    /// every target is on loopback]
    #[arg(long, value_name = "RATE", help_heading = "Pace")]
    pub host_rate: Option<String>,

    /// Most requests per minute to each list server, or max
    #[arg(long, value_name = "RATE", default_value = "30", help_heading = "Pace")]
    pub list_rate: String,

    /// Wait this long for an answer to the first try; the wait doubles with each retry, up to 8 s
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Pace")]
    pub timeout: String,

    /// Retry each step this many times if no answer comes
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Pace")]
    pub retries: u32,

    /// Give up a target after this time, per protocol and port, even if it still answers [default: 10s, or the time of all
    /// tries of one step plus three timeouts if that is longer; plus 5s for each query after the first]
    #[arg(long, value_name = "TIME", help_heading = "Pace")]
    pub target_timeout: Option<String>,

    /// Keep at most this many targets in flight; auto starts at 1000 and grows up to 65536 while nothing is lost; auto:N
    /// grows up to N
    #[arg(long, value_name = "N", default_value = "10000", help_heading = "Pace")]
    pub window: String,

    /// How names are looked up.
    #[command(flatten)]
    pub naming: NameArgs,

    /// Where datagrams are sent from.
    #[command(flatten)]
    pub sending: SendingArgs,

    /// System calls that send and receive datagrams
    #[arg(
        long,
        value_name = "PATH",
        value_enum,
        default_value_t = Io::Auto,
        ignore_case = true,
        help_heading = "Network"
    )]
    pub io: Io,

    /// Open this many sockets, each with its own buffers; all datagrams to one address use the same socket
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Network")]
    pub sockets: usize,

    /// Size of each receive buffer, as in 16M or 4k [default: 16M, or what the system allows]
    #[arg(long, value_name = "BYTES", help_heading = "Network")]
    pub rcvbuf: Option<String>,

    /// Write rows to FILE, in the format of its extension; may be repeated [default: to standard output, as a table on
    /// a terminal and else as CSV]
    #[arg(short, long, value_name = "FILE", help_heading = "Output", alias = "output-file")]
    pub output: Vec<PathBuf>,

    /// Format of outputs without a known extension
    #[arg(short, long, value_name = "FORMAT", value_enum, ignore_case = true, help_heading = "Output")]
    pub format: Option<RowFormat>,

    /// Write only these columns, in this order, as in address,name,players [default: all]; player_list, rules, mods and
    /// dlc name the lists of NDJSON
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Output")]
    pub fields: Vec<String>,

    /// Write only rows for which all conditions hold, as in 'status=ok,partial,players>0,name~(?i)surf'; may be
    /// repeated
    #[arg(long = "where", value_name = "CONDITIONS", help_heading = "Output")]
    pub condition: Vec<String>,

    /// Flag a server as same_answer if twenty other ports of its address have already given the same name, map and
    /// players; takes at most 80 bytes of memory per address
    #[arg(long, help_heading = "Output")]
    pub flag_clones: bool,

    /// Save the datagrams received from each server during its query, and the first one sent to it, to FILE; the name must
    /// end in .pcapng. `fragscan decode`, Wireshark and tcpdump can read it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub raw: Option<PathBuf>,

    /// Write the result of each name lookup to FILE, as CSV: name, ip, port (if an SRV record gives one), error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub names: Option<PathBuf>,

    /// Write the run's metadata to FILE too [always: OUTPUT.meta.json beside each output file]
    #[arg(long, value_name = "FILE", help_heading = "Output", alias = "metadata-file")]
    pub metadata: Option<PathBuf>,

    /// What to do if an earlier run that did not end has left FILE.partial
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t = IfPartial::Refuse,
        ignore_case = true,
        help_heading = "Output"
    )]
    pub if_partial: IfPartial,

    /// When to colour tables
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t = Color::Auto,
        ignore_case = true,
        help_heading = "Output"
    )]
    pub color: Color,

    /// Explain each discarded datagram, with a hex dump of its first bytes
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// Print a progress line every five seconds if no progress bar can be shown
    #[arg(long, help_heading = "Output")]
    pub progress: bool,

    /// Print neither progress nor summary
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  fragscan scan farm:10000 -o servers.csv           ten thousand simulated servers on this machine
  fragscan scan 192.0.2.10 192.0.2.20:27016         two servers, rows to standard output
  fragscan scan 198.51.100.0/24 -p 27015-27020 -o lan.csv -o lan.ndjson
  fragscan scan -i servers.txt --rate 500 --exclude-file optout.txt -o servers.csv

A row is written for every target that was asked, whether or not it answered; see `fragscan fields`.";
