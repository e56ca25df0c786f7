//! The program: parse, dispatch, exit code.

use std::process::ExitCode;

use clap::Parser;

use fragscan::cli::Args;
use fragscan::command;

fn main() -> ExitCode {
    match command::run(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            command::say(&format_args!("fragscan: {error}"));
            error.exit_code()
        }
    }
}
