//! Recorded servers that answer once more: each with the datagrams that it once sent, to the query that they answer.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Servers;
use super::site::Place;
use crate::protocol::{AnyProtocol, Replies};

/// A server as it was recorded.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// What it is called: usually the file.
    pub name: String,
    /// What it speaks.
    pub protocol: AnyProtocol,
    /// What it sent, in order of arrival.
    pub replies: Vec<Vec<u8>>,
}

/// Recorded servers at 127.0.0.2 and on, all on one port.
#[derive(Debug, Clone)]
pub(crate) struct ReplayFarm {
    servers: Arc<[Recorded]>,
    port: u16,
}

impl ReplayFarm {
    /// `servers`, in their order, on `port`.
    #[must_use]
    pub(crate) fn new(servers: Vec<Recorded>, port: u16) -> Self {
        Self { servers: servers.into(), port }
    }

    /// The servers and where they are to be asked.
    #[must_use]
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (SocketAddr, &Recorded)> {
        let at = |index| Place::LOOPBACK.address(index, self.port).into();
        (0..self.servers.len()).map(move |index| (at(index as u32), &self.servers[index]))
    }
}

impl Servers for ReplayFarm {
    fn count(&self) -> u32 {
        self.servers.len() as u32
    }

    fn is_refused(&self, _index: u32) -> bool {
        false
    }

    fn answer(&self, index: u32, _client: SocketAddr, request: &[u8], replies: &mut Replies) {
        let Some(server) = self.servers.get(index as usize) else { return };
        let recorded: Vec<&[u8]> = server.replies.iter().map(Vec::as_slice).collect();
        server.protocol.replay(request, &recorded, replies);
    }
}
