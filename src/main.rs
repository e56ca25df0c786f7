//! The program, all of which is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    fragscan::program()
}
