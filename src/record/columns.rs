//! The columns of every output, as one table: name, type, unit, meaning, and how each is read from a record.
//!
//! CSV, NDJSON and `fragscan fields` all walk this table, so that they cannot disagree.

use std::net::SocketAddr;

use super::{Flags, Letter, Query, ServerRecord, Text};

/// One column of the CSV, one scalar key of the NDJSON.
#[derive(Debug)]
#[non_exhaustive]
pub struct Column {
    /// Name of the column and the key.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Unit of its values, or nothing.
    pub unit: &'static str,
    /// What it says, in one sentence.
    pub meaning: &'static str,
    /// Reads its value from a record.
    pub value: fn(&ServerRecord) -> Value<'_>,
}

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// UTF-8 on one line.
    Text,
    /// Whole number.
    Integer,
    /// Decimal number with three places.
    Decimal,
    /// `true` or `false`.
    Boolean,
    /// RFC 3339 in UTC with microseconds.
    Timestamp,
    /// Unsigned 64-bit number; a string in NDJSON, because many readers keep only 53 bits.
    Id,
}

impl Kind {
    /// The word that `fragscan fields` prints.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Boolean => "boolean",
            Self::Timestamp => "timestamp",
            Self::Id => "id",
        }
    }
}

/// The value of one column in one record.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Absent: an empty cell, or `null`.
    Absent,
    /// A word of ours: letters, digits, `_` and `-`.
    Word(&'a str),
    /// What the user calls something: a target, a file.
    Label(&'a str),
    /// A text of the server's, with its original bytes.
    Text(&'a Text),
    /// A letter without a known meaning.
    Byte(u8),
    /// Address and port.
    Socket(SocketAddr),
    /// Address, without its port.
    Ip(SocketAddr),
    /// Whole number.
    Integer(u64),
    /// 64-bit id.
    Id(u64),
    /// Microseconds, shown as milliseconds with three places.
    Micros(u32),
    /// Microseconds since the Unix epoch.
    Timestamp(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// Oddities; absent when there are none.
    Flags(Flags),
}

/// Every column, in order.
pub static COLUMNS: &[Column] = &[
    text("address", "address and port that were asked", |r| asked(r, Value::Socket(r.address))),
    text("ip", "address without the port", |r| asked(r, Value::Ip(r.address))),
    integer("port", "", "port that was asked", |r| asked(r, Value::Integer(r.address.port().into()))),
    text("protocol", "query protocol that was spoken; absent where several were tried and none was answered", |r| {
        word(Some(r.protocol).filter(|protocol| !protocol.is_empty()))
    }),
    text(
        "target",
        "what named the address, where it was not the address: a range, a block, a name, another port of it",
        |r| label(r.target.as_deref()),
    ),
    text("source", "file or list that named the target; absent for arguments", |r| label(r.source.as_deref())),
    text("status", "how the target ended", |r| Value::Word(r.status.as_str())),
    text("icmp", "ICMP error that came for the target", |r| word(r.icmp)),
    text("info_status", "how the info query ended: ok, none (not asked), or the reason", |r| query(r, Query::Info)),
    text("players_status", "how the players query ended", |r| query(r, Query::Players)),
    text("rules_status", "how the rules query ended", |r| query(r, Query::Rules)),
    text("ping_status", "how the ping query ended", |r| query(r, Query::Ping)),
    new("sent_at", Kind::Timestamp, "UTC", "when the first datagram left", |r| {
        r.sent_at_us.map_or(Value::Absent, Value::Timestamp)
    }),
    new("rtt_ms", Kind::Decimal, "ms", "round-trip time of the first answer", |r| micros(r.rtt_us)),
    new("ping_ms", Kind::Decimal, "ms", "round-trip time of the ping query", |r| micros(r.ping_us)),
    integer("attempts", "tries", "one, and one more for each retry", |r| Value::Integer(r.attempts.into())),
    integer("sent", "datagrams", "datagrams sent to the target", |r| Value::Integer(r.sent.into())),
    integer("received", "datagrams", "datagrams of the target that were used", |r| Value::Integer(r.received.into())),
    integer("fragments", "datagrams", "pieces of split replies among them", |r| Value::Integer(r.fragments.into())),
    text("name", "server name", |r| Value::Text(&r.name)),
    text("map", "map", |r| Value::Text(&r.map)),
    text("game", "game or mod as the server describes it", |r| Value::Text(&r.game)),
    text("game_key", "which game it is, in the words of `fragscan games`", |r| word(r.game_key)),
    text("folder", "game directory", |r| Value::Text(&r.folder)),
    integer("app_id", "", "Steam application id", |r| number(r.app_id)),
    new("game_id", Kind::Id, "", "Steam game id, 64 bits", |r| id(r.game_id)),
    integer("players", "players", "players as reported", |r| number(r.players)),
    integer("max_players", "players", "slots as reported", |r| number(r.max_players)),
    integer("bots", "players", "bots as reported", |r| number(r.bots)),
    integer("players_best", "players", "best known number of players: see players_basis", |r| number(r.players_best)),
    integer("max_players_best", "players", "best known number of slots", |r| number(r.max_players_best)),
    text(
        "players_basis",
        "where the best known numbers come from: reported (bots count where the game counts them, see bots), \
         rust_keywords (cp and mp; the queue does not count), mordhau_keywords (B), squad_rules (PlayerCount_i; ghosts do \
         not count), player_list (entries with a name)",
        |r| word(r.players_basis),
    ),
    text("server_type", "dedicated, listen or proxy; another letter as it was sent", |r| letter(r.server_type)),
    text("os", "linux, windows or macos; another letter as it was sent", |r| letter(r.os)),
    boolean("password", "a password is needed", |r| flag(r.password)),
    boolean("vac", "Valve Anti-Cheat is on", |r| flag(r.vac)),
    integer("protocol_version", "", "protocol version that the server names", |r| number(r.protocol_version)),
    text("version", "version of the game", |r| Value::Text(&r.version)),
    integer("game_port", "", "port for players", |r| number(r.game_port)),
    new("steam_id", Kind::Id, "", "Steam id of the server, 64 bits", |r| id(r.steam_id)),
    integer("spectator_port", "", "port for spectators", |r| number(r.spectator_port)),
    text("spectator_name", "name of the spectator server", |r| Value::Text(&r.spectator_name)),
    text("keywords", "keywords (tags) as sent", |r| Value::Text(&r.keywords)),
    text("mod_url", "address of the mod's page", |r| Value::Text(&r.mod_url)),
    integer("players_declared", "players", "number that the player list declares", |r| number(r.players_declared)),
    integer("rules_declared", "rules", "number that the rules list declares", |r| number(r.rules_declared)),
    text("flags", "what was odd, as words with a space between", |r| Value::Flags(r.flags)),
    text("error", "what the server or the system said when it failed, or why a name has no address", |r| {
        Value::Text(&r.error)
    }),
];

/// A list of a record. Formats of rows and columns have no place for it; NDJSON has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum List {
    /// Who plays.
    Players,
    /// The server's rules.
    Rules,
    /// Mods that players need.
    Mods,
    /// DLC that players need.
    Dlc,
}

impl List {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Players, Self::Rules, Self::Mods, Self::Dlc];

    /// The key that it has.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Players => "player_list",
            Self::Rules => "rules",
            Self::Mods => "mods",
            Self::Dlc => "dlc",
        }
    }

    /// What it says, in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Players => {
                "who plays: objects of index, name, score, duration_s (and ping_ms, or deaths and money, where they are sent)"
            }
            Self::Rules => "the server's rules in their order: objects of name and value",
            Self::Mods => "mods that Arma 3 and DayZ servers name in their rules: objects of name, workshop_id, hash",
            Self::Dlc => "DLC that Arma 3 and DayZ servers name in their rules: objects of name, app_id, hash",
        }
    }

    /// The query that fills it.
    #[must_use]
    pub const fn query(self) -> Query {
        match self {
            Self::Players => Query::Players,
            Self::Rules | Self::Mods | Self::Dlc => Query::Rules,
        }
    }
}

/// What is written of each record.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Selection {
    /// Columns, in order.
    pub columns: Vec<&'static Column>,
    /// Lists after them.
    pub lists: Vec<List>,
    /// Whether lists stand also where their query was not asked.
    pub always: bool,
}

impl Selection {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Self { columns: COLUMNS.iter().collect(), lists: List::ALL.to_vec(), always: false }
    }
}

/// The column called `name`.
#[must_use]
pub fn column(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.name == name)
}

type Read = fn(&ServerRecord) -> Value<'_>;

const fn new(name: &'static str, kind: Kind, unit: &'static str, meaning: &'static str, value: Read) -> Column {
    Column { name, kind, unit, meaning, value }
}

const fn text(name: &'static str, meaning: &'static str, value: Read) -> Column {
    new(name, Kind::Text, "", meaning, value)
}

const fn integer(name: &'static str, unit: &'static str, meaning: &'static str, value: Read) -> Column {
    new(name, Kind::Integer, unit, meaning, value)
}

const fn boolean(name: &'static str, meaning: &'static str, value: Read) -> Column {
    new(name, Kind::Boolean, "", meaning, value)
}

/// `value`, unless no address was asked.
fn asked<'a>(record: &ServerRecord, value: Value<'a>) -> Value<'a> {
    if record.address.port() == 0 { Value::Absent } else { value }
}

fn word(value: Option<&str>) -> Value<'_> {
    value.map_or(Value::Absent, Value::Word)
}

fn label(value: Option<&str>) -> Value<'_> {
    value.map_or(Value::Absent, Value::Label)
}

fn query(record: &ServerRecord, query: Query) -> Value<'_> {
    Value::Word(record.query(query).as_str())
}

fn number<'a>(value: Option<impl Into<u64>>) -> Value<'a> {
    value.map_or(Value::Absent, |number| Value::Integer(number.into()))
}

fn id<'a>(value: Option<u64>) -> Value<'a> {
    value.map_or(Value::Absent, Value::Id)
}

fn micros<'a>(value: Option<u32>) -> Value<'a> {
    value.map_or(Value::Absent, Value::Micros)
}

fn flag<'a>(value: Option<bool>) -> Value<'a> {
    value.map_or(Value::Absent, Value::Boolean)
}

fn letter<'a>(value: Option<Letter>) -> Value<'a> {
    match value {
        None => Value::Absent,
        Some(Letter::Known(word)) => Value::Word(word),
        Some(Letter::Byte(byte)) => Value::Byte(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_are_those_of_the_schema_in_their_order() {
        let names: Vec<_> = COLUMNS.iter().map(|c| c.name).collect();
        assert_eq!(
            names.join(" "),
            "address ip port protocol target source status icmp info_status players_status rules_status ping_status \
             sent_at rtt_ms ping_ms attempts sent received fragments name map game game_key folder app_id game_id \
             players max_players bots players_best max_players_best players_basis server_type os password vac \
             protocol_version version game_port steam_id spectator_port spectator_name keywords mod_url \
             players_declared rules_declared flags error"
        );
    }

    #[test]
    fn a_new_record_has_no_value_from_a_server() {
        let record = ServerRecord::new();
        for column in COLUMNS.iter().filter(|c| c.kind == Kind::Boolean || c.kind == Kind::Id) {
            assert!(matches!((column.value)(&record), Value::Absent), "{}", column.name);
        }
    }
}
