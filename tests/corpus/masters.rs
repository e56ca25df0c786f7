//! Recorded list servers: what they were asked is what we ask, and every entry that they sent is found, once.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use fragscan::protocol::{AnyProtocol, AnySession, Ask, Found, Next, Step, by_name};

use super::files::{corpus, exchanges};
use super::program::run;
use super::text::bytes;

#[test]
fn recorded_lists_are_asked_for_and_read_to_the_last_entry() {
    let Some(folder) = corpus() else { return };
    let local = |last: u8, port| SocketAddr::from(([127, 0, 0, last], port));
    let many = |second: u8, port| {
        (0..600_u16).map(move |i| SocketAddr::from((Ipv4Addr::new(127, second, (i >> 8) as u8, i as u8), port)))
    };
    let cases: [(&str, &str, &str, BTreeSet<SocketAddr>); 11] = [
        (
            "xash3d-master-list",
            "valve-master",
            "filter=/gamedir/valve/clver/0.21",
            [local(1, 27_015), local(1, 27_016)].into(),
        ),
        (
            "xash3d-master-list-key",
            "valve-master",
            "filter=/gamedir/valve/clver/0.21/key/deadbeef",
            [local(1, 27_015), local(1, 27_016)].into(),
        ),
        ("xash3d-master-list-none", "valve-master", "filter=/gamedir/nope/clver/0.21", BTreeSet::new()),
        ("xash3d-master-noclver", "valve-master", "filter=/gamedir/valve", BTreeSet::new()),
        ("xash3d-master-list-600", "valve-master", "filter=/gamedir/many/clver/0.21", many(1, 27_015).collect()),
        ("dpmaster-getservers", "quake3-master", "protocol=71", [local(1, 27_960), local(2, 27_961)].into()),
        ("dpmaster-getservers-none", "quake3-master", "protocol=99", BTreeSet::new()),
        ("dpmaster-getservers-Nexuiz", "quake3-master", "game=Nexuiz&protocol=3", [local(1, 26_000)].into()),
        ("dpmaster-getservers-600", "quake3-master", "", many(2, 27_960).collect()),
        (
            "dpmaster-getserversExt",
            "quake3-master",
            "game=Quake3Arena&protocol=71",
            [local(1, 27_960), local(2, 27_961)].into(),
        ),
        ("dpmaster-getserversExt-600", "quake3-master", "game=Quake3Arena&empty&full", many(2, 27_960).collect()),
    ];
    for (file, protocol, parameters, servers) in cases {
        let (server, query) = file
            .split_once("-master-")
            .map_or_else(|| file.split_once('-').expect("it has a query"), |(_, query)| ("xash3d-master", query));
        let recorded = exchanges(folder, server, query);
        let found = replay(by_name(protocol).expect("it is there"), parameters, &recorded);
        assert_eq!(found, servers, "{file}");
    }
}

/// Asks the recorded list server until the list is over, and returns what it named.
fn replay(list: AnyProtocol, parameters: &str, recorded: &[(Vec<u8>, Vec<Vec<u8>>)]) -> BTreeSet<SocketAddr> {
    let ask = Ask { address: SocketAddr::from(([127, 0, 0, 1], 27_010)), parameters, ..Ask::offline() };
    let (mut session, mut found) = (AnySession::default(), Found::default());
    let (mut next, mut answered) = (Next::Send, 0);
    for _ in 0..32 {
        match next {
            Next::Finish => break,
            Next::Send | Next::SendAfter(_) => {
                let mut request = Vec::new();
                list.request(&session, &ask, &mut request);
                next = Next::Listen(std::time::Duration::ZERO);
                for reply in recorded.iter().filter(|(known, _)| *known == request).flat_map(|(_, replies)| replies) {
                    answered += 1;
                    match list.receive(&mut session, &ask, reply, &mut found) {
                        Ok(Step::Move(then)) => next = then,
                        other => panic!("{list:?}: {other:?}"),
                    }
                }
            }
            _ => next = list.silence(&mut session, &ask),
        }
    }
    assert!(answered > 0, "{list:?} does not ask as the recorded client did");
    assert_eq!((next, found.ragged()), (Next::Finish, 0));
    let mut all = BTreeSet::new();
    while let Some(address) = found.pop() {
        assert!(all.insert(address), "{address} comes twice");
    }
    all
}

#[test]
fn made_up_lists_are_read_as_described() {
    let Some(folder) = corpus() else { return };
    for (name, protocol, parameters) in [
        ("master_terminated", "valve-master", ""),
        ("master_trgower_test", "valve-master", ""),
        ("master_231_no_terminator", "valve-master", ""),
        ("master_xash_key_ext", "valve-master", "filter=/key/deadbeef"),
        ("q3master_5c_inside_ip", "quake3-master", ""),
        ("q3master_ext_v4_v6", "quake3-master", ""),
    ] {
        let (datagram, described) = fixture(folder, name);
        let ask = Ask { parameters, ..Ask::offline() };
        let (mut session, mut found) = (AnySession::default(), Found::default());
        let list = by_name(protocol).expect("it is there");
        let step = list.receive(&mut session, &ask, &datagram, &mut found);
        let all: Vec<_> = std::iter::from_fn(|| found.pop()).map(|address| address.to_string()).collect();
        if let Some(entries) = described["entries"].as_array() {
            assert!(all.iter().eq(entries.iter().filter_map(|entry| entry.as_str())), "{name}: {all:?}");
        } else {
            let ends = [all.first(), all.last()].map(|end| end.map(String::as_str));
            assert_eq!(ends, ["first", "last"].map(|key| described[key].as_str()), "{name}");
            assert_eq!(described["entries"], all.len(), "{name}");
        }
        if described["end"] == false {
            assert_eq!(step, Ok(Step::Move(Next::Send)), "{name}: the next page is asked for");
            let mut request = Vec::new();
            list.request(&session, &ask, &mut request);
            assert_eq!(request, [b"1\xFF", all[230].as_bytes(), b"\0\0"].concat(), "{name}");
        } else {
            assert!(matches!(step, Ok(Step::Move(Next::Listen(_)))), "{name}: {step:?}");
        }
    }
}

fn fixture(folder: &Path, name: &str) -> (Vec<u8>, serde_json::Value) {
    let read = |extension: &str| {
        let path = folder.join(format!("fixtures/{name}.{extension}"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let hex = read("hex");
    let json: serde_json::Value = serde_json::from_str(&read("json")).expect("it is JSON");
    let line = hex.lines().find(|line| !line.starts_with('#')).expect("there is a datagram");
    (bytes(line), json["expected"][0].clone())
}

#[test]
fn every_entry_of_a_recorded_list_is_shown() {
    let Some(folder) = corpus() else { return };
    for file in ["xash3d-master-list-600", "dpmaster-getservers-600", "dpmaster-getserversExt-600"] {
        let path = folder.join(format!("captures/{file}.hex"));
        let shown =
            run(folder, ["decode", "--format", "markdown"].map(AsRef::as_ref).into_iter().chain([path.as_os_str()]));
        let is_entry =
            |line: &&str| line.contains("server ") && line.contains(" address") && !line.contains("| 0.0.0.0:0 ");
        let entries = shown.lines().filter(is_entry).count();
        assert_eq!(entries, 600, "{file}");
    }
}
