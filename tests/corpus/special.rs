//! Descriptions of messages that have something special, most of them built for it.

use serde_json::{Value, json};

use super::descriptions::{player, rule};
use super::expected::{Expected, List};
use super::fields::{DETAILS, EXTRA, INFO};
use super::files::Fixture;
use super::text;

impl Expected {
    /// What `entry` says, which has `keys`.
    pub(crate) fn special(&mut self, keys: &str, entry: &Value, fixture: &Fixture) {
        let number = |key: &str| entry[key].as_u64().expect("a number") as usize;
        match keys {
            "payload type" if entry["type"] == "j" => self.answered("ping_status"),
            "expect text type" => {
                assert_eq!(entry["expect"], "status banned, do not retry");
                self.failed("info_status", "banned");
                self.set("error", entry["text"].as_str().expect("a text").trim());
            }
            "expect" => self.outcome(entry["expect"].as_str().expect("a text"), fixture),
            "missing total type" => {
                let (missing, total) = (entry["missing"].as_array().expect("a list").len(), number("total"));
                self.failed("rules_status", "split_incomplete");
                self.set("error", format!("{} of {total} pieces of a split reply came", total - missing));
            }
            // Checksum and size are seen elsewhere.
            "crc32 decompressed_len rules type" | "fragments rules type" | "rules type" => {
                self.set_list("rules", List { count: number("rules"), ..List::default() });
                self.answered_with_list("rules", number("rules"), number("rules"));
                if entry["fragments"].is_u64() {
                    self.set("fragments", number("fragments"));
                }
            }
            "complete declared partial truncated type" => self.rules_cut_short(entry, fixture),
            "note raw_hex unescaped_hex" => self.escaped_rule(entry, fixture),
            "declared present type" => self.one_player_more(entry, fixture),
            "deaths declared decoded duration_last indexes money names note" => self.ship(entry),
            "declared_be type" => self.fuel_of_war_rules(number("declared_be"), fixture),
            "declared type" if entry["type"] == "D" => {
                assert_eq!(number("declared"), 0, "what players there are is not said");
                self.set_list("player_list", List::default());
                self.answered_with_list("players", 0, 0);
            }
            "first_bytes type" => self.fuel_of_war(fixture),
            "name type" | "lossy name_hex type" | "edf max players truncated type" => self.some_of_info(entry, fixture),
            "address folder game map max name players protocol type"
            | "address bots dedicated max mod os password players protocol type vac" => self.short_info(entry, fixture),
            "command map max players" => self.infostring(entry, fixture),
            other => panic!("{}: nobody knows what {other} means together", fixture.name),
        }
    }

    /// Bytes that mean nothing, or a reply that does not become whole.
    fn outcome(&mut self, expect: &str, fixture: &Fixture) {
        match expect {
            "ignored" => self.failed("info_status", "malformed"),
            "crc_or_bzip2_error" => self.failed("rules_status", "split_corrupt"),
            // Type, the protocol's version, and as much of the name as there is.
            "truncated, name partial" => {
                let [b'I', version, name @ ..] = fixture.body() else { panic!("{}: no info", fixture.name) };
                self.set("protocol_version", *version);
                self.set_text("name", name);
                self.flag("truncated");
                self.answered("info_status");
            }
            other => panic!("{}: nobody knows what {other} means", fixture.name),
        }
    }

    /// An `I` of which only some fields are described. Its texts are read from the bytes; what else was sent is not known.
    fn some_of_info(&mut self, entry: &Value, fixture: &Fixture) {
        for (_, column, _) in INFO {
            self.forget(column);
        }
        let datagram = &fixture.datagrams[0];
        let begin = datagram.windows(5).position(|bytes| bytes == b"\xFF\xFF\xFF\xFFI").expect("it is info");
        self.four_texts(&texts(&datagram[begin + 6..]));
        self.fields_of(entry);
        if let Some(original) = entry["name_hex"].as_str() {
            assert_eq!(entry["lossy"], true);
            self.set_text("name", &text::bytes(original));
        }
        if entry["truncated"] == true {
            // The extra fields are announced, and none of them came.
            assert!(entry["edf"].is_u64());
            self.flag("truncated");
            for column in EXTRA {
                self.set(column, Value::Null);
            }
        }
    }

    /// A `C`, or an `m` that says nothing of a mod: what neither of them can hold stays null.
    fn short_info(&mut self, entry: &Value, fixture: &Fixture) {
        self.four_texts(&texts(fixture.body())[1..]);
        self.fields_of(entry);
    }

    fn fields_of(&mut self, entry: &Value) {
        self.named_fields(INFO, entry);
        self.named_fields(DETAILS, entry);
        self.answered("info_status");
    }

    fn four_texts(&mut self, texts: &[&[u8]]) {
        for (column, text) in ["name", "map", "folder", "game"].iter().zip(texts) {
            self.set_text(column, text);
        }
    }

    /// Rules of which the last one is cut. The description names it; those before it are read from the bytes.
    fn rules_cut_short(&mut self, entry: &Value, fixture: &Fixture) {
        let texts = texts(&fixture.body()[3..]);
        let complete = entry["complete"].as_u64().expect("a number") as usize;
        let mut rules: Vec<Value> = texts.chunks(2).take(complete).map(|pair| rule(&described(pair))).collect();
        assert_eq!(rules.len(), complete);
        rules.push(rule(&entry["partial"]));
        let declared = entry["declared"].as_u64().expect("a number") as usize;
        self.answered_with_list("rules", declared, rules.len());
        self.set_list("rules", List::whole(rules));
        assert_eq!(entry["truncated"], true);
        self.flag("truncated");
    }

    /// A rule whose value is escaped in a way of its game: the row has the bytes as they came. Its name is read from them.
    fn escaped_rule(&mut self, entry: &Value, fixture: &Fixture) {
        let texts = texts(&fixture.body()[3..]);
        let value = json!({"hex": entry["raw_hex"]});
        self.set_list("rules", List::whole(vec![rule(&json!([{"hex": text::hex(texts[0])}, value]))]));
        self.answered_with_list("rules", 1, 1);
    }

    /// More players than the message declares. What is said is how many; who it is, is read from the bytes.
    fn one_player_more(&mut self, entry: &Value, fixture: &Fixture) {
        assert_eq!(entry["present"], 1);
        let name = texts(&fixture.body()[3..])[0];
        let [b'D', _, index, rest @ ..] = fixture.body() else { panic!("{}: no players", fixture.name) };
        let four = |at: usize| rest[name.len() + 1 + at..][..4].try_into().expect("four bytes");
        let (score, duration) = (i32::from_le_bytes(four(0)), f32::from_le_bytes(four(4)));
        let name = json!({"hex": text::hex(name)});
        let only = player(&json!({"index": index, "name": name, "score": score, "duration": f64::from(duration)}));
        self.set_list("player_list", List::whole(vec![only]));
        self.answered_with_list("players", entry["declared"].as_u64().expect("a number") as usize, 1);
    }

    /// Players of The Ship, described by column. Of scores nothing is said, of durations the last.
    fn ship(&mut self, entry: &Value) {
        let column = |key: &str| entry[key].as_array().expect("a list").as_slice();
        let [indexes, names, deaths, money] = ["indexes", "names", "deaths", "money"].map(column);
        let one = |number: usize| {
            let mut player = player(&json!({
                "index": indexes[number],
                "name": names[number],
                "deaths": deaths[number],
                "money": money[number],
                "duration": entry["duration_last"],
            }));
            let fields = player.as_object_mut().expect("an object");
            fields.remove("score");
            if number + 1 < names.len() {
                fields.remove("duration_s");
            }
            player
        };
        let players: Vec<Value> = (0..names.len()).map(one).collect();
        assert_eq!(entry["decoded"], players.len());
        self.answered_with_list("players", entry["declared"].as_u64().expect("a number") as usize, players.len());
        self.set_list("player_list", List::whole(players));
    }

    /// Rules with a big-endian count. What is said is how many; which, is read from the bytes.
    fn fuel_of_war_rules(&mut self, declared: usize, fixture: &Fixture) {
        let message = fixture.datagrams.iter().find(|datagram| datagram.starts_with(b"\xFF\xFF\xFF\xFFE"));
        let texts = texts(&message.expect("there are rules")[7..]);
        let rules: Vec<Value> = texts.chunks_exact(2).map(|pair| rule(&described(pair))).collect();
        self.answered_with_list("rules", declared, rules.len());
        self.set_list("rules", List::whole(rules));
    }

    /// The info of Frontlines: Fuel of War. The description names the first three fields; the others are where `GameQ`
    /// looks for them: name, map, mod, mode, game, version, port, players, slots, type, system, password, VAC. The port is
    /// big-endian, like the number of rules: read so, it is the one that the game has by default.
    fn fuel_of_war(&mut self, fixture: &Fixture) {
        let message = fixture.datagrams.iter().find(|datagram| datagram.starts_with(b"\xFF\xFF\xFF\xFFI"));
        let [version, body @ ..] = &message.expect("there is info")[5..] else { panic!("{}: cut", fixture.name) };
        let texts = texts(body);
        for (column, text) in ["name", "map", "folder", "", "game", "version"].iter().zip(&texts) {
            if !column.is_empty() {
                self.set_text(column, text);
            }
        }
        let strings: usize = texts[..6].iter().map(|text| text.len() + 1).sum();
        let [high, low, players, max, kind, os, password, vac, ..] = body[strings..] else { panic!("cut") };
        self.set("protocol_version", *version);
        self.set("game_port", u16::from_be_bytes([high, low]));
        let numbers = json!({
            "players": players, "max": max, "dedicated": kind, "os": os, "password": password, "vac": vac,
        });
        self.fields_of(&numbers);
    }

    /// Keys and values. The description names three; the others are read from the bytes. `secure` says the opposite of
    /// what it means.
    fn infostring(&mut self, entry: &Value, fixture: &Fixture) {
        let mut parts = fixture.body().split(|byte| [b'\\', 0].contains(byte)).map(String::from_utf8_lossy);
        assert_eq!(entry["command"], *parts.next().expect("a word"));
        let parts: Vec<_> = parts.skip(1).collect();
        let value = |key: &str| {
            let pair = parts.chunks_exact(2).find(|pair| pair[0] == key);
            pair.unwrap_or_else(|| panic!("{}: no {key}", fixture.name))[1].as_ref()
        };
        for key in ["players", "max", "map"] {
            assert_eq!(entry[key], value(key), "{key}");
        }
        let number = |key: &str| value(key).parse::<u32>().expect("a number");
        self.fields_of(&json!({
            "protocol": number("protocol"), "name": value("hostname"), "map": value("map"), "folder": value("gamedir"),
            "game": value("description"), "players": number("players"), "max": number("max"), "bots": number("bots"),
            "dedicated": value("type"), "os": value("os"), "pw": number("password"), "vac": number("secure") == 0,
        }));
    }
}

/// What stands between zeros.
fn texts(body: &[u8]) -> Vec<&[u8]> {
    body.split(|byte| *byte == 0).collect()
}

/// Texts as a description has them.
fn described(texts: &[&[u8]]) -> Value {
    texts.iter().map(|text| json!({"hex": text::hex(text)})).collect()
}
