//! `fragscan fields`: the columns of every output.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::error::Error;
use crate::output::OutputError;
use crate::record::{COLUMNS, Flags};

/// Prints name, type, unit and meaning of each column, and the words of the `flags` column.
pub(super) fn run() -> Result<ExitCode, Error> {
    match print(&mut io::stdout().lock()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(OutputError { operation: "writing to", name: "standard output".into(), source }.into())
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn print(out: &mut impl Write) -> io::Result<()> {
    let name_width = COLUMNS.iter().map(|column| column.name.len()).max().unwrap_or(0);
    for column in COLUMNS {
        let kind = column.kind.as_str();
        writeln!(out, "{:name_width$}  {kind:9}  {:9}  {}", column.name, column.unit, column.meaning)?;
    }
    writeln!(out, "\nWords of the flags column:")?;
    for (_, word, meaning) in Flags::ALL {
        writeln!(out, "{word:name_width$}  {meaning}")?;
    }
    out.flush()
}
