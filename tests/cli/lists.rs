//! `fragscan list` and `scan --from`: servers that list servers name.

use std::net::UdpSocket;
use std::thread;

use crate::farm::Farm;
use crate::support::{Folder, Listener, Object, closed_port};

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
    assert!(run.stderr.contains("of 6 targets read, 1 are invalid"), "{run}");
    assert!(run.stderr.contains("; 4 in networks that are reserved") && run.stderr.contains("; 1 private"), "{run}");
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
fn mistakes_are_answered_with_what_to_write() {
    let folder = Folder::new();
    for (arguments, reason) in [
        (&["list", "127.0.0.1:27011"][..], "say what kind of list it is: known are valve-master://HOST:PORT"),
        (&["list", "a2s://127.0.0.1"], "there is no kind of list \"a2s\""),
        (&["list", "valve-master://127.0.0.0/24"], "a list is at one address and one port"),
        (&["list", "valve-master://127.0.0.1:1-2"], "a list is at one address and one port"),
        (&["list", "valve-master://192.0.2.1"], "192.0.2.1:27011 is never asked"),
        (
            &["list", "valve-master://127.0.0.1?filter=/appid/730/nor/3/map/x"],
            "\\nor\\3: only 1 conditions follow, at character 16 of the filter",
        ),
        (&["list", "quake3-master://127.0.0.1?protocol=x"], "protocol: \"x\" is not a number"),
        (&["list", "hl1-master://127.0.0.1", "--app", "70"], "\"app\" is no parameter of this list"),
        (&["list", "valve-master://127.0.0.1", "--list-rate", "often"], "--list-rate: \"often\""),
        (&["scan", "valve-master://127.0.0.1"], "ask the servers that it lists with --from valve-master://HOST:PORT"),
        (&["scan", "127.0.0.1", "--protocol", "hl1-master"], "hl1-master is a kind of list"),
        (&["farm", "--master", "quake2"], "--master: there is no list server \"quake2\": known are valve, hl1, quake3"),
        (&["farm", "--master", "valve", "--master-port", "65534"], "--master-port: 65534 is not in 1 to 65533"),
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {run}");
        assert!(run.stderr.contains(reason), "{arguments:?}: {run}");
    }
}
