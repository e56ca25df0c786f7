//! What witnesses call the columns, and how they write their values.

use serde_json::{Map, Value};

use super::expected::Expected;
use super::text::described;

/// What a witness calls a column, what we call it, and how its values are written down.
pub(crate) type Field = (&'static str, &'static str, Kind);

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Number,
    Text,
    Id,
    Switch,
    ServerType,
    Os,
}

impl Expected {
    /// Everything in `fields`; what `object` has not was not sent. Where several fields are one column, the first counts.
    pub(crate) fn all_fields(&mut self, fields: &[Field], object: &Map<String, Value>) {
        for (_, column, _) in fields {
            self.set(column, Value::Null);
        }
        for (key, column, kind) in fields.iter().rev() {
            match object.get(*key) {
                None | Some(Value::Null) => {}
                Some(value) => self.field(column, *kind, value),
            }
        }
    }

    /// What `entry` happens to name; its `type` is the message's, not the server's.
    pub(crate) fn named_fields(&mut self, fields: &[Field], entry: &Value) {
        for (key, column, kind) in fields.iter().rev() {
            if let Some(value) = entry.get(*key).filter(|_| *key != "type") {
                self.field(column, *kind, value);
            }
        }
    }

    fn field(&mut self, column: &str, kind: Kind, value: &Value) {
        match (kind, value) {
            (Kind::Number, _) | (Kind::Switch, Value::Bool(_)) => self.set(column, value.clone()),
            (Kind::Text, _) => self.set_text(column, &described(value)),
            (Kind::Id, _) => self.set(column, value.to_string()),
            (Kind::Switch, _) => self.set(column, value.as_u64() != Some(0)),
            (Kind::ServerType, _) => self.set(column, letter(value, SERVER_TYPES)),
            (Kind::Os, _) => self.set(column, letter(value, SYSTEMS)),
        }
    }
}

/// The word for a letter in any case, given as text or as a number; another letter as it is, or as its number.
fn letter(value: &Value, words: &[(char, &str)]) -> String {
    let byte = value.as_u64().map_or_else(|| described(value)[0], |number| number as u8);
    let known = words.iter().find(|(letter, _)| *letter == char::from(byte.to_ascii_lowercase()));
    match known {
        Some((_, word)) => (*word).to_owned(),
        None if byte.is_ascii_graphic() => char::from(byte).to_string(),
        None => format!("0x{byte:02x}"),
    }
}

const SERVER_TYPES: &[(char, &str)] = &[('d', "dedicated"), ('l', "listen"), ('p', "proxy")];
const SYSTEMS: &[(char, &str)] = &[('l', "linux"), ('w', "windows"), ('m', "macos"), ('o', "macos")];

/// Columns of the fields that an info reply need not have.
pub(crate) const EXTRA: &[&str] = &["game_port", "steam_id", "spectator_port", "spectator_name", "keywords", "game_id"];

/// The descriptions of `I`. `appid` is made of the 64-bit id, `appid16` is the field of 16 bits.
pub(crate) const INFO: &[Field] = &[
    ("protocol", "protocol_version", Kind::Number),
    ("name", "name", Kind::Text),
    ("map", "map", Kind::Text),
    ("folder", "folder", Kind::Text),
    ("game", "game", Kind::Text),
    ("appid", "app_id", Kind::Number),
    ("appid16", "app_id", Kind::Number),
    ("players", "players", Kind::Number),
    ("max", "max_players", Kind::Number),
    ("bots", "bots", Kind::Number),
    ("type", "server_type", Kind::ServerType),
    ("os", "os", Kind::Os),
    ("pw", "password", Kind::Switch),
    ("vac", "vac", Kind::Switch),
    ("version", "version", Kind::Text),
    ("port", "game_port", Kind::Number),
    ("steamid", "steam_id", Kind::Id),
    ("tvport", "spectator_port", Kind::Number),
    ("tvname", "spectator_name", Kind::Text),
    ("keywords", "keywords", Kind::Text),
    ("gameid", "game_id", Kind::Id),
];

/// The descriptions of `m` and `C`, where its fields have other names than in an `I`, or are in no `I`.
pub(crate) const DETAILS: &[Field] = &[
    ("url", "mod_url", Kind::Text),
    ("dedicated", "server_type", Kind::ServerType),
    ("password", "password", Kind::Switch),
];

pub(crate) const PYTHON_A2S: &[Field] = &[
    ("protocol", "protocol_version", Kind::Number),
    ("server_name", "name", Kind::Text),
    ("map_name", "map", Kind::Text),
    ("folder", "folder", Kind::Text),
    ("game", "game", Kind::Text),
    ("app_id", "app_id", Kind::Number),
    ("player_count", "players", Kind::Number),
    ("max_players", "max_players", Kind::Number),
    ("bot_count", "bots", Kind::Number),
    ("server_type", "server_type", Kind::ServerType),
    ("platform", "os", Kind::Os),
    ("password_protected", "password", Kind::Switch),
    ("vac_enabled", "vac", Kind::Switch),
    ("version", "version", Kind::Text),
    ("port", "game_port", Kind::Number),
    ("steam_id", "steam_id", Kind::Id),
    ("stv_port", "spectator_port", Kind::Number),
    ("stv_name", "spectator_name", Kind::Text),
    ("keywords", "keywords", Kind::Text),
    ("game_id", "game_id", Kind::Id),
];

pub(crate) const OPENGSQ: &[Field] = &[
    ("protocol", "protocol_version", Kind::Number),
    ("name", "name", Kind::Text),
    ("map", "map", Kind::Text),
    ("folder", "folder", Kind::Text),
    ("game", "game", Kind::Text),
    ("id", "app_id", Kind::Number),
    ("players", "players", Kind::Number),
    ("max_players", "max_players", Kind::Number),
    ("bots", "bots", Kind::Number),
    ("server_type", "server_type", Kind::ServerType),
    ("environment", "os", Kind::Os),
    ("visibility", "password", Kind::Switch),
    ("vac", "vac", Kind::Switch),
    ("version", "version", Kind::Text),
    ("port", "game_port", Kind::Number),
    ("steam_id", "steam_id", Kind::Id),
    ("spectator_port", "spectator_port", Kind::Number),
    ("spectator_name", "spectator_name", Kind::Text),
    ("keywords", "keywords", Kind::Text),
    ("game_id", "game_id", Kind::Id),
];
