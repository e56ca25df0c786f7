//! What the descriptions of the fixtures say, as rows: whole messages as another decoder read them. Messages with
//! something special have descriptions of their own kinds (see `special`).

use serde_json::{Map, Value, json};

use super::expected::{Expected, List};
use super::facts;
use super::fields::{DETAILS, INFO};
use super::files::Fixture;
use super::messages::PIECE;
use super::text;

/// What `fragscan decode` should say about `fixture` alone: what no message says is null, and only those queries were
/// asked that were answered.
pub(crate) fn expected(fixture: &Fixture) -> Expected {
    let mut expected = nothing();
    // Beside an `I`, an `m` only says what the `I` does not.
    let (old, new): (Vec<_>, Vec<_>) = fixture.entries.iter().partition(|entry| entry["info_gold_old"].is_object());
    let mut said: Vec<&Value> = Vec::new();
    for entry in old.into_iter().chain(new) {
        // What came twice is the same both times, or it would have to be said here which one counts.
        if !said.contains(&entry) {
            expected.entry(entry, fixture);
            said.push(entry);
        }
    }
    if fixture.entry("I").is_some() && fixture.entry("m").is_some() {
        expected.flag("goldsource_dual");
    }
    if QUERIES.iter().any(|query| expected.column(query) == Some(&json!("ok"))) {
        expected.set("status", "ok");
    } else if fixture.is_challenge() {
        expected.failed("info_status", "challenge_only");
    }
    facts::expect(&mut expected, fixture);
    if expected.column("status") != Some(&json!("malformed")) && expected.column("fragments").is_none() {
        let mut pieces: Vec<_> = fixture.datagrams.iter().filter(|datagram| datagram.starts_with(PIECE)).collect();
        pieces.sort();
        pieces.dedup();
        expected.set("fragments", pieces.len());
    }
    expected
}

/// Nothing came from the server, and nothing is known of when it was asked, and where.
pub(crate) fn nothing() -> Expected {
    let mut expected = Expected::default();
    expected.all_fields(INFO, &Map::new());
    for column in NULL {
        expected.set(column, Value::Null);
    }
    for query in QUERIES {
        expected.set(query, "none");
    }
    expected.with("sent", 0).with("attempts", 0)
}

impl Expected {
    /// What `entry` says. Its kind is told by everything that is in it, so that nothing in it is overlooked.
    fn entry(&mut self, entry: &Value, fixture: &Fixture) {
        let mut keys: Vec<&str> =
            entry.as_object().expect("an entry is an object").keys().map(String::as_str).collect();
        keys.sort_unstable();
        match keys.join(" ").as_str() {
            "info payload_len transport type" | "info note truncated type" => self.info(entry),
            "info_gold_old payload_len transport type" => self.details(&entry["info_gold_old"]),
            "payload_len players transport type" => self.players(&entry["players"]),
            "payload_len rules transport type" => self.rules(&entry["rules"]),
            "crc32_ok payload_len rules transport type" => {
                assert_eq!(entry["crc32_ok"], true);
                self.rules(&entry["rules"]);
            }
            // What a challenge means depends on what else came.
            "challenge payload_len transport type" => {}
            other => self.special(other, entry, fixture),
        }
    }

    /// An `I`. What is not in its description was not sent.
    fn info(&mut self, entry: &Value) {
        let info = entry["info"].as_object().expect("fields");
        self.all_fields(INFO, info);
        if let Some(part) = info.get("keywords_partial") {
            self.set_text("keywords", &text::described(part));
        }
        // A witness that does not mend takes the first digit of the version for the VAC byte, if that was left out.
        if let Some(digit) = info["vac"].as_u64().filter(|byte| *byte > 1) {
            let version = [&[digit as u8], text::described(&info["version"]).as_slice()].concat();
            self.set_text("version", &version);
            self.set("vac", Value::Null);
            self.flag("malformed");
        }
        self.end_of(entry);
        self.end_of(&entry["info"]);
        self.answered("info_status");
    }

    /// An `m`.
    fn details(&mut self, details: &Value) {
        let fields = details.as_object().expect("fields");
        self.all_fields(INFO, fields);
        self.named_fields(DETAILS, details);
        self.end_of(details);
        self.answered("info_status");
    }

    /// A `D`.
    fn players(&mut self, players: &Value) {
        let (declared, decoded) = counts(players);
        assert!(self.column("players_status") != Some(&json!("ok")), "two lists of players that differ");
        self.set_list("player_list", listed(players, decoded, player));
        self.answered_with_list("players", declared, decoded & 0xFF);
        self.end_of(players);
    }

    /// An `E`.
    fn rules(&mut self, rules: &Value) {
        let (declared, decoded) = counts(rules);
        self.set_list("rules", listed(rules, decoded, rule));
        self.answered_with_list("rules", declared, decoded);
        self.end_of(rules);
    }

    /// A list came, which declares `declared` entries and can count no further than to `countable`.
    pub(crate) fn answered_with_list(&mut self, query: &str, declared: usize, countable: usize) {
        self.set(&format!("{query}_declared"), declared);
        if declared != countable {
            self.flag("count_mismatch");
        }
        self.answered(&format!("{query}_status"));
    }

    /// A query was answered.
    pub(crate) fn answered(&mut self, query: &str) {
        self.set(query, "ok");
    }

    /// A query, and with it everything, came to nothing.
    pub(crate) fn failed(&mut self, query: &str, status: &str) {
        self.set(query, status);
        self.set("status", status);
    }

    /// Whether something ends early or goes on.
    fn end_of(&mut self, entry: &Value) {
        if entry["truncated"] == true {
            self.flag("truncated");
        }
        if entry["trailing_bytes"].as_u64().is_some_and(|count| count > 0) {
            self.flag("trailing_bytes");
        }
    }
}

/// A player of a description as one of a row.
pub(crate) fn player(described: &Value) -> Value {
    let mut player = Map::new();
    for (key, ours) in
        [("index", "index"), ("score", "score"), ("duration", "duration_s"), ("deaths", "deaths"), ("money", "money")]
    {
        player.insert(ours.to_owned(), described[key].clone());
    }
    text::put(&mut player, "name", &text::described(&described["name"]));
    player.into()
}

/// A rule of a description, which is a pair, as one of a row.
pub(crate) fn rule(described: &Value) -> Value {
    let mut rule = Map::new();
    text::put(&mut rule, "name", &text::described(&described[0]));
    text::put(&mut rule, "value", &text::described(&described[1]));
    rule.into()
}

/// The entries of a description, in which `"..."` may stand for those between the first and the last ones.
fn listed(described: &Value, count: usize, entry: fn(&Value) -> Value) -> List {
    let all = described["list"].as_array().expect("a list");
    let mut parts = all.split(|entry| *entry == "...").map(|part| part.iter().map(entry).collect());
    let list = List { count, first: parts.next().unwrap_or_default(), last: parts.next().unwrap_or_default() };
    let known = list.first.len() + list.last.len();
    assert!(parts.next().is_none() && (known == count || (known < count && known < all.len())), "{described}");
    list
}

/// How many entries a list declares, and how many it has.
fn counts(described: &Value) -> (usize, usize) {
    let number = |key: &str| described[key].as_u64().expect("a number") as usize;
    (number("declared"), number("decoded"))
}

const QUERIES: &[&str] = &["info_status", "players_status", "rules_status", "ping_status"];
/// Columns that are null if nothing is known, beside those of an `I`.
const NULL: &[&str] = &[
    "mod_url",
    "players_declared",
    "rules_declared",
    "player_list",
    "rules",
    "mods",
    "dlc",
    "error",
    "address",
    "ip",
    "port",
    "target",
    "source",
    "sent_at",
    "rtt_ms",
    "ping_ms",
    "icmp",
];
