//! A run as two threads: the loop on this one, and the consumer of its batches on another.

use std::net::SocketAddr;
use std::panic;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select, tick};

use crate::config::NetworkOptions;
use crate::engine::{Batch, Engine};
use crate::error::Error;
use crate::net::driver::{Driver, Handover, Outcome, Stop, Stopper, Watch};
use crate::net::udp::Udp;
use crate::output::writer::Consumer;

/// A loop that is ready to run, and where its batches come out.
pub(super) struct Session {
    driver: Driver<Udp>,
    batches: Receiver<Batch>,
    returned: Sender<Batch>,
}

impl Session {
    /// Opens sockets for the `families` (IPv4, IPv6) of the targets of `engine`.
    pub(super) fn open(engine: Engine, families: (bool, bool), network: &NetworkOptions) -> Result<Self, Error> {
        let (full, batches) = bounded(BATCHES);
        let (returned, empty) = bounded(BATCHES);
        let transport = Udp::open(&network.local, families, network.io)?;
        let driver = Driver::new(engine, transport, Handover { batches: full, returned: empty })?;
        Ok(Self { driver, batches, returned })
    }

    /// Stops the run.
    pub(super) fn stopper(&self) -> Stopper {
        self.driver.stopper()
    }

    /// Addresses of an IPv4 and of an IPv6 socket.
    pub(super) fn local_addresses(&self) -> [SocketAddr; 2] {
        self.driver.local_addresses()
    }

    /// Runs until every target has ended and `consumer` has taken it. If `consumer` panics, the run ends and this
    /// panics too.
    pub(super) fn run<C: Consumer>(self, consumer: C, watch: &mut dyn Watch) -> Result<(Outcome, C::Report), Error> {
        let Self { driver, batches, returned } = self;
        let end = EndOnPanic(driver.stopper());
        thread::scope(|scope| {
            let consuming = consume(scope, consumer, batches, returned, end)?;
            // The driver closes the channel when it returns, whether well or not, and the consumer ends when that is empty.
            let outcome = driver.run(watch);
            // A panic most likely comes from the caller's code, which is called on that thread.
            let report = consuming.join().unwrap_or_else(|reason| panic::resume_unwind(reason));
            Ok((outcome?, report))
        })
    }
}

/// Gives `consumer` what comes, until the channel is closed.
fn consume<'scope, C: Consumer + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut consumer: C,
    batches: Receiver<Batch>,
    returned: Sender<Batch>,
    end: EndOnPanic,
) -> Result<ScopedJoinHandle<'scope, C::Report>, Error> {
    let consuming = thread::Builder::new().name("writer".into()).spawn_scoped(scope, move || {
        let _end = end;
        let flush = tick(FLUSH_EVERY);
        loop {
            select! {
                recv(batches) -> batch => match batch {
                    Ok(batch) => {
                        consumer.take(&batch);
                        // The loop may be gone, or have enough; then the batch is dropped.
                        let _ = returned.try_send(batch);
                    }
                    Err(_) => return consumer.finish(),
                },
                recv(flush) -> _ => consumer.flush(),
            }
        }
    });
    consuming.map_err(|source| Error::Input { name: "a thread".into(), source })
}

/// Stops a run if its consumer panics, since nobody will take its targets any more.
struct EndOnPanic(Stopper);

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(Stop::Output);
        }
    }
}

/// Batches on their way to the consumer: with 64 KiB each, enough for a disk that pauses, and bounded.
const BATCHES: usize = 64;
/// Rows wait no longer than this.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
