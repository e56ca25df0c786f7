//! List servers among the targets: they make no rows, what they name is given to the source, and how each has ended is
//! kept for the account of the run.

use std::time::{Duration, Instant};

use super::Engine;
use super::flight::{Flight, Slot};
use crate::ledger::ListDatagrams;
use crate::record::Status;
use crate::target::Target;

/// How a list server has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListEnd {
    /// Number of its origin.
    pub origin: u32,
    /// [`Status::Ok`] if the list was had as a whole; else why it was not.
    pub status: Status,
    /// Different servers that it has named.
    pub servers: u64,
    /// Datagrams that ended within an entry.
    pub ragged: u32,
    /// Datagrams sent to it.
    pub sent: u64,
    /// Datagrams of its own that were used.
    pub received: u64,
}

impl ListEnd {
    /// A list server that was not asked, because of `status`.
    #[must_use]
    pub const fn unasked(origin: u32, status: Status) -> Self {
        Self { origin, status, servers: 0, ragged: 0, sent: 0, received: 0 }
    }

    /// Datagrams of all of `lists`.
    #[must_use]
    pub fn datagrams(lists: &[Self]) -> ListDatagrams {
        ListDatagrams {
            sent: lists.iter().map(|list| list.sent).sum(),
            received: lists.iter().map(|list| list.received).sum(),
        }
    }

    /// True if the list was had as a whole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.status == Status::Ok
    }

    /// How it ended in a word: `complete`, `list_incomplete`, or why nothing came of it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.status {
            Status::Ok => "complete",
            _ if self.servers > 0 => "list_incomplete",
            status => status.as_str(),
        }
    }
}

impl Engine {
    /// How the list servers have ended that have.
    #[must_use]
    pub fn lists(&self) -> &[ListEnd] {
        &self.ended_lists
    }

    /// Begins a list, if the flight asks a list server.
    pub(super) fn begin_list(&mut self, slot: Slot, now: Instant) -> bool {
        let Some(flight) = self.flights.get_mut(slot) else { return false };
        if flight.asked(&self.plans, &self.settings).0.lists().is_none() {
            return false;
        }
        flight.list = Some(Box::default());
        // What ends a list is silence or that it says nothing new; how long it is nobody knows.
        flight.budget = now + LONGEST_LIST;
        self.open_lists += 1;
        true
    }

    /// Ends a flight that asks a list server; false if it asks none.
    pub(super) fn end_list(&mut self, slot: Slot, status: Status) -> bool {
        let Some(flight) = self.flights.get_mut(slot) else { return false };
        let Flight { address, plan, origin, sent, received, .. } = *flight;
        let Some(found) = flight.list.take() else { return false };
        self.ended_lists.push(ListEnd {
            origin,
            status,
            servers: found.len() as u64,
            ragged: found.ragged(),
            sent: sent.into(),
            received: received.into(),
        });
        self.open_lists -= 1;
        self.flights.remove(slot);
        self.source.handle_ended(Target { address, plan, origin });
        self.awaiting = false;
        true
    }
}

/// A day, which no list takes.
const LONGEST_LIST: Duration = Duration::from_hours(24);
