//! The simulated server's side: what ioquake3 and FiveM answer, and recorded servers once more.

use std::io::Write;

use crate::protocol::{Fields, Manner, Persona, Replies, ShortText, a2s};
use crate::wire::Reader;

use super::message::{self, Entry, Word};

/// How a server arranges what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Variables, then players.
    Quake,
    /// Two variables, players, then the other variables.
    FiveM,
}

/// Answers `request` as the server `persona` would.
pub(super) fn serve(layout: Layout, persona: &Persona, request: &[u8], replies: &mut Replies) {
    let Some((word, token)) = told_apart(request) else { return };
    match (persona.manner, word) {
        (Manner::Malformed, _) => replies.push(|out| out.extend_from_slice(&[0; 64])),
        (Manner::Banned, _) => replies.push(|out| put(out, format_args!("print\nYou are banned from this server.\n"))),
        (_, Word::GetInfo) => replies.push(|out| put_info(layout, persona, token, out)),
        // One in four has it switched off, as all have that nobody has set up.
        _ if layout == Layout::FiveM && persona.pick(50, 4) == 0 => {}
        _ => replies.push(|out| put_status(layout, persona, out)),
    }
}

/// Answers `request` out of what a server once sent, with the token of the request where the recorded one was.
pub(super) fn replay(request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
    let Some((asked, token)) = told_apart(request) else { return };
    for reply in recorded {
        let mut fields = Fields::silent(Reader::new(message::trim(reply)));
        match (asked, message::read_word(&mut fields)) {
            (Word::GetInfo, Ok(Word::InfoResponse)) => replies.push(|out| put_with_token(reply, token, fields, out)),
            (Word::GetInfo, Ok(Word::StatusResponse)) | (Word::GetStatus, Ok(Word::InfoResponse)) => {}
            // A ban, and garbage.
            _ => replies.push(|out| out.extend_from_slice(reply)),
        }
    }
}

/// What is asked, and the token that is given with it.
fn told_apart(request: &[u8]) -> Option<(Word, &[u8])> {
    let mut fields = Fields::silent(Reader::new(message::trim(request)));
    let word = message::read_word(&mut fields).ok()?;
    let given = fields.reader().rest().split(u8::is_ascii_whitespace).next().unwrap_or_default();
    matches!(word, Word::GetInfo | Word::GetStatus).then_some((word, given))
}

/// Writes `reply`, an info whose variables `body` reads, with `token` as its challenge.
fn put_with_token(reply: &[u8], token: &[u8], mut body: Fields<'_, ()>, out: &mut Vec<u8>) {
    let mut place = None;
    let begin = body.reader().position();
    let mut at = begin;
    message::read(&mut body, Word::InfoResponse, |entry| {
        if let Entry::Variable { key, value } = entry {
            let value_at = at + key.len() + 2;
            if key == b"challenge" && place.is_none() {
                place = Some(value_at..value_at + message::trim(value).len());
            }
            at = value_at + value.len();
        }
    });
    match place.filter(|_| !token.is_empty()) {
        Some(place) => {
            out.extend_from_slice(reply.get(..place.start).unwrap_or_default());
            out.extend_from_slice(token);
            out.extend_from_slice(reply.get(place.end..).unwrap_or_default());
        }
        None => out.extend_from_slice(reply),
    }
}

fn put_info(layout: Layout, persona: &Persona, token: &[u8], out: &mut Vec<u8>) {
    let (players, slots) = (persona.players(), persona.max_players());
    let name = persona.name();
    put(out, format_args!("infoResponse\n"));
    let mut variable = |key: &str, value: &[u8]| put_variable(out, key.as_bytes(), value);
    let number = |number: u8| ShortText::format(format_args!("{number}"));
    if layout == Layout::FiveM {
        variable("sv_maxclients", number(slots).as_bytes());
        variable("clients", number(players).as_bytes());
        // Old versions sent a NUL after it.
        let challenge = [token, if persona.pick(51, 2) == 0 { b"\0" } else { b"" }].concat();
        variable("challenge", &challenge);
        variable("gamename", b"CitizenFX");
        variable("protocol", b"4");
        variable("hostname", name.as_bytes());
        variable("gametype", b"Freeroam");
        variable("mapname", persona.map().as_bytes());
        variable("iv", b"1754839293");
        return;
    }
    variable("voip", b"opus");
    variable("g_needpass", if persona.password() { b"1" } else { b"0" });
    variable("sv_maxclients", number(slots).as_bytes());
    variable("g_humanplayers", number(players - persona.bots()).as_bytes());
    variable("clients", number(players).as_bytes());
    variable("mapname", persona.map().as_bytes());
    variable("hostname", name.as_bytes());
    variable("protocol", b"71");
    variable("gamename", b"Quake3Arena");
    if !token.is_empty() {
        variable("challenge", token);
    }
}

fn put_status(layout: Layout, persona: &Persona, out: &mut Vec<u8>) {
    put(out, format_args!("statusResponse\n"));
    let number = |number: u8| ShortText::format(format_args!("{number}"));
    put_variable(out, b"sv_maxclients", number(persona.max_players()).as_bytes());
    if layout == Layout::FiveM {
        put_variable(out, b"clients", number(persona.players()).as_bytes());
        out.push(b'\n');
        put_players(layout, persona, out);
        put_variable(out, b"gamename", b"gta5");
        put_variable(out, b"mapname", persona.map().as_bytes());
    }
    put_variable(out, b"sv_hostname", persona.name().as_bytes());
    if layout == Layout::Quake {
        put_variable(out, b"version", b"ioq3 1.36 linux-x86_64 Jan  8 2023");
        put_variable(out, b"com_gamename", b"Quake3Arena");
        put_variable(out, b"mapname", persona.map().as_bytes());
    }
    for (name, value) in (0..persona.rules()).map(|number| persona.rule(number)) {
        put_variable(out, name.as_bytes(), value.as_bytes());
    }
    if layout == Layout::Quake {
        out.push(b'\n');
        put_players(layout, persona, out);
    }
}

/// FiveM knows neither scores nor pings.
fn put_players(layout: Layout, persona: &Persona, out: &mut Vec<u8>) {
    for number in 0..u32::from(persona.players()) {
        let (score, ping) = match layout {
            Layout::FiveM => (0, 0),
            Layout::Quake if number < u32::from(persona.bots()) => (persona.score(number), 0),
            Layout::Quake => (persona.score(number), 20 + persona.pick(4_000 + u64::from(number), 200)),
        };
        put_text(out, format_args!("{score} {ping} \""));
        out.extend_from_slice(persona.player_name(number).as_bytes());
        out.extend_from_slice(b"\"\n");
    }
}

fn put_variable(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.push(b'\\');
    out.extend_from_slice(key);
    out.push(b'\\');
    out.extend_from_slice(value);
}

/// Writes the header and `text`.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.extend_from_slice(a2s::HEADER);
    put_text(out, text);
}

fn put_text(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("memory does not fail");
}
