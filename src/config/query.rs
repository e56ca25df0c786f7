//! The arguments of `fragscan query`.

use super::options::{InputOptions, NetworkOptions, ScanOptions};
use super::scan::spoken;
use super::{Limits, value};
use crate::cli::QueryArgs;
use crate::error::Error;
use crate::net::options::IoPath;
use crate::target::Order;

/// How `fragscan query` prints a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryFormat {
    /// A line for each thing that is known.
    Card,
    /// One JSON object on one line.
    Json,
}

/// Reads the arguments of `fragscan query`: a scan of what was typed, without its files.
pub fn query(args: QueryArgs) -> Result<(ScanOptions, QueryFormat), Error> {
    let format = match args.format.as_str() {
        "text" => QueryFormat::Card,
        "json" | "ndjson" => QueryFormat::Json,
        other => return Err(Error::usage(format!("--format: {other:?} is no format: write text or json"))),
    };
    if args.addresses.iter().any(|address| address.starts_with("farm:")) {
        return Err(Error::usage("simulated servers are for `fragscan scan`, or start them with `fragscan farm`"));
    }
    let limits = Limits {
        queries: value::parse("--queries", &args.queries)?,
        timeout: value::time("--timeout", &args.timeout)?,
        retries: args.retries,
        ..Limits::default()
    };
    limits.check()?;
    let input = InputOptions {
        targets: args.addresses,
        spoken: spoken(Some(&args.protocol), args.game.as_deref())?,
        order: Order::Input,
        ..InputOptions::default()
    };
    let network = NetworkOptions { io: IoPath::Portable, ..NetworkOptions::default() };
    Ok((ScanOptions { input, limits, network, ..ScanOptions::default() }, format))
}
