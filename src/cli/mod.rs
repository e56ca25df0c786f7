//! The command line as clap sees it: text to [`Args`]. What the text means is decided in [`config`](crate::config).
#![allow(
    rustdoc::broken_intra_doc_links,
    clippy::doc_markdown,
    clippy::large_enum_variant,
    clippy::struct_excessive_bools,
    reason = "the comments are help texts, where brackets mean that a part is optional; arguments are parsed once, \
              and flags are booleans"
)]

use clap::{Args as ClapArgs, Parser, Subcommand};

mod bench;
mod decode;
mod doctor;
mod farm;
mod list;
mod query;
mod scan;

pub use bench::BenchArgs;
pub use decode::DecodeArgs;
pub use doctor::DoctorArgs;
pub use farm::FarmArgs;
pub use list::{ListArgs, SendingArgs, SteamArgs};
pub use query::QueryArgs;
pub use scan::ScanArgs;

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

    /// table, csv or ndjson, which have the rules for ports, and the folders, too [default: a table on a terminal, else
    /// csv]
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<String>,
}

/// `fragscan completions`.
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

const EXAMPLES: &str = "\
Examples:
  fragscan scan farm:10000 -o servers.csv           ten thousand simulated servers on this machine
  fragscan scan -i servers.txt -o servers.csv       every address in a file
  fragscan query 192.0.2.10:27015                   one server, everything it says
  fragscan scan --from valve-master://HOST:27010    every server that a list server names
  fragscan doctor --rate 50k                        what of this machine would lose datagrams
  fragscan bench farm:5000 --rate 20000             how many answers a second, and how fast
  fragscan query --game dayz 192.0.2.10:2302        one by the port for players
  fragscan fields                                   what the columns mean

Exit codes: 0 done, 2 usage, 3 stopped early, or with --strict an incomplete list, 4 output
could not be written, 5 a condition of
`bench --fail-if` holds, 1 anything else";
