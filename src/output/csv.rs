//! CSV: a header, then one line a record, quoted where it must be.

use csv::{Terminator, Writer, WriterBuilder};

use super::{RowFormat, value};
use crate::record::{Column, ServerRecord};

/// Writes CSV into memory.
pub struct Csv {
    columns: Vec<&'static Column>,
    writer: Writer<Vec<u8>>,
    cell: Vec<u8>,
    /// Bytes that were added, about: the writer does not count quotes.
    length: usize,
}

impl Csv {
    /// The header of `columns` and no row.
    #[must_use]
    pub fn new(columns: &[&'static Column]) -> Self {
        let mut writer = new_writer(Vec::new());
        writer.write_record(columns.iter().map(|column| column.name)).expect(IN_MEMORY);
        Self { columns: columns.to_vec(), writer, cell: Vec::new(), length: 1 }
    }
}

impl RowFormat for Csv {
    fn row(&mut self, record: &ServerRecord) {
        for column in &self.columns {
            self.cell.clear();
            value::put(&(column.value)(record), &mut self.cell);
            self.writer.write_field(&self.cell).expect(IN_MEMORY);
            self.length += self.cell.len() + 1;
        }
        self.writer.write_record(None::<&[u8]>).expect(IN_MEMORY);
    }

    fn len(&self) -> usize {
        self.length
    }

    fn take(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        let next = new_writer(std::mem::take(buffer));
        *buffer = std::mem::replace(&mut self.writer, next)
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)
            .expect(IN_MEMORY);
        self.length = 0;
    }
}

/// A first cell that begins with `#` is quoted, or a reader of lists would take it for a comment.
fn new_writer(buffer: Vec<u8>) -> Writer<Vec<u8>> {
    WriterBuilder::new()
        .terminator(Terminator::Any(b'\n'))
        .comment(Some(b'#'))
        .buffer_capacity(CAPACITY)
        .from_writer(buffer)
}

const IN_MEMORY: &str = "writing to memory does not fail";
/// Bytes that the writer holds before it appends them to the buffer.
const CAPACITY: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{COLUMNS, all_columns};

    #[test]
    fn rows_are_read_back_by_a_csv_reader_whatever_the_names() {
        let names: [&[u8]; 7] =
            [b"plain", b"quote \" comma , semicolon ;", b"line\r\nbreak", b"nul\0", b"\xFFlatin\xE9", b"", b" space "];
        let mut csv = Csv::new(&all_columns());
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
        let mut csv = Csv::new(&all_columns());
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
