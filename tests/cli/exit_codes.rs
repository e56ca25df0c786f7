//! What cannot be done: exit code, message, and that nothing was sent or left behind.

use std::net::{Ipv4Addr, UdpSocket};

use crate::support::{Folder, Listener, closed_port};

#[test]
fn what_was_mistyped_is_explained_before_anything_happens() {
    for (arguments, explanation) in [
        (&["scan"][..], "there is nothing to scan"),
        (&["scan", "300.1.2.3"], "\"300.1.2.3\" is not an IPv4 address"),
        (&["scan", "127.0.0.1:0"], "port 0 cannot be asked"),
        (&["scan", "quake9://127.0.0.1"], "there is no protocol \"quake9\""),
        (&["scan", "farm:0"], "farm:N"),
        (&["scan", "farm:5?silent=lots"], "\"lots\" is not a share"),
        (&["scan", "farm:5?colour=red"], "colour"),
        (&["scan", "farm:5", "farm:6"], "one farm is enough"),
        (&["scan", "farm:5", "--timeout", "3"], "--timeout: \"3\" is not a time"),
        (&["scan", "farm:5", "--timeout", "0s"], "--timeout"),
        (&["scan", "farm:5", "--target-timeout", "soon"], "--target-timeout: \"soon\" is not a time"),
        (&["scan", "farm:5", "--rate", "fast"], "--rate: \"fast\" is not a rate"),
        (&["scan", "farm:5", "--rate", "0"], "--rate: \"0\" is not a rate"),
        (&["scan", "farm:5", "--host-rate", "slow"], "--host-rate: \"slow\" is not a rate"),
        (&["scan", "farm:5", "--bandwidth", "wide"], "--bandwidth: \"wide\" is not a rate"),
        (&["scan", "farm:5", "--window", "0"], "--window: 0 is not in 1 to"),
        (&["scan", "farm:5", "--window", "wide"], "--window"),
        (&["scan", "farm:5", "--retries", "1000"], "--retries: 1000 is not in 0 to"),
        (&["scan", "farm:5", "--game", "dayzz"], "--game: there is no game \"dayzz\": did you mean dayz"),
        (&["scan", "farm:5", "--game", "dayz", "--protocol", "a2s"], "cannot be used with '--protocol <NAME>'"),
        (&["query", "127.0.0.1", "--game", "qqqqqqqq"], "`fragscan games` lists all"),
        (&["bench", "127.0.0.1", "--game", "dayzz"], "did you mean dayz"),
        (&["scan", "farm:5", "--ports", "1-"], "--ports"),
        (&["scan", "farm:5", "--exclude", "example.com"], "--exclude"),
        (&["scan", "farm:5", "--exclude-file", "missing.txt"], "missing.txt"),
        (&["scan", "-i", "missing.txt"], "missing.txt"),
        (&["scan", "farm:5", "-o", "twice.csv", "-o", "twice.csv"], "twice.csv is taken by an input or another output"),
        (&["scan", "farm:5", "-o", "-", "-o", "-"], "taken by an input or another output"),
        (&["scan", "farm:5", "--no-such-flag"], "--no-such-flag"),
        (&["farm", "--loss", "lots"], "--loss: \"lots\" is not a share"),
        (&["farm", "--port", "0"], "--port"),
        (&["farm", "--bind", "127.0.0.1"], "--clients 192.168.1.0/24"),
        (&["dance"], "dance"),
    ] {
        let folder = Folder::new();
        let listener = Listener::new();
        let mut all = arguments.to_vec();
        let target = listener.target();
        if arguments.len() > 2 && arguments[0] == "scan" {
            // Were the mistake overlooked, this one would be asked, and a file written.
            all.push(&target);
            if !arguments.contains(&"-o") {
                all.extend(["-o", "servers.csv"]);
            }
        }
        let run = folder.run(&all);
        assert_eq!(run.code, Some(2), "{all:?}: {run}");
        assert!(run.stderr.contains(explanation), "{all:?} is not explained by {explanation:?}: {run}");
        assert!(run.stdout.is_empty(), "{all:?} has printed rows");
        assert!(!listener.was_asked(), "{all:?} has sent something");
        assert!(folder.names().is_empty(), "{all:?} has left {:?}", folder.names());
    }
}

#[test]
fn a_wrong_word_is_answered_with_those_that_there_are() {
    for (arguments, option, words) in [
        (&["scan", "farm:5", "--order", "random"][..], "--order <ORDER>", "shuffled, input"),
        (&["scan", "farm:5", "--format", "xml"], "--format <FORMAT>", "table, csv, ndjson"),
        (&["scan", "farm:5", "--color", "x"], "--color <WHEN>", "auto, always, never"),
        (&["scan", "farm:5", "--io", "x"], "--io <PATH>", "auto, mmsg, portable"),
        (&["scan", "farm:5", "--queries", "info,x"], "--queries <QUERIES>", "info, players, rules, ping, all"),
        (&["scan", "farm:5", "--protocol", "x"], "--protocol <NAME>", "auto, a2s, quake3"),
        (&["list", "valve-master://127.0.0.1", "-f", "x"], "--format <FORMAT>", "table, csv, ndjson"),
        (&["games", "-f", "x"], "--format <FORMAT>", "table, csv, ndjson"),
        (&["fields", "-f", "x"], "--format <FORMAT>", "duckdb, pandas, frictionless"),
        (&["query", "127.0.0.1", "-f", "x"], "--format <FORMAT>", "text, json]"),
        (&["query", "127.0.0.1", "--protocol", "x"], "--protocol <NAME>", "auto, a2s, quake3"),
        (&["doctor", "-f", "x"], "--format <FORMAT>", "text, json]"),
        (&["bench", "farm:5", "-f", "x"], "--format <FORMAT>", "text, json, csv"),
        (&["bench", "farm:5", "--protocol", "x"], "--protocol <NAME>", "a2s, quake3"),
        (&["decode", "x", "-f", "x"], "--format <FORMAT>", "table, markdown, ndjson, csv"),
        (&["decode", "x", "--protocol", "x"], "--protocol <NAME>", "a2s, quake3"),
        (&["farm", "--mix", "x"], "--mix <MIX>", "sound, full"),
        (&["farm", "--protocols", "x"], "--protocols <WORD>", "any, one, a2s"),
        (&["farm", "--master", "hl1,x"], "--master <KINDS>", "valve, hl1, quake3, all"),
        (&["farm", "--master", "hl1", "--master-style", "x"], "--master-style <STYLE>", "paged, at-once, loop"),
    ] {
        let folder = Folder::new();
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {run}");
        let explanation = format!("invalid value '{}' for '{option}'\n  [possible values: {words}", wrong(arguments));
        assert!(run.stderr.contains(&explanation), "{arguments:?} is not explained by {explanation:?}: {run}");
        assert!(run.stdout.is_empty() && folder.names().is_empty(), "{arguments:?}");
    }
}

/// The last word that was typed.
fn wrong<'a>(arguments: &[&'a str]) -> &'a str {
    let typed = arguments.last().copied().unwrap_or_default();
    typed.rsplit(',').next().unwrap_or(typed)
}

#[test]
fn one_file_under_two_spellings_is_named_twice() {
    let folder = Folder::new();
    let run = folder.run(&["scan", "farm:5", "-o", "servers.csv", "-o", "./servers.csv"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("taken by an input or another output"), "{run}");
    assert!(folder.names().is_empty(), "{:?} was left", folder.names());
}

#[test]
fn metadata_cannot_take_the_place_of_rows() {
    let folder = Folder::new();
    let run = folder.run(&["scan", "farm:5", "-o", "servers.csv", "--metadata", "servers.csv"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(folder.names().is_empty(), "{:?} was left", folder.names());
}

#[test]
fn a_time_past_the_end_of_the_clock_is_no_reason_to_crash() {
    for flag in ["--timeout", "--target-timeout"] {
        let run = Folder::new().run(&["scan", "farm:5", flag, "9223372036854775807s"]);
        assert!(matches!(run.code, Some(0 | 2)), "{flag}: {run}");
        assert!(!run.stderr.contains("panicked"), "{flag}: {run}");
    }
}

#[test]
fn strict_refuses_a_bad_line_before_anything_is_sent() {
    let (folder, listener) = (Folder::new(), Listener::new());
    folder.write("targets.txt", format!("{}\n127.0.0.300\nfine.but.300.1.1.\n", listener.target()));
    let run = folder.run(&["scan", "--strict", "-i", "targets.txt", "-o", "servers.csv"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("targets.txt:2: \"127.0.0.300\" is not an IPv4 address"), "{run}");
    assert!(!listener.was_asked(), "it was asked all the same");
    assert_eq!(folder.names(), ["targets.txt"]);
}

#[test]
fn an_output_that_cannot_be_created_is_noticed_before_anything_is_sent() {
    for output in ["missing/servers.csv", "/proc/servers.csv", "."] {
        let (folder, listener) = (Folder::new(), Listener::new());
        let run = folder.run(&["scan", &listener.target(), "-o", output]);
        assert_eq!(run.code, Some(4), "{output}: {run}");
        assert!(run.stderr.starts_with("fragscan: ") && run.stderr.contains(output), "{output}: {run}");
        assert!(!listener.was_asked(), "{output}: it was asked all the same");
        assert!(folder.names().is_empty(), "{output}: {:?} was left", folder.names());
    }
}

#[test]
fn a_full_device_ends_the_run_and_what_is_safe_is_said() {
    let folder = Folder::new();
    let run = folder.run(&["scan", "farm:50", "-o", "/dev/full"]);
    assert_eq!(run.code, Some(4), "{run}");
    let last = run.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("fragscan: writing to /dev/full: "), "{run}");
    assert!(last.ends_with("; 0 rows are safe in /dev/full"), "{run}");
    assert!(folder.names().is_empty(), "no metadata stands beside a device");
}

#[test]
fn an_output_that_fails_leaves_the_other_whole_as_far_as_it_goes() {
    let folder = Folder::new();
    folder.write("servers.csv", "an older file\n");
    let run = folder.run(&["scan", "farm:2000", "-o", "servers.csv", "-o", "/dev/full"]);
    assert_eq!(run.code, Some(4), "{run}");
    assert_eq!(folder.read("servers.csv"), b"an older file\n");
    let partial = folder.read("servers.csv.partial");
    assert!(partial.is_empty() || partial.ends_with(b"\n"), "whole lines only");
    let rows = folder.table("servers.csv.partial").rows.len();
    let place = folder.path().join("servers.csv.partial");
    let safe = |place: &str| run.stderr.contains(&format!("{rows} rows are safe in {place}"));
    assert!(safe("servers.csv.partial") || safe(&place.to_string_lossy()), "not {rows}: {run}");
}

#[test]
fn rows_that_came_are_written_to_an_output_that_is_well() {
    let folder = Folder::new();
    let run = folder.run(&["scan", "farm:50", "-o", "/dev/full", "-o", "servers.csv"]);
    assert_eq!(run.code, Some(4), "{run}");
    assert_eq!(folder.table("servers.csv.partial").rows.len(), 50, "all had answered: {run}");
}

#[test]
fn what_the_system_refuses_is_neither_usage_nor_output() {
    let port = closed_port();
    let _taken = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap();
    let run = Folder::new().run(&["farm", "--servers", "5", "--port", &port.to_string()]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains(&format!("starting simulated servers on 0.0.0.0:{port}: ")), "{run}");
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [&["--help"][..], &["--version"], &["scan", "--help"], &["farm", "-h"]] {
        let run = Folder::new().run_well(arguments);
        assert!(!run.stdout.is_empty() && run.stderr.is_empty(), "{arguments:?}: {run}");
    }
}

#[test]
fn a_file_that_may_not_grow_further_ends_the_run_and_not_the_process() {
    let folder = Folder::new();
    let program = assert_cmd::cargo::cargo_bin!("fragscan");
    let output = std::process::Command::new("bash")
        .args(["-c", "ulimit -f 128; exec \"$0\" scan farm:3000 -o servers.csv"])
        .arg(program)
        .current_dir(folder.path())
        .output()
        .expect("there is a bash");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("rows are safe in servers.csv.partial"), "{said}");
    assert!(folder.read("servers.csv.partial").ends_with(b"\n"), "whole lines only");
}

#[test]
fn no_input_is_overwritten_however_it_is_named() {
    let folder = Folder::new();
    folder.write("in.csv", "127.0.0.1:9\n");
    folder.write("key.csv", "key");
    let program = assert_cmd::cargo::cargo_bin!("fragscan");
    let output = std::process::Command::new(program)
        .args(["scan", "-i", "-", "-o", "in.csv"])
        .stdin(std::fs::File::open(folder.path().join("in.csv")).expect("it is there"))
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is taken by an input or another output"), "{said}");
    let key =
        folder.run(&["scan", "127.0.0.1:9", "--from", "steam-api:", "--steam-key-file", "key.csv", "-o", "key.csv"]);
    assert_eq!(key.code, Some(2), "{key}");
    assert!(key.stderr.contains("key.csv is taken by an input"), "{key}");

    // Nor what somebody has put where rows are written until they are complete.
    std::os::unix::fs::symlink("in.csv", folder.path().join("out.csv.partial")).expect("it can be linked");
    let linked = folder.run(&["scan", "127.0.0.1:9", "-o", "out.csv"]);
    assert_eq!(linked.code, Some(4), "{linked}");
    assert_eq!(folder.read("in.csv"), b"127.0.0.1:9\n");
}

#[test]
fn what_an_earlier_run_has_left_is_kept_until_it_may_be_discarded() {
    let folder = Folder::new();
    for (left, more) in [("servers.csv.partial", &[][..]), ("raw.pcapng.partial", &["--raw", "raw.pcapng"])] {
        folder.write("servers.csv", "of yesterday\n");
        folder.write(left, "rows of an hour\n");
        let scan = [&["scan", "farm:5", "-q", "-o", "servers.csv", "-o", "servers.ndjson"], more].concat();
        let refused = folder.run(&scan);
        assert_eq!(refused.code, Some(6), "{refused}");
        let said = format!("creating {left}: 16 bytes of an earlier run that did not end are there, written until 20");
        assert!(refused.stderr.contains(&said), "{refused}");
        assert!(refused.stderr.contains("move the file away, or write --if-partial discard"), "{refused}");
        assert_eq!(folder.read(left), b"rows of an hour\n");
        assert_eq!(folder.read("servers.csv"), b"of yesterday\n");
        assert_eq!(folder.names().iter().filter(|name| name.ends_with(".partial")).count(), 1, "{:?}", folder.names());
        folder.run_well(&[&scan[..], &["--if-partial", "discard"]].concat());
        assert_eq!(folder.table("servers.csv").rows.len(), 5);
        assert!(!folder.names().iter().any(|name| name.ends_with(".partial")), "{:?}", folder.names());
    }
    // One in which nothing is is in nobody's way.
    folder.write("servers.csv.partial", "");
    folder.run_well(&["scan", "farm:5", "-q", "-o", "servers.csv"]);
}
