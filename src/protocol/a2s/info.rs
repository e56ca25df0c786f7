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
//!
//! Frontlines: Fuel of War has the same letter for another body, with big-endian numbers:
//!
//! ```text
//! protocol:1 name 00 map 00 "FOW" 00 mod 00 game 00 version 00 port:2 players:1 max_players:1 type:1 os:1 password:1
//! vac:1 fps:1 round:1 rounds:1 seconds_left:2
//! ```

use crate::protocol::{Fields, Scribe};
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
    /// Reads the body after the type byte.
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Self {
        // What is wrong is in the flags.
        Self::read_from(&mut Fields::silent(Reader::new(body))).0
    }

    /// Reads the body, and says where it ended early, if it did.
    pub(super) fn read_from<S: Scribe>(fields: &mut Fields<'a, S>) -> (Self, Result<(), DecodeError>) {
        let mut info = Self::default();
        let result = info.read(fields);
        match result {
            Err(_) => info.flags |= Flags::TRUNCATED,
            Ok(()) if !fields.reader().is_empty() => info.flags |= Flags::TRAILING_BYTES,
            Ok(()) => {}
        }
        (info, result)
    }

    /// Writes the body after the type byte: the inverse of [`Info::parse`] for whole replies. Extra fields are written
    /// as `edf` says; an absent field ends the body.
    pub fn emit(&self, out: &mut Vec<u8>) {
        // `None` means that the reply ends here.
        let _ = self.emit_until_absent(out);
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
        record.server_type = self.server_type.map(server_type);
        record.os = self.os.map(os);
        record.password = self.password.map(|byte| byte != 0);
        record.vac = self.vac.map(|byte| byte != 0);
        record.game_port = self.port;
        record.steam_id = self.steam_id;
        record.spectator_port = self.spectator_port;
    }

    /// Reads until the end or until something is missing; what was read before stays.
    fn read<S: Scribe>(&mut self, fields: &mut Fields<'a, S>) -> Result<(), DecodeError> {
        self.protocol = Some(fields.u8("protocol")?);
        fields.text("name", &mut self.name)?;
        fields.text("map", &mut self.map)?;
        fields.text("folder", &mut self.folder)?;
        if self.folder == Some(FUEL_OF_WAR) && self.protocol == Some(2) {
            return self.read_fuel_of_war(fields);
        }
        fields.text("game", &mut self.game)?;
        self.app_id = Some(fields.u16_le("app id")?);
        self.players = Some(fields.u8("players")?);
        self.max_players = Some(fields.u8("max players")?);
        self.bots = Some(fields.u8("bots")?);
        self.server_type = Some(fields.letter("server type")?);
        self.os = Some(fields.letter("os")?);
        self.password = Some(fields.u8("password")?);
        match fields.reader().peek() {
            // The VAC byte is a boolean. A greater value is the first letter of the version: the byte was left out
            // (met on fake DayZ servers).
            Some(byte) if byte > 1 => self.flags |= Flags::MALFORMED,
            _ => self.vac = Some(fields.u8("vac")?),
        }
        if self.app_id.is_some_and(|id| is_the_ship(u32::from(id))) {
            self.ship = Some([fields.u8("mode")?, fields.u8("witnesses")?, fields.u8("duration")?]);
        }
        fields.text("version", &mut self.version)?;
        // Servers before 2006, and some newer ones, end here.
        if fields.reader().is_empty() {
            return Ok(());
        }
        let edf = fields.u8("extra data flags")?;
        self.edf = Some(edf);
        if edf & EDF_PORT != 0 {
            self.port = Some(fields.u16_le("game port")?);
        }
        if edf & EDF_STEAM_ID != 0 {
            self.steam_id = Some(fields.u64_le("steam id")?);
        }
        if edf & EDF_SPECTATOR != 0 {
            self.spectator_port = Some(fields.u16_le("spectator port")?);
            fields.text("spectator name", &mut self.spectator_name)?;
        }
        if edf & EDF_KEYWORDS != 0 {
            fields.text("keywords", &mut self.keywords)?;
        }
        if edf & EDF_GAME_ID != 0 {
            self.game_id = Some(fields.u64_le("game id")?);
        }
        Ok(())
    }

    /// Reads the rest of what a server of Frontlines: Fuel of War says.
    fn read_fuel_of_war<S: Scribe>(&mut self, fields: &mut Fields<'a, S>) -> Result<(), DecodeError> {
        let mut modification = None;
        fields.text("mod", &mut modification)?;
        fields.text("game", &mut self.game)?;
        fields.text("version", &mut self.version)?;
        self.port = Some(fields.u16_be("game port")?);
        self.players = Some(fields.u8("players")?);
        self.max_players = Some(fields.u8("max players")?);
        self.server_type = Some(fields.letter("server type")?);
        self.os = Some(fields.letter("os")?);
        self.password = Some(fields.u8("password")?);
        self.vac = Some(fields.u8("vac")?);
        for name in ["frames per second", "round", "rounds"] {
            fields.u8(name)?;
        }
        fields.u16_be("seconds left").map(|_| ())
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

pub(in crate::protocol) fn server_type(byte: u8) -> Letter {
    match byte.to_ascii_lowercase() {
        b'd' => Letter::Known("dedicated"),
        b'l' => Letter::Known("listen"),
        b'p' => Letter::Known("proxy"),
        _ => Letter::Byte(byte),
    }
}

pub(in crate::protocol) fn os(byte: u8) -> Letter {
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

/// True for The Ship, its dedicated server, its tutorial and its regional editions.
pub(super) fn is_the_ship(app_id: u32) -> bool {
    matches!(app_id, 2400..=2403 | 2405 | 2406 | 2412 | 2430)
}

/// Game directory of Frontlines: Fuel of War.
const FUEL_OF_WAR: &[u8] = b"FOW";
