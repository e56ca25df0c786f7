//! `fragscan protocols`: what can be spoken.

use std::process::ExitCode;

use super::print;
use crate::error::Error;
use crate::list::steam_api::SCHEME;
use crate::protocol;

/// Prints name, default port, other names and summary of each protocol.
pub(super) fn run() -> Result<ExitCode, Error> {
    print(|out| {
        for protocol in protocol::of_servers().chain(protocol::of_lists()) {
            let spec = protocol.spec();
            let aliases = spec.aliases.join(", ");
            writeln!(out, "{:13}  port {:5}  {}", spec.name, spec.default_port, spec.summary)?;
            if !aliases.is_empty() {
                writeln!(out, "{:13}  also called {aliases}", "")?;
            }
        }
        // It is asked over HTTPS and is none of the protocols of this program.
        writeln!(out, "{SCHEME:13}  HTTPS       Steam's list of servers, from its Web API")?;
        Ok(())
    })
}
