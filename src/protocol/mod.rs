//! The seam between bytes and everything else: what a query protocol is, and the registry of those there are.
//!
//! A protocol knows no socket and no clock. It writes requests, looks at datagrams, says what comes next, decodes what
//! was kept, and answers as a simulated server would. The engine decides when something is sent, and how often.
//!
//! The registry is in the order in which `--protocol auto` tries what it lists.
//!
//! Adding a protocol touches one new file (a module with a type `Dialect` that implements `Protocol`, and a static
//! `DIALECTS` that lists its variants) and one word in `registry!` below. The command line, the farm, the benches and
//! the conformance tests derive from the registry.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::record::{Query, QuerySet, ServerRecord, Status};
use crate::rng::AddressHasher;
use crate::wire::DecodeError;

#[macro_use]
mod registry;

#[cfg(test)]
mod conformance;
mod fields;
mod found;
pub(crate) mod master;
pub(crate) mod persona;
mod progress;
pub(crate) mod replies;
mod short_text;
pub(crate) mod valve_filter;

pub use fields::{Dissection, Field};
pub use found::Found;

pub(crate) use master::{Roll, Style};
pub(crate) use persona::{GameEngine, Manner, Persona};
pub(crate) use replies::Replies;

use fields::{Fields, Scribe, Shown};
use progress::Progress;
use short_text::ShortText;

registry! {
    a2s,
    quake3,
    minecraft,
    bedrock,
    hl1,
    valve_master,
    hl1_master,
    quake3_master,
    #[cfg(test)]
    probe,
}

/// A query protocol: requests, answers, decoding, and the simulated server's side.
pub(crate) trait Protocol: Sync {
    /// What one query remembers between datagrams: stage, challenge or token, paging cursor.
    type Session: Copy + Default + Send + fmt::Debug;

    /// Name, default port and the columns it can fill.
    fn spec(&self) -> &'static Spec;

    /// The protocol of the servers that are listed, if whom this one asks are list servers. What they name goes to `found`;
    /// there are no answers to keep, and `--list-rate` is the pace.
    fn lists(&self) -> Option<&'static str> {
        None
    }

    /// Checks the part of a list's URL behind `?`; the error says what to write instead.
    fn check_parameters(&self, _text: &str) -> Result<(), String> {
        Ok(())
    }

    /// Least gaps between two datagrams that this protocol's servers put up with.
    fn pace(&self) -> Pace {
        Pace::default()
    }

    /// The service, as in `_name._tcp`, whose SRV record in DNS says host and port of a server that is named without one.
    fn service(&self) -> Option<&'static str> {
        None
    }

    /// The queries that it has; others are not asked of its servers.
    fn queries(&self) -> QuerySet {
        QuerySet::ALL
    }

    /// Appends the datagram of the current step to `out`: the first one, a retry, the next step.
    fn request(&self, session: &Self::Session, ask: &Ask<'_>, out: &mut Vec<u8>);

    /// Looks at a datagram from the server that was asked, or at a message that [`Protocol::join`] put together.
    ///
    /// An error means that it cannot be a message of this protocol; it is counted and the wait goes on.
    fn receive(
        &self,
        session: &mut Self::Session,
        ask: &Ask<'_>,
        data: &[u8],
        found: &mut Found,
    ) -> Result<Step, DecodeError>;

    /// The queries that are being asked: those that fail when nothing comes, or nothing good. One request may ask several.
    fn asking(&self, _session: &Self::Session, _ask: &Ask<'_>) -> QuerySet {
        QuerySet::of(Query::Info)
    }

    /// Says how to go on when every try of a step stayed unanswered, a [`Next::Listen`] is over, or the query was skipped.
    fn silence(&self, _session: &mut Self::Session, _ask: &Ask<'_>) -> Next {
        Next::Finish
    }

    /// Puts the pieces that came so far (in order of arrival, each with its header) together in `whole`, which is empty.
    ///
    /// Protocols that never return [`Step::Part`] are never asked.
    fn join(&self, _session: &mut Self::Session, _parts: &[&[u8]], _whole: &mut Vec<u8>) -> Join {
        Join::Corrupt
    }

    /// Fills `record` from the answers that were kept, in order of arrival, behind which stand the pieces of replies that
    /// never became whole. Pure; runs on the writer thread.
    fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord);

    /// Takes one datagram, a request too, or a joined message apart for a person. `others` are the pieces that its server
    /// sent before: one may say how to read the next. What was read before an error stays in `notes`.
    fn dissect(&self, data: &[u8], others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError>;

    /// Answers `request` as the server `persona` would; pushes nothing if the request is none of this protocol's.
    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies);

    /// Answers `request` as a list server with `roll` would; pushes nothing if this is no protocol of list servers.
    fn serve_list(&self, _roll: &Roll<'_>, _request: &[u8], _replies: &mut Replies) {}

    /// Answers `request`, if it is one of this protocol's, with those of the `recorded` datagrams of a server that answer
    /// it, and with the token of the request in place of the recorded one.
    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies);
}

/// What is fixed about a protocol.
#[derive(Debug)]
#[non_exhaustive]
pub struct Spec {
    /// The word that selects it on the command line and stands in the `protocol` column.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// What it is, in half a sentence.
    pub summary: &'static str,
    /// Port of targets that name none.
    pub default_port: u16,
    /// Columns that [`AnyProtocol::decode`] may fill.
    pub columns: &'static [&'static str],
    /// Its part in `--protocol auto`.
    pub auto: Auto,
}

/// What a protocol has to do with servers of which nobody says what they speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auto {
    /// They are asked in it.
    Tried,
    /// Those that speak it are found by another variant, which names them as what they are.
    FoundByAnother,
    /// They are not looked for.
    Never,
}

/// Least gaps between two datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pace {
    /// To one server (address and port).
    pub server: Duration,
    /// To one host (address).
    pub host: Duration,
}

/// What is asked, and of whom.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The queries that are wanted.
    pub queries: QuerySet,
    /// The server.
    pub address: SocketAddr,
    /// The part of the target's URL behind `?`.
    pub parameters: &'a str,
    /// The run's key for nonces.
    pub key: AddressHasher,
}

impl Ask<'static> {
    /// What is asked of a server whose answers come from a file: everything.
    #[must_use]
    pub const fn offline() -> Self {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { queries: QuerySet::ALL, address, parameters: "", key: AddressHasher::new(0) }
    }
}

impl Ask<'_> {
    /// A number that only we and whoever receives our datagrams can know: a keyed hash of the address. Where a protocol
    /// lets the client choose a token that comes back, an answer without this one is spoofed.
    #[must_use]
    pub fn nonce(&self) -> u64 {
        self.key.socket(&self.address)
    }
}

/// What a datagram means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Not for this query; the class is counted and the wait goes on.
    Ignore(Ignored),
    /// A piece of a message. It is kept, and [`AnyProtocol::join`] looks at all pieces of this flight; the message that
    /// it puts together is then received like a datagram.
    Part,
    /// A whole answer: kept for [`AnyProtocol::decode`].
    Answer(Next),
    /// Nothing to keep: a challenge, a token.
    Move(Next),
}

/// Why a datagram was ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// An answer to an earlier step.
    Late,
    /// The same again.
    Duplicate,
    /// Without the token that it must carry.
    Spoofed,
    /// Nothing that was asked for.
    Unsolicited,
}

/// How a query goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send the next step's request now.
    Send,
    /// Send it once, without a second try: it is hardly going to be answered.
    SendOnce,
    /// Send it after a while.
    SendAfter(Duration),
    /// Send nothing and wait for more, then ask [`AnyProtocol::silence`].
    Listen(Duration),
    /// Nothing changes: what was awaited is still awaited.
    Stay,
    /// The current query has failed, and this is why; [`AnyProtocol::silence`] says how to go on.
    Skip(Status),
    /// Done. Without a kept answer the engine names the reason (a time-out, or what came instead).
    Finish,
    /// Done, and this is why there is no answer, or no further one.
    Fail(Status),
}

/// What came of putting pieces together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Pieces are missing.
    More,
    /// The message is whole.
    Whole,
    /// All pieces came, and they do not make a message.
    Corrupt,
}

/// Those that are tried where nobody says which protocol a server speaks, the likeliest first.
pub fn in_auto() -> impl Iterator<Item = AnyProtocol> {
    all().filter(|protocol| protocol.spec().auto == Auto::Tried)
}

/// Finds the dialect that `name` or an alias selects.
#[must_use]
pub fn by_name(name: &str) -> Option<AnyProtocol> {
    all().find(|protocol| protocol.is_called(name))
}

/// Every dialect of the protocols that ask the servers themselves.
pub fn of_servers() -> impl Iterator<Item = AnyProtocol> {
    all().filter(|protocol| protocol.lists().is_none())
}

/// Every dialect of the protocols that ask list servers.
pub fn of_lists() -> impl Iterator<Item = AnyProtocol> {
    all().filter(|protocol| protocol.lists().is_some())
}

impl AnyProtocol {
    /// True if `name` is its name or an alias.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let Spec { name: own, aliases, .. } = self.spec();
        own.eq_ignore_ascii_case(name) || aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// What is asked of a server when `wanted` is: the queries that the protocol has, or info if it has none of them.
    #[must_use]
    pub fn asked(&self, wanted: QuerySet) -> QuerySet {
        let asked = wanted.intersection(self.queries());
        if asked.is_empty() { QuerySet::of(Query::Info) } else { asked }
    }
}

impl fmt::Debug for AnyProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec().name)
    }
}

impl PartialEq for AnyProtocol {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.spec(), other.spec())
    }
}
