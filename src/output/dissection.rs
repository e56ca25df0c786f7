//! Datagrams taken apart for a person: a table of fields for each, with the place of whatever does not fit.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::SocketAddr;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{ContentArrangement, Table};

use super::table::harmless;
use crate::capture::Datagram;
use crate::protocol::{AnyProtocol, AnySession, Ask, Dissection, Found, Join, Step};
use crate::wire::DecodeError;

/// How the tables look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// For a terminal.
    Table,
    /// Markdown.
    Markdown,
}

/// Takes one datagram after the other apart, and puts pieces together.
pub(crate) struct Dissector {
    style: Style,
    width: Option<u16>,
    text: String,
    number: usize,
    /// Pieces of split replies that are not whole yet, by server.
    pieces: HashMap<Option<SocketAddr>, Vec<Vec<u8>>>,
}

impl Dissector {
    /// Tables in `style`, at most `width` columns wide.
    #[must_use]
    pub(crate) fn new(style: Style, width: Option<u16>) -> Self {
        Self { style, width, text: String::new(), number: 0, pieces: HashMap::new() }
    }

    /// Takes `datagram` of a server that speaks `protocol` apart.
    pub(crate) fn datagram(&mut self, datagram: &Datagram, is_request: bool, protocol: AnyProtocol) {
        self.number += 1;
        let mut heading = format!("datagram {}", self.number);
        if let Some(line) = datagram.line {
            let _ = write!(heading, ", line {line}");
        }
        if let (Some(from), Some(to)) = (datagram.from, datagram.to) {
            let _ = write!(heading, ", {from} to {to}");
        }
        let _ = write!(heading, ", {}: {} ", bytes(datagram.data.len()), protocol.spec().name);
        let mut kept = self.pieces.remove(&datagram.from).unwrap_or_default();
        let others: Vec<&[u8]> = kept.iter().map(Vec::as_slice).collect();
        self.message(heading, &datagram.data, &others, protocol);
        if !is_request && is_piece(protocol, &datagram.data) {
            kept.push(datagram.data.clone());
            if kept.len() > MOST_PIECES {
                kept.remove(0);
            }
            if self.join(&kept, protocol) {
                kept.clear();
            }
        }
        if !kept.is_empty() {
            self.pieces.insert(datagram.from, kept);
        }
    }

    /// Puts `pieces` together, shows what comes of it, and says whether anything did.
    fn join(&mut self, pieces: &[Vec<u8>], protocol: AnyProtocol) -> bool {
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let count = pieces.len();
        let mut whole = Vec::new();
        let join = protocol.join(&mut AnySession::default(), &pieces, &mut whole);
        match join {
            Join::More => {}
            Join::Whole => {
                let plural = if count == 1 { "piece" } else { "pieces" };
                let whole_size = bytes(whole.len());
                let heading = format!("put together from {count} {plural}, {whole_size}: {} ", protocol.spec().name);
                self.message(heading, &whole, &[], protocol);
            }
            Join::Corrupt => {
                self.remark("all pieces are there, and they make no message: compression or checksum is wrong");
            }
        }
        join != Join::More
    }

    /// Says which pieces never became whole, and begins anew.
    pub(crate) fn end_of_file(&mut self) {
        let left: usize = self.pieces.drain().map(|(_, pieces)| pieces.len()).sum();
        if left > 0 {
            self.remark(&format!("{left} pieces belong to replies that are not complete"));
        }
    }

    /// What was written since the last call.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    fn message(&mut self, mut heading: String, data: &[u8], others: &[&[u8]], protocol: AnyProtocol) {
        let mut dissection = Dissection::default();
        let result = protocol.dissect(data, others, &mut dissection);
        heading.push_str(if dissection.title.is_empty() { "unknown" } else { dissection.title });
        self.table(&heading, data, &dissection, result);
    }

    fn table(&mut self, heading: &str, data: &[u8], dissection: &Dissection, result: Result<(), DecodeError>) {
        let mark = if self.style == Style::Markdown { "### " } else { "" };
        let _ = writeln!(self.text, "{mark}{heading}\n");
        let mut table = Table::new();
        table.load_preset(if self.style == Style::Markdown { ASCII_MARKDOWN } else { NOTHING });
        table.set_header(["offset", "bytes", "field", "type", "value"]);
        match (self.style, self.width) {
            (Style::Table, Some(width)) => {
                table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            }
            _ => {
                table.set_content_arrangement(ContentArrangement::Disabled);
            }
        }
        let mut read_to = 0;
        let row = |table: &mut Table, at: usize, size: usize, field: &str, kind: &str, value: &str| {
            let hex = hex_of(data.get(at..at + size).unwrap_or_default());
            table.add_row([at.to_string(), hex, self.cell(field), kind.to_owned(), self.cell(value)]);
        };
        for field in &dissection.fields {
            row(&mut table, field.at, field.size, &field.name, field.kind, &field.value);
            read_to = read_to.max(field.at + field.size);
        }
        if read_to < data.len() {
            let what = if dissection.fields.is_empty() { "everything" } else { "the rest" };
            row(&mut table, read_to, data.len() - read_to, what, "", &bytes(data.len() - read_to));
        }
        let _ = writeln!(self.text, "{table}\n");
        if let Err(error) = result {
            self.remark(&format!("this does not fit: {error}"));
        }
    }

    fn remark(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}\n");
    }

    /// Text from a server as it may stand in a cell.
    fn cell(&self, text: &str) -> String {
        let mut text: String = harmless(text);
        if let Some((end, _)) = text.char_indices().nth(MOST_CHARACTERS) {
            text.truncate(end);
            text.push('…');
        }
        if self.style == Style::Markdown { text.chars().flat_map(inert).collect() } else { text }
    }
}

/// A character as Markdown shows it, and does nothing with it: no column, code, HTML, link or picture begins with it.
fn inert(c: char) -> impl Iterator<Item = char> {
    let escape = matches!(c, '\\' | '|' | '`' | '[' | '<' | '!' | '&');
    escape.then_some('\\').into_iter().chain(std::iter::once(c))
}

fn is_piece(protocol: AnyProtocol, data: &[u8]) -> bool {
    let step = protocol.receive(&mut AnySession::default(), &Ask::offline(), data, &mut Found::default());
    step == Ok(Step::Part)
}

fn bytes(count: usize) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// The first bytes of a field.
fn hex_of(bytes: &[u8]) -> String {
    let mut hex = bytes.iter().take(MOST_SHOWN).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    if bytes.len() > MOST_SHOWN {
        hex.push('…');
    }
    hex
}

/// Pieces of one server that are kept to put them together.
const MOST_PIECES: usize = 512;
/// Characters of a value that are shown.
const MOST_CHARACTERS: usize = 200;
/// Bytes of a field that are shown in hex.
const MOST_SHOWN: usize = 12;
