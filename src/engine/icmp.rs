//! ICMP errors, as far as the engine tells them apart.

/// An ICMP error that names a datagram of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Icmp {
    /// The host is there and the port is closed.
    PortUnreachable,
    /// The host cannot be reached.
    HostUnreachable,
    /// The network cannot be reached.
    NetUnreachable,
    /// A filter forbids it.
    Prohibited,
    /// Any other error.
    Other,
}

impl Icmp {
    /// The word that stands in the `icmp` column.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PortUnreachable => "port_unreachable",
            Self::HostUnreachable => "host_unreachable",
            Self::NetUnreachable => "net_unreachable",
            Self::Prohibited => "prohibited",
            Self::Other => "other",
        }
    }
}
