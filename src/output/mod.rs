//! From finished flights to rows: decoding, formats, files, and the thread that does it all.

use std::path::Path;

use crate::record::{Selection, ServerRecord};

mod assemble;
pub(crate) mod card;
mod clones;
mod csv;
mod destination;
pub(crate) mod dissection;
mod filter;
mod list_report;
pub(crate) mod metadata;
mod name_log;
mod ndjson;
mod raw;
mod readers;
mod sink;
pub(crate) mod table;
mod value;
pub(crate) mod writer;

pub use assemble::{Assembler, Epoch};
pub(crate) use clones::Clones;
pub use destination::{Destination, Leftover, OutputError};
pub(crate) use destination::{is_stdout, partial};
pub use filter::{Filter, FilterError};
pub use list_report::ListReport;
pub(crate) use list_report::count;
pub(crate) use name_log::NameLog;
pub(crate) use raw::Raw;
pub(crate) use readers::ReaderFormat;
pub use sink::{FileSink, Sink};
pub use table::{Look, harmless as printable};

/// Turns records into bytes.
pub trait RowFormat: Send {
    /// Adds a record. What precedes all records is there from the start.
    fn row(&mut self, record: &ServerRecord);

    /// Adds what follows all records; there will be no others. An output may lack it: a run that is cut short does not
    /// write it.
    fn finish(&mut self) {}

    /// The approximate number of bytes of complete records that were added and not taken; zero if there are none.
    fn len(&self) -> usize;

    /// True when there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes these bytes; `buffer` gives its capacity in return.
    fn take(&mut self, buffer: &mut Vec<u8>);
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// RFC 4180 with a header and `\n` at the end of a line.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// Columns for a person.
    Table,
}

impl Format {
    /// The format that a file's extension names.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            _ => None,
        }
    }

    /// Something that writes in it: what was chosen, or what is usual. A table has this `look`.
    #[must_use]
    pub fn writer(self, chosen: Option<&Selection>, look: Look) -> Box<dyn RowFormat> {
        let selection = || chosen.cloned().unwrap_or_else(Selection::all);
        match self {
            Self::Csv => Box::new(csv::Csv::new(&selection().columns)),
            Self::Ndjson => Box::new(ndjson::Ndjson::new(selection())),
            Self::Table => Box::new(table::Table::new(chosen.map(|chosen| &chosen.columns[..]), look)),
        }
    }
}
