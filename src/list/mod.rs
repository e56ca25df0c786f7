//! Lists of servers that are fetched by a thread of their own, while the scan runs.
//!
//! Such a thread sends an [`Item`] for each server as soon as it is known, and how the list ended last; the scan takes servers
//! in as they come. A channel that nobody takes from any more means that the scan is over. List servers that are asked
//! over UDP are protocols instead (`valve_master` and its neighbours): the engine asks them.

pub(crate) mod steam_api;

use std::net::SocketAddr;
use std::sync::Arc;

use crossbeam_channel::Sender;

use crate::record::ListFacts;

/// What the thread of a list sends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// A server; the same one may come again.
    Entry(Entry),
    /// A question was asked, and so many rows of the answer could not be read.
    Asked {
        /// Rows that could not be read.
        odd_rows: u64,
    },
    /// The list is over, and was had as a whole. The last item.
    Complete,
    /// It was not had as a whole, and this is why: half a sentence for a person, without secrets. The last item.
    Incomplete(String),
}

/// A server that a list names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Where it is to be asked.
    pub address: SocketAddr,
    /// What the list says about it, if it says anything.
    pub facts: Option<Arc<ListFacts>>,
}

/// Where the items of one list go. Sending blocks while the scan has enough to do, and fails when it is over.
pub(crate) type Items = Sender<Item>;
