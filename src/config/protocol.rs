//! Words for protocols.

use crate::protocol::{self, AnyProtocol};

/// The word for whatever protocol a server speaks.
pub const AUTO: &str = "auto";

/// The protocol that is spoken where nobody says which.
#[must_use]
pub fn usual_protocol() -> AnyProtocol {
    protocol::by_name(USUAL).expect("it is in the registry")
}

/// The protocol `name` of those that ask servers themselves.
pub fn server_protocol(name: &str) -> Result<AnyProtocol, String> {
    match protocol::by_name(name) {
        Some(list) if list.lists().is_some() => {
            let url = format!("{name}://HOST:PORT");
            Err(format!(
                "{name} is a kind of list: `fragscan list {url}` prints its servers, `fragscan scan --from {url}` asks them"
            ))
        }
        Some(protocol) => Ok(protocol),
        None => {
            let servers = protocol::of_servers().map(|protocol| protocol.spec().name);
            let known: Vec<_> = servers.collect();
            Err(format!("there is no protocol {name:?} here: known are {}", known.join(", ")))
        }
    }
}

const USUAL: &str = "a2s";
