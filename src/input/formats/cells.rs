//! A line divided into cells. Nothing is constructed for a line: most have no quotes, and are cut where they lie.

use std::ops::Range;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// What stands between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// This byte; cells may be in quotes.
    Byte(u8),
    /// Any number of blanks; there are no empty cells, and no quotes.
    Blanks,
}

/// Divides lines.
#[derive(Debug)]
pub(super) struct Cells {
    delimiter: Delimiter,
    /// Made for the first line with quotes.
    quoted: Option<Box<Reader>>,
    /// Cells in quotes without them, one after the other.
    unquoted: Vec<u8>,
    written: usize,
    ends: Vec<usize>,
    ended: usize,
    ranges: Vec<Range<usize>>,
    /// Whether the cells are in `unquoted`, and not in the line.
    is_unquoted: bool,
    /// A cell goes on in the next line.
    goes_on: bool,
}

/// How far a line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// It is a row.
    Yes,
    /// A cell in quotes goes on in the next line.
    No,
}

impl Cells {
    pub(super) const fn new(delimiter: Delimiter) -> Self {
        Self {
            delimiter,
            quoted: None,
            unquoted: Vec::new(),
            written: 0,
            ends: Vec::new(),
            ended: 0,
            ranges: Vec::new(),
            is_unquoted: false,
            goes_on: false,
        }
    }

    pub(super) const fn delimiter(&self) -> Delimiter {
        self.delimiter
    }

    /// Whether the next line belongs to the row that was begun.
    pub(super) const fn go_on(&self) -> bool {
        self.goes_on
    }

    /// Bytes of the row that was begun.
    pub(super) const fn begun(&self) -> usize {
        self.written
    }

    /// Forgets a row that was begun.
    pub(super) const fn abandon(&mut self) {
        self.goes_on = false;
    }

    /// Divides a line, or goes on with the row that was begun.
    pub(super) fn divide(&mut self, line: &[u8]) -> Whole {
        self.ranges.clear();
        if self.goes_on {
            return self.unquote(line);
        }
        self.is_unquoted = false;
        match self.delimiter {
            Delimiter::Blanks => self.cut_at_blanks(line),
            Delimiter::Byte(byte) if memchr::memchr(b'"', line).is_none() => self.cut(line, byte),
            Delimiter::Byte(byte) => {
                self.is_unquoted = true;
                (self.written, self.ended) = (0, 0);
                self.quoted.get_or_insert_with(|| Box::new(ReaderBuilder::new().delimiter(byte).build())).reset();
                return self.unquote(line);
            }
        }
        Whole::Yes
    }

    fn cut(&mut self, line: &[u8], byte: u8) {
        let mut start = 0;
        for end in memchr::memchr_iter(byte, line) {
            self.ranges.push(start..end);
            start = end + 1;
        }
        self.ranges.push(start..line.len());
    }

    fn cut_at_blanks(&mut self, line: &[u8]) {
        let mut start = None;
        for (place, byte) in line.iter().chain(b" ").enumerate() {
            match (start, matches!(byte, b' ' | b'\t')) {
                (None, false) => start = Some(place),
                (Some(first), true) => {
                    self.ranges.push(first..place);
                    start = None;
                }
                _ => {}
            }
        }
    }

    fn unquote(&mut self, line: &[u8]) -> Whole {
        // What comes out is never longer than what goes in, and has no more cells than that has bytes.
        self.unquoted.resize(self.written + line.len() + 2, 0);
        self.ends.resize(self.ended + line.len() + 2, 0);
        self.goes_on = true;
        // Nothing at all would be the end of the input.
        for part in [line, b"\n"].into_iter().filter(|part| !part.is_empty()) {
            let Some(reader) = &mut self.quoted else { break };
            let (bytes, ends) = (&mut self.unquoted[self.written..], &mut self.ends[self.ended..]);
            let (result, _, written, ended) = reader.read_record(part, bytes, ends);
            self.written += written;
            self.ended += ended;
            self.goes_on = result != ReadRecordResult::Record;
        }
        if self.goes_on {
            return Whole::No;
        }
        let mut start = 0;
        for &end in self.ends.iter().take(self.ended) {
            self.ranges.push(start..end);
            start = end;
        }
        Whole::Yes
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The cell with this number, without blanks and quotes around it; empty if there is none. `line` is the line that was
    /// divided.
    pub(super) fn cell<'a>(&'a self, line: &'a [u8], number: usize) -> &'a [u8] {
        let cell = self.raw(line, number).trim_ascii();
        // Quotes count at the start of a cell only, and some write blanks before them.
        cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell)
    }

    /// The same with the blanks.
    pub(super) fn raw<'a>(&'a self, line: &'a [u8], number: usize) -> &'a [u8] {
        let bytes = if self.is_unquoted { &self.unquoted } else { line };
        self.ranges.get(number).and_then(|range| bytes.get(range.clone())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cells(delimiter: Delimiter, line: &str) -> Option<Vec<String>> {
        let mut cells = Cells::new(delimiter);
        // Whatever was divided before leaves nothing behind.
        cells.divide(b"a,\"b\"\"\",c,\"d");
        cells.abandon();
        if cells.divide(line.as_bytes()) == Whole::No {
            return None;
        }
        let text = |number| String::from_utf8_lossy(cells.raw(line.as_bytes(), number)).into_owned();
        Some((0..cells.len()).map(text).collect())
    }

    #[test]
    fn lines_are_divided_with_and_without_quotes() {
        let comma = Delimiter::Byte(b',');
        for (line, expected) in [
            ("a,b", &["a", "b"][..]),
            ("a,,", &["a", "", ""]),
            ("", &[""]),
            ("\"a, \"\"b\"\"\",c", &["a, \"b\"", "c"]),
            ("\"\",", &["", ""]),
            ("a\"b,c\"", &["a\"b", "c\""]),
            (" a , b ", &[" a ", " b "]),
        ] {
            assert_eq!(cells(comma, line).unwrap(), expected, "{line:?}");
        }
        assert_eq!(cells(comma, "a,\"b"), None);
        assert_eq!(cells(comma, "\""), None);
        assert_eq!(cells(Delimiter::Byte(b'\t'), "a\t\"b\tc\"\t").unwrap(), ["a", "b\tc", ""]);
        assert_eq!(cells(Delimiter::Blanks, "  a \t b  ").unwrap(), ["a", "b"]);
        assert_eq!(cells(Delimiter::Blanks, " ").unwrap(), [""; 0]);
    }

    #[test]
    fn a_cell_may_go_over_several_lines() {
        let mut cells = Cells::new(Delimiter::Byte(b','));
        assert_eq!(cells.divide(b"a,\"b"), Whole::No);
        assert_eq!(cells.divide(b""), Whole::No);
        assert!(cells.go_on() && cells.begun() < 10);
        assert_eq!(cells.divide(b"c,\"\"d\",e"), Whole::Yes);
        assert_eq!([cells.cell(b"", 0), cells.cell(b"", 1), cells.cell(b"", 2)], [&b"a"[..], b"b\n\nc,\"d", b"e"]);
        assert_eq!(cells.divide(b"f"), Whole::Yes);
        assert_eq!(cells.cell(b"f", 0), b"f");
    }

    proptest! {
        #[test]
        fn what_the_csv_crate_writes_is_read(row in proptest::collection::vec("[a\", \u{E9}]{0,6}", 1..6)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(&row).unwrap();
            let bytes = writer.into_inner().unwrap();
            let line = std::str::from_utf8(&bytes).unwrap().trim_end_matches('\n');
            prop_assert_eq!(cells(Delimiter::Byte(b','), line), Some(row));
        }
    }
}
