//! In which order targets are asked. With one in flight at a time, rows stand in that order.

use crate::support::{Folder, Table, closed_port};

#[test]
fn input_order_is_that_of_the_list() {
    let folder = Folder::new();
    let port = closed_port();
    let hosts: Vec<_> = (2..42).map(|host| format!("127.0.0.{}", host * 29 % 97 + 2)).collect();
    let lines: Vec<_> = hosts.iter().map(|host| format!("{host}:{port}")).collect();
    folder.write("targets.txt", lines.join("\n"));
    let run = folder.run_well(&["scan", "-i", "targets.txt", "--order", "input", "--window", "1"]);
    assert_eq!(Table::read(&run.stdout).column("ip"), hosts);
}

#[test]
fn a_seed_repeats_the_order_and_another_seed_has_another() {
    let ips = |arguments: &[&str]| {
        let folder = Folder::new();
        let run = folder.run_well(&[&["scan", "farm:200", "--window", "1", "-o", "servers.csv"], arguments].concat());
        assert!(run.stdout.is_empty());
        let seed = folder.metadata("servers.csv")["seed"].clone();
        let ips: Vec<_> = folder.table("servers.csv").column("ip").into_iter().map(str::to_owned).collect();
        (seed.to_string(), ips)
    };
    let (seed, seven) = ips(&["--seed", "7"]);
    assert_eq!(seed, "7");
    assert_eq!(seven, ips(&["--seed", "7"]).1);
    let eight = ips(&["--seed", "8"]).1;
    assert_ne!(seven, eight);
    let sorted = |mut ips: Vec<String>| {
        ips.sort_unstable();
        ips
    };
    assert_eq!(sorted(seven.clone()), sorted(eight));

    let (chosen, unseeded) = ips(&[]);
    assert_eq!(unseeded, ips(&["--seed", &chosen]).1, "a seed that was chosen by the program repeats its order");
}
