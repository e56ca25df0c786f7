//! List servers of a farm: each protocol of lists has one, and all of them list the servers of the farm.

use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

use super::{Farm, Servers};
use crate::protocol::{self, AnyProtocol, Replies, Roll, Style};

/// List servers, by the numbers of their ports after the first one.
#[derive(Debug, Clone)]
pub(crate) struct Masters {
    /// Which kinds there are, and what each lists; the number of a kind is its place in the registry.
    kinds: Arc<[(AnyProtocol, Vec<SocketAddrV4>)]>,
    style: Style,
}

impl Masters {
    /// Those of `kinds`, each of which lists the servers of `farm` that speak what it is a list of.
    #[must_use]
    pub(crate) fn new(kinds: &[AnyProtocol], style: Style, farm: &Farm) -> Self {
        let listed = |kind: AnyProtocol| {
            let speaks = |spoken: AnyProtocol| kind.lists().is_some_and(|listed| spoken.is_called(listed));
            let indices = (0..farm.len()).filter(|index| farm.protocol(*index).is_none_or(speaks));
            let mut servers: Vec<_> = indices
                .filter_map(|index| match farm.address(index) {
                    SocketAddr::V4(address) => Some(address),
                    SocketAddr::V6(_) => None,
                })
                .collect();
            servers.sort_unstable();
            (kind, servers)
        };
        Self { kinds: kinds.iter().copied().map(listed).collect(), style }
    }

    /// Those that there are, with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, AnyProtocol)> {
        let has = |kind| self.kinds.iter().any(|(known, _)| *known == kind);
        (0_u32..).zip(protocol::of_lists()).filter(move |(_, kind)| has(*kind))
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
        let asked = protocol::of_lists().nth(index as usize);
        if let Some((kind, servers)) = self.kinds.iter().find(|(kind, _)| Some(*kind) == asked) {
            kind.serve_list(&Roll { servers, style: self.style }, request, replies);
        }
    }
}
