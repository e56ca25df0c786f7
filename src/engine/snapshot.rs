//! How a scan stands: counters and limits at one moment, for progress and for the account at the end.

use super::Engine;
use super::adapt::Adaptive;
use crate::ledger::{Datagrams, Targets};

/// How a scan stands.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Counters of targets.
    pub targets: Targets,
    /// Counters of datagrams.
    pub datagrams: Datagrams,
    /// Targets that have ended with an answer.
    pub answered: u64,
    /// Targets that were handed to the writer unasked.
    pub printed: u64,
    /// Targets in flight; list servers are none.
    pub in_flight: usize,
    /// Targets that were read and not asked yet, as far as that is known.
    pub not_started: u64,
    /// Datagrams that were to be kept as they came, and were not: their servers sent too much.
    pub unlogged: u64,
    /// More may become known: lists, names or standard input are still coming in.
    pub growing: bool,
    /// There are no others, and will be none.
    pub exhausted: bool,
    /// Targets that may be in flight, if that adapts.
    pub window: Option<usize>,
    /// Datagrams that may leave in a second, if that adapts.
    pub rate: Option<f64>,
}

impl Engine {
    /// How the scan stands.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            targets: self.targets,
            datagrams: self.datagrams,
            answered: self.answered,
            printed: self.printed,
            in_flight: self.targets_in_flight(),
            not_started: self.source.remaining().unwrap_or(0) + self.hosts.waiting() as u64,
            unlogged: self.outbox.unlogged(),
            growing: self.source.is_growing(),
            exhausted: self.exhausted || self.source.is_exhausted(),
            window: self.adaptive.as_ref().and_then(Adaptive::window),
            rate: self.adaptive.as_ref().and_then(Adaptive::rate),
        }
    }
}
