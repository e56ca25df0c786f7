//! `fragscan farm --bind`: on the interface that it is told, for those that it is told.

use std::fs::File;
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;

use crate::support::{Folder, closed_port, wait_for};

/// A farm that runs in `folder`, and how to end it and read what it said.
pub(crate) struct Farm<'a> {
    child: Child,
    folder: &'a Folder,
}

impl<'a> Farm<'a> {
    pub(crate) fn start(folder: &'a Folder, arguments: &[&str]) -> Self {
        let messages = File::create(folder.path().join("messages")).expect("the folder can be written");
        let child = Command::new("env")
            .arg("--default-signal=TERM")
            .arg(cargo_bin!("fragscan"))
            .arg("farm")
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(messages)
            .spawn()
            .expect("the program starts");
        let farm = Self { child, folder };
        wait_for("the farm", || farm.said().contains("stop with Ctrl-C").then_some(()));
        farm
    }

    fn said(&self) -> String {
        String::from_utf8(self.folder.read("messages")).expect("messages are UTF-8")
    }

    fn stop(mut self) -> String {
        let kill = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("there is a shell").success());
        assert!(self.child.wait().expect("it ends").success());
        self.said()
    }
}

impl Drop for Farm<'_> {
    fn drop(&mut self) {
        // If it has ended by itself, there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn servers_have_a_port_each_and_want_a_challenge_and_both_ends_count_the_same() {
    let folder = Folder::new();
    let first = closed_port();
    let ports = format!("{first}-{}", first + 19);
    let farm = Farm::start(
        &folder,
        &["--bind", "127.0.0.1", "--clients", "127.0.0.0/8", "--servers", "20", "--port", &first.to_string()],
    );
    assert!(farm.said().contains(&format!("20 simulated servers at 127.0.0.1 on ports {ports};")), "{}", farm.said());
    folder.run_well(&["scan", &format!("127.0.0.1:{ports}"), "--timeout", "60s", "-o", "servers.csv"]);
    let table = folder.table("servers.csv");
    assert_eq!(table.column("status"), ["ok"; 20]);
    assert_eq!(table.column("sent"), ["2"; 20], "the first query is answered with a challenge only");
    // Not every server says its port.
    let ports = table.column("game_port").into_iter().zip(table.column("port")).filter(|(said, _)| !said.is_empty());
    assert!(ports.clone().count() > 10 && ports.clone().all(|(said, asked)| said == asked), "{:?}", table.rows);
    let said = farm.stop();
    assert!(said.contains("answered 40 requests with 40 datagrams"), "{said}");
    assert!(!said.contains("not answered"), "{said}");
}

#[test]
fn a_list_of_servers_says_what_each_speaks_and_is_what_a_scan_reads() {
    let folder = Folder::new();
    let port = closed_port().to_string();
    let path = folder.path().join("farm.txt");
    let path = path.to_str().expect("folders of tests have plain names");
    let _farm = Farm::start(&folder, &["--servers", "40", "--port", &port, "--protocols", "one", "--list", path]);
    let list = String::from_utf8(folder.read("farm.txt")).expect("it is text");
    assert!(list.contains("\nquake3://127.0.0.") && list.contains("\nbedrock://127.0.0."), "{list}");
    // Some of `hl1` know only the form of the info that is asked for last: they are given the time for it.
    folder.run_well(&["scan", "-i", "farm.txt", "--timeout", "2s", "-o", "servers.csv"]);
    assert_eq!(folder.metadata("servers.csv")["settings"]["target_timeout_ms"], 20_000.0, "2 + 4 + 8 and three of 2 s");
    let table = folder.table("servers.csv");
    assert_eq!(table.column("status"), ["ok"; 40]);
    let mut asked: Vec<_> = table.column("protocol").into_iter().zip(table.column("address")).collect();
    asked.sort_unstable();
    let mut listed: Vec<_> = list.lines().filter_map(|line| line.split_once("://")).collect();
    listed.sort_unstable();
    assert_eq!(asked, listed);

    // The default protocol goes without saying.
    let printed = folder.run_well(&["scan", "-i", "farm.txt", "--dry-run", "--order", "input"]).stdout;
    assert_eq!(String::from_utf8_lossy(&printed), list.replace("a2s://", ""));

    let again = folder.run(&["farm", "--port", &port]);
    assert_eq!(again.code, Some(1), "{again}");
    assert!(again.stderr.contains("another farm may be running: choose a free port with --port"), "{again}");
}

#[test]
fn lists_are_counted_apart_and_nobody_is_told_of_servers_that_do_not_start() {
    let folder = Folder::new();
    let (port, lists) = (closed_port().to_string(), closed_port());
    let taken = UdpSocket::bind(("127.0.0.1", lists + 1)).expect("it was free");
    let first = lists.to_string();
    let arguments = ["--servers", "300", "--port", &port, "--master", "all", "--master-port", &first];
    let refused = folder.run(&[&["farm"], &arguments[..]].concat());
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(!refused.stderr.contains("stop with Ctrl-C"), "{refused}");
    let reason = format!("starting list servers on 127.0.0.1:{}: ", lists + 1);
    assert!(refused.stderr.contains(&reason) && refused.stderr.contains("with --master-port"), "{refused}");
    drop(taken);

    let farm = Farm::start(&folder, &arguments);
    wait_for("the lists", || farm.said().contains("quake3-master://").then_some(()));
    let url = format!("valve-master://127.0.0.1:{lists}");
    folder.run_well(&["list", &url, "--list-rate", "max", "--timeout", "60s"]);
    let said = farm.stop();
    // 231 servers and 69.
    assert!(said.contains("\nthe lists: answered 2 requests with 2 datagrams;"), "{said}");
    assert!(said.contains("\nanswered 0 requests with 0 datagrams;"), "{said}");
}

#[test]
fn nobody_but_the_clients_is_answered() {
    let folder = Folder::new();
    let port = closed_port().to_string();
    let target = format!("127.0.0.1:{port}");
    let farm = Farm::start(&folder, &["--bind", "127.0.0.1", "--clients", "127.0.0.9", "--port", &port]);
    let scan = |source| {
        folder.run_well(&["scan", &target, "--source-ip", source, "--timeout", "100ms", "-o", "servers.csv"]);
        folder.table("servers.csv").column("status")[0].to_owned()
    };
    assert_eq!((scan("127.0.0.8"), scan("127.0.0.9")), ("timeout".into(), "ok".into()));
    let said = farm.stop();
    assert!(said.contains("not answered: 3 datagrams of others than the clients, 0 requests"), "{said}");
    assert!(said.contains("answered 2 requests with 2 datagrams"), "{said}");
}

#[test]
fn a_network_that_is_not_routed_here_is_refused_with_the_command_that_does_it() {
    let folder = Folder::new();
    let refused = folder.run(&["farm", "--bind", "192.0.2.0/24", "--clients", "10.0.0.0/8"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("192.0.2.1 is not an address of this machine"), "{refused}");
    assert!(refused.stderr.contains("`ip route add local 192.0.2.0/24 dev lo`"), "{refused}");
}
