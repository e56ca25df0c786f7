//! NDJSON: one JSON object a line, with every scalar key in every line.
//!
//! Texts that are not exactly what the server sent have a second key, `name_hex` for `name`, with its bytes.

use std::fmt::Write;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{RowFormat, value};
use crate::record::{
    Dlc, List, ListFact, Mod, Player, Players, QueryStatus, Rules, Selection, ServerRecord, Text, Value,
};

/// Writes NDJSON into memory.
pub(crate) struct Ndjson {
    selection: Selection,
    lines: Vec<u8>,
}

impl Ndjson {
    /// Objects with what is selected as their keys, and none written yet.
    #[must_use]
    pub(crate) fn new(selection: Selection) -> Self {
        Self { selection, lines: Vec::new() }
    }
}

impl RowFormat for Ndjson {
    fn row(&mut self, record: &ServerRecord) {
        serde_json::to_writer(&mut self.lines, &Object { record, selection: &self.selection })
            .expect("memory does not fail");
        self.lines.push(b'\n');
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn take(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        std::mem::swap(buffer, &mut self.lines);
    }
}

/// A record as a JSON object.
struct Object<'a> {
    record: &'a ServerRecord,
    selection: &'a Selection,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for column in &self.selection.columns {
            let value = (column.value)(self.record);
            map.serialize_entry(column.name, &Scalar(&value))?;
            if let Value::Text(text) = value
                && let Some(original) = text.original()
            {
                map.serialize_entry(&format_args!("{}_hex", column.name), &hex(original))?;
            }
        }
        // The keys are the same in every line of a run: those that were chosen, or those of the queries that were asked.
        let stands = |list: &&List| self.selection.always || self.record.query(list.query()) != QueryStatus::NotAsked;
        for list in self.selection.lists.iter().filter(stands) {
            match list {
                List::Players => map.serialize_entry(list.as_str(), &PlayerList(&self.record.player_list))?,
                List::Rules => map.serialize_entry(list.as_str(), &RuleList(&self.record.rules))?,
                List::Mods => map.serialize_entry(list.as_str(), &objects(self.record.mods.as_deref(), ModObject))?,
                List::Dlc => map.serialize_entry(list.as_str(), &objects(self.record.dlc.as_deref(), DlcObject))?,
            }
        }
        // What a list says is not what the server says, and has keys of its own.
        for (name, fact) in self.record.list_facts.iter().flat_map(|facts| &facts.0) {
            let key = format!("list_{name}");
            match fact {
                ListFact::Text(said) => {
                    let mut text = Text::default();
                    text.set(said.as_bytes());
                    put_text(&mut map, &key, &text)?;
                }
                ListFact::Number(number) => map.serialize_entry(&key, number)?,
                ListFact::Flag(is) => map.serialize_entry(&key, is)?,
            }
        }
        map.end()
    }
}

/// The players, or `null` if there is no list of them.
struct PlayerList<'a>(&'a Players);

impl Serialize for PlayerList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_present() {
            return serializer.serialize_none();
        }
        let mut name = Text::default();
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for player in self.0.iter() {
            name.set(player.name);
            list.serialize_element(&PlayerObject { player, name: &name })?;
        }
        list.end()
    }
}

struct PlayerObject<'a> {
    player: Player<&'a [u8]>,
    name: &'a Text,
}

impl Serialize for PlayerObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Player { index, score, duration_s, ping_ms, deaths, money, .. } = self.player;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("index", &index)?;
        put_text(&mut map, "name", self.name)?;
        map.serialize_entry("score", &score)?;
        // With the digits that the number has, and not the fewest that tell it from its neighbours.
        map.serialize_entry("duration_s", &duration_s.filter(|seconds| seconds.is_finite()).map(f64::from))?;
        if ping_ms.is_some() {
            map.serialize_entry("ping_ms", &ping_ms)?;
        }
        if deaths.is_some() || money.is_some() {
            map.serialize_entry("deaths", &deaths)?;
            map.serialize_entry("money", &money)?;
        }
        map.end()
    }
}

/// The rules, or `null` if there is no list of them.
struct RuleList<'a>(&'a Rules);

impl Serialize for RuleList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_present() {
            return serializer.serialize_none();
        }
        let mut texts = [Text::default(), Text::default()];
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (name, value) in self.0.iter() {
            texts[0].set(name);
            texts[1].set(value);
            list.serialize_element(&RuleObject(&texts))?;
        }
        list.end()
    }
}

struct RuleObject<'a>(&'a [Text; 2]);

impl Serialize for RuleObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        put_text(&mut map, "name", &self.0[0])?;
        put_text(&mut map, "value", &self.0[1])?;
        map.end()
    }
}

/// Entries as objects, or nothing if there is no list of them.
fn objects<'a, T, O>(list: Option<&'a [T]>, object: impl Fn(&'a T) -> O) -> Option<Vec<O>> {
    list.map(|list| list.iter().map(object).collect())
}

struct ModObject<'a>(&'a Mod);

impl Serialize for ModObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Mod { name, workshop_id, hash } = self.0;
        let mut map = serializer.serialize_map(None)?;
        match name {
            Some(bytes) => {
                let mut name = Text::default();
                name.set(bytes);
                put_text(&mut map, "name", &name)?;
            }
            None => map.serialize_entry("name", &None::<&str>)?,
        }
        // 64 bits: a string, like every other such id.
        map.serialize_entry("workshop_id", &workshop_id.map(|id| id.to_string()))?;
        map.serialize_entry("hash", &hex(hash))?;
        map.end()
    }
}

struct DlcObject<'a>(&'a Dlc);

impl Serialize for DlcObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Dlc { name, app_id, hash } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name)?;
        map.serialize_entry("app_id", app_id)?;
        map.serialize_entry("hash", &hash.map(|hash| hex(&hash)))?;
        map.end()
    }
}

/// A text, and its bytes after it if they are not exactly the same.
fn put_text<M: SerializeMap>(map: &mut M, key: &str, text: &Text) -> Result<(), M::Error> {
    map.serialize_entry(key, text.as_str().unwrap_or_default())?;
    text.original().map_or(Ok(()), |original| map.serialize_entry(&format_args!("{key}_hex"), &hex(original)))
}

struct Scalar<'a>(&'a Value<'a>);

impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Absent => serializer.serialize_none(),
            Value::Text(text) => text.as_str().serialize(serializer),
            Value::Flags(flags) if flags.is_empty() => serializer.serialize_none(),
            Value::Word(word) | Value::Label(word) => serializer.serialize_str(word),
            Value::Integer(number) => serializer.serialize_u64(*number),
            Value::Micros(us) => serializer.serialize_f64(f64::from(*us) / 1000.0),
            Value::Boolean(is) => serializer.serialize_bool(*is),
            other => {
                let mut text = Vec::with_capacity(48);
                value::put(other, &mut text);
                serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{COLUMNS, Flags, ListFacts, Query, Status};

    fn object(record: &ServerRecord) -> serde_json::Map<String, serde_json::Value> {
        let mut ndjson = Ndjson::new(Selection::all());
        ndjson.row(record);
        let mut bytes = Vec::new();
        ndjson.take(&mut bytes);
        assert_eq!(bytes.iter().filter(|&&b| b == b'\n').count(), 1);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn every_scalar_key_stands_in_every_line() {
        let object = object(&ServerRecord::new());
        assert_eq!(object.keys().len(), COLUMNS.len());
        assert!(COLUMNS.iter().all(|column| object.contains_key(column.name)));
        assert!(object["name"].is_null() && object["flags"].is_null() && object["players"].is_null());
    }

    #[test]
    fn what_a_list_said_stands_behind_what_the_server_said() {
        let mut record = ServerRecord::new();
        let facts = [
            ("name", ListFact::Text("a\n\u{2028}b\u{85}c\u{9B}31md\x7F".into())),
            ("map", ListFact::Text("é \"x\"".into())),
            ("players", ListFact::Number(7)),
            ("secure", ListFact::Flag(true)),
        ];
        record.list_facts = Some(ListFacts(facts.into()).into());
        let object = object(&record);
        assert_eq!(
            (&object["list_name"], &object["list_players"], &object["list_secure"]),
            (&json!("a\u{240A}\u{FFFD}b\u{FFFD}c\u{FFFD}31md\u{2421}"), &json!(7), &json!(true))
        );
        assert_eq!(object["list_name_hex"], "610ae280a862c28563c29b33316d647f");
        assert_eq!(object["list_map"], "é \"x\"");
        assert_eq!(object.keys().len(), COLUMNS.len() + 5);
    }

    #[test]
    fn ids_are_strings_and_odd_texts_have_their_bytes() {
        let mut record = ServerRecord::new();
        record.steam_id = Some(90_282_525_520_369_692);
        record.players = Some(7);
        record.rtt_us = Some(1_500);
        record.vac = Some(false);
        record.flags |= record.name.set(b"a\xFF\"\n");
        let object = object(&record);
        assert_eq!(object["steam_id"], "90282525520369692");
        assert_eq!(object["players"], 7);
        assert_eq!(object["rtt_ms"], 1.5);
        assert_eq!(object["vac"], false);
        assert_eq!(object["name"], "a\u{FFFD}\"\u{240A}");
        assert_eq!(object["name_hex"], "61ff220a");
        assert_eq!(object["flags"], (Flags::CONTROL_CHARS | Flags::UTF8_LOSSY).to_string());
    }

    #[test]
    fn lists_stand_where_they_were_asked_for_with_what_came_and_in_its_order() {
        let mut record = ServerRecord::new();
        record.set_query(Query::Players, QueryStatus::Ok);
        record.set_query(Query::Rules, QueryStatus::Failed(Status::Timeout));
        record.player_list.begin();
        let player = Player {
            name: &b"\xFFa\n"[..],
            index: Some(0),
            score: Some(-3),
            duration_s: Some(22.542_969),
            ..Player::default()
        };
        record.player_list.push(player);
        record.player_list.push(Player { duration_s: Some(f32::NAN), deaths: Some(1), money: Some(2), ..player });
        record.player_list.push(Player { ping_ms: Some(48), ..player });
        let unanswered = object(&record);
        assert!(unanswered["rules"].is_null());
        let name = "\u{FFFD}a\u{240A}";
        let first = json!({"index": 0, "name": name, "name_hex": "ff610a", "score": -3, "duration_s": 22.542_968_75});
        let mut second = first.clone();
        second["duration_s"] = json!(null);
        second["deaths"] = json!(1);
        second["money"] = json!(2);
        let mut third = first.clone();
        third["ping_ms"] = json!(48);
        assert_eq!(unanswered["player_list"], json!([first, second, third]));
        record.set_query(Query::Rules, QueryStatus::Ok);
        record.rules.begin();
        record.rules.push(b"b", b"1");
        record.rules.push(b"a", b"");
        record.rules.push(b"b", b"\x01");
        let answered = object(&record);
        assert_eq!(
            answered["rules"],
            json!([
                {"name": "b", "value": "1"},
                {"name": "a", "value": ""},
                {"name": "b", "value": "\u{2401}", "value_hex": "01"},
            ])
        );
    }

    #[test]
    fn mods_and_dlc_stand_beside_the_rules_that_named_them() {
        let mut record = ServerRecord::new();
        let lists = |record: &ServerRecord| {
            let mut object = object(record);
            (object.remove("mods"), object.remove("dlc"))
        };
        assert_eq!(lists(&record), (None, None));
        record.set_query(Query::Rules, QueryStatus::Ok);
        assert_eq!(lists(&record), (Some(json!(null)), Some(json!(null))));
        record.dlc = Some(Vec::new());
        let name = Some(Box::from(*b"a\xFF"));
        record.mods = Some(vec![
            Mod { name, workshop_id: Some(u64::MAX), hash: [0x0A, 0xB0, 0, 1] },
            Mod { name: None, workshop_id: None, hash: [0; 4] },
        ]);
        let first = json!({
            "name": "a\u{FFFD}", "name_hex": "61ff", "workshop_id": "18446744073709551615", "hash": "0ab00001"
        });
        let second = json!({"name": null, "workshop_id": null, "hash": "00000000"});
        assert_eq!(lists(&record), (Some(json!([first, second])), Some(json!([]))));
        let named = Dlc { name: Some("Zeus"), app_id: None, hash: Some([0xFF, 0, 0, 0]) };
        record.dlc = Some(vec![named, Dlc { name: None, app_id: Some(70), hash: None }]);
        let zeus = json!({"name": "Zeus", "app_id": null, "hash": "ff000000"});
        assert_eq!(lists(&record).1, Some(json!([zeus, {"name": null, "app_id": 70, "hash": null}])));
    }
}
