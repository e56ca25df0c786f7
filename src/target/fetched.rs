//! Lists that threads fetch, as a part of the stream of targets.

use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, TryRecvError};

use super::{Origin, Origins, Target};
use crate::list::{Entry, Item};

/// A list that a thread fetches.
#[derive(Debug)]
pub struct Fetched {
    items: Receiver<Item>,
    plan: u16,
    source: Arc<str>,
    /// Origin of servers about which the list says nothing.
    origin: u32,
    origins: Origins,
    servers: u64,
    ends: FetchedEnds,
}

/// How fetched lists have ended; clones are the same.
pub type FetchedEnds = Arc<Mutex<Vec<FetchedEnd>>>;

/// How a fetched list has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedEnd {
    /// Its name.
    pub source: Arc<str>,
    /// Servers that it named, with those that it named again.
    pub servers: u64,
    /// Why it was not had as a whole, if it was not.
    pub problem: Option<String>,
}

impl Fetched {
    /// The list `source`, whose `items` become targets of `plan` with origins in `origins`. Its end is added to `ends`.
    #[must_use]
    pub fn new(items: Receiver<Item>, source: Arc<str>, plan: u16, origins: &Origins, ends: &FetchedEnds) -> Self {
        let origin = origins.add(Origin { source: Some(Arc::clone(&source)), ..Origin::default() });
        Self { items, plan, source, origin, origins: origins.clone(), servers: 0, ends: Arc::clone(ends) }
    }

    /// The next server that has come: an error when none has yet (`Empty`), or when there are no more.
    pub(super) fn next(&mut self) -> Result<Target, TryRecvError> {
        let problem = match self.items.try_recv() {
            Ok(Item::Entry(entry)) => return Ok(self.target(entry)),
            Err(TryRecvError::Empty) => return Err(TryRecvError::Empty),
            Ok(Item::Complete) => None,
            Ok(Item::Incomplete(problem)) => Some(problem),
            Err(TryRecvError::Disconnected) => Some("it broke off".into()),
        };
        let end = FetchedEnd { source: Arc::clone(&self.source), servers: self.servers, problem };
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push(end);
        Err(TryRecvError::Disconnected)
    }

    fn target(&mut self, Entry { address, facts }: Entry) -> Target {
        self.servers += 1;
        let source = || Some(Arc::clone(&self.source));
        let origin = facts.map(|facts| self.origins.add(Origin { text: None, source: source(), facts: Some(facts) }));
        Target { address, plan: self.plan, origin: origin.unwrap_or(self.origin) }
    }
}
