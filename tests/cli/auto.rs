//! `--protocol auto`: servers of which nobody says what they speak.

use std::collections::BTreeSet;

use crate::support::{Folder, closed_port};

#[test]
fn servers_of_every_protocol_are_found_and_named() {
    let folder = Folder::new();
    folder.run_well(&["scan", "farm:160", "--protocol", "auto", "-o", "out.csv"]);
    let table = folder.table("out.csv");
    let spoken: BTreeSet<&str> = table.column("protocol").into_iter().collect();
    let all = ["a2s", "bedrock", "fivem", "hl1", "justcause2", "minecraft", "quake3", "ut3"];
    assert_eq!(spoken.into_iter().collect::<Vec<_>>(), all);
    assert!(table.column("status").iter().all(|status| *status == "ok"));
    assert_eq!(table.rows.len(), 160);
}

#[test]
fn nothing_is_said_of_the_protocol_where_none_was_answered_and_a_target_may_ask_for_it() {
    let folder = Folder::new();
    let silent = "farm:1?silent=100%";
    folder.run_well(&["scan", silent, "--protocol", "auto", "--timeout", "20ms", "--retries", "0", "-o", "out.csv"]);
    let table = folder.table("out.csv");
    assert_eq!((table.column("protocol"), table.column("status")), (vec![""], vec!["timeout"]));
    // A closed port is closed in every protocol.
    let port = closed_port();
    let refused = folder.run(&["query", &format!("auto://127.0.0.1:{port}"), "--format", "json"]);
    let text = String::from_utf8(refused.stdout).unwrap();
    assert!(text.contains("\"protocol\":null") && text.contains("\"status\":\"refused\""), "{text}");
    assert!(text.contains("\"sent\":1,"), "{text}");
    let bench = folder.run(&["bench", "farm:10", "--protocol", "auto"]);
    assert_eq!(bench.code, Some(2));
    assert!(bench.stderr.contains("a benchmark asks one protocol"), "{bench}");
}
