//! From options through a run to its outcome: the one place that connects targets, engine, transport and writer.
//!
//! ```text
//! options ──► input ──► engine ◄──► transport         the thread that calls run
//!                         │ batches
//!                         ▼
//!                      consumer ──► sinks              a thread of its own
//! ```
//!
//! Nothing here installs a signal handler, prints, or ends the process. Messages go to the caller's notices, and a
//! [`Stopper`] ends a run early. In one process, runs may follow each other or go on at the same time.

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
