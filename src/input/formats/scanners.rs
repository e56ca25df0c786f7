//! Lines of port scanners: masscan's list, and what nmap and masscan write for grep.
//!
//! ```text
//! open udp 27015 192.0.2.1 1700000000                                   masscan -oL
//! banner udp 27015 192.0.2.1 1700000000 unknown …
//! Host: 192.0.2.1 (name)⇥Ports: 27015/open/udp//halflife///, 27016/closed/udp/////⇥Ignored State: …     nmap -oG
//! Timestamp: 1700000000⇥Host: 192.0.2.1 ()⇥Ports: 27015/open/udp//unknown//                             masscan -oG
//! ```
//!
//! (⇥ is a tab.) Of an item of `Ports:` only number, state and transport count: the version may have commas in it.

use super::row::put;
use super::{Context, Entry};
use crate::error::Error;

/// Takes what one line says.
pub(super) type TakeOne<'t> = dyn FnMut(Result<Entry<'_>, String>) -> Result<(), Error> + 't;

/// Reads a line, if it is a scanner's; false if it is not.
pub(super) fn read(
    line: &str,
    context: &Context<'_>,
    text: &mut String,
    take: &mut TakeOne<'_>,
) -> Result<bool, Error> {
    if let Some((host, line)) = grepable(line) {
        for (port, state, transport) in ports(line) {
            take(Ok(entry(host, port, (transport, state), context, text)))?;
        }
        return Ok(true);
    }
    let mut words = line.split_ascii_whitespace();
    let mut word = || words.next().unwrap_or_default();
    let (state, transport, port, host) = (word(), word(), word(), word());
    if !TRANSPORTS.contains(&transport) || !matches!(state, "open" | "closed" | "banner") {
        return Ok(false);
    }
    // A banner has a line of its own that says that the port is open.
    if state != "banner" {
        let said = if host.is_empty() {
            Err("expected a line as masscan -oL writes it: open udp PORT IP TIME".into())
        } else {
            Ok(entry(host, port, (transport, state), context, text))
        };
        take(said)?;
    }
    Ok(true)
}

fn entry<'t>(
    host: &str,
    port: &str,
    (transport, state): (&str, &str),
    context: &Context<'_>,
    text: &'t mut String,
) -> Entry<'t> {
    if !context.takes(transport, state) {
        return Entry::PassedOver;
    }
    text.clear();
    put(text, None, host, Some(port));
    Entry::Target(text)
}

/// The host of a line that is for grep, and the line.
fn grepable(line: &str) -> Option<(&str, &str)> {
    let line = match line.strip_prefix("Timestamp: ") {
        Some(rest) => rest.split_once('\t')?.1,
        None => line,
    };
    let host = line.strip_prefix("Host: ")?.split([' ', '\t']).next()?;
    Some((host, line))
}

/// Number, state and transport of each port of such a line.
fn ports(line: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let fields = line.split('\t').filter_map(|field| field.strip_prefix("Ports: "));
    fields.flat_map(|ports| ports.split(',')).filter_map(|item| {
        let mut parts = item.trim_start().split('/');
        let (port, state, transport) = (parts.next()?, parts.next()?, parts.next()?);
        let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        (is_port && TRANSPORTS.contains(&transport)).then_some((port, state, transport))
    })
}

const TRANSPORTS: [&str; 4] = ["udp", "tcp", "sctp", "ip"];
