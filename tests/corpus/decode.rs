//! Every fixture through `fragscan decode`, against what is known of it.

use super::descriptions::expected;
use super::expected::assert_none;
use super::files::{self, Fixture, announce, corpus};
use super::messages;
use super::program::{Row, decode};

#[test]
fn every_fixture_decodes_to_what_its_description_says() {
    let Some(all) = decoded() else { return };
    let mut differences = Vec::new();
    for (fixture, row) in &all {
        let of = |difference| format!("{}: {difference}", fixture.name);
        differences.extend(expected(fixture).differences(row).into_iter().map(of));
    }
    let count: usize = all.iter().map(|(fixture, _)| fixture.entries.len()).sum();
    announce(&format!("corpus: {} A2S and HL1 sets, {count} messages checked", all.len()));
    assert!(all.len() >= 80 && count >= 150, "that is fewer than there should be");
    assert_none(&differences);
}

/// Also the middle of long lists, which descriptions leave out, and every bit of the durations.
#[test]
fn lists_that_are_written_down_again_are_the_messages_that_came() {
    let Some(all) = decoded() else { return };
    let mut differences = Vec::new();
    let (mut players, mut rules) = (0, 0);
    for (fixture, row) in &all {
        for entry in &fixture.entries {
            let written = match entry["type"].as_str() {
                Some("D") => messages::players(row),
                Some("E") if row["rules"].is_array() => messages::rules(row),
                _ => continue,
            };
            let Some(message) = messages::whole(fixture, entry) else { continue };
            assert_eq!(entry["payload_len"], message.len(), "{}: pieces are put together wrongly", fixture.name);
            if written != message {
                differences.push(format!("{}: the list of {} is another", fixture.name, entry["type"]));
            }
            let count = if entry["type"] == "D" { &mut players } else { &mut rules };
            *count += 1;
        }
    }
    assert!(players >= 35 && rules >= 30, "only {players} lists of players and {rules} of rules were compared");
    assert_none(&differences);
}

/// One list of rules was cut into pieces in several ways, packed, doubled and mixed. One description has its checksum.
#[test]
fn one_message_sent_in_different_ways_is_the_same_message() {
    let Some(all) = decoded() else { return };
    let described = |key: &str| all.iter().find_map(|(fixture, _)| fixture.entry("E")?.get(key));
    let checksum = described("crc32").and_then(|hex| u32::from_str_radix(hex.as_str()?, 16).ok());
    let checksum = checksum.expect("one has a checksum");
    let len = described("decompressed_len").and_then(serde_json::Value::as_u64).expect("one has a length");
    let mut compared = 0;
    for (fixture, row) in
        all.iter().filter(|(fixture, _)| fixture.entry("E").is_some_and(|entry| entry["rules"].is_u64()))
    {
        let message = messages::rules(row);
        assert_eq!((message.len() as u64, crc32fast::hash(&message)), (len, checksum), "{}", fixture.name);
        compared += 1;
    }
    assert!(compared >= 3, "only {compared} ways");
}

/// Every fixture with its row, each decoded alone.
fn decoded() -> Option<Vec<(Fixture, Row)>> {
    let fixtures = files::fixtures(corpus()?);
    Some(
        fixtures
            .into_iter()
            .map(|fixture| (decode(&fixture.path, &[]), fixture))
            .map(|(row, fixture)| (fixture, row))
            .collect(),
    )
}
