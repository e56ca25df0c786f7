//! `fragscan bench`: asks the same servers over and over, and says how fast they, and this program, are.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, after, bounded};

use super::scan::start_farm;
use super::signals::Watching;
use super::{print, say};
use crate::bench::{
    About, Bell, Circle, Collected, Collector, Cost, Pace, Report, Round, csv, find_max, hgrm, json, text,
};
use crate::cli::BenchArgs;
use crate::config::{self, BenchConfig, Length, Prepared, ReportFormat};
use crate::engine::{Batch, Engine, Oddity, Plan, Rate, Settings, Snapshot};
use crate::error::{Error, HELD, STOPPED};
use crate::farm::serve::Serving;
use crate::net;
use crate::net::batch;
use crate::net::driver::{Driver, Handover, Watch, read_clocks};
use crate::net::socket::Local;
use crate::net::sys;
use crate::net::udp::Udp;
use crate::output::{Destination, OutputError, metadata};
use crate::target::Target;

/// Benchmarks what was typed.
pub(super) fn run(args: BenchArgs) -> Result<ExitCode, Error> {
    let (_, unix_us) = read_clocks();
    let config = config::bench(args, unix_us.unsigned_abs())?;
    let refusal = config.refusal();
    let BenchConfig { scan, pace, warmup, length, rounds, conditions, format, hgrm, quiet, queries, .. } = config;
    let mut histograms = hgrm.as_deref().map(open_histograms).transpose()?;
    let farm = scan.farm.map(start_farm).transpose()?;
    let io = scan.io;
    let mut bench = Bench::new(scan.prepare(farm.as_ref().map(Serving::servers), |line| say(line))?, io, quiet)?;
    refusal(&bench.targets)?;
    if !warmup.is_zero() {
        bench.warm_up(pace, warmup)?;
    }
    let (rounds, found) = match pace {
        Pace::Fixed(rate) => (bench.rounds((0..rounds).map(|_| rate), length)?, None),
        Pace::Ramp(ramp) => (bench.rounds(ramp.rates().map(Some), length)?, None),
        Pace::FindMax => {
            let (rounds, found) = find_max(|rate| bench.next_round(rate, length))?;
            (rounds, Some(found))
        }
    };
    if rounds.is_empty() {
        say(&"stopped before the end of the first round");
        return Ok(ExitCode::from(STOPPED));
    }
    let report = Report { about: bench.about(queries), pace, rounds, found };
    let page = match format {
        ReportFormat::Text => text(&report),
        ReportFormat::Json => format!("{}\n", json(&report)),
        ReportFormat::Csv => csv(&report),
    };
    print(|out| out.write_all(page.as_bytes()))?;
    if let Some(destinations) = &mut histograms {
        write_histograms(destinations, &report.rounds)?;
    }
    if bench.is_stopped() {
        say(&"stopped early: what was measured until then is above");
        return Ok(ExitCode::from(STOPPED));
    }
    let mut failed = false;
    for (number, rounds) in (1..).zip(report.judged()) {
        for held in conditions.iter().filter_map(|condition| condition.holds(&rounds)) {
            failed = true;
            match pace {
                Pace::Ramp(_) => say(&format_args!("--fail-if: round {number}: {held}")),
                _ => say(&format_args!("--fail-if: {held}")),
            }
        }
    }
    Ok(if failed { ExitCode::from(HELD) } else { ExitCode::SUCCESS })
}

/// Whom to ask, and how; and how far it is.
struct Bench {
    targets: Vec<Target>,
    settings: Settings,
    plans: Arc<[Plan]>,
    io: batch::Path,
    quiet: bool,
    /// Rounds that were begun.
    begun: u32,
    /// Hears of a signal, in a round or between two.
    watching: Watching,
}

impl Bench {
    /// Waits until every name among the targets is resolved, or finally is not.
    fn new(prepared: Prepared, io: batch::Path, quiet: bool) -> Result<Self, Error> {
        let Prepared { targets: mut source, tally, settings, plans, origins, .. } = prepared;
        let mut targets = Vec::new();
        // Bounded by the targets, and by the patience of the resolver.
        loop {
            let next = source.poll_target();
            while let Some(name) = source.poll_unresolved() {
                let text = origins.find(name.origin).and_then(|origin| origin.text);
                say(&format_args!("{} cannot be resolved", text.as_deref().unwrap_or("a name")));
            }
            match next {
                Poll::Ready(Some(target)) => targets.push(target),
                Poll::Ready(None) => break,
                Poll::Pending => drop(after(A_WHILE).recv()),
            }
            if targets.len() > MOST_TARGETS {
                return Err(Error::usage(format!(
                    "more than {MOST_TARGETS} targets: a benchmark goes round through fewer"
                )));
            }
        }
        if targets.is_empty() {
            let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            return Err(Error::usage(config::why_nothing(&tally)));
        }
        Ok(Self { targets, settings, plans, io, quiet, begun: 0, watching: Watching::begin()? })
    }

    fn about(&self, queries: String) -> About {
        About {
            program: metadata::PROGRAM.into(),
            targets: self.targets.len(),
            queries,
            timeout_ms: self.settings.timeout.as_millis() as u64,
            retries: self.settings.retries,
            window: self.settings.window,
            adaptive_window: self.settings.auto.window,
            io: self.io.as_str(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.watching.has_heard()
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

    fn rounds(&mut self, rates: impl Iterator<Item = Option<f64>>, length: Length) -> Result<Vec<Round>, Error> {
        let mut rounds = Vec::new();
        for rate in rates {
            match self.next_round(rate, length)? {
                Some(round) => rounds.push(round),
                None => break,
            }
        }
        Ok(rounds)
    }

    /// Announces and runs a round; none once a signal came.
    fn next_round(&mut self, rate: Option<f64>, length: Length) -> Result<Option<Round>, Error> {
        if self.is_stopped() {
            return Ok(None);
        }
        self.begun += 1;
        if !self.quiet {
            let at = rate.map_or_else(|| "as fast as possible".into(), |rate| format!("{rate:.0} datagrams/s"));
            say(&format_args!("round {}: {at}", self.begun));
        }
        self.round(rate, length)
    }

    /// Runs a round as a scan with sockets of its own, whose source goes round; none if a signal cut it short.
    fn round(&mut self, rate: Option<f64>, length: Length) -> Result<Option<Round>, Error> {
        let bell = Bell::default();
        let (time, count) = match length {
            Length::Time(time) => (Some(time), None),
            Length::Count(count) => (None, Some(count)),
        };
        let circle = Circle::new(&self.targets, count, bell.clone());
        let settings = Settings { rate: Rate { packets: rate, bits: None }, ..self.settings };
        let families = [SocketAddr::is_ipv4, SocketAddr::is_ipv6];
        let [ipv4, ipv6] = families.map(|is| self.targets.iter().any(|target| is(&target.address)));
        let (batches, to_count) = bounded(BATCHES);
        let (to_return, returned) = bounded(BATCHES);
        let (began, _) = read_clocks();
        let engine = Engine::new(settings, Arc::clone(&self.plans), Box::new(circle), began);
        let sockets = Udp::open(&Local::default(), (ipv4, ipv6), self.io)?;
        let driver = Driver::new(engine, sockets, Handover { batches, returned })?;
        self.watching.stop(driver.stopper());
        let counting = count_in_thread(Collector::new(rate), to_count, to_return);
        let mut clock = Clock { time, bell, rang: None };
        let before = processor_time()?;
        let outcome = driver.run(&mut clock);
        let after = processor_time()?;
        let collected = counting.join().map_err(|_| Error::Bug("the counting thread panicked"))?;
        let outcome = outcome?;
        if outcome.stop.is_some() {
            return Ok(None);
        }
        if outcome.snapshot.targets.finished != collected.statuses.total() {
            return Err(Error::Bug("queries were asked that were not counted"));
        }
        let cost = Cost { of_loop: after.0 - before.0, of_process: after.1 - before.1, peak_memory: peak_memory() };
        Ok(Some(Round::new(rate, (began, clock.rang), collected, &outcome.snapshot, cost)))
    }
}

/// Counts what comes until the channel is closed.
fn count_in_thread(
    mut collector: Collector,
    batches: Receiver<Batch>,
    returned: Sender<Batch>,
) -> JoinHandle<Collected> {
    thread::spawn(move || {
        for batch in batches {
            batch.iter().for_each(|finished| collector.add(finished));
            // The loop may be gone, or have enough; then the batch is dropped.
            let _ = returned.try_send(batch);
        }
        collector.finish()
    })
}

/// Rings the bell when the time of a round is over.
struct Clock {
    time: Option<Duration>,
    bell: Bell,
    rang: Option<Instant>,
}

impl Watch for Clock {
    fn interval(&self) -> Option<Duration> {
        self.time
    }

    fn look(&mut self, now: Instant, _snapshot: &Snapshot) {
        self.bell.ring();
        self.rang.get_or_insert(now);
    }

    fn odd(&mut self, _from: SocketAddr, _oddity: &Oddity, _data: &[u8]) {}

    fn stopping(&mut self, snapshot: &Snapshot, grace: Duration) {
        say(&format_args!("stopping: {} queries in flight have {grace:?} to finish", snapshot.in_flight));
    }
}

/// Processor time of this thread, which runs the loop, and of the process.
fn processor_time() -> Result<(Duration, Duration), Error> {
    let time = |whole| sys::cpu_time(whole).map_err(|source| net::Error::on("reading", "the processor time", source));
    Ok((time(false)?, time(true)?))
}

/// Bytes of memory that the process has had at the most, where the system says it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// FILE for the times from the actual send, and `FILE` with `.planned` in it for those from the planned one.
fn open_histograms(path: &Path) -> Result<[Destination; 2], OutputError> {
    Ok([Destination::file(path)?, Destination::file(&path.with_extension("planned.hgrm"))?])
}

fn write_histograms(destinations: &mut [Destination; 2], rounds: &[Round]) -> Result<(), OutputError> {
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

/// Batches on their way to be counted.
const BATCHES: usize = 64;
/// How soon a source that had nothing is asked again.
const A_WHILE: Duration = Duration::from_millis(10);
/// With 40 bytes each, twice.
const MOST_TARGETS: usize = 1_000_000;
