//! The arguments of `fragscan query`.

use super::choice::queries;
use super::names::names;
use super::options::{InputOptions, NetworkOptions, ScanOptions};
use super::scan::spoken;
use super::{Limits, value};
use crate::cli::QueryArgs;
use crate::cli::choice::QueryFormat;
use crate::error::Error;
use crate::net::options::IoPath;
use crate::target::Order;

/// Reads the arguments of `fragscan query`: a scan of what was typed, without its files.
pub(crate) fn query(args: QueryArgs) -> Result<(ScanOptions, QueryFormat), Error> {
    let limits = Limits {
        queries: queries(&args.queries),
        timeout: value::time("--timeout", &args.timeout)?,
        retries: args.retries,
        ..Limits::default()
    };
    limits.check()?;
    let input = InputOptions {
        naming: names(&args.naming)?,
        targets: args.addresses,
        spoken: spoken(Some(args.protocol), &args.games)?,
        order: Order::Input,
        ..InputOptions::default()
    };
    let network = NetworkOptions { io: IoPath::Portable, ..NetworkOptions::default() };
    Ok((ScanOptions { input, limits, network, ..ScanOptions::default() }, args.format))
}
