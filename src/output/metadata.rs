//! The metadata of a run: what was asked, what was granted, and the ledger, as JSON beside the rows.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::destination::suffixed;
use super::{Destination, ListReport, OutputError};
use crate::engine::{Adapted, Settings};
use crate::ledger::{Latency, Ledger};
use crate::record::{Query, SCHEMA};

/// Everything that is worth knowing about a run, for whoever reads its rows later.
#[derive(Debug, Serialize)]
pub(crate) struct Metadata<I, S> {
    /// Name and version of the program.
    pub program: &'static str,
    /// Version of the set of columns.
    pub schema: u32,
    /// The command line.
    pub arguments: Vec<String>,
    /// When the run began, RFC 3339.
    pub started_at: String,
    /// When it ended, RFC 3339.
    pub finished_at: String,
    /// How long it took.
    pub seconds: f64,
    /// `done`, or why it ended early.
    pub stop: String,
    /// Seed of the order and of everything keyed.
    pub seed: u64,
    /// Order of the targets.
    pub order: &'static str,
    /// What the input files held.
    pub inputs: I,
    /// Settings as they were used.
    pub settings: SettingsInForce,
    /// What the limits did that found their own size, up to those of the settings; `null` if there were no such ones.
    pub adapted: Option<Adapted>,
    /// What the system granted.
    pub sockets: S,
    /// Where the rows are.
    pub outputs: Vec<OutputDigest>,
    /// Where the datagrams are, if they were kept.
    pub raw: Option<RawDigest>,
    /// How the lists have ended.
    pub lists: Vec<ListReport>,
    /// Where every target and datagram went.
    pub ledger: Ledger,
    /// Round-trip times in milliseconds.
    pub rtt_ms: Latency,
}

/// Settings as they were used: datagrams and bits a second, times in milliseconds; absent limits are `null`.
#[derive(Debug, Serialize)]
pub(crate) struct SettingsInForce {
    rate: Option<f64>,
    bandwidth: Option<f64>,
    host_gap_ms: f64,
    timeout_ms: f64,
    target_timeout_ms: f64,
    retries: u32,
    window: usize,
    queries: Vec<&'static str>,
    io: &'static str,
}

/// One output.
#[derive(Debug, Serialize)]
pub(crate) struct OutputDigest {
    /// Its name.
    pub name: String,
    /// Rows in it.
    pub rows: u64,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// The file of datagrams.
#[derive(Debug, Serialize)]
pub(crate) struct RawDigest {
    /// Its name.
    pub name: String,
    /// Datagrams in it.
    pub datagrams: u64,
    /// Datagrams that it lacks: their servers sent more than is kept of one.
    pub left_out: u64,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

impl SettingsInForce {
    /// What `settings` say, with the name of the I/O path.
    #[must_use]
    pub(crate) fn new(settings: &Settings, io: &'static str) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let asked = settings.queries.iter();
        Self {
            rate: settings.rate.packets,
            bandwidth: settings.rate.bits,
            host_gap_ms: ms(settings.host_gap),
            timeout_ms: ms(settings.timeout),
            target_timeout_ms: ms(settings.budget),
            retries: settings.retries,
            window: settings.window,
            queries: asked.map(Query::as_str).collect(),
            io,
        }
    }
}

/// `us` microseconds since the Unix epoch in RFC 3339.
#[must_use]
pub(crate) fn rfc3339(us: i64) -> String {
    format!("{:.6}", Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Name and version of the program, as they stand in the metadata.
pub(crate) const PROGRAM: &str = concat!("fragscan ", env!("CARGO_PKG_VERSION"));
/// Version of the set of columns.
pub(crate) const SCHEMA_VERSION: u32 = SCHEMA;

/// The file beside the output at `path`.
#[must_use]
pub(crate) fn beside(path: &Path) -> PathBuf {
    suffixed(path, ".meta.json")
}

/// Writes `metadata` to `destination`, whole or not at all.
pub(crate) fn write<I: Serialize, S: Serialize>(
    metadata: &Metadata<I, S>,
    destination: &mut Destination,
) -> Result<(), OutputError> {
    let mut text = serde_json::to_string_pretty(metadata).map_err(|error| OutputError {
        operation: "formatting the metadata for",
        name: destination.place(),
        source: error.into(),
    })?;
    text.push('\n');
    destination.write(text.as_bytes())?;
    destination.commit()
}
