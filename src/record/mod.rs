//! What a scan learned about one server, whatever its protocol: one record, one schema.
//!
//! A record is reused from server to server ([`ServerRecord::clear`] keeps the capacity of its strings). How it is
//! asked for and filled is left to the protocols, how it is written to the outputs; [`COLUMNS`] names its fields.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

mod columns;
mod flags;
mod list_facts;
mod lists;
mod status;
mod text;

pub use columns::{COLUMNS, Column, Kind, List, Selection, Value, column};
pub use flags::Flags;
pub use list_facts::{ListFact, ListFacts};
pub use lists::{Dlc, Mod, Player, Players, Rules};
pub use status::{Query, QuerySet, QueryStatus, Status, UnknownQuery};
pub use text::Text;

/// Version of the set of columns. Within one number, columns are only ever appended.
pub const SCHEMA: u32 = 1;

/// One server as it answered, or as it did not.
///
/// Absent values are `None` (texts: [`Text::as_str`] is `None`). Times are microseconds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerRecord {
    /// Address that was asked last; port 0 if none was.
    pub address: SocketAddr,
    /// Name of the protocol that answered, or was asked; empty if several were, and none was answered.
    pub protocol: &'static str,
    /// What named the target, where that is not the address: a text that stands for more, or another port of it.
    pub target: Option<Arc<str>>,
    /// The file or list that named the target; absent for arguments.
    pub source: Option<Arc<str>>,
    /// What that list said about it.
    pub list_facts: Option<Arc<ListFacts>>,
    /// How the target ended.
    pub status: Status,
    /// The ICMP error that came for it.
    pub icmp: Option<&'static str>,
    /// How each query ended, indexed by [`Query`].
    pub queries: [QueryStatus; Query::COUNT],
    /// When the first datagram left, in microseconds since the Unix epoch.
    pub sent_at_us: Option<i64>,
    /// First answer minus the send it belongs to.
    pub rtt_us: Option<u32>,
    /// Answer to the ping query minus its send.
    pub ping_us: Option<u32>,
    /// Tries: one, and one more for each retry.
    pub attempts: u32,
    /// Datagrams sent to the target.
    pub sent: u32,
    /// Datagrams of the target that were used.
    pub received: u32,
    /// Pieces of split replies among them.
    pub fragments: u32,
    /// Server name as shown in a server browser.
    pub name: Text,
    /// Map.
    pub map: Text,
    /// Game or mod as the server describes it.
    pub game: Text,
    /// Key of the game in the games table.
    pub game_key: Option<&'static str>,
    /// Game directory.
    pub folder: Text,
    /// Steam application id: the low 24 bits of the game id where that is sent.
    pub app_id: Option<u32>,
    /// Steam game id, all 64 bits.
    pub game_id: Option<u64>,
    /// Players as reported.
    pub players: Option<u32>,
    /// Slots as reported.
    pub max_players: Option<u32>,
    /// Bots as reported.
    pub bots: Option<u32>,
    /// Best known number of players.
    pub players_best: Option<u32>,
    /// Best known number of slots.
    pub max_players_best: Option<u32>,
    /// Where the best known numbers come from.
    pub players_basis: Option<&'static str>,
    /// Dedicated, listen or proxy.
    pub server_type: Option<Letter>,
    /// Operating system.
    pub os: Option<Letter>,
    /// A password is needed.
    pub password: Option<bool>,
    /// Valve Anti-Cheat is on.
    pub vac: Option<bool>,
    /// Version of the query or network protocol that the server names.
    pub protocol_version: Option<u32>,
    /// Version of the game.
    pub version: Text,
    /// Port for players, where it was sent.
    pub game_port: Option<u16>,
    /// Steam id of the server.
    pub steam_id: Option<u64>,
    /// Spectator port (SourceTV).
    pub spectator_port: Option<u16>,
    /// Name of the spectator server.
    pub spectator_name: Text,
    /// Keywords (tags) as sent.
    pub keywords: Text,
    /// Address of the mod's page.
    pub mod_url: Text,
    /// Number of players that the player list declares.
    pub players_declared: Option<u32>,
    /// Number of rules that the rules list declares.
    pub rules_declared: Option<u32>,
    /// Who plays.
    pub player_list: Players,
    /// The server's rules.
    pub rules: Rules,
    /// Mods that players need, where the server lists them.
    pub mods: Option<Vec<Mod>>,
    /// DLC that players need, where the server lists them.
    pub dlc: Option<Vec<Dlc>>,
    /// What was odd.
    pub flags: Flags,
    /// What the server or the system said when it failed.
    pub error: Text,
}

impl ServerRecord {
    /// A record of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            protocol: "",
            target: None,
            source: None,
            list_facts: None,
            status: Status::Timeout,
            icmp: None,
            queries: [QueryStatus::NotAsked; Query::COUNT],
            sent_at_us: None,
            rtt_us: None,
            ping_us: None,
            attempts: 0,
            sent: 0,
            received: 0,
            fragments: 0,
            name: Text::default(),
            map: Text::default(),
            game: Text::default(),
            game_key: None,
            folder: Text::default(),
            app_id: None,
            game_id: None,
            players: None,
            max_players: None,
            bots: None,
            players_best: None,
            max_players_best: None,
            players_basis: None,
            server_type: None,
            os: None,
            password: None,
            vac: None,
            protocol_version: None,
            version: Text::default(),
            game_port: None,
            steam_id: None,
            spectator_port: None,
            spectator_name: Text::default(),
            keywords: Text::default(),
            mod_url: Text::default(),
            players_declared: None,
            rules_declared: None,
            player_list: Players::default(),
            rules: Rules::default(),
            mods: None,
            dlc: None,
            flags: Flags::NONE,
            error: Text::default(),
        }
    }

    /// Forgets everything but the capacity of the strings.
    pub fn clear(&mut self) {
        // Field by field, since this runs for every row and moving a whole record costs more; the pattern sees to it that
        // none is forgotten.
        let Self { name, map, game, folder, version, spectator_name, keywords, mod_url, error, .. } = self;
        for text in [name, map, game, folder, version, spectator_name, keywords, mod_url, error] {
            text.clear();
        }
        self.player_list.clear();
        self.rules.clear();
        let Self {
            address,
            protocol,
            target,
            source,
            list_facts,
            status,
            icmp,
            queries,
            sent_at_us,
            rtt_us,
            ping_us,
            attempts,
            sent,
            received,
            fragments,
            game_key,
            app_id,
            game_id,
            players,
            max_players,
            bots,
            players_best,
            max_players_best,
            players_basis,
            server_type,
            os,
            password,
            vac,
            protocol_version,
            game_port,
            steam_id,
            spectator_port,
            players_declared,
            rules_declared,
            mods,
            dlc,
            flags,
            name: _,
            map: _,
            game: _,
            folder: _,
            version: _,
            spectator_name: _,
            keywords: _,
            mod_url: _,
            player_list: _,
            rules: _,
            error: _,
        } = Self::new();
        self.address = address;
        self.protocol = protocol;
        self.target = target;
        self.source = source;
        self.list_facts = list_facts;
        self.status = status;
        self.icmp = icmp;
        self.queries = queries;
        self.sent_at_us = sent_at_us;
        self.rtt_us = rtt_us;
        self.ping_us = ping_us;
        self.attempts = attempts;
        self.sent = sent;
        self.received = received;
        self.fragments = fragments;
        self.game_key = game_key;
        self.app_id = app_id;
        self.game_id = game_id;
        self.players = players;
        self.max_players = max_players;
        self.bots = bots;
        self.players_best = players_best;
        self.max_players_best = max_players_best;
        self.players_basis = players_basis;
        self.server_type = server_type;
        self.os = os;
        self.password = password;
        self.vac = vac;
        self.protocol_version = protocol_version;
        self.game_port = game_port;
        self.steam_id = steam_id;
        self.spectator_port = spectator_port;
        self.players_declared = players_declared;
        self.rules_declared = rules_declared;
        self.mods = mods;
        self.dlc = dlc;
        self.flags = flags;
    }

    /// Sets the outcome of `query`.
    pub fn set_query(&mut self, query: Query, status: QueryStatus) {
        self.queries[query as usize] = status;
    }

    /// The outcome of `query`.
    #[must_use]
    pub fn query(&self, query: Query) -> QueryStatus {
        self.queries[query as usize]
    }
}

impl Default for ServerRecord {
    fn default() -> Self {
        Self::new()
    }
}

/// A one-letter field: a known meaning, or the byte as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letter {
    /// A letter with a known meaning, in a word.
    Known(&'static str),
    /// Any other byte.
    Byte(u8),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleared_record_equals_a_new_one_and_keeps_its_capacity() {
        let mut record = ServerRecord::new();
        record.flags |= record.name.set(b"a long enough name for a heap allocation\xFF");
        record.flags |= record.error.set(b"ouch");
        record.players = Some(3);
        record.rules.begin();
        record.rules.push(b"sv_gravity", b"800");
        record.player_list.begin();
        record.mods = Some(Vec::new());
        record.set_query(Query::Info, QueryStatus::Ok);
        record.clear();
        assert_eq!(record, ServerRecord::new());
        assert!(record.name.capacity() > 0);
    }
}
