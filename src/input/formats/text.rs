//! Lines without a header: targets as they are typed, one or several, and what others write in their place.
//!
//! ```text
//! TARGET                      HOST:27015,28000 is a target, too
//! TARGET, TARGET TARGET       if each has a dot or a colon in it
//! HOST,PORT[,…]               also with ; a tab or a blank; what follows the port is not looked at
//! HOST:PORT [cdn]             naabu
//! connect HOST:PORT           steam://connect/HOST:PORT/PASSWORD
//! open udp PORT HOST TIME     and more of the kind: see `scanners`
//! ```

use std::net::IpAddr;

use super::cells::{Cells, Delimiter, Whole};
use super::columns::RECOGNIZED;
use super::row::{put, split, without_connect};
use super::scanners::{self, TakeOne};
use super::servers::{is_name, is_server, is_target};
use super::{Context, Entry, Purpose};
use crate::error::Error;
use crate::input::lines::without_comment;
use crate::target::TargetSpec;

/// Reads lines. Nothing is constructed for a line.
#[derive(Debug)]
pub(super) struct Text {
    /// For each delimiter.
    cells: [Cells; DELIMITERS.len()],
    target: String,
}

impl Text {
    pub(super) const fn new() -> Self {
        let [tab, semicolon, comma] = [b'\t', b';', b','];
        let cells = [
            Cells::new(Delimiter::Byte(tab)),
            Cells::new(Delimiter::Byte(semicolon)),
            Cells::new(Delimiter::Byte(comma)),
            Cells::new(Delimiter::Blanks),
        ];
        Self { cells, target: String::new() }
    }

    /// Reads a line.
    pub(super) fn read(&mut self, line: &[u8], context: &Context<'_>, take: &mut TakeOne<'_>) -> Result<(), Error> {
        let line = match std::str::from_utf8(line) {
            Ok(line) => line.trim_matches([' ', '\t']),
            Err(error) => {
                return take(Err(format!("the line is not UTF-8 text from byte {} on", error.valid_up_to() + 1)));
            }
        };
        // Before comments are cut off: versions may have a # in them.
        if scanners::read(line, context, &mut self.target, take)? {
            return Ok(());
        }
        let line = without_comment(line);
        let connect = without_connect(line);
        if line.is_empty() {
            return Ok(());
        }
        let place = DELIMITERS.iter().position(|delimiter| connect.contains(*delimiter));
        let Some(cells) = place.and_then(|place| self.cells.get_mut(place)) else {
            return take(Ok(Entry::Target(connect)));
        };
        if TargetSpec::parse_exclusion(connect).is_ok() {
            return take(Ok(Entry::Target(connect)));
        }
        if cells.divide(connect.as_bytes()) == Whole::No {
            cells.abandon();
            return take(Err("a quote is never closed".into()));
        }
        if let Some(target) = row(cells, connect, &mut self.target) {
            return take(Ok(Entry::Target(target)));
        }
        match several(cells, connect) {
            Some(targets) if context.purpose == Purpose::Exclude && may_be_block(&targets) => take(Err(format!(
                "if these are the ends of a block, write {}; if not, write each on a line of its own",
                targets.join("-")
            ))),
            Some(targets) => targets.iter().try_for_each(|target| take(Ok(Entry::Target(target)))),
            None => take(Err(format!(
                "this line is neither a target nor HOST,PORT, and there is no header above it: {RECOGNIZED}"
            ))),
        }
    }
}

/// Writes the target of a row of host and port to `target`; none if it is no such row.
fn row<'t>(cells: &Cells, line: &str, target: &'t mut String) -> Option<&'t str> {
    let (host, port) = (cell(cells, line, 0), cell(cells, line, 1));
    let port = port.strip_suffix(".0").unwrap_or(port);
    let may_have_more = cells.delimiter() != Delimiter::Blanks;
    let is_row = if may_have_more { port.is_empty() || is_ports(port) } else { cells.len() == 2 && is_ports(port) };
    let mut others = (2..cells.len()).map(|number| cell(cells, line, number)).filter(|cell| !cell.is_empty());
    // Whatever stands behind an empty cell may be the port, and an address with a port is the server.
    let is_unclear = others.clone().any(|cell| is_server(cell) || port.is_empty() && is_ports(cell));
    // Among other cells, a word without a dot may be anything.
    let may_be_title = !host.contains(['.', ':']) && (port.is_empty() || others.next().is_some());
    let spec = TargetSpec::parse_exclusion(host).ok()?;
    if !is_row || is_unclear || may_be_title || is_thousands(port) || spec.ports.is_some() {
        return None;
    }
    let (scheme, host) = match host.split_once("://") {
        Some((scheme, host)) => (Some(scheme), host),
        None => (None, host),
    };
    target.clear();
    put(target, scheme, host, Some(port).filter(|port| !port.is_empty()));
    Some(target)
}

/// The targets of a line that has several; none of them if one cannot be read.
fn several(cells: &Cells, line: &str) -> Option<Vec<String>> {
    let mut targets: Vec<String> = Vec::new();
    for text in (0..cells.len()).flat_map(|number| cell(cells, line, number).split_ascii_whitespace()) {
        match targets.last_mut() {
            // More ports of the target before.
            Some(last) if is_ports(text) && cells.delimiter() == Delimiter::Byte(b',') && split(last).1.is_some() => {
                last.push(',');
                last.push_str(text);
            }
            // The network that naabu says a host is in.
            Some(_) if text.starts_with('[') && text.ends_with(']') && !text.contains(':') => {}
            _ if is_target(text) => targets.push(text.into()),
            _ => return None,
        }
    }
    // Beside servers with ports, a name without one is likelier a map or a title.
    let has_port = |target: &String| split(target).1.is_some();
    let is_title = |target: &String| is_name(target) && !has_port(target);
    (!(targets.iter().any(has_port) && targets.iter().any(is_title))).then_some(targets)
}

/// Whether these are two single addresses and no ports: the ends of a block, as some programs write them.
fn may_be_block(targets: &[String]) -> bool {
    let address = |target: &String| target.parse::<IpAddr>().ok();
    matches!(targets, [first, last] if address(first).zip(address(last)).is_some_and(|(first, last)| first < last))
}

fn cell<'a>(cells: &'a Cells, line: &'a str, number: usize) -> &'a str {
    std::str::from_utf8(cells.cell(line.as_bytes(), number)).unwrap_or_default()
}

/// Whether this is a number with a comma between its thousands, as spreadsheets write it.
fn is_thousands(port: &str) -> bool {
    port.split_once(',').is_some_and(|(first, rest)| first.len() < 3 && rest.len() == 3)
}

fn is_ports(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"-,".contains(&byte))
}

/// The one that divides a line is the first of these.
const DELIMITERS: [char; 4] = ['\t', ';', ',', ' '];
