//! Quake III Arena's kin and FiveM: recorded answers against their descriptions, and captured servers against what other
//! clients printed, from files and over sockets.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::descriptions::nothing;
use super::dissection::dissected;
use super::expected::{Expected, List, assert_none};
use super::files::{self, Fixture, capture, corpus, exchanges, peers};
use super::program::{self, Row, decode};
use super::servers::{self, Server};
use super::text;

#[test]
fn every_recorded_answer_decodes_to_its_description() {
    let Some(folder) = corpus() else { return };
    let mut differences = Vec::new();
    let fixtures = files::fixtures_of(folder, &["Quake3"]);
    assert!(fixtures.len() >= 6, "only {} sets", fixtures.len());
    for fixture in fixtures {
        let row = decode(&fixture.path, &[]);
        let of = |difference| format!("{}: {difference}", fixture.name);
        differences.extend(described(&fixture).differences(&row).into_iter().map(of));
        // Every variable, also of an info, whose variables are in no row as they came.
        let values = |key: &str| -> Vec<String> {
            let fields = dissected(&fixture).into_iter();
            fields.filter(|(name, _)| name.ends_with(key)).map(|(_, value)| value).collect()
        };
        let [keys, texts] = [0, 1].map(|side| -> Vec<String> {
            let shown = |pair: &Value| shown(&pair[side]);
            variables(&fixture).map(shown).collect()
        });
        if (values(" key"), values(" value")) != (keys, texts) {
            differences.push(format!("{}: it is taken apart wrongly", fixture.name));
        }
    }
    assert_none(&differences);
}

#[test]
fn captured_servers_decode_to_what_the_clients_of_others_printed() {
    let Some(folder) = corpus() else { return };
    let mut differences = Vec::new();
    let mut compared = 0;
    for server in SERVERS {
        let printed = peers(folder, server);
        let mut check = |message: &str, queries: &str, witnesses: Vec<Expected>| {
            let row = decode(&capture(folder, server, message), &["--queries", queries]);
            for witness in witnesses {
                let found = witness.differences(&row);
                differences.extend(found.into_iter().map(|difference| format!("{server} {message}: {difference}")));
                compared += 1;
            }
        };
        check("getinfo", "info,ping", info(server, &printed));
        if *server != "fivem-backslash" {
            check("getstatus", "players,rules", vec![status(folder, server, &printed)]);
        }
    }
    assert!(compared >= 10, "only {compared} comparisons");
    assert_none(&differences);
}

/// Servers of the test's own, which put the token where the recorded one was.
#[test]
fn captured_servers_are_asked_as_the_strictest_of_them_want_it() {
    let Some(folder) = corpus() else { return };
    let mut servers = Vec::new();
    let mut list = String::new();
    for (name, number) in SERVERS.iter().zip(1..) {
        let replies = |query| exchanges(folder, name, query).swap_remove(0).1.swap_remove(0);
        let info = replies("getinfo");
        let status = (*name != "fivem-backslash").then(|| replies("getstatus"));
        let reply = move |request: &[u8]| match request.strip_prefix(b"\xFF\xFF\xFF\xFF") {
            Some(b"getstatus") => status.iter().cloned().collect(),
            Some(request) if request.starts_with(b"getinfo ") && request.len() <= 16 => {
                vec![with_token(&info, &request[8..])]
            }
            _ => Vec::new(),
        };
        let server = Server::bind(3, number, Box::new(reply));
        writeln!(list, "quake3://{}", server.address()).expect("memory does not fail");
        servers.push(server);
    }
    let work = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(work.path().join("list.txt"), list).expect("the list can be written");
    let arguments =
        ["scan", "-i", "list.txt", "--order", "input", "--queries", "all", "--timeout", "300ms", "-o", "out.ndjson"];
    let addresses: Vec<String> = servers.iter().map(|server| server.address().to_string()).collect();
    let (_, exchanges) = servers::serve_while(servers, || program::run(work.path(), arguments));
    let rows = std::fs::read_to_string(work.path().join("out.ndjson")).expect("the scan wrote rows");
    let rows = program::rows(&rows);

    let mut differences = Vec::new();
    let mut tokens = Vec::new();
    for ((name, address), exchanges) in SERVERS.iter().zip(&addresses).zip(exchanges) {
        let row = rows.iter().find(|row| row["address"] == address.as_str()).expect("every server has a row");
        let answers = exchanges.iter().filter(|(_, replies)| !replies.is_empty()).count();
        assert_eq!(row["sent"], exchanges.len(), "{name}");
        assert_eq!(answers, if row["status"] == "ok" { 2 } else { 1 }, "{name}: {exchanges:?}");
        tokens.push(exchanges[0].0[12..].to_vec());
        let printed = peers(folder, name);
        let mut witnesses = info(name, &printed);
        if row["status"] == "ok" {
            let mut status = status(folder, name, &printed);
            // The info says so too, and comes first.
            for column in ["name", "map", "game", "players", "max_players", "bots", "protocol_version"] {
                status.forget(column);
            }
            for column in ["players_best", "players_basis", "version", "os", "keywords"] {
                for witness in &mut witnesses {
                    witness.forget(column);
                }
            }
            witnesses.push(status);
        }
        for witness in witnesses {
            differences.extend(witness.differences(row).into_iter().map(|difference| format!("{name}: {difference}")));
        }
    }
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), SERVERS.len(), "every server has a token of its own");
    assert_none(&differences);
}

/// What `fragscan decode` should say about `fixture`.
fn described(fixture: &Fixture) -> Expected {
    let [entry] = fixture.entries.as_slice() else { panic!("{}: not one answer", fixture.name) };
    let mut expected = nothing();
    let of = |keys: &[&str]| {
        let find = |key: &&str| variables(fixture).find(|pair| pair[0] == **key).map(|pair| pair[1].clone());
        keys.iter().find_map(find)
    };
    for (keys, column) in TEXTS {
        if let Some(value) = of(keys) {
            expected.set_text(column, &text::described(&value));
        }
    }
    let number = |value: Value| -> u32 { value.as_str().expect("a text").parse().expect("a number") };
    for (keys, column) in NUMBERS {
        if let Some(value) = of(keys) {
            expected.set(column, number(value));
        }
    }
    if let Some(value) = of(&["g_needpass"]) {
        expected.set("password", number(value) != 0);
    }
    let system = of(&["version"]).and_then(|version| {
        let version = version.as_str().expect("a text").to_lowercase();
        SYSTEMS.iter().find(|(word, _)| version.contains(word)).map(|(_, system)| *system)
    });
    if let Some(system) = system {
        expected.set("os", system);
    }
    set_name(&mut expected, of(&["hostname", "sv_hostname"]).expect("every one has a name").as_str().expect("a text"));
    if entry["command"] == "infoResponse" {
        expected.answered("info_status");
        expected.answered("ping_status");
        expected.set("players_basis", "reported");
    } else {
        let players: Vec<Value> = entry["player_lines"].as_array().expect("a list").iter().map(player_line).collect();
        expected.set("players_basis", "player_list");
        if expected.column("players") == Some(&Value::Null) {
            expected.set("players", players.len());
        }
        expected.set_list("player_list", List::whole(players));
        expected.set_list("rules", List::whole(variables(fixture).map(super::descriptions::rule).collect()));
        expected.answered("players_status");
        expected.answered("rules_status");
    }
    for (column, best) in [("players", "players_best"), ("max_players", "max_players_best")] {
        let value = expected.column(column).cloned().expect("it was said above");
        expected.set(best, value);
    }
    expected.with("status", "ok").with("fragments", 0)
}

/// The variables that are described, as pairs of keys and values.
fn variables(fixture: &Fixture) -> impl Iterator<Item = &Value> {
    fixture.entries[0]["vars"].as_array().expect("a list").iter()
}

/// A player's line as one of a row's players.
fn player_line(line: &Value) -> Value {
    let line = line.as_str().expect("a text");
    let (begin, end) = (line.find('"').expect("a quote"), line.rfind('"').expect("a quote"));
    let numbers: Vec<i32> = line[..begin].split_whitespace().map(|word| word.parse().expect("a number")).collect();
    json!({"name": line[begin + 1..end], "score": numbers[0], "ping_ms": numbers[1], "index": null, "duration_s": null})
}

/// With the name that a server sends as `sent`, colours and all.
fn set_name(expected: &mut Expected, sent: &str) {
    let plain = uncoloured(sent);
    let original = if plain == sent { Value::Null } else { text::hex(sent.as_bytes()).into() };
    expected.set("name_hex", original);
    expected.set("name", plain);
}

fn uncoloured(text: &str) -> String {
    let mut plain = text.to_owned();
    ('0'..='9').for_each(|digit| plain = plain.replace(&format!("^{digit}"), ""));
    plain
}

/// A text of a description as a cell of a dissection shows it.
fn shown(value: &Value) -> String {
    let text = String::from_utf8(text::described(value)).expect("it is text");
    text.replace('\0', "\u{FFFD}").trim().to_owned()
}

/// What opengsq and quakestat say about the info of `server`, each for itself. Opengsq takes the name of the server whose
/// name has a backslash for two pairs: what it says behind that is left out, and the name is that which its key has.
fn info(server: &str, printed: &str) -> Vec<Expected> {
    let opengsq = object(printed, |object| object.contains_key("hostname")).expect("opengsq's line");
    let mut said = Expected::default();
    let get = |key: &str| opengsq.get(key).and_then(Value::as_str);
    let columns = [("hostname", "name"), ("mapname", "map"), ("gamename", "game"), ("modname", "folder")];
    for (key, column) in columns.into_iter().chain([("gameversion", "version")]) {
        said.set(column, get(key).map_or(Value::Null, Value::from));
    }
    let number = |key: &str| get(key).map_or(Value::Null, |digits| json!(digits.parse::<u32>().expect("a number")));
    let columns = [("clients", "players"), ("sv_maxclients", "max_players"), ("protocol", "protocol_version")];
    for (key, column) in columns.into_iter().chain([("clients", "players_best"), ("bots", "bots")]) {
        said.set(column, number(key));
    }
    if let (Some(all), Some(humans)) = (number("clients").as_u64(), number("g_humanplayers").as_u64()) {
        said.set("bots", all - humans);
    }
    said.set("password", get("g_needpass").map_or(Value::Null, |digit| json!(digit != "0")));
    said.set("players_basis", "reported");
    said.answered("info_status");
    said.answered("ping_status");
    if server == "fivem-backslash" {
        said.set("name", "Back\\slash host");
        said.set("map", "San Andreas");
        said.flag("malformed");
        assert!(printed.contains("Back\", \"slash host\": \"gametype\""), "opengsq has learned to read it");
    }
    // 127.0.0.1:PORT  players/slots  …
    let quakestat = printed.lines().find_map(|line| line.strip_prefix("127.0.0.1:PORT ")).expect("quakestat's line");
    let Some((players, slots)) = quakestat.split_whitespace().next().and_then(|word| word.split_once('/')) else {
        return vec![said];
    };
    let number = |digits: &str| digits.parse::<u32>().expect("a number");
    let mut counted = Expected::default().with("players", number(players)).with("max_players", number(slots));
    if server == "fivem-backslash" {
        counted.flag("malformed");
    }
    vec![said, counted]
}

/// What opengsq says about players and variables of `server`, in the order in which the server sent them. No client reads
/// FiveM's: its lines are told apart here.
fn status(folder: &Path, server: &str, printed: &str) -> Expected {
    let reply = exchanges(folder, server, "getstatus").swap_remove(0).1.swap_remove(0);
    let reply = String::from_utf8(reply[4..].to_vec()).expect("it is text");
    let (pairs, players): (Vec<&str>, Vec<&str>) = reply.lines().skip(1).partition(|line| line.starts_with('\\'));
    let tokens: Vec<&str> = pairs.iter().flat_map(|line| line.split('\\').skip(1)).collect();
    let rules: BTreeMap<&str, &str> = tokens.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    let players: Vec<Value> = players.iter().map(|line| player_line(&json!(line))).collect();
    if let Some(opengsq) = object(printed, |object| object.contains_key("players") && object.contains_key("info")) {
        let theirs: BTreeMap<&str, String> = rules.iter().map(|(key, value)| (*key, uncoloured(value))).collect();
        assert_eq!(opengsq["info"], json!(theirs), "{server}: the lines are told apart wrongly");
        let player = |player: &Value| json!([player["name"], player["frags"], player["ping"]]);
        let ours = |player: &Value| {
            json!([uncoloured(player["name"].as_str().expect("a name")), player["score"], player["ping_ms"]])
        };
        let theirs = opengsq["players"].as_array().expect("a list").iter().map(player);
        assert!(players.iter().map(ours).eq(theirs), "{server}: the players are told apart wrongly");
    } else {
        assert!(server == "fivem" && printed.contains("invalid literal for int()"), "{server}: no line of opengsq's");
    }
    let mut expected = Expected::default();
    let text = |keys: &[&str]| keys.iter().find_map(|key| rules.get(key)).map_or(Value::Null, |value| json!(*value));
    for (keys, column) in TEXTS {
        expected.set(column, text(keys));
    }
    let number =
        |value: Value| value.as_str().map_or(Value::Null, |digits| json!(digits.parse::<u32>().expect("a number")));
    for (keys, column) in NUMBERS {
        expected.set(column, number(text(keys)));
    }
    if let Some(name) = ["hostname", "sv_hostname"].iter().find_map(|key| rules.get(key)) {
        set_name(&mut expected, name);
    }
    let known = rules.contains_key("clients");
    expected.set("players", if known { number(text(&["clients"])) } else { players.len().into() });
    expected.set("players_best", players.len());
    expected.set("players_basis", "player_list");
    let rule = |pair: &[&str]| super::descriptions::rule(&json!([pair[0], pair[1]]));
    expected.set_list("rules", List::whole(tokens.chunks(2).map(rule).collect()));
    expected.set_list("player_list", List::whole(players));
    expected.answered("players_status");
    expected.answered("rules_status");
    expected
}

/// The line of JSON that `is` what is looked for.
fn object(printed: &str, is: impl Fn(&Row) -> bool) -> Option<Row> {
    printed.lines().filter_map(|line| serde_json::from_str(line).ok()).find(is)
}

/// `info` with `token` in place of the recorded `xxx`.
fn with_token(info: &[u8], token: &[u8]) -> Vec<u8> {
    let recorded = b"\\challenge\\xxx";
    let at = info.windows(recorded.len()).position(|bytes| bytes == recorded).expect("it was recorded with one");
    let value = at + recorded.len() - 3;
    [&info[..value], token, &info[value + 3..]].concat()
}

const SERVERS: &[&str] = &["openarena", "openarena2", "nexuiz", "fivem", "fivem-backslash"];
/// Under which keys a text of a column is, the best one first.
const TEXTS: &[(&[&str], &str)] = &[
    (&["mapname"], "map"),
    (&["com_gamename", "gamename"], "game"),
    (&["game", "fs_game", "modname"], "folder"),
    (&["version", "gameversion"], "version"),
    (&["tags"], "keywords"),
];
const NUMBERS: &[(&[&str], &str)] = &[
    (&["clients"], "players"),
    (&["sv_maxclients"], "max_players"),
    (&["bots"], "bots"),
    (&["protocol", "com_protocol"], "protocol_version"),
];
const SYSTEMS: &[(&str, &str)] = &[("linux", "linux"), ("win", "windows")];
