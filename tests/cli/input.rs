//! Targets from files and arguments: what is read, what is left out, and that the account of it adds up.

use serde_json::Value;

use crate::support::{Folder, Listener, Run, Table, closed_port};

#[test]
fn a_list_from_anywhere_is_read() {
    let folder = Folder::new();
    let port = closed_port();
    folder.write(
        "targets.txt",
        format!(
            "\u{FEFF}# a byte order mark, CRLF and comments\r\n\
             \r\n\
             127.0.0.2:{port}\r\n\
             \t127.0.0.3-127.0.0.5:{port}  # a range\r\n\
             127.0.0.8/30:{port}\r\n\
             127.0.0.20:1-2,4\r\n\
             [::1]:9\r\n\
             127.0.0.30\n\
             a2s://127.0.0.40:{port}"
        ),
    );
    let run = folder.run_well(&["scan", "-i", "targets.txt", "-p", "7", "--timeout", "500ms", "--retries", "0"]);
    let table = Table::read(&run.stdout);
    let ports = |host: &str, ports: &[u16]| ports.iter().map(|port| format!("{host}:{port}")).collect::<Vec<_>>();
    let mut expected = ports("127.0.0.20", &[1, 2, 4]);
    expected.extend(["[::1]:9".into(), "127.0.0.30:7".into()]);
    for host in [2, 3, 4, 5, 8, 9, 10, 11, 40] {
        expected.push(format!("127.0.0.{host}:{port}"));
    }
    expected.sort_unstable();
    assert_eq!(table.sorted("address"), expected);
    assert!(table.column("source").iter().all(|source| *source == "targets.txt"));
    assert!(run.stderr.contains("targets: 14 read = 14 asked + 0 invalid"), "{run}");
}

#[test]
fn a_row_says_what_named_its_target() {
    let folder = Folder::new();
    let port = closed_port();
    folder.write("targets.txt", format!("127.0.0.2:{port}\n127.0.0.8/31:{port}\n"));
    let single = format!("127.0.0.3:{port}");
    let range = format!("127.0.0.4-127.0.0.5:{port}");
    let run = folder.run_well(&["scan", &single, &range, "-i", "targets.txt", "--order", "input", "--window", "1"]);
    let table = Table::read(&run.stdout);
    let block = format!("127.0.0.8/31:{port}");
    assert_eq!(table.column("ip"), ["127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.2", "127.0.0.8", "127.0.0.9"]);
    assert_eq!(table.column("target"), ["", &range, &range, "", &block, &block]);
    assert_eq!(table.column("source"), ["", "", "", "targets.txt", "targets.txt", "targets.txt"]);
}

#[test]
fn bad_lines_are_reported_with_their_numbers_and_counted() {
    let folder = Folder::new();
    let port = closed_port();
    let lines = ["127.0.0.300", "127.0.0.9-127.0.0.2", "[::1", "127.0.0.1:99999", "127.0.0.0/40", "farm:10", "x://1"];
    let good = format!("# good\n127.0.0.2:{port}\n");
    folder.write("targets.txt", format!("{good}{}\n{good}", lines.join("\n")));
    let run = folder.run_well(&["scan", "-i", "targets.txt", "-o", "servers.csv"]);
    for (number, line) in (3..).zip(lines) {
        let start = format!("targets.txt:{number}: ");
        let complaint = run.stderr.lines().find(|complaint| complaint.starts_with(&start));
        assert!(complaint.is_some_and(|complaint| complaint.len() > start.len()), "{line:?} is line {number}: {run}");
    }
    let input = &folder.metadata("servers.csv")["ledger"]["input"];
    assert_eq!((&input["read"], &input["invalid"], &input["duplicate"]), (&9.into(), &7.into(), &1.into()));
    assert_eq!(folder.table("servers.csv").rows.len(), 1);
}

#[test]
fn very_many_bad_lines_are_not_all_shown() {
    let folder = Folder::new();
    folder.write("targets.txt", format!("127.0.0.1:{}\n{}", closed_port(), "300.1.1.1\n".repeat(1_000)));
    let run = folder.run_well(&["scan", "-i", "targets.txt", "-o", "servers.csv"]);
    let shown = run.stderr.lines().filter(|line| line.starts_with("targets.txt:")).count();
    assert!((1..100).contains(&shown), "{run}");
    assert!(run.stderr.contains(&format!("{} more lines cannot be read", 1_000 - shown)), "{run}");
    assert_eq!(folder.metadata("servers.csv")["ledger"]["input"]["invalid"], 1_000);
}

#[test]
fn whatever_was_read_is_somewhere_in_the_account() {
    let folder = Folder::new();
    let port = closed_port();
    folder.write(
        "targets.txt",
        format!(
            "127.0.0.2:{port}\n127.0.0.3:{port}\n127.0.0.0/29:{port}\n10.0.0.1\n192.168.0.0/30\n192.0.2.0/24\n\
             224.0.0.1\n0.0.0.0\n127.255.255.255\nno such host\n"
        ),
    );
    let arguments = ["scan", "-i", "targets.txt", "--exclude", "127.0.0.2", "-o", "servers.csv"];
    let run = folder.run_well(&arguments);
    let input = account(&folder.metadata("servers.csv"));
    assert_eq!(
        input,
        [
            ("duplicate", 1),           // 127.0.0.3, again in the block
            ("excluded_listed", 2),     // 127.0.0.2, twice
            ("excluded_private", 5),    // 10.0.0.1 and 192.168.0.0/30
            ("excluded_reserved", 257), // 192.0.2.0/24 and 224.0.0.1
            ("invalid", 3),             // what no datagram reaches, and the last line
            ("not_started", 0),
            ("printed", 0),
            ("read", 2 + 8 + 1 + 4 + 256 + 1 + 2 + 1),
        ]
        .map(|(key, count)| (key.to_owned(), count))
    );
    let addresses = [0, 1, 3, 4, 5, 6, 7].map(|host| format!("127.0.0.{host}"));
    assert_eq!(folder.table("servers.csv").sorted("ip"), addresses);
    assert!(run.stderr.contains("264 excluded (257 reserved, 5 private, 2 listed)"), "{run}");
    assert!(run.stderr.contains("--include-private"), "how to ask private addresses is said: {run}");
}

#[test]
fn an_excluded_address_is_left_out_however_it_was_named() {
    let (folder, listener) = (Folder::new(), Listener::new());
    folder.write("optout.txt", "# asked us to\n127.0.0.4/31\n127.0.0.9:1\n");
    let port = closed_port();
    let range = format!("127.0.0.2-127.0.0.9:{port}");
    let exclude = ["--exclude", "127.0.0.1", "--exclude", "127.0.0.2", "--exclude-file", "optout.txt"];
    let target = listener.target();
    folder.run_well(&[&["scan", &target, &range, "-o", "servers.csv"], &exclude[..]].concat());
    let addresses = [3, 6, 7, 8, 9].map(|host| format!("127.0.0.{host}"));
    assert_eq!(folder.table("servers.csv").sorted("ip"), addresses);
    assert!(!listener.was_asked());
    assert_eq!(folder.metadata("servers.csv")["ledger"]["input"]["excluded_listed"], 4);
}

#[test]
fn a_list_can_come_from_standard_input() {
    let folder = Folder::new();
    let port = closed_port();
    let run = folder.run_with(&["scan", "-i", "-"], &format!("127.0.0.2:{port}\n127.0.0.3:{port}\nnonsense..\n"));
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(Table::read(&run.stdout).sorted("ip"), ["127.0.0.2", "127.0.0.3"]);
    assert!(run.stderr.contains(":3: "), "{run}");
}

/// What a dry run prints, sorted.
fn printed(run: &Run) -> Vec<String> {
    let mut lines: Vec<_> = String::from_utf8_lossy(&run.stdout).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn lists_of_other_programs_are_asked_at_the_ports_that_they_name() {
    let folder = Folder::new();
    let wide = "\u{FEFF}Name;IP;Port\r\nZ\u{FC}rich;8.8.8.8;27960\r\n".encode_utf16();
    folder.write("excel.csv", wide.flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    for (name, list) in [
        ("rows.csv", "8.8.8.8,27960\n"),
        ("header.csv", "name,port,ip\n\"a, b\",27960,8.8.8.8\n"),
        ("zmap.csv", "saddr,sport,dport,success\n8.8.4.4,5,6,0\n8.8.8.8,27960,37620,1\n"),
        ("masscan.json", "[\n{ \"ip\": \"8.8.8.8\", \"ports\": [ {\"port\": 27960, \"proto\": \"udp\"} ] }\n]\n"),
        ("nmap.gnmap", "Host: 8.8.8.8 ()\tPorts: 27960/open/udp//x///, 5/closed/udp//x///\n"),
        (
            "nmap.xml",
            "<nmaprun><host><address addr=\"8.8.8.8\" addrtype=\"ipv4\"/><ports><port protocol=\"udp\" \
             portid=\"27960\"><state state=\"open\"/></port></ports></host></nmaprun>",
        ),
        ("steam.json", "{\"response\":{\"servers\":[{\"addr\":\"8.8.8.8:27960\",\"gameport\":27015}]}}"),
        ("gamedig.json", "{\"queryPort\":27960,\n\"connect\":\"8.8.8.8:2302\"}"),
        ("favourites.txt", "connect 8.8.8.8:27960; password x\nsteam://connect/8.8.8.8:27960\n"),
    ] {
        folder.write(name, list);
    }
    for name in folder.names() {
        let run = folder.run_well(&["scan", "--dry-run", "-i", &name]);
        assert_eq!(printed(&run), ["8.8.8.8:27960"], "{name}: {run}");
    }
    let run = folder.run_well(&["scan", "--dry-run", "-i", "nmap.gnmap"]);
    assert!(run.stderr.contains("nmap.gnmap: 1 record was skipped"), "{run}");
}

#[test]
fn standard_input_may_be_a_list_of_any_form() {
    let folder = Folder::new();
    for list in [
        "ip;port;game\n8.8.8.8;5;quake3\n8.8.8.8;x;quake3\n",
        "{\"ip\":\"8.8.8.8\",\"port\":5,\"protocol\":\"QUAKE3\"}\n{\"ip\":\"8.8.8.8\",\"port\":\"x\"}\n",
    ] {
        let run = folder.run_with(&["scan", "--dry-run", "-i", "-"], list);
        assert_eq!((run.code, printed(&run)), (Some(0), vec!["quake3://8.8.8.8:5".to_owned()]), "{run}");
        assert!(run.stderr.contains(": \"x\" is not a port"), "{run}");
    }
    let run = folder.run_with(&["scan", "--dry-run", "-i", "-"], "name,port\nx,5\n");
    assert_eq!(printed(&run), [""; 0]);
    assert!(run.stderr.contains("recognized columns are address, ip,"), "{run}");
}

#[test]
fn a_game_may_stand_where_a_protocol_may() {
    let folder = Folder::new();
    let run = folder.run_well(&["scan", "--dry-run", "QUAKE3://8.8.8.8", "Xonotic://8.8.8.8", "DayZ://8.8.4.4"]);
    assert_eq!(printed(&run), ["8.8.4.4:27016", "quake3://8.8.8.8:26000", "quake3://8.8.8.8:27960"]);
    let run = folder.run(&["scan", "--dry-run", "dayzz://8.8.8.8:5"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("there is no protocol \"dayzz\"") && run.stderr.contains("fragscan games"), "{run}");
}

#[test]
fn a_row_of_an_exclusion_file_excludes_the_port_that_it_names() {
    let folder = Folder::new();
    folder.write("optout.csv", "ip,port\n127.0.0.2,1\n127.0.0.3,\n");
    folder.write("optout.ndjson", "{\"address\":\"127.0.0.4:2\",\"status\":\"ok\"}\n");
    let exclude = ["--exclude-file", "optout.csv", "--exclude-file", "optout.ndjson"];
    let run = folder.run_well(&[&["scan", "--dry-run", "127.0.0.2-127.0.0.4:1-2"], &exclude[..]].concat());
    assert_eq!(printed(&run), ["127.0.0.2:2", "127.0.0.4:1"]);
    folder.write("broken.csv", "ip,port\n127.0.0.2,1\n127.0.0.3,all\n");
    let run = folder.run(&["scan", "--dry-run", "127.0.0.2", "--exclude-file", "broken.csv"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("broken.csv:3: \"all\" is not a port"), "{run}");
}

#[test]
fn an_output_with_few_columns_is_read_back() {
    let folder = Folder::new();
    let port = closed_port().to_string();
    let range = format!("127.0.0.2-127.0.0.5:{port}");
    let expected: Vec<_> = (2..6).map(|host| format!("127.0.0.{host}:{port}")).collect();
    for fields in ["address", "status,address", "ip,port", "port,status,ip", "ip,port,game,game_port"] {
        folder.run_well(&["scan", &range, "--fields", fields, "-o", "few.csv", "-o", "few.ndjson"]);
        for name in ["few.csv", "few.ndjson"] {
            let run = folder.run_well(&["scan", "--dry-run", "-i", name]);
            assert_eq!(printed(&run), expected, "{fields} in {name}: {run}");
        }
    }
    folder.run_well(&["scan", &range, "--fields", "port,status", "-o", "none.csv", "-o", "none.ndjson"]);
    for name in ["none.csv", "none.ndjson"] {
        let run = folder.run(&["scan", "--dry-run", "-i", name]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains("recognized columns are address, ip,"), "{run}");
    }
}

#[test]
fn a_closed_port_is_a_refusal_and_no_failure() {
    let target = format!("127.0.0.5:{}", closed_port());
    let table = Table::read(&Folder::new().run_well(&["scan", &target]).stdout);
    assert_eq!(table.column("address"), [target.as_str()]);
    assert_eq!(table.column("status"), ["refused"]);
    assert_eq!(table.column("icmp"), ["port_unreachable"]);
    assert_eq!(table.column("info_status"), ["refused"]);
}

/// The counts of the input, sorted by name, once it is certain that they add up.
fn account(metadata: &Value) -> Vec<(String, u64)> {
    let ledger = &metadata["ledger"];
    let counts = ledger["input"].as_object().expect("the ledger has a part for the input");
    let counts: Vec<_> =
        counts.iter().map(|(key, count)| (key.clone(), count.as_u64().expect("it is a count"))).collect();
    let read = ledger["input"]["read"].as_u64();
    let ended: u64 = counts.iter().filter(|(key, _)| key != "read").map(|(_, count)| count).sum();
    let scheduled = ledger["targets"]["scheduled"].as_u64().expect("it is a count");
    assert_eq!(read, Some(ended + scheduled), "{ledger}");
    assert_eq!(ledger["rows"]["written"], scheduled, "{ledger}");
    counts
}
