//! What is under way: lookups, their questions in flight, and what passes in and out of the resolver.

use std::net::SocketAddr;
use std::time::Instant;

use super::answer::Answer;
use super::course::Course;
use crate::target::NameError;

/// The way of a datagram: a server, and one of the source ports that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Way {
    /// Number of the server in the configuration.
    pub(crate) server: u8,
    /// Number of the socket, below `SOURCE_PORTS`.
    pub(crate) socket: u8,
}

/// A question to be asked over TCP.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Connect {
    /// What the stream is called from now on.
    pub(crate) stream: u64,
    /// Where to connect to.
    pub(crate) to: SocketAddr,
    /// The message, without its length.
    pub(crate) message: Vec<u8>,
}

/// A lookup that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// As it was given.
    pub(crate) number: u32,
    /// As it was given.
    pub(crate) name: Box<str>,
    /// Where it leads.
    pub(crate) answer: Answer,
}

#[derive(Debug)]
pub(super) struct Lookup {
    pub number: u32,
    pub course: Course,
    pub state: State,
    /// Tries of the question so far.
    pub tries: u32,
    /// Those of them that a server failed to answer.
    pub failures: u32,
    /// The server that was asked last.
    pub server: Option<u8>,
    /// What the tries came to that failed.
    pub failure: NameError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// In a queue.
    Queued,
    /// Its question is in flight, until then.
    Flying(Way, u16, Instant),
    /// It is asked again then.
    Waiting,
    /// Its question is under way over TCP, until then.
    Stream(u64, Instant),
}

#[derive(Debug)]
pub(super) struct Flight {
    pub asked: Asked,
    pub sent: Instant,
    pub is_repetition: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Asked {
    Lookup(usize),
    /// Until then.
    Probe(Instant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    Lookup(usize),
    Probe(Way, u16),
}
