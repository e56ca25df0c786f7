//! Batches on their way to the writer: one that fills, those that are full, and empty ones to fill again.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::finished::{Batch, Direction, Finished};
use crate::target::Target;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    batch: Batch,
    /// When the batch got its first entry.
    began: Option<Instant>,
    full: VecDeque<Batch>,
    spare: Vec<Batch>,
    unlogged: u64,
}

impl Outbox {
    /// Adds a target that has ended, whose kept answers are `answers`, each preceded by its length.
    pub(super) fn push(&mut self, finished: Finished, answers: &[u8], now: Instant) {
        self.batch.push(finished, answers);
        self.close_if_full(now);
    }

    /// Adds a target that is not asked.
    pub(super) fn print(&mut self, target: Target, now: Instant) {
        self.batch.print(target);
        self.close_if_full(now);
    }

    /// Whether a full batch waits to be taken.
    pub(super) fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    /// Adds a datagram as it was sent or received.
    pub(super) fn log(&mut self, direction: Direction, server: SocketAddr, at: Instant, data: &[u8], now: Instant) {
        self.batch.log(direction, server, at, data);
        self.close_if_full(now);
    }

    /// Counts a datagram that was not added because its flight has sent too many.
    pub(super) fn count_unlogged(&mut self) {
        self.unlogged += 1;
    }

    /// Datagrams that were not added.
    pub(super) fn unlogged(&self) -> u64 {
        self.unlogged
    }

    /// Takes a batch that is full, or old enough, or the last; call until `None`.
    #[must_use]
    pub(super) fn poll(&mut self, now: Instant, is_last: bool) -> Option<Batch> {
        if self.due().is_some_and(|at| is_last || at <= now) {
            self.close();
        }
        self.full.pop_front()
    }

    /// When the batch that fills is old enough; `None` if it is empty.
    pub(super) fn due(&self) -> Option<Instant> {
        self.began.map(|began| began + BATCH_AGE)
    }

    /// Takes a used batch back, to fill it again.
    pub(super) fn recycle(&mut self, mut batch: Batch) {
        batch.clear();
        if self.spare.len() < MOST_SPARE {
            self.spare.push(batch);
        }
    }

    fn close_if_full(&mut self, now: Instant) {
        self.began.get_or_insert(now);
        if self.batch.is_full() {
            self.close();
        }
    }

    fn close(&mut self) {
        let next = self.spare.pop().unwrap_or_default();
        self.full.push_back(std::mem::replace(&mut self.batch, next));
        self.began = None;
    }
}

/// A batch is handed over when its first target has waited this long.
const BATCH_AGE: Duration = Duration::from_millis(100);
/// Empty batches that are kept.
const MOST_SPARE: usize = 64;
