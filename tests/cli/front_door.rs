//! What people bring and what they want to see: streams, earlier outputs, conditions, tables, one server, readers.

use std::io::Write;
use std::net::UdpSocket;
use std::process::{Child, ChildStdin, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Folder, Listener, Object, Table, closed_port, wait_for};

#[test]
fn standard_input_is_asked_before_its_end_is_known() {
    let folder = Folder::new();
    let port = closed_port();
    let (child, mut stdin) = stream_into(&folder);
    writeln!(stdin, "127.0.0.2:{port}\n127.0.0.3:{port}\nno target!\n127.0.0.2:{port}").unwrap();
    stdin.flush().unwrap();
    wait_for_rows(&folder, 2);
    writeln!(stdin, "127.0.1.0/30:{port}").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("-:3: "), "{stderr}");
    let table = folder.table("servers.csv");
    assert_eq!(table.rows.len(), 6);
    assert!(table.column("source").iter().all(|source| *source == "-"));
    let input = &folder.metadata("servers.csv")["ledger"]["input"];
    assert_eq!([&input["read"], &input["invalid"], &input["duplicate"]], [8, 1, 1]);
}

#[test]
fn an_earlier_output_is_a_list_whatever_its_form() {
    let folder = Folder::new();
    folder.run_well(&[
        "scan",
        "farm:200?silent=30%",
        "--timeout",
        "100ms",
        "--retries",
        "0",
        "-o",
        "a.csv",
        "-o",
        "a.ndjson",
    ]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&folder.read("a.csv")).unwrap();
    folder.write("a.csv.gz", packed.finish().unwrap());
    folder.write("a.ndjson.zst", zstd::encode_all(folder.read("a.ndjson").as_slice(), 1).unwrap());
    let before = folder.table("a.csv");
    let silent: Vec<_> = before.rows.iter().filter(|row| row[6] == "timeout").map(|row| row[0].clone()).collect();
    assert!(silent.len() > 20 && silent.len() < 120, "{}", silent.len());
    for list in ["a.csv", "a.ndjson", "a.csv.gz", "a.ndjson.zst"] {
        let again = [
            "scan",
            "-i",
            list,
            "--input-where",
            "status=timeout",
            "--timeout",
            "50ms",
            "--retries",
            "0",
            "-o",
            "b.csv",
        ];
        folder.run_well(&again);
        let mut silent = silent.clone();
        silent.sort();
        assert_eq!(folder.table("b.csv").sorted("address"), silent, "{list}");
    }
}

#[test]
fn other_scanners_lists_are_understood() {
    let folder = Folder::new();
    let port = closed_port();
    folder.write("zmap.csv", format!("saddr,sport\n127.0.0.2,{port}\n"));
    folder.write("masscan.txt", format!("#masscan\nopen udp {port} 127.0.0.3 1700000000\n# end\n"));
    folder.write("masscan.json", format!("[\n{{ \"ip\": \"127.0.0.4\", \"ports\": [ {{\"port\": {port}}} ] }},\n]\n"));
    folder.run_well(&["scan", "-i", "zmap.csv", "-i", "masscan.txt", "-i", "masscan.json", "-o", "servers.csv"]);
    assert_eq!(folder.table("servers.csv").sorted("ip"), ["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
}

#[test]
fn conditions_hold_back_rows_and_the_account_says_so() {
    let folder = Folder::new();
    folder.run_well(&[
        "scan",
        "farm:300",
        "--where",
        "players>20,name~(?i)zombie|surf",
        "--fields",
        "players,name",
        "-o",
        "servers.csv",
    ]);
    let table = folder.table("servers.csv");
    assert_eq!(table.header, ["players", "name"]);
    assert!(!table.rows.is_empty());
    for row in &table.rows {
        assert!(
            row[0].parse::<u32>().unwrap() > 20 && (row[1].contains("Zombie") || row[1].contains("Surf")),
            "{row:?}"
        );
    }
    let rows = &folder.metadata("servers.csv")["ledger"]["rows"];
    assert_eq!(rows["withheld"].as_u64().unwrap() + rows["written"].as_u64().unwrap(), 300);
    assert_eq!(rows["written"], table.rows.len());
}

#[test]
fn a_table_has_a_line_for_each_server_and_no_colours_in_a_pipe() {
    let run = Folder::new().run_well(&["scan", "farm:20", "--format", "table"]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(text.lines().count(), 21);
    assert!(text.starts_with("NAME ") && text.contains("ADDRESS"), "{text}");
    assert!(!text.contains('\x1B'));
    let run = Folder::new().run_well(&["scan", "farm:20", "--format", "table", "--color", "always"]);
    assert!(String::from_utf8(run.stdout).unwrap().contains('\x1B'));
}

#[test]
fn one_server_is_shown_with_everything_it_said_and_silence_is_exit_code_1() {
    let folder = Folder::new();
    let port = closed_port().to_string();
    let mut farm = Command::new(cargo_bin!("fragscan"))
        .args(["farm", "--servers", "1", "--port", &port])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = format!("127.0.0.2:{port}");
    let run = wait_for("the farm", || Some(folder.run(&["query", &server])).filter(|run| run.code == Some(0)));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("status            ok\n") && text.contains("rtt_ms "), "{text}");
    let run = folder.run_well(&["query", &server, "--format", "json"]);
    assert_eq!(Object::read_lines(&run.stdout)[0].value("status"), "ok");
    farm.kill().unwrap();
    farm.wait().unwrap();
    assert_eq!(folder.run(&["query", &server]).code, Some(1));
}

#[test]
fn what_there_is_can_be_asked_for() {
    let folder = Folder::new();
    let says = |arguments: &[&str], text: &str| {
        let run = folder.run_well(arguments);
        let stdout = String::from_utf8(run.stdout).unwrap();
        assert!(stdout.contains(text), "{arguments:?} does not say {text:?}: {stdout}");
    };
    says(&["protocols"], "a2s            port 27015");
    says(&["protocols"], "steam-api      HTTPS       Steam's list of servers");
    says(&["completions", "bash"], "_fragscan()");
    says(&["completions", "fish"], "complete -c fragscan");
    says(&["man"], ".TH fragscan 1");
    says(&["man"], "shuffled: Pseudo\\-random");
    says(&["fields", "--format", "duckdb"], "'steam_id': 'UBIGINT'");
    says(&["fields", "--format", "pandas"], "\"steam_id\": \"UInt64\"");
    says(&["fields", "--format", "frictionless"], "\"name\": \"steam_id\"");
    assert_eq!(folder.run(&["fields", "--format", "excel"]).code, Some(2));
}

#[test]
fn completions_and_help_offer_the_words_of_closed_choices() {
    let folder = Folder::new();
    let text = |arguments: &[&str]| String::from_utf8(folder.run_well(arguments).stdout).unwrap();
    let bash = text(&["completions", "bash"]);
    for words in [
        "auto always never",
        "shuffled input",
        "info players rules ping all",
        "table markdown ndjson csv",
        "duckdb pandas frictionless",
        "valve hl1 quake3 all",
        "paged at-once loop",
        "auto a2s quake3",
        "any one a2s quake3",
    ] {
        assert!(bash.contains(&format!("compgen -W \"{words}")), "bash is not offered {words:?}");
    }
    assert!(!bash.contains("auto a2s quake3 fivem minecraft ut3 justcause2 bedrock hl1 valve-master"));
    let (zsh, fish) = (text(&["completions", "zsh"]), text(&["completions", "fish"]));
    for word in ["shuffled", "portable", "never", "rules", "markdown", "pandas", "at-once", "sound", "justcause2"] {
        assert!(zsh.lines().any(|line| line.contains(&format!("{word}\\:\""))), "zsh is not offered {word}");
        assert!(fish.lines().any(|line| line.contains(&format!("{word}\\t'"))), "fish is not offered {word}");
    }
    let help = text(&["scan", "--help"]);
    for word in ["shuffled", "portable", "never", "ping", "ndjson", "justcause2"] {
        assert_eq!(help.matches(&format!("          - {word}:")).count(), 1, "{word}: {help}");
    }
}

#[test]
fn a_run_with_nothing_to_ask_replaces_nothing() {
    let folder = Folder::new();
    folder.write("servers.csv", "an older file\n");
    for list in ["", "300.1.1.1\n", "192.0.2.1\n10.0.0.1\n", "0.0.0.0\n"] {
        folder.write("targets.txt", list);
        let run = folder.run(&["scan", "-i", "targets.txt", "-o", "servers.csv"]);
        assert_eq!(run.code, Some(2), "{list:?}: {run}");
        assert!(run.stderr.contains("there is nothing to scan"), "{run}");
        assert_eq!(folder.names(), ["servers.csv", "targets.txt"]);
        assert_eq!(folder.read("servers.csv"), b"an older file\n");
    }
}

#[test]
fn what_names_nothing_is_called_so() {
    let folder = Folder::new();
    folder.write("empty", "");
    folder.write("comments", "# later\n\n");
    folder.write("header.csv", "ip,port\n");
    folder.write("rows.csv", "ip,port,status\n127.0.0.2,9,ok\n");
    for (arguments, stdin, said) in [
        (&["-i", "empty"][..], "", "empty: the file is empty\n"),
        (&["-i", "comments"], "", "comments: no targets found\n"),
        (&["-i", "header.csv"], "", "header.csv: no targets found\n"),
        (&["-i", "-"], "", "standard input: the file is empty\n"),
        (&["-i", "-"], "[]", "standard input: no targets found\n"),
        (&["-i", "rows.csv", "--input-where", "status=timeout"], "", "; --input-where leaves out 1 row\n"),
    ] {
        let run = folder.run_with(&[&["scan"], arguments].concat(), stdin);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(said), "{arguments:?}: {run}");
        assert!(run.stderr.contains("there is nothing to scan: the input contains no targets"), "{run}");
    }
    let run = folder.run_well(&["scan", "farm:1", "--exclude-file", "empty", "-q"]);
    assert_eq!(run.stderr, "empty: the file is empty, so it excludes nothing\n");
}

#[test]
fn a_list_is_never_written_over() {
    let folder = Folder::new();
    folder.write("list.csv", "127.0.0.2\n");
    for arguments in [["-i", "list.csv"], ["--exclude-file", "list.csv"]] {
        let run = folder.run(&["scan", "farm:2", arguments[0], arguments[1], "-o", "./list.csv"]);
        assert_eq!(run.code, Some(2), "{run}");
        assert_eq!(folder.read("list.csv"), b"127.0.0.2\n");
    }
}

#[test]
fn names_are_resolved_and_those_that_cannot_be_have_a_row_too() {
    let folder = Folder::new();
    let port = closed_port();
    folder.write("list.txt", format!("localhost:{port} # by name\n"));
    folder.run_well(&["scan", "-i", "list.txt", "no-such-host.invalid", "-o", "servers.csv", "-o", "servers.ndjson"]);
    let table = folder.table("servers.csv");
    assert_eq!(table.sorted("status"), ["refused", "unresolved"]);
    assert_eq!(table.sorted("target"), [format!("localhost:{port}").as_str(), "no-such-host.invalid"]);
    assert_eq!(table.sorted("address"), ["", format!("127.0.0.1:{port}").as_str()]);
    let objects = Object::read_lines(&folder.read("servers.ndjson"));
    let unresolved = objects.iter().find(|object| *object.value("status") == "unresolved").unwrap();
    assert!(["address", "ip", "port", "sent_at"].iter().all(|key| unresolved.value(key).is_null()));
    let ledger = &folder.metadata("servers.csv")["ledger"];
    assert_eq!((&ledger["input"]["read"], &ledger["targets"]["scheduled"]), (&2.into(), &2.into()));
}

#[test]
fn the_sender_is_who_we_say_or_the_run_does_not_start() {
    let folder = Folder::new();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (port, target) = (closed_port(), server.local_addr().unwrap().to_string());
    let from = ["--source-ip", "127.5.6.7", "--source-port", &port.to_string(), "--interface", "lo"];
    folder.run_well(&[&["scan", &target, "--retries", "0", "--timeout", "50ms", "-q"][..], &from].concat());
    let (_, sender) = server.recv_from(&mut [0; 64]).unwrap();
    assert_eq!(sender.to_string(), format!("127.5.6.7:{port}"));
    for (flag, value, reason) in [
        ("--source-ip", "192.0.2.9", "192.0.2.9 is not an address of this machine"),
        ("--bind", "192.0.2.9", "192.0.2.9 is not an address of this machine"),
        ("--source-port", "40000,40010", "is not one port or range"),
    ] {
        let run = folder.run(&["scan", &target, flag, value]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(reason), "{run}");
    }
    let run = folder.run(&["scan", &target, "--interface", "nosuch0"]);
    assert_eq!(run.code, Some(1), "{run}");
}

#[test]
fn an_odd_datagram_is_explained_when_that_is_asked_for() {
    let folder = Folder::new();
    let run =
        folder.run_well(&["scan", "farm:1?malformed=100%", "-v", "--retries", "0", "--timeout", "100ms", "-o", "-"]);
    assert!(
        run.stderr.contains("127.0.0.2:") && run.stderr.contains("undecodable: unknown header at byte 0, 64 bytes"),
        "{run}"
    );
    assert!(run.stderr.contains("00 00 00 00"), "{run}");
}

#[test]
fn a_dry_run_sends_nothing_and_prints_what_would_be_asked() {
    let folder = Folder::new();
    let listener = Listener::new();
    let target = listener.target();
    folder.write("list.txt", format!("{target}\n127.0.0.8/30:5\n{target}\n"));
    let list = |extra: &[&str]| {
        let run = folder.run_well(&[&["scan", "-w", "list.txt", "--dryrun"], extra].concat());
        String::from_utf8(run.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let rest = ["127.0.0.8:5", "127.0.0.9:5", "127.0.0.10:5", "127.0.0.11:5"];
    assert_eq!(list(&["--order", "input"])[1..], rest);
    assert_eq!(list(&["--seed", "3"]).len(), 5);
    assert_eq!(list(&["--seed", "3"]), list(&["--seed", "3"]));
    assert!(!listener.was_asked());
    assert_eq!(folder.names(), ["list.txt"]);
}

#[test]
fn a_dry_run_asks_no_list_and_says_so() {
    let folder = Folder::new();
    let listener = Listener::new();
    let master = format!("valve-master://{}", listener.target());
    let run = folder.run_well(&["scan", "--dry-run", "--from", &master, "127.0.0.8:5", "hl1://127.0.0.9:6"]);
    let mut lines: Vec<_> = std::str::from_utf8(&run.stdout).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["127.0.0.8:5", "hl1://127.0.0.9:6"]);
    let note = format!("list {master}: not asked in a dry run");
    assert!(run.stderr.contains(&note), "{run}");
    let run = folder.run_well(&["scan", "--dry-run", "--from", &master]);
    assert!(run.stdout.is_empty() && run.stderr.contains(&note), "{run}");
    assert!(!listener.was_asked());
}

#[test]
fn an_input_that_is_no_list_is_named_with_the_reason() {
    let folder = Folder::new();
    let run = folder.run(&["scan", "-i", "."]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("reading .: Is a directory"), "{run}");
    let port = closed_port();
    folder.write("list.txt", [b"\xFC1\x002\n127.0.0.5:", port.to_string().as_bytes(), b"\n"].concat());
    let run = folder.run_well(&["scan", "-i", "list.txt", "-o", "servers.csv"]);
    assert!(run.stderr.contains("list.txt:1: the line is not UTF-8 text from byte 1 on"), "{run}");
    assert_eq!(folder.table("servers.csv").column("status"), ["refused"]);
}

#[test]
fn too_few_descriptors_and_no_network_are_errors_and_not_crashes() {
    let folder = Folder::new();
    let shell = |script: &str| {
        let output = Command::new("sh")
            .current_dir(folder.path())
            .args(["-c", script, "sh"])
            .arg(cargo_bin!("fragscan"))
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = shell("ulimit -n 5; exec \"$1\" scan 127.0.0.1:9");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("Too many open files"), "{stderr}");
    // A namespace of its own has no route to anywhere; only a privileged user can make one.
    let (code, stderr) = shell("unshare -n true || exit 77; exec unshare -n \"$1\" scan 8.8.8.8:9 -o servers.csv");
    if code != Some(77) {
        assert_eq!(code, Some(0), "{stderr}");
        let table = folder.table("servers.csv");
        assert_eq!(table.column("status"), ["send_error"]);
        assert!(table.column("error")[0].contains("Network is unreachable"), "{:?}", table.column("error"));
    }
}

#[test]
fn an_empty_stream_replaces_nothing() {
    let folder = Folder::new();
    folder.write("servers.csv", "an older file\n");
    for input in ["", "no target!\n", "192.0.2.1\n"] {
        let run = folder.run_with(&["scan", "-i", "-", "-o", "servers.csv"], input);
        assert_eq!(run.code, Some(2), "{input:?}: {run}");
        assert!(run.stderr.contains("there is nothing to scan"), "{run}");
        assert_eq!(folder.names(), ["servers.csv"]);
        assert_eq!(folder.read("servers.csv"), b"an older file\n");
    }
}

#[test]
fn a_stream_that_is_interrupted_is_not_complete() {
    let folder = Folder::new();
    folder.write("servers.csv", "an older file\n");
    let port = closed_port();
    let (child, mut stdin) = stream_into(&folder);
    writeln!(stdin, "127.0.0.2:{port}").unwrap();
    stdin.flush().unwrap();
    wait_for_rows(&folder, 1);
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("stopped early: signal SIGINT"), "{stderr}");
    assert_eq!(folder.read("servers.csv"), b"an older file\n");
    assert_eq!(folder.metadata("servers.csv.partial")["stop"], "signal SIGINT");
}

#[test]
fn a_name_is_looked_up_once_and_counted_each_time() {
    let folder = Folder::new();
    let list = "no-such-host.invalid\nNo-Such-Host.invalid\nno-such-host.invalid:5\n";
    let run = folder.run_with(&["scan", "-i", "-", "-o", "servers.csv"], list);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(folder.table("servers.csv").column("status"), ["unresolved", "unresolved"]);
    let input = &folder.metadata("servers.csv")["ledger"]["input"];
    assert_eq!([&input["read"], &input["duplicate"], &input["not_started"]], [3, 1, 0]);
}

/// A scan of its standard input, which is left open.
fn stream_into(folder: &Folder) -> (Child, ChildStdin) {
    // Whoever runs the tests in the background may have them ignore signals, and the program honours that.
    let mut child = Command::new("env")
        .arg("--default-signal=INT")
        .arg(cargo_bin!("fragscan"))
        .current_dir(folder.path())
        .args(["scan", "-i", "-", "-o", "servers.csv", "--rate", "max"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdin = child.stdin.take().expect("it is a pipe");
    (child, stdin)
}

/// Waits until so many rows are written, while the input is open.
fn wait_for_rows(folder: &Folder, rows: usize) {
    wait_for("rows", || {
        let partial = std::fs::read(folder.path().join("servers.csv.partial")).ok()?;
        (Table::read(&partial).rows.len() == rows).then_some(())
    });
}

#[test]
fn arguments_may_come_from_a_file() {
    let folder = Folder::new();
    folder.write("crawl.args", "# of the crawl\n\nscan\nfarm:3\n-o\ntwo words.csv\n");
    folder.run_well(&["@crawl.args", "--quiet"]);
    assert_eq!(folder.table("two words.csv").rows.len(), 3);
    let metadata = String::from_utf8(folder.read("two words.csv.meta.json")).expect("metadata is UTF-8");
    assert!(metadata.contains("\"farm:3\"") && !metadata.contains("@crawl.args"), "{metadata}");

    // A file that names itself goes round in no circle: an at sign in a file means nothing.
    folder.write("circle.args", "scan\n@circle.args\n");
    let circle = folder.run(&["@circle.args"]);
    assert_eq!(circle.code, Some(2), "{circle}");
    assert!(circle.stderr.contains("target \"@circle.args\""), "{circle}");
    let missing = folder.run(&["@missing.args"]);
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(missing.stderr.contains("missing.args") && missing.stderr.contains("one a line"), "{missing}");
}

#[test]
fn a_link_local_address_is_asked_on_its_interface() {
    let folder = Folder::new();
    let shell = |script: &str| {
        let all = format!("ip link set lo up && ip addr add fe80::5/64 dev lo nodad || exit 77; {script}");
        let output = Command::new("unshare")
            .current_dir(folder.path())
            .args(["-n", "sh", "-c", &all, "sh"])
            .arg(cargo_bin!("fragscan"))
            .output()
            .expect("there is a shell");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // Only a privileged user can make a namespace with such an address.
    let (code, stderr) = shell("exec \"$1\" scan [fe80::5%lo]:9 fe80::5%1:9 -o servers.csv");
    if !matches!(code, Some(0 | 2)) {
        return;
    }
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("\"fe80::5%1:9\": % is allowed only between"), "{stderr}");
    let (code, stderr) = shell("exec \"$1\" scan [fe80::5%lo]:9 [fe80::5%1]:8-9 -o servers.csv");
    assert_eq!(code, Some(0), "{stderr}");
    let table = folder.table("servers.csv");
    assert_eq!(table.sorted("address"), ["[fe80::5%1]:8", "[fe80::5%1]:9"], "{stderr}");
    assert_eq!((table.column("status"), table.column("ip")), (vec!["refused"; 2], vec!["fe80::5%1"; 2]));
    assert!(stderr.contains("3 read = 2 asked + 0 invalid + 1 duplicate"), "{stderr}");
    let (code, stderr) = shell("exec \"$1\" scan -i servers.csv --include-private -o again.csv");
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(folder.table("again.csv").sorted("address"), table.sorted("address"));
    for (target, message) in [
        ("fe80::5", "a link-local address needs an interface: write it as in [fe80::5%eth0]:27015"),
        ("fe80::5%nowhere0", "there is no network interface \"nowhere0\" here"),
    ] {
        let (code, stderr) = shell(&format!("exec \"$1\" scan {target}"));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
}

#[test]
fn a_dry_run_says_what_it_leaves_out_and_an_exclusion_of_ports_is_noticed() {
    let folder = Folder::new();
    folder.write("list", "127.0.0.2:1\n127.0.0.2:1\n10.1.2.3\n127.0.0.3:2\n");
    folder.write("out", "127.0.0.3 2\n127.0.0.4,9\n127.0.0.5\n");
    let run = folder.run_well(&["scan", "--dry-run", "-i", "list", "--exclude-file", "out"]);
    assert_eq!(run.stdout, b"127.0.0.2:1\n");
    assert_eq!(
        run.stderr,
        "out: 2 targets excluded at single ports only, such as 127.0.0.3:2\n\
         1 target printed; 4 read, 0 invalid, 1 duplicate; 1 private: add --include-private to ask them; \
         1 excluded by --exclude or --exclude-file\n"
    );
    let quiet = folder.run_well(&["scan", "--dry-run", "-q", "127.0.0.2", "127.0.0.2"]);
    assert!(quiet.stderr.is_empty(), "{quiet}");
    folder.write("private", "[fe80::5%lo]:1\n");
    let nothing = folder.run(&["scan", "--dry-run", "-i", "private"]);
    assert_eq!((nothing.code, nothing.stdout.len()), (Some(2), 0), "{nothing}");
    assert!(nothing.stderr.contains("there is nothing to scan: 1 read, 0 invalid; 1 private"), "{nothing}");
    let names = folder.run_well(&["scan", "--dry-run", "--game", "dayz", "srv.invalid:2402"]);
    assert_eq!(names.stdout, b"srv.invalid:2402 # asked at 27017, 2403, 2402, 27016 in turn\n");
    folder.write("block", "127.0.0.0,127.0.0.3\n");
    let block = folder.run(&["scan", "127.0.0.2", "--exclude-file", "block"]);
    assert_eq!(block.code, Some(2), "{block}");
    assert!(block.stderr.contains("block:1: if these are the ends of a block, write 127.0.0.0-127.0.0.3"), "{block}");
}
