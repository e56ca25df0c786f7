//! Recorded servers that answer once more: each with the datagrams that it once sent, to the query that they answer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use super::{FIRST, Servers};
use crate::protocol::{AnyProtocol, Replies};

/// A server as it was recorded.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What it is called: usually the file.
    pub name: String,
    /// What it speaks.
    pub protocol: AnyProtocol,
    /// What it sent, in order of arrival.
    pub replies: Vec<Vec<u8>>,
}

/// Recorded servers at 127.0.0.2 and on, all on one port.
#[derive(Debug, Clone)]
pub struct ReplayFarm {
    servers: Arc<[Recorded]>,
    port: u16,
}

impl ReplayFarm {
    /// `servers`, in their order, on `port`.
    #[must_use]
    pub fn new(servers: Vec<Recorded>, port: u16) -> Self {
        Self { servers: servers.into(), port }
    }

    /// The servers and where they are to be asked.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (SocketAddr, &Recorded)> {
        let at = |index| SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(FIRST.to_bits() + index as u32)), self.port);
        self.servers.iter().enumerate().map(move |(index, server)| (at(index), server))
    }
}

impl Servers for ReplayFarm {
    fn answer(&self, ip: Ipv4Addr, _client: SocketAddr, request: &[u8], replies: &mut Replies) {
        let index = ip.to_bits().checked_sub(FIRST.to_bits());
        let Some(server) = index.and_then(|index| self.servers.get(index as usize)) else { return };
        let recorded: Vec<&[u8]> = server.replies.iter().map(Vec::as_slice).collect();
        server.protocol.replay(request, &recorded, replies);
    }
}
