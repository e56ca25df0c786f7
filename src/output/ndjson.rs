//! NDJSON: one JSON object a line, with every scalar key in every line.
//!
//! Texts that are not exactly what the server sent have a second key, `name_hex` for `name`, with its bytes.

use std::fmt::Write;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{RowFormat, value};
use crate::record::{Column, ServerRecord, Value};

/// Writes NDJSON into memory.
pub struct Ndjson {
    columns: Vec<&'static Column>,
    lines: Vec<u8>,
}

impl Ndjson {
    /// Objects with `columns` as their keys, and none written yet.
    #[must_use]
    pub fn new(columns: &[&'static Column]) -> Self {
        Self { columns: columns.to_vec(), lines: Vec::new() }
    }
}

impl RowFormat for Ndjson {
    fn row(&mut self, record: &ServerRecord) {
        serde_json::to_writer(&mut self.lines, &Object { record, columns: &self.columns })
            .expect("memory does not fail");
        self.lines.push(b'\n');
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn take(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        std::mem::swap(buffer, &mut self.lines);
    }
}

/// A record as a JSON object.
struct Object<'a> {
    record: &'a ServerRecord,
    columns: &'a [&'static Column],
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for column in self.columns {
            let value = (column.value)(self.record);
            map.serialize_entry(column.name, &Scalar(&value))?;
            if let Value::Text(text) = value
                && let Some(original) = text.original()
            {
                map.serialize_entry(&format_args!("{}_hex", column.name), &hex(original))?;
            }
        }
        map.end()
    }
}

struct Scalar<'a>(&'a Value<'a>);

impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Absent => serializer.serialize_none(),
            Value::Text(text) => text.as_str().serialize(serializer),
            Value::Flags(flags) if flags.is_empty() => serializer.serialize_none(),
            Value::Word(word) => serializer.serialize_str(word),
            Value::Integer(number) => serializer.serialize_u64(*number),
            Value::Micros(us) => serializer.serialize_f64(f64::from(*us) / 1000.0),
            Value::Boolean(is) => serializer.serialize_bool(*is),
            other => {
                let mut text = Vec::with_capacity(48);
                value::put(other, &mut text);
                serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{COLUMNS, Flags, all_columns};

    fn object(record: &ServerRecord) -> serde_json::Map<String, serde_json::Value> {
        let mut ndjson = Ndjson::new(&all_columns());
        ndjson.row(record);
        let mut bytes = Vec::new();
        ndjson.take(&mut bytes);
        assert_eq!(bytes.iter().filter(|&&b| b == b'\n').count(), 1);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn every_scalar_key_stands_in_every_line() {
        let object = object(&ServerRecord::new());
        assert_eq!(object.keys().len(), COLUMNS.len());
        assert!(COLUMNS.iter().all(|column| object.contains_key(column.name)));
        assert!(object["name"].is_null() && object["flags"].is_null() && object["players"].is_null());
    }

    #[test]
    fn ids_are_strings_and_odd_texts_have_their_bytes() {
        let mut record = ServerRecord::new();
        record.steam_id = Some(90_282_525_520_369_692);
        record.players = Some(7);
        record.rtt_us = Some(1_500);
        record.vac = Some(false);
        record.flags |= record.name.set(b"a\xFF\"\n");
        let object = object(&record);
        assert_eq!(object["steam_id"], "90282525520369692");
        assert_eq!(object["players"], 7);
        assert_eq!(object["rtt_ms"], 1.5);
        assert_eq!(object["vac"], false);
        assert_eq!(object["name"], "a\u{FFFD}\"\u{240A}");
        assert_eq!(object["name_hex"], "61ff220a");
        assert_eq!(object["flags"], (Flags::CONTROL_CHARS | Flags::UTF8_LOSSY).to_string());
    }
}
