//! The arguments of `fragscan farm`.

use std::path::PathBuf;

use clap::Args;

use super::choice::{MasterStyle, Mix};
use super::protocol::{Master, Protocols};

/// `fragscan farm`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FarmArgs {
    /// Also serve lists of these servers, on 127.0.0.1: those of the first kind below at --master-port, each further
    /// kind at the next port; separate several words with commas; not with --bind or --replay
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        ignore_case = true,
        help_heading = "Lists",
        conflicts_with_all = ["bind", "replay"]
    )]
    pub master: Vec<Master>,

    /// Port of valve's list; those of the others follow from it
    #[arg(long, value_name = "PORT", default_value_t = 27_911, help_heading = "Lists", requires = "master")]
    pub master_port: u16,

    /// How list servers answer
    #[arg(
        long,
        value_name = "STYLE",
        value_enum,
        default_value_t = MasterStyle::Paged,
        ignore_case = true,
        help_heading = "Lists",
        requires = "master"
    )]
    pub master_style: MasterStyle,

    /// Datagrams of list servers that are lost, in each direction
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Lists", requires = "master")]
    pub master_loss: String,

    /// Number of servers; server i is at 127.0.0.2 + i [default: 10000, or with --bind ADDR one, with --bind NETWORK as
    /// many as it has addresses, up to 10000]
    #[arg(long, value_name = "N")]
    pub servers: Option<u32>,

    /// Port of all of them; with --bind ADDR that of the first one
    #[arg(long, value_name = "PORT", default_value_t = 27_015)]
    pub port: u16,

    /// Answer on a real interface: at ADDR, with a port for each server, or at every address of a NETWORK such as
    /// 10.9.0.0/16 that is routed to this machine; needs --clients, and serves no lists (--master)
    #[arg(long, value_name = "ADDR|NETWORK", help_heading = "Interface", conflicts_with = "replay")]
    pub bind: Option<String>,

    /// Whom to answer there, as in 192.168.1.0/24,10.0.0.7; all others are dropped and counted. Every server then wants
    /// a challenge where its protocol has one
    #[arg(long, value_name = "NETWORKS", value_delimiter = ',', help_heading = "Interface")]
    pub clients: Vec<String>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Answer with what real servers sent: each file of datagrams in FOLDER (see `fragscan decode`) becomes a server,
    /// or as many as it has addresses; see --list for where they are
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["servers", "mix"])]
    pub replay: Option<PathBuf>,

    /// Kinds of servers to simulate, before the shares below apply
    #[arg(
        long,
        value_name = "MIX",
        value_enum,
        default_value_t = Mix::Sound,
        ignore_case = true,
        help_heading = "Servers"
    )]
    pub mix: Mix,

    /// Which protocols the servers speak
    #[arg(long, value_name = "WORD", value_enum, default_value = "any", ignore_case = true)]
    pub protocols: Protocols,

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
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&'static str, &str)> {
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

const EXAMPLES: &str = "\
Examples:
  fragscan farm --servers 1000 --mix full --loss 5% simulated servers on loopback
  fragscan farm --bind 192.168.1.5 --servers 100 --clients 192.168.1.0/24
      a hundred on ports 27015-27114, for the other end of a benchmark:
      fragscan bench 192.168.1.5:27015-27114 --rate 20000

What would be larger than its request leaves, where clients are strangers, only to those who have sent back a challenge.";
