//! `fragscan bench`: asks the same servers over and over, and says how fast they, and this program, are.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::signals::Watching;
use super::{print, say};
use crate::bench::{About, Pace, Report, Round, csv, find_max, hgrm, json, text};
use crate::cli::BenchArgs;
use crate::cli::choice::ReportFormat;
use crate::config::{self, BenchConfig, Length, NetworkOptions};
use crate::error::{Error, HELD, STOPPED};
use crate::output::{Destination, OutputError, metadata};
use crate::run::Notices;
use crate::run::bench::Bench;

/// Benchmarks what was typed.
pub(super) fn run(args: BenchArgs) -> Result<ExitCode, Error> {
    let mut config = config::bench(args)?;
    let histograms = config.hgrm.as_deref().map(open_histograms).transpose()?;
    let notices: Notices = Arc::new(|line| say(line));
    let network = NetworkOptions { io: config.io, ..NetworkOptions::default() };
    let bench = Bench::prepare(std::mem::take(&mut config.input), &config.limits, network, &notices)?;
    config.refuse_load(bench.targets())?;
    let mut rounds =
        Rounds { bench, length: config.length, quiet: config.quiet, begun: 0, watching: Watching::begin()? };
    let Some(report) = rounds.report(&config)? else {
        say(&"stopped before the end of the first round");
        return Ok(ExitCode::from(STOPPED));
    };
    let page = match config.format {
        ReportFormat::Text => text(&report),
        ReportFormat::Json => format!("{}\n", json(&report)),
        ReportFormat::Csv => csv(&report),
    };
    print(|out| out.write_all(page.as_bytes()))?;
    if let Some(destinations) = histograms {
        write_histograms(destinations, &report.rounds)?;
    }
    if rounds.watching.has_heard() {
        say(&"stopped early: what was measured until then is above");
        return Ok(ExitCode::from(STOPPED));
    }
    Ok(if fails(&config, &report) { ExitCode::from(HELD) } else { ExitCode::SUCCESS })
}

/// Reports which conditions hold; true if any does.
fn fails(config: &BenchConfig, report: &Report) -> bool {
    let mut failed = false;
    for (number, rounds) in (1..).zip(report.judged()) {
        for held in config.conditions.iter().filter_map(|condition| condition.holds(&rounds)) {
            failed = true;
            match config.pace {
                Pace::Ramp(_) => say(&format_args!("--fail-if: round {number}: {held}")),
                _ => say(&format_args!("--fail-if: {held}")),
            }
        }
    }
    failed
}

/// Rounds, each of them announced, which a signal can end.
struct Rounds {
    bench: Bench,
    length: Length,
    quiet: bool,
    /// Rounds that were begun.
    begun: u32,
    /// Learns of a signal, in a round or between two.
    watching: Watching,
}

impl Rounds {
    /// Runs all rounds; `None` if a signal ended the first.
    fn report(&mut self, config: &BenchConfig) -> Result<Option<Report>, Error> {
        if !config.warmup.is_zero() {
            self.warm_up(config.pace, config.warmup)?;
        }
        let (rounds, found) = match config.pace {
            Pace::Fixed(rate) => (self.all((0..config.rounds).map(|_| rate))?, None),
            Pace::Ramp(ramp) => (self.all(ramp.rates().map(Some))?, None),
            Pace::FindMax => {
                let (rounds, found) = find_max(|rate| self.next(rate))?;
                (rounds, Some(found))
            }
        };
        let settings = self.bench.settings();
        let about = About {
            program: metadata::PROGRAM.into(),
            targets: self.bench.targets().len(),
            queries: config.limits.queries.to_string(),
            timeout_ms: settings.timeout.as_millis() as u64,
            retries: settings.retries,
            window: settings.window,
            adaptive_window: settings.auto.window,
            io: self.bench.io(),
        };
        Ok((!rounds.is_empty()).then_some(Report { about, pace: config.pace, rounds, found }))
    }

    /// A round whose numbers nobody sees.
    fn warm_up(&mut self, pace: Pace, time: Duration) -> Result<(), Error> {
        let rate = match pace {
            Pace::Fixed(rate) => rate,
            Pace::Ramp(ramp) => Some(ramp.from),
            Pace::FindMax => None,
        };
        self.round(rate, Length::Time(time)).map(drop)
    }

    fn all(&mut self, rates: impl Iterator<Item = Option<f64>>) -> Result<Vec<Round>, Error> {
        let mut rounds = Vec::new();
        for rate in rates {
            match self.next(rate)? {
                Some(round) => rounds.push(round),
                None => break,
            }
        }
        Ok(rounds)
    }

    /// Announces and runs a round; none once a signal came.
    fn next(&mut self, rate: Option<f64>) -> Result<Option<Round>, Error> {
        if self.watching.has_heard() {
            return Ok(None);
        }
        self.begun += 1;
        if !self.quiet {
            let at = rate.map_or_else(|| "as fast as possible".into(), |rate| format!("{rate:.0} datagrams/s"));
            say(&format_args!("round {}: {at}", self.begun));
        }
        self.round(rate, self.length)
    }

    fn round(&self, rate: Option<f64>, length: Length) -> Result<Option<Round>, Error> {
        self.bench.round(rate, length, |stopper| self.watching.stop(stopper), &mut |snapshot, grace| {
            say(&format_args!("stopping: {} queries in flight have {grace:?} to finish", snapshot.in_flight));
        })
    }
}

/// FILE for the times from the actual send, and `FILE` with `.planned` in it for those from the planned one.
fn open_histograms(path: &Path) -> Result<[Destination; 2], OutputError> {
    Ok([Destination::file(path)?, Destination::file(&path.with_extension("planned.hgrm"))?])
}

fn write_histograms(mut destinations: [Destination; 2], rounds: &[Round]) -> Result<(), OutputError> {
    let of: [fn(&Round) -> &_; 2] = [|round| &round.actual, |round| &round.planned];
    for (destination, of) in destinations.iter_mut().zip(of) {
        let Some((first, others)) = rounds.split_first() else { continue };
        let mut all = of(first).clone();
        // All have the same bounds, so that nothing can be out of them.
        for round in others {
            all.add(of(round)).expect("histograms of rounds have the same bounds");
        }
        destination.write(hgrm(&all).as_bytes())?;
        destination.commit()?;
    }
    Ok(())
}
