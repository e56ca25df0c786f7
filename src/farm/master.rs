//! List servers of a farm: each protocol of lists has one, and all of them list the servers of the farm.

use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

use super::{Farm, Servers};
use crate::protocol::{self, AnyProtocol, Replies, Roll, Style};

/// List servers, by the numbers of their ports behind the first one.
#[derive(Debug, Clone)]
pub struct Masters {
    /// Which kinds there are; the number of a kind is its place in the registry.
    kinds: Arc<[AnyProtocol]>,
    servers: Arc<[SocketAddrV4]>,
    style: Style,
}

impl Masters {
    /// Those of `kinds`, all of which list the servers of `farm`.
    #[must_use]
    pub fn new(kinds: &[AnyProtocol], style: Style, farm: &Farm) -> Self {
        let addresses = (0..farm.len()).filter_map(|index| match farm.address(index) {
            SocketAddr::V4(address) => Some(address),
            SocketAddr::V6(_) => None,
        });
        let mut servers: Vec<_> = addresses.collect();
        servers.sort_unstable();
        Self { kinds: kinds.into(), servers: servers.into(), style }
    }

    /// The numbers of those that there are.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(protocol::of_lists()).filter(|(_, kind)| self.kinds.contains(kind)).map(|(number, _)| number)
    }
}

impl Servers for Masters {
    fn count(&self) -> u32 {
        protocol::of_lists().count() as u32
    }

    fn is_refused(&self, _index: u32) -> bool {
        false
    }

    fn answer(&self, index: u32, _client: SocketAddr, request: &[u8], replies: &mut Replies) {
        let roll = Roll { servers: &self.servers, style: self.style };
        if let Some(kind) = protocol::of_lists().nth(index as usize) {
            kind.serve_list(&roll, request, replies);
        }
    }
}
