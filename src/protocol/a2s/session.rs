//! What comes next: the order of the queries, the challenge in use, and what a silence means.

use std::time::Duration;

use super::split::Joined;
use crate::protocol::{Ignored, Next, Progress, Step};
use crate::record::{Query, QuerySet, Status};

/// How far the queries of a server are, and the challenge in use.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    pub(super) progress: Progress,
    pub(super) challenge: Option<[u8; 4]>,
    /// Different challenges in answer to the query that is being asked.
    rounds: u8,
    /// A challenge came although we had sent one: sending it back does not help.
    repeated: bool,
    forms: Forms,
    /// Info came, and its other form may follow.
    listening: bool,
    /// The server runs GoldSource, which answers few queries a second.
    gold_source: bool,
    /// The split reply that was put together last.
    pub(super) joined: Joined,
    last_resort: LastResort,
}

/// In which forms the info came.
#[derive(Debug, Clone, Copy, Default)]
struct Forms {
    /// `I`.
    new: bool,
    /// `m`.
    old: bool,
}

/// Whether a challenge was asked for with the query that does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LastResort {
    #[default]
    Unused,
    Asking,
    Used,
}

impl Session {
    /// The last resort is being tried.
    pub(super) fn asks_for_a_challenge_alone(&self) -> bool {
        self.last_resort == LastResort::Asking
    }

    /// An `I` came; its body begins with the number of its network protocol.
    pub(super) fn info_came(&mut self, wanted: QuerySet, protocol: Option<u8>) -> Step {
        if !wanted.contains(Query::Info) {
            return Step::Ignore(Ignored::Unsolicited);
        }
        if self.forms.new {
            return Step::Ignore(Ignored::Duplicate);
        }
        self.forms.new = true;
        self.gold_source |= protocol.is_some_and(|number| matches!(number, 47 | 48));
        let awaited = self.listening || self.progress.is_open(Query::Info, wanted);
        self.progress.answer(Query::Info);
        if !awaited {
            return Step::Answer(Next::Stay);
        }
        self.listening = self.gold_source && !self.forms.old;
        Step::Answer(if self.listening { Next::Listen(LISTEN) } else { self.go_on(wanted) })
    }

    /// An `m` came: alone, or beside an `I` before or after it.
    pub(super) fn details_came(&mut self, wanted: QuerySet) -> Step {
        if !wanted.contains(Query::Info) {
            return Step::Ignore(Ignored::Unsolicited);
        }
        if self.forms.old {
            return Step::Ignore(Ignored::Duplicate);
        }
        self.forms.old = true;
        self.gold_source = true;
        if self.progress.is_open(Query::Info, wanted) {
            self.progress.answer(Query::Info);
            self.listening = true;
            return Step::Answer(Next::Listen(LISTEN));
        }
        self.progress.answer(Query::Info);
        let both = std::mem::take(&mut self.listening);
        Step::Answer(if both { self.go_on(wanted) } else { Next::Stay })
    }

    /// The answer to any other query came, asked for or not: some servers send their players with the info.
    pub(super) fn list_came(&mut self, query: Query, wanted: QuerySet) -> Step {
        if !wanted.contains(query) {
            return Step::Ignore(Ignored::Unsolicited);
        }
        if self.progress.answered().contains(query) {
            return Step::Ignore(Ignored::Duplicate);
        }
        let awaited = !self.listening && self.progress.asking(wanted) == query;
        self.progress.answer(query);
        Step::Answer(if awaited { self.go_on(wanted) } else { Next::Stay })
    }

    /// A challenge came. One equal to that in use is a second answer to the first request: it is not answered, or two
    /// challenges would double every later datagram; if the answer was lost, the retry carries the challenge.
    pub(super) fn challenged(&mut self, challenge: [u8; 4], wanted: QuerySet) -> Step {
        if self.listening || (self.progress.asking(wanted) == Query::Ping && self.last_resort != LastResort::Asking) {
            // GoldSource servers send one that nobody asked for, after the info.
            return Step::Ignore(Ignored::Unsolicited);
        }
        self.repeated = self.challenge.is_some();
        if self.challenge == Some(challenge) {
            return Step::Ignore(Ignored::Duplicate);
        }
        if self.rounds == MAX_ROUNDS {
            let hopeless = self.progress.answered().is_empty();
            self.repeated = false;
            let status = Status::ChallengeLoop;
            return Step::Move(if hopeless { Next::Fail(status) } else { Next::Skip(status) });
        }
        self.challenge = Some(challenge);
        self.rounds += 1;
        if self.last_resort == LastResort::Asking {
            self.last_resort = LastResort::Used;
            self.progress.reopen(Query::Players);
            self.progress.reopen(Query::Rules);
            return Step::Move(self.go_on(wanted));
        }
        Step::Move(Next::Send)
    }

    pub(super) fn silence(&mut self, wanted: QuerySet) -> Next {
        if std::mem::take(&mut self.listening) {
            return self.go_on(wanted);
        }
        if std::mem::take(&mut self.repeated) {
            return Next::Skip(Status::ChallengeOnly);
        }
        if self.last_resort == LastResort::Asking {
            return Next::Finish;
        }
        self.progress.skip(self.progress.asking(wanted));
        self.go_on(wanted)
    }

    /// How it goes on with the next query that is open.
    fn go_on(&mut self, wanted: QuerySet) -> Next {
        self.rounds = 0;
        self.repeated = false;
        let Some(asking) = self.progress.next(wanted) else { return self.resort(wanted) };
        // A server that has said nothing to one query hardly answers another, and few answer pings.
        let gamble = self.progress.answered().is_empty() || (asking == Query::Ping && wanted.len() > 1);
        if self.gold_source {
            Next::SendAfter(GOLD_SOURCE_GAP)
        } else if gamble {
            Next::SendOnce
        } else {
            Next::Send
        }
    }

    /// Asks for a challenge alone if the server answers, but not what needs a challenge: a few old games want it so.
    fn resort(&mut self, wanted: QuerySet) -> Next {
        let challenged = QuerySet::of(Query::Players).with(Query::Rules);
        let missing =
            challenged.iter().any(|query| wanted.contains(query) && !self.progress.answered().contains(query));
        let untried = self.last_resort == LastResort::Unused && self.challenge.is_none();
        if missing && untried && !self.progress.answered().is_empty() {
            self.last_resort = LastResort::Asking;
            return Next::SendOnce;
        }
        Next::Finish
    }
}

/// Most different challenges that are answered in one query; servers with two rounds exist (Rust, behind proxies).
const MAX_ROUNDS: u8 = 4;
/// How long the other form of the info is awaited.
pub(super) const LISTEN: Duration = Duration::from_millis(250);
/// Between an answer of a GoldSource server and the next query. It answers three a second at the least setting, and
/// challenges count.
pub(super) const GOLD_SOURCE_GAP: Duration = Duration::from_millis(500);
