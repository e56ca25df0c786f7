//! A scan as two threads: the loop on this one, the writer on another.

use std::sync::Arc;

use crossbeam_channel::bounded;
use signal_hook::consts::SIGXFSZ;

use super::progress::Progress;
use super::signals::Watching;
use crate::config::Prepared;
use crate::engine::Engine;
use crate::error::Error;
use crate::net::batch;
use crate::net::driver::{Driver, Handover, Outcome, Stop};
use crate::net::socket::Local;
use crate::net::udp::Udp;
use crate::output::writer::{self, Report};
use crate::output::{Assembler, Clones, Destination, Epoch, Filter, Raw, Sink};

/// Runs until every target has ended and its row is written.
pub(super) fn run(
    prepared: Prepared,
    filter: Filter,
    sinks: Vec<Sink>,
    raw: Option<Destination>,
    epoch: Epoch,
    (local, io): (&Local, batch::Path),
    progress: &mut Progress,
) -> Result<(Outcome, Report), Error> {
    let Prepared { targets, families, settings, plans, origins, flag_clones, .. } = prepared;
    let engine = Engine::new(settings, plans.clone(), targets, epoch.instant);
    let (batches, to_write) = bounded(BATCHES);
    let (to_return, returned) = bounded(BATCHES);
    let driver = Driver::new(engine, Udp::open(local, families, io)?, Handover { batches, returned })?;
    let watching = Watching::begin()?;
    watching.stop(driver.stopper());
    let stopper = driver.stopper();
    let clones = flag_clones.then(|| Clones::new(settings.key));
    let assembler = Assembler { plans, origins, settings, epoch, clones };
    let raw = raw.map(|destination| Raw::new(destination, driver.local_addresses(), settings.queries));
    let writer = writer::spawn(assembler, filter, sinks, raw, to_write, to_return, move || stopper.stop(Stop::Output));
    // A file that grows past its limit is an error of the write then, and not the end of the process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    // The driver closes the channel when it returns, whether well or not, and the writer ends when that is empty.
    let outcome = driver.run(progress);
    drop(watching);
    let report = writer.join().map_err(|_| Error::Bug("the writer thread panicked"))?;
    Ok((outcome?, report))
}

/// Batches on their way to the writer: with 64 KiB each, enough for a disk that pauses, and bounded.
const BATCHES: usize = 64;
