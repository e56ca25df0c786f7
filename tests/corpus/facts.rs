//! Facts that are derived from what servers say: who really plays, what they want installed, and what is suspicious.

use serde_json::{Map, Value, json};

use super::descriptions::expected;
use super::expected::{Expected, List, assert_none};
use super::files::{self, Fixture, corpus};
use super::program::decode;
use super::text;

impl Expected {
    fn number(&self, column: &str) -> Option<u64> {
        self.column(column).and_then(Value::as_u64)
    }
}

/// Adds what follows from the rest of what is `expected` of `fixture`.
pub(crate) fn expect(expected: &mut Expected, fixture: &Fixture) {
    if let Some(players) = expected.column("players").cloned() {
        let known = COUNTS.iter().find(|(name, ..)| *name == fixture.name);
        let (best, slots, basis) = match known {
            Some((_, players, slots, basis)) => (json!(players), json!(slots), json!(basis)),
            None if players.is_null() => (Value::Null, Value::Null, Value::Null),
            None => (players, expected.column("max_players").cloned().unwrap_or_default(), json!("reported")),
        };
        expected.set("players_best", best);
        expected.set("max_players_best", slots);
        expected.set("players_basis", basis);
        let bots = expected.number("bots").unwrap_or(0);
        let players = expected.number("players_best").filter(|players| *players > 0 && bots >= *players);
        if players.and(expected.number("max_players_best")).is_some_and(|slots| bots * 2 >= slots) {
            expected.flag("bots_fill");
        }
    }
    if let Some(hidden) = &fixture.hidden {
        expected.set_list("mods", List::whole(mods(hidden)));
        expected.set_list("dlc", List::whole(dlc(hidden, fixture.name.starts_with("arma3"))));
        if hidden["overflow"] != 0 {
            expected.flag("rules_overflow");
        }
    }
}

/// The mods of a description as those of a row.
fn mods(hidden: &Value) -> Vec<Value> {
    let one = |described: &Value| {
        let mut entry = Map::new();
        text::put(&mut entry, "name", &text::described(&described["name"]));
        entry.insert("workshop_id".to_owned(), described["workshop_id"].to_string().into());
        entry.insert("hash".to_owned(), described["hash"].clone());
        entry.into()
    };
    hidden["mods"].as_array().expect("a list").iter().map(one).collect()
}

/// The DLC of a description, which has bits and hashes.
fn dlc(hidden: &Value, is_arma: bool) -> Vec<Value> {
    let bits = hidden["dlc_bits"].as_u64().expect("bits");
    assert!(is_arma || bits == 0, "nobody has seen a DLC of DayZ");
    let names = ARMA3_DLC.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| name);
    let hashes = hidden["dlc_hashes"].as_array().expect("a list");
    assert_eq!(bits.count_ones() as usize, hashes.len());
    let all = names.zip(hashes).map(|(name, hash)| json!({"name": name, "app_id": null, "hash": hash}));
    all.collect()
}

/// The fields that a dissection should name for what is hidden in rules.
pub(crate) fn fields(hidden: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut add = |field: String, value: String| fields.push((field, value));
    for (key, field) in [("version", "mods version"), ("overflow", "overflow"), ("dlc_bits", "dlc bits")] {
        add(field.to_owned(), hidden[key].to_string());
    }
    let shown = |value: &Value| String::from_utf8(text::described(value)).expect("UTF-8").trim().to_owned();
    for (key, field) in [("difficulty", "difficulty"), ("description", "description")] {
        if !hidden[key].is_null() {
            add(field.to_owned(), shown(&hidden[key]));
        }
    }
    let list = |key: &str| hidden[key].as_array().expect("a list").iter().enumerate();
    list("dlc_hashes").for_each(|(number, hash)| add(format!("dlc {number} hash"), shown(hash)));
    list("signatures").for_each(|(number, name)| add(format!("signature {number} name"), shown(name)));
    for (number, entry) in list("mods") {
        add(format!("mod {number} hash"), shown(&entry["hash"]));
        add(format!("mod {number} id length"), entry["idlen_byte"].to_string());
        add(format!("mod {number} workshop id"), entry["workshop_id"].to_string());
        add(format!("mod {number} name"), shown(&entry["name"]));
    }
    fields
}

#[test]
fn every_fixture_with_something_to_derive_is_there() {
    let Some(folder) = corpus() else { return };
    let fixtures = files::fixtures(folder);
    assert!(COUNTS.iter().all(|(name, ..)| fixtures.iter().any(|fixture| fixture.name == *name)));
    let (mut mods, mut suspicious, mut overflowing) = (0, Vec::new(), 0);
    for fixture in &fixtures {
        let expected = expected(fixture);
        if fixture.hidden.is_some() {
            mods += 1;
        }
        if expected.has_flag("bots_fill") {
            suspicious.push(fixture.name.as_str());
        }
        overflowing += usize::from(expected.has_flag("rules_overflow"));
    }
    assert!(mods >= 6 && overflowing >= 1, "{mods} with mods, {overflowing} with an overflow");
    assert_eq!(suspicious, ["dayz_fake_missing_vac_byte", "gold_double_m_I_26bots"]);
}

#[test]
fn without_the_rules_the_named_entries_of_the_list_count() {
    let Some(folder) = corpus() else { return };
    let mut differences = Vec::new();
    for name in ["squad_104_of_80", "postscriptum_93_of_80"] {
        let path = folder.join("fixtures").join(name).with_extension("hex");
        let (_, players, slots, _) = COUNTS.iter().find(|(other, ..)| *other == name).expect("it is known");
        let mut check = |queries: &str, players: u64, basis: &str| {
            let row = decode(&path, &["--queries", queries]);
            let expected = Expected::default().with("players_best", players).with("players_basis", basis);
            let expected = expected.with("max_players_best", *slots);
            differences
                .extend(expected.differences(&row).into_iter().map(|found| format!("{name}, {queries}: {found}")));
        };
        check("info,players", *players, "player_list");
        check("info,rules", *players, "squad_rules");
        check("info", if name.starts_with('s') { 104 } else { 93 }, "reported");
    }
    assert_none(&differences);
}

/// Players and slots, and who says so, where it is not the info: as the index of the corpus says.
const COUNTS: &[(&str, u64, u64, &str)] = &[
    ("rust_mp125_cp93", 93, 125, "rust_keywords"),
    ("rust_mp575_cp547_overflow", 547, 575, "rust_keywords"),
    ("mordhau_keywords_B0", 0, 64, "mordhau_keywords"),
    ("squad_104_of_80", 77, 80, "squad_rules"),
    ("postscriptum_93_of_80", 79, 80, "squad_rules"),
];

/// Bits and names of Bohemia's wiki, and Art of War, whose hash the captures have.
const ARMA3_DLC: &[(u64, &str)] = &[
    (0x0001, "Karts"),
    (0x0002, "Marksmen"),
    (0x0004, "Helicopters"),
    (0x0008, "Zeus"),
    (0x0010, "Apex"),
    (0x0020, "Jets"),
    (0x0040, "Laws of War"),
    (0x0080, "Malden"),
    (0x0100, "Tac-Ops Mission Pack"),
    (0x0200, "Tanks"),
    (0x0400, "Contact"),
    (0x0800, "Contact (Platform)"),
    (0x1000, "Art of War"),
];
