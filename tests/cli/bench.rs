//! `fragscan bench`: numbers that add up, forms that others read, conditions, and servers that must not be loaded.

use std::fs::File;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;

use crate::support::{Folder, Run, Table, closed_port, wait_for};

/// Two short rounds of a fixed number of queries.
const SHORT: &[&str] = &["--warmup", "0s", "--rounds", "2", "--count", "600", "-q"];

/// A time-out that no answer on loopback takes.
const LONG: &str = "60s";

fn bench(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&[&["bench"], arguments, SHORT].concat())
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let run = bench(folder, &[arguments, &["--format", "json"]].concat());
    assert_eq!(run.code, Some(0), "{arguments:?}: {run}");
    assert_eq!(run.stdout.iter().filter(|byte| **byte == b'\n').count(), 1, "one object on one line");
    serde_json::from_slice(&run.stdout).expect("it is JSON")
}

fn count(round: &Value, name: &str) -> u64 {
    round[name].as_u64().unwrap_or_else(|| panic!("{name} is no count in {round}"))
}

#[test]
fn queries_are_answered_late_lost_or_failed_and_nothing_else() {
    let folder = Folder::new();
    for (farm, timeout) in
        [("farm:200", LONG), ("farm:200?loss=10%", "300ms"), ("farm:200?silent=20%&refused=10%&malformed=10%", "300ms")]
    {
        let report = json(&folder, &[farm, "--rate", "max", "--timeout", timeout]);
        let rounds = report["rounds"].as_array().expect("there are rounds");
        assert_eq!(rounds.len(), 2);
        for round in rounds {
            let classes = ["answered", "late", "lost_there", "lost_here", "failed"];
            assert_eq!(count(round, "queries"), 600, "{farm}");
            assert_eq!(classes.iter().map(|class| count(round, class)).sum::<u64>(), 600, "{farm}: {round}");
            let statuses = round["statuses"].as_object().expect("statuses are counted by name");
            assert_eq!(statuses.values().filter_map(Value::as_u64).sum::<u64>(), 600, "{farm}: {round}");
            assert!(count(round, "answered") > 0, "{farm}: {round}");
            assert!(count(round, "datagrams_sent") >= 600);
            assert_eq!(farm.contains('?'), count(round, "answered") < 600, "{farm}: {round}");
        }
    }
}

#[test]
fn histograms_in_the_json_hold_every_answer() {
    let report = json(&Folder::new(), &["farm:200", "--rate", "max"]);
    for round in report["rounds"].as_array().expect("there are rounds") {
        let packed = round["histogram_us"]["actual"].as_str().expect("base64");
        let bytes = STANDARD.decode(packed).expect("base64");
        let times: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).expect("HDR V2");
        assert_eq!(times.len(), count(round, "answered"));
        let p50 = round["p50_ms"].as_f64().expect("a time");
        assert!((times.value_at_quantile(0.5) as f64 / 1e3 - p50).abs() < 1e-3, "{p50}");
    }
    let spread = &report["summary"]["answers_per_second"];
    let [min, median, max] = ["min", "median", "max"].map(|part| spread[part].as_f64().expect("a rate"));
    assert!(0.0 < min && min <= median && median <= max, "{spread}");
    assert!(report["summary"]["loop_cpu_seconds"]["max"].is_number());
}

#[test]
fn csv_has_a_row_a_round_and_a_summary() {
    let run = bench(&Folder::new(), &["farm:200", "--rate", "max", "--format", "csv"]);
    assert_eq!(run.code, Some(0), "{run}");
    let table = Table::read(&run.stdout);
    assert_eq!(table.column("round"), ["1", "2", "median", "min", "max"]);
    assert_eq!(table.column("queries"), ["600"; 5]);
    assert_eq!(table.column("rate")[..2], ["max", "max"]);
}

#[test]
fn a_person_is_told_both_distributions() {
    let run = bench(&Folder::new(), &["farm:200", "--rate", "max"]);
    assert_eq!(run.code, Some(0), "{run}");
    let text = String::from_utf8(run.stdout).expect("text");
    for part in ["lost there", "lost here", "from the actual send", "from the planned send", "peak memory", "answers/s"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert_eq!(run.stderr, "");
}

#[test]
fn percentiles_are_written_for_the_tools_of_hdrhistogram() {
    let folder = Folder::new();
    let run = bench(&folder, &["farm:200", "--rate", "max", "--hgrm", "rtt.hgrm", "--timeout", LONG]);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(folder.names(), ["rtt.hgrm", "rtt.planned.hgrm"]);
    for name in folder.names() {
        let text = String::from_utf8(folder.read(&name)).expect("text");
        assert!(text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"), "{text}");
        let last = text.lines().rfind(|line| !line.starts_with('#')).expect("there is a distribution");
        let cells: Vec<_> = last.split_whitespace().collect();
        assert_eq!(cells[1..], ["1.000000000000", "1200"], "both rounds, up to 100 %: {last}");
        assert!(text.contains("#[Mean    =") && text.contains("#[Buckets ="), "{text}");
    }
}

#[test]
fn a_condition_that_holds_is_said_and_is_an_exit_code() {
    let folder = Folder::new();
    let closed = format!("127.0.0.2:{}", closed_port());
    for (arguments, code, said) in [
        (
            &["farm:100", "--rate", "max", "--timeout", LONG, "--fail-if", "loss>=0%"][..],
            5,
            "loss>=0% holds: loss_percent is 0.000",
        ),
        (&["farm:100", "--rate", "max", "--fail-if", "answered<50%,max>60s"], 0, ""),
        (&["farm:100?silent=50%", "--rate", "max", "--timeout", "20ms", "--fail-if", "loss>5%"], 5, "loss>5% holds"),
        (&[&closed, "--rate", "max", "--fail-if", "p99>50ms"], 5, "nothing was answered"),
        (&[&closed, "--rate", "5k", "--fail-if", "loss>0.1%"], 5, "loss>0.1% holds: loss_percent is 100.000"),
        (&[&closed, "--rate", "max", "--fail-if", "failed>=600"], 5, "failed>=600 holds: failed is 600"),
        (&["farm:100?refused=50%", "--rate", "max", "--fail-if", "p99>50s,loss>0.1%"], 5, "loss>0.1% holds"),
        (&["farm:100", "--rate", "5k", "--timeout", LONG, "--fail-if", "loss>0.1%,failed>0,answered<100%"], 0, ""),
    ] {
        let run = bench(&folder, arguments);
        assert_eq!(run.code, Some(code), "{arguments:?}: {run}");
        assert!(run.stderr.contains(said), "{arguments:?}: {run}");
        assert!(!run.stdout.is_empty(), "the report is there all the same");
    }
}

#[test]
fn a_schedule_is_kept_to_its_last_query_and_what_never_left_is_lost() {
    let folder = Folder::new();
    let closed = format!("127.0.0.2:{}", closed_port());
    for (time, planned) in [("1s", 500), ("2s", 1_000)] {
        let run = ["bench", &closed, "--rate", "500", "--duration", time, "--rounds", "1", "--warmup", "0s", "-q"];
        let run = folder.run_well(&[&run[..], &["--format", "json"]].concat());
        let report: Value = serde_json::from_slice(&run.stdout).expect("it is JSON");
        let round = &report["rounds"][0];
        // On a busy machine some may not leave, and the round may end late; all of it is in the account.
        let (queries, not_sent) = (count(round, "queries"), count(round, "not_sent"));
        assert!(queries <= planned && queries + not_sent >= planned, "{round}");
        assert_eq!(round["loss_percent"], 100);
        assert!(round["longest_stall_ms"].is_number());
    }
}

#[test]
fn a_ramp_has_a_round_for_each_step() {
    let report = json(&Folder::new(), &["farm:200", "--ramp", "10k-30kx3"]);
    assert_eq!(report["mode"], "ramp");
    let rates: Vec<_> = report["rounds"].as_array().unwrap().iter().map(|round| count(round, "rate")).collect();
    assert_eq!(rates, [10_000, 20_000, 30_000]);
}

#[test]
fn a_search_names_a_rate_or_says_that_there_is_none() {
    let folder = Folder::new();
    let report = json(&folder, &["farm:200", "--find-max", "--timeout", LONG]);
    assert!(report["lossless_datagrams_sent_per_second"].as_f64().is_some_and(|rate| rate > 0.0), "{report}");
    let report = json(&folder, &["farm:200?silent=50%", "--find-max", "--timeout", "20ms"]);
    assert!(report["lossless_datagrams_sent_per_second"].is_null(), "{report}");
}

#[test]
fn a_round_ends_by_the_clock_and_a_single_address_is_asked_again_and_again() {
    let folder = Folder::new();
    let arguments = ["bench", "farm:1", "--warmup", "50ms", "--duration", "300ms", "--rounds", "2", "--format", "csv"];
    let run = folder.run_well(&arguments);
    let table = Table::read(&run.stdout);
    for queries in table.column("queries") {
        assert!(queries.parse::<f64>().unwrap() > 1.0, "{queries}");
    }
    assert!(run.stderr.contains("round 1: 1000 datagrams/s"), "{run}");
}

#[test]
fn strangers_are_not_loaded() {
    // What is tested must not reach strangers even if it fails: it runs where there is no network.
    let alone = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["-n", cargo_bin!("fragscan").to_str().expect("a path in UTF-8"), "bench"])
            .args(arguments)
            .args(SHORT);
        command.output().expect("there is `unshare`")
    };
    if !Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success()) {
        return;
    }
    for arguments in [&["--rate", "1001"][..], &["--rate", "max"], &["--find-max"], &["--ramp", "1k-2k"]] {
        let run = alone(&[&["8.8.8.8", "127.0.0.1:9"], arguments].concat());
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains("8.8.8.8:27015") && stderr.contains("--i-may-load-these-servers"), "{stderr}");
        assert!(run.stdout.is_empty(), "{arguments:?}: it was asked all the same");
    }
}

#[test]
fn a_signal_between_rounds_or_in_one_keeps_those_that_are_over() {
    let folder = Folder::new();
    let messages = File::create(folder.path().join("messages")).expect("the folder can be written");
    // As in the tests of stopping: whoever runs them in the background may have them ignore signals.
    let child = Command::new("env")
        .arg("--default-signal=TERM")
        .arg(cargo_bin!("fragscan"))
        .args(["bench", "farm:50", "--warmup", "0s", "--duration", "100ms", "--rounds", "1000", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(messages)
        .spawn()
        .expect("the program starts");
    let said = || String::from_utf8(folder.read("messages")).expect("messages are UTF-8");
    wait_for("the third round", || said().contains("round 3").then_some(()));
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("there is a shell").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", said());
    assert!(said().contains("stopped early"), "{}", said());
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert!(report["rounds"].as_array().is_some_and(|rounds| rounds.len() >= 2), "{report}");
}
