//! Messages as bytes: put together from datagrams as a description says, and written anew from a row.

use std::io::Read;

use bzip2::read::BzDecoder;
use serde_json::{Value, json};

use super::files::Fixture;
use super::program::Row;
use super::text::original;

/// The message that `entry` of `fixture` describes; `None` if it does not say how it was sent.
pub(crate) fn whole(fixture: &Fixture, entry: &Value) -> Option<Vec<u8>> {
    let kind = entry["type"].as_str().expect("a type");
    let begin = [HEADER, kind.as_bytes()].concat();
    // Bytes before the payload of a piece, and where its number is.
    let (header, number): (usize, fn(&[u8]) -> u8) = match entry["transport"].as_str()? {
        "single" => return fixture.datagrams.iter().find(|datagram| datagram.starts_with(&begin)).cloned(),
        "split9" => (9, |piece| piece[8] >> 4),
        "split12" => (12, |piece| piece[9]),
        "bz2" => (10, |piece| piece[9]),
        other => panic!("{}: nobody knows {other}", fixture.name),
    };
    let mut pieces: Vec<_> = fixture.datagrams.iter().filter(|datagram| datagram.starts_with(PIECE)).collect();
    pieces.sort_by_key(|piece| number(piece));
    let mut message: Vec<u8> = pieces.iter().flat_map(|piece| piece[header..].to_vec()).collect();
    if entry["transport"] == "bz2" {
        let packed = message.split_off(8);
        message.clear();
        BzDecoder::new(packed.as_slice()).read_to_end(&mut message).expect("it can be unpacked");
    }
    assert!(message.starts_with(&begin), "{}: {kind} does not begin like it", fixture.name);
    Some(message)
}

/// The players of `row` as the message that they came in.
pub(crate) fn players(row: &Row) -> Vec<u8> {
    let mut message = [HEADER, b"D"].concat();
    let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{value} is no number"));
    message.push(number(&row["players_declared"]) as u8);
    let list = row["player_list"].as_array().expect("a list");
    for player in list {
        message.push(number(&player["index"]) as u8);
        message.extend(original(player, "name"));
        message.push(0);
        message.extend((number(&player["score"]) as i32).to_le_bytes());
        message.extend((player["duration_s"].as_f64().expect("a number") as f32).to_le_bytes());
    }
    for player in list.iter().filter(|player| player["deaths"] != json!(null)) {
        message.extend((number(&player["deaths"]) as u32).to_le_bytes());
        message.extend((number(&player["money"]) as u32).to_le_bytes());
    }
    message
}

/// The rules of `row` as the message that they came in.
pub(crate) fn rules(row: &Row) -> Vec<u8> {
    let mut message = [HEADER, b"E"].concat();
    message.extend((row["rules_declared"].as_u64().expect("a number") as u16).to_le_bytes());
    for rule in row["rules"].as_array().expect("a list") {
        for key in ["name", "value"] {
            message.extend(original(rule, key));
            message.push(0);
        }
    }
    message
}

const HEADER: &[u8] = b"\xFF\xFF\xFF\xFF";
/// How a piece of a split reply begins.
pub(crate) const PIECE: &[u8] = b"\xFE\xFF\xFF\xFF";
