//! The lists of Quake III Arena's master and of dpmaster, which most of its descendants use.
//!
//! ```text
//! request   FF FF FF FF "getservers " [game " "] protocol [" empty"] [" full"]
//! reply     FF FF FF FF "getserversResponse" ('\' ip:4 port:2)* ["\EOT" 00 00 00]
//! request   FF FF FF FF "getserversExt " game " " protocol [" empty"] [" full"]
//! reply     FF FF FF FF "getserversExtResponse" ('\' ip:4 port:2 | '/' ip:16 port:2)* ["\EOT" 00 00 00]
//! ```
//!
//! Entries have a fixed width: the bytes of `\` and `/` occur inside addresses. A list comes in as many datagrams as it
//! takes, in any order; only the last one ends with `EOT`, which some masters leave out. Nothing says how many there are,
//! so the list is asked for again, and the answers united.
//!
//! Source: `doc/techinfo.txt` of dpmaster, and captures of it.

use super::master::{self, Answer, LISTEN, Patience, Roll, Style, Union};
use super::{Ask, Auto, Dissection, Fields, Found, Manner, Next, Persona, Protocol, Replies, Spec, Step, a2s};
use crate::record::ServerRecord;
use crate::wire::{DecodeError, Problem, Reader};

/// A variant of the protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[Dialect {
    spec: &Spec {
        name: "quake3-master",
        aliases: &["dpmaster", "q3-master"],
        summary: "lists of Quake III Arena's master server and of dpmaster",
        default_port: 27_950,
        columns: &[],
        auto: Auto::Never,
    },
}];

/// How far the list is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    list: Union,
    /// The master stayed silent to the extended request.
    plain: bool,
    patience: Patience,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn lists(&self) -> Option<&'static str> {
        Some("quake3")
    }

    fn check_parameters(&self, text: &str) -> Result<(), String> {
        Parameters::read(text).map(|_| ())
    }

    fn request(&self, session: &Session, ask: &Ask<'_>, out: &mut Vec<u8>) {
        let Parameters { game, protocol, empty, full } = Parameters::read(ask.parameters).unwrap_or_default();
        out.extend_from_slice(a2s::HEADER);
        // The extended request needs the name of the game.
        out.extend_from_slice(if game.is_empty() || session.plain { REQUEST } else { EXTENDED_REQUEST });
        for word in [game.as_str(), &protocol.to_string()].into_iter().filter(|word| !word.is_empty()) {
            out.push(b' ');
            out.extend_from_slice(word.as_bytes());
        }
        for (wanted, word) in [(empty, b" empty".as_slice()), (full, b" full")] {
            out.extend_from_slice(if wanted { word } else { b"" });
        }
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        found: &mut Found,
    ) -> Result<Step, DecodeError> {
        let mut reader = read_header(data)?;
        let mut answer = Answer::default();
        while !reader.is_empty() {
            if skip_end(&mut reader) {
                answer.ended = true;
                break;
            }
            let entry = match reader.u8()? {
                V4 => reader.address::<4>(),
                V6 => reader.address::<16>(),
                _ => Err(reader.error(Problem::Value)),
            };
            let Ok(server) = entry else {
                found.note_ragged();
                break;
            };
            answer.entries += 1;
            answer.new += u32::from(server != ask.address && found.push(server));
        }
        session.list.take(answer);
        session.patience.restore();
        // Also after the end: the datagrams may have overtaken each other.
        Ok(Step::Move(Next::Listen(LISTEN)))
    }

    fn silence(&self, session: &mut Session, ask: &Ask<'_>) -> Next {
        if let Some(next) = session.list.settle() {
            return next;
        }
        let extended = !session.plain && Parameters::read(ask.parameters).is_ok_and(|p| !p.game.is_empty());
        if !session.list.has_begun() && extended {
            session.plain = true;
            return Next::Send;
        }
        session.patience.lose(session.list.has_begun())
    }

    fn decode(&self, _answers: &[&[u8]], _ask: &Ask<'_>, _record: &mut ServerRecord) {}

    fn dissect(&self, data: &[u8], _others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        if read_request(data).is_some() {
            notes.title = "request of a list";
            let mut fields = Fields::new(Reader::new(data), &mut *notes);
            fields.skip("header", a2s::HEADER);
            fields.rest("request");
            return Ok(());
        }
        let body = read_header(data)?.rest().len();
        notes.title = "part of a list";
        let mut fields = Fields::new(Reader::new(data), &mut *notes);
        fields.skip("header", a2s::HEADER);
        fields.span("command", data.len() - body - a2s::HEADER.len());
        let mut number = 0;
        while !fields.reader().is_empty() {
            if skip_end(&mut fields.reader().clone()) {
                fields.leave();
                fields.bytes("end");
                break;
            }
            fields.entry("server", number);
            match fields.letter("separator")? {
                V4 => fields.address::<4>("address")?,
                V6 => fields.address::<16>("address")?,
                _ => return Err(fields.reader().error(Problem::Value)),
            };
            number += 1;
        }
        Ok(())
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        if read_request(request).is_some() && persona.manner == Manner::Malformed {
            return replies.push(|out| out.extend_from_slice(&[0; 64]));
        }
        self.serve_list(&Roll { servers: &master::neighbours(persona), style: Style::Paged }, request, replies);
    }

    fn serve_list(&self, roll: &Roll<'_>, request: &[u8], replies: &mut Replies) {
        let Some(extended) = read_request(request) else { return };
        let mut parts = roll.servers.chunks(PART).peekable();
        if parts.peek().is_none() {
            parts = [].chunks(1).peekable();
        }
        // Bounded by the roll; an empty one makes one datagram.
        loop {
            let part = parts.next().unwrap_or_default();
            let last = parts.peek().is_none();
            replies.push(|out| {
                out.extend_from_slice(a2s::HEADER);
                out.extend_from_slice(if extended { EXTENDED_REPLY } else { REPLY });
                for server in part {
                    out.push(V4);
                    master::put_entry(*server, out);
                }
                // A list without an end is what this protocol has of lists that go round and round.
                if last && roll.style != Style::Loop {
                    out.push(V4);
                    out.extend_from_slice(END);
                }
            });
            if last {
                return;
            }
        }
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        let Some(extended) = read_request(request) else { return };
        let wanted = if extended { EXTENDED_REPLY } else { REPLY };
        let answers = recorded
            .iter()
            .filter(|reply| reply.strip_prefix(a2s::HEADER).is_some_and(|body| body.starts_with(wanted)));
        answers.for_each(|reply| replies.push(|out| out.extend_from_slice(reply)));
    }
}

/// Skips the end of the list, if it comes next. `EOT` is also what 69.79.84.x begins with, in an entry of full width.
fn skip_end(reader: &mut Reader<'_>) -> bool {
    let rest = reader.rest().strip_prefix(&[V4]).unwrap_or_default();
    let is_end = rest.starts_with(END) || (rest.starts_with(b"EOT") && rest.len() < END.len());
    if is_end {
        reader.take_rest();
    }
    is_end
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parameters {
    game: String,
    protocol: u32,
    empty: bool,
    full: bool,
}

impl Default for Parameters {
    /// All servers of Quake III Arena 1.32.
    fn default() -> Self {
        Self { game: String::new(), protocol: 68, empty: true, full: true }
    }
}

impl Parameters {
    /// Reads `protocol=…&game=…&empty&full`; the error says what to write instead.
    fn read(text: &str) -> Result<Self, String> {
        let mut parameters = Self::default();
        for (key, value) in master::distinct_parameters(text)? {
            let is_wanted = || match value.as_str() {
                "" | "1" => Ok(true),
                "0" => Ok(false),
                _ => Err(format!("{key}: {value:?} is neither 0 nor 1")),
            };
            match key {
                "protocol" => {
                    parameters.protocol =
                        value.parse().map_err(|_| format!("protocol: {value:?} is not a number, as in 68"))?;
                }
                "game" if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) => {
                    return Err(format!("game: {value:?} is no name of a game: it has letters, digits and signs only"));
                }
                "game" => parameters.game = value,
                "empty" => parameters.empty = is_wanted()?,
                "full" => parameters.full = is_wanted()?,
                _ => return Err(master::unknown_parameter(key, "protocol, game, empty and full")),
            }
        }
        Ok(parameters)
    }
}

/// A reader that stands before the first entry of a reply.
fn read_header(data: &[u8]) -> Result<Reader<'_>, DecodeError> {
    let mut reader = a2s::message(data)?;
    if reader.skip(REPLY) || reader.skip(EXTENDED_REPLY) { Ok(reader) } else { Err(reader.error(Problem::Type)) }
}

/// Whether a request is an extended one, if it is a request.
fn read_request(request: &[u8]) -> Option<bool> {
    let words = request.strip_prefix(a2s::HEADER)?;
    let command = words.split(|byte| *byte == b' ').next()?;
    [(REQUEST, false), (EXTENDED_REQUEST, true)].into_iter().find(|(known, _)| *known == command).map(|(_, is)| is)
}

const REQUEST: &[u8] = b"getservers";
const EXTENDED_REQUEST: &[u8] = b"getserversExt";
const REPLY: &[u8] = b"getserversResponse";
const EXTENDED_REPLY: &[u8] = b"getserversExtResponse";
const V4: u8 = b'\\';
const V6: u8 = b'/';
const END: &[u8] = b"EOT\0\0\0";
/// Servers in a datagram of dpmaster's.
const PART: usize = 196;

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(parameters: &str) -> Ask<'_> {
        Ask { parameters, ..Ask::offline() }
    }

    fn request(session: &Session, parameters: &str) -> Vec<u8> {
        let mut out = Vec::new();
        DIALECTS[0].request(session, &ask(parameters), &mut out);
        out.split_off(4)
    }

    /// A datagram of `entries`, which may hold the end.
    fn reply(entries: &[u8]) -> Vec<u8> {
        [a2s::HEADER, REPLY, entries].concat()
    }

    const ONE: &[u8] = b"\\\x5C\x5C\x2F\x5C\x6D\x38";
    const TWO: &[u8] = b"\\EOT\x01\x6D\x38";
    const EOT: &[u8] = b"\\EOT\0\0\0";

    /// What is asked next after an answer of `datagrams`.
    fn round(session: &mut Session, found: &mut Found, datagrams: &[&[u8]]) -> Next {
        for data in datagrams {
            let step = DIALECTS[0].receive(session, &ask(""), &reply(data), found);
            assert_eq!(step, Ok(Step::Move(Next::Listen(LISTEN))));
        }
        DIALECTS[0].silence(session, &ask(""))
    }

    #[test]
    fn requests_say_what_the_url_says() {
        let mut session = Session::default();
        assert_eq!(request(&session, ""), b"getservers 68 empty full");
        assert_eq!(request(&session, "protocol=71&empty=0&full"), b"getservers 71 full");
        assert_eq!(request(&session, "game=Nexuiz&protocol=3"), b"getserversExt Nexuiz 3 empty full");
        assert_eq!(DIALECTS[0].silence(&mut session, &ask("game=Nexuiz&protocol=3")), Next::Send, "an old master");
        assert_eq!(request(&session, "game=Nexuiz&protocol=3"), b"getservers Nexuiz 3 empty full");
        for bad in ["protocol=q3", "game=", "game=a%20b", "empty=no", "region=all"] {
            assert!(DIALECTS[0].check_parameters(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_is_whole_when_a_second_answer_holds_all_of_it() {
        let (mut session, mut found) = (Session::default(), Found::default());
        // The end has overtaken the rest.
        assert_eq!(round(&mut session, &mut found, &[&[TWO, EOT].concat(), ONE]), Next::Send);
        assert_eq!(round(&mut session, &mut found, &[ONE, &[TWO, EOT].concat()]), Next::Finish);
        let all: Vec<_> = std::iter::from_fn(|| found.pop()).map(|address| address.to_string()).collect();
        assert_eq!(all, ["69.79.84.1:27960", "92.92.47.92:27960"], "bytes of separators and of EOT inside addresses");
    }

    #[test]
    fn what_was_lost_of_one_answer_is_taken_from_another() {
        let (mut session, mut found) = (Session::default(), Found::default());
        assert_eq!(round(&mut session, &mut found, &[ONE]), Next::Send);
        assert_eq!(round(&mut session, &mut found, &[&[TWO, EOT].concat()]), Next::Send);
        assert_eq!(round(&mut session, &mut found, &[ONE]), Next::Send, "one quiet answer may have lost the same");
        assert_eq!(round(&mut session, &mut found, &[ONE]), Next::Finish);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn ends_may_be_missing_or_short_and_tails_ragged() {
        let (mut session, mut found) = (Session::default(), Found::default());
        for next in [Next::Send, Next::Send, Next::Finish] {
            assert_eq!(round(&mut session, &mut found, &[ONE]), next);
        }
        let (mut session, mut found) = (Session::default(), Found::default());
        assert_eq!(round(&mut session, &mut found, &[&[ONE, b"\\EOT"].concat()]), Next::Send);
        assert_eq!(round(&mut session, &mut found, &[&[ONE, b"\\EOT"].concat()]), Next::Finish);
        assert_eq!(found.ragged(), 0);
        let _ = round(&mut session, &mut found, &[&[ONE, b"\\\x01\x02"].concat()]);
        assert_eq!((found.len(), found.ragged()), (1, 1));
    }
}
