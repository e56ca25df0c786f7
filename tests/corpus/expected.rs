//! What a row should hold, as far as a witness says: a fixture's description, or what another client printed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::files::{bytes, hex};

/// Columns and their values. What is not named is not compared, except that the flags are those named and no others.
#[derive(Default)]
pub(crate) struct Expected {
    columns: BTreeMap<String, Value>,
    flags: BTreeSet<&'static str>,
}

/// What a witness calls a column, what we call it, and how its values are written down.
type Field = (&'static str, &'static str, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Number,
    Text,
    Id,
    Switch,
    ServerType,
    Os,
}

impl Expected {
    /// What `entry` says about the info reply `datagram`. If it has an `info` object, that is complete: what is not in
    /// it was not sent.
    pub(crate) fn info(entry: &Value, datagram: &[u8]) -> Self {
        let mut expected = Self::answered();
        let cut_in_name = entry["expect"].as_str().is_some_and(|text| text.starts_with("truncated"));
        if let Some(info) = entry["info"].as_object() {
            expected.fields(FIXTURE, info);
            expected.mend_vac(info);
            if let Some(part) = info.get("keywords_partial") {
                expected.text("keywords", part);
            }
        } else if cut_in_name {
            // Header and type, the protocol's version, and as much of the name as there is.
            expected.fields(FIXTURE, &Map::new());
            expected.set("protocol_version", datagram[5]);
            expected.original("name", &datagram[6..]);
        } else {
            expected.known_fields(entry);
        }
        if entry["truncated"] == true || cut_in_name {
            expected.flags.insert("truncated");
        }
        if entry["info"]["trailing_bytes"].as_u64().is_some_and(|count| count > 0) {
            expected.flags.insert("trailing_bytes");
        }
        expected
    }

    /// What `entry` says about a ban.
    pub(crate) fn banned(entry: &Value) -> Self {
        let said = entry["text"].as_str().expect("a ban has a text").trim();
        Self::nothing("banned").with("error", said)
    }

    /// No value from the server, and why.
    pub(crate) fn nothing(status: &str) -> Self {
        let mut expected = Self::default();
        expected.fields(FIXTURE, &Map::new());
        expected.with("status", status).with("info_status", status)
    }

    /// What python-a2s printed: `SourceInfo(key=value, …)`, with the values as in Python.
    pub(crate) fn python_a2s(peers: &str) -> Self {
        let line = peers.lines().find_map(|line| line.strip_prefix("SourceInfo(")?.strip_suffix(')'));
        let values = line.expect("the peers' file has python-a2s's line").split(", ");
        let object = values.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or_else(|| panic!("not key=value: {pair}"));
            (key.to_owned(), python(value))
        });
        let mut expected = Self::answered();
        expected.fields(PYTHON_A2S, &object.collect());
        expected
    }

    /// What opengsq printed: a JSON object.
    pub(crate) fn opengsq(peers: &str) -> Self {
        let mut objects = peers.lines().filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
        let info = objects.find(|object| object.contains_key("server_type") && object.contains_key("environment"));
        let mut expected = Self::answered();
        expected.fields(OPENGSQ, &info.expect("the peers' file has opengsq's line"));
        expected
    }

    /// With `column` at `value` too.
    pub(crate) fn with(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.set(column, value);
        self
    }

    /// Every column of `row` that is not as expected.
    pub(crate) fn differences(&self, row: &Map<String, Value>) -> Vec<String> {
        let mut differences: Vec<String> = self
            .columns
            .iter()
            .map(|(column, expected)| (column, expected, row.get(column).unwrap_or(&Value::Null)))
            .filter(|(_, expected, found)| expected != found)
            .map(|(column, expected, found)| format!("{column} is {found}, expected {expected}"))
            .collect();
        let words = row["flags"].as_str().unwrap_or_default().split_whitespace();
        // Whether a retry was sent depends on how busy this machine is.
        let found: BTreeSet<&str> = words.filter(|word| *word != "rtt_ambiguous").collect();
        if found != self.flags {
            differences.push(format!("flags are {found:?}, expected {:?}", self.flags));
        }
        differences
    }

    fn answered() -> Self {
        Self::default().with("status", "ok").with("info_status", "ok")
    }

    fn set(&mut self, column: &str, value: impl Into<Value>) {
        self.columns.insert(column.to_owned(), value.into());
    }

    /// Everything in `fields`; what `object` has not was not sent. Where several fields are one column, the first counts.
    fn fields(&mut self, fields: &[Field], object: &Map<String, Value>) {
        for (key, column, kind) in fields.iter().rev() {
            match object.get(*key) {
                None | Some(Value::Null) if self.columns.contains_key(*column) => {}
                value => self.field(column, *kind, value.unwrap_or(&Value::Null)),
            }
        }
    }

    /// What `entry` happens to name; its `type` is the message's, not the server's.
    fn known_fields(&mut self, entry: &Value) {
        for (key, column, kind) in FIXTURE.iter().rev() {
            if let Some(value) = entry.get(*key).filter(|_| *key != "type") {
                self.field(column, *kind, value);
            }
            if let Some(original) = entry[format!("{key}_hex")].as_str() {
                self.original(column, &bytes(original));
            }
        }
        if entry["truncated"] == true && entry["edf"].is_u64() {
            // The extra fields are announced, and none of them came.
            for column in EXTRA {
                self.set(column, Value::Null);
            }
        }
    }

    /// A witness that does not mend takes the first digit of the version for the VAC byte, if that was left out.
    fn mend_vac(&mut self, info: &Map<String, Value>) {
        let Some(digit) = info.get("vac").and_then(Value::as_u64).filter(|byte| *byte > 1) else { return };
        let version = [&[digit as u8], text_bytes(&info["version"]).as_slice()].concat();
        self.original("version", &version);
        self.set("vac", Value::Null);
        self.flags.insert("malformed");
    }

    fn field(&mut self, column: &str, kind: Kind, value: &Value) {
        match (kind, value) {
            (_, Value::Null) => self.set(column, Value::Null),
            (Kind::Number, _) | (Kind::Switch, Value::Bool(_)) => self.set(column, value.clone()),
            (Kind::Text, _) => self.text(column, value),
            (Kind::Id, _) => self.set(column, value.to_string()),
            (Kind::Switch, _) => self.set(column, value.as_u64() != Some(0)),
            (Kind::ServerType, _) => self.set(column, letter(value, SERVER_TYPES)),
            (Kind::Os, _) => self.set(column, letter(value, SYSTEMS)),
        }
    }

    fn text(&mut self, column: &str, value: &Value) {
        self.original(column, &text_bytes(value));
    }

    /// A text whose bytes were `original`: how it is shown, and its second form if that is not the same.
    fn original(&mut self, column: &str, original: &[u8]) {
        let lossy = String::from_utf8_lossy(original);
        let shown: String = lossy.chars().map(picture).collect();
        if shown != lossy {
            self.flags.insert("control_chars");
        }
        if lossy.as_bytes() != original {
            self.flags.insert("utf8_lossy");
        }
        let second = if shown.as_bytes() == original { Value::Null } else { hex(original).into() };
        self.set(&format!("{column}_hex"), second);
        self.set(column, shown);
    }
}

/// A control character as its picture, any other as itself.
fn picture(c: char) -> char {
    match c {
        '\0'..='\x1F' => char::from_u32(0x2400 + u32::from(c)).expect("there is a picture for each"),
        '\x7F' => '\u{2421}',
        other => other,
    }
}

/// The bytes of a text, which is written as `{"hex": …}` if it is not clean.
fn text_bytes(value: &Value) -> Vec<u8> {
    match (value.as_str(), value["hex"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (_, Some(hex)) => bytes(hex),
        _ => panic!("not a text: {value}"),
    }
}

/// The word for a letter in any case, given as text or as a number; another letter as it is, or as its number.
fn letter(value: &Value, words: &[(char, &str)]) -> String {
    let byte = value.as_u64().map_or_else(|| text_bytes(value)[0], |number| number as u8);
    let known = words.iter().find(|(letter, _)| *letter == char::from(byte.to_ascii_lowercase()));
    match known {
        Some((_, word)) => (*word).to_owned(),
        None if byte.is_ascii_graphic() => char::from(byte).to_string(),
        None => format!("0x{byte:02x}"),
    }
}

/// A Python literal without escapes.
fn python(literal: &str) -> Value {
    match literal {
        "None" => Value::Null,
        "True" => true.into(),
        "False" => false.into(),
        text if text.starts_with('\'') => text.trim_matches('\'').into(),
        number => serde_json::from_str(number).unwrap_or_else(|error| panic!("{number}: {error}")),
    }
}

const SERVER_TYPES: &[(char, &str)] = &[('d', "dedicated"), ('l', "listen"), ('p', "proxy")];
const SYSTEMS: &[(char, &str)] = &[('l', "linux"), ('w', "windows"), ('m', "macos"), ('o', "macos")];

/// Columns of the fields that a reply need not have.
const EXTRA: &[&str] = &["game_port", "steam_id", "spectator_port", "spectator_name", "keywords", "game_id"];

/// The descriptions of the fixtures. `appid` is made of the 64-bit id, `appid16` is the field of 16 bits.
const FIXTURE: &[Field] = &[
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

const PYTHON_A2S: &[Field] = &[
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

const OPENGSQ: &[Field] = &[
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
