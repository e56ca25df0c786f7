//! The subcommands, one file each.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Args, Command};
use crate::error::Error;
use crate::output::OutputError;
use crate::output::table::harmless;

mod account;
mod arguments;
mod bench;
mod decode;
mod doctor;
mod farm;
mod fields;
mod games;
mod list;
mod manual;
mod progress;
mod protocols;
mod query;
mod scan;
mod signals;
mod summary;

use arguments::arguments;

/// The program: parses the command line, runs the command, and returns the exit code.
#[must_use]
pub fn program() -> ExitCode {
    match arguments().and_then(|typed| run(Args::parse_from(&typed), &typed)) {
        Ok(code) => code,
        Err(error) => {
            say(&format_args!("fragscan: {error}"));
            error.exit_code()
        }
    }
}

/// Does what was `typed`.
fn run(args: Args, typed: &[OsString]) -> Result<ExitCode, Error> {
    match args.command {
        Command::Scan(args) => scan::run(args, typed),
        Command::List(args) => list::run(args, typed),
        Command::Query(args) => query::run(args),
        Command::Decode(args) => decode::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Farm(args) => farm::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Fields(args) => fields::run(&args),
        Command::Games(args) => games::run(args),
        Command::Protocols => protocols::run(),
        Command::Completions(args) => manual::completions(&args),
        Command::Man => manual::man(),
    }
}

/// Prints a line for the user on standard error. Nobody has to be there to read it.
fn say(line: &dyn fmt::Display) {
    // Names of files, and what servers said, may hold what a terminal would obey.
    let text: Vec<String> = line.to_string().split('\n').map(harmless).collect();
    let _ = writeln!(io::stderr(), "{}", text.join("\n"));
}

/// Prints to standard output. A reader that has seen enough is no error.
fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<ExitCode, Error> {
    let mut out = BufWriter::with_capacity(ENOUGH, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(OutputError { operation: "writing to", name: "standard output".into(), source }.into())
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Bytes that are worth a write.
const ENOUGH: usize = 64 << 10;

/// Prints rows as columns, each as wide as its widest cell but for the last one.
fn columns<const N: usize>(out: &mut dyn Write, rows: impl IntoIterator<Item = [String; N]>) -> io::Result<()> {
    let rows: Vec<_> = rows.into_iter().collect();
    let widths: [usize; N] =
        std::array::from_fn(|place| rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        let line: Vec<_> = padded.collect();
        writeln!(out, "{}", line.join("  ").trim_end())?;
    }
    Ok(())
}
