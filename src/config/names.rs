//! The arguments that say how names are looked up.

use std::net::{IpAddr, SocketAddr};

use super::options::NameOptions;
use super::value;
use crate::cli::NameArgs;
use crate::cli::choice;
use crate::dns::Family;
use crate::error::Error;

/// Reads them.
pub(super) fn names(args: &NameArgs) -> Result<NameOptions, Error> {
    let servers = args.resolver.iter().map(|text| server(text)).collect::<Result<Vec<_>, _>>()?;
    if servers.len() > MOST_SERVERS {
        return Err(Error::usage(format!("--resolver: {MOST_SERVERS} name servers are the most")));
    }
    let timeout = value::time("--dns-timeout", &args.dns_timeout)?;
    if timeout.is_zero() {
        return Err(Error::usage("--dns-timeout: expected more than nothing, as in 1s"));
    }
    let family = match args.family {
        choice::Family::Ipv4 => Family::Ipv4,
        choice::Family::Ipv6 => Family::Ipv6,
        choice::Family::Any => Family::Any,
    };
    Ok(NameOptions { servers, timeout, family, all_addresses: args.all_addresses })
}

/// A name server: an address, with a port if it is not the usual one.
fn server(text: &str) -> Result<SocketAddr, Error> {
    let with_port = text.parse::<SocketAddr>().ok();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let alone = || bare.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, DNS_PORT));
    let server = with_port.or_else(alone).filter(|server| server.port() > 0 && !server.ip().is_unspecified());
    server.ok_or_else(|| {
        Error::usage(format!(
            "--resolver: {text:?} is not an IP address: write 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53 or \
             [fe80::1%2]:53, with the number of the interface"
        ))
    })
}

const DNS_PORT: u16 = 53;
const MOST_SERVERS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_is_an_address_with_or_without_a_port() {
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:53"),
            ("192.0.2.1:5353", "192.0.2.1:5353"),
            ("2001:db8::1", "[2001:db8::1]:53"),
            ("[2001:db8::1]", "[2001:db8::1]:53"),
            ("[2001:db8::1]:5353", "[2001:db8::1]:5353"),
        ] {
            assert_eq!(server(text).unwrap(), expected.parse().unwrap());
        }
        for bad in ["dns.example", "192.0.2.1:0", "0.0.0.0", "", "192.0.2.1:x"] {
            assert!(server(bad).unwrap_err().to_string().contains("write 192.0.2.1"), "{bad}");
        }
    }
}
