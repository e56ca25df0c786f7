//! Minecraft in both editions, and the other games of the Java edition's protocol: fixtures against their descriptions,
//! captured servers against what other clients printed or, where all of them failed, against the bytes.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::descriptions::rule;
use super::dissection::dissected;
use super::expected::{Expected, List, assert_none};
use super::files::{self, Fixture, announce, corpus};
use super::program::decode;
use super::text::{self, described};

#[test]
fn every_fixture_of_minecraft_and_its_kin_decodes_to_what_its_description_says() {
    let Some(folder) = corpus() else { return };
    let mut differences = Vec::new();
    let fixtures = files::fixtures_of(folder, PROTOCOLS);
    for fixture in &fixtures {
        let row = decode(&fixture.path, &[]);
        let of = |difference| format!("{}: {difference}", fixture.name);
        differences.extend(expected(fixture).differences(&row).into_iter().map(of));
    }
    announce(&format!("corpus: {} sets of Minecraft and its kin checked", fixtures.len()));
    assert!(fixtures.len() >= 12, "that is fewer than there should be");
    assert_none(&differences);
}

#[test]
fn captured_minecraft_servers_decode_to_what_other_clients_printed() {
    let Some(folder) = corpus() else { return };
    let mut differences = Vec::new();
    for server in ["pumpkin", "pymine"] {
        let (pairs, players) =
            if server == "pumpkin" { printed(&files::peers(folder, server)) } else { sent(folder, server) };
        for query in ["basic", "full", "full-ut3"] {
            let capture = files::capture(folder, server, &format!("query-{query}"));
            let row = decode(&capture, &["--queries", "info,players,rules"]);
            // What the second of them answers to other padding is the basic stat, too.
            let is_basic = query == "basic" || (server, query) == ("pymine", "full-ut3");
            let expected = if is_basic { columns_of(&keys_of(&pairs)) } else { full_stat(&pairs, players.clone()) };
            let expected = if is_basic { without_lists(expected) } else { expected };
            let expected = expected.with("protocol", "minecraft").with("sent", 2);
            let of = |difference| format!("{server} {query}: {difference}");
            differences.extend(expected.differences(&row).into_iter().map(of));
        }
    }
    assert_none(&differences);
}

#[test]
fn a_dissection_of_a_token_shows_it() {
    let Some(folder) = corpus() else { return };
    let mut compared = 0;
    for fixture in files::fixtures_of(folder, PROTOCOLS) {
        let tokens = fixture.entries.iter().filter(|entry| entry["challenge"].is_i64());
        for token in tokens.map(|entry| entry["challenge"].to_string()) {
            assert!(dissected(&fixture).contains(&("token".to_owned(), token)), "{}", fixture.name);
            compared += 1;
        }
    }
    assert!(compared >= 2);
}

/// Keys and values, and names of players.
type Stat = (Vec<Value>, Vec<Vec<u8>>);

/// What opengsq printed, in the order in which it did.
fn printed(peers: &str) -> Stat {
    let is_status = |(_, value): &(&str, Value)| value["teams"].is_array();
    let lines = peers.lines().filter_map(|line| Some((line, serde_json::from_str::<Value>(line).ok()?)));
    let (line, status) = lines.into_iter().find(is_status).expect("the peers' file has opengsq's line");
    let mut pairs: Vec<_> = status["info"].as_object().expect("keys").iter().collect();
    pairs.sort_by_key(|(key, _)| line.find(&format!("\"{key}\": ")));
    let players = status["players"].as_array().expect("players").iter();
    (
        pairs.into_iter().map(|(key, value)| json!([key, value])).collect(),
        players.map(|player| described(&player["name"])).collect(),
    )
}

/// What `server` sent: no other client can read it. Keys and values stand between the padding and the first empty key.
fn sent(folder: &Path, server: &str) -> Stat {
    let replies = files::exchanges(folder, server, "query-full").pop().expect("a stat").1;
    let (pairs, rest) = pairs(&replies[0][16..]);
    let players = rest.strip_prefix(b"\x01player_\0\0").expect("players").split(|byte| *byte == 0);
    (pairs, players.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

/// The same server, as it answers with a basic stat to whoever wants everything.
fn without_lists(expected: Expected) -> Expected {
    let nothing = ["version", "player_list", "rules"];
    nothing
        .into_iter()
        .fold(expected, |expected, column| expected.with(column, Value::Null))
        .with("players_status", "timeout")
        .with("rules_status", "timeout")
        .with("status", "partial")
}

/// What `fragscan decode` should say about `fixture`.
fn expected(fixture: &Fixture) -> Expected {
    let entry = &fixture.entries[0];
    let expected = match fixture.name.as_str() {
        name if name.starts_with("bedrock") => pong(entry),
        name if name.starts_with("justcause2") => just_cause(entry, &fixture.datagrams[0]),
        name if name.starts_with("ut3") => unreal_tournament(fixture),
        _ if entry["challenge"].is_i64() => token_alone(),
        _ if entry["motd"].is_string() => basic_stat(entry),
        _ if entry["kv"].is_array() => {
            let players = entry["players"].as_array().expect("players");
            full_stat(entry["kv"].as_array().expect("pairs"), players.iter().map(described).collect())
        }
        _ => some_of_full_stat(entry),
    };
    let protocol = ["bedrock", "justcause2", "ut3"].into_iter().find(|name| fixture.name.starts_with(name));
    expected.with("protocol", protocol.unwrap_or("minecraft")).with("sent", 0)
}

fn pong(entry: &Value) -> Expected {
    assert_eq!(entry["declared_len"], entry["actual_len"]);
    let field = |at: usize| entry["fields"][at].as_str().expect("a field");
    let number = |at: usize| field(at).parse::<u32>().expect("a number");
    let mut expected = counted(number(4), number(5), number(10))
        .with("game", field(0))
        .with("protocol_version", number(2))
        .with("version", field(3))
        .with("keywords", field(8))
        .with("players_status", "none")
        .with("rules_status", "none")
        .with("ping_status", "ok");
    set_shown(&mut expected, "name", field(1), field(1).as_bytes());
    set_shown(&mut expected, "map", field(7), field(7).as_bytes());
    expected
}

/// Nothing came but a token.
fn token_alone() -> Expected {
    let nothing = ["name", "map", "players", "max_players", "game_port", "player_list", "rules"];
    let expected = Expected::default().with("status", "challenge_only").with("info_status", "challenge_only");
    nothing.into_iter().fold(expected, |expected, column| expected.with(column, Value::Null))
}

fn basic_stat(entry: &Value) -> Expected {
    let number = |key: &str| entry[key].as_str().expect("a text").parse().expect("a number");
    let port = entry["hostport"].as_u64().expect("a number") as u32;
    let mut expected = counted(number("numplayers"), number("maxplayers"), port)
        .with("map", entry["map"].clone())
        .with("game", entry["gametype"].clone())
        .with("version", Value::Null)
        .with("players_status", "none")
        .with("rules_status", "none");
    set_shown(&mut expected, "name", entry["motd"].as_str().expect("a text"), &described(&entry["motd"]));
    expected
}

/// All of a full stat of Minecraft.
fn full_stat(pairs: &[Value], players: Vec<Vec<u8>>) -> Expected {
    let mut expected = columns_of(&keys_of(pairs));
    let players = players.into_iter().map(|name| {
        let mut player = json!({"index": null, "score": null, "duration_s": null});
        text::put(player.as_object_mut().expect("an object"), "name", &name);
        player
    });
    expected.set_list("player_list", List::whole(players.collect()));
    expected.set_list("rules", List::whole(pairs.iter().map(rule).collect()));
    expected.answered("players_status");
    expected.answered("rules_status");
    expected
}

/// A full stat of which some keys are described, and of players how many there are.
fn some_of_full_stat(entry: &Value) -> Expected {
    let mut keys = entry.as_object().expect("keys").clone();
    let original = keys.remove("hostname_hex");
    if let Some(original) = &original {
        keys.insert("hostname".to_owned(), json!({"hex": original}));
    }
    let mut expected = columns_of(&keys);
    if original.is_some() {
        expected.flag("control_chars");
        expected.flag("malformed");
    }
    if let Some(count) = entry["players"].as_u64() {
        expected.set_list("player_list", List { count: count as usize, ..List::default() });
    }
    expected
}

fn just_cause(entry: &Value, datagram: &[u8]) -> Expected {
    let (pairs, rest) = pairs(&datagram[16..]);
    let keys = keys_of(&pairs);
    assert_eq!(entry["keys"], json!(keys.keys().collect::<Vec<_>>()), "the witness reads the same keys");
    let number = |key: &str| entry[key].as_str().expect("a text").parse::<u32>().expect("a number");
    let mut expected = counted(number("numplayers"), number("maxplayers"), 0)
        .with("game_port", Value::Null)
        .with("map", Value::Null)
        .with("version", String::from_utf8(described(&keys["version"])).expect("a text"))
        .with("password", described(&keys["password"]) == b"True")
        .with("players_declared", u16::from_be_bytes([rest[0], rest[1]]))
        .with("players_status", "ok")
        .with("rules_status", "ok");
    expected.set_text("name", &described(&keys["hostname"]));
    let count = entry["players"].as_u64().expect("a number") as usize;
    // Three of the texts between zeros are a player: name, id, and a number of two bytes, the first of which is zero.
    let begins_with_name = |name: &[u8]| {
        let mut player = json!({"index": null, "score": null});
        text::put(player.as_object_mut().expect("an object"), "name", name);
        player
    };
    let first = rest[2..].split(|byte| *byte == 0).next().expect("a name");
    expected.set_list("player_list", List { count, first: vec![begins_with_name(first)], last: Vec::new() });
    expected.set_list("rules", List::whole(pairs.iter().map(rule).collect()));
    expected
}

/// `GameQ` has the same datagrams, and names the properties so.
fn unreal_tournament(fixture: &Fixture) -> Expected {
    let witnessed: Vec<_> = fixture.entries.iter().map(|entry| &entry["splitnum_byte"]).collect();
    assert_eq!(witnessed, ["00", "81"], "the first of several, and the second and last");
    let (pairs, rest) = pairs(&fixture.datagrams[0][16..]);
    let mut expected = counted(1, 12, 7777)
        .with("map", "DM-Campgrounds-U3-Fix")
        .with("game", "UTGame.UTDeathmatch")
        .with("version", "3810")
        .with("bots", 2)
        .with("password", false)
        .with("server_type", "dedicated")
        .with("fragments", 2)
        .with("players_status", "ok")
        .with("rules_status", "ok");
    expected.set_text("name", b".::.Beer Drinkers and Hell Raisers.::. - Chicago DM");
    let player = rest.split(|byte| *byte == 0).skip_while(|text| *text != b"\x01player_").nth(2).expect("a player");
    let player = json!({"name": String::from_utf8_lossy(player), "score": null});
    expected.set_list("player_list", List::whole(vec![player]));
    expected.set_list("rules", List::whole(pairs.iter().map(rule).collect()));
    expected
}

fn keys_of(pairs: &[Value]) -> Map<String, Value> {
    pairs.iter().map(|pair| (pair[0].as_str().expect("a key").to_owned(), pair[1].clone())).collect()
}

/// What the values of `keys` are in columns.
fn columns_of(keys: &Map<String, Value>) -> Expected {
    let words = |key: &str| keys.get(key).map(|value| String::from_utf8_lossy(&described(value)).into_owned());
    let number = |key: &str| words(key).map(|text| text.parse::<u32>().expect("a number"));
    let mut expected = Expected::default().with("status", "ok").with("info_status", "ok").with("ping_status", "none");
    for (key, column) in [("map", "map"), ("gametype", "game"), ("game type", "game"), ("version", "version")] {
        if let Some(text) = words(key) {
            expected.set(column, text);
        }
    }
    for (key, columns) in [
        ("numplayers", &["players", "players_best"][..]),
        ("maxplayers", &["max_players", "max_players_best"]),
        ("hostport", &["game_port"]),
    ] {
        if let Some(number) = number(key) {
            for column in columns {
                expected.set(column, number);
            }
        }
    }
    expected.set("players_basis", "reported");
    let name = described(&keys["hostname"]);
    let latin: String = name.iter().map(|byte| char::from(*byte)).collect();
    set_shown(&mut expected, "name", std::str::from_utf8(&name).unwrap_or(&latin), &name);
    expected
}

/// A server with so many players, slots, and on that port.
fn counted(players: u32, slots: u32, port: u32) -> Expected {
    Expected::default()
        .with("status", "ok")
        .with("info_status", "ok")
        .with("players", players)
        .with("players_best", players)
        .with("max_players", slots)
        .with("max_players_best", slots)
        .with("players_basis", "reported")
        .with("game_port", port)
}

/// A text that is shown without its formatting codes: a section sign and what follows it.
fn set_shown(expected: &mut Expected, column: &str, text: &str, original: &[u8]) {
    let mut parts = text.split('§');
    let first = parts.next().unwrap_or_default().to_owned();
    let shown = parts.fold(first, |shown, part| shown + part.get(1..).unwrap_or_default()).replace('\0', "\u{2400}");
    let original = (shown.as_bytes() != original).then(|| text::hex(original));
    expected.set(column, shown);
    expected.set(&format!("{column}_hex"), original);
}

/// Keys and values up to the first empty key, as a description has them, and what follows it.
fn pairs(mut content: &[u8]) -> (Vec<Value>, &[u8]) {
    let mut texts = Vec::new();
    while let Some(end) = content.iter().position(|byte| *byte == 0) {
        let text = &content[..end];
        content = &content[end + 1..];
        if text.is_empty() && texts.len() % 2 == 0 {
            break;
        }
        texts.push(json!({"hex": text::hex(text)}));
    }
    (
        texts.chunks_exact(2).map(|pair| json!([String::from_utf8_lossy(&described(&pair[0])), pair[1]])).collect(),
        content,
    )
}

/// How the names of the protocols begin that are compared.
const PROTOCOLS: &[&str] = &["GameSpy4", "RakNet"];
