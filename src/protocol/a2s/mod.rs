//! Valve's server queries (A2S) as Source and GoldSource servers answer them.
//!
//! ```text
//! request   FF FF FF FF 'T' "Source Engine Query" 00 [challenge:4]
//! reply     FF FF FF FF 'I' …                  the answer (see `info`)
//!           FF FF FF FF 'A' challenge:4        send again, with these four bytes at the end
//!           FF FF FF FF 'l' text 00            a message for the console: we are banned
//! ```
//!
//! The first request carries no challenge, because some servers drop one that does (and others drop none). A challenge
//! is taken at any step, since load-balanced servers mix both answers. Source: Valve's developer wiki, "Server queries";
//! deviations as met on real servers are noted where they are handled.

use crate::record::{Query, QueryStatus, ServerRecord, Status};
use crate::wire::{DecodeError, Problem, Reader};

use super::{Ask, Found, Ignored, Next, Persona, Protocol, Replies, Spec, Step};

mod info;

pub use info::Info;

/// A variant of the protocol.
#[derive(Debug)]
pub struct Dialect {
    spec: &'static Spec,
}

/// The variants of this file.
pub static DIALECTS: &[Dialect] = &[Dialect {
    spec: &Spec {
        name: "a2s",
        aliases: &["source", "valve", "goldsource"],
        summary: "Valve server queries: Source, GoldSource and many others on Steam",
        default_port: 27_015,
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
            "flags",
            "error",
        ],
    },
}];

/// The challenge in use, and what came of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session {
    challenge: Option<[u8; 4]>,
    /// Different challenges so far.
    rounds: u8,
    /// A challenge came although we had one: sending it back does not help.
    repeated: bool,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn request(&self, session: &Session, _ask: &Ask<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(INFO_REQUEST);
        out.extend_from_slice(session.challenge.as_ref().map_or(&[], |challenge| challenge));
    }

    fn receive(
        &self,
        session: &mut Session,
        _ask: &Ask<'_>,
        data: &[u8],
        _found: &mut Found,
    ) -> Result<Step, DecodeError> {
        let mut reader = message(data)?;
        match reader.u8()? {
            INFO if reader.is_empty() => Err(reader.error(Problem::Cut)),
            INFO => Ok(Step::Answer(Next::Finish)),
            CHALLENGE => {
                let challenge = reader.array::<4>()?;
                if !reader.is_empty() {
                    // The text answer to the connection word "getchallenge" (ReHLDS) begins with the same letter.
                    return Ok(Step::Ignore(Ignored::Unsolicited));
                }
                Ok(session.challenged(challenge))
            }
            PRINT if is_ban(reader.rest()) => Ok(Step::Answer(Next::Fail(Status::Banned))),
            PRINT | PLAYERS | RULES | PING => Ok(Step::Ignore(Ignored::Unsolicited)),
            _ => Err(DecodeError::new(Problem::Type, (reader.position() - 1) as u32)),
        }
    }

    fn silence(&self, session: &mut Session, _ask: &Ask<'_>) -> Next {
        if session.repeated { Next::Fail(Status::ChallengeOnly) } else { Next::Finish }
    }

    fn decode(&self, answers: &[&[u8]], _ask: &Ask<'_>, record: &mut ServerRecord) {
        for answer in answers {
            let Ok(mut reader) = message(answer) else { continue };
            match reader.u8() {
                Ok(INFO) => {
                    Info::parse(reader.rest()).fill(record);
                    record.set_query(Query::Info, QueryStatus::Ok);
                }
                Ok(PRINT) => {
                    let text = reader.cstr().unwrap_or_else(|_| reader.rest());
                    record.flags |= record.error.set(text.trim_ascii());
                }
                _ => {}
            }
        }
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        let Some(given) = request.strip_prefix(INFO_REQUEST) else { return };
        if persona.malformed {
            replies.push(|out| out.extend_from_slice(&[0; 64]));
        } else if persona.banned {
            replies.push(|out| put_message(out, PRINT, BAN_TEXT));
        } else if let Some(challenge) = persona.challenge.filter(|challenge| given != challenge) {
            replies.push(|out| put_message(out, CHALLENGE, &challenge));
        } else {
            replies.push(|out| {
                put_message(out, INFO, &[]);
                Info::emit_persona(persona, out);
            });
        }
    }
}

impl Session {
    /// A challenge came. One equal to that in use is a second answer to the first request: it is not answered, or two
    /// challenges would double every later datagram; if the answer was lost, the retry carries the challenge.
    fn challenged(&mut self, challenge: [u8; 4]) -> Step {
        self.repeated = self.challenge.is_some();
        if self.challenge == Some(challenge) {
            return Step::Ignore(Ignored::Duplicate);
        }
        if self.rounds == MAX_ROUNDS {
            return Step::Move(Next::Fail(Status::ChallengeLoop));
        }
        self.challenge = Some(challenge);
        self.rounds += 1;
        Step::Move(Next::Send)
    }
}

/// A reader behind the header. Garry's Mod servers repeat the header; every repeat is skipped.
fn message(data: &[u8]) -> Result<Reader<'_>, DecodeError> {
    let mut reader = Reader::new(data);
    if !reader.skip(HEADER) {
        return Err(reader.error(Problem::Header));
    }
    while reader.skip(HEADER) {} // ends with the datagram at the latest
    Ok(reader)
}

fn put_message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.extend_from_slice(HEADER);
    out.push(kind);
    out.extend_from_slice(body);
}

fn is_ban(text: &[u8]) -> bool {
    text.windows(6).any(|word| word.eq_ignore_ascii_case(b"banned"))
}

/// Most different challenges that are answered in one query; servers with two rounds exist (Rust, behind proxies).
const MAX_ROUNDS: u8 = 4;

/// Before every message that is not split.
const HEADER: &[u8] = b"\xFF\xFF\xFF\xFF";
/// `A2S_INFO` without a challenge, 25 bytes.
const INFO_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
/// `S2A_INFO_SRC`.
const INFO: u8 = b'I';
/// `S2C_CHALLENGE`.
const CHALLENGE: u8 = b'A';
/// `S2A_PLAYER`.
const PLAYERS: u8 = b'D';
/// `S2A_RULES`.
const RULES: u8 = b'E';
/// `A2A_ACK`, the answer to a ping.
const PING: u8 = b'j';
/// `A2C_PRINT`.
const PRINT: u8 = b'l';
/// What `SV_SendBan` of the GoldSource engine prints.
const BAN_TEXT: &[u8] = b"You have been banned from this server.\n\0";

#[cfg(test)]
mod tests;
