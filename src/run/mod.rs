//! Options in, a run, its outcome: targets, engine, transport and writer are put together here, once.
//!
//! ```text
//! options ──► input ──► engine ◄──► transport         the thread that calls run
//!                         │ batches
//!                         ▼
//!                      consumer ──► sinks              a thread of its own
//! ```
//!
//! Nothing here installs a signal handler, prints, or ends the process: what is worth saying goes to whoever asked for
//! notices, and a [`Stopper`] ends a run early. Runs may follow each other or go on beside each other in one process.

pub(crate) mod bench;
mod collisions;
pub(crate) mod decode;
mod farm;
mod outcome;
mod publish;
mod scan;
mod session;
mod sinks;

pub use crate::net::driver::{Stop, Stopper, Watch};
pub use farm::Farm;
pub use outcome::Outcome;
pub(crate) use scan::Notices;
pub use scan::{Run, Scan};
pub use sinks::ForEach;
