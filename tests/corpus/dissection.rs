//! Fields that are in no row: a datagram that is taken apart shows them too.

use serde_json::Value;

use super::expected::assert_none;
use super::facts;
use super::files::{self, Fixture, corpus};
use super::program::run;

#[test]
fn a_dissection_names_the_fields_that_no_row_has() {
    let Some(folder) = corpus() else { return };
    let mut differences = Vec::new();
    let mut compared = 0;
    for fixture in files::fixtures(folder) {
        let hidden = fixture.hidden.iter().flat_map(facts::fields);
        let of_entries = fixture.entries.iter().flat_map(wanted).map(|(field, value)| (field.to_owned(), value));
        let wanted: Vec<_> = of_entries.chain(hidden).collect();
        if wanted.is_empty() {
            continue;
        }
        let fields = dissected(&fixture);
        for (field, value) in wanted {
            compared += 1;
            if !fields.iter().any(|found| *found == (field.clone(), value.clone())) {
                let others: Vec<_> = fields.iter().filter(|(name, _)| *name == field).map(|(_, value)| value).collect();
                differences.push(format!("{}: {field} is {others:?}, expected {value}", fixture.name));
            }
        }
    }
    assert!(compared >= 400, "only {compared} fields were compared");
    assert_none(&differences);
}

/// The fields and values that `entry` asks for.
fn wanted(entry: &Value) -> Vec<(&'static str, String)> {
    let mut wanted = Vec::new();
    for (part, key, field) in FIELDS {
        let object = if part.is_empty() { entry } else { &entry[*part] };
        match &object[*key] {
            Value::Null => {}
            Value::String(text) => wanted.push((*field, text.clone())),
            value => wanted.push((*field, value.to_string())),
        }
    }
    if let Some(ship) = entry["info"]["ship"].as_array() {
        wanted.extend(["mode", "witnesses", "duration"].into_iter().zip(ship.iter().map(Value::to_string)));
    }
    if let Some(checksum) = entry["crc32"].as_str() {
        let number = u32::from_str_radix(checksum, 16).expect("hex");
        wanted.push(("crc32 when decompressed", number.to_string()));
    }
    if entry["type"] == "j" {
        let payload = entry["payload"].as_str().expect("a text");
        let len = payload.len() + 1;
        wanted.push(("the rest", format!("{len} byte{}", if len == 1 { "" } else { "s" })));
    }
    wanted
}

/// Names and values of all fields of `fixture`.
pub(crate) fn dissected(fixture: &Fixture) -> Vec<(String, String)> {
    let tables = run(
        &fixture.path.with_file_name(""),
        ["decode".as_ref(), "--format".as_ref(), "markdown".as_ref(), fixture.path.as_os_str()],
    );
    let cells = |line: &str| -> Option<(String, String)> {
        let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split(" | ").map(str::trim).skip(2);
        Some((cells.next()?.to_owned(), unescaped(cells.nth(1)?)))
    };
    tables.lines().filter_map(cells).collect()
}

/// The text of a cell without the backslashes that keep Markdown from doing anything with it.
fn unescaped(cell: &str) -> String {
    let mut chars = cell.chars();
    let next =
        |chars: &mut std::str::Chars<'_>| chars.next().map(|c| if c == '\\' { chars.next().unwrap_or(c) } else { c });
    std::iter::from_fn(|| next(&mut chars)).collect()
}

/// In which part of a description a field is, what it is called there, and what in a dissection.
const FIELDS: &[(&str, &str, &str)] = &[
    ("info", "edf", "extra data flags"),
    // A row has the full id instead, where there is one.
    ("info", "appid16", "app id"),
    // A row has what the `I` says instead, where there is one.
    ("info_gold_old", "address", "address"),
    ("info_gold_old", "name", "name"),
    ("info_gold_old", "map", "map"),
    ("info_gold_old", "folder", "folder"),
    ("info_gold_old", "game", "game"),
    ("info_gold_old", "players", "players"),
    ("info_gold_old", "max", "max players"),
    ("info_gold_old", "protocol", "protocol"),
    ("info_gold_old", "type", "server type"),
    ("info_gold_old", "os", "os"),
    ("info_gold_old", "pw", "password"),
    ("info_gold_old", "vac", "vac"),
    ("info_gold_old", "bots", "bots"),
    ("info_gold_old", "url", "mod url"),
    ("info_gold_old", "mod", "is mod"),
    ("info_gold_old", "dl", "mod download url"),
    ("info_gold_old", "mver", "mod version"),
    ("info_gold_old", "msize", "mod size"),
    ("info_gold_old", "mtype", "mod kind"),
    ("info_gold_old", "mdll", "mod library"),
    ("", "address", "address"),
    ("", "mod", "is mod"),
    ("", "edf", "extra data flags"),
    ("", "challenge", "challenge"),
    ("", "decompressed_len", "size when decompressed"),
];
