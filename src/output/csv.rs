//! CSV: a header, then one line a record, quoted where it must be.
//!
//! Lines are put together by hand, because the writer thread has less than a microsecond for each; the csv crate is the
//! oracle of the tests.

use super::RowFormat;
use super::value::Printer;
use crate::record::{Column, ServerRecord, Value};

/// Writes CSV into memory.
pub(crate) struct Csv {
    columns: Vec<&'static Column>,
    lines: Vec<u8>,
    printer: Printer,
}

impl Csv {
    /// The header of `columns` and no row.
    #[must_use]
    pub(crate) fn new(columns: &[&'static Column]) -> Self {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let header = names.join(",") + "\n";
        Self { columns: columns.to_vec(), lines: header.into_bytes(), printer: Printer::default() }
    }
}

impl RowFormat for Csv {
    fn row(&mut self, record: &ServerRecord) {
        let start = self.lines.len();
        for column in &self.columns {
            let cell = self.lines.len();
            // Looked at where it lies: moving it costs more than writing most cells.
            let value = (column.value)(record);
            self.printer.put(&value, &mut self.lines);
            let may_need_quotes = match &value {
                Value::Text(text) => !text.is_plain(),
                Value::Label(_) | Value::Byte(_) => true,
                // Numbers, times and our own words never do.
                _ => false,
            };
            if may_need_quotes {
                quote_if_needed(&mut self.lines, cell);
            }
            self.lines.push(b',');
        }
        self.lines.pop(); // the comma behind the last cell
        if self.lines.len() == start {
            // An empty line would be no row.
            self.lines.extend_from_slice(b"\"\"");
        }
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

/// Puts the cell that begins at `start` and ends with `lines` in quotes, if it holds something that needs them.
fn quote_if_needed(lines: &mut Vec<u8>, start: usize) {
    let (mut needed, mut quotes) = (false, 0);
    for byte in &lines[start..] {
        needed |= NEEDS_QUOTES[usize::from(*byte)];
        quotes += usize::from(*byte == b'"');
    }
    if !needed {
        return;
    }
    let end = lines.len();
    lines.resize(end + quotes + 2, b'"');
    // From the end on, where there is room; a quote inside is written twice.
    let (mut from, mut to) = (end, end + quotes + 1);
    while to > from + 1 {
        from -= 1;
        to -= 1;
        lines[to] = lines[from];
        if lines[from] == b'"' {
            to -= 1;
            lines[to] = b'"';
        }
    }
    lines.copy_within(start..from, start + 1);
    lines[start] = b'"';
}

/// Bytes that must stand in quotes. At the start of a line `#` would begin a comment to readers of lists.
const NEEDS_QUOTES: [bool; 256] = {
    let mut needs = [false; 256];
    let mut bytes: &[u8] = b"\",\n\r#";
    while let Some((byte, rest)) = bytes.split_first() {
        needs[*byte as usize] = true;
        bytes = rest;
    }
    needs
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{COLUMNS, Selection, Text, column};

    /// The same rows as the csv crate writes them.
    fn oracle(columns: &[&'static Column], records: &[ServerRecord]) -> Vec<u8> {
        let mut writer = ::csv::WriterBuilder::new()
            .terminator(::csv::Terminator::Any(b'\n'))
            .comment(Some(b'#'))
            .from_writer(Vec::new());
        writer.write_record(columns.iter().map(|column| column.name)).unwrap();
        let mut cell = Vec::new();
        for record in records {
            for column in columns {
                cell.clear();
                Printer::default().put(&(column.value)(record), &mut cell);
                writer.write_field(&cell).unwrap();
            }
            writer.write_record(None::<&[u8]>).unwrap();
        }
        writer.into_inner().unwrap()
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_csv_crate(
            texts in prop::collection::vec("[ -~\"#,ä\\n\\r\\x00]{0,12}", 1..9),
            only_one in any::<bool>(),
        ) {
            let records: Vec<ServerRecord> = texts
                .windows(2)
                .map(|texts| {
                    let mut record = ServerRecord::new();
                    let set = |field: &mut Text, text: &str| field.set(text.as_bytes());
                    record.flags |= set(&mut record.name, &texts[0]);
                    record.flags |= set(&mut record.keywords, &texts[1]);
                    record.target = Some(texts[0].as_str().into());
                    record
                })
                .collect();
            let columns = if only_one { vec![column("name").unwrap()] } else { Selection::all().columns };
            let mut csv = Csv::new(&columns);
            for record in &records {
                csv.row(record);
            }
            let mut bytes = Vec::new();
            csv.take(&mut bytes);
            let expected = oracle(&columns, &records);
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), String::from_utf8(expected).unwrap());
        }
    }

    #[test]
    fn rows_are_read_back_by_a_csv_reader_whatever_the_names() {
        let names: [&[u8]; 7] =
            [b"plain", b"quote \" comma , semicolon ;", b"line\r\nbreak", b"nul\0", b"\xFFlatin\xE9", b"", b" space "];
        let mut csv = Csv::new(&Selection::all().columns);
        for name in names {
            let mut record = ServerRecord::new();
            record.flags |= record.name.set(name);
            csv.row(&record);
        }
        let mut bytes = Vec::new();
        csv.take(&mut bytes);
        assert_eq!(bytes.iter().filter(|&&b| b == b'\n').count(), names.len() + 1, "one physical line a record");
        let mut reader = ::csv::Reader::from_reader(bytes.as_slice());
        let column = reader.headers().unwrap().iter().position(|name| name == "name").unwrap();
        let read: Vec<String> = reader.records().map(|row| row.unwrap()[column].to_owned()).collect();
        assert_eq!(
            read,
            [
                "plain",
                "quote \" comma , semicolon ;",
                "line\u{240D}\u{240A}break",
                "nul\u{2400}",
                "\u{FFFD}latin\u{FFFD}",
                "",
                " space "
            ]
        );
    }

    #[test]
    fn the_header_comes_once_and_taking_leaves_nothing() {
        let mut csv = Csv::new(&Selection::all().columns);
        let mut all = Vec::new();
        for _ in 0..3 {
            assert_eq!(csv.is_empty(), !all.is_empty(), "the header waits from the start");
            csv.row(&ServerRecord::new());
            let mut taken = Vec::new();
            csv.take(&mut taken);
            assert!(taken.ends_with(b"\n") && csv.is_empty());
            all.extend(taken);
        }
        let mut reader = ::csv::Reader::from_reader(all.as_slice());
        assert_eq!(reader.headers().unwrap().len(), COLUMNS.len());
        assert_eq!(reader.records().count(), 3);
    }
}
