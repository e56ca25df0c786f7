//! What is written where: formats, standard output, files and their metadata.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Stdio;
use std::thread;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::support::{Folder, HANG, Object, Table};

#[test]
fn csv_and_ndjson_of_one_run_say_the_same() {
    let folder = Folder::new();
    folder.run_well(&["scan", "farm:500", "-o", "servers.csv", "-o", "servers.ndjson"]);
    let table = folder.table("servers.csv");
    let objects = Object::read_lines(&folder.read("servers.ndjson"));

    assert_eq!((table.rows.len(), objects.len()), (500, 500));
    assert!(table.column("status").iter().all(|status| *status == "ok"));
    assert_eq!(table.column("address").into_iter().collect::<HashSet<_>>().len(), 500, "every address once");
    for object in &objects {
        assert_eq!(object.keys(), table.header, "a line has every column as a key, in the same order");
    }
    for (row, object) in table.rows.iter().zip(&objects) {
        for ((column, cell), (_, value)) in table.header.iter().zip(row).zip(&object.0) {
            let same = match value {
                Value::Null => cell.is_empty(),
                Value::String(text) => cell == text,
                Value::Bool(is) => *cell == is.to_string(),
                Value::Number(number) => cell.parse::<f64>().ok() == number.as_f64(),
                other => panic!("{column} is {other}: scalars only"),
            };
            assert!(same, "{column} of {}: {cell:?} in CSV, {value} in NDJSON", row[0]);
        }
    }
}

#[test]
fn a_finished_file_has_its_name_and_metadata_and_nothing_is_left_beside_it() {
    let folder = Folder::new();
    folder.write("servers.csv", "an older file\n");
    let run = folder.run_well(&["scan", "farm:20", "-o", "servers.csv", "--metadata", "run.json"]);
    assert_eq!(folder.names(), ["run.json", "servers.csv", "servers.csv.meta.json"]);
    assert!(run.stdout.is_empty(), "rows go to the file only");
    assert!(run.stderr.contains("asked 20 targets") && run.stderr.contains("20 rows in servers.csv"), "{run}");
    assert_eq!(folder.table("servers.csv").rows.len(), 20);

    let metadata = folder.metadata("servers.csv");
    assert_eq!(metadata["stop"], "done");
    assert_eq!(metadata["outputs"][0]["name"], "servers.csv");
    assert_eq!(metadata["outputs"][0]["rows"], 20);
    assert_eq!(metadata["ledger"]["rows"]["status"]["ok"], 20);
    let copy: Value = serde_json::from_slice(&folder.read("run.json")).unwrap();
    assert_eq!(copy, metadata);
}

#[test]
fn rows_go_to_standard_output_as_csv_unless_told_otherwise() {
    let folder = Folder::new();
    let table = Table::read(&folder.run_well(&["scan", "farm:20"]).stdout);
    assert_eq!(table.rows.len(), 20);
    let objects = Object::read_lines(&folder.run_well(&["scan", "farm:20", "--format", "ndjson"]).stdout);
    assert_eq!(objects.len(), 20);
    assert!(folder.names().is_empty(), "no file, and no metadata without one");
}

#[test]
fn a_dash_is_standard_output_beside_files() {
    let folder = Folder::new();
    let run = folder.run_well(&["scan", "farm:20", "-o", "-", "-o", "servers.ndjson"]);
    let objects = Object::read_lines(&folder.read("servers.ndjson"));
    let in_file: Vec<_> = objects.iter().filter_map(|object| object.value("address").as_str()).collect();
    assert_eq!(Table::read(&run.stdout).column("address"), in_file);
    assert_eq!(in_file.len(), 20);
}

#[test]
fn the_extension_goes_before_the_flag() {
    let folder = Folder::new();
    folder.run_well(&["scan", "farm:5", "--format", "ndjson", "-o", "servers.csv", "-o", "servers"]);
    assert_eq!(folder.table("servers.csv").rows.len(), 5);
    assert_eq!(Object::read_lines(&folder.read("servers")).len(), 5);
}

#[test]
fn quiet_prints_rows_only() {
    let run = Folder::new().run_well(&["scan", "farm:20", "--quiet"]);
    assert_eq!(run.stderr, "");
    assert_eq!(Table::read(&run.stdout).rows.len(), 20);
}

#[test]
fn fields_lists_the_columns_of_the_header_in_order() {
    let folder = Folder::new();
    let header = Table::read(&folder.run_well(&["scan", "farm:1"]).stdout).header;
    let fields = String::from_utf8(folder.run_well(&["fields"]).stdout).unwrap();
    let columns = fields.lines().take_while(|line| !line.is_empty());
    let names: Vec<_> = columns.map(|line| line.split_whitespace().next().unwrap_or_default()).collect();
    assert_eq!(names, header);
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    let folder = Folder::new();
    // Far more than a pipe holds, so that the program is still writing when the pipe is closed.
    let mut child = std::process::Command::new(cargo_bin!("fragscan"))
        .current_dir(folder.path())
        .args(["scan", "farm:5000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("address,ip,port,"), "{line}");
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert!(!stderr.contains("fragscan:"), "there is nothing to complain about: {stderr}");
}

#[test]
fn rows_do_not_depend_on_somebody_reading_the_messages() {
    let folder = Folder::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = std::process::Command::new(cargo_bin!("fragscan"));
    command.current_dir(folder.path()).args(["scan", "farm:20", "-o", "servers.csv"]);
    let status = command.stdin(Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(folder.table("servers.csv").rows.len(), 20);
    assert_eq!(status.code(), Some(0));
}

#[test]
fn every_way_to_send_and_receive_gives_the_same_account() {
    let ledger = |path: &str, sockets: &str| {
        let folder = Folder::new();
        let target = "farm:2000?challenge=100%&split=30%";
        let arguments = ["scan", target, "--queries", "info,rules", "--io", path, "--sockets", sockets, "-o", "a.csv"];
        folder.run_well(&arguments);
        let metadata = folder.metadata("a.csv");
        assert_eq!(metadata["settings"]["io"], if path == "auto" { "mmsg" } else { path });
        let mut statuses = folder.table("a.csv").sorted("status").into_iter().map(str::to_owned).collect::<Vec<_>>();
        statuses.dedup();
        assert_eq!(statuses, ["ok"], "{path}, {sockets} sockets");
        let datagrams = &metadata["ledger"]["datagrams"];
        // A busy machine may ask twice; without that everything is the same to the last datagram.
        let once = datagrams["sent_retry"] == 0 && datagrams["dropped_by_kernel"] == 0;
        (once, ["sent", "received", "matched"].map(|key| datagrams[key].as_u64().expect("a number")))
    };
    let all = [ledger("portable", "1"), ledger("mmsg", "1"), ledger("auto", "3"), ledger("portable", "2")];
    let same: HashSet<_> = all.iter().filter(|(once, _)| *once).map(|(_, counts)| counts).collect();
    assert!(same.len() <= 1, "{all:?}");
}

#[test]
fn what_a_small_buffer_loses_is_told_apart_from_what_never_came() {
    let folder = Folder::new();
    let arguments = ["scan", "farm:3000", "--rate", "max", "--retries", "0", "--rcvbuf", "4k", "-o", "a.csv"];
    folder.run_well(&arguments);
    let ledger = &folder.metadata("a.csv")["ledger"];
    let number = |pointer: &str| ledger.pointer(pointer).and_then(Value::as_u64).expect("a number");
    // Nobody else loses anything on loopback: each time-out is a datagram that the kernel dropped here.
    let answered = number("/rows/status/ok");
    assert_eq!(answered + number("/rows/status/timeout"), 3_000);
    assert!(number("/datagrams/dropped_by_kernel") >= number("/rows/status/timeout") - number("/datagrams/late"));
}

#[test]
fn the_same_answer_from_many_ports_of_an_address_is_flagged_when_that_is_asked_for() {
    let folder = Folder::new();
    let reply = b"\xFF\xFF\xFF\xFFI\x11one name\0map\0folder\0game\0\0\0\x05\x10\0dl\0\x001\0";
    let sockets: Vec<_> = (0..25).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("ports are free")).collect();
    let targets: Vec<String> =
        sockets.iter().map(|socket| socket.local_addr().expect("it is bound").to_string()).collect();
    thread::scope(|scope| {
        for socket in &sockets {
            socket.set_read_timeout(Some(HANG)).expect("a time-out can be set");
            scope.spawn(move || {
                // Two scans ask each.
                for _ in 0..2 {
                    let (_, from) = socket.recv_from(&mut [0; 64]).expect("somebody asks");
                    socket.send_to(reply, from).expect("loopback takes it");
                }
            });
        }
        folder.write("list.txt", targets.join("\n"));
        let common = ["scan", "-i", "list.txt", "--include-private", "--timeout", "20s"];
        let flags = |more: &[&str]| {
            let run = folder.run_well(&[&common[..], more].concat());
            Table::read(&run.stdout).column("flags").into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(flags(&[]).iter().all(String::is_empty));
        let flagged = flags(&["--flag-clones", "--where", "flags=same_answer", "--format", "csv"]);
        assert_eq!(flagged, ["same_answer"; 5], "the 21st and those behind it");
    });
}
