//! The body of `S2A_INFO_SRC`: what a Source server says of itself.
//!
//! ```text
//! protocol:1 name 00 map 00 folder 00 game 00 app_id:2 players:1 max_players:1 bots:1 type:1 os:1 password:1 vac:1
//! [mode:1 witnesses:1 duration:1]              The Ship only
//! version 00
//! [edf:1  [80: port:2] [10: steam_id:8] [40: spectator_port:2 spectator_name 00] [20: keywords 00] [01: game_id:8]]
//! ```
//!
//! Numbers are little-endian. The order of the extra fields is that of the wire, not of their bits. Reading never
//! fails: servers leave out the EDF byte, set its bits and send nothing, or cut the datagram anywhere; what came is
//! kept, and flags say what was odd.

use crate::protocol::{Persona, ShortText};
use crate::record::{Flags, Letter, ServerRecord, Text};
use crate::wire::{DecodeError, Reader, put_cstr};

/// The fields as they were sent, borrowed from the datagram; `None` from where it was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info<'a> {
    /// Network protocol version of the server (17 and 48 are common; 2, 7, 0x2F and 0xFC occur).
    pub protocol: Option<u8>,
    /// Server name.
    pub name: Option<&'a [u8]>,
    /// Map.
    pub map: Option<&'a [u8]>,
    /// Game directory.
    pub folder: Option<&'a [u8]>,
    /// Game or mod.
    pub game: Option<&'a [u8]>,
    /// Low 16 bits of the Steam application id, or 0.
    pub app_id: Option<u16>,
    /// Players.
    pub players: Option<u8>,
    /// Slots.
    pub max_players: Option<u8>,
    /// Bots.
    pub bots: Option<u8>,
    /// `d`, `l`, `p`, in either case.
    pub server_type: Option<u8>,
    /// `l`, `w`, `m`, `o`, in either case.
    pub os: Option<u8>,
    /// 1: a password is needed.
    pub password: Option<u8>,
    /// 1: VAC is on.
    pub vac: Option<u8>,
    /// Mode, witnesses and duration of The Ship.
    pub ship: Option<[u8; 3]>,
    /// Version of the game.
    pub version: Option<&'a [u8]>,
    /// The byte that says which extra fields follow.
    pub edf: Option<u8>,
    /// Port for players.
    pub port: Option<u16>,
    /// Steam id of the server.
    pub steam_id: Option<u64>,
    /// Spectator port.
    pub spectator_port: Option<u16>,
    /// Spectator server's name.
    pub spectator_name: Option<&'a [u8]>,
    /// Keywords.
    pub keywords: Option<&'a [u8]>,
    /// The 64-bit game id.
    pub game_id: Option<u64>,
    /// What was odd.
    pub flags: Flags,
}

impl<'a> Info<'a> {
    /// Reads the body behind the type byte.
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Self {
        let mut info = Self::default();
        let mut reader = Reader::new(body);
        match info.read(&mut reader) {
            Err(_) => info.flags |= Flags::TRUNCATED,
            Ok(()) if !reader.is_empty() => info.flags |= Flags::TRAILING_BYTES,
            Ok(()) => {}
        }
        info
    }

    /// Writes the body behind the type byte: the inverse of [`Info::parse`] for whole replies. Extra fields are written
    /// as `edf` says; an absent field ends the body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        // `None` means that the reply ends here.
        let _ = self.emit_until_absent(out);
    }

    /// Writes the body that the simulated server `persona` sends.
    pub(super) fn emit_persona(persona: &Persona, out: &mut Vec<u8>) {
        let name = persona.name();
        let (folder, game, app_id) = GAMES[persona.pick(20, GAMES.len() as u64) as usize];
        let keywords = ShortText::format(format_args!("farm,secure,id{}", persona.index));
        let edf = EDFS[persona.pick(21, EDFS.len() as u64) as usize];
        Info {
            protocol: Some(17),
            name: Some(name.as_bytes()),
            map: Some(persona.map().as_bytes()),
            folder: Some(folder.as_bytes()),
            game: Some(game.as_bytes()),
            app_id: Some(app_id as u16),
            players: Some(persona.players()),
            max_players: Some(persona.max_players()),
            bots: Some(persona.bots()),
            server_type: Some(b"ddddl"[persona.pick(22, 5) as usize]),
            os: Some(b"llw"[persona.pick(23, 3) as usize]),
            password: Some(u8::from(persona.password())),
            vac: Some(u8::from(persona.pick(24, 5) > 0)),
            ship: SHIP_APP_IDS.contains(&(app_id as u16)).then_some([1, 3, 3]),
            version: Some(b"1.0.0.1"),
            edf,
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

    /// Puts what is known into `record`.
    pub(super) fn fill(&self, record: &mut ServerRecord) {
        record.flags |= self.flags;
        let mut text = |field: &mut Text, bytes: Option<&[u8]>| {
            if let Some(bytes) = bytes {
                record.flags |= field.set(bytes);
            }
        };
        text(&mut record.name, self.name);
        text(&mut record.map, self.map);
        text(&mut record.folder, self.folder);
        text(&mut record.game, self.game);
        text(&mut record.version, self.version);
        text(&mut record.spectator_name, self.spectator_name);
        text(&mut record.keywords, self.keywords);
        record.protocol_version = self.protocol.map(u32::from);
        // 16 bits do not hold every id; the game id's low 24 bits do. Its other bits say what kind of mod it is.
        let full = self.game_id.map(|id| (id & 0xFF_FFFF) as u32);
        record.app_id = full.or(self.app_id.map(u32::from));
        record.game_id = self.game_id;
        record.players = self.players.map(u32::from);
        record.max_players = self.max_players.map(u32::from);
        record.bots = self.bots.map(u32::from);
        record.players_best = record.players;
        record.max_players_best = record.max_players;
        record.players_basis = self.players.map(|_| "reported");
        record.server_type = self.server_type.map(server_type);
        record.os = self.os.map(os);
        record.password = self.password.map(|byte| byte != 0);
        record.vac = self.vac.map(|byte| byte != 0);
        record.game_port = self.port;
        record.steam_id = self.steam_id;
        record.spectator_port = self.spectator_port;
    }

    /// Reads until the end or until something is missing; what was read before stays.
    fn read(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        self.protocol = Some(reader.u8()?);
        read_text(reader, &mut self.name)?;
        read_text(reader, &mut self.map)?;
        read_text(reader, &mut self.folder)?;
        read_text(reader, &mut self.game)?;
        self.app_id = Some(reader.u16_le()?);
        self.players = Some(reader.u8()?);
        self.max_players = Some(reader.u8()?);
        self.bots = Some(reader.u8()?);
        self.server_type = Some(reader.u8()?);
        self.os = Some(reader.u8()?);
        self.password = Some(reader.u8()?);
        match reader.peek() {
            // The VAC byte is a boolean. A greater value is the first letter of the version: the byte was left out
            // (met on fake DayZ servers).
            Some(byte) if byte > 1 => self.flags |= Flags::MALFORMED,
            _ => self.vac = Some(reader.u8()?),
        }
        if self.app_id.is_some_and(|id| SHIP_APP_IDS.contains(&id)) {
            self.ship = Some(reader.array()?);
        }
        read_text(reader, &mut self.version)?;
        // Servers before 2006, and some newer ones, end here.
        if reader.is_empty() {
            return Ok(());
        }
        let edf = reader.u8()?;
        self.edf = Some(edf);
        if edf & EDF_PORT != 0 {
            self.port = Some(reader.u16_le()?);
        }
        if edf & EDF_STEAM_ID != 0 {
            self.steam_id = Some(reader.u64_le()?);
        }
        if edf & EDF_SPECTATOR != 0 {
            self.spectator_port = Some(reader.u16_le()?);
            read_text(reader, &mut self.spectator_name)?;
        }
        if edf & EDF_KEYWORDS != 0 {
            read_text(reader, &mut self.keywords)?;
        }
        if edf & EDF_GAME_ID != 0 {
            self.game_id = Some(reader.u64_le()?);
        }
        Ok(())
    }

    fn emit_until_absent(&self, out: &mut Vec<u8>) -> Option<()> {
        out.push(self.protocol?);
        for text in [self.name, self.map, self.folder, self.game] {
            put_cstr(out, text?);
        }
        out.extend_from_slice(&self.app_id?.to_le_bytes());
        out.extend([
            self.players?,
            self.max_players?,
            self.bots?,
            self.server_type?,
            self.os?,
            self.password?,
            self.vac?,
        ]);
        out.extend(self.ship.into_iter().flatten());
        put_cstr(out, self.version?);
        let edf = self.edf?;
        out.push(edf);
        if edf & EDF_PORT != 0 {
            out.extend_from_slice(&self.port?.to_le_bytes());
        }
        if edf & EDF_STEAM_ID != 0 {
            out.extend_from_slice(&self.steam_id?.to_le_bytes());
        }
        if edf & EDF_SPECTATOR != 0 {
            out.extend_from_slice(&self.spectator_port?.to_le_bytes());
            put_cstr(out, self.spectator_name?);
        }
        if edf & EDF_KEYWORDS != 0 {
            put_cstr(out, self.keywords?);
        }
        if edf & EDF_GAME_ID != 0 {
            out.extend_from_slice(&self.game_id?.to_le_bytes());
        }
        Some(())
    }
}

/// Reads a string; one that is cut is kept as far as it goes, and ends the reading.
fn read_text<'a>(reader: &mut Reader<'a>, field: &mut Option<&'a [u8]>) -> Result<(), DecodeError> {
    let text = reader.cstr();
    *field = Some(*text.as_ref().unwrap_or(&reader.rest()));
    text.map(|_| ())
}

fn server_type(byte: u8) -> Letter {
    match byte.to_ascii_lowercase() {
        b'd' => Letter::Known("dedicated"),
        b'l' => Letter::Known("listen"),
        b'p' => Letter::Known("proxy"),
        _ => Letter::Byte(byte),
    }
}

fn os(byte: u8) -> Letter {
    match byte.to_ascii_lowercase() {
        b'l' => Letter::Known("linux"),
        b'w' => Letter::Known("windows"),
        b'm' | b'o' => Letter::Known("macos"),
        _ => Letter::Byte(byte),
    }
}

const EDF_PORT: u8 = 0x80;
const EDF_STEAM_ID: u8 = 0x10;
const EDF_SPECTATOR: u8 = 0x40;
const EDF_KEYWORDS: u8 = 0x20;
const EDF_GAME_ID: u8 = 0x01;

/// The Ship, its dedicated server, its tutorial and its regional editions.
const SHIP_APP_IDS: [u16; 8] = [2400, 2401, 2402, 2403, 2405, 2406, 2412, 2430];

/// Folder, game and application id of the simulated servers.
const GAMES: [(&str, &str, u32); 8] = [
    ("cstrike", "Counter-Strike: Source", 240),
    ("tf", "Team Fortress", 440),
    ("csgo", "Counter-Strike 2", 730),
    ("left4dead2", "Left 4 Dead 2", 550),
    ("garrysmod", "Sandbox", 4000),
    ("rust", "Rust", 252_490),
    ("dayz", "DayZ", 221_100),
    ("ship", "The Ship", 2400),
];
/// Which extra fields the simulated servers send; most send those that most real ones do.
const EDFS: [Option<u8>; 8] =
    [Some(0xB1), Some(0xB1), Some(0xB1), Some(0xB1), Some(0xF1), Some(0x91), Some(0x80), None];
