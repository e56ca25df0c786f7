//! Lists of the Steam Web API, from a web server on loopback that caps and throttles; and that its key shows up nowhere.

use std::collections::BTreeSet;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::json;

use super::support::{Folder, HANG, Object, Run, Table};

#[expect(dead_code, reason = "the library's tests use more of it")]
#[path = "../../src/list/steam_api/testing.rs"]
mod testing;

use testing::{Directory, Steam};

const KEY: &str = "5EC2E75EC2E75EC2E75EC2E75EC2E75E";

/// Servers at addresses of loopback where nobody answers.
fn directory(servers: u32, cap: usize) -> Directory {
    let mut directory = Directory::of(servers, cap);
    for (n, server) in directory.servers.iter_mut().enumerate() {
        server["addr"] = json!(format!("127.9.{}.{}:9", n / 250, n % 250 + 1));
    }
    directory
}

/// Runs the program with the key in the environment if it is given there.
fn run(folder: &Folder, key: Option<&str>, arguments: &[&str]) -> Run {
    let mut command = cargo_bin_cmd!("fragscan");
    command.current_dir(folder.path()).args(arguments).env_remove("STEAM_API_KEY").timeout(HANG);
    if let Some(key) = key {
        command.env("STEAM_API_KEY", key);
    }
    let output = command.output().expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    Run { code: output.status.code(), stdout: output.stdout, stderr }
}

/// Looks at everything that a run left behind, but for files of keys.
fn assert_no_key(folder: &Folder, run: &Run) {
    let holds = |bytes: &[u8]| bytes.windows(KEY.len()).any(|window| window.eq_ignore_ascii_case(KEY.as_bytes()));
    assert!(!holds(&run.stdout), "standard output has the key");
    assert!(!holds(run.stderr.as_bytes()), "{run}");
    for name in folder.names().iter().filter(|name| !name.starts_with("key")) {
        assert!(!holds(&folder.read(name)), "{name} has the key");
    }
}

#[test]
fn a_list_is_had_as_a_whole_from_a_server_that_caps_and_throttles() {
    let busy = |number| (number % 5 == 3).then_some((429, Some(0), ""));
    let steam = Steam::start(directory(900, 100), KEY, busy);
    let folder = Folder::new();
    folder.write("key", format!("{KEY}\n"));
    let url = "steam-api:?limit=100";
    let arguments = ["list", url, "--steam-key-file", "key", "--steam-api-url", &steam.url, "--list-rate", "max"];
    let csv = run(&folder, None, &[&arguments[..], &["--format", "csv", "--strict"]].concat());
    assert_eq!(csv.code, Some(0), "{csv}");
    let table = Table::read(&csv.stdout);
    let addresses: BTreeSet<&str> = table.column("address").into_iter().collect();
    assert_eq!((table.rows.len(), addresses.len()), (900, 900), "{csv}");
    assert!(addresses.contains("127.9.3.150:9"));
    assert!(table.column("source").iter().all(|source| *source == url));
    assert!(csv.stderr.contains("status 429"), "{csv}");
    assert_no_key(&folder, &csv);

    let ndjson = run(&folder, Some(KEY), &[&arguments[..2], &arguments[4..], &["--format", "ndjson"]].concat());
    assert_eq!(ndjson.code, Some(0), "{ndjson}");
    let rows = Object::read_lines(&ndjson.stdout);
    assert_eq!(rows.len(), 900);
    let expected = &directory(900, 100).servers[7];
    let row = rows.iter().find(|row| row.value("address") == &expected["addr"]).expect("it is listed");
    for name in ["gameport", "steamid", "name", "appid", "map", "region", "secure", "max_players", "gametype"] {
        assert_eq!(row.value(&format!("list_{name}")), &expected[name], "{name}");
    }
    assert_no_key(&folder, &ndjson);
}

#[test]
fn servers_are_scanned_and_what_the_list_said_stands_in_ndjson_only() {
    let steam = Steam::start(directory(300, 50), KEY, |_| None);
    let folder = Folder::new();
    let arguments = ["scan", "--from", "steam-api:?limit=50", "--app", "730", "--steam-api-url", &steam.url];
    let fast = ["--list-rate", "max", "--rate", "max", "--host-rate", "max", "--timeout", "100ms", "--retries", "0"];
    let outputs = ["-o", "all.csv", "-o", "all.ndjson", "--strict"];
    let scan = run(&folder, Some(KEY), &[&arguments[..], &fast, &outputs].concat());
    assert_eq!(scan.code, Some(0), "{scan}");
    let expected: BTreeSet<String> = directory(300, 50)
        .servers
        .iter()
        .filter(|server| server["appid"] == 730)
        .map(|server| server["addr"].as_str().expect("a text").to_owned())
        .collect();
    assert!(expected.len() > 100);
    let table = folder.table("all.csv");
    assert_eq!(table.column("address").into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), expected);
    assert_eq!(table.rows.len(), expected.len());
    assert!(!table.header.iter().any(|name| name.starts_with("list_")), "{:?}", table.header);
    let rows = Object::read_lines(&folder.read("all.ndjson"));
    assert!(rows.iter().all(|row| row.value("list_appid") == 730));
    let metadata = folder.metadata("all.csv");
    let list = &metadata["lists"][0];
    assert_eq!((&list["complete"], &list["servers"]), (&json!(true), &json!(expected.len())), "{list}");
    assert_no_key(&folder, &scan);
}

#[test]
fn a_refused_key_makes_the_list_incomplete_and_says_so() {
    let steam = Steam::start(directory(30, 50), "0123456789ABCDEF0123456789ABCDEF", |_| None);
    let folder = Folder::new();
    let arguments = ["list", "steam-api:", "--steam-api-url", &steam.url, "--format", "csv", "--strict"];
    let refused = run(&folder, Some(KEY), &arguments);
    assert_eq!(refused.code, Some(3), "{refused}");
    assert!(refused.stderr.contains("refused the key (403)"), "{refused}");
    assert!(refused.stderr.contains("list_incomplete"), "{refused}");
    assert_no_key(&folder, &refused);
}

#[test]
fn a_key_that_is_missing_or_in_the_wrong_place_is_a_usage_error_that_does_not_repeat_it() {
    let folder = Folder::new();
    folder.write("keys", format!("{KEY}\n{KEY}\n"));
    let in_url = format!("steam-api:?filter=/appid/730&key={KEY}");
    let list = "steam-api:";
    for (environment, arguments, expected) in [
        (None, vec!["list", list], "a key of the Steam Web API is needed"),
        (Some(""), vec!["list", list], "a key of the Steam Web API is needed"),
        (None, vec!["list", &*in_url], "write no key into the URL"),
        (None, vec!["scan", "--from", &*in_url, "-o", "x.csv"], "write no key into the URL"),
        (None, vec!["list", list, "--steam-key-file", KEY], "name the file that holds the key"),
        (None, vec!["list", list, "--steam-key-file", "keys"], "this is no key"),
        (None, vec!["list", list, "--steam-key-file", "none"], "reading none"),
        (Some("5EC2E7 5EC2E7"), vec!["list", list], "STEAM_API_KEY: this is no key"),
        (Some(KEY), vec!["list", "steam-api:?filter=/typo/1"], "there is no key \"typo\""),
        (Some(KEY), vec!["list", list, "--steam-api-url", "http://192.0.2.1"], "in the clear"),
    ] {
        let wrong = run(&folder, environment, &arguments);
        assert_eq!(wrong.code, Some(2), "{arguments:?}: {wrong}");
        assert!(wrong.stderr.contains(expected), "{arguments:?}: {wrong}");
        assert_no_key(&folder, &wrong);
    }
}
