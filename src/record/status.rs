//! How a target ended, how each of its queries ended, and which queries there are.

use std::fmt;
use std::str::FromStr;

/// How a target ended. Every target that was asked has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Status {
    /// Every query that counts was answered.
    Ok,
    /// At least one query was answered and at least one was not.
    Partial,
    /// Nothing came.
    Timeout,
    /// ICMP port unreachable: the host is there, the port is closed.
    Refused,
    /// ICMP said that the host or network cannot be reached, and nothing else came.
    Unreachable,
    /// The server gave nothing but challenges, also when they were sent back.
    ChallengeOnly,
    /// The server answered each challenge with another one.
    ChallengeLoop,
    /// The server said that we are banned.
    Banned,
    /// Only datagrams came that cannot be decoded.
    Malformed,
    /// Pieces of a split reply came, but not all of them.
    SplitIncomplete,
    /// A split reply was complete, but its checksum or compression was wrong.
    SplitCorrupt,
    /// The operating system refused to send.
    SendError,
    /// The name could not be resolved.
    Unresolved,
    /// Asked, and not finished when the run stopped.
    Aborted,
}

impl Status {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, in order of their number.
    pub const ALL: [Self; 14] = [
        Self::Ok,
        Self::Partial,
        Self::Timeout,
        Self::Refused,
        Self::Unreachable,
        Self::ChallengeOnly,
        Self::ChallengeLoop,
        Self::Banned,
        Self::Malformed,
        Self::SplitIncomplete,
        Self::SplitCorrupt,
        Self::SendError,
        Self::Unresolved,
        Self::Aborted,
    ];

    /// How much it says about a query without an answer: of two reasons the stronger one is kept.
    #[must_use]
    pub(crate) const fn strength(self) -> u8 {
        match self {
            Self::Unreachable => 1,
            Self::Malformed => 2,
            Self::SplitIncomplete => 3,
            Self::SplitCorrupt => 4,
            Self::ChallengeOnly => 5,
            Self::ChallengeLoop => 6,
            Self::Banned => 7,
            _ => 0,
        }
    }

    /// What it says, in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "everything that was asked was answered (but for a ping, which few answer)",
            Self::Partial => "at least one query was answered and at least one was not: see their own columns",
            Self::Timeout => "nothing came",
            Self::Refused => "ICMP port unreachable: the host is there, the port is closed",
            Self::Unreachable => "ICMP said that the host or network cannot be reached",
            Self::ChallengeOnly => "the server gave nothing but challenges, also when they were sent back",
            Self::ChallengeLoop => "the server answered each challenge with another one",
            Self::Banned => "the server said that we are banned",
            Self::Malformed => "only datagrams came that cannot be decoded",
            Self::SplitIncomplete => "pieces of a split reply came, but not all of them",
            Self::SplitCorrupt => "a split reply was complete, but its checksum or compression was wrong",
            Self::SendError => "the operating system refused to send: see error",
            Self::Unresolved => "the name has no address",
            Self::Aborted => "asked, and not finished when the run stopped",
        }
    }

    /// The word that stands in the outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::ChallengeOnly => "challenge_only",
            Self::ChallengeLoop => "challenge_loop",
            Self::Banned => "banned",
            Self::Malformed => "malformed",
            Self::SplitIncomplete => "split_incomplete",
            Self::SplitCorrupt => "split_corrupt",
            Self::SendError => "send_error",
            Self::Unresolved => "unresolved",
            Self::Aborted => "aborted",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How one query of a target ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryStatus {
    /// It was not asked.
    NotAsked,
    /// It was answered.
    Ok,
    /// It was asked and not answered, for this reason.
    Failed(Status),
}

impl QueryStatus {
    /// The word that stands in the outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAsked => "none",
            Self::Ok => "ok",
            Self::Failed(status) => status.as_str(),
        }
    }
}

/// What can be asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
#[non_exhaustive]
pub enum Query {
    /// Name, map, counts.
    #[default]
    Info,
    /// Who plays.
    Players,
    /// Settings.
    Rules,
    /// Nothing but an answer.
    Ping,
}

impl Query {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, in order of their number.
    pub const ALL: [Self; 4] = [Self::Info, Self::Players, Self::Rules, Self::Ping];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Players => "players",
            Self::Rules => "rules",
            Self::Ping => "ping",
        }
    }
}

/// A set of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuerySet(u8);

impl fmt::Display for QuerySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, query) in self.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { "," }, query.as_str())?;
        }
        Ok(())
    }
}

impl FromStr for QuerySet {
    type Err = UnknownQuery;

    /// Reads what [`Display`](fmt::Display) writes, or `all`.
    fn from_str(text: &str) -> Result<Self, UnknownQuery> {
        if text.trim() == "all" {
            return Ok(Self::ALL);
        }
        text.split(',').map(str::trim).try_fold(Self::NONE, |set, word| {
            let query = Query::ALL.into_iter().find(|query| query.as_str() == word);
            query.map(|query| set.with(query)).ok_or_else(|| UnknownQuery(word.into()))
        })
    }
}

/// A word that names no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no query: write info, players, rules, ping or all")]
pub struct UnknownQuery(Box<str>);

impl QuerySet {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The set of one query.
    #[must_use]
    pub const fn of(query: Query) -> Self {
        Self(1 << query as u8)
    }

    /// This set with `query`.
    #[must_use]
    pub const fn with(self, query: Query) -> Self {
        Self(self.0 | 1 << query as u8)
    }

    /// The set of all queries.
    pub const ALL: Self = Self((1 << Query::COUNT) - 1);

    /// This set without `query`.
    #[must_use]
    pub const fn without(self, query: Query) -> Self {
        Self(self.0 & !(1 << query as u8))
    }

    /// This set with everything in `other`.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is both in this set and in `other`.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True when there is none in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many are in it.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The queries of the set, in their order.
    pub fn iter(self) -> impl Iterator<Item = Query> {
        Query::ALL.into_iter().filter(move |query| self.contains(*query))
    }

    /// True when `query` is in the set.
    #[must_use]
    pub const fn contains(self, query: Query) -> bool {
        self.0 & (1 << query as u8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbered_in_the_order_of_their_list() {
        for (i, status) in Status::ALL.iter().enumerate() {
            assert_eq!(*status as usize, i, "{status}");
        }
        for (i, query) in Query::ALL.iter().enumerate() {
            assert_eq!(*query as usize, i);
        }
    }

    #[test]
    fn a_query_set_holds_what_was_put_in() {
        let set = QuerySet::of(Query::Info).with(Query::Ping);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Query::Info, Query::Ping]);
        assert_eq!(set.without(Query::Ping), QuerySet::of(Query::Info));
        assert_eq!((QuerySet::NONE.union(set), QuerySet::ALL.len()), (set, Query::COUNT));
        assert_eq!(set.intersection(QuerySet::ALL.without(Query::Info)), QuerySet::of(Query::Ping));
        assert!(QuerySet::NONE.is_empty() && !set.is_empty());
        assert_eq!((set.to_string().as_str(), "info, ping".parse()), ("info,ping", Ok(set)));
        assert_eq!("all".parse(), Ok(QuerySet::ALL));
        assert!("".parse::<QuerySet>().is_err() && "info,names".parse::<QuerySet>().is_err());
    }
}
