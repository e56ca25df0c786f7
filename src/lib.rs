//! fragscan asks game servers what they are, many thousands at a time, and accounts for every target and every datagram.
//!
//! This is the library behind the program of the same name. A [`Scan`](run::Scan) takes options and produces a record
//! for each target:
//!
//! ```
//! use fragscan::config::ScanOptions;
//! use fragscan::run::Scan;
//!
//! let mut options = ScanOptions::default();
//! options.input.targets.push("farm:50".into()); // simulated servers; or an address, a range, a name
//! let mut players = 0;
//! let outcome = Scan::new(options).for_each(|record| players += record.players.unwrap_or(0)).run()?;
//! let ledger = outcome.ledger();
//! assert_eq!(ledger.targets.finished, 50);
//! assert!(ledger.check().is_empty()); // every target and every datagram is in one of its counters
//! println!("{players} players; {}", ledger.rows.status); // 1094 players; 50 ok
//! # assert!(players > 0);
//! # Ok::<(), fragscan::error::Error>(())
//! ```
//!
//! # How data flows
//!
//! ```text
//!   cli ──► config ──► input ──► a Source ──┐                    simulated servers
//!         (options)   (names,    (or yours) │                            ▲
//!                      files)               ▼                            ▼
//!   protocol ◄──────────────────────────► engine ◄────── net ◄─────► UDP sockets
//!   (bytes)                              (flights,    (the loop,
//!      │                                  deadlines,   the clock)
//!      │                                  pacing)
//!      │                                    │ batches of raw answers
//!      └─────────────► decode ──────────► output ──────────► Sinks: CSV, NDJSON, your callback
//!                                           │
//!                                         ledger: every target, every datagram
//! ```
//!
//! [`run`] connects these; the program adds a command line and messages for people. [`protocol`] and [`engine`] use no
//! socket and no clock: the caller passes in datagrams and the time, so tests can run complete scans in virtual time.
//!
//! # Threads
//!
//! A run occupies the thread that starts it. A [`Source`](target::Source), an iterator of targets and a
//! [`Watch`](run::Watch) are called there, between datagrams, and must not block. Callbacks and [`Sink`](output::Sink)s
//! are called on the writer's thread and may be slow: answers queue up meanwhile, and while more than a few MiB wait,
//! no new target is asked. Notices may come from any thread. A [`Stopper`](run::Stopper) ends a run from any thread.
//!
//! The library neither prints nor handles signals, and never ends the process. Several runs may be active at once.
//!
//! # Other entry points
//!
//! * [`with_source`](run::Scan::with_source) takes targets from your own source, which may find them while the scan goes on.
//! * [`with_sink`](run::Scan::with_sink) gives records to your own sink; a [`FileSink`](output::FileSink) writes them in your
//!   own [`RowFormat`](output::RowFormat).
//! * [`by_name`](protocol::by_name) finds a protocol. It decodes answers that came from elsewhere, and takes a datagram apart
//!   field by field.
//! * [`Engine`](engine::Engine) is the scan without sockets or a clock, for an event loop of your own.
//! * [`Farm`](run::Farm) starts simulated servers, for tests of your program.
//! * [`printable`](output::printable) makes text from servers safe for a terminal.
//!
//! `examples/` has programs for these, and for two scans at once.
//!
//! # Stability
//!
//! The API is unstable until 1.0: any 0.x release may change it, and the changelog says how.

mod bench;
mod capture;
mod cli;
mod command;
pub mod config;
pub mod dns;
mod doctor;
pub mod engine;
pub mod error;
mod farm;
pub mod games;
mod input;
pub mod ledger;
mod list;
pub mod net;
mod offline;
pub mod output;
pub mod protocol;
pub mod record;
pub mod rng;
pub mod run;
pub mod target;
pub mod wire;

#[doc(hidden)]
pub use command::program;

/// For the tests and benches of this repository; not part of the API.
#[doc(hidden)]
pub mod internals {
    use crate::protocol::AnyProtocol;

    pub use crate::engine::deadlines::Deadlines;
    pub use crate::engine::limiter::Limiter;
    pub use crate::games::identify::identify;
    pub use crate::protocol::a2s::Info;
    pub use crate::protocol::persona::{GameEngine, Manner, Persona};
    pub use crate::protocol::replies::Replies;
    pub use crate::rng::generator::{Rng, mix};
    pub use crate::target::permute::Permutation;

    /// Answers `request` as the server `persona` would.
    pub fn serve(protocol: AnyProtocol, persona: &Persona, request: &[u8], replies: &mut Replies) {
        protocol.serve(persona, request, replies);
    }

    /// Answers `request` with those of the `recorded` datagrams of a server that answer it.
    pub fn replay(protocol: AnyProtocol, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        protocol.replay(request, recorded, replies);
    }
}
