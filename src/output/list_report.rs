//! How the lists of a run have ended, for its metadata and for a person.

use std::fmt;

use serde::Serialize;

use crate::engine::ListEnd;
use crate::target::Origins;

/// How one list has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListReport {
    /// Its name: what was typed.
    pub list: String,
    /// `complete`; `list_incomplete`, if it was not had as a whole; or why nothing came of it, as a status of targets.
    pub outcome: &'static str,
    /// Servers that it named: different ones, but for lists that were fetched over HTTP.
    pub servers: u64,
    /// Questions that it took, if it was fetched over HTTP.
    pub questions: Option<u64>,
    /// It was had as a whole.
    pub complete: bool,
    /// Why not, if more can be said.
    pub problem: Option<String>,
    /// Datagrams that ended within an entry, whose rest was left out.
    pub ragged: u32,
    /// Rows of answers over HTTP that could not be read.
    pub odd_rows: u64,
}

impl ListReport {
    /// How the list server whose origin is among `origins` ended.
    #[must_use]
    pub(crate) fn asked(end: &ListEnd, origins: &Origins) -> Self {
        Self {
            list: origins.find(end.origin).and_then(|origin| origin.source).unwrap_or_default().to_string(),
            outcome: end.word(),
            servers: end.servers,
            questions: None,
            complete: end.is_complete(),
            problem: end.is_cut.then(|| "it names more servers than are taken from one list".to_owned()),
            ragged: end.ragged,
            odd_rows: 0,
        }
    }
}

impl fmt::Display for ListReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, outcome, servers, questions, problem, ragged, odd_rows, .. } = self;
        // A name may end in a colon itself.
        write!(f, "list {}: {outcome}, {}", list.trim_end_matches(':'), count(*servers, "server"))?;
        if let Some(questions) = questions {
            write!(f, ", {}", count(*questions, "question"))?;
        }
        if *ragged > 0 {
            write!(f, ", {} with a ragged end", count((*ragged).into(), "datagram"))?;
        }
        if *odd_rows > 0 {
            write!(f, ", {} that cannot be read", count(*odd_rows, "row"))?;
        }
        problem.as_ref().map_or(Ok(()), |problem| write!(f, ": {problem}"))
    }
}

/// A number of things.
#[must_use]
pub(crate) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_sentence_with_each_number_once() {
        let whole = ListReport {
            list: "steam-api:".into(),
            outcome: "complete",
            servers: 1,
            questions: Some(24),
            complete: true,
            problem: None,
            ragged: 0,
            odd_rows: 1,
        };
        let expected = "list steam-api: complete, 1 server, 24 questions, 1 row that cannot be read";
        assert_eq!(whole.to_string(), expected);
        let broken = ListReport {
            list: "valve-master://192.0.2.1".into(),
            outcome: "list_incomplete",
            servers: 2,
            questions: None,
            complete: false,
            problem: Some("why".into()),
            ragged: 1,
            odd_rows: 0,
        };
        let expected = "list valve-master://192.0.2.1: list_incomplete, 2 servers, 1 datagram with a ragged end: why";
        assert_eq!(broken.to_string(), expected);
    }
}
