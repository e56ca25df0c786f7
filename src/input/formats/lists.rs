//! Lines: a table if the first one is a header, else one of targets.

use std::io::BufRead;

use super::table::{Read, Table};
use super::text::Text;
use super::words::Words;
use super::{Context, Stop, Take};
use crate::input::lines::Lines;

/// Reads lines to the end.
pub(super) fn read(bytes: &mut dyn BufRead, context: &Context<'_>, take: &mut Take<'_>) -> Result<(), Stop> {
    let mut lines = Lines::new(bytes);
    let mut kind = Kind::Unknown;
    let (mut text, mut words, mut target) = (Text::new(), Words::default(), String::new());
    let mut begun = None;
    // Bounded by the lines of the input.
    while let Some((number, line)) = lines.next_line()? {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                take(number, Err(error.to_string()))?;
                continue;
            }
        };
        if let Kind::Unknown = kind {
            match kind_of(line) {
                Some(Kind::Table(table)) => {
                    if !table.names_host() {
                        take(number, Err(table.refusal()))?;
                    }
                    kind = Kind::Table(table);
                    continue;
                }
                Some(other) => kind = other,
                None => continue,
            }
        }
        let Kind::Table(table) = &mut kind else {
            text.read(line, context, &mut |entry| take(number, context.judge(entry)))?;
            continue;
        };
        // A cell in quotes may go over several lines.
        let first = begun.take().unwrap_or(number);
        match table.read(line, context, &mut words, &mut target) {
            Ok(Read::GoesOn) => begun = Some(first),
            Ok(Read::Header(other)) => *table = other,
            Ok(Read::Row(None)) => {}
            Ok(Read::Row(Some(entry))) => take(first, Ok(entry))?,
            Err(reason) => take(first, Err(reason))?,
        }
    }
    match begun {
        Some(first) => Ok(take(first, Err("a quote is never closed".into()))?),
        None => Ok(()),
    }
}

#[derive(Debug)]
enum Kind {
    Unknown,
    Targets,
    Table(Table),
}

/// What the first line that says something makes the list; none for a comment, and what only Excel reads.
fn kind_of(line: &[u8]) -> Option<Kind> {
    if line.trim_ascii_start().starts_with(b"#") || line.starts_with(b"sep=") {
        return None;
    }
    Some(Table::of(line).map_or(Kind::Targets, Kind::Table))
}
