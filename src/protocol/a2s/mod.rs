//! Valve's server queries (A2S) as Source and GoldSource servers answer them.
//!
//! ```text
//! request   FF FF FF FF 'T' "Source Engine Query" 00 [challenge:4]     reply 'I' (see `info`), 'm' (see `details`)
//!           FF FF FF FF 'U' challenge:4                                      'D' (see `players`)
//!           FF FF FF FF 'V' challenge:4                                      'E' (see `rules`)
//!           FF FF FF FF 'i'                                                  'j' text 00
//!           FF FF FF FF 'W'                                                  'A'
//! reply     FF FF FF FF 'A' challenge:4        send again, with these four bytes at the end
//!           FF FF FF FF 'l' text 00            a message for the console: we are banned
//!           FE FF FF FF …                      a piece of a reply (see `split`)
//! ```
//!
//! The first request carries no challenge, because some servers drop one that does (and others drop none). A challenge
//! is taken at any step, since load-balanced servers mix both answers, and serves all queries: it belongs to our address.
//! Answers are told apart by their type, not by their order, because a late answer may overtake another. Source: Valve's
//! developer wiki, "Server queries"; deviations as met on real servers are noted where they are handled.

use crate::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord, Status};
use crate::wire::{DecodeError, Problem, Reader};

use super::{
    Ask, Auto, Dissection, Fields, Found, Ignored, Join, Next, Persona, Protocol, Replies, Scribe, Spec, Step,
};

mod counts;
mod details;
mod info;
mod mods;
pub(super) mod players;
pub(super) mod rules;
mod serve;
mod session;
pub(super) mod split;

pub(crate) use details::Details;
pub use info::Info;
pub(super) use info::{os, server_type};
pub(super) use serve::{kinds_of, push_ban, push_players, push_rules, put_details, put_short};
pub(crate) use session::Session;

/// A variant of the protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[Dialect {
    spec: &Spec {
        name: "a2s",
        aliases: &["source", "valve", "goldsource"],
        summary: "Valve server queries: Source, GoldSource and many others on Steam",
        default_port: 27_015,
        auto: Auto::Tried,
        columns: &[
            "name",
            "map",
            "game",
            "folder",
            "app_id",
            "game_id",
            "players",
            "max_players",
            "bots",
            "players_best",
            "max_players_best",
            "players_basis",
            "server_type",
            "os",
            "password",
            "vac",
            "protocol_version",
            "version",
            "game_port",
            "steam_id",
            "spectator_port",
            "spectator_name",
            "keywords",
            "mod_url",
            "players_declared",
            "rules_declared",
            "flags",
            "error",
        ],
    },
}];

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn asking(&self, session: &Session, ask: &Ask<'_>) -> QuerySet {
        QuerySet::of(session.progress.asking(ask.queries))
    }

    fn request(&self, session: &Session, ask: &Ask<'_>, out: &mut Vec<u8>) {
        if session.asks_for_a_challenge_alone() {
            out.extend_from_slice(GETCHALLENGE);
            return;
        }
        let challenge: Option<&[u8]> = session.challenge.as_ref().map(|challenge| &challenge[..]);
        let (request, challenge) = match session.progress.asking(ask.queries) {
            Query::Info => (INFO_REQUEST, challenge.unwrap_or(&[])),
            // Zero is refused by some as the request for a challenge.
            Query::Players => (PLAYERS_REQUEST, challenge.unwrap_or(NO_CHALLENGE)),
            Query::Rules => (RULES_REQUEST, challenge.unwrap_or(NO_CHALLENGE)),
            Query::Ping => (PING_REQUEST, &[][..]),
        };
        out.extend_from_slice(request);
        out.extend_from_slice(challenge);
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        _found: &mut Found,
    ) -> Result<Step, DecodeError> {
        if let Some(step) = piece(data, &session.joined) {
            return step;
        }
        let mut reader = message(data)?;
        let kind = reader.u8()?;
        match kind {
            INFO | DETAILS | PLAYERS | RULES if reader.is_empty() => Err(reader.error(Problem::Cut)),
            INFO => Ok(session.info_came(ask.queries, reader.peek())),
            DETAILS => Ok(session.details_came(ask.queries)),
            PLAYERS => Ok(session.list_came(Query::Players, ask.queries)),
            RULES => Ok(session.list_came(Query::Rules, ask.queries)),
            PING => Ok(session.list_came(Query::Ping, ask.queries)),
            CHALLENGE => {
                let challenge = reader.array::<4>()?;
                if !reader.is_empty() {
                    // The text answer to the connection word "getchallenge" (ReHLDS) begins with the same letter.
                    return Ok(Step::Ignore(Ignored::Unsolicited));
                }
                Ok(session.challenged(challenge, ask.queries))
            }
            PRINT => Ok(print(reader.rest())),
            _ => Err(DecodeError::new(Problem::Type, (reader.position() - 1) as u32)),
        }
    }

    fn silence(&self, session: &mut Session, ask: &Ask<'_>) -> Next {
        session.silence(ask.queries)
    }

    fn join(&self, session: &mut Session, parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
        join(parts, whole, &mut session.joined)
    }

    fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord) {
        let kept = Kept::sort(answers);
        if let Some(details) = &kept.details {
            Details::parse(details.rest()).fill(record);
            record.set_query(Query::Info, QueryStatus::Ok);
        }
        // The new form says everything that the old one does, but for the mod.
        if let Some(info) = &kept.info {
            Info::parse(info.rest()).fill(record);
            record.set_query(Query::Info, QueryStatus::Ok);
        }
        if kept.info.is_some() && kept.details.is_some() {
            record.flags |= Flags::GOLDSOURCE_DUAL;
        }
        kept.decode_rest(answers, ask.queries, record);
    }

    fn dissect(&self, data: &[u8], others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        dissect(data, others, notes)
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        serve::serve(persona, request, replies);
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        serve::replay(request, recorded, replies);
    }
}

/// What a piece of a split reply is, if `data` is one; `joined` is the reply that was put together last.
pub(super) fn piece(data: &[u8], joined: &split::Joined) -> Option<Result<Step, DecodeError>> {
    data.starts_with(split::SPLIT_HEADER).then(|| {
        split::Piece::read(data)?;
        Ok(if joined.holds(data) { Step::Ignore(Ignored::Duplicate) } else { Step::Part })
    })
}

/// Puts a reply together, and remembers which in `joined`.
pub(super) fn join(parts: &[&[u8]], whole: &mut Vec<u8>, joined: &mut split::Joined) -> Join {
    let join = split::join(parts, whole);
    if join == Join::Whole {
        *joined = split::Joined::of(parts);
    }
    join
}

/// What a message for the console means.
pub(super) fn print(text: &[u8]) -> Step {
    if is_ban(text) { Step::Answer(Next::Fail(Status::Banned)) } else { Step::Ignore(Ignored::Unsolicited) }
}

/// Reads the challenge at the end of a request, if there is one.
fn read_challenge<S: Scribe>(fields: &mut Fields<'_, S>) -> Result<(), DecodeError> {
    if fields.reader().is_empty() { Ok(()) } else { fields.array::<4>("challenge").map(|_| ()) }
}

/// The answers of a server, told apart: readers after the type of the first of each.
#[derive(Default)]
pub(super) struct Kept<'a> {
    info: Option<Reader<'a>>,
    details: Option<Reader<'a>>,
    players: Option<Reader<'a>>,
    rules: Option<Reader<'a>>,
    print: Option<Reader<'a>>,
    ping: bool,
    /// There are pieces of a reply that never became whole.
    pieces: bool,
}

impl<'a> Kept<'a> {
    pub(super) fn sort(answers: &[&'a [u8]]) -> Self {
        let mut kept = Self::default();
        for answer in answers {
            let Ok(mut reader) = message(answer) else {
                kept.pieces |= answer.starts_with(split::SPLIT_HEADER);
                continue;
            };
            let place = match reader.u8() {
                Ok(INFO) => &mut kept.info,
                Ok(DETAILS) => &mut kept.details,
                Ok(PLAYERS) => &mut kept.players,
                Ok(RULES) => &mut kept.rules,
                Ok(PRINT) => &mut kept.print,
                Ok(PING) => {
                    kept.ping = true;
                    continue;
                }
                _ => continue,
            };
            place.get_or_insert(reader);
        }
        kept
    }

    /// Fills `record` with everything that old and new queries have in common: all but the info.
    pub(super) fn decode_rest(self, answers: &[&[u8]], queries: QuerySet, record: &mut ServerRecord) {
        if let Some(body) = self.players.filter(|_| queries.contains(Query::Players)) {
            players::fill(body, record);
            record.set_query(Query::Players, QueryStatus::Ok);
        }
        if let Some(body) = self.rules.filter(|_| queries.contains(Query::Rules)) {
            rules::fill(body, record);
            mods::fill(record);
            record.set_query(Query::Rules, QueryStatus::Ok);
        }
        if self.ping && queries.contains(Query::Ping) {
            record.set_query(Query::Ping, QueryStatus::Ok);
        }
        if let Some(mut text) = self.print {
            let text = text.cstr().unwrap_or_else(|_| text.rest());
            record.flags |= record.error.set(text.trim_ascii());
        }
        if self.pieces {
            split::say_what_is_missing(answers, record);
        }
        counts::settle(record);
    }
}

/// Takes a message, a piece of one or a request apart.
pub(super) fn dissect(data: &[u8], others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
    if data.starts_with(split::SPLIT_HEADER) {
        return split::dissect(data, others, notes);
    }
    let mut fields = Fields::new(Reader::new(data), &mut *notes);
    let kind = read_header(&mut fields)?;
    let mut record = ServerRecord::new();
    let body = fields.reader().position();
    let (title, result) = match kind {
        INFO => ("info", Info::read_from(&mut fields).1),
        DETAILS => ("info in its old form", Details::read_from(&mut fields).1),
        PLAYERS => ("players", players::read(&mut fields, &mut record)),
        RULES => ("rules", rules::read(&mut fields, &mut record)),
        CHALLENGE => ("challenge", fields.array::<4>("challenge").map(|_| ())),
        PING => ("answer to a ping", Ok(())),
        PRINT => ("message for the console", fields.text("text", &mut None)),
        b'T' => ("request for info", fields.text("text", &mut None).and_then(|()| read_challenge(&mut fields))),
        b'U' => ("request for players", read_challenge(&mut fields)),
        b'V' => ("request for rules", read_challenge(&mut fields)),
        b'W' => ("request for a challenge alone", Ok(())),
        b'i' => ("request for a ping", Ok(())),
        _ => ("unknown", Err(DecodeError::new(Problem::Type, (fields.reader().position() - 1) as u32))),
    };
    notes.title = title;
    // Behind the count; without rules there are no pages.
    result.and(mods::dissect(&record.rules, body + 2, notes))
}

/// A reader after the header. Garry's Mod servers repeat the header; every repeat is skipped.
pub(super) fn message(data: &[u8]) -> Result<Reader<'_>, DecodeError> {
    let mut reader = Reader::new(data);
    if !reader.skip(HEADER) {
        return Err(reader.error(Problem::Header));
    }
    while reader.skip(HEADER) {} // ends with the datagram at the latest
    Ok(reader)
}

/// Reads header and type.
pub(super) fn read_header<S: Scribe>(fields: &mut Fields<'_, S>) -> Result<u8, DecodeError> {
    if !fields.skip("header", HEADER) {
        return Err(fields.reader().error(Problem::Header));
    }
    while fields.skip("header", HEADER) {} // as above
    fields.letter("type")
}

pub(super) fn put_message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.extend_from_slice(HEADER);
    out.push(kind);
    out.extend_from_slice(body);
}

fn is_ban(text: &[u8]) -> bool {
    text.windows(6).any(|word| word.eq_ignore_ascii_case(b"banned"))
}

/// Before every message that is not split.
pub(super) const HEADER: &[u8] = b"\xFF\xFF\xFF\xFF";
/// `A2S_INFO` without a challenge, 25 bytes.
const INFO_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
/// `A2S_PLAYER` without the challenge.
const PLAYERS_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFU";
/// `A2S_RULES` without the challenge.
const RULES_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFV";
/// `A2A_PING`.
const PING_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFi";
/// `A2S_SERVERQUERY_GETCHALLENGE`.
const GETCHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFW";
/// What stands for the challenge in a request for one.
const NO_CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFF";
/// `S2A_INFO_SRC`.
const INFO: u8 = b'I';
/// `S2A_INFO_DETAILED`, the old form of the info.
pub(super) const DETAILS: u8 = b'm';
/// `S2C_CHALLENGE`.
const CHALLENGE: u8 = b'A';
/// `S2A_PLAYER`.
pub(super) const PLAYERS: u8 = b'D';
/// `S2A_RULES`.
pub(super) const RULES: u8 = b'E';
/// `A2A_ACK`, the answer to a ping.
pub(super) const PING: u8 = b'j';
/// `A2C_PRINT`.
pub(super) const PRINT: u8 = b'l';

#[cfg(test)]
mod tests;
