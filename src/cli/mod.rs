//! The command line as clap sees it: text to [`Args`]. What the text means is decided in [`config`](crate::config).
#![allow(
    rustdoc::broken_intra_doc_links,
    clippy::doc_markdown,
    clippy::large_enum_variant,
    clippy::struct_excessive_bools,
    reason = "the comments are help texts, where brackets mean that a part is optional; arguments are parsed once, and flags are booleans"
)]

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use examples::{BENCH_EXAMPLES, DECODE_EXAMPLES, EXAMPLES, FARM_EXAMPLES, LIST_EXAMPLES, SCAN_EXAMPLES};

mod examples;

/// Everything that can be typed.
#[derive(Debug, Parser)]
#[command(name = "fragscan", version, about, max_term_width = 100)]
#[command(
    long_about = "fragscan asks game servers what they are, many thousands at a time, and writes down what they \
    say: one row a server, and an account of every target and every datagram."
)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask many servers and write one row for each
    Scan(ScanArgs),
    /// Print the servers of lists without asking them
    List(ListArgs),
    /// Ask one server, or a few, and print everything they say
    Query(QueryArgs),
    /// Read recorded datagrams, and say what they mean or what a scan would have written
    Decode(DecodeArgs),
    /// Ask the same servers over and over, and measure rates, losses and round-trip times
    Bench(BenchArgs),
    /// Run simulated servers, on loopback or for listed clients on an interface, until Ctrl-C
    Farm(FarmArgs),
    /// Say what of this machine will lose datagrams, and the commands that mend it
    Doctor(DoctorArgs),
    /// Print the columns of the output: name, type, unit, meaning
    Fields(FieldsArgs),
    /// Print the games that --game knows: key, protocol, ports, app id, name
    Games(GamesArgs),
    /// Print the protocols: name, default port, what they are
    Protocols,
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Print the man page
    Man,
}

/// `fragscan scan`.
#[derive(Debug, ClapArgs)]
#[command(after_help = SCAN_EXAMPLES)]
pub struct ScanArgs {
    /// Whom to ask: [PROTOCOL://]HOST[:PORT[-PORT][,PORT…]]; HOST is an IPv4 or [IPv6] address, a range a-b, a CIDR block or
    /// a name; farm:N is N simulated servers, 'farm:N?loss=5%&silent=10%' worse ones
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,

    /// Read targets from FILE, one a line (`-` is standard input), or from an earlier output, zmap's CSV, masscan's list or
    /// JSON, also packed as .gz or .zst; may be repeated
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

    /// Ask the servers of a list while it comes in: valve-master://HOST:PORT?region=all&filter=/appid/730,
    /// hl1-master://HOST:PORT, quake3-master://HOST:PORT?protocol=68&game=NAME or steam-api:?filter=/appid/730; may be
    /// repeated
    #[arg(long, value_name = "URL", help_heading = "Targets")]
    pub from: Vec<String>,

    /// Ask valve-master and steam-api lists for servers of this Steam application only
    #[arg(long, value_name = "ID", help_heading = "Targets", requires = "from")]
    pub app: Option<u32>,

    /// File with the key for steam-api lists; without it the key is read from the environment, STEAM_API_KEY
    #[arg(long, value_name = "FILE", help_heading = "Targets")]
    pub steam_key_file: Option<PathBuf>,

    /// Web server to ask in place of api.steampowered.com; the key goes over https only, or to this machine
    #[arg(long, value_name = "URL", help_heading = "Targets", hide_short_help = true)]
    pub steam_api_url: Option<String>,

    /// Ports of targets that name none, as in 27015-27030,28000 [default: the protocol's]
    #[arg(short, long, value_name = "PORTS", help_heading = "Targets")]
    pub ports: Option<String>,

    /// Protocol of targets that name none; auto tries one after the other until one is answered [default: a2s; of the
    /// servers of a list, what such lists list]
    #[arg(long, value_name = "NAME", help_heading = "Targets")]
    pub protocol: Option<String>,

    /// Game of targets that name no protocol: a port that they name is the one for players, and the port for queries
    /// follows from it; see `fragscan games`
    #[arg(long, value_name = "KEY", help_heading = "Targets", conflicts_with = "protocol")]
    pub game: Option<String>,

    /// What to ask each server: info, players, rules, ping, several as in info,players, or all
    #[arg(long, value_name = "QUERIES", default_value = "info", help_heading = "Targets")]
    pub queries: String,

    /// Leave out TARGET (an address, range or block, with or without ports); may be repeated
    #[arg(long, value_name = "TARGET", help_heading = "Targets")]
    pub exclude: Vec<String>,

    /// Leave out what FILE lists; may be repeated
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

    /// Order in which targets are asked: shuffled or input
    #[arg(long, value_name = "ORDER", default_value = "shuffled", help_heading = "Targets")]
    pub order: String,

    /// Seed of the order, to repeat it [default: from the clock, and printed]
    #[arg(long, value_name = "N", help_heading = "Targets")]
    pub seed: Option<u64>,

    /// Send nothing; print the targets in the order in which they would be asked
    #[arg(long, help_heading = "Targets", alias = "dryrun")]
    pub dry_run: bool,

    /// Refuse to start if a line of the input cannot be read, and exit with 3 if a list was not had as a whole
    #[arg(long, help_heading = "Targets")]
    pub strict: bool,

    /// Most datagrams a second, as in 2000, 50k or max; auto begins at 2000 and grows while nothing is lost, up to 50k, and
    /// auto:RATE up to RATE [default: 2000; max if every target is on loopback]
    #[arg(short, long, value_name = "RATE", help_heading = "Pace", alias = "max-rate")]
    pub rate: Option<String>,

    /// Most bits a second with IP and UDP headers, as in 5M or max [default: max]
    #[arg(short = 'B', long, value_name = "RATE", help_heading = "Pace")]
    pub bandwidth: Option<String>,

    /// Most datagrams a second to one address after a burst of three, or max [default: 3; max if every target is on
    /// loopback]
    #[arg(long, value_name = "RATE", help_heading = "Pace")]
    pub host_rate: Option<String>,

    /// Most requests a minute to each list server, or max
    #[arg(long, value_name = "RATE", default_value = "30", help_heading = "Pace")]
    pub list_rate: String,

    /// Wait for the answer to a first try; doubles with each retry, up to 8 s
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Pace")]
    pub timeout: String,

    /// Further tries of each step after silence
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Pace")]
    pub retries: u32,

    /// Longest time for one target in one protocol and at one port, however it answers [default: 10s, or as long as the tries of one step take, and 5s
    /// more for each query behind the first]
    #[arg(long, value_name = "TIME", help_heading = "Pace")]
    pub target_timeout: Option<String>,

    /// Most targets in flight; auto begins at 1000 and grows while nothing is lost, up to 65536, and auto:N up to N
    #[arg(long, value_name = "N", default_value = "10000", help_heading = "Pace")]
    pub window: String,

    /// Send from this address of ours; once for IPv4 and once for IPv6
    #[arg(long, value_name = "IP", help_heading = "Network", alias = "bind")]
    pub source_ip: Vec<std::net::IpAddr>,

    /// Send from this port, or from the first free one of a range
    #[arg(long, value_name = "PORT[-PORT]", help_heading = "Network")]
    pub source_port: Option<String>,

    /// Send through this network interface only
    #[arg(long, value_name = "NAME", help_heading = "Network")]
    pub interface: Option<String>,

    /// How datagrams are sent and received: mmsg (up to 64 a system call), portable (one) or auto
    #[arg(long, value_name = "PATH", default_value = "auto", help_heading = "Network")]
    pub io: String,

    /// Sockets, each with buffers of its own; an address always belongs to the same one
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Network")]
    pub sockets: usize,

    /// Size of each receive buffer, as in 16M or 4k [default: 16M, or what the system allows]
    #[arg(long, value_name = "BYTES", help_heading = "Network")]
    pub rcvbuf: Option<String>,

    /// Write rows to FILE, in the format of its extension; may be repeated [default: to standard output, as a table on a
    /// terminal and else as CSV]
    #[arg(short, long, value_name = "FILE", help_heading = "Output", alias = "output-file")]
    pub output: Vec<PathBuf>,

    /// Format of outputs without a known extension: table, csv or ndjson
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output")]
    pub format: Option<String>,

    /// Write only these columns, in this order, as in address,name,players [default: all]; player_list, rules, mods and
    /// dlc name the lists of NDJSON
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Output")]
    pub fields: Vec<String>,

    /// Write only rows for which all conditions hold, as in 'status=ok,partial,players>0,name~(?i)surf'; may be repeated
    #[arg(long = "where", value_name = "CONDITIONS", help_heading = "Output")]
    pub condition: Vec<String>,

    /// Flag servers as same_answer whose name, map and players twenty other ports of their address gave before; takes
    /// 80 bytes of memory at most for each address
    #[arg(long, help_heading = "Output")]
    pub flag_clones: bool,

    /// Keep every datagram that came from a server while it was being asked, and the first one to each, in FILE.pcapng,
    /// which `fragscan decode`, Wireshark and tcpdump read
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub raw: Option<PathBuf>,

    /// Write the run's metadata to FILE too [always: OUTPUT.meta.json beside each output file]
    #[arg(long, value_name = "FILE", help_heading = "Output", alias = "metadata-file")]
    pub metadata: Option<PathBuf>,

    /// Colours in tables: auto, always or never [auto: on a terminal, unless NO_COLOR is set]
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    pub color: String,

    /// Explain each datagram that is not used, with a hex dump of its head
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// Print a line of progress every five seconds where there is no terminal for a bar
    #[arg(long, help_heading = "Output")]
    pub progress: bool,

    /// Print neither progress nor summary
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

impl Default for ScanArgs {
    /// What clap fills in when nothing is typed.
    fn default() -> Self {
        #[derive(Parser)]
        struct Nothing {
            #[command(flatten)]
            scan: ScanArgs,
        }
        Nothing::parse_from(["fragscan"]).scan
    }
}

/// `fragscan list`.
#[derive(Debug, ClapArgs)]
#[command(after_help = LIST_EXAMPLES)]
pub struct ListArgs {
    /// Where the lists are: valve-master://HOST:PORT?region=all&filter=/appid/730, hl1-master://HOST:PORT,
    /// quake3-master://HOST:PORT?protocol=68&game=NAME or steam-api:?filter=/appid/730
    #[arg(value_name = "URL", required = true)]
    pub lists: Vec<String>,

    /// Ask valve-master and steam-api lists for servers of this Steam application only
    #[arg(long, value_name = "ID")]
    pub app: Option<u32>,

    /// File with the key for steam-api lists; without it the key is read from the environment, STEAM_API_KEY
    #[arg(long, value_name = "FILE")]
    pub steam_key_file: Option<PathBuf>,

    /// Web server to ask in place of api.steampowered.com; the key goes over https only, or to this machine
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub steam_api_url: Option<String>,

    /// Most requests a minute to each list server, or max
    #[arg(long, value_name = "RATE", default_value = "30")]
    pub list_rate: String,

    /// Leave out TARGET (an address, range or block, with or without ports); may be repeated
    #[arg(long, value_name = "TARGET")]
    pub exclude: Vec<String>,

    /// Leave out what FILE lists; may be repeated
    #[arg(long, value_name = "FILE", visible_alias = "blocklist-file")]
    pub exclude_file: Vec<PathBuf>,

    /// Print private addresses too
    #[arg(long)]
    pub include_private: bool,

    /// Wait for the answer to a first try; doubles with each retry, up to 8 s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub timeout: String,

    /// Further tries of each request after silence, before the list server is left alone for a while
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub retries: u32,

    /// Exit with 3 if a list was not had as a whole
    #[arg(long)]
    pub strict: bool,

    /// Write to FILE, in the format of its extension; may be repeated [default: to standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of outputs without a known extension: table, csv or ndjson
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// Print no summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// `fragscan query`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit code 1 if a server did not answer.")]
pub struct QueryArgs {
    /// Whom to ask: [PROTOCOL://]HOST[:PORT], HOST an address or a name
    #[arg(value_name = "ADDRESS", required = true)]
    pub addresses: Vec<String>,

    /// Protocol of addresses that name none; auto tries one after the other until one is answered
    #[arg(long, value_name = "NAME", default_value = "a2s")]
    pub protocol: String,

    /// Game of addresses that name no protocol: a port that they name is the one for players, and the port for queries
    /// follows from it; see `fragscan games`
    #[arg(long, value_name = "KEY", conflicts_with = "protocol")]
    pub game: Option<String>,

    /// What to ask: info, players, rules, ping, several as in info,players, or all
    #[arg(long, value_name = "QUERIES", default_value = "info,players,rules")]
    pub queries: String,

    /// Wait for the answer to a first try; doubles with each retry, up to 8 s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub timeout: String,

    /// Further tries of each step after silence
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub retries: u32,

    /// text for a person, or json: one object on one line
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub format: String,
}

/// `fragscan decode`.
#[derive(Debug, ClapArgs)]
#[command(after_help = DECODE_EXAMPLES)]
pub struct DecodeArgs {
    /// Files of datagrams (`-` is standard input): pcapng and pcap, as `fragscan scan --raw`, tcpdump and Wireshark write
    /// them, or hex with one datagram a line, `#` comments, and `> ` or `< ` before what was asked or answered; also packed
    /// as .gz or .zst
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// table or markdown take each datagram apart; ndjson and csv give the one row a server that a scan would have written
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub format: String,

    /// Protocol of all datagrams [default: recognised, for each server]
    #[arg(long, value_name = "NAME")]
    pub protocol: Option<String>,

    /// What was asked: info, players, rules, ping, several as in info,players, or all [default: what any server answered]
    #[arg(long, value_name = "QUERIES")]
    pub queries: Option<String>,

    /// Write only these columns, in this order, as in address,name,players [default: all]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub fields: Vec<String>,
}

/// `fragscan bench`.
#[derive(Debug, ClapArgs)]
#[command(after_help = BENCH_EXAMPLES)]
pub struct BenchArgs {
    /// Whom to ask, as in `fragscan scan`; farm:N is N simulated servers
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<String>,

    /// Datagrams a second, as in 2000, 50k or max [default: 1000]
    #[arg(short, long, value_name = "RATE", help_heading = "Pace", conflicts_with_all = ["ramp", "find_max"])]
    pub rate: Option<String>,

    /// One round at each of STEPS rates from FROM to TO, as in 1k-20kx10 [default: five steps]
    #[arg(long, value_name = "FROM-TO[xSTEPS]", help_heading = "Pace", conflicts_with = "find_max")]
    pub ramp: Option<String>,

    /// Look for the highest rate at which every query is answered, between a hundredth of what max reaches and that
    #[arg(long, help_heading = "Pace")]
    pub find_max: bool,

    /// Most queries in flight; an address has one at the most; auto adapts in each round, as in `fragscan scan`
    #[arg(long, value_name = "N", default_value = "10000", help_heading = "Pace")]
    pub window: String,

    /// Ask for this long before anything is measured
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Rounds")]
    pub warmup: String,

    /// Length of each round [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Rounds")]
    pub duration: Option<String>,

    /// Queries of each round, in place of a length
    #[arg(long, value_name = "N", help_heading = "Rounds", conflicts_with = "duration")]
    pub count: Option<u64>,

    /// Rounds at a fixed rate
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Rounds")]
    pub rounds: u32,

    /// Protocol of targets that name none
    #[arg(long, value_name = "NAME", default_value = "a2s", help_heading = "Queries")]
    pub protocol: String,

    /// Game of targets that name no protocol: a port that they name is the one for players, and the port for queries
    /// follows from it; see `fragscan games`
    #[arg(long, value_name = "KEY", help_heading = "Queries", conflicts_with = "protocol")]
    pub game: Option<String>,

    /// What to ask: info, players, rules, ping, several as in info,players, or all
    #[arg(long, value_name = "QUERIES", default_value = "info", help_heading = "Queries")]
    pub queries: String,

    /// Wait for an answer; later ones are late
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Queries")]
    pub timeout: String,

    /// Further tries of each step after silence
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Queries")]
    pub retries: u32,

    /// How datagrams are sent and received: mmsg (up to 64 a system call), portable (one) or auto
    #[arg(long, value_name = "PATH", default_value = "auto", help_heading = "Queries")]
    pub io: String,

    /// text for a person, json (one object, with histograms) or csv (one row a round, then median, min and max of
    /// rounds at a fixed rate, or else the best round)
    #[arg(short, long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub format: String,

    /// Write the distribution of round-trip times to FILE as HdrHistogram's tools read it, and that from the planned send to
    /// FILE with the extension planned.hgrm
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hgrm: Option<PathBuf>,

    /// Exit with 5 if one of the conditions holds, as in 'p99>50ms,loss>0.1%': p50, p90, p99, p99.9, max (with planned- in
    /// front: from the planned send), loss and answered (percent of the queries), rate (answers a second)
    #[arg(long, value_name = "CONDITIONS", help_heading = "Output")]
    pub fail_if: Option<String>,

    /// Say nothing between the rounds
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Send more than 1000 datagrams a second also to addresses that are neither on this machine nor private
    #[arg(long, help_heading = "Pace")]
    pub i_may_load_these_servers: bool,
}

/// `fragscan farm`.
#[derive(Debug, ClapArgs)]
#[command(after_help = FARM_EXAMPLES)]
pub struct FarmArgs {
    /// Serve lists of these servers too, on 127.0.0.1: valve at --master-port, hl1 at the port behind it, quake3 at the one
    /// behind that
    #[arg(long, value_name = "KINDS", value_delimiter = ',', help_heading = "Lists", conflicts_with_all = ["bind", "replay"])]
    pub master: Vec<String>,

    /// Port of the first list server
    #[arg(long, value_name = "PORT", default_value_t = 27_911, help_heading = "Lists", requires = "master")]
    pub master_port: u16,

    /// How lists come: paged, at-once (everything, whatever was asked for) or loop (without an end)
    #[arg(long, value_name = "STYLE", default_value = "paged", help_heading = "Lists", requires = "master")]
    pub master_style: String,

    /// Datagrams of list servers that are lost, in each direction
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Lists", requires = "master")]
    pub master_loss: String,

    /// Number of servers; server i is at 127.0.0.2 + i [default: 10000, or with --bind ADDR one, with --bind NETWORK as many
    /// as it has addresses, up to 10000]
    #[arg(long, value_name = "N")]
    pub servers: Option<u32>,

    /// Port of all of them; with --bind ADDR that of the first one
    #[arg(long, value_name = "PORT", default_value_t = 27_015)]
    pub port: u16,

    /// Answer on a real interface: at ADDR, with a port for each server, or at every address of a NETWORK such as 10.9.0.0/16
    /// that is routed to this machine; needs --clients
    #[arg(long, value_name = "ADDR|NETWORK", help_heading = "Interface", conflicts_with = "replay")]
    pub bind: Option<String>,

    /// Whom to answer there, as in 192.168.1.0/24,10.0.0.7; all others are dropped and counted. Every server then wants a
    /// challenge where its protocol has one
    #[arg(long, value_name = "NETWORKS", value_delimiter = ',', help_heading = "Interface")]
    pub clients: Vec<String>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Answer with what real servers sent: each file of datagrams in FOLDER (see `fragscan decode`) becomes a server, or as
    /// many as it has addresses; see --list for where they are
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["servers", "mix"])]
    pub replay: Option<PathBuf>,

    /// Which servers there are, before the shares below: sound (Source servers that answer) or full (some of every kind)
    #[arg(long, value_name = "MIX", help_heading = "Servers")]
    pub mix: Option<String>,

    /// any: every server answers in whichever protocol it is asked; one: each speaks one of them; or the one that all speak
    #[arg(long, value_name = "WORD", default_value = "any")]
    pub protocols: String,

    /// Servers that ask for a challenge [default: 80%]
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub challenge: Option<String>,

    /// Servers with so many rules that they come in pieces [default: 20%]
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub split: Option<String>,

    /// Servers with as many, compressed [default: 5%]
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub bzip2: Option<String>,

    /// Servers of The Ship [default: 1%]
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub ship: Option<String>,

    /// GoldSource servers of today
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub goldsource: Option<String>,

    /// GoldSource servers that answer in the old form and in the new one
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub dual: Option<String>,

    /// GoldSource servers that answer in the old form only
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub legacy: Option<String>,

    /// Servers that never answer
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub silent: Option<String>,

    /// Servers whose port is closed (see --list)
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub refused: Option<String>,

    /// Servers that have banned everybody
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub banned: Option<String>,

    /// Servers that answer with bytes that mean nothing
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub malformed: Option<String>,

    /// Servers that answer each challenge with another one
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub challenge_loop: Option<String>,

    /// Servers that answer everything with the same challenge
    #[arg(long, value_name = "SHARE", help_heading = "Servers")]
    pub challenge_only: Option<String>,

    /// Datagrams that are lost, in each direction
    #[arg(long, value_name = "SHARE", help_heading = "Link")]
    pub loss: Option<String>,

    /// Datagrams that arrive twice, in each direction
    #[arg(long, value_name = "SHARE", help_heading = "Link")]
    pub duplicate: Option<String>,

    /// Datagrams that are overtaken by later ones, in each direction
    #[arg(long, value_name = "SHARE", help_heading = "Link")]
    pub reorder: Option<String>,

    /// Time that a datagram takes, in each direction
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = "Link")]
    pub delay: String,

    /// Write the servers' addresses to FILE, one a line (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
}

impl FarmArgs {
    /// The shares that were typed, by name.
    pub fn shares(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("challenge", &self.challenge),
            ("split", &self.split),
            ("bzip2", &self.bzip2),
            ("ship", &self.ship),
            ("goldsource", &self.goldsource),
            ("dual", &self.dual),
            ("legacy", &self.legacy),
            ("silent", &self.silent),
            ("refused", &self.refused),
            ("banned", &self.banned),
            ("malformed", &self.malformed),
            ("challenge-loop", &self.challenge_loop),
            ("challenge-only", &self.challenge_only),
            ("loss", &self.loss),
            ("duplicate", &self.duplicate),
            ("reorder", &self.reorder),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }
}

/// `fragscan doctor`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code 1 if something will lose datagrams. Nothing is changed, and nothing is sent but a few \
    empty datagrams over loopback."
)]
pub struct DoctorArgs {
    /// Datagrams a second of the scan that is meant to run, as in 2000, 50k or max [default: 2000]
    #[arg(short, long, value_name = "RATE", alias = "max-rate")]
    pub rate: Option<String>,

    /// Most targets in flight of that scan
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub window: usize,

    /// The network interface that it will send through [default: that of the default route]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,

    /// text for a person, or json: an array with an object for each check
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub format: String,
}

/// `fragscan fields`.
#[derive(Debug, ClapArgs)]
pub struct FieldsArgs {
    /// Print a typed reader of the output instead: duckdb (SQL), pandas (Python) or frictionless (JSON)
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<String>,
}

/// `fragscan games`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit code 1 if there is none.")]
pub struct GamesArgs {
    /// Print only games that have WORD in their key or name, or as their app id
    #[arg(value_name = "WORD")]
    pub word: Option<String>,

    /// table, csv or ndjson, which have the rules for ports, and the folders, too [default: a table on a terminal, else csv]
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<String>,
}

/// `fragscan completions`.
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}
