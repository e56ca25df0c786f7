//! `fragscan query`: one server, or a few, for a person to read.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::progress::Progress;
use super::say;
use super::signals::Watching;
use crate::cli::QueryArgs;
use crate::cli::choice::QueryFormat;
use crate::config;
use crate::engine::Snapshot;
use crate::error::{Error, NO_NAME_SERVER};
use crate::input::Account;
use crate::net::driver::Watch;
use crate::output::{Destination, FileSink, Format, Look, RowFormat, card::Card, count};
use crate::record::Status;
use crate::run::Scan;

/// Asks the servers and prints everything they said; exit code 1 if one did not answer.
pub(super) fn run(args: QueryArgs) -> Result<ExitCode, Error> {
    let addresses = args.addresses.clone();
    let (options, format) = config::query(args)?;
    let retries = options.limits.retries;
    let format: Box<dyn RowFormat> = match format {
        QueryFormat::Text => Box::new(Card::default()),
        QueryFormat::Json => Format::Ndjson.writer(None, Look { width: 0, colour: false }),
    };
    let scan =
        Scan::new(options).with_sink(FileSink::new(format, Destination::stdout())).with_notices(|line| say(line));
    let run = scan.prepare()?;
    let watching = Watching::begin()?;
    watching.stop(run.stopper());
    let mut waiting = Waiting { addresses, retries, account: run.account().clone(), said: None };
    let outcome = run.run(&mut waiting)?;
    if let Some(error) = outcome.error {
        return Err(error.into());
    }
    // Only now is it known where names lead.
    let left_out = outcome.tally.invalid + outcome.tally.excluded.total();
    if left_out > 0 {
        say(&format_args!("{} not asked: reserved, or not allowed as a target", count(left_out, "target")));
    }
    if outcome.stop.is_some() {
        say(&"stopped before every server had answered or every name was looked up");
    }
    let ledger = outcome.ledger();
    let asked = ledger.targets.scheduled;
    let answered = ledger.rows.status.of(Status::Ok) + ledger.rows.status.of(Status::Partial);
    if answered < asked {
        say(&format_args!("{} of {asked} did not answer; see the status above", asked - answered));
    }
    if ledger.names.no_server > 0 {
        return Ok(ExitCode::from(NO_NAME_SERVER));
    }
    Ok(if answered == asked && asked > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reports what fragscan is waiting for, so that a long wait does not look like a hang.
struct Waiting {
    addresses: Vec<String>,
    retries: u32,
    account: Account,
    said: Option<For>,
}

/// What fragscan is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    Names,
    Answers,
}

impl Watch for Waiting {
    fn interval(&self) -> Option<Duration> {
        Some(A_WHILE)
    }

    /// Prints each message once, if the wait lasts longer than [`A_WHILE`].
    fn look(&mut self, _: Instant, snapshot: &Snapshot) {
        let what = if self.account.names().unfinished > 0 { For::Names } else { For::Answers };
        if self.said.replace(what) != Some(what) {
            say(&self.line(what, snapshot.targets.scheduled - snapshot.targets.finished));
        }
    }

    fn stopping(&mut self, snapshot: &Snapshot, grace: Duration) {
        Progress::quiet().stopping(snapshot, grace);
    }
}

impl Waiting {
    fn line(&self, what: For, in_flight: u64) -> String {
        let one = match self.addresses.as_slice() {
            [one] => Some(one.as_str()),
            _ => None,
        };
        match what {
            For::Names => format!("looking up {}", one.unwrap_or("names")),
            For::Answers => {
                let whom = one.map_or_else(|| count(in_flight, "server"), str::to_owned);
                let tries = self.retries + 1;
                let tries = if tries == 1 { "1 try".to_owned() } else { format!("up to {tries} tries") };
                format!("waiting for {whom}: {tries} per query; --timeout and --retries change this")
            }
        }
    }
}

/// How long fragscan waits before it prints a message.
const A_WHILE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(addresses: &[&str]) -> Waiting {
        Waiting {
            addresses: addresses.iter().map(|address| (*address).to_owned()).collect(),
            retries: 2,
            account: Account::foreign(),
            said: None,
        }
    }

    #[test]
    fn what_is_waited_for_has_its_name_or_number_and_its_end() {
        let one = waiting(&["play.example.net"]);
        assert_eq!(one.line(For::Names, 0), "looking up play.example.net");
        assert_eq!(
            one.line(For::Answers, 1),
            "waiting for play.example.net: up to 3 tries per query; --timeout and --retries change this"
        );
        let two = waiting(&["127.0.0.1:9", "127.0.0.2:9"]);
        assert_eq!(two.line(For::Names, 0), "looking up names");
        assert_eq!(
            two.line(For::Answers, 1),
            "waiting for 1 server: up to 3 tries per query; --timeout and --retries change this"
        );
    }
}
