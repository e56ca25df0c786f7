//! How far the queries of one target are: what a protocol that can answer several of them keeps in its session.

use crate::record::{Query, QuerySet};

/// Which queries were answered and which were given up. They are asked one after the other, in the order of [`Query`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    answered: QuerySet,
    skipped: QuerySet,
}

impl Progress {
    /// The query that is to be asked, or is being asked; `None` when nothing is open.
    #[must_use]
    pub(crate) fn next(self, wanted: QuerySet) -> Option<Query> {
        wanted.iter().find(|query| self.is_open(*query, wanted))
    }

    /// The query that is being asked; after the last one, the first that stayed unanswered.
    #[must_use]
    pub(crate) fn asking(self, wanted: QuerySet) -> Query {
        let unanswered = || wanted.iter().find(|query| !self.answered.contains(*query));
        self.next(wanted).or_else(unanswered).unwrap_or_default()
    }

    /// True if `query` is wanted and neither answered nor given up.
    #[must_use]
    pub(crate) fn is_open(self, query: Query, wanted: QuerySet) -> bool {
        wanted.contains(query) && !self.answered.union(self.skipped).contains(query)
    }

    /// The queries that were answered.
    #[must_use]
    pub(crate) fn answered(self) -> QuerySet {
        self.answered
    }

    /// `query` was answered, early or late.
    pub(crate) fn answer(&mut self, query: Query) {
        self.answered = self.answered.with(query);
    }

    /// `query` is given up.
    pub(crate) fn skip(&mut self, query: Query) {
        self.skipped = self.skipped.with(query);
    }

    /// `query` is asked once more, if it was given up.
    pub(crate) fn reopen(&mut self, query: Query) {
        self.skipped = self.skipped.without(query);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_asked_in_their_order_and_each_once() {
        let wanted = QuerySet::of(Query::Rules).with(Query::Info).with(Query::Ping);
        let mut progress = Progress::default();
        assert_eq!(progress.next(wanted), Some(Query::Info));
        progress.answer(Query::Rules);
        progress.skip(Query::Info);
        assert_eq!((progress.next(wanted), progress.asking(wanted)), (Some(Query::Ping), Query::Ping));
        progress.answer(Query::Ping);
        assert_eq!((progress.next(wanted), progress.asking(wanted)), (None, Query::Info));
        progress.reopen(Query::Info);
        assert!(progress.is_open(Query::Info, wanted) && !progress.is_open(Query::Players, wanted));
    }
}
