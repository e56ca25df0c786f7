//! The arguments of `fragscan list`.

use super::limits::list_gap;
use super::names::names;
use super::options::{InputOptions, NetworkOptions, OutputOptions, ScanOptions};
use super::output::outputs;
use super::scan::{Messages, ScanConfig, local};
use super::value;
use crate::cli::ListArgs;
use crate::cli::choice::Color;
use crate::error::Error;
use crate::output::Format;
use crate::record::{self, Selection};
use crate::target::Order;

/// Reads the arguments of `fragscan list`: a scan of which only the lists are asked.
pub(crate) fn list(args: ListArgs, terminal: bool) -> Result<ScanConfig, Error> {
    let mut options = ScanOptions {
        input: InputOptions {
            naming: names(&args.naming)?,
            lists: args.from,
            steam: args.steam.into(),
            exclude: args.exclude,
            exclude_files: args.exclude_file,
            include_private: args.include_private,
            order: Order::Input,
            strict: args.strict,
            ..InputOptions::default()
        },
        network: NetworkOptions { local: local(args.sending, 1)?, ..NetworkOptions::default() },
        output: OutputOptions {
            outputs: outputs(&args.output, args.format.map(Format::from), terminal)?,
            selection: Some(Selection {
                columns: COLUMNS.iter().filter_map(|name| record::column(name)).collect(),
                lists: Vec::new(),
                always: true,
            }),
            leftover: args.if_partial.into(),
            ..OutputOptions::default()
        },
        ..ScanOptions::default()
    };
    options.limits.list_gap = list_gap(&args.list_rate)?;
    options.limits.timeout = value::time("--timeout", &args.timeout)?;
    options.limits.retries = args.retries;
    options.limits.lists_only = true;
    options.limits.check()?;
    let messages = Messages { quiet: args.quiet, progress: args.progress, verbose: args.verbose };
    Ok(ScanConfig { options, colour: Color::Auto, dry_run: false, messages })
}

/// What is known of a server that was not asked.
const COLUMNS: [&str; 5] = ["address", "ip", "port", "protocol", "source"];
