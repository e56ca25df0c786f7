//! Words for protocols.

use crate::error::Error;
use crate::protocol::{self, AnyProtocol};

/// The word for whatever protocol a server speaks.
pub(crate) const AUTO: &str = "auto";

/// The protocol that is spoken by default.
#[must_use]
pub(crate) fn usual_protocol() -> AnyProtocol {
    protocol::by_name(USUAL).expect("it is in the registry")
}

/// The protocol `name` of those that ask servers themselves.
pub(crate) fn server_protocol(name: &str) -> Result<AnyProtocol, String> {
    let Some(protocol) = protocol::by_name(name) else {
        let known: Vec<_> = protocol::of_servers().map(|protocol| protocol.spec().name).collect();
        return Err(format!("there is no protocol {name:?}: expected one of {}", known.join(", ")));
    };
    no_list(protocol)
}

/// The protocol that `--protocol` names, of those that ask servers themselves.
pub(super) fn chosen(protocol: AnyProtocol) -> Result<AnyProtocol, Error> {
    no_list(protocol).map_err(|reason| Error::usage(format!("--protocol: {reason}")))
}

fn no_list(protocol: AnyProtocol) -> Result<AnyProtocol, String> {
    if protocol.lists().is_none() {
        return Ok(protocol);
    }
    let name = protocol.spec().name;
    let url = format!("{name}://HOST:PORT");
    Err(format!(
        "{name} is a kind of list: `fragscan list {url}` prints its servers, `fragscan scan --from {url}` asks them"
    ))
}

const USUAL: &str = "a2s";
