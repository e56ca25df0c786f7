//! Names of hosts: looked up once at the name server that is named, with a reason where there is no address.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::support::{Folder, closed_port};

/// A name server on loopback, and the names that it was asked for.
///
/// `good…` is at an address of its own and `same…` at 127.9.9.9, `zero…` at 0.0.0.0, `none…` has no record, `fail…` is a
/// server failure, `silent…` is not answered, `_…` is a service at port 9 of `good`. Other names do not exist.
struct NameServer {
    place: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl NameServer {
    fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let place = socket.local_addr().expect("it is bound").to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let note = Arc::clone(&asked);
        thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((size, client)) = socket.recv_from(&mut query) {
                let (name, end) = question(&query[..size]);
                note.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
                if let Some(reply) = reply(&query[..end], &name) {
                    let _ = socket.send_to(&reply, client);
                }
            }
        });
        Self { place, asked }
    }

    /// How often names were asked for that begin so.
    fn times(&self, start: &str) -> usize {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().filter(|name| name.starts_with(start)).count()
    }
}

/// The name in a question, and where the question ends.
fn question(query: &[u8]) -> (String, usize) {
    let mut labels = Vec::new();
    let mut at = 12;
    while query[at] > 0 {
        let end = at + 1 + usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..end]).into_owned());
        at = end;
    }
    (labels.join("."), at + 5)
}

fn reply(query: &[u8], name: &str) -> Option<Vec<u8>> {
    let is_a = query.ends_with(b"\0\x01\0\x01");
    let number =
        name.bytes().filter(u8::is_ascii_digit).fold(1, |number: u8, digit| number.wrapping_mul(10) + digit - b'0');
    let (code, data): (u8, Option<Vec<u8>>) = match name.get(..4)? {
        "sile" => return None,
        "good" => (0, Some(vec![127, 9, 0, number])),
        "same" => (0, Some(vec![127, 9, 9, 9])),
        "zero" => (0, Some(vec![0; 4])),
        "none" => (0, None),
        "fail" => (2, None),
        "_min" => (0, Some(b"\0\x01\0\x01\0\x09\x04good\x07example\0".to_vec())),
        _ => (3, None),
    };
    let data = data.filter(|_| is_a || name.starts_with('_'));
    let mut reply =
        [&query[..2], &[0x81, 0x80 | code, 0, 1, 0, u8::from(data.is_some()), 0, 0, 0, 0], &query[12..]].concat();
    if let Some(data) = data {
        let kind = if is_a { 1 } else { 33 };
        reply.extend([0xC0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
        reply.extend(data);
    }
    Some(reply)
}

#[test]
fn each_name_is_looked_up_once_and_the_column_error_says_why_it_has_no_address() {
    let (folder, server, port) = (Folder::new(), NameServer::start(), closed_port());
    let names = ["good1", "GOOD1", "good2", "zero", "none", "fail", "silent", "dead"];
    let list: Vec<_> = names.iter().map(|name| format!("{name}.example:{port},{}\n", port ^ 1)).collect();
    folder.write("list.txt", list.concat());
    let arguments = ["scan", "-i", "list.txt", "--resolver", &server.place, "--dns-timeout", "50ms", "--retries", "0"];
    let output = ["-o", "servers.csv", "--names", "names.csv", "--timeout", "100ms", "--host-rate", "max"];
    let run = folder.run_well(&[&arguments[..], &output].concat());
    let table = folder.table("servers.csv");
    let mut errors: Vec<_> = table.column("target").into_iter().zip(table.column("error")).collect();
    errors.retain(|(_, error)| !error.is_empty());
    errors.sort_unstable();
    let expected = [
        ("dead", "NXDOMAIN"),
        ("fail", "server failure"),
        ("none", "no address"),
        ("silent", "silence"),
        ("zero", "blocked"),
    ];
    for ((target, error), (name, reason)) in errors.iter().zip(expected) {
        assert!(target.starts_with(name) && *error == reason, "{errors:?}");
    }
    assert_eq!((errors.len(), table.rows.len()), (5, 9), "two ports of two names, and five rows without an address");
    assert_eq!([server.times("good1") + server.times("GOOD1"), server.times("dead")], [1, 1]);
    assert!(server.times("fail") == 3 && server.times("silent") == 5, "these are asked again");
    let ledger = &folder.metadata("servers.csv")["ledger"]["names"];
    let counts = ["looked_up", "found", "nxdomain", "no_address", "blocked", "server_failure", "silence", "no_server"];
    assert_eq!(counts.map(|count| ledger[count].as_u64().unwrap()), [7, 2, 1, 1, 1, 1, 1, 0]);
    assert!(run.stderr.contains("names: 7 looked up = 2 with an address + 1 NXDOMAIN"), "{run}");
    let led = String::from_utf8(folder.read("names.csv")).unwrap();
    let mut led: Vec<_> = led.lines().collect();
    assert_eq!(led.remove(0), "name,ip,port,error");
    led.sort_unstable();
    assert_eq!(led[0], "dead.example,,,NXDOMAIN");
    assert!(led[2].starts_with("good1.example,127.9.0."), "{led:?}");
}

#[test]
fn two_names_of_one_server_have_one_row_and_both_find_it() {
    let (folder, server, port) = (Folder::new(), NameServer::start(), closed_port());
    folder.write("list.txt", format!("same1.example:{port}\nsame2.example:{port}\n127.9.9.9:{port}\n"));
    let arguments = ["scan", "-i", "list.txt", "--resolver", &server.place, "--retries", "0", "--timeout", "100ms"];
    folder.run_well(&[&arguments[..], &["-o", "servers.csv", "--names", "names.csv"]].concat());
    assert_eq!(folder.table("servers.csv").column("ip"), ["127.9.9.9"]);
    let names = folder.table("names.csv");
    assert_eq!(names.sorted("name"), ["same1.example", "same2.example"]);
    assert_eq!(names.column("ip"), ["127.9.9.9", "127.9.9.9"]);
}

#[test]
fn a_service_is_asked_at_the_host_and_port_of_its_record() {
    let (folder, server) = (Folder::new(), NameServer::start());
    let arguments =
        ["scan", "minecraft://mc.example", "--resolver", &server.place, "--retries", "0", "--timeout", "100ms"];
    folder.run_well(&[&arguments[..], &["-o", "servers.csv"]].concat());
    let table = folder.table("servers.csv");
    assert_eq!((table.column("port"), table.column("target")), (vec!["9"], vec!["minecraft://mc.example"]));
}

#[test]
fn a_name_server_that_is_down_is_no_fault_of_the_names() {
    let folder = Folder::new();
    let gone = format!("127.0.0.1:{}", closed_port());
    let list: Vec<_> = (0..500).map(|n| format!("good{n}.example\n")).collect();
    folder.write("list.txt", list.concat());
    let arguments = ["scan", "-i", "list.txt", "--resolver", &gone, "--dns-timeout", "50ms", "-o", "servers.csv"];
    let run = folder.run(&arguments);
    assert_eq!(run.code, Some(9), "{run}");
    assert!(run.stderr.contains("no name server answered: 500 names were given up"), "{run}");
    let table = folder.table("servers.csv");
    assert_eq!(table.rows.len(), 500);
    assert!(table.column("status").iter().all(|status| *status == "unresolved"));
    assert!(table.column("error").iter().all(|error| *error == "no name server"));
}

#[test]
fn a_dry_run_asks_no_name_server_unless_it_is_told_to() {
    let (folder, server) = (Folder::new(), NameServer::start());
    folder.write("list.txt", "good1.example:5\nquake3://good2.example\n");
    let arguments = ["scan", "-i", "list.txt", "--dry-run", "--resolver", &server.place];
    let run = folder.run_well(&arguments);
    let printed = String::from_utf8(run.stdout).unwrap();
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["good1.example:5", "quake3://good2.example"]);
    assert_eq!(server.times("good"), 0);
    let run = folder.run_well(&[&arguments[..], &["--resolve"]].concat());
    let printed = String::from_utf8(run.stdout).unwrap();
    assert!(printed.lines().any(|line| line.starts_with("127.9.0.") && line.ends_with(":5")), "{printed}");
    assert_eq!(server.times("good"), 2);
}

#[test]
fn families_and_name_servers_are_read_strictly() {
    let folder = Folder::new();
    for (flag, value, explanation) in [
        ("--resolver", "dns.example", "is not an IP address: write 192.0.2.1"),
        ("--dns-timeout", "0s", "expected more than nothing"),
        ("--family", "5", "invalid value '5' for '--family <FAMILY>'"),
        ("--resolve", "127.0.0.1", "--dry-run"),
    ] {
        let run = folder.run(&["scan", "127.0.0.1:9", flag, value]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(explanation), "{run}");
    }
}
