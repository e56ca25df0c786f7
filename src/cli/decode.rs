//! The arguments of `fragscan decode`.

use std::path::PathBuf;

use clap::Args;

use super::choice::{DecodeFormat, Query};
use super::protocol::{self, Protocol};

/// `fragscan decode`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DecodeArgs {
    /// Files of datagrams (`-` is standard input): pcapng and pcap, as `fragscan scan --raw`, tcpdump and Wireshark
    /// write them, or hex with one datagram a line, `#` comments, and `> ` or `< ` before what was asked or answered;
    /// also packed as .gz or .zst
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// What to print: the fields of each datagram, or the rows of a scan
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = DecodeFormat::Table, ignore_case = true)]
    pub format: DecodeFormat,

    /// Protocol of all datagrams [default: recognised, for each server]
    #[arg(long, value_name = "NAME", value_parser = protocol::to_decode(), ignore_case = true)]
    pub protocol: Option<Protocol>,

    /// Queries that were sent; separate several words with commas [default: those that any server answered]
    #[arg(long, value_name = "QUERIES", value_enum, value_delimiter = ',', ignore_case = true)]
    pub queries: Vec<Query>,

    /// Write only these columns, in this order, as in address,name,players [default: all]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub fields: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  fragscan scan -i servers.txt --raw crawl.pcapng -o servers.csv
  fragscan decode crawl.pcapng --format ndjson       the same rows once more, by this version of the parsers
  echo 'ffffffff 44 01 00 4d6500 05000000 00007041' | fragscan decode -     every field, with its place

Exit code 2 if a file cannot be read, with line and column for hex.";
