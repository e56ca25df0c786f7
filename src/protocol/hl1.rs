//! The text queries of Half-Life servers from before 2005, and of those that still have them switched on.
//!
//! ```text
//! request   FF FF FF FF "details" 00          reply   FF FF FF FF 'm' …              (see `a2s`)
//!           FF FF FF FF "infostring" 00               FF FF FF FF "infostringresponse" 00 \key\value…
//!           FF FF FF FF "info" 00                     FF FF FF FF 'C' …              (see `a2s`)
//!           FF FF FF FF "players" 00                  FF FF FF FF 'D' …              (see `a2s`)
//!           FF FF FF FF "rules" 00                    FF FF FF FF 'E' …              (see `a2s`)
//!           FF FF FF FF "ping" 00                     FF FF FF FF 'j' 00
//! ```
//!
//! There are no challenges. `details` says most and is asked first; the two others stand in for it where it stays
//! unanswered. Servers for one player answer neither `players` nor `rules`, and one without rules does not answer
//! `rules`. Source: the Half-Life SDK and the engine's behaviour, as `ReHLDS` keeps it.

use std::time::Duration;

use crate::record::{Query, QuerySet, QueryStatus, ServerRecord};
use crate::wire::{DecodeError, Problem, Reader};

use super::a2s::{self, Details};
use super::{
    Ask, Auto, Dissection, Fields, Found, Ignored, Join, Manner, Next, Persona, Progress, Protocol, Replies, Spec, Step,
};

/// A variant of the protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[Dialect {
    spec: &Spec {
        name: "hl1",
        aliases: &["won", "half-life"],
        summary: "text queries of Half-Life servers of before 2005",
        default_port: 27_015,
        auto: Auto::Tried,
        columns: &[
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
            "server_type",
            "os",
            "password",
            "vac",
            "protocol_version",
            "mod_url",
            "players_declared",
            "rules_declared",
            "flags",
            "error",
        ],
    },
}];

/// How far the queries of a server are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    progress: Progress,
    form: Form,
    /// The split reply that was put together last.
    joined: a2s::split::Joined,
}

/// In which of its forms the info is being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    #[default]
    Details,
    Infostring,
    Short,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn asking(&self, session: &Session, ask: &Ask<'_>) -> QuerySet {
        QuerySet::of(session.progress.asking(ask.queries))
    }

    fn request(&self, session: &Session, ask: &Ask<'_>, out: &mut Vec<u8>) {
        let word = match (session.progress.asking(ask.queries), session.form) {
            (Query::Info, Form::Details) => DETAILS,
            (Query::Info, Form::Infostring) => INFOSTRING,
            (Query::Info, Form::Short) => INFO,
            (Query::Players, _) => PLAYERS,
            (Query::Rules, _) => RULES,
            (Query::Ping, _) => PING,
        };
        out.extend_from_slice(a2s::HEADER);
        out.extend_from_slice(word);
        out.push(0);
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        _found: &mut Found,
    ) -> Result<Step, DecodeError> {
        if let Some(step) = a2s::piece(data, &session.joined) {
            return step;
        }
        let mut reader = a2s::message(data)?;
        if reader.rest().starts_with(INFOSTRING_REPLY) {
            return Ok(session.came(Query::Info, ask.queries));
        }
        let query = match reader.u8()? {
            a2s::DETAILS | SHORT => Query::Info,
            a2s::PLAYERS => Query::Players,
            a2s::RULES => Query::Rules,
            a2s::PING => Query::Ping,
            a2s::PRINT => return Ok(a2s::print(reader.rest())),
            _ => return Err(DecodeError::new(Problem::Type, (reader.position() - 1) as u32)),
        };
        if reader.is_empty() && query != Query::Ping {
            return Err(reader.error(Problem::Cut));
        }
        Ok(session.came(query, ask.queries))
    }

    fn silence(&self, session: &mut Session, ask: &Ask<'_>) -> Next {
        let asking = session.progress.asking(ask.queries);
        let form = match (asking, session.form) {
            (Query::Info, Form::Details) => Some(Form::Infostring),
            (Query::Info, Form::Infostring) => Some(Form::Short),
            _ => None,
        };
        if let Some(form) = form {
            session.form = form;
            return Next::SendOnce;
        }
        session.progress.skip(asking);
        session.go_on(ask.queries)
    }

    fn join(&self, session: &mut Session, parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
        a2s::join(parts, whole, &mut session.joined)
    }

    fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord) {
        if answers.iter().filter_map(|answer| a2s::message(answer).ok()).any(|message| fill(message, record)) {
            record.set_query(Query::Info, QueryStatus::Ok);
        }
        a2s::Kept::sort(answers).decode_rest(answers, ask.queries, record);
    }

    fn dissect(&self, data: &[u8], others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        if word_of(data).is_some() {
            notes.title = "request";
            let mut fields = Fields::new(Reader::new(data), &mut *notes);
            fields.skip("header", a2s::HEADER);
            return fields.text("word", &mut None);
        }
        let reader = a2s::message(data).ok();
        let body = reader.as_ref().map(Reader::rest).unwrap_or_default();
        if body.starts_with(INFOSTRING_REPLY) {
            notes.title = "info as a list of keys and values";
            let mut fields = Fields::new(Reader::new(data), &mut *notes);
            while fields.skip("header", a2s::HEADER) {} // ends with the datagram at the latest
            fields.skip("command", INFOSTRING_REPLY);
            fields.rest("keys and values");
            return Ok(());
        }
        if body.first() == Some(&SHORT) {
            notes.title = "info in its short form";
            let mut fields = Fields::new(Reader::new(data), &mut *notes);
            a2s::read_header(&mut fields)?;
            return Details::read_short(&mut fields).1;
        }
        a2s::dissect(data, others, notes)
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        let Some(word) = word_of(request) else { return };
        match persona.manner {
            Manner::Banned => return a2s::push_ban(replies),
            Manner::Malformed => return replies.push(|out| out.extend_from_slice(&[0; 64])),
            Manner::Sound | Manner::ChallengeLoop | Manner::ChallengeOnly => {}
        }
        match word {
            // A server in four knows the short forms only.
            DETAILS if persona.pick(40, 4) == 0 => {}
            DETAILS => replies.push(|out| {
                a2s::put_message(out, a2s::DETAILS, &[]);
                a2s::put_details(persona, out);
            }),
            INFOSTRING if persona.pick(40, 8) == 0 => {}
            INFOSTRING => replies.push(|out| put_infostring(persona, out)),
            INFO => replies.push(|out| {
                a2s::put_message(out, SHORT, &[]);
                a2s::put_short(persona, out);
            }),
            PLAYERS => a2s::push_players(persona, replies),
            RULES => a2s::push_rules(persona, replies),
            _ => replies.push(|out| a2s::put_message(out, a2s::PING, b"\0")),
        }
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        let Some(word) = word_of(request) else { return };
        for (reply, kind) in recorded.iter().zip(a2s::kinds_of(recorded)) {
            let body = a2s::message(reply).map(|reader| reader.rest()).unwrap_or_default();
            let answers = match (word, kind) {
                (INFOSTRING, _) if body.starts_with(INFOSTRING_REPLY) => true,
                (_, Some(a2s::DETAILS)) => word == DETAILS,
                (_, Some(SHORT)) => word == INFO,
                (_, Some(a2s::PLAYERS)) => word == PLAYERS,
                (_, Some(a2s::RULES)) => word == RULES,
                (_, Some(a2s::PING)) => word == PING,
                (_, Some(a2s::PRINT)) => true,
                _ => false,
            };
            if answers {
                replies.push(|out| out.extend_from_slice(reply));
            }
        }
    }
}

impl Session {
    fn came(&mut self, query: Query, wanted: QuerySet) -> Step {
        if !wanted.contains(query) {
            return Step::Ignore(Ignored::Unsolicited);
        }
        if self.progress.answered().contains(query) {
            return Step::Ignore(Ignored::Duplicate);
        }
        let awaited = self.progress.asking(wanted) == query;
        self.progress.answer(query);
        Step::Answer(if awaited { self.go_on(wanted) } else { Next::Stay })
    }

    fn go_on(&mut self, wanted: QuerySet) -> Next {
        match self.progress.next(wanted) {
            None => Next::Finish,
            // A server that has said nothing so far hardly answers the next query.
            Some(_) if self.progress.answered().is_empty() => Next::SendOnce,
            Some(_) => Next::SendAfter(GAP),
        }
    }
}

/// Fills `record` from `message`, if that is info in one of its forms.
fn fill(mut message: Reader<'_>, record: &mut ServerRecord) -> bool {
    if let Some(pairs) = message.rest().strip_prefix(INFOSTRING_REPLY) {
        infostring(pairs, record);
        return true;
    }
    match message.u8() {
        Ok(a2s::DETAILS) => Details::parse(message.rest()).fill(record),
        Ok(SHORT) => Details::read_short(&mut Fields::silent(message)).0.fill(record),
        _ => return false,
    }
    true
}

/// Reads the keys and values of an infostring.
fn infostring(pairs: &[u8], record: &mut ServerRecord) {
    let text = pairs.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut parts = text.split(|byte| *byte == b'\\').skip(1);
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        let number = || std::str::from_utf8(value).ok().and_then(|digits| digits.parse::<u32>().ok());
        match key {
            b"hostname" => record.flags |= record.name.set(value),
            b"map" => record.flags |= record.map.set(value),
            b"gamedir" => record.flags |= record.folder.set(value),
            b"description" => record.flags |= record.game.set(value),
            b"mod_url" | b"url_info" => record.flags |= record.mod_url.set(value),
            b"protocol" => record.protocol_version = number(),
            b"players" => record.players = number(),
            b"max" => record.max_players = number(),
            b"bots" => record.bots = number(),
            b"type" => record.server_type = value.first().map(|letter| a2s::server_type(*letter)),
            b"os" => record.os = value.first().map(|letter| a2s::os(*letter)),
            b"password" => record.password = number().map(|number| number != 0),
            // The engine writes the opposite of what it means here.
            b"secure" => record.vac = number().map(|number| number == 0),
            _ => {}
        }
    }
}

fn put_infostring(persona: &Persona, out: &mut Vec<u8>) {
    out.extend_from_slice(a2s::HEADER);
    out.extend_from_slice(INFOSTRING_REPLY);
    let name = persona.name();
    let mut put = |key: &str, value: &[u8]| {
        out.push(b'\\');
        out.extend_from_slice(key.as_bytes());
        out.push(b'\\');
        out.extend_from_slice(value);
    };
    put("protocol", b"46");
    put("address", b"127.0.0.1:27015");
    put("players", persona.players().to_string().as_bytes());
    put("max", persona.max_players().to_string().as_bytes());
    put("bots", persona.bots().to_string().as_bytes());
    put("gamedir", b"valve");
    put("description", b"Half-Life");
    put("hostname", name.as_bytes());
    put("map", persona.map().as_bytes());
    put("type", b"d");
    put("password", if persona.password() { b"1" } else { b"0" });
    put("os", b"l");
    put("secure", b"0");
    out.push(0);
}

/// The word of a request, if it is one of this protocol's.
fn word_of(request: &[u8]) -> Option<&'static [u8]> {
    let word = request.strip_prefix(a2s::HEADER)?;
    let word = word.strip_suffix(b"\0").unwrap_or(word);
    [DETAILS, INFOSTRING, INFO, PLAYERS, RULES, PING].into_iter().find(|known| *known == word)
}

/// Between an answer and the next query: these servers answer three a second.
const GAP: Duration = Duration::from_millis(350);

const DETAILS: &[u8] = b"details";
const INFOSTRING: &[u8] = b"infostring";
const INFO: &[u8] = b"info";
const PLAYERS: &[u8] = b"players";
const RULES: &[u8] = b"rules";
const PING: &[u8] = b"ping";
const INFOSTRING_REPLY: &[u8] = b"infostringresponse\0";
/// `S2A_INFO`, the shortest form of the info.
const SHORT: u8 = b'C';

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Flags, Letter};

    const DETAILS_REPLY: &[u8] =
        b"\xFF\xFF\xFF\xFFmLOOPBACK\0Half-Life\0crossfire\0valve\0Half-Life\0\x03\x10/dl\0\0\x01\x02";
    const SHORT_REPLY: &[u8] = b"\xFF\xFF\xFF\xFFC203.0.113.5:27015\0Half-Life\0crossfire\0valve\0Half-Life\0\x03\x10.";
    const LIST_REPLY: &[u8] = b"\xFF\xFF\xFF\xFFinfostringresponse\0\\protocol\\46\\address\\203.0.113.5:27015\\players\\3\
        \\max\\16\\bots\\1\\gamedir\\valve\\description\\Half-Life\\hostname\\Half-Life\\map\\crossfire\\type\\d\\password\\0\
        \\os\\w\\secure\\0\0";

    fn request(session: &Session) -> Vec<u8> {
        let mut out = Vec::new();
        DIALECTS[0].request(session, &Ask::offline(), &mut out);
        out
    }

    fn decode(reply: &[u8]) -> ServerRecord {
        let mut record = ServerRecord::new();
        DIALECTS[0].decode(&[reply], &Ask::offline(), &mut record);
        record
    }

    #[test]
    fn the_form_that_says_most_is_asked_for_first_and_the_others_stand_in() {
        let mut session = Session::default();
        let ask = Ask::offline();
        for word in [&b"details"[..], b"infostring", b"info"] {
            assert_eq!(request(&session), [a2s::HEADER, word, b"\0"].concat());
            assert_eq!(DIALECTS[0].silence(&mut session, &ask), Next::SendOnce);
        }
        assert_eq!(request(&session), b"\xFF\xFF\xFF\xFFplayers\0");
        let mut found = Found::default();
        let mut receive = |data: &[u8]| DIALECTS[0].receive(&mut session, &ask, data, &mut found);
        assert_eq!(receive(LIST_REPLY), Ok(Step::Answer(Next::Stay)), "it is late and kept");
        assert_eq!(receive(DETAILS_REPLY), Ok(Step::Ignore(Ignored::Duplicate)));
        assert_eq!(receive(b"\xFF\xFF\xFF\xFFD\0"), Ok(Step::Answer(Next::SendAfter(GAP))));
        assert_eq!(receive(b"\xFF\xFF\xFF\xFFE\0\0"), Ok(Step::Answer(Next::SendAfter(GAP))));
        assert_eq!(receive(b"\xFF\xFF\xFF\xFFj"), Ok(Step::Answer(Next::Finish)));
    }

    #[test]
    fn all_three_forms_say_the_same_of_one_server() {
        for (reply, protocol) in [(DETAILS_REPLY, 47), (SHORT_REPLY, 46), (LIST_REPLY, 46)] {
            let record = decode(reply);
            assert_eq!((record.name.as_str(), record.map.as_str()), (Some("Half-Life"), Some("crossfire")));
            assert_eq!((record.players, record.max_players), (Some(3), Some(16)));
            assert_eq!((record.protocol_version, record.flags), (Some(protocol), Flags::NONE));
            assert_eq!(record.query(Query::Info), QueryStatus::Ok);
        }
        assert_eq!((decode(SHORT_REPLY).vac, decode(DETAILS_REPLY).vac), (None, Some(true)));
        let list = decode(LIST_REPLY);
        assert_eq!((list.vac, list.password, list.bots), (Some(true), Some(false), Some(1)));
        assert_eq!(list.os, Some(Letter::Known("windows")));
    }

    #[test]
    fn keys_without_values_and_odd_numbers_are_left_out() {
        let record =
            decode(b"\xFF\xFF\xFF\xFFinfostringresponse\0\\players\\many\\max\\99999999999\\os\\\\hostname\\x\\map");
        assert_eq!((record.players, record.max_players, record.os), (None, None, None));
        assert_eq!((record.name.as_str(), record.map.as_str()), (Some("x"), None));
    }
}
