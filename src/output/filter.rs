//! Conditions on records, as `--where` takes them: which rows are written.
//!
//! ```text
//! conditions   condition [, condition …]                  all of them hold
//! condition    COLUMN = VALUE [, VALUE …]                 one of the values; nothing stands for an absent one
//!              COLUMN != VALUE [, VALUE …]                none of them
//!              COLUMN < VALUE      <= > >=                numbers and times
//!              COLUMN ~ REGEX      !~                     somewhere in the text
//! ```
//!
//! Of flags, one word is a value, and a row has it or has it not: `flags=bots_fill`, `flags!=same_answer`.
//!
//! Behind a comma, whatever does not begin with a word and an operator belongs to the condition before it: it is another
//! value, or the rest of the expression. Values are compared as they stand in CSV, so that the same
//! condition holds for a record and for its row. An absent value is neither less nor greater than any.

use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};

use super::value;
use crate::record::{self, Column, Flags, Kind, ServerRecord, Status};

/// Conditions that all have to hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
    cell: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Condition {
    column: &'static Column,
    test: Test,
    /// The test must fail.
    negated: bool,
}

#[derive(Debug, Clone)]
enum Test {
    OneOf(Vec<String>),
    /// The value compares like one of these with the number or time.
    Compares(&'static [Ordering], String),
    Matches(Regex),
}

/// Why a condition cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// No operator in the first part.
    #[error("{0:?} is no condition: write COLUMN=VALUE, COLUMN!=VALUE, COLUMN>NUMBER or COLUMN~REGEX")]
    NoOperator(String),
    /// No such column.
    #[error("there is no column {0:?}; `fragscan fields` lists them")]
    NoColumn(String),
    /// `<` or `>` on a text.
    #[error("{column} is a {kind}, which is neither less nor greater: compare it with =, != or ~")]
    NotOrdered {
        /// The column.
        column: &'static str,
        /// Its type.
        kind: &'static str,
    },
    /// A value that the column cannot have.
    #[error("{value:?} is not a number, and {column} is one")]
    NotANumber {
        /// The column.
        column: &'static str,
        /// What was written.
        value: String,
    },
    /// None of the words that the column can hold.
    #[error("{column} is never {value:?}: it is one of {words}")]
    NotAWord {
        /// The column.
        column: &'static str,
        /// What was written.
        value: String,
        /// What it can be.
        words: String,
    },
    /// Not a regular expression.
    #[error("{0:?} is not a regular expression: {1}")]
    NotARegex(String, String),
}

impl Filter {
    /// Adds the conditions in `text` to those there are.
    pub fn add(&mut self, text: &str) -> Result<(), FilterError> {
        let mut whole: Vec<String> = Vec::new();
        for part in text.split(',') {
            match whole.last_mut() {
                Some(last) if operator(part).is_none() => {
                    last.push(',');
                    last.push_str(part);
                }
                _ => whole.push(part.into()),
            }
        }
        let fresh: Result<Vec<_>, _> = whole.iter().map(|text| Condition::parse(text)).collect();
        self.conditions.extend(fresh?);
        Ok(())
    }

    /// True when there are no conditions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// True when every condition holds for a row whose values `value` gives by the names of their columns.
    pub(crate) fn holds_for<'a>(&self, value: impl Fn(&str) -> &'a str) -> bool {
        self.conditions.iter().all(|condition| condition.holds(value(condition.column.name)))
    }

    /// True when every condition holds for `record`.
    pub fn holds(&mut self, record: &ServerRecord) -> bool {
        let Self { conditions, cell } = self;
        conditions.iter().all(|condition| {
            cell.clear();
            value::put(&(condition.column.value)(record), cell);
            // Every value is valid UTF-8; should one not be, it is treated as absent.
            condition.holds(std::str::from_utf8(cell).unwrap_or_default())
        })
    }
}

impl Condition {
    fn parse(written: &str) -> Result<Self, FilterError> {
        let (name, operator, value) = operator(written).ok_or_else(|| FilterError::NoOperator(written.into()))?;
        let column = record::column(name).ok_or_else(|| FilterError::NoColumn(name.into()))?;
        let test = match operator {
            "=" | "!=" => Test::OneOf(value.split(',').map(|value| checked(column, value)).collect::<Result<_, _>>()?),
            "~" | "!~" => Test::Matches(regex(value)?),
            "<" => compares(column, &[Ordering::Less], value)?,
            "<=" => compares(column, &[Ordering::Less, Ordering::Equal], value)?,
            ">" => compares(column, &[Ordering::Greater], value)?,
            _ => compares(column, &[Ordering::Greater, Ordering::Equal], value)?,
        };
        Ok(Self { column, test, negated: operator.starts_with('!') })
    }

    /// `cell` is the value as it stands in CSV.
    fn holds(&self, cell: &str) -> bool {
        let found = match &self.test {
            Test::OneOf(values) => values.iter().any(|value| equal(self.column, cell, value)),
            Test::Compares(wanted, value) => compare(self.column, cell, value).is_some_and(|is| wanted.contains(&is)),
            Test::Matches(regex) => regex.is_match(cell),
        };
        found != self.negated
    }
}

/// Divides `COLUMN operator VALUE`; `None` if `text` does not begin so.
fn operator(text: &str) -> Option<(&str, &'static str, &str)> {
    let (name, rest) = text.split_at(text.find(['=', '<', '>', '~', '!'])?);
    let name = name.trim();
    let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let operator = OPERATORS.into_iter().find(|operator| rest.starts_with(operator))?;
    is_word.then(|| (name, operator, &rest[operator.len()..]))
}

fn equal(column: &Column, cell: &str, value: &str) -> bool {
    if column.name == "flags" {
        // Without flags there is one empty word.
        return cell.split(' ').any(|word| word == value);
    }
    cell == value || (is_number(column) && compare(column, cell, value) == Some(Ordering::Equal))
}

/// How a cell compares with a value; `None` for an absent one.
fn compare(column: &Column, cell: &str, value: &str) -> Option<Ordering> {
    if cell.is_empty() {
        return None;
    }
    if column.kind == Kind::Timestamp {
        // RFC 3339 in UTC sorts as text.
        return Some(cell.cmp(value));
    }
    match (cell.parse::<u64>(), value.parse::<u64>()) {
        // Ids have more digits than a floating-point number keeps.
        (Ok(cell), Ok(value)) => Some(cell.cmp(&value)),
        _ => cell.parse::<f64>().ok()?.partial_cmp(&value.parse().ok()?),
    }
}

fn is_number(column: &Column) -> bool {
    matches!(column.kind, Kind::Integer | Kind::Decimal | Kind::Id)
}

/// `value`, if `column` can have it.
fn checked(column: &Column, value: &str) -> Result<String, FilterError> {
    let value = value.trim();
    if is_number(column) && !value.is_empty() && value.parse::<f64>().is_err() {
        return Err(FilterError::NotANumber { column: column.name, value: value.into() });
    }
    let words: Vec<&str> = match (column.kind, column.name) {
        (Kind::Boolean, _) => vec!["true", "false"],
        (_, "status") => Status::ALL.iter().map(|status| status.as_str()).collect(),
        (_, "flags") => Flags::ALL.iter().map(|(_, word, _)| *word).collect(),
        _ => return Ok(value.into()),
    };
    if !value.is_empty() && !words.contains(&value) {
        let (column, words) = (column.name, words.join(", "));
        return Err(FilterError::NotAWord { column, value: value.into(), words });
    }
    Ok(value.into())
}

fn compares(column: &Column, wanted: &'static [Ordering], value: &str) -> Result<Test, FilterError> {
    if !is_number(column) && column.kind != Kind::Timestamp {
        return Err(FilterError::NotOrdered { column: column.name, kind: column.kind.as_str() });
    }
    if value.trim().is_empty() {
        return Err(FilterError::NotANumber { column: column.name, value: String::new() });
    }
    Ok(Test::Compares(wanted, checked(column, value)?))
}

fn regex(text: &str) -> Result<Regex, FilterError> {
    RegexBuilder::new(text).size_limit(REGEX_SIZE).build().map_err(|error| {
        let reason = error.to_string();
        FilterError::NotARegex(text.into(), reason.lines().last().unwrap_or_default().trim().into())
    })
}

/// Longer ones before those that they begin with.
const OPERATORS: [&str; 8] = ["!=", "!~", "<=", ">=", "=", "<", ">", "~"];
/// Bytes that a compiled expression may take.
const REGEX_SIZE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ServerRecord {
        let mut record = ServerRecord::new();
        record.status = Status::Partial;
        record.players = Some(12);
        record.steam_id = Some(90_282_525_520_369_692);
        record.rtt_us = Some(1_500);
        record.flags |= record.name.set("[EU] Dust2, 24/7".as_bytes());
        record.sent_at_us = Some(1_700_000_000_000_000);
        record
    }

    fn holds(text: &str) -> bool {
        let mut filter = Filter::default();
        filter.add(text).unwrap();
        filter.holds(&record())
    }

    #[test]
    fn conditions_hold_or_do_not() {
        for yes in [
            "status=partial",
            "status=ok,partial",
            "status=ok,partial,players>0",
            "players>0,players<13",
            "players>=12,players<=12",
            "players=12",
            "players=12.0",
            "players!=13",
            "steam_id=90282525520369692",
            "rtt_ms<1.6",
            "name~Dust2",
            "name~(?i)dust",
            "name~t{1,2}2, 24/[0-9]{1,3},players>0",
            "name!~inferno",
            "status!=ok,timeout",
            "vac=",
            "name!=",
            "sent_at>2023-11-14",
            " players > 11",
        ] {
            assert!(holds(yes), "{yes}");
        }
        for no in [
            "status=ok",
            "status=ok,timeout",
            "players>12",
            "players!=12",
            "steam_id=90282525520369693",
            "rtt_ms>1.6",
            "name~^Dust2",
            "name!~Dust",
            "max_players>0",
            "max_players<100",
            "status!=ok,partial",
            "vac=true",
            "sent_at<2023-11-14",
        ] {
            assert!(!holds(no), "{no}");
        }
    }

    #[test]
    fn flags_are_found_one_by_one() {
        let holds = |text: &str, flags| {
            let mut filter = Filter::default();
            filter.add(text).unwrap();
            filter.holds(&ServerRecord { flags, ..ServerRecord::new() })
        };
        let two = Flags::TRUNCATED | Flags::BOTS_FILL;
        for yes in ["flags=bots_fill", "flags=truncated", "flags=malformed,truncated", "flags!=malformed", "flags!="] {
            assert!(holds(yes, two), "{yes}");
            assert_eq!(holds(yes, Flags::NONE), yes == "flags!=malformed", "{yes}");
        }
        assert!(!holds("flags=", two) && holds("flags=", Flags::NONE));
        assert!(!holds("flags!=malformed,truncated", two));
    }

    #[test]
    fn what_cannot_be_read_is_explained() {
        let message = |text: &str| Filter::default().add(text).unwrap_err().to_string();
        assert!(message("").starts_with("\"\" is no condition"), "{}", message(""));
        assert_eq!(message("nmae=x"), "there is no column \"nmae\"; `fragscan fields` lists them");
        assert_eq!(message("players>many"), "\"many\" is not a number, and players is one");
        assert_eq!(message("players>"), "\"\" is not a number, and players is one");
        assert_eq!(message("vac=1"), "vac is never \"1\": it is one of true, false");
        assert!(message("status=okk").starts_with("status is never \"okk\": it is one of ok, partial, "));
        assert!(message("flags=bots_fil").starts_with("flags is never \"bots_fil\": it is one of control_chars, "));
        assert!(message("status==ok").starts_with("status is never \"=ok\""));
        assert!(message("name<b").starts_with("name is a text, which is neither less nor greater"));
        assert!(message("name~(").starts_with("\"(\" is not a regular expression: "), "{}", message("name~("));
        assert_eq!(message("players>1,2"), "\"1,2\" is not a number, and players is one");
        assert_eq!(message("players>1,nmae=x"), "there is no column \"nmae\"; `fragscan fields` lists them");
        assert!(Filter::default().add("players=").is_ok(), "an absent number");
    }
}
