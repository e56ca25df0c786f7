//! Signals that stop a run: the first lets what is in flight finish, the second ends it at once, and the next one ends the
//! process, whatever blocks it.
//!
//! A process has one set of signal handlers, so there is one thread that hears signals, from the first run on, for all runs
//! that are being watched: one after the other, or several beside each other.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::Signals;

use crate::error::STOPPED;
use crate::net::driver::{Stop, Stopper};
use crate::net::{Error, sys};

/// While it lives, signals stop runs and do not end the process. Once the last one is dropped, nothing that is left can be
/// stopped, and the next signal ends the process.
pub(super) struct Watching {
    number: u64,
}

impl Watching {
    /// Takes the signals over.
    pub(super) fn begin() -> Result<Self, Error> {
        let mut heard = heard();
        let impatient = match &heard.impatient {
            Some(flag) => flag,
            None => heard.impatient.insert(listen().map_err(|source| Error::on("waiting for", "signals", source))?),
        };
        impatient.store(false, Ordering::Release);
        heard.begun += 1;
        let number = heard.begun;
        heard.runs.push(Run { number, signal: None, stopper: None });
        Ok(Self { number })
    }

    /// From now on signals stop the run of `stopper`, and no earlier one. One that has come already stops it at once.
    pub(super) fn stop(&self, stopper: Stopper) {
        if let Some(run) = heard().runs.iter_mut().find(|run| run.number == self.number) {
            if let Some(signal) = run.signal {
                stopper.stop(Stop::Signal(signal));
            }
            run.stopper = Some(stopper);
        }
    }

    /// True once a signal has come.
    pub(super) fn has_heard(&self) -> bool {
        heard().runs.iter().any(|run| run.number == self.number && run.signal.is_some())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut heard = heard();
        heard.runs.retain(|run| run.number != self.number);
        if let Some(impatient) = heard.impatient.as_ref().filter(|_| heard.runs.is_empty()) {
            impatient.store(true, Ordering::Release);
        }
    }
}

/// The signals that stop, without those that were ignored when the program started: `nohup` means it.
pub(super) fn stopping() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !sys::is_ignored(*signal))
}

/// What has been heard, and who is to hear of it.
struct Heard {
    /// The next signal ends the process. There once the handlers are.
    impatient: Option<Arc<AtomicBool>>,
    begun: u64,
    runs: Vec<Run>,
}

struct Run {
    number: u64,
    /// The first signal that came.
    signal: Option<i32>,
    stopper: Option<Stopper>,
}

static HEARD: Mutex<Heard> = Mutex::new(Heard { impatient: None, begun: 0, runs: Vec::new() });

fn heard() -> MutexGuard<'static, Heard> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the handlers and starts the thread; returns the flag that makes the next signal end the process.
fn listen() -> io::Result<Arc<AtomicBool>> {
    let impatient = Arc::new(AtomicBool::new(false));
    let stopping: Vec<i32> = stopping().collect();
    // Handlers run in this order: the signal that raises the flag is not the one that finds it raised.
    for signal in &stopping {
        register_conditional_shutdown(*signal, STOPPED.into(), Arc::clone(&impatient))?;
    }
    let mut signals = Signals::new(&stopping)?;
    thread::Builder::new().name("signals".into()).spawn(move || signals.forever().for_each(hear))?;
    Ok(impatient)
}

fn hear(signal: i32) {
    let Heard { impatient, runs, .. } = &mut *heard();
    for run in runs {
        if run.signal.is_some()
            && let Some(impatient) = impatient
        {
            impatient.store(true, Ordering::Release);
        }
        run.signal.get_or_insert(signal);
        if let Some(stopper) = &run.stopper {
            stopper.stop(Stop::Signal(signal));
        }
    }
}
