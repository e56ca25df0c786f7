//! The whole corpus once more over sockets: recorded servers, played by the program itself and scanned by it, make the
//! rows that decoding their files makes.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::expected::assert_none;
use super::files::{announce, corpus, hex_files};
use super::program::{Row, rows, run};

#[test]
fn replayed_fixtures_scan_to_what_they_decode_to() {
    compare("fixtures", 95, 24_000);
}

#[test]
fn replayed_captures_scan_to_what_they_decode_to() {
    compare("captures", 30, 25_000);
}

/// Compares the rows of a scan of the files in `name` with those of decoding them. A port is looked for from `first` on.
fn compare(name: &str, at_least: usize, first: u16) {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join(name);
    let files = hex_files(&folder);
    let work = tempfile::tempdir().expect("a temporary folder");
    let farm = Farm::start(&folder, first, work.path());
    run(work.path(), SCAN.split(' '));
    let mut scanned = rows(&std::fs::read_to_string(work.path().join("scan.ndjson")).expect("the scan wrote rows"));
    let arguments = ["decode", "--format", "ndjson", "--queries", "all"].map(AsRef::as_ref);
    let decoded = rows(&run(&folder, arguments.into_iter().chain(files.iter().map(|file| file.as_os_str()))));
    // List servers are played too, but they are no targets.
    let servers: Vec<_> = files.iter().enumerate().filter(|(_, file)| !is_list(file)).collect();
    let count = servers.len();
    assert_eq!((scanned.len(), decoded.len()), (count, count), "a file is a server");

    let mut differences = Vec::new();
    for (mut decoded, (index, file)) in decoded.into_iter().zip(servers) {
        let address = format!("{}:{}", Ipv4Addr::from_bits(FIRST.to_bits() + index as u32), farm.port);
        let place = scanned.iter().position(|row| row["address"] == address.as_str());
        let mut scanned = scanned.swap_remove(place.unwrap_or_else(|| panic!("no row of {address}")));
        forget_the_way(&mut decoded);
        forget_the_way(&mut scanned);
        let different = |key: &&String| decoded.get(*key) != scanned.get(*key);
        let keys = decoded.keys().chain(scanned.keys().filter(|key| !decoded.contains_key(*key))).filter(different);
        let file = file.file_stem().unwrap_or_default().display();
        let of = |row: &Row, key: &String| row.get(key).map(ToString::to_string);
        differences.extend(keys.map(|key| {
            format!("{file}: {key} is {:?} over sockets, {:?} decoded", of(&scanned, key), of(&decoded, key))
        }));
    }
    announce(&format!("corpus: {count} servers of {name} replayed, scanned, and compared with what they decode to"));
    assert!(count >= at_least, "that is fewer than there should be");
    assert_none(&differences);
}

/// True if the file holds what a list server said, by its name.
fn is_list(file: &Path) -> bool {
    file.file_stem().is_some_and(|name| name.to_string_lossy().contains("master"))
}

/// Takes out of `row` what depends on the way that the datagrams took.
fn forget_the_way(row: &mut Row) {
    for key in WAY {
        assert!(row.remove(*key).is_some(), "there is no {key}");
    }
    let words = row["flags"].as_str().unwrap_or_default().split(' ').filter(|word| *word != "rtt_ambiguous");
    row["flags"] = words.collect::<Vec<_>>().join(" ").into();
}

/// Recorded servers, until dropped.
struct Farm {
    process: Child,
    port: u16,
}

impl Farm {
    /// Starts the servers of `folder` and has their addresses written to `list.txt` in `work`.
    fn start(folder: &Path, first: u16, work: &Path) -> Self {
        // Two runs of the tests at the same time begin in different places, below the ports that systems give out.
        let first = first + (std::process::id() % 800) as u16;
        let is_free = |port: &u16| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok();
        let port = (first..first + 200).find(is_free).expect("one of these ports is free");
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fragscan"));
        command.current_dir(work).arg("farm").arg("--replay").arg(folder);
        command.args(["--port", &port.to_string(), "--list", "list.txt"]).stdin(Stdio::null());
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let messages = process.stderr.take().expect("it is piped");
        let farm = Self { process, port };
        // It speaks when the servers are there.
        let mut message = String::new();
        BufReader::new(messages).read_line(&mut message).expect("the message can be read");
        assert!(message.contains("recorded servers at 127.0.0.2"), "{message}");
        farm
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        // If it has ended by itself, there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const SCAN: &str = "scan -i list.txt --order input --queries all --timeout 300ms -o scan.ndjson";
/// Where the first server is.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// What a file does not know, or what depends on how often something was asked.
const WAY: &[&str] = &[
    "address",
    "ip",
    "port",
    "target",
    "source",
    "sent_at",
    "rtt_ms",
    "ping_ms",
    "attempts",
    "sent",
    "received",
    "fragments",
];
