//! The games table: `fragscan games`, `--game`, and the `game_key` column.

use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;

use crate::support::{Folder, Listener, Object, Table, closed_port, wait_for};

/// Simulated servers on one port, which end with the test.
struct Farm(Child);

impl Farm {
    fn new(folder: &Folder, servers: &str, port: u16) -> Self {
        let port = port.to_string();
        let farm = Command::new(cargo_bin!("fragscan"))
            .args(["farm", "--servers", servers, "--port", &port])
            .stderr(Stdio::null())
            .spawn()
            .expect("the farm starts");
        let farm = Self(farm);
        let server = format!("127.0.0.2:{port}");
        wait_for("the farm", || (folder.run(&["query", &server]).code == Some(0)).then_some(()));
        farm
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        // It may have ended by itself, in a test that fails.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lines(bytes: &[u8]) -> Vec<String> {
    std::str::from_utf8(bytes).expect("what is printed is UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn the_games_are_listed_in_every_format() {
    let folder = Folder::new();
    let table = Table::read(&folder.run_well(&["games"]).stdout);
    let columns = ["key", "name", "protocol", "game_port", "query_port", "rule", "app_id", "mod_of", "folder"];
    assert_eq!(table.header, columns);
    assert!(table.rows.len() >= 150, "{}", table.rows.len());
    let shown = lines(&folder.run_well(&["games", "--format", "table"]).stdout);
    assert!(shown[0].starts_with("KEY ") && shown.len() == table.rows.len() + 1, "{shown:?}");
    let objects = Object::read_lines(&folder.run_well(&["games", "--format", "ndjson"]).stdout);
    assert_eq!(objects.len(), table.rows.len());
    assert!(objects.iter().all(|object| object.keys() == columns));
    assert_eq!(folder.run(&["games", "--format", "xml"]).code, Some(2));
}

#[test]
fn a_word_finds_games_by_key_name_or_application() {
    let folder = Folder::new();
    let found = |word| Table::read(&folder.run_well(&["games", word]).stdout).rows;
    assert_eq!(
        found("221100"),
        [["dayz", "DayZ", "a2s", "2302", "27016", "27016+(port-2302)/100 +1", "221100", "", "dayz"]]
    );
    assert_eq!(found("GARRY'S")[0][0], "gmod");
    let none = folder.run(&["games", "dazy"]);
    assert_eq!((none.code, none.stdout.len()), (Some(1), 0), "{none}");
    assert!(none.stderr.contains("no game has \"dazy\"") && none.stderr.contains("did you mean dayz"), "{none}");
}

#[test]
fn the_query_port_of_a_game_is_looked_for_and_the_row_is_about_the_one_that_answered() {
    let folder = Folder::new();
    let port = closed_port();
    let _farm = Farm::new(&folder, "4", port);
    // Arma 3 answers one port above the one for players; who names the port for queries is understood, too.
    let below = port - 1;
    folder.write(
        "list.txt",
        format!("127.0.0.2:{below}\n127.0.0.3:{port}\na2s://127.0.0.4:{port}\n127.0.0.5-127.0.0.5\n"),
    );
    let ports = below.to_string();
    folder.run_well(&[
        "scan",
        "--game",
        "ARMA3",
        "-i",
        "list.txt",
        "-p",
        &ports,
        "--order",
        "input",
        "-o",
        "servers.csv",
    ]);
    let table = folder.table("servers.csv");
    let row = |ip: &str| {
        let place = table.column("ip").iter().position(|other| *other == ip).expect("each target has a row");
        ["address", "status", "target", "source"].map(|column| table.column(column)[place].to_owned())
    };
    let answered = |ip: &str, target: &str| [format!("{ip}:{port}"), "ok".into(), target.into(), "list.txt".into()];
    assert_eq!(row("127.0.0.2"), answered("127.0.0.2", &format!("127.0.0.2:{below}")));
    assert_eq!(row("127.0.0.3"), answered("127.0.0.3", ""));
    assert_eq!(row("127.0.0.4"), answered("127.0.0.4", ""));
    assert_eq!(row("127.0.0.5"), answered("127.0.0.5", &format!("127.0.0.5:{below}")));

    let query = folder.run_well(&["query", "--game", "arma3", &format!("127.0.0.2:{below}")]);
    assert!(
        lines(&query.stdout).contains(&format!("address           127.0.0.2:{port}")),
        "{:?}",
        lines(&query.stdout)
    );
    let bench = format!("127.0.0.2:{below}");
    let bench =
        ["bench", &bench, "--game", "arma3", "--rounds", "1", "--count", "5", "--warmup", "0s", "--format", "json"];
    let report = String::from_utf8(folder.run_well(&bench).stdout).unwrap();
    assert!(report.contains("\"answered\":5"), "{report}");
}

#[test]
fn a_target_without_a_port_is_asked_where_its_game_usually_answers() {
    let folder = Folder::new();
    let asked = |arguments: &[&str]| {
        lines(&folder.run_well(&[&["scan", "--dry-run", "--order", "input", "127.0.0.9"], arguments].concat()).stdout)
    };
    assert_eq!(asked(&["--game", "dayz"]), ["127.0.0.9:27016"]);
    assert_eq!(asked(&["--game", "7d2d", "a2s://127.0.0.10"]), ["127.0.0.9:26900", "127.0.0.10:27015"]);
    assert_eq!(
        asked(&["--game", "dayz", "-p", "2302"]),
        ["127.0.0.9:2302 # asked at 27016, 2303, 2302 in turn"],
        "a line that can be read back"
    );
}

#[test]
fn an_excluded_port_is_not_asked_by_way_of_another_one() {
    let folder = Folder::new();
    let listener = Listener::new();
    let target = listener.target();
    let port: u16 = target.rsplit_once(':').unwrap().1.parse().unwrap();
    folder.write("optout.txt", format!("{target}\n"));
    let arguments = ["scan", "--game", "arma3", &format!("127.0.0.1:{}", port - 1), "127.0.0.3:9"];
    let scan = [&arguments[..], &["--exclude-file", "optout.txt", "--retries", "0", "-o", "servers.csv"]].concat();
    folder.run_well(&scan);
    assert!(!listener.was_asked());
    assert_eq!(folder.table("servers.csv").rows.len(), 1);
    assert_eq!(folder.metadata("servers.csv")["ledger"]["input"]["excluded_listed"], 1);
    folder.run_well(&[&arguments[..], &["--retries", "0", "--timeout", "50ms", "-o", "servers.csv"]].concat());
    assert!(listener.was_asked(), "it would have been");
}

#[test]
fn rows_say_which_game_it_is_as_far_as_the_table_knows() {
    let folder = Folder::new();
    let games = Table::read(&folder.run_well(&["games"]).stdout);
    let (keys, ids) = (games.column("key"), games.column("app_id"));
    folder.run_well(&["scan", "farm:300?mix=full", "--timeout", "300ms", "-o", "servers.csv"]);
    let table = folder.table("servers.csv");
    let mut known = 0;
    for (key, id) in table.column("game_key").into_iter().zip(table.column("app_id")) {
        // GoldSource in its old form gives no id; the folder decides there.
        if let Some(place) = ids.iter().position(|other| !id.is_empty() && *other == id) {
            assert_eq!(key, keys[place]);
            known += 1;
        }
    }
    assert!(known > 100, "{known}");

    // 221100 is 0x35FAC: the 16 bits of the reply do not hold it, the game id does.
    folder.write(
        "dayz.hex",
        "ffffffff49 11 4e00 4d00 64617a7900 4400 0000 05 3c 00 64 77 00 01 3100 01 ac5f030000000000\n",
    );
    let decoded = Table::read(&folder.run_well(&["decode", "dayz.hex", "--format", "csv"]).stdout);
    assert_eq!((decoded.column("app_id"), decoded.column("game_key")), (vec!["221100"], vec!["dayz"]));
}
