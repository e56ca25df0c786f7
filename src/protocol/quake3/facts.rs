//! What the variables of a server say, as columns.
//!
//! | Column | Info | Variables of the status |
//! |---|---|---|
//! | `name` | `hostname` | `sv_hostname`, `hostname` |
//! | `map` | `mapname` | `mapname` |
//! | `game` | `gamename` | `com_gamename`, else `gamename` |
//! | `folder` | `game`, `modname` | `fs_game` |
//! | `players` | `clients` | `clients`, else how many are listed |
//! | `max_players` | `sv_maxclients` | `sv_maxclients`, else `sv_maxClients` |
//! | `bots` | `bots`, else `clients` less `g_humanplayers` or `humans` | `bots`, else lines with `[bot]` |
//! | `password` | `g_needpass`, `needpass`, `pswrd`, `password` | the same |
//! | `protocol_version` | `protocol` | `protocol`, else `com_protocol` |
//! | `version` | `shortversion`, `gameversion` | `version` |
//! | `os` | | the platform in `version` |
//! | `keywords` | | `tags` (FiveM) |
//!
//! What both say is taken from the info, and of a key that comes twice the first counts. Keys are told apart by their case:
//! FiveM has both `sv_maxclients`, which is enforced, and `sv_maxClients`, the setting behind it. No server says whether
//! it is dedicated.
//!
//! `players` has the bots in it on ioquake3, DarkPlaces, FiveM and most others; Unvanquished leaves them out, and names
//! them under `bots`. A player with a ping of 0 is often a bot, but may be somebody on the same machine: that is not
//! guessed.

use crate::record::{Flags, Letter, ServerRecord};

use super::FIVEM;
use super::message::{Entry, number, says_fivem};

/// What is known of a server so far.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    name: Option<&'a [u8]>,
    map: Option<&'a [u8]>,
    game: Option<&'a [u8]>,
    engine_game: Option<&'a [u8]>,
    folder: Option<&'a [u8]>,
    version: Option<&'a [u8]>,
    short_version: Option<&'a [u8]>,
    keywords: Option<&'a [u8]>,
    clients: Option<u32>,
    humans: Option<u32>,
    bots: Option<u32>,
    max_clients: Option<u32>,
    max_clients_setting: Option<u32>,
    protocol: Option<u32>,
    engine_protocol: Option<u32>,
    password: Option<bool>,
    list: Option<List>,
    /// The server says that it is FiveM's.
    fivem: bool,
}

/// What is known of the list of players.
#[derive(Debug, Default)]
struct List {
    /// Players in it.
    players: u32,
    /// Those that the list says are bots.
    bots: u32,
    /// Players that the message counts in which the list came.
    counted: u32,
}

impl<'a> Facts<'a> {
    /// What is taken from here on belongs to a message with a list of players.
    pub(super) fn begin_list(&mut self) {
        self.list = Some(List::default());
    }

    /// Takes what a message says.
    pub(super) fn take(&mut self, entry: &Entry<'a>) {
        match *entry {
            Entry::Variable { key, value } => self.take_variable(key, value),
            Entry::Player { bot, .. } => {
                let list = self.list.get_or_insert_default();
                list.players += 1;
                list.bots += u32::from(bot);
            }
        }
    }

    fn take_variable(&mut self, key: &[u8], value: &'a [u8]) {
        self.fivem |= says_fivem(key, value);
        let text = match key {
            b"hostname" | b"sv_hostname" => &mut self.name,
            b"mapname" => &mut self.map,
            b"gamename" => &mut self.game,
            b"com_gamename" => &mut self.engine_game,
            b"game" | b"fs_game" | b"modname" => &mut self.folder,
            b"version" => &mut self.version,
            b"shortversion" | b"gameversion" => &mut self.short_version,
            b"tags" => &mut self.keywords,
            b"g_needpass" | b"needpass" | b"pswrd" | b"password" => {
                self.password = self.password.or(number::<u32>(value).map(|number| number != 0));
                return;
            }
            _ => return self.take_number(key, value),
        };
        text.get_or_insert(value);
    }

    fn take_number(&mut self, key: &[u8], value: &[u8]) {
        let field = match key {
            b"clients" => {
                if let (Some(list), Some(number)) = (&mut self.list, number(value)) {
                    list.counted = number;
                }
                &mut self.clients
            }
            b"g_humanplayers" | b"humans" => &mut self.humans,
            b"bots" => &mut self.bots,
            b"sv_maxclients" => &mut self.max_clients,
            b"sv_maxClients" => &mut self.max_clients_setting,
            b"protocol" => &mut self.protocol,
            b"com_protocol" => &mut self.engine_protocol,
            _ => return,
        };
        *field = field.or_else(|| number(value));
    }

    /// Puts what is known into `record`.
    pub(super) fn fill(&self, record: &mut ServerRecord) {
        if self.fivem {
            record.protocol = FIVEM;
        }
        if let Some(name) = self.name {
            record.flags |= record.name.set_shown(&without_colours(name), name);
        }
        let texts = [
            (&mut record.map, self.map),
            (&mut record.game, self.engine_game.or(self.game)),
            (&mut record.folder, self.folder),
            (&mut record.version, self.version.or(self.short_version)),
            (&mut record.keywords, self.keywords),
        ];
        for (field, text) in texts {
            record.flags |= text.map_or(Flags::NONE, |text| field.set(text));
        }
        record.os = self.version.and_then(os);
        record.password = self.password;
        record.protocol_version = self.protocol.or(self.engine_protocol);
        record.players = self.clients.or(self.list.as_ref().map(|list| list.players));
        record.max_players = self.max_clients.or(self.max_clients_setting);
        record.bots = self.bots.or_else(|| self.bots_among_clients());
        record.players_best = record.players;
        record.max_players_best = record.max_players;
        record.players_basis = record.players.map(|_| "reported");
        // A list that is shorter than its own message counts was cut, or is hidden.
        if let Some(list) = self.list.as_ref().filter(|list| list.players >= list.counted) {
            record.players_best = Some(list.players);
            record.players_basis = Some("player_list");
        }
    }

    fn bots_among_clients(&self) -> Option<u32> {
        let others = self.clients.zip(self.humans).and_then(|(clients, humans)| clients.checked_sub(humans));
        others.or_else(|| self.list.as_ref().map(|list| list.bots).filter(|bots| *bots > 0))
    }
}

/// The operating system that a version names, as engines put it there when they are built.
fn os(version: &[u8]) -> Option<Letter> {
    let mut words = version.split(|byte| !byte.is_ascii_alphanumeric());
    let system =
        |word: &[u8]| SYSTEMS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, system)| *system);
    words.find_map(system).map(Letter::Known)
}

/// `text` without the codes that colour it: `^` and a digit, as everywhere, and DarkPlaces' `^x` with three hexadecimal
/// digits. Engines differ about `^` before anything else, and names such as `^_^` are common: it stays.
fn without_colours(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !text.contains(&b'^') {
        return text.into();
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    // Bounded by the text: each turn takes a byte off it at least.
    loop {
        rest = match rest {
            [b'^', b'0'..=b'9', rest @ ..] => rest,
            [b'^', b'x', r, g, b, rest @ ..] if [r, g, b].into_iter().all(u8::is_ascii_hexdigit) => rest,
            [byte, rest @ ..] => {
                plain.push(*byte);
                rest
            }
            [] => return plain.into(),
        };
    }
}

const SYSTEMS: &[(&[u8], &str)] = &[
    (b"linux", "linux"),
    (b"win", "windows"),
    (b"win32", "windows"),
    (b"win64", "windows"),
    (b"windows", "windows"),
    (b"mac", "macos"),
    (b"macos", "macos"),
    (b"macosx", "macos"),
    (b"darwin", "macos"),
];
