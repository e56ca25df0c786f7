//! `fragscan query`: one server, or a few, for a person to read.

use std::process::ExitCode;
use std::sync::PoisonError;

use super::progress::Progress;
use super::{say, session};
use crate::cli::QueryArgs;
use crate::config::{self, QueryFormat};
use crate::error::Error;
use crate::net::batch::Path;
use crate::net::driver::read_clocks;
use crate::net::socket::Local;
use crate::output::{Destination, Epoch, Filter, Format, RowFormat, Sink, card::Card, table::Look};
use crate::record::Status;

/// Asks the servers and prints everything they said; exit code 1 if one did not answer.
pub(super) fn run(args: QueryArgs) -> Result<ExitCode, Error> {
    let (instant, unix_us) = read_clocks();
    let epoch = Epoch { instant, unix_us };
    let (config, format) = config::query(args, unix_us.unsigned_abs())?;
    let prepared = config.prepare(None, |line| say(line))?;
    let tally = *prepared.tally.lock().unwrap_or_else(PoisonError::into_inner);
    let left_out = tally.invalid + tally.excluded.total();
    if left_out > 0 {
        say(&format_args!("{left_out} of these addresses are special-purpose and not asked"));
    }
    let writer: Box<dyn RowFormat> = match format {
        QueryFormat::Card => Box::new(Card::default()),
        QueryFormat::Json => Format::Ndjson.writer(None, Look { width: 0, colour: false }),
    };
    let sinks = vec![Sink::new(writer, Destination::stdout())];
    let (outcome, report) = session::run(
        prepared,
        Filter::default(),
        sinks,
        None,
        epoch,
        (&Local::default(), Path::Portable),
        &mut Progress::quiet(instant),
    )?;
    if let Some(error) = report.error {
        return Err(error.into());
    }
    let asked = outcome.snapshot.targets.scheduled;
    let answered = report.rows.status.of(Status::Ok) + report.rows.status.of(Status::Partial);
    if answered < asked {
        say(&format_args!("{} of {asked} did not answer; see the status above", asked - answered));
    }
    Ok(if answered == asked && asked > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
