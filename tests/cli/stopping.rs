//! Signals in the middle of a scan: what was written is whole, what was not asked is counted, and a second one is final.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;

use crate::farm::Farm;
use crate::support::{Folder, Listener, Run, Table, closed_port, pause, wait_for};

#[test]
fn an_interrupted_scan_keeps_whole_rows_and_accounts_for_the_rest() {
    a_stopped_scan_keeps_whole_rows_and_accounts_for_the_rest("INT");
}

#[test]
fn a_terminated_scan_keeps_whole_rows_and_accounts_for_the_rest() {
    a_stopped_scan_keeps_whole_rows_and_accounts_for_the_rest("TERM");
}

#[test]
fn a_scan_whose_terminal_goes_away_keeps_whole_rows_and_accounts_for_the_rest() {
    a_stopped_scan_keeps_whole_rows_and_accounts_for_the_rest("HUP");
}

fn a_stopped_scan_keeps_whole_rows_and_accounts_for_the_rest(signal: &str) {
    let folder = Folder::new();
    folder.write("servers.csv", "an older file\n");
    // Minutes at this rate.
    let mut scan = Scan::start(&folder, &["farm:100000?silent=20%", "--rate", "500", "--timeout", "200ms"]);
    scan.wait_for_rows(1);
    scan.signal(signal);
    let run = scan.wait();

    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stderr.contains("not started"), "{run}");
    assert!(run.stderr.contains(&format!("stopped early: signal SIG{signal}")), "{run}");
    assert_eq!(folder.read("servers.csv"), b"an older file\n");
    let partial = folder.read("servers.csv.partial");
    assert!(partial.ends_with(b"\n"), "whole lines only");
    let rows = Table::read(&partial).rows.len() as u64;
    let place = |line: &str| line.starts_with(&format!("{rows} rows in ")) && line.ends_with("servers.csv.partial");
    assert!(run.stderr.lines().any(place), "not {rows}: {run}");

    let metadata = folder.metadata("servers.csv.partial");
    let ledger = &metadata["ledger"];
    let count = |group: &str, key: &str| ledger[group][key].as_u64().unwrap_or_else(|| panic!("{group}.{key}"));
    assert_eq!(metadata["stop"], format!("signal SIG{signal}"));
    assert_eq!(count("rows", "written"), rows);
    assert_eq!(count("targets", "scheduled"), rows, "everyone who was asked has a row");
    assert_eq!(count("input", "read"), 100_000);
    assert_eq!(count("input", "not_started"), 100_000 - rows);
    assert!(count("input", "not_started") > 0);
}

#[test]
fn a_scan_that_is_stopped_while_a_list_comes_in_is_not_complete() {
    let folder = Folder::new();
    let (port, master) = (closed_port().to_string(), closed_port().to_string());
    let lists = ["--master", "valve", "--master-port", &master];
    let _farm = Farm::start(&folder, &[&["--servers", "1000", "--port", &port], &lists[..]].concat());
    // The next page is two seconds away each time.
    let url = format!("valve-master://127.0.0.1:{master}");
    let mut scan = Scan::start(&folder, &["--from", &url, "--rate", "max", "--host-rate", "max"]);
    scan.wait_for_rows(1);
    scan.signal("INT");
    let run = scan.wait();

    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stderr.contains(&format!("list {url}: list_incomplete, ")), "{run}");
    assert!(run.stderr.contains(" of them to list servers; "), "{run}");
    assert!(run.stderr.contains("stopped early: signal SIGINT"), "{run}");
    assert_eq!(folder.metadata("servers.csv.partial")["stop"], "signal SIGINT");
}

#[test]
fn questions_to_name_servers_are_counted_before_any_name_has_an_answer() {
    let folder = Folder::new();
    let silent = Listener::new();
    let resolver = silent.target();
    let scan = Scan::start(&folder, &["never.example:9", "--resolver", &resolver, "--dns-timeout", "5m"]);
    wait_for("a question", || silent.was_asked().then_some(()));
    // A datagram may be there before it is counted.
    pause();
    scan.signal("INT");
    let run = scan.wait();
    assert_eq!(run.code, Some(3), "{run}");
    assert!(
        run.stderr.contains(" + 1 unfinished; 1 question to name servers (0 retries, 0 over TCP), 0 answers"),
        "{run}"
    );
}

#[test]
fn a_second_signal_ends_the_scan_at_once() {
    let folder = Folder::new();
    // Everybody is silent and is waited for longer than the test waits for anything.
    let patient = ["--timeout", "10m", "--target-timeout", "10m"];
    let mut scan = Scan::start(&folder, &[&["farm:100000?silent=100%", "--rate", "500"], &patient[..]].concat());
    scan.wait_for_rows(0);
    scan.signal("INT");
    // If the first signal is yet to be handled when the second one comes, the two are one: so there may be more.
    let run = scan.end_with(|scan| scan.signal("INT"));

    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stderr.contains("stopped early: signal SIGINT"), "{run}");
    let table = folder.table("servers.csv.partial");
    assert!(!table.rows.is_empty(), "who was asked has a row: {run}");
    assert!(table.column("status").iter().all(|status| *status == "aborted"), "{run}");
}

#[test]
fn a_signal_that_is_ignored_from_the_start_stays_ignored() {
    let folder = Folder::new();
    let mut child = Command::new("env")
        .arg("--ignore-signal=HUP")
        .arg(cargo_bin!("fragscan"))
        .current_dir(folder.path())
        .args([
            "scan",
            "farm:300?silent=50%",
            "--rate",
            "500",
            "--timeout",
            "200ms",
            "--retries",
            "0",
            "-q",
            "-o",
            "servers.csv",
        ])
        .spawn()
        .expect("the program starts");
    wait_for("the first rows", || folder.path().join("servers.csv.partial").exists().then_some(()));
    let kill = format!("kill -HUP {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("there is a shell").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(folder.table("servers.csv").rows.len(), 300);
}

#[test]
fn an_interrupted_list_keeps_what_it_has_and_counts_what_was_named_meanwhile() {
    let folder = Folder::new();
    folder.write("servers.csv", "an older file\n");
    let (port, master) = (closed_port().to_string(), closed_port().to_string());
    let lists = ["--master", "valve", "--master-port", &master];
    let _farm = Farm::start(&folder, &[&["--servers", "2000", "--port", &port], &lists[..]].concat());
    // A page a second, and what is under way when it is stopped has two.
    let url = format!("valve-master://127.0.0.1:{master}");
    let mut list = Scan::start_to("list", &folder, &[&url, "--list-rate", "60", "--timeout", "2s"]);
    list.wait_for_rows(1);
    list.signal("INT");
    let run = list.wait();

    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stderr.contains("stopped early: signal SIGINT"), "{run}");
    assert!(run.stderr.contains(&format!("list {url}: list_incomplete, ")), "{run}");
    assert_eq!(folder.read("servers.csv"), b"an older file\n");
    let rows = folder.table("servers.csv.partial").rows.len() as u64;
    let metadata = folder.metadata("servers.csv.partial");
    let input = &metadata["ledger"]["input"];
    let rest = input["not_started"].as_u64().unwrap();
    assert!(rest > 0, "what was named behind the signal is not printed: {run}");
    assert_eq!((&input["read"], &input["printed"]), (&(rows + rest).into(), &rows.into()));
    let sum = format!("servers: {} named = {rows} printed + 0 invalid + 0 named again + 0 excluded", rows + rest);
    assert!(run.stderr.contains(&format!("{sum} + {rest} not printed")), "{run}");
}

/// A scan that runs beside the test.
struct Scan<'a> {
    folder: &'a Folder,
    child: Child,
}

impl<'a> Scan<'a> {
    fn start(folder: &'a Folder, arguments: &[&str]) -> Self {
        Self::start_to("scan", folder, arguments)
    }

    fn start_to(command: &str, folder: &'a Folder, arguments: &[&str]) -> Self {
        // Whoever runs the tests in the background may have all of them ignore signals, and the program honours that.
        let child = Command::new("env")
            .arg("--default-signal=INT,TERM,HUP")
            .arg(cargo_bin!("fragscan"))
            .current_dir(folder.path())
            .args([command, "-o", "servers.csv"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self { folder, child }
    }

    /// Waits until the header and so many rows are written: the header is once the loop runs and answers to signals.
    fn wait_for_rows(&mut self, rows: usize) {
        let partial = self.folder.path().join("servers.csv.partial");
        wait_for("rows", || {
            let ended = self.child.try_wait().expect("it is a child of ours");
            assert!(ended.is_none(), "the scan has ended already: {ended:?}, {}", self.stderr());
            let lines = std::fs::read(&partial).ok()?.iter().filter(|byte| **byte == b'\n').count();
            (lines > rows).then_some(())
        });
    }

    /// Sends a signal by its name, with the shell's `kill`: the standard library has none.
    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        // There is nothing to signal if it has ended, and nothing wrong with that: it is not yet waited for.
        let _ = Command::new("sh").args(["-c", &kill]).status().expect("there is a shell");
    }

    fn wait(self) -> Run {
        self.end_with(|_| ())
    }

    /// Waits for the end, and does something again and again until then.
    fn end_with(mut self, mut again: impl FnMut(&Self)) -> Run {
        let mut looks = 0;
        let status = wait_for("the end of the scan", || {
            let status = self.child.try_wait().expect("it is a child of ours");
            if status.is_none() {
                pause();
                // Rarely: a third signal ends a scan that is still writing what the second one ended.
                if looks % 100 == 0 {
                    again(&self);
                }
                looks += 1;
            }
            status
        });
        Run { code: status.code(), stdout: Vec::new(), stderr: self.stderr() }
    }

    /// What it said, once it has ended.
    fn stderr(&mut self) -> String {
        let mut stderr = String::new();
        let pipe = self.child.stderr.as_mut().expect("it was asked for");
        pipe.read_to_string(&mut stderr).expect("messages are UTF-8");
        stderr
    }
}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        // After its end there is nothing to kill; after a failure it must not go on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
