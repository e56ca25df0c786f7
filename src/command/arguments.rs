//! The command line, with the arguments that files hold in the place of `@FILE`.

use std::env;
use std::ffi::OsString;

use argfile::Argument;

use crate::error::Error;

/// The arguments as they were typed, the program's name first. A file has one a line; blank lines and those that begin with
/// `#` are left out, and an `@` in a file means nothing.
pub(super) fn arguments() -> Result<Vec<OsString>, Error> {
    let of_file = |text: &str, _| {
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        lines.map(|line| Argument::PassThrough(line.into())).collect()
    };
    // The error names the file.
    argfile::expand_args_from(env::args_os(), of_file, argfile::PREFIX)
        .map_err(|error| Error::usage(format!("{error}; @FILE stands for arguments that a file holds, one a line")))
}
