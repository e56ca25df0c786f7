//! What became of the input: counts that change while the scan runs, and messages about what is not asked.

use std::sync::{Arc, Mutex, PoisonError};

use super::fetched::{FetchedEnd, FetchedEnds};
use crate::engine::Snapshot;
use crate::ledger;
use crate::target::{ExclusionReason, Tally};

/// What becomes of the input while a scan runs.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(super) tally: Arc<Mutex<Tally>>,
    /// Lines that could not be read before the scan.
    bad_lines: u64,
    /// Origins of the list servers.
    pub(super) list_servers: Vec<u32>,
    /// How the lists that threads fetch have ended.
    pub(super) fetched: FetchedEnds,
    /// What becomes of the names.
    pub(super) names: Arc<Mutex<ledger::Names>>,
    is_foreign: bool,
}

impl Account {
    pub(super) fn new(tally: Arc<Mutex<Tally>>, bad_lines: u64) -> Self {
        let (list_servers, fetched, names) = (Vec::new(), FetchedEnds::default(), Arc::default());
        Self { tally, bad_lines, list_servers, fetched, names, is_foreign: false }
    }

    /// The account of a source that the caller brought, which is not read here.
    #[must_use]
    pub(crate) fn foreign() -> Self {
        Self { is_foreign: true, ..Self::new(Arc::default(), 0) }
    }

    /// What became of everything that was read so far.
    #[must_use]
    pub(crate) fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message about addresses that nothing can be sent to, if there are any so far.
    #[must_use]
    pub(crate) fn why_unaskable(&self) -> Option<String> {
        let count = self.tally().invalid.saturating_sub(self.bad_lines);
        (count > 0).then(|| why_unaskable(count))
    }

    /// Origins of the list servers.
    #[must_use]
    pub(crate) fn list_servers(&self) -> &[u32] {
        &self.list_servers
    }

    /// How the lists that threads fetch have ended, or how far they have come.
    #[must_use]
    pub(crate) fn fetched_lists(&self) -> Vec<FetchedEnd> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What became of the names by now.
    #[must_use]
    pub(crate) fn names(&self) -> ledger::Names {
        let names = *self.names.lock().unwrap_or_else(PoisonError::into_inner);
        ledger::Names { unfinished: names.looked_up.saturating_sub(names.settled()), ..names }
    }

    /// The same, as the ledger has it of a run whose counters are `snapshot`.
    #[must_use]
    pub(crate) fn of_ledger(&self, snapshot: &Snapshot) -> ledger::Input {
        let Tally { read, invalid, duplicate, excluded } = self.tally();
        ledger::Input {
            // A source that the caller brought gives targets and says no more about them.
            read: if self.is_foreign { snapshot.targets.scheduled + snapshot.not_started } else { read },
            invalid,
            duplicate,
            excluded_reserved: excluded[ExclusionReason::Reserved],
            excluded_private: excluded[ExclusionReason::Private],
            excluded_listed: excluded[ExclusionReason::Listed],
            not_started: snapshot.not_started,
            printed: snapshot.printed,
        }
    }
}

/// What to say of addresses that nothing can be sent to.
pub(super) fn why_unaskable(count: u64) -> String {
    format!("{count} targets are addresses to which nothing can be sent (0.0.0.0, ::, 127.255.255.255)")
}

/// Why nothing was asked.
#[must_use]
pub(crate) fn why_nothing(tally: &Tally) -> String {
    format!("there is nothing to scan: {}", what_is_left_out(tally))
}

/// What of the input is not asked, and why.
#[must_use]
pub(crate) fn what_is_left_out(tally: &Tally) -> String {
    let Tally { read, invalid, duplicate, excluded } = tally;
    if *read == 0 {
        return "the input contains no targets".into();
    }
    let reasons = [
        (ExclusionReason::Reserved, "in reserved networks, such as those for documentation"),
        (ExclusionReason::Private, "private: add --include-private to ask them"),
        (ExclusionReason::Listed, "excluded by --exclude or --exclude-file"),
    ];
    let reasons = reasons.into_iter().filter(|(reason, _)| excluded[*reason] > 0);
    let reasons: Vec<_> = reasons.map(|(reason, why)| format!("; {} {why}", excluded[reason])).collect();
    let duplicate = if *duplicate > 0 { format!(", {duplicate} duplicate") } else { String::new() };
    format!("{read} read, {invalid} invalid{duplicate}{}", reasons.concat())
}
