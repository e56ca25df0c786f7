//! `fragscan list`: the servers of lists, without asking them.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use super::scan;
use super::summary::Manner;
use crate::cli::ListArgs;
use crate::config;
use crate::error::Error;

/// Asks the lists and prints what they name, each server once.
pub(super) fn run(args: ListArgs, typed: &[OsString]) -> Result<ExitCode, Error> {
    scan::asking(config::list(args, io::stdout().is_terminal())?, typed, Manner::List)
}
