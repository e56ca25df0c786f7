//! Why a text is no target, and what to write instead.

use std::net::IpAddr;

use thiserror::Error;

/// Why a text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Nothing where the host should be.
    #[error("the host is missing: write HOST or HOST:PORT")]
    Empty,
    /// What stands before `://` can be neither a protocol nor a game.
    #[error("{0:?} is neither a protocol nor a game: write letters, digits and hyphens before ://")]
    Scheme(Box<str>),
    /// Four dotted numbers, but not an address.
    #[error("{word:?} is not an IPv4 address: {expected}")]
    Ipv4 {
        /// What was written.
        word: Box<str>,
        /// What was expected.
        expected: &'static str,
    },
    /// Colons or brackets, but not an address.
    #[error("{0:?} is not an IPv6 address: write it as in 2001:db8::1, and in brackets before a port")]
    Ipv6(Box<str>),
    /// `[` without `]`, or something else behind `]`.
    #[error("{0:?} is not an IPv6 address in brackets: write it as in [2001:db8::1]:27015")]
    Brackets(Box<str>),
    /// A `%` in what is not a link-local address with a zone.
    #[error("{0:?}: % is allowed only between a link-local IPv6 address and its interface, as in [fe80::1%eth0]:27015")]
    Zone(Box<str>),
    /// A prefix length that the family does not have.
    #[error("the prefix length {length:?} of {ip} is not in 0 to {most}")]
    Prefix {
        /// The address before the slash.
        ip: IpAddr,
        /// What follows it.
        length: Box<str>,
        /// 32 or 128.
        most: u8,
    },
    /// An IPv6 block of more than 2^24 addresses.
    #[error("the IPv6 block {block} has 2^{bits} addresses, at most 2^24 are taken: use /104 or longer")]
    BlockTooLarge {
        /// The block.
        block: Box<str>,
        /// Bits of its addresses after the prefix.
        bits: u8,
    },
    /// An IPv6 range of more than 2^24 addresses.
    #[error("the IPv6 range {range} has {count} addresses, at most 2^24 are taken")]
    RangeTooLarge {
        /// The range.
        range: Box<str>,
        /// How many addresses it has.
        count: u128,
    },
    /// The first address of a range is the higher one.
    #[error("the range {first}-{last} runs backwards: write {last}-{first}")]
    RangeBackwards {
        /// What stands before the hyphen.
        first: IpAddr,
        /// What follows it.
        last: IpAddr,
    },
    /// A range from IPv4 to IPv6 or back.
    #[error("the range {first}-{last} mixes IPv4 and IPv6: write two addresses of one family")]
    RangeMixed {
        /// What stands before the hyphen.
        first: IpAddr,
        /// What follows it.
        last: IpAddr,
    },
    /// Not a name that DNS could hold.
    #[error("{word:?} is not a host name: {expected}")]
    Name {
        /// What was written.
        word: Box<str>,
        /// What was expected.
        expected: &'static str,
    },
    /// A colon with nothing after it.
    #[error("the port is missing behind {0:?}: write HOST:PORT, or HOST alone")]
    MissingPort(Box<str>),
    /// Two commas, or a comma at an end.
    #[error("a port is missing in {0:?}: write numbers and ranges, as in 27015-27030,28000")]
    EmptyPort(Box<str>),
    /// Not a number.
    #[error("{0:?} is not a port: write numbers and ranges, as in 27015-27030,28000")]
    NotAPort(Box<str>),
    /// Port 0.
    #[error("port 0 cannot be asked: ports are 1 to 65535")]
    PortZero,
    /// A number past 65535.
    #[error("port {0} is not in 1 to 65535")]
    PortTooLarge(Box<str>),
    /// The first port of a range is the higher one.
    #[error("the port range {first}-{last} runs backwards: write {last}-{first}")]
    PortsBackwards {
        /// What stands before the hyphen.
        first: u16,
        /// What follows it.
        last: u16,
    },
    /// A farm of no servers, too many, or no number of them.
    #[error("a farm of {0:?} servers cannot be started: write farm:N with N from 1 on")]
    FarmServers(Box<str>),
    /// A farm parameter without a value.
    #[error("the farm parameter {0:?} is not key=value: write them as in farm:500?loss=5%&seed=1")]
    FarmParameter(Box<str>),
}

/// What a message quotes of the input: at most 80 characters.
pub(super) fn excerpt(word: &str) -> Box<str> {
    match word.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", word.split_at(end).0).into(),
        None => word.into(),
    }
}
