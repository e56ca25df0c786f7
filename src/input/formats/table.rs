//! Rows under a header: CSV, and the same with tabs, semicolons, vertical bars or blanks.

use std::borrow::Cow;

use super::cells::{Cells, Delimiter, Whole};
use super::columns::{RECOGNIZED, Role, Writer};
use super::row::Row;
use super::words::Words;
use super::{Context, Entry};
use crate::input::lines::{LineError, MOST_LINE_BYTES};
use crate::record;

/// A table whose header was read.
#[derive(Debug)]
pub(super) struct Table {
    cells: Cells,
    header: Box<[u8]>,
    names: Vec<String>,
    /// The columns that count, and their numbers.
    roles: Vec<(usize, Role)>,
    writer: Writer,
}

/// What a line of a table is.
#[derive(Debug)]
pub(super) enum Read<'t> {
    /// A row, or one that says nothing.
    Row(Option<Entry<'t>>),
    /// The beginning of a row.
    GoesOn,
    /// Another header.
    Header(Table),
}

impl Table {
    /// The table that `line` is the header of, if it is one.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let tables = DELIMITERS.into_iter().filter_map(|delimiter| Self::divided(line, delimiter));
        // The one that names more of what counts.
        let mut best: Option<Self> = None;
        for table in tables {
            let worth = |table: &Self| (table.names_host(), table.roles.len());
            if best.as_ref().is_none_or(|best| worth(best) < worth(&table)) {
                best = Some(table);
            }
        }
        best
    }

    fn divided(line: &[u8], delimiter: Delimiter) -> Option<Self> {
        let mut cells = Cells::new(delimiter);
        if cells.divide(line) == Whole::No {
            return None;
        }
        let names = (0..cells.len()).map(|number| std::str::from_utf8(cells.cell(line, number)).map(str::to_owned));
        let names: Vec<String> = names.collect::<Result<_, _>>().ok()?;
        let is_name = |name: &String| {
            let has_letter = name.bytes().any(|byte| byte.is_ascii_alphabetic());
            let is_host = name.parse::<std::net::IpAddr>().is_ok() || name.contains("://") || name.contains("::");
            // Where blanks divide, it may as well be several targets.
            let may_be_host = delimiter == Delimiter::Blanks && name.contains(['.', ':']);
            name.is_empty() || has_letter && !is_host && !may_be_host
        };
        if !names.iter().all(is_name) {
            return None;
        }
        let role = |(number, name): (usize, &String)| Role::of(name.as_bytes()).map(|role| (number, role.in_table()));
        let roles: Vec<_> = names.iter().enumerate().filter_map(role).collect();
        let names_host = roles.iter().any(|(_, role)| role.names_host());
        let names_port = names.len() > 1 && roles.iter().any(|(_, role)| role.names_port());
        let is_ours = delimiter != Delimiter::Blanks && names.iter().all(|name| record::column(name).is_some());
        let writer = Writer::of(names.iter().map(String::as_str));
        // A line of words only is an unknown header: the columns below it may mean anything.
        let is_word = |name: &String| !name.is_empty() && !name.contains(['.', ':', '/']);
        let is_unknown = names.len() > 1 && names.iter().all(is_word);
        (names_host || names_port || is_ours || is_unknown).then(|| Self {
            cells,
            header: line.into(),
            names,
            roles,
            writer,
        })
    }

    /// Whether a column says where servers are.
    pub(super) fn names_host(&self) -> bool {
        self.roles.iter().any(|(_, role)| role.names_host())
    }

    /// Why the table is not understood.
    pub(super) fn refusal(&self) -> String {
        let names = self.names.join(", ");
        let mut names = names.chars();
        let shown: String = names.by_ref().take(MOST_SHOWN).collect();
        let more = if names.next().is_some() { "…" } else { "" };
        format!("none of these columns has addresses ({shown}{more}): {RECOGNIZED}")
    }

    /// Reads a line below the header; `text` is where a target is written.
    pub(super) fn read<'t>(
        &mut self,
        line: &[u8],
        context: &Context<'_>,
        words: &mut Words,
        text: &'t mut String,
    ) -> Result<Read<'t>, String> {
        let is_comment = !self.cells.go_on() && line.trim_ascii_start().starts_with(b"#");
        if *line == *self.header && !self.cells.go_on() {
            return Ok(Read::Row(None));
        }
        if self.cells.divide(line) == Whole::No {
            if self.cells.begun() > MOST_LINE_BYTES || is_comment {
                self.cells.abandon();
            }
            return match (is_comment, self.cells.go_on()) {
                (true, _) => Ok(Read::Row(None)),
                (false, true) => Ok(Read::GoesOn),
                (false, false) => Err(format!("a quote is never closed: {}", LineError::TooLong)),
            };
        }
        if self.cells.len() != self.names.len() {
            // In a table a name may begin as a comment does.
            return if is_comment { Ok(Read::Row(None)) } else { self.misfit(line) };
        }
        if !self.names_host() {
            return Err(self.refusal());
        }
        let mut row = Row::default();
        row.writer = self.writer;
        for &(number, role) in &self.roles {
            let cell = self.cells.cell(line, number);
            let cell = std::str::from_utf8(cell)
                .map_err(|_| format!("what the column {} says is not UTF-8 text", self.names[number]))?;
            // Tables are put one after the other, too.
            if role.names_host()
                && is_column(cell)
                && let Some(table) = Self::of(line).filter(Self::names_host)
            {
                return Ok(Read::Header(table));
            }
            row.set(role, cell);
        }
        if !context.condition.is_empty() && !self.meets(line, context) {
            return Ok(Read::Row(Some(Entry::HeldBack)));
        }
        row.entry(context, words, text).map(Read::Row)
    }

    /// A line with another number of cells: the header of another table, or a mistake.
    fn misfit<'t>(&self, line: &[u8]) -> Result<Read<'t>, String> {
        let names_host = |number| Role::of(self.cells.cell(line, number)).is_some_and(Role::names_host);
        if (0..self.cells.len()).any(names_host)
            && let Some(table) = Table::of(line).filter(Self::names_host)
        {
            return Ok(Read::Header(table));
        }
        let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let (columns, cells) = (count(self.names.len(), "column"), count(self.cells.len(), "cell"));
        Err(format!("the header has {columns}, and this row {cells}"))
    }

    fn meets(&self, line: &[u8], context: &Context<'_>) -> bool {
        let cells: Vec<Cow<'_, str>> =
            (0..self.names.len()).map(|number| String::from_utf8_lossy(self.cells.raw(line, number))).collect();
        let place = |name: &str| self.names.iter().position(|other| other == name);
        context.condition.holds_for(|name| place(name).and_then(|place| cells.get(place)).map_or("", |cell| cell))
    }
}

/// Whether a word is the name of a column, rather than an address.
fn is_column(word: &str) -> bool {
    !word.contains(['.', ':']) && (Role::of(word.as_bytes()).is_some() || record::column(word).is_some())
}

/// Tried in this order.
const DELIMITERS: [Delimiter; 5] =
    [Delimiter::Byte(b','), Delimiter::Byte(b'\t'), Delimiter::Byte(b';'), Delimiter::Byte(b'|'), Delimiter::Blanks];
/// Characters of a header in a message.
const MOST_SHOWN: usize = 80;
