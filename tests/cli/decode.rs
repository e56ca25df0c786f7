//! Recorded datagrams: `decode`, `scan --raw`, and what comes of one through the other.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::farm::Farm;
use crate::support::{Folder, Table, closed_port};

/// An info reply as Valve's wiki prints it for Counter-Strike: Source.
const SAMPLE: &str = "\
# asked and answered
> ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69 6e 65 20 51 75 65 72 79 00
< FFFFFFFF 49 02 67616D6532786473 2E636F6D20436F756E7465722D537472696B6520536F757263652023310064655F64757374006373747269
6b65
";

fn objects(bytes: &[u8]) -> Vec<Map<String, Value>> {
    let text = std::str::from_utf8(bytes).expect("NDJSON is UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

/// What does not depend on when and how often something was sent.
fn lasting(object: &Map<String, Value>) -> BTreeMap<String, Value> {
    const PASSING: [&str; 10] =
        ["target", "source", "sent_at", "rtt_ms", "ping_ms", "attempts", "sent", "received", "fragments", "icmp"];
    let mut lasting: BTreeMap<_, _> = object.clone().into_iter().collect();
    for key in PASSING {
        lasting.remove(key);
    }
    let words = lasting["flags"].as_str().unwrap_or_default().split(' ').filter(|word| *word != "rtt_ambiguous");
    let words: Vec<&str> = words.collect();
    let flags = words.join(" ");
    lasting.insert("flags".into(), flags.into());
    lasting
}

#[test]
fn the_datagrams_of_a_scan_decode_to_its_rows() {
    let folder = Folder::new();
    let target = "farm:400?mix=full&refused=0%";
    folder.run_well(&["scan", target, "--queries", "all", "--timeout", "400ms", "-o", "a.ndjson", "--raw", "a.pcapng"]);
    let metadata = folder.metadata("a.ndjson");
    let ledger = &metadata["ledger"]["datagrams"];
    let kept = metadata["raw"]["datagrams"].as_u64().unwrap();
    // The first request to each, and all that came while it was being asked: all that was used, and some that was not.
    let used = 400 + ledger["matched"].as_u64().unwrap() + ledger["undecodable"].as_u64().unwrap();
    assert!((used..=400 + ledger["received"].as_u64().unwrap()).contains(&kept), "{kept} of {used}");

    let decoded = folder.run_well(&["decode", "a.pcapng", "--format", "ndjson"]);
    let rows = |bytes: &[u8]| -> BTreeMap<String, BTreeMap<String, Value>> {
        let all = objects(bytes);
        all.iter().map(|object| (object["address"].as_str().unwrap().to_owned(), lasting(object))).collect()
    };
    let (scanned, decoded) = (rows(&folder.read("a.ndjson")), rows(&decoded.stdout));
    assert_eq!(scanned.len(), 400);
    for (address, row) in &scanned {
        assert_eq!(decoded.get(address), Some(row), "{address}");
    }
    assert_eq!(decoded.len(), 400);
}

#[test]
fn hex_is_taken_apart_field_by_field() {
    let folder = Folder::new();
    folder.write("sample.hex", SAMPLE);
    let table = folder.run(&["decode", "sample.hex"]);
    let text = String::from_utf8(table.stdout).unwrap();
    // The last line of the sample is a datagram of its own that fits nothing.
    for line in ["datagram 1, line 2, 25 bytes: a2s request for info", "datagram 2, line 3, 57 bytes: a2s info"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("game2xds.com Counter-Strike Source #1") && text.contains("de_dust"), "{text}");
    assert!(text.contains("this does not fit: "), "{text}");
    let markdown = folder.run_well(&["decode", "sample.hex", "--format", "markdown"]);
    let text = String::from_utf8(markdown.stdout).unwrap();
    assert!(text.contains("### datagram 2") && text.contains("| 6 "), "{text}");
}

#[test]
fn a_cut_reply_keeps_what_came_and_standard_input_is_read() {
    let folder = Folder::new();
    let run = folder.run_with(&["decode", "-", "--format", "ndjson"], SAMPLE);
    assert_eq!(run.code, Some(0), "{run}");
    let [row] = &objects(&run.stdout)[..] else { panic!("one file is one server") };
    assert_eq!(row["name"], "game2xds.com Counter-Strike Source #1");
    assert_eq!((&row["folder"], &row["status"], &row["flags"]), (&"cstri".into(), &"ok".into(), &"truncated".into()));
    assert_eq!((&row["sent"], &row["address"]), (&1.into(), &Value::Null));
    assert!(!row.contains_key("rules"), "rules were not asked for");
}

#[test]
fn bad_hex_is_a_mistake_with_line_and_column() {
    let folder = Folder::new();
    folder.write("bad.hex", "ffffffff49\nffff fg00\n");
    let run = folder.run(&["decode", "bad.hex"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(2), "fragscan: bad.hex:2:7: 'g' is not a hex digit\n"));
    assert!(run.stdout.is_empty());
    let run = folder.run(&["decode", "missing.hex"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.starts_with("fragscan: reading missing.hex: "), "{run}");
    for (arguments, says) in [
        (&["decode", "bad.hex", "--format", "xml"][..], "[possible values: table, markdown, ndjson, csv]"),
        (&["decode", "bad.hex", "--protocol", "quake9"], "[possible values: a2s, quake3,"),
        (&["decode", "bad.hex", "--protocol", "hl1-master", "--format", "csv"], "hl1-master is a kind of list"),
        (&["decode", "bad.hex", "--queries", "info"], "say --format ndjson or csv"),
        (&["decode", "bad.hex", "--format", "csv", "--fields", "rules"], "only NDJSON has a place"),
        (&["decode"], "FILE"),
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(says), "{run}");
    }
}

#[test]
fn a_damaged_capture_gives_what_stands_before_the_damage() {
    let folder = Folder::new();
    folder.run_well(&["scan", "farm:50", "-o", "a.csv", "--raw", "a.pcapng"]);
    let whole = folder.read("a.pcapng");
    // Blocks are as long as a multiple of four.
    folder.write("cut.pcapng", &whole[..whole.len() / 8 * 4 + 2]);
    let run = folder.run(&["decode", "cut.pcapng", "--format", "csv", "--fields", "address,status"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.starts_with("fragscan: cut.pcapng is damaged after "), "{run}");
    assert!(run.stdout.iter().filter(|byte| **byte == b'\n').count() > 10);
}

#[test]
fn each_query_has_its_outcome_and_lists_are_chosen_like_columns() {
    let folder = Folder::new();
    let fields = "address,info_status,players_status,rules_status,ping_status,rules";
    let arguments =
        ["scan", "farm:40", "--queries", "info,rules", "--fields", fields, "-o", "a.ndjson", "-o", "b.csv", "-q"];
    folder.run_well(&arguments);
    let rows = objects(&folder.read("a.ndjson"));
    assert_eq!(rows.len(), 40);
    for row in &rows {
        let words =
            ["info_status", "players_status", "rules_status", "ping_status"].map(|key| row[key].as_str().unwrap());
        assert_eq!(words, ["ok", "none", "ok", "none"]);
        assert!(row["rules"].is_array() && row.len() == 6, "{row:?}");
    }
    assert_eq!(folder.table("b.csv").header.join(","), fields.strip_suffix(",rules").unwrap());

    let run = folder.run(&["scan", "farm:4", "--queries", "info,names"]);
    assert_eq!((run.code, run.stdout.len()), (Some(2), 0));
    assert!(run.stderr.contains("[possible values: info, players, rules, ping, all]"), "{run}");
    let run = folder.run(&["scan", "farm:4", "--fields", "rules", "-o", "a.csv"]);
    assert!(run.stderr.contains("rules is a list: only NDJSON has a place for it"), "{run}");
    let run = folder.run(&["scan", "farm:4", "-o", "a.csv", "--raw", "a.csv"]);
    assert!(run.stderr.contains("--raw: a.csv holds a pcapng"), "{run}");
    let run = folder.run(&["scan", "farm:4", "-o", "a.csv", "--metadata", "a.pcapng", "--raw", "./a.pcapng"]);
    assert!(run.stderr.contains("--raw: ./a.pcapng is taken"), "{run}");
}

#[test]
fn a_recorded_list_server_has_no_row() {
    let folder = Folder::new();
    let (port, master) = (closed_port().to_string(), closed_port().to_string());
    let lists = ["--master", "valve", "--master-port", &master];
    let _farm = Farm::start(&folder, &[&["--servers", "50", "--port", &port], &lists[..]].concat());
    let url = format!("valve-master://127.0.0.1:{master}");
    let raw = ["--rate", "max", "--host-rate", "max", "--raw", "all.pcapng", "-o", "all.csv"];
    folder.run_well(&[&["scan", "--from", &url], &raw[..]].concat());
    let decoded = folder.run_well(&["decode", "all.pcapng", "--format", "csv"]);
    assert_eq!(Table::read(&decoded.stdout).sorted("address"), folder.table("all.csv").sorted("address"));
    assert_eq!(folder.table("all.csv").rows.len(), 50);
    let taken_apart = folder.run_well(&["decode", "all.pcapng"]).stdout;
    assert!(String::from_utf8_lossy(&taken_apart).contains("page of a list"));
}

#[test]
fn recorded_servers_answer_as_they_once_did() {
    let folder = Folder::new();
    folder.write("none.txt", "");
    let run = folder.run(&["farm", "--replay", "."]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("there is no file of datagrams in ."), "{run}");
    let run = folder.run(&["farm", "--replay", ".", "--banned", "5%"]);
    assert!(run.stderr.contains("--banned: recorded servers are what they were recorded as"), "{run}");
}
