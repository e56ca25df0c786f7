//! Quake III Arena's server queries, as its many descendants answer them, and as FiveM does.
//!
//! ```text
//! request   FF FF FF FF "getinfo " token      reply   FF FF FF FF "infoResponse" 0A (\key\value)*
//!           FF FF FF FF "getstatus"                   FF FF FF FF "statusResponse" 0A (\key\value)* 0A (player 0A)*
//!                                                     FF FF FF FF "print" 0A text           a message for the console
//! ```
//!
//! `getinfo` asks for what a server browser shows, and is the ping as well: it is what clients of these games measure.
//! `getstatus` asks for the players and, as the rules, for the server's variables, both at once. The token comes back under
//! the key `challenge`; it is eight characters long, because FiveM is silent to longer ones, and to a `getstatus` that
//! ends with a NUL. Servers count what an address asks, of both kinds together, and answer one request a second (of
//! DarkPlaces, the second of two at once is lost): hence [`Protocol::pace`]. Silence on `getstatus` is normal, since
//! FiveM has it switched off by default.
//!
//! Source: the engines' sources (`SVC_Info` and `SVC_Status` of ioquake3, FiveM's `GetInfoOutOfBand.h`), and captures of
//! OpenArena, Nexuiz, Warsow, Call of Duty 4 and FiveM.

use std::time::Duration;

use crate::record::{Query, QuerySet, QueryStatus, ServerRecord};
use crate::wire::{DecodeError, Problem, Reader};

use super::{
    Ask, Auto, Dissection, Fields, Found, Ignored, Next, Pace, Persona, Progress, Protocol, Replies, ShortText, Spec,
    Step, a2s,
};

mod facts;
mod message;
mod serve;

use facts::Facts;
use message::{Entry, Word};

/// A variant of the protocol: another default port, and another layout of what the simulated servers send. All variants
/// are asked and read alike.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
    layout: serve::Layout,
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[
    Dialect {
        spec: &Spec {
            name: "quake3",
            aliases: &["q3", "ioquake3", "darkplaces"],
            summary: "Quake III Arena and its descendants: OpenArena, Xonotic, Call of Duty 4 and many more",
            default_port: 27_960,
            auto: Auto::Tried,
            columns: COLUMNS,
        },
        layout: serve::Layout::Quake,
    },
    Dialect {
        spec: &Spec {
            name: FIVEM,
            aliases: &["cfx", "redm"],
            summary: "FiveM and RedM: the same queries",
            default_port: 30_120,
            auto: Auto::FoundByAnother,
            columns: COLUMNS,
        },
        layout: serve::Layout::FiveM,
    },
];

/// What stands in the rows of FiveM's servers, whichever variant asked them.
const FIVEM: &str = "fivem";

/// How far the queries of a server are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    progress: Progress,
}

/// What a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Info,
    Status,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn pace(&self) -> Pace {
        Pace { server: GAP, host: GAP }
    }

    fn asking(&self, session: &Session, ask: &Ask<'_>) -> QuerySet {
        session.asking(ask.queries).queries(ask.queries)
    }

    fn request(&self, session: &Session, ask: &Ask<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(a2s::HEADER);
        match session.asking(ask.queries) {
            Request::Info => {
                out.extend_from_slice(b"getinfo ");
                out.extend_from_slice(token(ask).as_bytes());
            }
            Request::Status => out.extend_from_slice(b"getstatus"),
        }
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        _found: &mut Found,
    ) -> Result<Step, DecodeError> {
        let mut fields = Fields::silent(Reader::new(message::trim(data)));
        match message::read_word(&mut fields)? {
            Word::InfoResponse if !returns(token(ask).as_bytes(), &mut fields) => Ok(Step::Ignore(Ignored::Spoofed)),
            Word::InfoResponse => Ok(session.came(Request::Info, ask.queries)),
            Word::StatusResponse => Ok(session.came(Request::Status, ask.queries)),
            Word::Print => Ok(a2s::print(fields.reader().rest())),
            Word::GetInfo | Word::GetStatus => Err(DecodeError::new(Problem::Type, a2s::HEADER.len() as u32)),
        }
    }

    fn silence(&self, session: &mut Session, ask: &Ask<'_>) -> Next {
        let given_up = session.asking(ask.queries).queries(ask.queries);
        given_up.iter().for_each(|query| session.progress.skip(query));
        session.go_on(ask.queries)
    }

    fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord) {
        let mut facts = Facts::default();
        // The info comes first, since the first to say something counts.
        if let Some(mut body) = find(answers, Word::InfoResponse) {
            record.flags |= message::read(&mut body, Word::InfoResponse, |entry| facts.take(&entry));
            answered(Request::Info, ask, record);
        }
        if let Some(mut body) = find(answers, Word::StatusResponse) {
            facts.begin_list();
            read_status(&mut body, ask.queries, &mut facts, record);
            answered(Request::Status, ask, record);
        }
        facts.fill(record);
        if let Some(body) = find(answers, Word::Print) {
            record.flags |= record.error.set(body.reader().rest().trim_ascii());
        }
    }

    fn dissect(&self, data: &[u8], _others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        let mut fields = Fields::new(Reader::new(message::trim(data)), &mut *notes);
        let word = message::read_word(&mut fields)?;
        match word {
            Word::InfoResponse | Word::StatusResponse => {
                message::read(&mut fields, word, |_| ());
            }
            Word::Print => {
                fields.rest("text");
            }
            Word::GetInfo => {
                fields.rest("challenge");
            }
            Word::GetStatus => {}
        }
        notes.title = match word {
            Word::InfoResponse => "info",
            Word::StatusResponse => "players and rules",
            Word::Print => "message for the console",
            Word::GetInfo => "request for info",
            Word::GetStatus => "request for players and rules",
        };
        Ok(())
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        serve::serve(self.layout, persona, request, replies);
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        serve::replay(request, recorded, replies);
    }
}

impl Request {
    /// Those of `wanted` that its response answers.
    fn queries(self, wanted: QuerySet) -> QuerySet {
        let answers = match self {
            Self::Info => [Query::Info, Query::Ping],
            Self::Status => [Query::Players, Query::Rules],
        };
        answers.into_iter().filter(|query| wanted.contains(*query)).fold(QuerySet::NONE, QuerySet::with)
    }
}

impl Session {
    fn asking(self, wanted: QuerySet) -> Request {
        match self.progress.asking(wanted) {
            Query::Info | Query::Ping => Request::Info,
            Query::Players | Query::Rules => Request::Status,
        }
    }

    /// The response to `request` came, asked for or not.
    fn came(&mut self, request: Request, wanted: QuerySet) -> Step {
        let queries = request.queries(wanted);
        if queries.is_empty() {
            return Step::Ignore(Ignored::Unsolicited);
        }
        if queries.iter().any(|query| self.progress.answered().contains(query)) {
            return Step::Ignore(Ignored::Duplicate);
        }
        let awaited = self.asking(wanted) == request;
        queries.iter().for_each(|query| self.progress.answer(query));
        Step::Answer(if awaited { self.go_on(wanted) } else { Next::Stay })
    }

    fn go_on(self, wanted: QuerySet) -> Next {
        match self.progress.next(wanted) {
            None => Next::Finish,
            // A server that has said nothing so far hardly answers the next request.
            Some(_) if self.progress.answered().is_empty() => Next::SendOnce,
            Some(_) => Next::Send,
        }
    }
}

/// The token that must come back.
fn token(ask: &Ask<'_>) -> ShortText {
    ShortText::format(format_args!("{:08x}", ask.nonce() as u32))
}

/// True unless an info carries another token than `token`. A server that cuts the token, or has none, is believed: nobody
/// knows what all these engines do, and a server that is there must not be lost.
fn returns(token: &[u8], body: &mut Fields<'_, ()>) -> bool {
    let mut came: &[u8] = b"";
    message::read(body, Word::InfoResponse, |entry| {
        if let Entry::Variable { key: b"challenge", value } = entry {
            came = message::trim(value);
        }
    });
    token.starts_with(came)
}

/// Reads what follows the first message that begins with `word`.
fn find<'a>(answers: &[&'a [u8]], word: Word) -> Option<Fields<'a, ()>> {
    answers.iter().find_map(|answer| {
        let mut fields = Fields::silent(Reader::new(message::trim(answer)));
        (message::read_word(&mut fields) == Ok(word)).then_some(fields)
    })
}

/// Reads a status, and those of its lists that are wanted into `record`.
fn read_status<'a>(body: &mut Fields<'a, ()>, wanted: QuerySet, facts: &mut Facts<'a>, record: &mut ServerRecord) {
    let (players, rules) = (wanted.contains(Query::Players), wanted.contains(Query::Rules));
    if players {
        record.player_list.begin();
    }
    if rules {
        record.rules.begin();
    }
    let flags = message::read(body, Word::StatusResponse, |entry| {
        match entry {
            Entry::Variable { key, value } if rules => record.rules.push(key, value),
            Entry::Player { player, .. } if players => record.player_list.push(player),
            _ => {}
        }
        facts.take(&entry);
    });
    record.flags |= flags;
}

fn answered(request: Request, ask: &Ask<'_>, record: &mut ServerRecord) {
    request.queries(ask.queries).iter().for_each(|query| record.set_query(query, QueryStatus::Ok));
}

/// Between two datagrams to a server, and to a host: DarkPlaces, ioquake3 and FiveM count by address. DarkPlaces answers one
/// a second by the clock of its frames, so that a bare second is too short every other time.
const GAP: Duration = Duration::from_millis(1_100);

const COLUMNS: &[&str] = &[
    "name",
    "map",
    "game",
    "folder",
    "players",
    "max_players",
    "bots",
    "players_best",
    "max_players_best",
    "players_basis",
    "os",
    "password",
    "protocol_version",
    "version",
    "keywords",
    "flags",
    "error",
];

#[cfg(test)]
mod tests;
