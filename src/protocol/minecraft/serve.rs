//! The simulated server's side, and recorded servers that answer once more.

use super::stat::{Form, LAST, PAIRS, PLAYERS, SPLITNUM};
use super::{Dialect, HANDSHAKE, Message, REQUEST, STAT};
use crate::protocol::{Fields, Manner, Persona, Replies, Scribe, ShortText};
use crate::rng::mix;
use crate::wire::{DecodeError, Problem, Reader, put_cstr};

/// A request.
struct Asked {
    session: [u8; 4],
    /// What is asked, after the handshake.
    stat: Option<Stat>,
}

/// A request for a stat.
struct Stat {
    token: i32,
    padding: Option<[u8; 4]>,
}

/// Answers `request` as the server `persona` would.
pub(super) fn serve(dialect: &Dialect, persona: &Persona, request: &[u8], replies: &mut Replies) {
    let Some(Asked { session, stat }) = asked(dialect, request, persona.alone) else { return };
    let token = persona.challenge.map_or(0, i32::from_le_bytes);
    match (persona.manner, stat) {
        // Whoever is banned gets no answer.
        (Manner::Banned, _) => {}
        (Manner::Malformed, _) => replies.push(|out| out.extend_from_slice(&[0; 64])),
        (Manner::ChallengeLoop, Some(stat)) => push_token(session, mix(stat.token as u64) as i32, replies),
        (_, None) | (Manner::ChallengeOnly, _) => push_token(session, token, replies),
        (_, Some(stat)) if stat.token != token => {}
        (_, Some(Stat { padding: None, .. })) => replies.push(|out| {
            put_header(STAT, session, out);
            put_basic(persona, out);
        }),
        (_, Some(_)) => push_full(dialect, persona, session, replies),
    }
}

/// Answers `request` out of what a server once sent. A recording without a token gives 0, and one without a basic stat
/// gives the full one.
pub(super) fn replay(dialect: &Dialect, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
    let Some(Asked { session, stat }) = asked(dialect, request, true) else { return };
    let read = |reply: &[u8]| dialect.read(reply).ok().map(|(_, message)| message);
    let has = |wanted| recorded.iter().any(|reply| read(reply) == Some(Message::Stat(wanted)));
    let wants_basic = stat.as_ref().is_some_and(|stat| stat.padding.is_none()) && has(Form::Basic);
    let mut gave_token = false;
    for reply in recorded {
        let message = read(reply);
        let answers = match message {
            Some(Message::Token(_)) => stat.is_none(),
            Some(Message::Stat(form)) => stat.is_some() && (form == Form::Basic) == wants_basic,
            None => true,
        };
        if answers {
            gave_token |= matches!(message, Some(Message::Token(_)));
            replies.push(|out| {
                let at = out.len() + 1;
                out.extend_from_slice(reply);
                if message.is_some() {
                    out[at..at + session.len()].copy_from_slice(&session);
                }
            });
        }
    }
    if stat.is_none() && !gave_token {
        push_token(session, 0, replies);
    }
}

/// Takes apart what follows the header of a request.
pub(super) fn dissect_request<S: Scribe>(fields: &mut Fields<'_, S>) -> (&'static str, Result<(), DecodeError>) {
    match request(fields) {
        Ok(Asked { stat: None, .. }) => ("request for a token", Ok(())),
        Ok(Asked { stat: Some(Stat { padding: None, .. }), .. }) => ("request for the basic stat", Ok(())),
        Ok(_) => ("request for the full stat", Ok(())),
        Err(error) => ("request", Err(error)),
    }
}

/// What is asked, if `request` is one that servers of `dialect` answer. All answer handshakes; a stat is theirs by its
/// padding, which Minecraft servers do not look at: one that is not `alone` leaves to others what is for them.
fn asked(dialect: &Dialect, request: &[u8], alone: bool) -> Option<Asked> {
    let asked = self::request(&mut Fields::silent(Reader::new(request.strip_prefix(REQUEST)?))).ok()?;
    let others = super::DIALECTS.iter().filter(|other| other.padding != dialect.padding);
    let is_ours = match asked.stat {
        Some(Stat { padding: Some(padding), .. }) if dialect.has_basic => {
            alone || others.map(|o| o.padding).all(|o| o != padding)
        }
        Some(Stat { padding, .. }) => padding == Some(dialect.padding) || (padding.is_none() && dialect.has_basic),
        None => true,
    };
    is_ours.then_some(asked)
}

/// Reads what follows the header of a request. Some clients add zeros to a handshake.
fn request<S: Scribe>(fields: &mut Fields<'_, S>) -> Result<Asked, DecodeError> {
    let kind = fields.u8("type")?;
    let session = fields.array("session")?;
    let stat = match kind {
        HANDSHAKE => {
            let zeros = fields.reader().rest();
            if !zeros.is_empty() {
                fields.bytes("padding");
            }
            if zeros.len() > 4 || zeros.iter().any(|byte| *byte != 0) {
                return Err(fields.reader().error(Problem::Value));
            }
            None
        }
        STAT => {
            let token = i32::from_be_bytes(fields.array("token")?);
            let padding = if fields.reader().is_empty() { None } else { Some(fields.array("padding")?) };
            Some(Stat { token, padding })
        }
        _ => return Err(fields.reader().error(Problem::Type)),
    };
    if fields.reader().is_empty() { Ok(Asked { session, stat }) } else { Err(fields.reader().error(Problem::Value)) }
}

fn put_header(kind: u8, session: [u8; 4], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&session);
}

fn push_token(session: [u8; 4], token: i32, replies: &mut Replies) {
    replies.push(|out| {
        put_header(HANDSHAKE, session, out);
        put_cstr(out, token.to_string().as_bytes());
    });
}

fn put_basic(persona: &Persona, out: &mut Vec<u8>) {
    put_cstr(out, persona.name().as_bytes());
    put_cstr(out, b"SMP");
    put_cstr(out, persona.map().as_bytes());
    put_cstr(out, persona.players().to_string().as_bytes());
    put_cstr(out, persona.max_players().to_string().as_bytes());
    // One implementation writes text.
    if persona.pick(61, 8) == 0 {
        put_cstr(out, persona.port.to_string().as_bytes());
    } else {
        out.extend_from_slice(&persona.port.to_le_bytes());
    }
    put_cstr(out, b"127.0.0.1");
}

/// Sends the full stat, in pieces if the server is one that does.
fn push_full(dialect: &Dialect, persona: &Persona, session: [u8; 4], replies: &mut Replies) {
    let prefix: &[u8] = match persona.pick(62, 3) {
        _ if dialect.is_just_cause => b"splitnum\0\0",
        0 if dialect.has_basic => b"GeyserMC\0\x80",
        1 if dialect.has_basic => &[0; 10],
        _ => b"splitnum\0\x80",
    };
    let cuts = persona.split && !dialect.has_basic && !dialect.is_just_cause;
    let whole = (!cuts).then_some(prefix);
    let mut writer = Writer { replies, session, whole, piece: vec![PAIRS], number: 0 };
    for (key, value) in pairs(dialect, persona) {
        writer.pair(&key, &value);
    }
    writer.piece.push(0);
    if dialect.is_just_cause {
        put_just_cause(persona, &mut writer.piece);
    } else {
        writer.piece.push(PLAYERS);
        writer.field("player_", (0..persona.players().into()).map(|number| player_name(persona, number)));
    }
    if !dialect.has_basic && !dialect.is_just_cause {
        let score = |number| ShortText::format(format_args!("{}", persona.score(number)));
        writer.field("score_", (0..persona.players().into()).map(score));
    }
    writer.send(LAST);
}

/// The keys and values of a server.
fn pairs(dialect: &Dialect, persona: &Persona) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::new();
    let mut put = |key: &str, value: &[u8]| pairs.push((key.as_bytes().to_vec(), value.to_vec()));
    let text = |number: u16| number.to_string().into_bytes();
    let rules = (0..persona.rules()).map(|number| persona.rule(number));
    if dialect.has_basic {
        put("hostname", &["§a§l".as_bytes(), persona.name().as_bytes()].concat());
        put("gametype", b"SMP");
        put("game_id", b"MINECRAFT");
        put("version", b"1.21.4");
        let mut plugins = b"Paper on 1.21.4-R0.1-SNAPSHOT: ".to_vec();
        rules.for_each(|(name, value)| plugins.extend([name.as_bytes(), b" ", value.as_bytes(), b"; "].concat()));
        put("plugins", &plugins);
        put("map", persona.map().as_bytes());
        put("hostip", b"127.0.0.1");
    } else {
        if dialect.is_just_cause {
            put("description", b"simulated");
            put("version", b"913");
            put("password", if persona.password() { b"True" } else { b"False" });
        } else {
            put("OwningPlayerId", b"830");
            put("EngineVersion", b"3810");
            put("p1073741825", persona.map().as_bytes());
            put("p1073741826", b"UTGame.UTDeathmatch");
            put("p268435703", &text(persona.bots().into()));
            put("bIsDedicated", b"True");
            put("s7", &text(persona.password().into()));
        }
        put("hostname", persona.name().as_bytes());
        rules.for_each(|(name, value)| put(&String::from_utf8_lossy(name.as_bytes()), value.as_bytes()));
    }
    put("numplayers", &text(persona.players().into()));
    put("maxplayers", &text(persona.max_players().into()));
    if !dialect.is_just_cause {
        put("hostport", &text(persona.port));
    }
    pairs
}

/// A list of values cannot hold a blank one.
fn player_name(persona: &Persona, number: u32) -> ShortText {
    let name = persona.player_name(number);
    if name.as_bytes().is_empty() { ShortText::format(format_args!("Player {number}")) } else { name }
}

fn put_just_cause(persona: &Persona, out: &mut Vec<u8>) {
    out.extend_from_slice(&u16::from(persona.players()).to_be_bytes());
    for number in 0..persona.players().into() {
        put_cstr(out, persona.player_name(number).as_bytes());
        put_cstr(out, format!("STEAM_0:1:{number}").as_bytes());
        out.extend_from_slice(&(number as u16 * 3 + 20).to_be_bytes());
    }
}

/// Writes a full stat, and sends pieces of it as they become full.
struct Writer<'a> {
    replies: &'a mut Replies,
    session: [u8; 4],
    /// What stands before it if it is not sent in pieces.
    whole: Option<&'static [u8]>,
    /// From its section on.
    piece: Vec<u8>,
    number: u8,
}

impl Writer<'_> {
    fn pair(&mut self, key: &[u8], value: &[u8]) {
        if self.is_full(key.len() + value.len()) {
            // Real servers cut anywhere, and send what they have cut once more.
            let cut = key.len() + value.len() / 2;
            self.piece.extend_from_slice(&[key, b"\0", value].concat()[..cut]);
            self.next(PAIRS);
        }
        put_cstr(&mut self.piece, key);
        put_cstr(&mut self.piece, value);
    }

    fn field(&mut self, name: &str, values: impl Iterator<Item = ShortText>) {
        put_cstr(&mut self.piece, name.as_bytes());
        self.piece.push(0);
        for (number, value) in (0_u8..).zip(values) {
            if self.is_full(value.as_bytes().len()) {
                self.next(PLAYERS);
                put_cstr(&mut self.piece, name.as_bytes());
                self.piece.push(number);
            }
            put_cstr(&mut self.piece, value.as_bytes());
        }
        self.piece.push(0);
    }

    fn is_full(&self, more: usize) -> bool {
        self.whole.is_none() && self.piece.len() + more > ROOM
    }

    /// Sends the piece and begins the next.
    fn next(&mut self, section: u8) {
        self.send(0);
        self.number += 1;
        self.piece.clear();
        self.piece.push(section);
    }

    fn send(&mut self, last: u8) {
        self.replies.push(|out| {
            put_header(STAT, self.session, out);
            match self.whole {
                Some(prefix) => out.extend_from_slice(prefix),
                None => out.extend_from_slice(&[SPLITNUM, &[self.number | last]].concat()),
            }
            out.extend_from_slice(&self.piece);
        });
    }
}

/// Bytes of a piece after its number: few, so that there are several.
const ROOM: usize = 700;
