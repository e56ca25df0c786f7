//! The query of Minecraft's Java edition, which is `GameSpy`'s fourth protocol, and of other games that speak that.
//!
//! ```text
//! request   FE FD 09 session:4                             reply   09 session:4 token 00       (text, decimal)
//!           FE FD 00 session:4 token:4                             00 session:4 basic stat     (see `stat`)
//!           FE FD 00 session:4 token:4 padding:4                   00 session:4 full stat      (see `stat`)
//!                                                                  00 session:4 piece of one   (see `pieces`)
//! ```
//!
//! Numbers of requests are big-endian. The client chooses the session; servers keep the low four bits of each byte, so ours
//! has no others, and a reply with another one is not for us. A token may be negative or 0 and holds for 30 seconds at most:
//! where a stat stays unanswered the handshake is repeated. One full stat answers every query. Where that fails the basic
//! stat saves the info; it is also what info alone is asked with. Source: wiki.vg, "Query"; deviations as met on real
//! servers are noted where they are handled.

use crate::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord, Status};
use crate::wire::{DecodeError, Problem, Reader};

use super::{
    Ask, Auto, Dissection, Fields, Found, Ignored, Join, Next, Persona, Progress, Protocol, Replies, Scribe, Spec, Step,
};

mod pieces;
mod serve;
mod stat;

use stat::{Form, Key};

/// A variant of the protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
    /// What makes a request one for the full stat.
    padding: [u8; 4],
    /// There is a basic stat.
    has_basic: bool,
    /// Replies are never cut, although their headers look as if they were; and players stand after the keys in a form of
    /// their own.
    is_just_cause: bool,
    /// The keys whose values are columns.
    keys: &'static [(&'static [u8], Key)],
    /// Bytes that are in full stats of this game only.
    mark: &'static [u8],
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[
    Dialect {
        spec: &Spec {
            name: "minecraft",
            aliases: &["minecraft-query", "minecraft-java"],
            summary: "Minecraft's Java edition, where enable-query is on",
            default_port: 25_565,
            auto: Auto::Tried,
            columns: &[
                "name",
                "map",
                "game",
                "players",
                "max_players",
                "players_best",
                "max_players_best",
                "players_basis",
                "version",
                "game_port",
                "flags",
                "error",
            ],
        },
        padding: [0; 4],
        has_basic: true,
        is_just_cause: false,
        keys: &[
            (b"hostname", Key::Name),
            (b"map", Key::Map),
            (b"gametype", Key::Game),
            (b"game type", Key::Game),
            (b"version", Key::Version),
            (b"numplayers", Key::Players),
            (b"maxplayers", Key::Slots),
            (b"hostport", Key::Port),
        ],
        mark: b"\0MINECRAFT\0",
    },
    Dialect {
        spec: &Spec {
            name: "ut3",
            aliases: &["unreal-tournament-3"],
            summary: "Unreal Tournament 3",
            default_port: 6_500,
            auto: Auto::Tried,
            columns: &[
                "name",
                "map",
                "game",
                "players",
                "max_players",
                "bots",
                "players_best",
                "max_players_best",
                "players_basis",
                "server_type",
                "password",
                "version",
                "game_port",
                "flags",
                "error",
            ],
        },
        padding: GAMESPY_PADDING,
        has_basic: false,
        is_just_cause: false,
        // The engine sends many properties by their numbers.
        keys: &[
            (b"hostname", Key::Name),
            (b"p1073741825", Key::Map),
            (b"p1073741826", Key::Game),
            (b"EngineVersion", Key::Version),
            (b"numplayers", Key::Players),
            (b"maxplayers", Key::Slots),
            (b"p268435703", Key::Bots),
            (b"hostport", Key::Port),
            (b"s7", Key::Password),
            (b"bIsDedicated", Key::Dedicated),
        ],
        mark: b"\0OwningPlayerId\0",
    },
    Dialect {
        spec: &Spec {
            name: "justcause2",
            aliases: &["jc2mp"],
            summary: "Just Cause 2: Multiplayer",
            default_port: 7_777,
            auto: Auto::Tried,
            columns: &[
                "name",
                "players",
                "max_players",
                "players_best",
                "max_players_best",
                "players_basis",
                "password",
                "version",
                "players_declared",
                "flags",
                "error",
            ],
        },
        padding: JUST_CAUSE_PADDING,
        has_basic: false,
        is_just_cause: true,
        keys: &[
            (b"hostname", Key::Name),
            (b"version", Key::Version),
            (b"numplayers", Key::Players),
            (b"maxplayers", Key::Slots),
            (b"password", Key::Password),
        ],
        mark: b"splitnum\0\0\0description\0",
    },
];

/// How far the queries of a server are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    progress: Progress,
    token: Option<i32>,
    /// Different tokens in answer to what is being asked.
    rounds: u8,
    /// A stat stayed unanswered, and the handshake was repeated.
    renewed: bool,
    /// Something came in answer to a stat, be it of no use.
    heard: bool,
    /// Nothing more is asked.
    over: bool,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn service(&self) -> Option<&'static str> {
        // Its port is that of the game, where servers listen for queries, too, unless they are told otherwise.
        self.has_basic.then_some("_minecraft._tcp")
    }

    fn queries(&self) -> QuerySet {
        QuerySet::ALL.without(Query::Ping)
    }

    fn asking(&self, session: &Session, ask: &Ask<'_>) -> QuerySet {
        QuerySet::of(session.progress.asking(ask.queries))
    }

    fn request(&self, session: &Session, ask: &Ask<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(REQUEST);
        out.push(if session.token.is_some() { STAT } else { HANDSHAKE });
        out.extend_from_slice(&session_id(ask));
        let Some(token) = session.token else { return };
        out.extend_from_slice(&token.to_be_bytes());
        if session.asks_in_full(self, ask.queries) {
            out.extend_from_slice(&self.padding);
        }
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        _found: &mut Found,
    ) -> Result<Step, DecodeError> {
        let message = self.read(data);
        session.heard |= session.token.is_some() && !matches!(message, Ok((_, Message::Token(_))));
        let (id, message) = message?;
        if id != session_id(ask) {
            return Ok(Step::Ignore(Ignored::Spoofed));
        }
        Ok(match message {
            Message::Token(token) => session.token_came(token),
            Message::Stat(Form::Basic) => session.basic_came(self, ask.queries),
            Message::Stat(Form::Full) => session.full_came(ask.queries),
            Message::Stat(Form::Piece) => Step::Part,
        })
    }

    fn silence(&self, session: &mut Session, ask: &Ask<'_>) -> Next {
        session.silence(ask.queries)
    }

    fn join(&self, _session: &mut Session, parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
        pieces::join(parts, whole)
    }

    fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord) {
        let stats = || {
            answers.iter().filter_map(|answer| match self.read(answer) {
                Ok((_, Message::Stat(form))) => Some((form, *answer)),
                _ => None,
            })
        };
        let first = |wanted| stats().find(|(form, _)| *form == wanted).map(|(_, stat)| body(stat));
        if let Some(full) = first(Form::Full) {
            stat::fill(self, full, ask.queries, record);
            return;
        }
        if let Some(basic) = first(Form::Basic).filter(|_| ask.queries.contains(Query::Info)) {
            stat::fill_basic(self, basic, record);
            record.set_query(Query::Info, QueryStatus::Ok);
        }
        let parts: Vec<&[u8]> = stats().filter(|(form, _)| *form == Form::Piece).map(|(_, part)| part).collect();
        if parts.is_empty() {
            return;
        }
        pieces::say_what_is_missing(&parts, record);
        let info = ask.queries.intersection(QuerySet::of(Query::Info));
        if record.query(Query::Info) != QueryStatus::Ok && !info.is_empty() {
            // Most of the info stands in the first piece.
            stat::fill(self, body(&pieces::join_beginning(&parts)), info, record);
            record.flags |= Flags::TRUNCATED;
        }
    }

    fn dissect(&self, data: &[u8], _others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        let mut fields = Fields::new(Reader::new(data), &mut *notes);
        let (title, result) = if fields.skip("header", REQUEST) {
            serve::dissect_request(&mut fields)
        } else {
            self.dissect_reply(&mut fields)
        };
        notes.title = title;
        result
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        serve::serve(self, persona, request, replies);
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        serve::replay(self, request, recorded, replies);
    }
}

/// What a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    /// The answer to a handshake.
    Token(i32),
    /// A stat, or a piece of one.
    Stat(Form),
}

impl Dialect {
    /// Tells what kind of reply `data` is, and of which session.
    fn read(&self, data: &[u8]) -> Result<([u8; 4], Message), DecodeError> {
        let mut fields = Fields::silent(Reader::new(data));
        let (kind, id) = read_header(&mut fields)?;
        if kind == HANDSHAKE {
            return read_token(&mut fields).map(|token| (id, Message::Token(token)));
        }
        let body = fields.reader().rest();
        let is_others = DIALECTS
            .iter()
            .any(|other| other.spec.name != self.spec.name && memchr::memmem::find(body, other.mark).is_some());
        let form = Form::of(self, body).filter(|_| !is_others);
        form.map(|form| (id, Message::Stat(form))).ok_or_else(|| fields.reader().error(Problem::Value))
    }

    fn dissect_reply<S: Scribe>(&self, fields: &mut Fields<'_, S>) -> (&'static str, Result<(), DecodeError>) {
        let kind = match read_header(fields) {
            Ok((kind, _)) => kind,
            Err(error) => return ("unknown", Err(error)),
        };
        if kind == HANDSHAKE {
            return ("token", read_token(fields).map(|_| ()));
        }
        let mut record = ServerRecord::new();
        match Form::of(self, fields.reader().rest()) {
            Some(Form::Basic) => ("basic stat", stat::read_basic(self, fields, &mut record)),
            Some(Form::Full) => ("full stat", stat::read(self, fields, &mut record)),
            Some(Form::Piece) => ("piece of a full stat", pieces::dissect(fields)),
            None => ("unknown", Err(fields.reader().error(Problem::Value))),
        }
    }
}

impl Session {
    /// True if the next stat is a full one. After a silence the info is saved first.
    fn asks_in_full(&self, dialect: &Dialect, wanted: QuerySet) -> bool {
        let saves_info = self.renewed && self.progress.is_open(Query::Info, wanted);
        let is_open = |query| self.progress.is_open(query, wanted);
        !dialect.has_basic || (!saves_info && (is_open(Query::Players) || is_open(Query::Rules)))
    }

    /// A token came. A new one replaces that in use: the server may have forgotten the other.
    fn token_came(&mut self, token: i32) -> Step {
        if self.over || self.token == Some(token) {
            return Step::Ignore(Ignored::Duplicate);
        }
        if self.rounds == MAX_ROUNDS {
            self.over = true;
            let status = Status::ChallengeLoop;
            let hopeless = self.progress.answered().is_empty();
            return Step::Move(if hopeless { Next::Fail(status) } else { Next::Skip(status) });
        }
        self.rounds += 1;
        self.token = Some(token);
        Step::Move(Next::Send)
    }

    fn basic_came(&mut self, dialect: &Dialect, wanted: QuerySet) -> Step {
        if !self.progress.is_open(Query::Info, wanted) {
            return Step::Ignore(if wanted.contains(Query::Info) { Ignored::Duplicate } else { Ignored::Unsolicited });
        }
        // In answer to a request for the full stat it is all that this server has.
        self.over = self.asks_in_full(dialect, wanted);
        self.progress.answer(Query::Info);
        self.rounds = 0;
        Step::Answer(match self.progress.next(wanted) {
            None => Next::Finish,
            Some(_) if self.over => Next::Skip(Status::Timeout),
            // It has stayed unanswered before.
            Some(_) => Next::SendOnce,
        })
    }

    fn full_came(&mut self, wanted: QuerySet) -> Step {
        if self.progress.next(wanted).is_none() {
            return Step::Ignore(Ignored::Duplicate);
        }
        wanted.iter().for_each(|query| self.progress.answer(query));
        Step::Answer(Next::Finish)
    }

    fn silence(&mut self, wanted: QuerySet) -> Next {
        if !self.over && self.token.is_some() && !self.renewed {
            self.renewed = true;
            self.rounds = 0;
            self.token = None;
            return Next::Send;
        }
        let tokens_only = !std::mem::replace(&mut self.over, true) && self.token.is_some() && !self.heard;
        if self.progress.answered().is_empty() {
            // One reply would have answered everything, so all queries have ended alike.
            return if tokens_only { Next::Skip(Status::ChallengeOnly) } else { Next::Finish };
        }
        match self.progress.next(wanted) {
            None => Next::Finish,
            Some(query) => {
                self.progress.skip(query);
                Next::Skip(Status::Timeout)
            }
        }
    }
}

/// The session of the requests to a server.
fn session_id(ask: &Ask<'_>) -> [u8; 4] {
    (ask.nonce() as u32 & SESSION_BITS).to_be_bytes()
}

/// What follows the header of a reply.
fn body(reply: &[u8]) -> &[u8] {
    reply.get(HEADER_SIZE..).unwrap_or_default()
}

/// Reads type and session of a reply.
fn read_header<S: Scribe>(fields: &mut Fields<'_, S>) -> Result<(u8, [u8; 4]), DecodeError> {
    let kind = fields.u8("type")?;
    if kind != HANDSHAKE && kind != STAT {
        return Err(DecodeError::new(Problem::Type, 0));
    }
    Ok((kind, fields.array("session")?))
}

/// Reads a token. Some servers write it as a number without a sign.
fn read_token<S: Scribe>(fields: &mut Fields<'_, S>) -> Result<i32, DecodeError> {
    let error = fields.reader().error(Problem::Value);
    let mut text = None;
    let ended = fields.text("token", &mut text);
    let number = text.and_then(|text| std::str::from_utf8(text).ok()?.trim().parse::<i64>().ok());
    let behind = ended.is_ok() && !fields.reader().is_empty();
    number.filter(|_| !behind).map(|number| number as i32).ok_or(error)
}

/// Before every request.
const REQUEST: &[u8] = b"\xFE\xFD";
const HANDSHAKE: u8 = 9;
const STAT: u8 = 0;
/// Type and session.
const HEADER_SIZE: usize = 5;
const SESSION_BITS: u32 = 0x0F0F_0F0F;
/// What asks for everything in the games that are not Minecraft: general information, players, teams, and in pieces.
const GAMESPY_PADDING: [u8; 4] = [0xFF, 0xFF, 0xFF, 0x01];
/// What asks for the form of Just Cause 2, as `GameQ` and gamedig do: replies to the padding above lack players.
const JUST_CAUSE_PADDING: [u8; 4] = [0xFF, 0xFF, 0xFF, 0x02];
/// Most different tokens that are taken in one step: a repeated handshake may bring a second one.
const MAX_ROUNDS: u8 = 4;

#[cfg(test)]
mod tests;
