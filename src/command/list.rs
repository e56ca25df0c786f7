//! `fragscan list`: the servers of lists, without asking them.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select, tick, unbounded};

use super::progress::Progress;
use super::{say, scan};
use crate::cli::ListArgs;
use crate::config::{self, ListConfig};
use crate::engine::{Engine, Plan};
use crate::error::{Error, STOPPED};
use crate::net::driver::{Driver, Handover, read_clocks};
use crate::output::{ListReport, Sink};
use crate::record::ServerRecord;
use crate::target::{Origins, Source, Target, Unresolved};

/// Asks the lists and prints what they name, each server once.
pub(super) fn run(args: ListArgs) -> Result<ExitCode, Error> {
    let (now, unix_us) = read_clocks();
    let ListConfig { mut scan, selection } = config::list(args, unix_us.unsigned_abs())?;
    scan.selection = Some(selection);
    let sinks = scan.outputs.iter().map(|output| scan::open(output, &scan)).collect::<Result<Vec<_>, _>>()?;
    let (strict, quiet, local, io) = (scan.strict, scan.messages.quiet, std::mem::take(&mut scan.local), scan.io);
    let prepared = scan.prepare(None, |line| say(line))?;
    let (tally, fetched, origins) = (Arc::clone(&prepared.tally), prepared.fetched, prepared.origins);
    let (listed, to_print) = unbounded();
    let lists = prepared.plans.iter().map(|plan| plan.legs[0].protocol.lists().is_some()).collect();
    let source = ListsOnly { inner: prepared.targets, lists, listed };
    let engine = Engine::new(prepared.settings, Arc::clone(&prepared.plans), Box::new(source), now);
    // No target is asked, so that no batch is ever handed over but an empty one.
    let (batches, _not_written) = bounded(1);
    let (_, returned) = bounded(1);
    let driver = Driver::new(engine, prepared.families, &local, io.open(), Handover { batches, returned })?;
    let halt = driver.halt();
    let mut printer = Printer { sinks, plans: prepared.plans, origins: origins.clone(), printed: 0 };
    let printing = thread::spawn(move || {
        let result = printer.run(&to_print);
        if result.is_err() || printer.is_closed() {
            halt.stop();
        }
        result.map(|()| printer)
    });
    let outcome = driver.run(&mut Progress::quiet(now))?;
    let mut printer = printing.join().map_err(|_| Error::Bug("the printing thread panicked"))??;
    let reports = ListReport::all(&outcome.lists, &fetched, &origins);
    if !quiet {
        let tally = *tally.lock().unwrap_or_else(PoisonError::into_inner);
        for report in &reports {
            say(report);
        }
        say(&format_args!(
            "{} servers = {} named - {} named again - {} invalid - {} excluded",
            printer.printed,
            tally.read,
            tally.duplicate,
            tally.invalid,
            tally.excluded.total()
        ));
    }
    if outcome.stop.is_some() {
        return Ok(if printer.is_closed() { ExitCode::SUCCESS } else { ExitCode::from(STOPPED) });
    }
    printer.sinks.iter_mut().try_for_each(Sink::commit)?;
    let complete = reports.iter().all(|report| report.complete);
    Ok(if strict && !complete { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
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

    fn is_exhausted(&self) -> bool {
        self.inner.is_exhausted()
    }
}

struct Printer {
    sinks: Vec<Sink>,
    plans: Arc<[Plan]>,
    origins: Origins,
    printed: u64,
}

impl Printer {
    /// Prints what is `listed` until nobody sends any more, or nobody reads.
    fn run(&mut self, listed: &Receiver<Target>) -> Result<(), Error> {
        let flush = tick(FLUSH_EVERY);
        let mut record = ServerRecord::new();
        while !self.is_closed() {
            select! {
                recv(listed) -> target => match target {
                    Ok(target) => self.print(target, &mut record)?,
                    Err(_) => return self.flush(),
                },
                recv(flush) -> _ => self.flush()?,
            }
        }
        Ok(())
    }

    fn print(&mut self, target: Target, record: &mut ServerRecord) -> Result<(), Error> {
        record.clear();
        record.address = target.address;
        record.protocol = self.plans[usize::from(target.plan)].legs[0].protocol.spec().name;
        if let Some(origin) = self.origins.find(target.origin) {
            record.source = origin.source;
            record.list_facts = origin.facts;
        }
        self.printed += 1;
        Ok(self.sinks.iter_mut().try_for_each(|sink| sink.row(record))?)
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(self.sinks.iter_mut().try_for_each(Sink::flush)?)
    }

    /// True if every output's reader has closed its end.
    fn is_closed(&self) -> bool {
        self.sinks.iter().all(Sink::is_closed)
    }
}

/// Lines wait no longer than this.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
