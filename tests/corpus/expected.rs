//! What a row should hold.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::program::Row;
use super::text;

/// Columns and their values, and lists. What is not named is not compared, except that the flags are those named and no
/// others.
#[derive(Default)]
pub(crate) struct Expected {
    columns: Map<String, Value>,
    flags: BTreeSet<&'static str>,
    lists: Vec<(&'static str, List)>,
}

/// Players or rules, of which only the first and the last may be known.
#[derive(Default)]
pub(crate) struct List {
    pub(crate) count: usize,
    pub(crate) first: Vec<Value>,
    pub(crate) last: Vec<Value>,
}

impl Expected {
    /// With `column` at `value`.
    pub(crate) fn set(&mut self, column: &str, value: impl Into<Value>) {
        self.columns.insert(column.to_owned(), value.into());
    }

    /// The same.
    pub(crate) fn with(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.set(column, value);
        self
    }

    /// With a text whose bytes were `original`.
    pub(crate) fn set_text(&mut self, column: &str, original: &[u8]) {
        self.flags.extend(text::put(&mut self.columns, column, original));
    }

    /// Without what was said about `column`.
    pub(crate) fn forget(&mut self, column: &str) {
        self.columns.remove(column);
    }

    /// With a flag.
    pub(crate) fn flag(&mut self, flag: &'static str) {
        self.flags.insert(flag);
    }

    /// Whether there should be a flag.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags.contains(flag)
    }

    /// With a list under `key`.
    pub(crate) fn set_list(&mut self, key: &'static str, list: List) {
        self.columns.remove(key);
        self.lists.retain(|(other, _)| *other != key);
        self.lists.push((key, list));
    }

    /// What `column` should be, as far as that is known.
    pub(crate) fn column(&self, column: &str) -> Option<&Value> {
        self.columns.get(column)
    }

    /// Everything in `row` that is not as expected.
    pub(crate) fn differences(&self, row: &Row) -> Vec<String> {
        let mut differences = differing("", &self.columns, row);
        let words = row["flags"].as_str().unwrap_or_default().split_whitespace();
        // Whether a retry was sent depends on how busy this machine is.
        let found: BTreeSet<&str> = words.filter(|word| *word != "rtt_ambiguous").collect();
        if found != self.flags {
            differences.push(format!("flags are {found:?}, expected {:?}", self.flags));
        }
        for (key, list) in &self.lists {
            match row.get(*key).and_then(Value::as_array) {
                Some(found) => differences.extend(list.differences(key, found)),
                None => differences.push(format!("{key} is no list")),
            }
        }
        differences
    }
}

impl List {
    /// All of a list.
    pub(crate) fn whole(entries: Vec<Value>) -> Self {
        Self { count: entries.len(), first: entries, last: Vec::new() }
    }

    fn differences(&self, key: &str, found: &[Value]) -> Vec<String> {
        if found.len() != self.count {
            return vec![format!("{key} has {} entries, expected {}", found.len(), self.count)];
        }
        let last = found.iter().enumerate().skip(self.count - self.last.len());
        let pairs = self.first.iter().zip(found.iter().enumerate()).chain(self.last.iter().zip(last));
        let compare = |(expected, (number, found)): (&Value, (usize, &Value))| {
            let (expected, found) = (expected.as_object().expect("an entry"), found.as_object().expect("an entry"));
            differing(&format!("{key} {number}: "), expected, found)
        };
        pairs.flat_map(compare).collect()
    }
}

/// Fails with all of `differences` at once, if there are any.
pub(crate) fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// What `found` holds else than `expected`; what is absent is null.
fn differing(place: &str, expected: &Map<String, Value>, found: &Map<String, Value>) -> Vec<String> {
    let pairs = expected.iter().map(|(key, value)| (key, value, found.get(key).unwrap_or(&Value::Null)));
    let different = pairs.filter(|(_, expected, found)| expected != found);
    different.map(|(key, expected, found)| format!("{place}{key} is {found}, expected {expected}")).collect()
}
