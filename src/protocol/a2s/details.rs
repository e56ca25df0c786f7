//! What servers said of themselves before `S2A_INFO_SRC`: the body of `S2A_INFO_DETAILED` (`m`) and of `S2A_INFO` (`C`).
//!
//! ```text
//! m   address 00 name 00 map 00 folder 00 game 00 players:1 max_players:1 protocol:1 type:1 os:1 password:1 is_mod:1
//!     [url 00 download_url 00 00 mod_version:4 mod_size:4 mod_kind:1 own_library:1] vac:1 bots:1
//! C   address 00 name 00 map 00 folder 00 game 00 players:1 max_players:1 protocol:1
//! ```
//!
//! GoldSource servers send `m`, some beside an `I`. The address is what the server believes to be: 127.0.0.1, the word
//! LOOPBACK, or a lie. It is read over and never used.

use super::info;
use crate::protocol::{Fields, Scribe};
use crate::record::{Flags, ServerRecord, Text};
use crate::wire::{DecodeError, Reader, put_cstr};

/// The fields as they were sent, borrowed from the datagram; `None` from where it was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Details<'a> {
    /// Address that the server believes to have.
    pub address: Option<&'a [u8]>,
    /// Server name.
    pub name: Option<&'a [u8]>,
    /// Map.
    pub map: Option<&'a [u8]>,
    /// Game directory.
    pub folder: Option<&'a [u8]>,
    /// Game or mod.
    pub game: Option<&'a [u8]>,
    /// Players.
    pub players: Option<u8>,
    /// Slots.
    pub max_players: Option<u8>,
    /// Network protocol version.
    pub protocol: Option<u8>,
    /// `d`, `l`, `p`, in either case.
    pub server_type: Option<u8>,
    /// `l`, `w`, in either case.
    pub os: Option<u8>,
    /// 1: a password is needed.
    pub password: Option<u8>,
    /// 1: a mod is played.
    pub is_mod: Option<u8>,
    /// The mod, if the server says more about it.
    pub modification: Option<Mod<'a>>,
    /// 1: VAC is on.
    pub vac: Option<u8>,
    /// Bots.
    pub bots: Option<u8>,
    /// What was odd.
    pub flags: Flags,
}

/// What a server says about its mod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mod<'a> {
    /// Address of its page.
    pub url: Option<&'a [u8]>,
    /// Address from where it can be had.
    pub download_url: Option<&'a [u8]>,
    /// Version.
    pub version: u32,
    /// Bytes to download.
    pub size: u32,
    /// 1: for several players only.
    pub kind: u8,
    /// 1: with a client library of its own.
    pub own_library: u8,
}

impl<'a> Details<'a> {
    /// Reads the body of an `m` after the type byte.
    #[must_use]
    pub(crate) fn parse(body: &'a [u8]) -> Self {
        // What is wrong is in the flags.
        Self::read_from(&mut Fields::silent(Reader::new(body))).0
    }

    /// Reads the body of an `m`, and says where it ended early, if it did.
    pub(super) fn read_from<S: Scribe>(fields: &mut Fields<'a, S>) -> (Self, Result<(), DecodeError>) {
        Self::flagged(fields, Self::read_details)
    }

    /// Reads the body of a `C`, and says where it ended early, if it did.
    pub(in crate::protocol) fn read_short<S: Scribe>(fields: &mut Fields<'a, S>) -> (Self, Result<(), DecodeError>) {
        Self::flagged(fields, Self::read_common)
    }

    fn flagged<S: Scribe>(
        fields: &mut Fields<'a, S>,
        read: impl FnOnce(&mut Self, &mut Fields<'a, S>) -> Result<(), DecodeError>,
    ) -> (Self, Result<(), DecodeError>) {
        let mut details = Self::default();
        let result = read(&mut details, fields);
        match result {
            Err(_) => details.flags |= Flags::TRUNCATED,
            Ok(()) if !fields.reader().is_empty() => details.flags |= Flags::TRAILING_BYTES,
            Ok(()) => {}
        }
        (details, result)
    }

    /// What `m` and `C` begin with.
    fn read_common<S: Scribe>(&mut self, fields: &mut Fields<'a, S>) -> Result<(), DecodeError> {
        fields.text("address", &mut self.address)?;
        fields.text("name", &mut self.name)?;
        fields.text("map", &mut self.map)?;
        fields.text("folder", &mut self.folder)?;
        fields.text("game", &mut self.game)?;
        self.players = Some(fields.u8("players")?);
        self.max_players = Some(fields.u8("max players")?);
        self.protocol = Some(fields.u8("protocol")?);
        Ok(())
    }

    fn read_details<S: Scribe>(&mut self, fields: &mut Fields<'a, S>) -> Result<(), DecodeError> {
        self.read_common(fields)?;
        self.server_type = Some(fields.letter("server type")?);
        self.os = Some(fields.letter("os")?);
        self.password = Some(fields.u8("password")?);
        self.is_mod = Some(fields.u8("is mod")?);
        // Some servers say that there is a mod, and nothing about it.
        if self.is_mod == Some(1) && fields.reader().rest().len() > 2 {
            let known = self.modification.insert(Mod::default());
            fields.text("mod url", &mut known.url)?;
            fields.text("mod download url", &mut known.download_url)?;
            fields.u8("nul")?;
            known.version = fields.u32_le("mod version")?;
            known.size = fields.u32_le("mod size")?;
            known.kind = fields.u8("mod kind")?;
            known.own_library = fields.u8("mod library")?;
        }
        self.vac = Some(fields.u8("vac")?);
        // Proxies end here.
        if !fields.reader().is_empty() {
            self.bots = Some(fields.u8("bots")?);
        }
        Ok(())
    }

    /// Writes the body of an `m`: the inverse of [`Details::parse`] for whole replies; an absent field ends it.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        // `None` means that the reply ends here.
        let _ = self.emit_common(out).and_then(|()| self.emit_rest(out));
    }

    /// Writes the body of a `C`.
    pub(in crate::protocol) fn emit_short(&self, out: &mut Vec<u8>) {
        let _ = self.emit_common(out);
    }

    fn emit_common(&self, out: &mut Vec<u8>) -> Option<()> {
        for text in [self.address, self.name, self.map, self.folder, self.game] {
            put_cstr(out, text?);
        }
        out.extend([self.players?, self.max_players?, self.protocol?]);
        Some(())
    }

    fn emit_rest(&self, out: &mut Vec<u8>) -> Option<()> {
        out.extend([self.server_type?, self.os?, self.password?, self.is_mod?]);
        if let Some(known) = &self.modification {
            put_cstr(out, known.url?);
            put_cstr(out, known.download_url?);
            out.push(0);
            out.extend_from_slice(&known.version.to_le_bytes());
            out.extend_from_slice(&known.size.to_le_bytes());
            out.extend([known.kind, known.own_library]);
        }
        out.extend([self.vac?, self.bots?]);
        Some(())
    }

    /// Puts what is known into `record`.
    pub(in crate::protocol) fn fill(&self, record: &mut ServerRecord) {
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
        text(&mut record.mod_url, self.modification.and_then(|known| known.url));
        record.protocol_version = self.protocol.map(u32::from);
        record.players = self.players.map(u32::from);
        record.max_players = self.max_players.map(u32::from);
        record.bots = self.bots.map(u32::from);
        record.server_type = self.server_type.map(info::server_type);
        record.os = self.os.map(info::os);
        record.password = self.password.map(|byte| byte != 0);
        record.vac = self.vac.map(|byte| byte != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &[u8] = b"127.0.0.1:27015\0name\0map\0valve\0Half-Life\0\x03\x10\x2F";

    fn details(rest: &[u8]) -> Vec<u8> {
        [COMMON, rest].concat()
    }

    #[test]
    fn a_mod_without_a_section_is_told_from_one_with() {
        let body = details(b"dl\0\x01\x01\x02");
        let without = Details::parse(&body);
        assert_eq!((without.is_mod, without.modification), (Some(1), None));
        assert_eq!((without.vac, without.bots, without.flags), (Some(1), Some(2), Flags::NONE));
        let body = details(b"dl\0\x01url\0\0\0\x01\0\0\0\0\xA5\xF7\x0A\0\x01\x01\x02");
        let with = Details::parse(&body);
        let known = with.modification.unwrap();
        assert_eq!((known.url, known.download_url), (Some(&b"url"[..]), Some(&b""[..])));
        assert_eq!((known.version, known.size, known.kind, known.own_library), (1, 184_001_792, 0, 1));
        assert_eq!((with.vac, with.bots, with.flags), (Some(1), Some(2), Flags::NONE));
    }

    #[test]
    fn a_proxy_has_no_bots_and_nothing_is_wrong_with_that() {
        let body = details(b"pl\0\0\x01");
        let proxy = Details::parse(&body);
        assert_eq!((proxy.vac, proxy.bots, proxy.flags), (Some(1), None, Flags::NONE));
    }

    #[test]
    fn the_address_in_a_reply_is_not_used() {
        let mut record = ServerRecord::new();
        Details::parse(&details(b"dl\0\0\x01\x02")).fill(&mut record);
        assert_eq!(record.address, ServerRecord::new().address);
        assert_eq!((record.name.as_str(), record.protocol_version), (Some("name"), Some(47)));
    }

    #[test]
    fn every_prefix_keeps_what_came_and_whole_replies_are_written_as_they_were_read() {
        let body = details(b"dl\0\x01url\0\0\0\x01\0\0\0\0\xA5\xF7\x0A\0\x01\x01\x02");
        let is_mod = COMMON.len() + 4;
        for length in 0..body.len() - 1 {
            if (is_mod + 1..=is_mod + 2).contains(&length) {
                // So short a rest is that of a mod about which nothing is said.
                continue;
            }
            let cut = Details::parse(&body[..length]);
            assert!(cut.flags.contains(Flags::TRUNCATED), "{length} bytes");
            assert_eq!(cut.name.is_some(), length >= 16, "{length} bytes");
        }
        let mut out = Vec::new();
        Details::parse(&body).emit(&mut out);
        assert_eq!(out, body);
        let short = Details::read_short(&mut Fields::silent(Reader::new(COMMON))).0;
        let mut out = Vec::new();
        short.emit_short(&mut out);
        assert_eq!((out.as_slice(), short.flags), (COMMON, Flags::NONE));
    }
}
