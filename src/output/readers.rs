//! Typed readers of our outputs for other programs, made from the table of columns.
//!
//! A reader that guesses types from the first rows turns 64-bit ids into rounded numbers, and fails when the 30,000th
//! version is the first that is no number. These name every type.

use serde_json::{Value, json};

use crate::record::{self, COLUMNS, Column, Kind, List, SCHEMA, ServerRecord};

/// A program that can read our outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReaderFormat {
    /// SQL for DuckDB.
    DuckDb,
    /// Python for pandas.
    Pandas,
    /// A Table Schema of the Frictionless Data project, as JSON.
    Frictionless,
}

impl ReaderFormat {
    /// The text of the reader.
    #[must_use]
    pub(crate) fn text(self) -> String {
        match self {
            Self::DuckDb => duckdb(),
            Self::Pandas => pandas(),
            Self::Frictionless => frictionless(),
        }
    }
}

fn duckdb() -> String {
    let kind = |column: &Column| match column.kind {
        Kind::Text => "VARCHAR",
        Kind::Integer => "BIGINT",
        Kind::Decimal => "DOUBLE",
        Kind::Boolean => "BOOLEAN",
        Kind::Timestamp => "TIMESTAMPTZ",
        Kind::Id => "UBIGINT",
    };
    let columns = |column: &Column| format!("    '{}': '{}'", column.name, kind(column));
    let hex = |column: &Column| is_sent(column).then(|| format!("    '{}_hex': 'VARCHAR'", column.name));
    let scalar: Vec<_> = COLUMNS.iter().map(columns).collect();
    let lists = DUCKDB_LISTS.iter().map(|(name, kind)| format!("    '{name}': '{kind}'"));
    let all: Vec<_> = scalar.iter().cloned().chain(COLUMNS.iter().filter_map(hex)).chain(lists).collect();
    format!(
        "-- {HINT}\n\
         CREATE OR REPLACE MACRO fragscan_csv(file) AS TABLE SELECT * FROM read_csv(file, header = true, nullstr = '',\n  \
         delim = ',', quote = '\"', escape = '\"', columns = {{\n{}\n  }});\n\
         -- {HINT_NDJSON}\n\
         CREATE OR REPLACE MACRO fragscan_ndjson(file) AS TABLE SELECT * FROM read_json(file,\n  \
         format = 'newline_delimited', columns = {{\n{}\n  }});\n\
         -- SELECT name, players FROM fragscan_csv('servers.csv') WHERE status = 'ok' ORDER BY players DESC;\n",
        scalar.join(",\n"),
        all.join(",\n"),
    )
}

/// True for texts of the server's, which may have their bytes beside them.
fn is_sent(column: &Column) -> bool {
    matches!((column.value)(&ServerRecord::new()), record::Value::Text(_))
}

fn pandas() -> String {
    let kind = |column: &Column| match column.kind {
        Kind::Text => Some("string"),
        Kind::Integer => Some("Int64"),
        Kind::Decimal => Some("Float64"),
        Kind::Boolean => Some("boolean"),
        Kind::Id => Some("UInt64"),
        Kind::Timestamp => None,
    };
    let types: Vec<_> = COLUMNS.iter().filter_map(|c| Some(format!("    \"{}\": \"{}\",", c.name, kind(c)?))).collect();
    let times: Vec<_> =
        COLUMNS.iter().filter(|c| c.kind == Kind::Timestamp).map(|c| format!("\"{}\"", c.name)).collect();
    format!(
        "# {HINT}\n\
         import json\n\n\
         import pandas\n\n\
         TYPES = {{\n{}\n}}\n\
         TIMES = [{}]\n\
         LISTS = [{}]\n\n\n\
         def read_csv(file):\n    \
         return pandas.read_csv(file, dtype=TYPES, parse_dates=TIMES, keep_default_na=False, na_values=[\"\"])\n\n\n\
         # {HINT_NDJSON}\n\
         def read_ndjson(file):\n    \
         with open(file, encoding=\"utf-8\") as lines:\n        \
         rows = [json.loads(line) for line in lines]\n    \
         keys = dict.fromkeys(key for row in rows for key in row)\n    \
         return pandas.DataFrame({{key: _column(key, [row.get(key) for row in rows]) for key in keys}})\n\n\n\
         def _column(key, values):\n    \
         if key in TIMES:\n        \
         return pandas.to_datetime(values, utc=True)\n    \
         if key in LISTS:\n        \
         return pandas.Series(values, dtype=object)\n    \
         kind = TYPES.get(key, \"string\")\n    \
         # A 64-bit id is text in NDJSON, and must not pass through floating point.\n    \
         if kind == \"UInt64\":\n        \
         values = [None if value is None else int(value) for value in values]\n    \
         return pandas.array(values, dtype=kind)\n",
        types.join("\n"),
        times.join(", "),
        List::ALL.map(|list| format!("\"{}\"", list.as_str())).join(", "),
    )
}

fn frictionless() -> String {
    let field = |column: &Column| -> Value {
        let (kind, format) = match column.kind {
            Kind::Text => ("string", None),
            Kind::Integer | Kind::Id => ("integer", None),
            Kind::Decimal => ("number", None),
            Kind::Boolean => ("boolean", None),
            Kind::Timestamp => ("datetime", Some("%Y-%m-%dT%H:%M:%S.%fZ")),
        };
        let mut field = json!({ "name": column.name, "type": kind, "description": column.meaning });
        if let Some(format) = format {
            field["format"] = format.into();
        }
        if !column.unit.is_empty() {
            field["unit"] = column.unit.into();
        }
        field
    };
    let fields: Vec<_> = COLUMNS.iter().map(field).collect();
    let schema = json!({ "version": SCHEMA, "missingValues": [""], "fields": fields });
    format!("{schema:#}\n")
}

/// The lists of NDJSON as DuckDB types.
const DUCKDB_LISTS: [(&str, &str); 4] = [
    (
        List::Players.as_str(),
        "STRUCT(\"index\" BIGINT, name VARCHAR, name_hex VARCHAR, score BIGINT, duration_s DOUBLE, ping_ms BIGINT, deaths BIGINT, money BIGINT)[]",
    ),
    (List::Rules.as_str(), "STRUCT(name VARCHAR, name_hex VARCHAR, value VARCHAR, value_hex VARCHAR)[]"),
    (List::Mods.as_str(), "STRUCT(name VARCHAR, name_hex VARCHAR, workshop_id UBIGINT, hash VARCHAR)[]"),
    (List::Dlc.as_str(), "STRUCT(name VARCHAR, app_id BIGINT, hash VARCHAR)[]"),
];
const HINT: &str = "Reads CSV written by fragscan with every column";
const HINT_NDJSON: &str = "Reads NDJSON; a key that ends in _hex has the bytes of a text that is not exactly them";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_names_every_column() {
        for format in [ReaderFormat::DuckDb, ReaderFormat::Pandas, ReaderFormat::Frictionless] {
            let text = format.text();
            for column in COLUMNS {
                let quoted = [format!("'{}'", column.name), format!("\"{}\"", column.name)];
                assert!(quoted.iter().any(|name| text.contains(name)), "{format:?} lacks {}", column.name);
            }
        }
    }

    #[test]
    fn readers_of_ndjson_name_every_list() {
        for (format, quote) in [(ReaderFormat::DuckDb, '\''), (ReaderFormat::Pandas, '"')] {
            for list in List::ALL {
                let name = format!("{quote}{}{quote}", list.as_str());
                assert!(format.text().contains(&name), "{format:?} lacks {name}");
            }
        }
    }
}
