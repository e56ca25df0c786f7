//! What becomes of names, whoever looked them up: counted, noted, and sent on.

use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::Sender;

use super::arrivals::Item;
use crate::dns::{Answer, Answered};
use crate::ledger;
use crate::net::resolver::Answers;
use crate::output::NameLog;
use crate::target::NameError;

/// Takes what becomes of names: counts it, notes it, and sends it on.
#[derive(Clone)]
pub(super) struct Outcomes {
    pub items: Sender<Item>,
    pub counts: Arc<Mutex<ledger::Names>>,
    pub log: Option<NameLog>,
}

impl Outcomes {
    /// Takes where a name leads; false if nobody wants to know any more.
    pub(super) fn take(&self, Answered { number, name, answer }: Answered) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *match &answer {
            Answer::Addresses(..) => &mut counts.found,
            Answer::Failed(NameError::NxDomain) => &mut counts.nxdomain,
            Answer::Failed(NameError::NoAddress) => &mut counts.no_address,
            Answer::Failed(NameError::Blocked) => &mut counts.blocked,
            Answer::Failed(NameError::ServerFailure) => &mut counts.server_failure,
            Answer::Failed(NameError::NoServer) => &mut counts.no_server,
            Answer::Failed(NameError::Silence | NameError::NotAsked) => &mut counts.silence,
        } += 1;
        drop(counts);
        if let Some(log) = &self.log {
            match &answer {
                Answer::Addresses(ips, port) => log.found(&name, ips, *port),
                Answer::Failed(error) => log.failed(&name, *error),
            }
        }
        self.items.send(Item::Resolved(number, answer)).is_ok()
    }
}

impl Answers for Outcomes {
    fn count(&mut self, queries: ledger::NameQueries) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).queries = queries;
    }

    fn take(&mut self, answered: Answered) -> bool {
        Outcomes::take(self, answered)
    }
}
