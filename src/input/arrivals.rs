//! What arrives while a scan runs, and from where.

use crossbeam_channel::{Receiver, TryRecvError};

use super::names::Mention;
use crate::dns::Answer;
use crate::target::{IpRange, Ports, Target};

/// Something that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A target.
    Target(Target),
    /// A target that came as an argument.
    Typed(Target),
    /// Each of some addresses on each of some ports.
    Range {
        /// The addresses.
        hosts: IpRange,
        /// The ports.
        ports: Ports,
        /// What to ask: an index into the caller's plans.
        plan: u16,
        /// Who named them: an index into the caller's origins.
        origin: u32,
    },
    /// A mention of the name with this number; the first mention starts its lookup.
    Name(u32, Mention),
    /// Where the name with this number leads.
    Resolved(u32, Answer),
    /// A line that could not be read.
    Bad,
}

/// Where items come from.
pub(crate) enum Arrivals {
    /// Threads send them.
    Sent(Receiver<Item>),
    /// An iterator has them.
    Given(Box<dyn Iterator<Item = Item> + Send>),
}

impl Arrivals {
    /// What was sent and not taken. An iterator is not asked for more.
    pub(super) fn sent(self) -> impl Iterator<Item = Item> {
        let sent = match self {
            Self::Sent(items) => Some(items),
            Self::Given(_) => None,
        };
        sent.into_iter().flat_map(|items| {
            let waiting = items.len();
            items.into_iter().take(waiting)
        })
    }

    /// The next item: an error when none has arrived yet (`Empty`), or when there are no more.
    pub(super) fn next(&mut self) -> Result<Item, TryRecvError> {
        match self {
            Self::Sent(items) => items.try_recv(),
            Self::Given(items) => items.next().ok_or(TryRecvError::Disconnected),
        }
    }
}
