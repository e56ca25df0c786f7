//! A table for a person: the columns of a server browser, as wide as the terminal.
//!
//! Rows come one by one and are never seen twice, so widths follow from the terminal and the kind of column, not from
//! the rows. What a server says is measured as the terminal shows it (wide and combining characters) and cut where its
//! column ends; characters that could move the cursor, hide text or turn its direction are shown as U+FFFD.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

use super::{RowFormat, value};
use crate::record::{Column, Flags, Kind, ServerRecord, Status};

/// How a table looks. [`Default`] is for outputs that are not a terminal: 120 cells, and no colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Look {
    /// Cells in a line of the terminal.
    pub width: usize,
    /// With colours.
    pub colour: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: USUAL_WIDTH, colour: false }
    }
}

/// Writes a table into memory.
pub(crate) struct Table {
    cells: Vec<Cell>,
    look: Look,
    lines: Vec<u8>,
}

/// One column of the table.
struct Cell {
    title: &'static str,
    width: usize,
    align_right: bool,
    text: Text,
}

/// Where the text of a cell comes from.
enum Text {
    /// From the record as a whole.
    Of(fn(&ServerRecord) -> String),
    /// From one of its columns.
    Column(&'static Column),
}

impl Table {
    /// The table of a server browser, or one of `columns` if some were chosen.
    #[must_use]
    pub(crate) fn new(columns: Option<&[&'static Column]>, look: Look) -> Self {
        let mut cells = columns
            .map_or_else(|| browser(look.width), |columns| columns.iter().map(|column| chosen(column)).collect());
        fit(&mut cells, look.width);
        let mut table = Self { cells, look, lines: Vec::new() };
        let titles: Vec<_> = table.cells.iter().map(|cell| cell.title.to_owned()).collect();
        table.line(&titles, Style::new().bold());
        table
    }

    fn line(&mut self, texts: &[String], style: Style) {
        let mut line = String::new();
        for (i, (cell, text)) in self.cells.iter().zip(texts).enumerate() {
            let (text, width) = cut(text, cell.width);
            let padding = " ".repeat(cell.width - width);
            line.push_str(if i == 0 { "" } else { GAP });
            if cell.align_right {
                line.push_str(&padding);
            }
            line.push_str(&text);
            if !cell.align_right {
                line.push_str(&padding);
            }
        }
        let line = line.trim_end();
        let line = if self.look.colour { format!("{style}{line}{style:#}\n") } else { format!("{line}\n") };
        self.lines.extend_from_slice(line.as_bytes());
    }
}

impl RowFormat for Table {
    fn row(&mut self, record: &ServerRecord) {
        let texts: Vec<_> = self.cells.iter().map(|cell| cell.text.of(record)).collect();
        let style = match record.status {
            Status::Ok if record.flags.contains(Flags::MALFORMED) => AnsiColor::Yellow.on_default(),
            Status::Ok => Style::new(),
            Status::Partial => AnsiColor::Yellow.on_default(),
            _ => Style::new().dimmed(),
        };
        self.line(&texts, style);
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn take(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        std::mem::swap(buffer, &mut self.lines);
    }
}

impl Text {
    fn of(&self, record: &ServerRecord) -> String {
        match self {
            Self::Of(text) => text(record),
            Self::Column(column) => plain(column, record),
        }
    }
}

/// The columns of a server browser; where there is no room for all, those that are missed least are left out.
fn browser(width: usize) -> Vec<Cell> {
    let mut cells = all();
    for title in ["FLAGS", "GAME", "BOTS", "MAP", "RTT"] {
        if narrowest(&cells) <= width {
            break;
        }
        cells.retain(|cell| cell.title != title);
    }
    cells
}

/// The least width of a line with these cells.
fn narrowest(cells: &[Cell]) -> usize {
    let least = |cell: &Cell| if parts(cell) > 0 { NARROWEST * parts(cell) } else { cell.width };
    cells.iter().map(least).sum::<usize>() + GAP.len() * cells.len().saturating_sub(1)
}

/// How many parts a cell takes of what a line has left.
fn parts(cell: &Cell) -> usize {
    match cell.width {
        WIDE => 2,
        MEDIUM => 1,
        _ => 0,
    }
}

fn all() -> Vec<Cell> {
    let cell = |title, width, align_right, text| Cell { title, width, align_right, text: Text::Of(text) };
    vec![
        // A server that has not answered has no name; why it has not is shown in its place.
        cell("NAME", WIDE, false, |r| r.name.as_str().map_or_else(|| format!("({})", r.status), str::to_owned)),
        cell("MAP", MEDIUM, false, |r| r.map.as_str().unwrap_or_default().into()),
        cell("PLAYERS", 7, true, |r| match (r.players_best, r.max_players_best) {
            (Some(players), Some(most)) => format!("{players}/{most}"),
            (players, _) => players.map_or_else(String::new, |players| players.to_string()),
        }),
        cell("BOTS", 4, true, |r| r.bots.filter(|bots| *bots > 0).map_or_else(String::new, |bots| bots.to_string())),
        cell("RTT", 6, true, |r| r.rtt_us.map_or_else(String::new, |us| format!("{:.1}", f64::from(us) / 1e3))),
        cell("GAME", MEDIUM, false, |r| r.game.as_str().unwrap_or_default().into()),
        cell("ADDRESS", 21, false, |r| r.address.to_string()),
        cell("FLAGS", 12, false, |r| r.flags.to_string()),
    ]
}

fn chosen(column: &'static Column) -> Cell {
    let (width, align_right) = match (column.kind, column.name) {
        (Kind::Integer, _) => (7, true),
        (Kind::Decimal, _) => (9, true),
        (Kind::Boolean, _) => (5, false),
        (Kind::Timestamp, _) => (27, false),
        (Kind::Id, _) => (20, true),
        (Kind::Text, "address" | "ip") => (21, false),
        (Kind::Text, "name" | "error" | "keywords") => (WIDE, false),
        (Kind::Text, _) => (MEDIUM, false),
    };
    let width = if width < MEDIUM || align_right { width.max(column.name.len()) } else { width };
    Cell { title: column.name, width, align_right, text: Text::Column(column) }
}

/// Gives the wide cells what the line has left, and no less than they need to be of use.
fn fit(cells: &mut [Cell], width: usize) {
    let all: usize = cells.iter().map(parts).sum();
    let fixed: usize = cells.iter().filter(|cell| parts(cell) == 0).map(|cell| cell.width).sum();
    let gaps = GAP.len() * cells.len().saturating_sub(1);
    let left = width.saturating_sub(fixed + gaps);
    for cell in cells.iter_mut().filter(|cell| parts(cell) > 0) {
        cell.width = (left * parts(cell) / all).max(NARROWEST * parts(cell));
    }
}

fn plain(column: &Column, record: &ServerRecord) -> String {
    let mut cell = Vec::new();
    value::put(&(column.value)(record), &mut cell);
    String::from_utf8(cell).unwrap_or_default()
}

/// As much of `text` as fits into `width` cells, made harmless, and the cells that it takes.
fn cut(text: &str, width: usize) -> (String, usize) {
    let cells = |c: char| c.width().unwrap_or(0);
    let whole: usize = text.chars().map(|c| cells(shown(c))).sum();
    if whole <= width {
        return (harmless(text), whole);
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars().map(shown) {
        // One cell stays free for the mark that something is missing.
        if used + cells(c) >= width {
            break;
        }
        kept.push(c);
        used += cells(c);
    }
    kept.push('…');
    (kept, used + 1)
}

/// `text` made safe for a terminal, whoever wrote it: U+FFFD replaces each character that could control the terminal or
/// mislead the reader (controls, line ends, direction marks, invisible characters).
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars().map(shown).collect()
}

fn shown(c: char) -> char {
    if is_harmless(c) { c } else { char::REPLACEMENT_CHARACTER }
}

/// False for what could control the terminal or mislead the reader: controls, marks of direction, invisible separators and
/// tags, and what is no character.
fn is_harmless(c: char) -> bool {
    let invisible = matches!(
        c,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}'
    );
    let is_none = u32::from(c) & 0xFFFE == 0xFFFE || matches!(c, '\u{FDD0}'..='\u{FDEF}');
    !(c.is_control() || invisible || is_none)
}

/// Width of a table that is not for a terminal.
const USUAL_WIDTH: usize = 120;
/// Width of a cell that takes two parts of what is left of a line.
const WIDE: usize = 40;
/// Width of a cell that takes one part.
const MEDIUM: usize = 18;
/// Least width of a part.
const NARROWEST: usize = 8;
const GAP: &str = "  ";

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::record::column;

    fn lines(names: &[&[u8]], width: usize) -> Vec<String> {
        let mut table = Table::new(None, Look { width, colour: false });
        for name in names {
            let mut record = ServerRecord::new();
            record.status = Status::Ok;
            record.flags |= record.name.set(name);
            record.flags |= record.map.set(b"de_dust2");
            record.players_best = Some(12);
            record.max_players_best = Some(32);
            record.rtt_us = Some(12_345);
            record.address = "192.0.2.1:27015".parse().unwrap();
            table.row(&record);
        }
        let mut bytes = Vec::new();
        table.take(&mut bytes);
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_stand_under_their_titles_whatever_the_letters() {
        let names: [&[u8]; 5] = [
            b"plain",
            "東京サーバー".as_bytes(),
            "e\u{301}e\u{301} combining".as_bytes(),
            "a name that is far too long for its column, and goes on and on and on".as_bytes(),
            "東".repeat(60).leak().as_bytes(),
        ];
        let lines = lines(&names, 120);
        let column = |line: &str, text| line[..line.find(text).unwrap()].width();
        let (map, address) = (column(&lines[0], "MAP"), column(&lines[0], "ADDRESS"));
        for line in &lines[1..] {
            assert_eq!(column(line, "de_dust2"), map, "{line}");
            assert_eq!(column(line, "192.0.2.1"), address, "{line}");
            assert!(line.width() <= 120, "{line}");
        }
        assert!(lines[1].contains("12/32") && lines[1].contains("12.3"));
        assert!(lines[4].contains('…') && lines[5].contains('…'));
    }

    #[test]
    fn nothing_from_a_server_reaches_the_terminal_as_a_control() {
        let hostile = "\x1B[2J\u{9B}31m\u{202E}evil\u{200B}\r\n\t\u{7F}".as_bytes();
        let lines = lines(&[hostile], 120);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].chars().all(is_harmless), "{:?}", lines[1]);
        assert!(lines[1].contains("evil"));
    }

    #[test]
    fn colours_come_only_when_asked_for_and_end_with_the_line() {
        let mut table = Table::new(None, Look { width: 100, colour: true });
        table.row(&ServerRecord::new());
        let mut bytes = Vec::new();
        table.take(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.lines().all(|line| line.starts_with("\x1B[") && line.ends_with("\x1B[0m")), "{text:?}");
        assert!(text.contains("(timeout)"));
    }

    #[test]
    fn chosen_columns_are_shown_in_their_order() {
        let columns = [column("players").unwrap(), column("name").unwrap()];
        let mut table = Table::new(Some(&columns), Look { width: 60, colour: false });
        let mut record = ServerRecord::new();
        record.flags |= record.name.set(b"x");
        record.players = Some(5);
        table.row(&record);
        let mut bytes = Vec::new();
        table.take(&mut bytes);
        assert_eq!(String::from_utf8(bytes).unwrap(), "players  name\n      5  x\n");
    }

    #[test]
    fn a_narrow_terminal_has_fewer_columns_and_no_wrapped_lines() {
        for width in [60, 80, 100] {
            let lines = lines(&[b"a name that is much too long for a narrow terminal"], width);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
            assert!(lines[0].contains("NAME") && lines[1].contains("192.0.2.1:27015") && lines[1].contains("12/32"));
        }
    }
}
