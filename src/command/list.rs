//! `fragscan list`: the servers of lists, without asking them.

use std::mem;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select, tick, unbounded};

use super::account::About;
use super::progress::Progress;
use super::say;
use super::scan;
use super::signals::Watching;
use crate::cli::ListArgs;
use crate::config::{self, Prepared};
use crate::engine::{Engine, ListEnd, Plan};
use crate::error::Error;
use crate::ledger::{Latency, Rows};
use crate::net::driver::{Driver, Handover, Stop, Stopper, read_clocks};
use crate::net::udp::Udp;
use crate::output::metadata::SettingsInForce;
use crate::output::writer::Report;
use crate::output::{Epoch, ListReport, OutputError, Sink};
use crate::record::ServerRecord;
use crate::target::{Origins, Source, Target, Unresolved};

/// Asks the lists and prints what they name, each server once.
pub(super) fn run(args: ListArgs) -> Result<ExitCode, Error> {
    let (instant, unix_us) = read_clocks();
    let mut config = config::list(args, unix_us.unsigned_abs())?;
    let sinks = config.outputs.iter().map(|output| scan::open(output, &config)).collect::<Result<Vec<_>, _>>()?;
    let about = About::new(&config, Epoch { instant, unix_us })?.printing_only();
    let (local, io) = (mem::take(&mut config.local), config.io);
    let mut progress = Progress::quiet(instant);
    if config.messages.verbose {
        progress = progress.with_oddities();
    }
    let prepared = config.prepare(None, |line| say(line))?;
    let in_force = SettingsInForce::new(&prepared.settings, io.as_str());
    let Prepared { targets, families, tally, settings, plans, origins, list_servers, fetched, .. } = prepared;
    let (listed, to_print) = unbounded();
    let lists = plans.iter().map(|plan| plan.legs[0].protocol.lists().is_some()).collect();
    let engine =
        Engine::new(settings, Arc::clone(&plans), Box::new(ListsOnly { inner: targets, lists, listed }), instant);
    // No target is asked, so that no batch is ever handed over but an empty one.
    let (batches, _not_written) = bounded(1);
    let (_, returned) = bounded(1);
    let driver = Driver::new(engine, Udp::open(&local, families, io)?, Handover { batches, returned })?;
    let watching = Watching::begin()?;
    watching.stop(driver.stopper());
    let printer =
        Printer { sinks, plans, origins: origins.clone(), stopper: Some(driver.stopper()), printed: 0, error: None };
    let printing = thread::spawn(move || printer.run(&to_print));
    let outcome = driver.run(&mut progress);
    drop(watching);
    let report = printing.join().map_err(|_| Error::Bug("the printing thread panicked"))?;
    let mut outcome = outcome?;
    outcome.lists = ListEnd::with_unasked(outcome.lists, &list_servers);
    let tally = *tally.lock().unwrap_or_else(PoisonError::into_inner);
    let lists = ListReport::all(&outcome.lists, &fetched, &origins);
    about.finish(tally, in_force, outcome, lists, report)
}

/// The lists of a source are asked; everything else is sent to whoever prints it.
struct ListsOnly {
    inner: Box<dyn Source>,
    /// Which plans are those of lists.
    lists: Vec<bool>,
    listed: Sender<Target>,
}

impl Source for ListsOnly {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        // Bounded by the targets that are known by now.
        loop {
            match self.inner.poll_target() {
                Poll::Ready(Some(target)) if !self.lists[usize::from(target.plan)] => {
                    // If nobody prints any more, the run is about to be stopped.
                    let _ = self.listed.send(target);
                }
                other => return other,
            }
        }
    }

    fn poll_unresolved(&mut self) -> Option<Unresolved> {
        self.inner.poll_unresolved()
    }

    fn handle_ended(&mut self, target: Target) {
        self.inner.handle_ended(target);
    }

    fn handle_found(&mut self, list: Target, address: SocketAddr) {
        self.inner.handle_found(list, address);
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.remaining()
    }

    fn is_growing(&self) -> bool {
        self.inner.is_growing()
    }

    fn is_exhausted(&self) -> bool {
        self.inner.is_exhausted()
    }
}

struct Printer {
    sinks: Vec<Sink>,
    plans: Arc<[Plan]>,
    origins: Origins,
    /// Stops the run, once.
    stopper: Option<Stopper>,
    /// Servers that were given to the outputs.
    printed: u64,
    error: Option<OutputError>,
}

impl Printer {
    /// Prints what is `listed` until nobody sends any more; when an output fails, or nobody reads, the run is stopped.
    fn run(mut self, listed: &Receiver<Target>) -> Report {
        let flush = tick(FLUSH_EVERY);
        let mut record = ServerRecord::new();
        loop {
            select! {
                recv(listed) -> target => match target {
                    Ok(target) => self.print(target, &mut record),
                    Err(_) => return self.finish(),
                },
                recv(flush) -> _ => self.each_sink(Sink::flush),
            }
        }
    }

    fn print(&mut self, target: Target, record: &mut ServerRecord) {
        record.clear();
        record.address = target.address;
        record.protocol = self.plans[usize::from(target.plan)].legs[0].protocol.spec().name;
        if let Some(origin) = self.origins.find(target.origin) {
            record.source = origin.source;
            record.list_facts = origin.facts;
        }
        self.printed += 1;
        self.each_sink(|sink| sink.row(record));
    }

    fn each_sink(&mut self, mut act: impl FnMut(&mut Sink) -> Result<(), OutputError>) {
        for sink in &mut self.sinks {
            if let Err(error) = act(sink) {
                self.error.get_or_insert(error);
            }
        }
        if (self.error.is_some() || self.is_closed())
            && let Some(stopper) = self.stopper.take()
        {
            stopper.stop(Stop::Output);
        }
    }

    /// True if every output's reader has closed its end.
    fn is_closed(&self) -> bool {
        self.sinks.iter().all(Sink::is_closed)
    }

    fn finish(mut self) -> Report {
        self.each_sink(Sink::flush);
        let closed = self.is_closed();
        let Self { sinks, printed, error, .. } = self;
        let mut report = Report { rows: Rows::default(), latency: Latency::new(), sinks, raw: None, error, closed };
        report.count(printed);
        report
    }
}

/// Lines wait no longer than this.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
