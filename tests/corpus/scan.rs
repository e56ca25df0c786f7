//! One scan over real sockets for what recorded files cannot show: which requests are sent, with which challenges, how
//! often, and whether the ledger counts them as the servers do.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use serde_json::{Value, json};

use super::cases::{self, Case, Group};
use super::expected::{Expected, assert_none};
use super::files::{Exchanges, corpus};
use super::program::{self, Row};
use super::servers::{self, INFO_REQUEST, Server};

#[test]
fn a_challenge_is_sent_back_byte_for_byte() {
    check(Group::Challenge, 5);
}

#[test]
fn a_stray_challenge_behind_the_answer_is_not_answered() {
    check(Group::Stray, 2);
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
fn captured_servers_that_are_asked_again_read_as_other_clients_read_them() {
    check(Group::Captured, 15);
}

#[test]
fn no_request_carries_a_challenge_that_was_not_given() {
    for outcome in runs().iter().flat_map(|run| &run.outcomes) {
        assert_eq!(outcome.exchanges[0].0, INFO_REQUEST, "{}", outcome.name);
        let mut given: Vec<&[u8]> = Vec::new();
        for (request, replies) in &outcome.exchanges {
            let sent = REQUESTS.iter().find_map(|begin| request.strip_prefix(*begin));
            let sent = sent.unwrap_or_else(|| panic!("{}: nobody knows the request {request:?}", outcome.name));
            let none = sent.is_empty() || (sent == NO_CHALLENGE && !request.starts_with(INFO_REQUEST));
            assert!(none || given.contains(&sent), "{}: nobody gave {sent:?}", outcome.name);
            // Once a server has given one, nothing that needs one is sent without.
            assert!(!none || given.is_empty() || request.len() <= 5, "{}: no challenge in {request:?}", outcome.name);
            given.extend(replies.iter().filter_map(|reply| reply.strip_prefix(b"\xFF\xFF\xFF\xFFA")));
        }
    }
}

#[test]
fn every_target_has_one_row_in_each_output() {
    for run in runs() {
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
}

#[test]
fn the_ledger_adds_up_and_agrees_with_the_servers() {
    for run in runs() {
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
        let exchanges = || run.outcomes.iter().flat_map(|outcome| &outcome.exchanges);
        let replies: usize = exchanges().map(|(_, replies)| replies.len()).sum();
        assert_eq!(number("datagrams/sent"), exchanges().count() as u64);
        assert_eq!(sum(&["datagrams/received", "datagrams/dropped_by_kernel"]), replies as u64);
    }
}

/// Compares the rows of all servers of `group` with what was expected, and reports every difference at once.
fn check(group: Group, at_least: usize) {
    if corpus().is_none() {
        return;
    }
    let mut differences = Vec::new();
    let mut compared = 0;
    for run in runs() {
        for outcome in run.outcomes.iter().filter(|outcome| outcome.group == group) {
            compared += outcome.expected.len();
            let Some(row) = run.rows.iter().find(|row| row["address"] == outcome.address.as_str()) else {
                differences.push(format!("{}: no row", outcome.name));
                continue;
            };
            let (sent, asked) = (&row["sent"], json!(outcome.exchanges.len()));
            if *sent != asked {
                differences.push(format!("{}: sent is {sent}, but the server was asked {asked} times", outcome.name));
            }
            let all = outcome.expected.iter().flat_map(|expected| expected.differences(row));
            differences.extend(all.map(|difference| format!("{}: {difference}", outcome.name)));
        }
    }
    assert!(compared >= at_least, "only {compared} comparisons; at least {at_least} were expected of the corpus");
    assert_none(&differences);
}

/// One run of the program.
struct Run {
    outcomes: Vec<Outcome>,
    rows: Vec<Row>,
    csv: String,
    metadata: Value,
}

/// What a server saw, and what its row should be.
struct Outcome {
    group: Group,
    name: String,
    expected: Vec<Expected>,
    address: String,
    exchanges: Exchanges,
}

/// The runs, made by whichever test comes first; none if there is no corpus.
fn runs() -> &'static [Run] {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let Some(folder) = corpus() else { return Vec::new() };
        // Both wait for answers that never come, and may as well do so at the same time.
        thread::scope(|scope| {
            let info = scope.spawn(|| scan(1, cases::asked_for_info(folder), "info"));
            let everything = scan(2, cases::asked_for_everything(folder), "all");
            vec![info.join().expect("the scan for info went well"), everything]
        })
    })
}

/// Puts `cases` on loopback, in a network of their own, and scans them.
fn scan(network: u8, cases: Vec<Case>, queries: &str) -> Run {
    let work = tempfile::tempdir().expect("a temporary folder");
    let mut servers = Vec::new();
    let mut outcomes = Vec::new();
    for (index, Case { group, name, expected, reply }) in cases.into_iter().enumerate() {
        let server = Server::bind(network, index as u8 + 1, reply);
        let address = server.address().to_string();
        servers.push(server);
        outcomes.push(Outcome { group, name, expected, address, exchanges: Vec::new() });
    }
    let list: String = outcomes.iter().map(|outcome| outcome.address.clone() + "\n").collect();
    fs::write(work.path().join("list.txt"), list).expect("the list can be written");
    let arguments = ["scan", "-i", "list.txt", "--queries", queries, "-o", "out.ndjson", "-o", "out.csv"];
    let (_, exchanges) = servers::serve_while(servers, || program::run(work.path(), arguments));
    for (outcome, exchanges) in outcomes.iter_mut().zip(exchanges) {
        outcome.exchanges = exchanges;
    }
    let metadata = serde_json::from_str(&read(work.path(), "out.ndjson.meta.json")).expect("metadata is JSON");
    let rows = program::rows(&read(work.path(), "out.ndjson"));
    Run { outcomes, rows, csv: read(work.path(), "out.csv"), metadata }
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How requests begin, before a challenge.
const REQUESTS: &[&[u8]] =
    &[INFO_REQUEST, b"\xFF\xFF\xFF\xFFU", b"\xFF\xFF\xFF\xFFV", b"\xFF\xFF\xFF\xFFi", b"\xFF\xFF\xFF\xFFW"];
/// What stands for a challenge in a request for one.
const NO_CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFF";
