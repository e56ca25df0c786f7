//! The options that accept one of a fixed set of words: each enum is named after its option, and its words after the
//! variants.
//!
//! clap knows them all, so that help, completions and the man page list the words and an error names them. Options
//! whose words come from the registry of protocols are in [`protocol`](super::protocol).

use clap::ValueEnum;

/// `--order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Pseudo-random, so that no network receives a burst
    Shuffled,
    /// In the order of the input
    Input,
}

/// `--io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// The same as mmsg
    Auto,
    /// Up to 64 datagrams per system call
    Mmsg,
    /// One datagram per system call
    Portable,
}

/// `--if-partial`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfPartial {
    /// Keep the rows of the earlier run, and do not begin: exit code 6
    Refuse,
    /// Write over them
    Discard,
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// A word of `--queries`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Query {
    /// Name, map, number of players
    Info,
    /// Who is playing
    Players,
    /// Settings that the server publishes
    Rules,
    /// Whether the server answers at all
    Ping,
    /// All of these
    All,
}

/// `--format` of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Columns, for people to read
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    #[value(alias = "jsonl")]
    Ndjson,
}

/// `--format` of `fragscan query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryFormat {
    /// One line per fact, for people to read
    Text,
    /// One JSON object per line
    #[value(alias = "ndjson")]
    Json,
}

/// `--format` of `fragscan decode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecodeFormat {
    /// Every field of each datagram, for a terminal
    Table,
    /// The same in Markdown
    Markdown,
    /// The rows of a scan, one JSON object per server
    #[value(aliases = ["jsonl", "json"])]
    Ndjson,
    /// The rows of a scan, as comma-separated values
    Csv,
}

/// `--format` of `fragscan bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables, for people to read
    Text,
    /// One JSON object, with histograms
    Json,
    /// One row per round, then the median, minimum and maximum for rounds at a fixed rate, or otherwise the best round
    Csv,
}

/// `--format` of `fragscan doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// Text, for people to read
    Text,
    /// A JSON array with one object per check
    Json,
}

/// `--format` of `fragscan fields`: the program that will read the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reader {
    /// SQL
    #[value(name = "duckdb")]
    DuckDb,
    /// Python
    Pandas,
    /// A Table Schema, as JSON
    Frictionless,
}

/// `--mix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mix {
    /// Source servers that answer
    Sound,
    /// Some servers of every kind
    Full,
}

/// `--master-style`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MasterStyle {
    /// Page by page, where the protocol has pages
    Paged,
    /// Everything, whatever was asked for
    AtOnce,
    /// Pages without an end
    Loop,
}

/// `--family`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// IPv4 addresses only
    #[value(name = "4", alias = "ipv4")]
    Ipv4,
    /// IPv6 addresses only
    #[value(name = "6", alias = "ipv6")]
    Ipv6,
    /// Both
    Any,
}
