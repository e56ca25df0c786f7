//! Real bytes over real sockets: replies that real servers sent, put on loopback, and one run of the program over them.
//!
//! The replies are not part of the repository, because they carry other people's names and addresses. The environment
//! variable `FRAGSCAN_CORPUS` names a folder that has them:
//!
//! ```text
//! fixtures/NAME.hex          one datagram a line
//! fixtures/NAME.json         what they say, as read by another decoder
//! captures/NAME-QUERY.hex    "> request" and "< reply" lines
//! captures/peers/NAME.txt    what other clients printed about these replies
//! ```
//!
//! Without the variable the tests say that they are skipped, and pass. With it, whatever is missing is a failure. What
//! a row should hold is read from these files too; this one knows no server.

mod expected;
mod files;
mod servers;

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Map, Value, json};

use expected::Expected;
use files::{Capture, Fixture};
use servers::{Reply, Server, Traffic};

#[test]
fn every_info_reply_reads_as_its_description_says() {
    check(Group::Info, 40);
}

#[test]
fn a_stray_challenge_behind_the_answer_changes_nothing() {
    check(Group::Stray, 2);
}

#[test]
fn a_challenge_is_sent_back_byte_for_byte() {
    check(Group::Challenge, 3);
}

#[test]
fn a_ban_is_told_and_not_asked_about_again() {
    check(Group::Banned, 1);
}

#[test]
fn garbage_is_malformed() {
    check(Group::Garbage, 2);
}

#[test]
fn garbage_before_the_answer_is_forgotten() {
    check(Group::Recovered, 2);
}

#[test]
fn captured_servers_read_as_two_other_clients_read_them() {
    check(Group::Capture, 2 * CAPTURES.len());
}

#[test]
fn no_request_carries_a_challenge_that_was_not_given() {
    let Some(run) = run() else { return };
    for outcome in &run.outcomes {
        let mut requests = outcome.traffic.requests.iter();
        assert_eq!(requests.next().map(Vec::as_slice), Some(servers::INFO_REQUEST), "{}", outcome.name);
        let with_challenge = |request: &&Vec<u8>| request.len() == servers::INFO_REQUEST.len() + 4;
        if outcome.group == Group::Challenge {
            assert!(requests.all(|request| with_challenge(&request)), "{}", outcome.name);
        } else {
            assert!(requests.all(|request| request == servers::INFO_REQUEST), "{}", outcome.name);
        }
    }
}

#[test]
fn every_target_has_one_row_in_each_output() {
    let Some(run) = run() else { return };
    assert!(run.output.status.success(), "{}", String::from_utf8_lossy(&run.output.stderr));
    let mut csv = csv::Reader::from_reader(run.csv.as_bytes());
    let column = csv.headers().unwrap().iter().position(|name| name == "address").unwrap();
    let mut cells: Vec<String> = csv.records().map(|row| row.unwrap()[column].to_owned()).collect();
    let mut keys: Vec<&str> = run.rows.iter().map(|row| row["address"].as_str().unwrap()).collect();
    let mut asked: Vec<&str> = run.outcomes.iter().map(|outcome| outcome.address.as_str()).collect();
    cells.sort_unstable();
    keys.sort_unstable();
    asked.sort_unstable();
    assert_eq!(keys, asked);
    assert_eq!(cells, asked);
}

#[test]
fn the_ledger_adds_up_and_agrees_with_the_servers() {
    let Some(run) = run() else { return };
    let number = |path: &str| {
        let pointer = format!("/ledger/{path}");
        run.metadata.pointer(&pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number at {pointer}"))
    };
    let sum = |paths: &[&str]| paths.iter().map(|path| number(path)).sum::<u64>();
    let targets = run.outcomes.len() as u64;
    for path in ["input/read", "targets/scheduled", "targets/finished", "rows/written"] {
        assert_eq!(number(path), targets, "{path}");
    }
    assert_eq!(
        number("datagrams/received"),
        sum(&[
            "datagrams/matched",
            "datagrams/late",
            "datagrams/duplicate",
            "datagrams/unsolicited",
            "datagrams/undecodable",
        ])
    );
    assert_eq!(
        number("datagrams/sent"),
        sum(&["datagrams/sent_first", "datagrams/sent_retry", "datagrams/sent_follow_up"])
    );
    let requests: usize = run.outcomes.iter().map(|outcome| outcome.traffic.requests.len()).sum();
    let replies: usize = run.outcomes.iter().map(|outcome| outcome.traffic.replies).sum();
    assert_eq!(number("datagrams/sent"), requests as u64);
    assert_eq!(sum(&["datagrams/received", "datagrams/dropped_by_kernel"]), replies as u64);
}

/// Compares the rows of all servers of `group` with what was expected, and reports every difference at once.
fn check(group: Group, at_least: usize) {
    let Some(run) = run() else { return };
    let outcomes: Vec<_> = run.outcomes.iter().filter(|outcome| outcome.group == group).collect();
    let compared: usize = outcomes.iter().map(|outcome| outcome.expected.len()).sum();
    assert!(compared >= at_least, "only {compared} comparisons; at least {at_least} were expected of the corpus");
    let mut differences = Vec::new();
    for outcome in outcomes {
        let Some(row) = run.rows.iter().find(|row| row["address"] == outcome.address.as_str()) else {
            differences.push(format!("{}: no row", outcome.name));
            continue;
        };
        let asked = json!(outcome.traffic.requests.len());
        if row["sent"] != asked {
            differences
                .push(format!("{}: sent is {}, but the server was asked {asked} times", outcome.name, row["sent"]));
        }
        let all = outcome.expected.iter().flat_map(|expected| expected.differences(row));
        differences.extend(all.map(|difference| format!("{}: {difference}", outcome.name)));
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// One run of the program over everything in the corpus.
struct Run {
    outcomes: Vec<Outcome>,
    output: Output,
    rows: Vec<Map<String, Value>>,
    csv: String,
    metadata: Value,
}

/// What a server saw, and what its row should be.
struct Outcome {
    group: Group,
    name: String,
    /// What one or more witnesses say.
    expected: Vec<Expected>,
    address: String,
    traffic: Traffic,
}

/// What a server is there to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Info,
    Stray,
    Challenge,
    Banned,
    Garbage,
    Recovered,
    Capture,
}

/// A server to be.
struct Case {
    group: Group,
    name: String,
    expected: Vec<Expected>,
    reply: Reply,
}

/// The run, made by whichever test comes first; `None` if there is no corpus.
fn run() -> Option<&'static Run> {
    static RUN: OnceLock<Option<Run>> = OnceLock::new();
    let run = RUN.get_or_init(|| {
        let Some(folder) = env::var_os("FRAGSCAN_CORPUS") else {
            // Not `eprintln`, which the test harness hides when a test passes.
            let _ = writeln!(
                std::io::stderr(),
                "\ncorpus tests skipped: set FRAGSCAN_CORPUS to a folder with fixtures/ and captures/ in it\n"
            );
            return None;
        };
        Some(scan(cases(&PathBuf::from(folder))))
    });
    run.as_ref()
}

/// Puts `cases` on loopback and scans them.
fn scan(cases: Vec<Case>) -> Run {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let mut servers = Vec::new();
    let mut outcomes = Vec::new();
    for (index, Case { group, name, expected, reply }) in cases.into_iter().enumerate() {
        let server = Server::bind(index, reply);
        let address = server.address().to_string();
        servers.push(server);
        outcomes.push(Outcome { group, name, expected, address, traffic: Traffic::default() });
    }
    let list: String = outcomes.iter().map(|outcome| outcome.address.clone() + "\n").collect();
    fs::write(path("list.txt"), list).expect("the list can be written");

    let mut command = assert_cmd::cargo::cargo_bin_cmd!("fragscan");
    command.current_dir(folder.path()).timeout(Duration::from_secs(90));
    command.args(["scan", "-i", "list.txt", "-o", "out.ndjson", "-o", "out.csv"]);
    let (output, traffic) = servers::serve_while(servers, || command.output());
    let output = output.expect("the program can be started");
    for (outcome, traffic) in outcomes.iter_mut().zip(traffic) {
        outcome.traffic = traffic;
    }

    let read = |name: &str| {
        fs::read_to_string(path(name))
            .unwrap_or_else(|error| panic!("{name}: {error}\n{}", String::from_utf8_lossy(&output.stderr)))
    };
    let rows =
        read("out.ndjson").lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect();
    let metadata = serde_json::from_str(&read("out.ndjson.meta.json")).expect("metadata is JSON");
    Run { outcomes, rows, csv: read("out.csv"), metadata, output }
}

/// Everything in the corpus at `folder` that is an answer to a request for info.
fn cases(folder: &Path) -> Vec<Case> {
    let fixtures: HashMap<String, Fixture> =
        files::fixtures(folder).into_iter().map(|fixture| (fixture.name.clone(), fixture)).collect();
    let named = |name: &str| fixtures.get(name).unwrap_or_else(|| panic!("the corpus has no fixture {name}"));
    let mut cases: Vec<Case> = fixtures.values().filter_map(info_case).collect();

    let sound = named(SOUND);
    let info = &sound.datagrams[0];
    let expect_sound = |sent: u32| Expected::info(sound.entry("I"), info).with("sent", sent);
    for fixture in fixtures.values().filter(|fixture| fixture.holds_only("A")) {
        cases.push(Case {
            group: Group::Challenge,
            name: fixture.name.clone(),
            expected: vec![expect_sound(2)],
            reply: servers::challenging(fixture.datagrams.clone(), &fixture.challenge(), info.clone()),
        });
    }
    for name in GARBAGE {
        let garbage = named(name).datagrams.clone();
        cases.push(Case {
            group: Group::Garbage,
            name: (*name).to_owned(),
            expected: vec![Expected::nothing("malformed").with("sent", 3)],
            reply: servers::always(garbage.clone()),
        });
        cases.push(Case {
            group: Group::Recovered,
            name: format!("{name}, then {SOUND}"),
            expected: vec![expect_sound(2).with("attempts", 2)],
            reply: servers::in_turn(garbage, vec![info.clone()]),
        });
    }
    let banned = named(BANNED);
    cases.push(Case {
        group: Group::Banned,
        name: BANNED.to_owned(),
        expected: vec![Expected::banned(banned.entry("l")).with("sent", 1)],
        reply: servers::always(banned.datagrams.clone()),
    });
    cases.extend(CAPTURES.iter().map(|name| {
        let capture = Capture::read(folder, name, "A2S_INFO");
        Case {
            group: Group::Capture,
            name: (*name).to_owned(),
            expected: vec![Expected::python_a2s(&capture.peers), Expected::opengsq(&capture.peers)],
            reply: servers::recorded(capture.exchanges),
        }
    }));
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// A server that answers with the info reply of `fixture`, if it holds one that is not split. Replies to other requests
/// are left out, but a challenge that came unasked behind the info reply is sent behind it.
fn info_case(fixture: &Fixture) -> Option<Case> {
    let entry = fixture.info_entry()?;
    let info = fixture.datagrams.iter().find(|datagram| datagram.starts_with(files::INFO_REPLY))?;
    let stray = fixture.datagrams.len() > 1 && fixture.holds_only("IA");
    Some(Case {
        group: if stray { Group::Stray } else { Group::Info },
        name: fixture.name.clone(),
        expected: vec![Expected::info(entry, info)],
        reply: servers::always(if stray { fixture.datagrams.clone() } else { vec![info.clone()] }),
    })
}

/// A fixture whose only datagram is a sound info reply.
const SOUND: &str = "info_tf2_edf_f1_sourcetv";
const BANNED: &str = "banned_reply_l";
const GARBAGE: &[&str] = &["garbage_64_zero_bytes", "garbage_single_ff"];
const CAPTURES: &[&str] = &["gbe", "sqproxy", "xash3d", "xash3d-private-empty"];
