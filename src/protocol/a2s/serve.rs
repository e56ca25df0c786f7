//! The simulated server's side: what each engine answers, whole or in pieces.

use std::io::Write;

use bzip2::Compression;
use bzip2::write::BzEncoder;

use super::details::{Details, Mod};
use super::split::{self, COMPRESSED, SPLIT_HEADER};
use super::{
    CHALLENGE, DETAILS, GETCHALLENGE, INFO, INFO_REQUEST, Info, NO_CHALLENGE, PING, PING_REQUEST, PLAYERS,
    PLAYERS_REQUEST, PRINT, RULES, RULES_REQUEST, message, players, put_message, rules,
};
use crate::protocol::{GameEngine, Manner, Persona, Replies, ShortText};
use crate::record::{Flags, Player};
use crate::rng::mix;

/// Answers `request` as the server `persona` would.
pub(super) fn serve(persona: &Persona, request: &[u8], replies: &mut Replies) {
    let Some((asked, given)) = told_apart(request) else { return };
    match persona.manner {
        Manner::Malformed => return replies.push(|out| out.extend_from_slice(&[0; 64])),
        Manner::Banned => return push_ban(replies),
        Manner::ChallengeOnly => return push_challenge(persona.challenge.unwrap_or([7; 4]), replies),
        Manner::ChallengeLoop => {
            let last = given.iter().fold(u64::from(persona.index), |all, byte| all << 8 | u64::from(*byte));
            return push_challenge((mix(last) as u32).to_le_bytes(), replies);
        }
        Manner::Sound => {}
    }
    let wanted = persona.challenge.filter(|challenge| given != challenge);
    match (asked, wanted) {
        // Source games answer no pings today.
        (Asked::Ping, _) if persona.engine.is_gold_source() => replies.push(|out| put_message(out, PING, b"\0")),
        (Asked::Ping, _) => {}
        (Asked::Getchallenge, _) => push_challenge(persona.challenge.unwrap_or([7; 4]), replies),
        (Asked::Players | Asked::Rules, Some(_)) if given == NO_CHALLENGE && needs_getchallenge(persona) => {}
        (_, Some(challenge)) => push_challenge(challenge, replies),
        (Asked::Info, None) => push_info(persona, replies),
        (Asked::Players, None) => push_players(persona, replies),
        (Asked::Rules, None) => push_rules(persona, replies),
    }
}

/// Answers `request` out of what a server once sent: with the replies of the type that was asked for, and with challenges
/// where there is nothing else.
pub(super) fn replay(request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
    let Some((asked, given)) = told_apart(request) else { return };
    let kinds: &[u8] = match asked {
        Asked::Info => &[INFO, DETAILS],
        Asked::Players => &[PLAYERS],
        Asked::Rules => &[RULES],
        Asked::Ping => &[PING],
        Asked::Getchallenge => &[],
    };
    let all = kinds_of(recorded);
    // A server that gave one challenge, and nothing when it was sent back, gives nothing.
    let challenges = all.iter().filter(|kind| **kind == Some(CHALLENGE)).count();
    let gives_challenge = given.is_empty() || given == NO_CHALLENGE || challenges > 1;
    let informs = all.iter().any(|kind| matches!(kind, Some(INFO | DETAILS)));
    let mut strays = 0;
    for (reply, kind) in recorded.iter().zip(all) {
        let answers = match kind {
            Some(CHALLENGE) if informs => {
                // Behind an answer it is one that nobody asked for.
                strays += 1;
                asked == Asked::Info && gives_challenge && strays == 1
            }
            Some(CHALLENGE) => gives_challenge,
            Some(kind @ (INFO | DETAILS | PLAYERS | RULES | PING)) => kinds.contains(&kind),
            // A ban, and garbage.
            _ => true,
        };
        if answers {
            replies.push(|out| out.extend_from_slice(reply));
        }
    }
}

/// The type of the message that each of the recorded datagrams is, or is a piece of.
pub(in crate::protocol) fn kinds_of(recorded: &[&[u8]]) -> Vec<Option<u8>> {
    let of_pieces = split::kinds(recorded);
    let kind = |reply: &&[u8]| match split::Piece::read(reply) {
        Ok(piece) => of_pieces.get(&piece.id).copied(),
        Err(_) => message(reply).ok()?.u8().ok(),
    };
    recorded.iter().map(kind).collect()
}

/// A request, without what is given with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Info,
    Players,
    Rules,
    Ping,
    Getchallenge,
}

/// What is asked, and the challenge that is given with it.
fn told_apart(request: &[u8]) -> Option<(Asked, &[u8])> {
    let requests = [
        (INFO_REQUEST, Asked::Info),
        (PLAYERS_REQUEST, Asked::Players),
        (RULES_REQUEST, Asked::Rules),
        (PING_REQUEST, Asked::Ping),
        (GETCHALLENGE, Asked::Getchallenge),
    ];
    let (asked, given) = requests.into_iter().find_map(|(begin, asked)| Some((asked, request.strip_prefix(begin)?)))?;
    let expected = match asked {
        Asked::Info => given.is_empty() || given.len() == 4,
        Asked::Players | Asked::Rules => given.len() == 4,
        Asked::Ping | Asked::Getchallenge => given.is_empty(),
    };
    expected.then_some((asked, given))
}

/// True for servers that give challenges only to those who ask for nothing else.
fn needs_getchallenge(persona: &Persona) -> bool {
    persona.engine == GameEngine::GoldSourceLegacy && persona.pick(30, 4) == 0
}

fn push_challenge(challenge: [u8; 4], replies: &mut Replies) {
    replies.push(|out| put_message(out, CHALLENGE, &challenge));
}

/// The message of a server that has banned the client.
pub(in crate::protocol) fn push_ban(replies: &mut Replies) {
    replies.push(|out| put_message(out, PRINT, BAN_TEXT));
}

/// The players, in pieces if they do not fit in one datagram.
pub(in crate::protocol) fn push_players(persona: &Persona, replies: &mut Replies) {
    push_message(persona, PLAYERS, |out| put_players(persona, out), replies);
}

/// The rules, in pieces if they do not fit in one datagram.
pub(in crate::protocol) fn push_rules(persona: &Persona, replies: &mut Replies) {
    push_message(persona, RULES, |out| put_rules(persona, out), replies);
}

fn push_info(persona: &Persona, replies: &mut Replies) {
    let old = matches!(persona.engine, GameEngine::GoldSourceDual | GameEngine::GoldSourceLegacy);
    if old {
        replies.push(|out| {
            put_message(out, DETAILS, &[]);
            put_details(persona, out);
        });
    }
    if persona.engine == GameEngine::GoldSourceDual {
        push_players(persona, replies);
    }
    if persona.engine != GameEngine::GoldSourceLegacy {
        replies.push(|out| {
            put_message(out, INFO, &[]);
            put_info(persona, out);
        });
    }
}

/// Writes the body of an `I`.
fn put_info(persona: &Persona, out: &mut Vec<u8>) {
    let name = persona.name();
    let (folder, game, app_id) = game(persona);
    let keywords = ShortText::format(format_args!("farm,secure,id{}", persona.index));
    Info {
        protocol: Some(if persona.engine.is_gold_source() { 48 } else { 17 }),
        name: Some(name.as_bytes()),
        map: Some(persona.map().as_bytes()),
        folder: Some(folder.as_bytes()),
        game: Some(game.as_bytes()),
        app_id: Some(app_id as u16),
        players: Some(persona.players()),
        max_players: Some(persona.max_players()),
        bots: Some(persona.bots()),
        server_type: Some(server_type(persona)),
        os: Some(os(persona)),
        password: Some(u8::from(persona.password())),
        vac: Some(u8::from(persona.pick(24, 5) > 0)),
        ship: (persona.engine == GameEngine::TheShip).then_some([1, 3, 3]),
        version: Some(b"1.0.0.1"),
        edf: EDFS[persona.pick(21, EDFS.len() as u64) as usize],
        port: Some(persona.port),
        steam_id: Some(90_000_000_000_000_000 + u64::from(persona.index)),
        spectator_port: Some(persona.port.wrapping_add(5)),
        spectator_name: Some(b"SourceTV"),
        keywords: Some(keywords.as_bytes()),
        game_id: Some(u64::from(app_id)),
        flags: Flags::NONE,
    }
    .emit(out);
}

/// Writes the body of an `m`.
pub(in crate::protocol) fn put_details(persona: &Persona, out: &mut Vec<u8>) {
    details(persona, persona.name().as_bytes(), |details| details.emit(out));
}

/// Writes the body of a `C`.
pub(in crate::protocol) fn put_short(persona: &Persona, out: &mut Vec<u8>) {
    details(persona, persona.name().as_bytes(), |details| details.emit_short(out));
}

fn details(persona: &Persona, name: &[u8], write: impl FnOnce(&Details<'_>)) {
    let (folder, game, _) = GOLD_SOURCE_GAMES[persona.pick(20, GOLD_SOURCE_GAMES.len() as u64) as usize];
    let known = Mod {
        url: Some(b"www.example.org"),
        download_url: Some(b""),
        version: 1,
        size: 184_000_000,
        kind: 0,
        own_library: 1,
    };
    let mods = persona.pick(25, 3);
    write(&Details {
        // What such servers say about themselves.
        address: Some(b"127.0.0.1:27015"),
        name: Some(name),
        map: Some(persona.map().as_bytes()),
        folder: Some(folder.as_bytes()),
        game: Some(game.as_bytes()),
        players: Some(persona.players()),
        max_players: Some(persona.max_players()),
        protocol: Some(47),
        server_type: Some(server_type(persona)),
        os: Some(os(persona)),
        password: Some(u8::from(persona.password())),
        is_mod: Some(u8::from(mods > 0)),
        modification: (mods == 2).then_some(known),
        vac: Some(u8::from(persona.pick(24, 5) > 0)),
        bots: Some(persona.bots()),
        flags: Flags::NONE,
    });
}

/// Writes the body of a `D`.
fn put_players(persona: &Persona, out: &mut Vec<u8>) {
    let names: Vec<ShortText> = (0..persona.players().into()).map(|number| persona.player_name(number)).collect();
    let ship = persona.engine == GameEngine::TheShip;
    let all = (0..).zip(&names).map(|(number, name)| Player {
        name: name.as_bytes(),
        index: Some(if persona.engine.is_gold_source() { number as u8 + 1 } else { 0 }),
        score: Some(persona.score(number)),
        duration_s: Some(persona.seconds(number)),
        deaths: ship.then_some(number % 7),
        money: ship.then_some(2_500 + number),
        ..Player::default()
    });
    players::emit(all, out);
}

/// Writes the body of an `E`.
fn put_rules(persona: &Persona, out: &mut Vec<u8>) {
    let all: Vec<(ShortText, ShortText)> = (0..persona.rules()).map(|number| persona.rule(number)).collect();
    rules::emit(all.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())), out);
}

/// Sends a message, in pieces if it is too long for one datagram.
fn push_message(persona: &Persona, kind: u8, body: impl FnOnce(&mut Vec<u8>), replies: &mut Replies) {
    let mut message = Vec::new();
    put_message(&mut message, kind, &[]);
    body(&mut message);
    let gold_source = persona.engine.is_gold_source();
    let room = if gold_source { GOLD_SOURCE_PAYLOAD } else { SOURCE_PAYLOAD };
    if message.len() <= room {
        return replies.push(|out| out.extend_from_slice(&message));
    }
    let mut id = mix(persona.seed ^ u64::from(kind)) as u32 & !COMPRESSED;
    if persona.bzip2 && !gold_source {
        id |= COMPRESSED;
        message = compressed(&message);
    }
    // Servers of before 2007 send no size.
    let sized = persona.pick(31, 8) > 0;
    let total = message.len().div_ceil(room) as u8;
    for (number, payload) in (0_u8..).zip(message.chunks(room)) {
        replies.push(|out| {
            out.extend_from_slice(SPLIT_HEADER);
            out.extend_from_slice(&id.to_le_bytes());
            if gold_source {
                out.push(number << 4 | total);
            } else {
                out.extend([total, number]);
            }
            if !gold_source && sized {
                out.extend_from_slice(&(room as u16).to_le_bytes());
            }
            out.extend_from_slice(payload);
        });
    }
}

/// Size and checksum of `message`, and then the message as a bzip2 stream.
fn compressed(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::from((message.len() as u32).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(message).to_le_bytes());
    let mut encoder = BzEncoder::new(out, Compression::fast());
    encoder.write_all(message).and_then(|()| encoder.finish()).expect("memory takes everything")
}

fn game(persona: &Persona) -> (&'static str, &'static str, u32) {
    let games: &[_] = match persona.engine {
        GameEngine::TheShip => &[("ship", "The Ship", 2400)],
        engine if engine.is_gold_source() => &GOLD_SOURCE_GAMES,
        _ => &GAMES,
    };
    games[persona.pick(20, games.len() as u64) as usize]
}

fn server_type(persona: &Persona) -> u8 {
    b"ddddl"[persona.pick(22, 5) as usize]
}

fn os(persona: &Persona) -> u8 {
    b"llw"[persona.pick(23, 3) as usize]
}

/// Folder, game and application id of the simulated servers.
const GAMES: [(&str, &str, u32); 7] = [
    ("cstrike", "Counter-Strike: Source", 240),
    ("tf", "Team Fortress", 440),
    ("csgo", "Counter-Strike 2", 730),
    ("left4dead2", "Left 4 Dead 2", 550),
    ("garrysmod", "Sandbox", 4000),
    ("rust", "Rust", 252_490),
    ("dayz", "DayZ", 221_100),
];
const GOLD_SOURCE_GAMES: [(&str, &str, u32); 3] =
    [("valve", "Half-Life", 70), ("cstrike", "Counter-Strike", 10), ("tfc", "Team Fortress Classic", 20)];
/// Which extra fields the simulated servers send; most send those that most real ones do.
const EDFS: [Option<u8>; 8] =
    [Some(0xB1), Some(0xB1), Some(0xB1), Some(0xB1), Some(0xF1), Some(0x91), Some(0x80), None];
/// Bytes of payload in a piece of Source and of GoldSource.
const SOURCE_PAYLOAD: usize = 1248;
const GOLD_SOURCE_PAYLOAD: usize = 1391;
/// What `SV_SendBan` of the GoldSource engine prints.
const BAN_TEXT: &[u8] = b"You have been banned from this server.\n\0";
