//! Lists of the Steam Web API, from a web server on loopback that caps and throttles; and that its key shows up nowhere.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::{cargo_bin, cargo_bin_cmd};
use serde_json::{Value, json};

use super::support::{Folder, HANG, Object, Run, Table, wait_for};

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
fn a_list_is_had_as_a_whole_from_a_server_that_caps() {
    let steam = Steam::start(directory(900, 100), KEY, |_| None);
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
    let questions = steam.asked.lock().expect("nobody panics with it").len();
    let report = format!("list {url}: complete, 900 servers, {questions} questions\n");
    assert!(csv.stderr.contains(&report), "{report}{csv}");
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
    assert_eq!(list["questions"], steam.asked.lock().expect("nobody panics with it").len(), "{list}");
    assert_eq!(list["odd_rows"], 0, "{list}");
    assert_no_key(&folder, &scan);
}

#[test]
fn each_of_several_applications_is_a_list_of_its_own() {
    let directory = directory(600, 100);
    let running = |app: u32| directory.servers.iter().filter(move |server| server["appid"] == app);
    let apps: BTreeSet<_> = directory.servers.iter().filter_map(|server| server["appid"].as_u64()).collect();
    let [one, other] = [apps.first(), apps.last()].map(|app| *app.expect("they run something") as u32);
    assert_ne!(one, other);
    let expected: BTreeSet<_> =
        [one, other].into_iter().flat_map(running).map(|server| server["addr"].to_string()).collect();
    let steam = Steam::start(directory.clone(), KEY, |_| None);
    let folder = Folder::new();
    let (one, other) = (one.to_string(), other.to_string());
    let arguments = ["list", "steam-api:?limit=100", "--steam-api-url", &steam.url, "--list-rate", "max"];
    let wanted = ["--app", &one, "--app", &other, "--app", &one, "--format", "ndjson"];
    let run = run(&folder, Some(KEY), &[&arguments[..], &wanted].concat());
    assert_eq!(run.code, Some(0), "{run}");
    let rows = Object::read_lines(&run.stdout);
    let found: BTreeSet<_> = rows.iter().map(|row| row.value("address").to_string()).collect();
    assert_eq!((found.len(), rows.len()), (expected.len(), expected.len()), "{run}");
    assert!(
        found == expected
            && rows.iter().all(|row| {
                row.value("source") == &json!(format!("steam-api:?limit=100&app={}", row.value("list_appid")))
            })
    );
    assert_eq!(run.stderr.matches("\nlist steam-api:?limit=100&app=").count(), 2, "{run}");
}

#[test]
fn an_odd_row_is_reported_and_the_list_is_complete_without_it() {
    let mut directory = directory(3, 50);
    directory.servers[1]["addr"] = json!("example.com:9");
    let steam = Steam::start(directory, KEY, |_| None);
    let arguments = ["list", "steam-api:", "--steam-api-url", &steam.url, "--format", "csv", "--strict"];
    let odd = run(&Folder::new(), Some(KEY), &arguments);
    assert_eq!(odd.code, Some(0), "{odd}");
    let report = "list steam-api: complete, 2 servers, 1 question, 1 row that cannot be read\n";
    assert!(odd.stderr.contains(report), "{odd}");
}

/// A run of the program that is killed if the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a run says that is interrupted while a list waits for Steam, which has named 100 servers.
fn interrupted(folder: &Folder, arguments: &[&str]) -> Run {
    let steam = Steam::start(directory(900, 100), KEY, |number| (number > 0).then_some((429, Some(0), "")));
    let stderr = File::create(folder.path().join("stderr")).expect("the folder can be written");
    // Whoever runs the tests in the background may have all of them ignore signals, and the program honours that.
    let child = Command::new("env")
        .arg("--default-signal=INT")
        .arg(cargo_bin!("fragscan"))
        .args(arguments)
        .args(["--steam-api-url", &steam.url, "--list-rate", "max"])
        .env("STEAM_API_KEY", KEY)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn();
    let mut child = Running(child.expect("the program starts"));
    let said = || String::from_utf8(folder.read("stderr")).expect("messages are UTF-8");
    // It is told to ask again at once, and waits all the same.
    wait_for("the list to wait", || said().contains("status 429; asking again in 30s").then_some(()));
    let kill = format!("kill -INT {}", child.0.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("there is a shell").success());
    let status = wait_for("the end", || child.0.try_wait().expect("it is a child of ours"));
    assert_eq!(steam.asked.lock().expect("nobody panics with it").len(), 2);
    Run { code: status.code(), stdout: Vec::new(), stderr: said() }
}

#[test]
fn a_list_that_is_open_when_the_run_ends_stands_in_the_account() {
    let report =
        "list steam-api:?limit=100: list_incomplete, 100 servers, 2 questions: the run ended before the list did";
    let folder = Folder::new();
    let list = interrupted(&folder, &["list", "steam-api:?limit=100", "-o", "list.csv"]);
    assert_eq!(list.code, Some(3), "{list}");
    assert!(list.stderr.contains(report), "{list}");

    let scan = ["scan", "--from", "steam-api:?limit=100", "--rate", "max", "--timeout", "10m", "-o", "scan.csv"];
    let scan = interrupted(&folder, &scan);
    assert_eq!(scan.code, Some(3), "{scan}");
    assert!(scan.stderr.contains(report), "{scan}");
    let metadata = folder.metadata("scan.csv.partial");
    let [list] = &**metadata["lists"].as_array().expect("they are listed") else { panic!("{metadata}") };
    let value = |key: &str| -> &Value { &list[key] };
    assert_eq!((value("outcome"), value("complete")), (&json!("list_incomplete"), &json!(false)));
    assert_eq!((value("servers"), value("questions")), (&json!(100), &json!(2)));
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
    assert!(refused.stderr.contains("list steam-api: failed, 0 servers, 1 question: "), "{refused}");
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

#[test]
fn a_key_or_a_password_in_a_wrong_place_is_not_repeated() {
    let folder = Folder::new();
    let password = "hunter2";
    for (list, expected) in [
        ("steam-api:?api_key=KEY", "write no key into the URL"),
        ("steam-api:?kee=KEY", "write no key into the URL"),
        ("Steam-API:?%6bey=KEY", "write no key into the URL"),
        ("steam-api:?KEY", "write no key into the URL"),
        ("steam-api:?app=KEY", "write no key into the URL"),
        ("steam-api:?filter=/KEY/1", "write no key into the URL"),
        // Each digit of it is written otherwise.
        ("steam-api:?filter=/ENCODED/1", "there is no key \"[hidden]\""),
        ("steam-api:?key=hunter2", "write no key into the URL"),
        ("steam-api:KEY", "write no key into the URL"),
        ("STEAM-API://KEY", "write no key into the URL"),
        ("KEY", "say what kind of list it is"),
        ("valve-master://192.0.2.1?key=KEY", "is no parameter of this list"),
        ("valve-master://192.0.2.1?KEY", "\"[hidden]\" is no parameter of this list"),
        ("steam-api:/appid/70", "or steam-api:?filter=/appid/70"),
    ] {
        let encoded = KEY.bytes().map(|digit| format!("%{digit:02X}")).collect::<Vec<_>>().concat();
        let list = list.replace("ENCODED", &encoded).replace("KEY", KEY);
        for arguments in [&["list", &*list][..], &["scan", "--from", &list]] {
            let wrong = run(&folder, Some("abc"), arguments);
            assert_eq!(wrong.code, Some(2), "{arguments:?}: {wrong}");
            assert!(wrong.stderr.contains(expected), "{arguments:?}: {wrong}");
            assert!(!wrong.stderr.contains(password), "{arguments:?}: {wrong}");
            assert_no_key(&folder, &wrong);
        }
    }
    for url in
        ["https://192.0.2.1/?key=KEY", "https://u:KEY@192.0.2.1/", "https://u:hunter2@192.0.2.1", "KEY", "hunter2"]
    {
        let wrong = run(&folder, Some("abc"), &["list", "steam-api:", "--steam-api-url", &url.replace("KEY", KEY)]);
        assert_eq!(wrong.code, Some(2), "{url}: {wrong}");
        assert!(wrong.stderr.contains("--steam-api-url: this is no address of a web server"), "{url}: {wrong}");
        assert!(!wrong.stderr.contains(password), "{url}: {wrong}");
        assert_no_key(&folder, &wrong);
    }
    for (arguments, word) in
        [(&["scan"][..], "steam-api:?key=KEY"), (&["list", "steam-api:"], "--steam-key-file=./KEY")]
    {
        let word = word.replace("KEY", KEY);
        let wrong = run(&folder, None, &[arguments, &[&word]].concat());
        assert_eq!(wrong.code, Some(2), "{word}: {wrong}");
        assert_no_key(&folder, &wrong);
    }
}
