//! The closed choices of the command line: each is named after its option, and its words after the variants.
//!
//! clap knows them all, so that help, completions and the man page list the words and an error names them. Choices that
//! follow from the registry of protocols are in [`protocol`](super::protocol).

use clap::ValueEnum;

/// `--order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Pseudo-random, so that no network is asked in a burst
    Shuffled,
    /// As they were named
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
    /// Who plays
    Players,
    /// Settings that the server publishes
    Rules,
    /// Any answer at all
    Ping,
    /// All of these
    All,
}

/// `--format` of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Columns for a person
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
    /// For a person: one line for each fact
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
    /// Tables for a person
    Text,
    /// One object, with histograms
    Json,
    /// One row per round, then median, minimum and maximum of rounds at a fixed rate, or else the best round
    Csv,
}

/// `--format` of `fragscan doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For a person
    Text,
    /// An array with one object per check
    Json,
}

/// `--format` of `fragscan fields`: who reads our outputs.
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
    /// Without an end
    Loop,
}
