//! `fragscan list` and `scan --from`: servers that list servers name.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::thread;

use assert_cmd::cargo::cargo_bin;

use crate::farm::Farm;
use crate::support::{Folder, Listener, Object, Table, closed_port};

/// A farm of 1,000 servers with a list server of each kind, from the port on that is returned.
fn farm<'a>(folder: &'a Folder, more: &[&str]) -> (Farm<'a>, u16) {
    let (port, first) = (closed_port(), closed_port());
    // The list servers are on three ports in a row.
    let _others = [closed_port(), closed_port()];
    let (port, masters) = (port.to_string(), first.to_string());
    let mut arguments = vec!["--servers", "1000", "--port", &port, "--master", "valve,hl1,quake3"];
    arguments.extend(["--master-port", &masters]);
    arguments.extend(more);
    (Farm::start(folder, &arguments), first)
}

const KINDS: [(&str, u16, &str); 3] =
    [("valve-master", 0, "a2s"), ("hl1-master", 1, "hl1"), ("quake3-master", 2, "quake3")];

#[test]
fn the_servers_of_every_kind_of_list_are_asked_once_each() {
    let folder = Folder::new();
    let (_farm, first) = farm(&folder, &[]);
    for (kind, offset, protocol) in KINDS {
        let url = format!("{kind}://127.0.0.1:{}", first + offset);
        let fast = ["--list-rate", "max", "--rate", "max", "--host-rate", "max", "--timeout", "5s"];
        folder.run_well(&[&["scan", "--from", &url, "-o", "all.csv"], &fast[..]].concat());
        let table = folder.table("all.csv");
        assert_eq!(table.rows.len(), 1_000, "{kind}");
        let mut addresses = table.sorted("address");
        addresses.dedup();
        assert_eq!(addresses.len(), 1_000, "{kind}");
        assert!(table.column("source").iter().all(|source| *source == url), "{kind}");
        assert!(table.column("protocol").iter().all(|spoken| *spoken == protocol), "{kind}");
        let metadata = folder.metadata("all.csv");
        assert_eq!(metadata["lists"][0]["outcome"], "complete", "{kind}");
        assert_eq!((&metadata["lists"][0]["list"], &metadata["lists"][0]["servers"]), (&url.into(), &1_000.into()));
        assert_eq!(metadata["ledger"]["input"]["read"], 1_000);
        assert!(metadata["ledger"]["lists"]["sent"].as_u64() > Some(0));
    }
}

#[test]
fn lists_are_united_and_mixed_with_other_targets_and_printed_without_asking() {
    let folder = Folder::new();
    let (_farm, first) = farm(&folder, &["--master-style", "at-once"]);
    let urls = KINDS.map(|(kind, offset, _)| format!("{kind}://127.0.0.1:{}", first + offset));
    let listed = folder.run_well(&["list", &urls[0], "--format", "ndjson", "--quiet"]);
    let lines = Object::read_lines(&listed.stdout);
    assert_eq!(lines.len(), 1_000);
    assert_eq!(lines[0].keys(), ["address", "ip", "port", "protocol", "source"]);
    assert_eq!(lines[0].value("source").as_str(), Some(&*urls[0]));

    // All three lists, in one protocol, and a target that they name too.
    let address = lines[0].value("address").as_str().unwrap();
    folder.write("more.txt", format!("{address}\n"));
    let arguments = [["scan", "--from"], [&urls[0], "--from"], [&urls[1], "--from"], [&urls[2], "-i"]].concat();
    let more = ["more.txt", "--protocol", "a2s", "--rate", "max", "--list-rate", "max", "-o", "all.csv"];
    folder.run_well(&[arguments, more.to_vec()].concat());
    assert_eq!(folder.table("all.csv").rows.len(), 1_000);
    let metadata = folder.metadata("all.csv");
    let input = &metadata["ledger"]["input"];
    assert_eq!((&input["read"], &input["duplicate"]), (&3_001.into(), &2_001.into()));
}

/// A Valve-style list server that answers every request with `entries` and the end.
fn master(entries: &'static [u8]) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!("valve-master://{}", socket.local_addr().expect("it is bound"));
    thread::spawn(move || {
        let mut request = [0; 512];
        while let Ok((_, from)) = socket.recv_from(&mut request) {
            let reply = [b"\xFF\xFF\xFF\xFFf\n", entries, &[0; 6]].concat();
            socket.send_to(&reply, from).expect("loopback takes it");
        }
    });
    url
}

#[test]
fn addresses_that_nobody_can_ask_are_left_out_with_the_reason() {
    let folder = Folder::new();
    // Steam's stand-in addresses, a private one, 0.0.0.0, a broadcast address, port 0, and one of documentation.
    let url = master(
        b"\xA9\xFE\x01\x02\x69\x87\x0A\0\0\x01\x69\x87\0\0\0\0\x69\x87\xFF\xFF\xFF\xFF\x01\0\x08\x08\x08\x08\0\0\
        \xC6\x33\x64\x01\x69\x87",
    );
    let run = folder.run(&["scan", "--from", &url, "-o", "all.csv"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("6 read, 1 invalid"), "{run}");
    assert!(run.stderr.contains("; 4 in reserved networks") && run.stderr.contains("; 1 private"), "{run}");
    assert!(run.stderr.contains(&format!("list {url}: complete, 6 servers")), "{run}");
}

#[test]
fn a_list_that_was_not_had_is_an_error_only_if_it_is_wanted() {
    let folder = Folder::new();
    let silent = Listener::new();
    let (_farm, first) = farm(&folder, &[]);
    let dead = format!("valve-master://{}", silent.target());
    let good = format!("valve-master://127.0.0.1:{first}");
    let scan = ["scan", "--from", &dead, "--from", &good, "--list-rate", "max", "--rate", "max", "-o", "all.csv"];
    let quick = ["--timeout", "100ms", "--retries", "1"];
    let run = folder.run_well(&[&scan[..], &quick].concat());
    assert!(run.stderr.contains(&format!("list {dead}: timeout, 0 servers")), "{run}");
    assert_eq!(folder.table("all.csv").rows.len(), 1_000);
    assert!(silent.was_asked());
    let run = folder.run(&[&scan[..], &quick, &["--strict"]].concat());
    assert_eq!(run.code, Some(3), "{run}");
    let run = folder.run(&[&["list", &dead, "--strict"], &quick[..]].concat());
    assert_eq!(run.code, Some(3), "{run}");
    let run = folder.run(&[&["scan", "--from", &dead, "--strict"], &quick[..]].concat());
    assert_eq!(run.code, Some(3), "{run}");
}

#[test]
fn a_list_of_which_nothing_came_replaces_nothing() {
    let folder = Folder::new();
    let silent = Listener::new();
    let quick = ["-o", "good.csv", "--timeout", "100ms", "--retries", "0"];
    let urls = [
        format!("valve-master://{}", silent.target()),
        format!("valve-master://127.0.0.1:{}", closed_port()),
        "valve-master://no-such-host.invalid".to_owned(),
        master(b""),
    ];
    for url in &urls {
        folder.write("good.csv", "of yesterday\n");
        let run = folder.run(&[&["list", url], &quick[..]].concat());
        assert_eq!(run.code, Some(2), "{url}: {run}");
        assert!(run.stderr.contains("the lists named no server"), "{url}: {run}");
        assert!(run.stderr.contains(&format!("list {url}: ")), "{url}: {run}");
        let strict = folder.run(&[&["list", url, "--strict"], &quick[..]].concat());
        let complete = run.stderr.contains(": complete, 0 servers");
        assert_eq!(strict.code, Some(if complete { 2 } else { 3 }), "{url}: {strict}");
        assert_eq!(folder.read("good.csv"), b"of yesterday\n", "{url}");
        assert_eq!(folder.names(), ["good.csv"], "{url}");
    }
}

#[test]
fn a_list_that_came_in_part_is_kept_and_metadata_say_what_is_missing() {
    let folder = Folder::new();
    let silent = Listener::new();
    let dead = format!("valve-master://{}", silent.target());
    let good = master(b"\x08\x08\x08\x08\x69\x87\x0A\0\0\x01\x69\x87\xC6\x33\x64\x01\x69\x87");
    let quick = ["--strict", "--timeout", "100ms", "--retries", "0", "--list-rate", "max", "-o", "list.csv"];
    let run = folder.run(&[&["list", &good, &dead], &quick[..]].concat());
    assert_eq!(run.code, Some(3), "{run}");
    let sum = "servers: 3 named = 1 printed + 0 invalid + 0 named again + 2 excluded (1 reserved, 1 private, 0 listed) \
        + 0 not printed";
    assert!(run.stderr.contains(sum), "{run}");
    assert!(run.stderr.contains("left out without --include-private"), "{run}");
    assert_eq!(folder.table("list.csv").column("address"), ["8.8.8.8:27015"]);
    assert_eq!(folder.names(), ["list.csv", "list.csv.meta.json"]);
    let metadata = folder.metadata("list.csv");
    assert_eq!((&metadata["stop"], &metadata["outputs"][0]["rows"]), (&"done".into(), &1.into()));
    let outcomes: Vec<_> = metadata["lists"].as_array().unwrap().iter().map(|list| &list["outcome"]).collect();
    assert!(outcomes.contains(&&"timeout".into()) && outcomes.contains(&&"complete".into()), "{outcomes:?}");
    let input = &metadata["ledger"]["input"];
    assert_eq!((&input["read"], &input["printed"], &input["excluded_private"]), (&3.into(), &1.into(), &1.into()));
    assert_eq!(
        (&metadata["ledger"]["targets"]["scheduled"], &metadata["ledger"]["rows"]["written"]),
        (&0.into(), &1.into())
    );

    let private = ["--include-private", "--exclude", "8.8.8.0/24", "--list-rate", "max"];
    let run = folder.run_well(&[&["list", &good], &private[..]].concat());
    assert!(run.stderr.contains("1 printed") && run.stderr.contains("(1 reserved, 0 private, 1 listed)"), "{run}");
    assert!(!run.stderr.contains("--include-private"), "{run}");
}

#[test]
fn an_application_is_for_lists_that_have_such_a_thing_and_kinds_are_known_in_capitals() {
    let folder = Folder::new();
    let (_farm, first) = farm(&folder, &[]);
    let urls = [format!("Valve-Master://127.0.0.1:{first}"), format!("HL1-MASTER://127.0.0.1:{}", first + 1)];
    let more = ["--app", "70", "--list-rate", "max", "--timeout", "5s", "--format", "csv"];
    let run = folder.run_well(&[&["list", &urls[0], &urls[1]], &more[..]].concat());
    assert_eq!(Table::read(&run.stdout).rows.len(), 2_000, "1,000 of a2s and 1,000 of hl1: {run}");
    assert!(run.stderr.contains(&format!("list {}: complete, 1000 servers", urls[0])), "{run}");
}

#[test]
fn odd_datagrams_of_a_list_are_explained_and_requests_leave_from_where_they_are_told() {
    let folder = Folder::new();
    let port = closed_port();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!("valve-master://{}", socket.local_addr().expect("it is bound"));
    let from = thread::spawn(move || {
        let (_, from) = socket.recv_from(&mut [0; 512]).expect("it is asked");
        socket.send_to(b"what?", from).expect("loopback takes it");
        from
    });
    let (ip, port) = ("127.0.0.8".to_owned(), port.to_string());
    let sending = ["--source-ip", &ip, "--source-port", &port, "--interface", "lo"];
    let run = folder.run(&[&["list", &url, "-v", "--timeout", "200ms", "--retries", "0"], &sending[..]].concat());
    assert_eq!(from.join().expect("it was asked").to_string(), format!("{ip}:{port}"));
    assert!(run.stderr.contains("77 68 61 74 3f"), "the bytes of what?: {run}");
}

#[test]
fn mistakes_are_answered_with_what_to_write() {
    let folder = Folder::new();
    for (arguments, reason) in [
        (&["list", "127.0.0.1:27010"][..], "say what kind of list it is: known are valve-master://HOST:PORT"),
        (&["list", "a2s://127.0.0.1"], "there is no kind of list \"a2s\""),
        (&["list", "valve-master://127.0.0.0/24"], "a list is at one address and one port"),
        (&["list", "valve-master://127.0.0.1:1-2"], "a list is at one address and one port"),
        (&["list", "valve-master://192.0.2.1"], "192.0.2.1:27010 is never asked"),
        (
            &["list", "valve-master://127.0.0.1?filter=/appid/730/nor/3/map/x"],
            "?filter=/appid/730/nor/3/map/x\": character 16 of the filter: /nor/3: only 1 condition follows",
        ),
        (&["list", "quake3-master://127.0.0.1?protocol=x"], "protocol: \"x\" is not a number"),
        (&["list", "hl1-master://127.0.0.1?app=70"], "\"app\" is no parameter of this list: it has none"),
        (
            &["list", "hl1-master://127.0.0.1", "--app", "70"],
            "--app: none of these lists can be asked for the servers of",
        ),
        (
            &["list", "valve-master://127.0.0.1?app=10", "--app", "70"],
            "?app=10\": with --app 70: \"app\" is there twice: write it once",
        ),
        (
            &["list", "valve-master://127.0.0.1?filter=/appid/10", "--app", "70"],
            "with --app 70: no server runs two applications: name one, with --app, as app=ID in the URL",
        ),
        (&["list", "quake3-master://127.0.0.1?game=a&game=b"], "\"game\" is there twice"),
        (
            &["list", "valve-master://127.0.0.1", "--list-rate", "30/min"],
            "--list-rate: \"30/min\" is not a number of requests a minute: write it as 30, 0.5 or max",
        ),
        (&["scan", "valve-master://127.0.0.1"], "`fragscan scan --from valve-master://HOST:PORT` asks them"),
        (&["query", "valve-master://127.0.0.1"], "`fragscan list valve-master://HOST:PORT` prints its servers"),
        (&["bench", "valve-master://127.0.0.1"], "`fragscan list valve-master://HOST:PORT` prints its servers"),
        (
            &["list", "valve-master://127.0.0.1", "--source-ip", "192.0.2.9"],
            "192.0.2.9 is not an address of this machine",
        ),
        (&["list", "valve-master://127.0.0.1", "--source-port", "0"], "--source-port: port 0"),
        (&["list", "valve-master://127.0.0.1", "-b", "missing.txt"], "missing.txt"),
        (&["scan", "127.0.0.1", "--protocol", "hl1-master"], "hl1-master is a kind of list"),
        (&["bench", "127.0.0.1", "--protocol", "won-master"], "hl1-master is a kind of list"),
        (&["farm", "--master", "quake2"], "[possible values: valve, hl1, quake3, all]"),
        (&["farm", "--master", "all", "--master-port", "65534"], "65534 is not in 1 to 65533, as --master all needs"),
        (&["farm", "--master", "hl1", "--master-port", "65535"], "65535 is not in 1 to 65534, as --master hl1 needs"),
        (&["farm", "--master", "valve", "--master-port", "0"], "0 is not in 1 to 65535, as --master valve needs"),
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {run}");
        assert!(run.stderr.contains(reason), "{arguments:?}: {run}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_told_how_many_rows_it_was_sent() {
    let folder = Folder::new();
    let (port, master) = (closed_port().to_string(), closed_port().to_string());
    let lists = ["--master", "valve", "--master-port", &master];
    let _farm = Farm::start(&folder, &[&["--servers", "5000", "--port", &port], &lists[..]].concat());
    let url = format!("valve-master://127.0.0.1:{master}");
    for arguments in
        [&["list", &url, "--list-rate", "max", "--format", "csv"][..], &["scan", "farm:5000", "--format", "csv"]]
    {
        let mut command = Command::new(cargo_bin!("fragscan"));
        let mut run = command
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(run.stdout.take().expect("it was asked for"));
        let mut seen = String::new();
        for _ in 0..3 {
            lines.read_line(&mut seen).expect("rows are UTF-8");
        }
        drop(lines);
        let run = run.wait_with_output().expect("it is a child of ours");
        let stderr = String::from_utf8(run.stderr).expect("messages are UTF-8");
        assert!(run.status.success(), "{stderr}");
        let sent = stderr.lines().find_map(|line| line.strip_suffix(" rows in standard output")?.parse::<u64>().ok());
        let sent = sent.unwrap_or_else(|| panic!("{stderr}"));
        // What it has read, and no more than what fits into a pipe and a buffer besides.
        assert!((2..4_000).contains(&sent), "{sent}: {stderr}");
        assert!(stderr.contains("stopped early: the reader of the output closed it"), "{stderr}");
        if arguments[0] == "list" {
            assert!(stderr.contains(&format!(" named = {sent} printed + ")), "{stderr}");
        }
    }
}
