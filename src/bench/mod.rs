//! The throughput benchmark: the same addresses asked over and over, counted, and summed up.
//!
//! ```text
//!  Circle ──► engine ──► batches ──► Collector ──► Collected ─┐
//!  (targets)                         (a thread)               ├─► Round ──► report, conditions, find_max
//!            snapshot, processor time ─────────────────────────┘
//! ```
//!
//! A round is a scan whose source goes round through the addresses until a bell rings or enough was asked; the
//! collector takes the writer's place. Round-trip times are kept twice: from the actual send, and from the time at
//! which an even pace would have sent, with what was never sent counted in. A client that waits for a slow server and
//! asks less meanwhile flatters it in the first (coordinated omission); the second shows it.
//!
//! A2S has no number that tells two queries to one address apart, so an address has one query in flight. An answer that
//! comes after its time-out, while the address is being asked once more, is taken for the answer to that. Where the rate is
//! not the limit, a server that answers sooner is therefore asked more often, and one that does not answer less often.
//! Starting sockets and threads is left to the command.

mod circle;
mod collect;
mod condition;
mod find;
mod hgrm;
mod metrics;
mod pace;
mod report;
mod round;
#[cfg(test)]
mod tests;

pub(crate) use circle::{Bell, Circle};
pub(crate) use collect::{Collected, Collector};
pub(crate) use condition::{Condition, conditions};
pub(crate) use find::find_max;
pub(crate) use hgrm::hgrm;
pub(crate) use pace::{Pace, Ramp};
pub(crate) use report::{About, Report, csv, json, text};
pub(crate) use round::{Cost, Round, Schedule};
