//! Lists that threads fetch, as a part of the stream of targets.

use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, TryRecvError};

use crate::list::{Entry, Item};
use crate::output::ListReport;
use crate::target::{Origin, Origins, Target};

/// A list that a thread fetches.
#[derive(Debug)]
pub(crate) struct Fetched {
    items: Receiver<Item>,
    plan: u16,
    source: Arc<str>,
    /// Origin of servers about which the list says nothing.
    origin: u32,
    origins: Origins,
    /// It may name servers on loopback: it is there too.
    loopback: bool,
    /// Its place in `ends`.
    number: usize,
    ends: FetchedEnds,
}

/// How fetched lists have ended, or how far they have come; clones are the same.
pub(crate) type FetchedEnds = Arc<Mutex<Vec<FetchedEnd>>>;

/// How a fetched list has ended, or how far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchedEnd {
    /// Its name.
    pub source: Arc<str>,
    /// Servers that it named, with those that it named again.
    pub servers: u64,
    /// Questions that it took.
    pub questions: u64,
    /// Rows of the answers that could not be read.
    pub odd_rows: u64,
    /// It has ended; otherwise the run did first.
    pub ended: bool,
    /// Why it was not had as a whole, if it was not.
    pub problem: Option<String>,
}

impl FetchedEnd {
    /// The same for the account of a run.
    #[must_use]
    pub(crate) fn report(&self) -> ListReport {
        let Self { source, servers, questions, odd_rows, ended, problem } = self;
        ListReport {
            list: source.to_string(),
            outcome: match problem {
                None => "complete",
                Some(_) if *servers > 0 => "list_incomplete",
                Some(_) if *ended => "failed",
                Some(_) => "aborted",
            },
            servers: *servers,
            questions: Some(*questions),
            complete: problem.is_none(),
            problem: problem.clone(),
            ragged: 0,
            odd_rows: *odd_rows,
        }
    }
}

impl Fetched {
    /// The list `source`, whose `items` become targets of `plan` with origins in `origins`. How far it has come stands in
    /// `ends` from now on: also if the run ends first, nobody forgets it.
    #[must_use]
    pub(crate) fn new(
        items: Receiver<Item>,
        source: Arc<str>,
        plan: u16,
        origins: &Origins,
        ends: &FetchedEnds,
    ) -> Self {
        let origin = origins.add(Origin { source: Some(Arc::clone(&source)), ..Origin::default() });
        let mut all = ends.lock().unwrap_or_else(PoisonError::into_inner);
        let problem = Some("the run ended before the list did".into());
        all.push(FetchedEnd {
            source: Arc::clone(&source),
            servers: 0,
            questions: 0,
            odd_rows: 0,
            ended: false,
            problem,
        });
        let number = all.len() - 1;
        Self { items, plan, source, origin, origins: origins.clone(), loopback: false, number, ends: Arc::clone(ends) }
    }

    /// The same list, which may name servers on `loopback` or not.
    #[must_use]
    pub(crate) fn with_loopback(self, loopback: bool) -> Self {
        Self { loopback, ..self }
    }

    pub(super) fn has_loopback(&self) -> bool {
        self.loopback
    }

    /// The next server that has come: an error when none has yet (`Empty`), or when there are no more.
    pub(super) fn next(&mut self) -> Result<Target, TryRecvError> {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let end = &mut ends[self.number];
        // Bounded: between two questions somebody waits.
        let problem = loop {
            match self.items.try_recv() {
                Ok(Item::Entry(entry)) => {
                    end.servers += 1;
                    return Ok(self.target(entry));
                }
                Ok(Item::Asked { odd_rows }) => {
                    end.questions += 1;
                    end.odd_rows += odd_rows;
                }
                Err(TryRecvError::Empty) => return Err(TryRecvError::Empty),
                Ok(Item::Complete) => break None,
                Ok(Item::Incomplete(problem)) => break Some(problem),
                Err(TryRecvError::Disconnected) => break Some("it broke off".into()),
            }
        };
        end.problem = problem;
        end.ended = true;
        Err(TryRecvError::Disconnected)
    }

    /// Gives up what was kept of `target`, which is not asked.
    pub(super) fn forget(&self, target: Target) {
        let _ = self.origins.take(target.origin);
    }

    fn target(&self, Entry { address, facts }: Entry) -> Target {
        let source = || Some(Arc::clone(&self.source));
        let origin = facts.map(|facts| self.origins.add(Origin { text: None, source: source(), facts: Some(facts) }));
        Target { address, plan: self.plan, origin: origin.unwrap_or(self.origin) }
    }
}
