//! `fragscan farm`: simulated servers on loopback, until a signal.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use signal_hook::iterator::Signals;

use super::say;
use crate::cli::FarmArgs;
use crate::config;
use crate::error::Error;
use crate::farm::{Farm, serve};
use crate::net::driver::STOPPING;
use crate::net::{self, sys};
use crate::output::{Destination, OutputError};

/// Starts the servers, says where they are, and answers until Ctrl-C.
pub(super) fn run(args: FarmArgs) -> Result<ExitCode, Error> {
    let config = config::farm(args)?;
    let stopping = STOPPING.into_iter().filter(|signal| !sys::is_ignored(*signal));
    let mut signals = Signals::new(stopping).map_err(|source| net::Error::on("waiting for", "signals", source))?;
    let serving = serve::start(config.settings, Some(config.port))?;
    if let Some(path) = &config.list {
        write_list(serving.farm(), path)?;
    }
    let (first, last) = (serving.farm().address(0), serving.farm().address(serving.farm().len() - 1));
    say(&format_args!(
        "{} simulated servers at {}-{} on port {}; stop with Ctrl-C",
        serving.farm().len(),
        first.ip(),
        last.ip(),
        serving.farm().port()
    ));
    let _ = signals.forever().next();
    let served = serving.stop();
    say(&format_args!(
        "answered {} requests with {} datagrams; {} replies refused by the system, {} requests dropped by the kernel",
        served.requests, served.replies, served.send_errors, served.dropped_by_kernel
    ));
    Ok(ExitCode::SUCCESS)
}

fn write_list(farm: &Farm, path: &Path) -> Result<(), OutputError> {
    let mut list = Vec::new();
    for index in 0..farm.len() {
        // Writing to a vector cannot fail.
        let _ = writeln!(list, "{}", farm.address(index));
    }
    let mut destination = Destination::named(path)?;
    destination.write(&list)?;
    destination.commit()
}
