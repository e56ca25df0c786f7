//! The arguments of `fragscan bench`.

use std::path::PathBuf;

use clap::Args;

use super::choice::{Io, Query, ReportFormat};
use super::names::NameArgs;
use super::protocol::{self, Protocol};

/// `fragscan bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    /// Whom to ask, as in `fragscan scan`; farm:N is N simulated servers
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<String>,

    /// How names are looked up.
    #[command(flatten)]
    pub naming: NameArgs,

    /// Datagrams per second, as in 2000, 50k or max [default: 1000]
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
    #[arg(
        long,
        value_name = "NAME",
        value_parser = protocol::to_measure(),
        default_value = "a2s",
        ignore_case = true,
        help_heading = "Queries"
    )]
    pub protocol: Protocol,

    /// Game of targets that name no protocol: a port that they name is the one for players, and the port for queries
    /// follows from it; see `fragscan games`
    #[arg(long, value_name = "KEY", help_heading = "Queries", conflicts_with = "protocol")]
    pub game: Option<String>,

    /// What to ask; separate several words with commas
    #[arg(
        long,
        value_name = "QUERIES",
        value_enum,
        value_delimiter = ',',
        default_value = "info",
        ignore_case = true,
        help_heading = "Queries"
    )]
    pub queries: Vec<Query>,

    /// Wait for an answer; later ones are late
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Queries")]
    pub timeout: String,

    /// Further tries of each step after silence
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Queries")]
    pub retries: u32,

    /// System calls that send and receive datagrams
    #[arg(
        long,
        value_name = "PATH",
        value_enum,
        default_value_t = Io::Auto,
        ignore_case = true,
        help_heading = "Queries"
    )]
    pub io: Io,

    /// Format of the results
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t = ReportFormat::Text,
        ignore_case = true,
        help_heading = "Output"
    )]
    pub format: ReportFormat,

    /// Write the distribution of round-trip times to FILE as HdrHistogram's tools read it, and that from the planned
    /// send to FILE with the extension planned.hgrm
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hgrm: Option<PathBuf>,

    /// Exit with 5 if one of the conditions holds, as in 'p99>50ms,loss>0.1%': p50, p90, p99, p99.9, max (with planned-
    /// in front: from the planned send), loss and answered (percent of the queries), rate (answers a second)
    #[arg(long, value_name = "CONDITIONS", help_heading = "Output")]
    pub fail_if: Option<String>,

    /// Say nothing between the rounds
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Send more than 1000 datagrams a second also to addresses that are neither on this machine nor private
    #[arg(long, help_heading = "Pace")]
    pub i_may_load_these_servers: bool,
}

const EXAMPLES: &str = "\
Examples:
  fragscan bench farm:5000 --rate 20000             simulated servers on this machine
  fragscan bench 192.168.1.20 --ramp 100-2000x10    a server of yours, at ten rates
  fragscan bench 192.168.1.20 --find-max --format json
  fragscan bench 192.168.1.20 --fail-if 'p99>50ms,loss>0.1%'

Times are measured to the first datagram of an answer, from the actual send and from the planned one: the time at which an
even pace would have sent, with queries that never left counted in.";
