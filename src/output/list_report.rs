//! How the lists of a run have ended, for its metadata and for a person.

use std::fmt;
use std::sync::PoisonError;

use serde::Serialize;

use crate::engine::ListEnd;
use crate::target::{FetchedEnd, FetchedEnds, Origins};

/// How one list has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListReport {
    /// Its name: what was typed.
    pub list: String,
    /// `complete`; `list_incomplete`, if it was not had as a whole; or why nothing came of it, as a status of targets.
    pub outcome: &'static str,
    /// Servers that it named: different ones, but for lists that were fetched over HTTP.
    pub servers: u64,
    /// It was had as a whole.
    pub complete: bool,
    /// Why not, if more can be said.
    pub problem: Option<String>,
    /// Datagrams that ended within an entry, whose rest was left out.
    pub ragged: u32,
}

impl ListReport {
    /// The reports of all lists: those that were asked and those that were fetched.
    #[must_use]
    pub fn all(asked: &[ListEnd], fetched: &FetchedEnds, origins: &Origins) -> Vec<Self> {
        let asked = asked.iter().map(|end| Self {
            list: origins.find(end.origin).and_then(|origin| origin.source).unwrap_or_default().to_string(),
            outcome: end.word(),
            servers: end.servers,
            complete: end.is_complete(),
            problem: end.is_cut.then(|| "it names more servers than are taken from one list".to_owned()),
            ragged: end.ragged,
        });
        let fetched = fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let fetched = fetched.iter().map(|FetchedEnd { source, servers, problem }| Self {
            list: source.to_string(),
            outcome: if problem.is_none() { "complete" } else { "list_incomplete" },
            servers: *servers,
            complete: problem.is_none(),
            problem: problem.clone(),
            ragged: 0,
        });
        asked.chain(fetched).collect()
    }
}

impl fmt::Display for ListReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, outcome, servers, problem, ragged, .. } = self;
        write!(f, "list {list}: {outcome}, {servers} servers")?;
        if *ragged > 0 {
            write!(f, ", {ragged} datagrams with a ragged end")?;
        }
        problem.as_ref().map_or(Ok(()), |problem| write!(f, ": {problem}"))
    }
}
