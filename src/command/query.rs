//! `fragscan query`: one server, or a few, for a person to read.

use std::process::ExitCode;

use super::progress::Progress;
use super::say;
use super::signals::Watching;
use crate::cli::QueryArgs;
use crate::cli::choice::QueryFormat;
use crate::config;
use crate::error::Error;
use crate::output::{Destination, FileSink, Format, Look, RowFormat, card::Card};
use crate::record::Status;
use crate::run::Scan;

/// Asks the servers and prints everything they said; exit code 1 if one did not answer.
pub(super) fn run(args: QueryArgs) -> Result<ExitCode, Error> {
    let (options, format) = config::query(args)?;
    let format: Box<dyn RowFormat> = match format {
        QueryFormat::Text => Box::new(Card::default()),
        QueryFormat::Json => Format::Ndjson.writer(None, Look { width: 0, colour: false }),
    };
    let scan =
        Scan::new(options).with_sink(FileSink::new(format, Destination::stdout())).with_notices(|line| say(line));
    let run = scan.prepare()?;
    let left_out = run.tally().invalid + run.tally().excluded.total();
    if left_out > 0 {
        say(&format_args!("{left_out} of these addresses are special-purpose and not asked"));
    }
    let watching = Watching::begin()?;
    watching.stop(run.stopper());
    let outcome = run.run(&mut Progress::quiet())?;
    if let Some(error) = outcome.error {
        return Err(error.into());
    }
    let ledger = outcome.ledger();
    let asked = ledger.targets.scheduled;
    let answered = ledger.rows.status.of(Status::Ok) + ledger.rows.status.of(Status::Partial);
    if answered < asked {
        say(&format_args!("{} of {asked} did not answer; see the status above", asked - answered));
    }
    Ok(if answered == asked && asked > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
