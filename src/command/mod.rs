//! The subcommands, one file each.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::{Args, Command};
use crate::error::Error;

mod farm;
mod fields;
mod scan;
mod summary;

/// Prints a line for the user on standard error. Nobody has to be there to read it.
pub fn say(line: &dyn fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Does what was typed.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    match args.command {
        Command::Scan(args) => scan::run(args),
        Command::Farm(args) => farm::run(args),
        Command::Fields => fields::run(),
    }
}
