//! The arguments of `fragscan query`.

use super::scan::ScanConfig;
use crate::cli::{QueryArgs, ScanArgs};
use crate::error::Error;

/// How `fragscan query` prints a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryFormat {
    /// A line for each thing that is known.
    Card,
    /// One JSON object on one line.
    Json,
}

/// Reads the arguments of `fragscan query`: a scan of what was typed, without its files.
pub fn query(args: QueryArgs, random: u64) -> Result<(ScanConfig, QueryFormat), Error> {
    let format = match args.format.as_str() {
        "text" => QueryFormat::Card,
        "json" | "ndjson" => QueryFormat::Json,
        other => return Err(Error::usage(format!("--format: {other:?} is no format: write text or json"))),
    };
    if args.addresses.iter().any(|address| address.starts_with("farm:")) {
        return Err(Error::usage("simulated servers are for `fragscan scan`, or start them with `fragscan farm`"));
    }
    let scan = ScanArgs {
        targets: args.addresses,
        protocol: Some(args.protocol),
        game: args.game,
        queries: args.queries,
        timeout: args.timeout,
        retries: args.retries,
        order: "input".into(),
        ..ScanArgs::default()
    };
    Ok((super::scan(scan, random)?, format))
}
