//! Simulated servers for a program that has targets of its own.

use std::fmt;
use std::net::SocketAddr;

use super::scan::start_farm;
use crate::config::farm_target;
use crate::error::Error;
use crate::farm::serve::Serving;
use crate::target::{Hosts, TargetSpec};

/// Simulated servers on loopback that answer until this is dropped. A scan whose options name `farm:N` starts its own.
pub struct Farm(Serving);

impl Farm {
    /// Starts the servers that `text` describes, as targets do: `farm:200`, or `farm:200?loss=5%&silent=10%`. Unless it
    /// says otherwise, each of them answers every protocol.
    pub fn start(text: &str) -> Result<Self, Error> {
        match TargetSpec::parse(text) {
            Ok(TargetSpec { hosts: Hosts::Farm { servers, parameters }, .. }) => {
                Ok(Self(start_farm(farm_target(servers, parameters)?)?))
            }
            Ok(_) => Err(Error::usage(format!("{text:?} is not a farm: write farm:N, as in farm:200"))),
            Err(error) => Err(Error::usage(format!("{text:?}: {error}"))),
        }
    }

    /// Their addresses.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let farm = self.0.servers();
        (0..farm.len()).map(|index| farm.address(index))
    }
}

impl fmt::Debug for Farm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Farm").field(self.0.servers()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::farm::Servers;

    #[test]
    fn servers_are_described_as_in_a_target() {
        let farm = Farm::start("farm:3?refused=100%").unwrap();
        assert_eq!(farm.addresses().count(), 3);
        assert!(farm.0.servers().is_refused(2));
        let refused = |text| Farm::start(text).map(|_| ()).unwrap_err().to_string();
        assert!(refused("127.0.0.1").contains("write farm:N"));
        assert!(refused("farm:none").starts_with("\"farm:none\": "));
        assert!(refused("farm:3?loss=x").contains("loss"));
    }
}
