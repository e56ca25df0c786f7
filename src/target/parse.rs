//! Text to target: `[PROTOCOL://]HOST[:PORT[-PORT][,PORT…]]`.
//!
//! ```text
//! 192.0.2.7:27015     10.0.0.0/24:27015-27030,28000     10.0.0.1-10.0.0.9     play.example.com:25565
//! [2001:db8::1]:27015     2001:db8::1     [2001:db8::]/120:27015     [2001:db8::1]-[2001:db8::9]     farm:500?loss=5
//! [fe80::1%eth0]:27015    fe80::1%eth0
//! ```
//!
//! Only the form is decided here: which protocols exist, what a name resolves to and what the farm's parameters mean
//! is known to others. An IPv4-mapped IPv6 address is the IPv4 address. What looks like an IPv4 address and is none is
//! a mistake, never a name: a resolver would read `10.1` as 10.0.0.1 and `010.0.0.1` as 8.0.0.1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::ip_range::IpRange;
use super::parse_error::{ParseError, excerpt};
use super::ports::Ports;

/// One target as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetSpec<'a> {
    /// What stands before `://`, not yet known to be a protocol.
    pub scheme: Option<&'a str>,
    /// Which hosts are meant.
    pub hosts: Hosts<'a>,
    /// The ports, when some were written; never an empty set.
    pub ports: Option<Ports>,
}

/// The hosts of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hosts<'a> {
    /// An address, a range or a block.
    Range(IpRange),
    /// A link-local IPv6 address on the network of one interface (RFC 4007): `fe80::1%eth0`.
    Zoned {
        /// The address.
        ip: Ipv6Addr,
        /// The interface, by name or number.
        zone: &'a str,
    },
    /// Simulated servers inside the process.
    Farm {
        /// How many, 1 to 16,777,213: one for each address from 127.0.0.2 to 127.255.255.254.
        servers: u32,
        /// `key=value&key=value`, or empty.
        parameters: &'a str,
    },
    /// A DNS name that could exist, as it was written.
    Name(&'a str),
}

impl<'a> TargetSpec<'a> {
    /// Reads a target; IPv6 blocks and ranges may hold 2^24 addresses.
    pub(crate) fn parse(text: &'a str) -> Result<Self, ParseError> {
        Self::parse_with(text, MOST_IPV6_ADDRESSES)
    }

    /// Reads what is to be excluded: the same, but for IPv6 blocks and ranges of any size.
    pub(crate) fn parse_exclusion(text: &'a str) -> Result<Self, ParseError> {
        Self::parse_with(text, u128::MAX)
    }

    fn parse_with(text: &'a str, most: u128) -> Result<Self, ParseError> {
        let (scheme, rest) = match text.split_once("://") {
            Some((word, rest)) => (Some(scheme(word)?), rest),
            None => (None, text),
        };
        if let Some(rest) = rest.strip_prefix("farm:") {
            return Ok(Self { scheme, hosts: farm(rest)?, ports: None });
        }
        let (host, ports) = split_ports(rest);
        if host.is_empty() {
            return Err(ParseError::Empty);
        }
        let ports = match ports {
            Some("") => return Err(ParseError::MissingPort(excerpt(rest))),
            ports => ports.map(str::parse).transpose()?,
        };
        Ok(Self { scheme, hosts: hosts(host, most)?, ports })
    }
}

fn scheme(word: &str) -> Result<&str, ParseError> {
    let fits = word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte));
    if fits { Ok(word) } else { Err(ParseError::Scheme(excerpt(word))) }
}

fn farm(text: &str) -> Result<Hosts<'_>, ParseError> {
    let (count, parameters) = text.split_once('?').unwrap_or((text, ""));
    let servers = Some(count)
        .filter(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|count| count.parse().ok())
        .filter(|servers| *servers > 0)
        .ok_or_else(|| ParseError::FarmServers(excerpt(count)))?;
    let is_pair = |pair: &str| pair.split_once('=').is_some_and(|(key, _)| !key.is_empty());
    match parameters.split('&').find(|pair| !is_pair(pair)) {
        Some(pair) if !parameters.is_empty() => Err(ParseError::FarmParameter(excerpt(pair))),
        _ => Ok(Hosts::Farm { servers, parameters }),
    }
}

/// Cuts the ports off: after the closing bracket, or at the only colon (two or more make it an IPv6 address).
fn split_ports(text: &str) -> (&str, Option<&str>) {
    let from = if text.starts_with('[') { text.rfind(']').unwrap_or(0) } else { 0 };
    let mut colons = text.match_indices(':').skip_while(|(at, _)| *at < from);
    match (colons.next(), colons.next()) {
        (Some((at, _)), None) => (text.split_at(at).0, text.get(at + 1..)),
        _ => (text, None),
    }
}

fn hosts(host: &str, most: u128) -> Result<Hosts<'_>, ParseError> {
    if host.contains('%') && host.contains(':') {
        return zoned(host);
    }
    if let Some(inside) = host.strip_prefix('[') {
        return bracketed(host, inside, most).map(Hosts::Range);
    }
    if host.contains(':') {
        return ipv6_hosts(host, most).map(Hosts::Range);
    }
    if let Some((ip, length)) = host.split_once('/') {
        return block(IpAddr::V4(ipv4(ip)?), length, most).map(Hosts::Range);
    }
    if let Some((first, last)) = host.split_once('-')
        && is_dotted(first)
        && first.contains('.')
        && is_dotted(last)
    {
        return range(IpAddr::V4(ipv4(first)?), IpAddr::V4(ipv4(last)?), most).map(Hosts::Range);
    }
    if ends_in_a_number(host) {
        return ipv4(host).map(|ip| Hosts::Range(IpAddr::V4(ip).into()));
    }
    name(host).map(Hosts::Name)
}

fn bracketed(host: &str, inside: &str, most: u128) -> Result<IpRange, ParseError> {
    let refuse = || ParseError::Brackets(excerpt(host));
    let (inside, behind) = inside.split_once(']').ok_or_else(refuse)?;
    if behind.is_empty() {
        ipv6_hosts(inside, most)
    } else if let Some(length) = behind.strip_prefix('/') {
        block(ipv6(inside)?, length, most)
    } else {
        let last = behind.strip_prefix("-[").and_then(|last| last.strip_suffix(']')).ok_or_else(refuse)?;
        range(ipv6(inside)?, ipv6(last)?, most)
    }
}

fn zoned(host: &str) -> Result<Hosts<'_>, ParseError> {
    let inside = host.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')).unwrap_or(host);
    let refuse = || ParseError::Zone(excerpt(host));
    let (ip, zone) = inside.split_once('%').ok_or_else(refuse)?;
    let ip: Ipv6Addr = ip.parse().map_err(|_| refuse())?;
    // What else Linux allows in the name of an interface cannot be told from the rest of a target.
    let fits = !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._@".contains(&byte));
    if ip.is_unicast_link_local() && fits { Ok(Hosts::Zoned { ip, zone }) } else { Err(refuse()) }
}

fn ipv6_hosts(text: &str, most: u128) -> Result<IpRange, ParseError> {
    if let Some((ip, length)) = text.split_once('/') {
        block(ipv6(ip)?, length, most)
    } else if let Some((first, last)) = text.split_once('-') {
        range(ipv6(first)?, ipv6(last)?, most)
    } else {
        ipv6(text).map(IpRange::from)
    }
}

fn block(ip: IpAddr, length: &str, most: u128) -> Result<IpRange, ParseError> {
    let refuse = || ParseError::Prefix { ip, length: excerpt(length), most: if ip.is_ipv4() { 32 } else { 128 } };
    let digits = Some(length).filter(|length| length.bytes().all(|byte| byte.is_ascii_digit()));
    let bits = digits.and_then(|length| length.parse().ok()).ok_or_else(refuse)?;
    let net = IpNet::new(ip, bits).map_err(|_| refuse())?;
    let hosts = IpRange::from(net);
    match net {
        IpNet::V6(net) if !hosts.is_ipv4() && hosts.count() > most => {
            Err(ParseError::BlockTooLarge { block: net.to_string().into(), bits: 128 - net.prefix_len() })
        }
        _ => Ok(hosts),
    }
}

fn range(first: IpAddr, last: IpAddr, most: u128) -> Result<IpRange, ParseError> {
    let (first, last) = (first.to_canonical(), last.to_canonical());
    match IpRange::new(first, last) {
        Some(hosts) if !hosts.is_ipv4() && hosts.count() > most => {
            Err(ParseError::RangeTooLarge { range: hosts.to_string().into(), count: hosts.count() })
        }
        Some(hosts) => Ok(hosts),
        None if first.is_ipv4() != last.is_ipv4() => Err(ParseError::RangeMixed { first, last }),
        None => Err(ParseError::RangeBackwards { first, last }),
    }
}

fn ipv4(word: &str) -> Result<Ipv4Addr, ParseError> {
    word.parse().map_err(|_| {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let expected = if !word.split('.').all(digits) || word.split('.').count() != 4 {
            "write four numbers from 0 to 255 with dots between them"
        } else if word.split('.').any(|part| part.len() > 1 && part.starts_with('0')) {
            "leading zeros are read as octal by some and as decimal by others, leave them out"
        } else {
            "each part is 0 to 255"
        };
        ParseError::Ipv4 { word: excerpt(word), expected }
    })
}

fn ipv6(word: &str) -> Result<IpAddr, ParseError> {
    word.parse::<Ipv6Addr>().map(IpAddr::V6).map_err(|_| ParseError::Ipv6(excerpt(word)))
}

fn is_dotted(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Whether resolvers would take the word for an IPv4 address: its last label is a number, decimal or hexadecimal.
fn ends_in_a_number(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or(host);
    let hexadecimal = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    digits(last) || hexadecimal.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn name(host: &str) -> Result<&str, ParseError> {
    let refuse = |expected| Err(ParseError::Name { word: excerpt(host), expected });
    let labels = host.strip_suffix('.').unwrap_or(host);
    if !host.is_ascii() {
        return refuse("write an international name in its ASCII form, xn--…");
    }
    if labels.len() > 253 {
        return refuse("a name has at most 253 characters");
    }
    for label in labels.split('.') {
        if label.is_empty() || label.len() > 63 {
            return refuse("between two dots there are 1 to 63 characters");
        }
        if !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return refuse("a name is made of letters, digits, hyphens and dots");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return refuse("no part begins or ends with a hyphen");
        }
        if !label.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
            return refuse("each part has a letter or a digit");
        }
    }
    Ok(host)
}

/// IPv6 blocks past this are mistakes: even at a million targets a second, a /64 takes half a million years.
const MOST_IPV6_ADDRESSES: u128 = 1 << 24;

#[cfg(test)]
mod tests;
