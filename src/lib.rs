//! fragscan asks game servers what they are, many thousands at a time, and writes down what they say.
//!
//! ```text
//!              names, ranges, blocks                     loopback sockets
//!   cli ─► config ─► target ──┐                                farm
//!                             ▼                                 ▲
//!  protocol ◄────────────► engine ◄──── net::driver ◄────► UDP sockets
//!  (bytes)                 (flights,     (the loop,
//!     │                     deadlines,    the clock)
//!     │                     pacing)
//!     │                       │ batches of raw answers
//!     └────► decode ────► output::writer (a thread) ──► CSV, NDJSON
//!                             │
//!                           ledger: every target, every datagram
//! ```
//!
//! [`protocol`] and [`engine`] know no socket and no clock: datagrams and the time are passed in, so that whole scans
//! run in tests in virtual time. [`net`] is the one module that touches sockets, but for the thread in `list` that asks
//! the Steam Web API over HTTP; the `farm` has simulated servers for tests, benchmarks and first tries. [`games`] is the
//! table behind `--game` and `game_key`. `bench` asks the same servers over and over and measures. `capture` reads and
//! writes datagrams in files, and `offline` scans what is in them. `doctor` says what of a machine would lose them.

mod bench;
mod capture;
mod cli;
mod command;
pub mod config;
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

/// For the tests and benches of this repository; nothing to depend on.
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
