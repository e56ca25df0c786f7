//! `fragscan fields`: the columns of every output.

use std::process::ExitCode;

use super::{columns, print};
use crate::cli::FieldsArgs;
use crate::error::Error;
use crate::output::ReaderFormat;
use crate::record::{COLUMNS, Flags, List, Status};

/// Prints name, type, unit and meaning of each column, and the words of the `flags` column; or a typed reader.
pub(super) fn run(args: &FieldsArgs) -> Result<ExitCode, Error> {
    if let Some(reader) = args.format.map(ReaderFormat::from) {
        return print(|out| out.write_all(reader.text().as_bytes()));
    }
    print(|out| {
        let width = COLUMNS.iter().map(|column| column.name.len()).max().unwrap_or(0);
        columns(
            out,
            COLUMNS
                .iter()
                .map(|column| [column.name, column.kind.as_str(), column.unit, column.meaning].map(str::to_owned)),
        )?;
        writeln!(out, "\nLists, in NDJSON only and where their query was asked:")?;
        for list in List::ALL {
            writeln!(out, "{:width$}  {}", list.as_str(), list.meaning())?;
        }
        writeln!(out, "\nWords of the status column, and of those of single queries:")?;
        for status in Status::ALL {
            writeln!(out, "{:width$}  {}", status.as_str(), status.meaning())?;
        }
        writeln!(out, "\nWords of the flags column:")?;
        for (_, word, meaning) in Flags::ALL {
            writeln!(out, "{word:width$}  {meaning}")?;
        }
        Ok(())
    })
}
