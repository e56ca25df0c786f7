//! Options of sockets, as plain data.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Where datagrams are sent from. [`Default`] leaves everything to the system; set the fields that you want to change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Local {
    /// The address of the IPv4 socket; any, if there is none.
    pub ipv4: Option<Ipv4Addr>,
    /// The address of the IPv6 socket; any, if there is none.
    pub ipv6: Option<Ipv6Addr>,
    /// Ports of which the first free one is taken; any, if there are none.
    pub ports: Option<(u16, u16)>,
    /// Network interface.
    pub interface: Option<String>,
    /// Sockets of each family; at least one is opened.
    pub sockets: usize,
    /// Bytes of the receive buffers, if not 16 MiB.
    pub receive_buffer: Option<usize>,
}

/// Which calls are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoPath {
    /// Up to 64 datagrams a call, as Linux can.
    Mmsg,
    /// One datagram a call, as every system can.
    Portable,
}

impl IoPath {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mmsg => "mmsg",
            Self::Portable => "portable",
        }
    }
}
