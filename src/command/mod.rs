//! The subcommands, one file each.

use std::process::ExitCode;

use crate::cli::{Args, Command};
use crate::error::Error;

mod farm;
mod fields;
mod scan;
mod summary;

/// Does what was typed.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    match args.command {
        Command::Scan(args) => scan::run(args),
        Command::Farm(args) => farm::run(args),
        Command::Fields => fields::run(),
    }
}
