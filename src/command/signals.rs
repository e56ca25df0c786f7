//! Signals that stop a run: the first lets what is in flight finish, the second ends it at once, and the third ends the
//! process, whatever blocks it.
//!
//! A process has one set of signal handlers. So one thread, which starts with the first run, receives the signals for
//! all runs that are being watched, whether they follow each other or run at the same time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::Signals;

use crate::error::STOPPED;
use crate::net::driver::{Stop, Stopper};
use crate::net::{Error, sys};

/// While a value of this type exists, signals stop runs and do not end the process. After the last one is dropped, no
/// run is left to stop, and the next signal ends the process.
pub(super) struct Watching {
    number: u64,
}

impl Watching {
    /// Takes over the signals.
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

    /// From now on, signals stop the run of `stopper` instead of any earlier one. A signal that has already arrived
    /// counts as the first for it too.
    pub(super) fn stop(&self, stopper: Stopper) {
        if let Some(run) = heard().runs.iter_mut().find(|run| run.number == self.number) {
            if let Some(signal) = run.signal {
                stopper.stop(Stop::Signal(signal));
            }
            run.stopper = Some(stopper);
        }
    }

    /// True once a signal has arrived.
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

/// The signals that stop a run, except those that were ignored when the program started, as `nohup` does on purpose.
pub(super) fn stopping() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !sys::is_ignored(*signal))
}

/// The signals that have arrived, and the runs to tell.
struct Heard {
    /// Makes the next signal end the process; present once the handlers are installed.
    impatient: Option<Arc<AtomicBool>>,
    begun: u64,
    runs: Vec<Run>,
}

struct Run {
    number: u64,
    /// The first signal that arrived.
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
    // Handlers run in this order, so the signal that sets the flag does not itself find it set.
    for signal in &stopping {
        register_conditional_shutdown(*signal, STOPPED.into(), Arc::clone(&impatient))?;
    }
    // A file that grows past its limit is an error of the write then, and not the end of the process.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
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

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};

    use crossbeam_channel::{after, bounded};

    use super::*;
    use crate::engine::testing::{List, protocol, settings};
    use crate::engine::{Engine, Oddity, Plan, Settings, Snapshot};
    use crate::net::driver::{Driver, Handover, Outcome, Watch, read_clocks};
    use crate::net::options::IoPath;
    use crate::net::options::Local;
    use crate::net::udp::Udp;

    struct Unwatched;

    impl Watch for Unwatched {
        fn interval(&self) -> Option<Duration> {
            None
        }

        fn look(&mut self, _now: Instant, _snapshot: &Snapshot) {}

        fn odd(&mut self, _from: SocketAddr, _oddity: &Oddity, _data: &[u8]) {}

        fn stopping(&mut self, _snapshot: &Snapshot, _grace: Duration) {}
    }

    /// A run that waits for hours, and the handle to stop it.
    fn start(silent: SocketAddr) -> (Stopper, JoinHandle<Outcome>) {
        let hours = Duration::from_hours(9);
        let settings = Settings { timeout: hours, budget: hours, ..settings() };
        let plans = [Plan::of(protocol("a2s"))];
        let engine = Engine::new(settings, plans.into(), Box::new(List::of([silent])), read_clocks().0);
        let sockets = Udp::open(&Local::default(), (true, false), IoPath::Mmsg).unwrap();
        let (batches, _unwritten) = bounded(9);
        let (_, returned) = bounded(9);
        let driver = Driver::new(engine, sockets, Handover { batches, returned }).unwrap();
        (driver.stopper(), thread::spawn(move || driver.run(&mut Unwatched).unwrap()))
    }

    fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
        for _ in 0..5_000 {
            if is_so() {
                return;
            }
            let _ = after(Duration::from_millis(1)).recv();
        }
        panic!("{what}: not within five seconds");
    }

    /// One test, because every run of the process receives each signal.
    #[test]
    fn signals_stop_runs_beside_each_other_and_after_each_other_and_those_that_begin_too_late() {
        if sys::is_ignored(SIGTERM) {
            // Whoever started the tests ignores the signal on purpose.
            return;
        }
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let silent = server.local_addr().unwrap();
        let raise = || signal_hook::low_level::raise(SIGTERM).unwrap();
        let is_over = |run: JoinHandle<Outcome>| {
            wait_until("the second signal", || run.is_finished());
            let outcome = run.join().unwrap();
            assert_eq!((outcome.stop, outcome.snapshot.targets.finished), (Some(Stop::Signal(SIGTERM)), 1));
        };
        for beside in [2, 1] {
            let watched = |(stopper, run)| {
                let watching = Watching::begin().unwrap();
                watching.stop(stopper);
                (watching, run)
            };
            let runs: Vec<_> = (0..beside).map(|_| watched(start(silent))).collect();
            // Each has sent its datagram: it runs.
            for _ in &runs {
                server.recv_from(&mut [0; 64]).unwrap();
            }
            raise();
            wait_until("the first signal", || runs.iter().all(|(watching, _)| watching.has_heard()));
            assert!(runs.iter().all(|(_, run)| !run.is_finished()), "what is in flight has its time");
            raise();
            let (watching, runs): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
            runs.into_iter().for_each(is_over);
            drop(watching);
        }

        let watching = Watching::begin().unwrap();
        raise();
        wait_until("a signal between two runs", || watching.has_heard());
        let (stopper, run) = start(silent);
        server.recv_from(&mut [0; 64]).unwrap();
        watching.stop(stopper);
        raise();
        is_over(run);
    }
}
