//! XML of nmap and masscan (`-oX`), and of qstat.
//!
//! ```text
//! <host> <address addr="192.0.2.1" addrtype="ipv4"/>
//!   <ports> <port protocol="udp" portid="27015"> <state state="open"/> </port> </ports> </host>
//! <qstat> <server type="A2S" address="192.0.2.1:27015" status="UP"> … </server> </qstat>
//! ```
//!
//! Only attributes of elements count. Entities are not expanded, and what is one element may not be longer than a megabyte.

use std::io::{self, BufRead, ErrorKind, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::columns::Role;
use super::row::Row;
use super::words::Words;
use super::{Context, Stop, Take};

/// Reads a document to its end.
pub(super) fn read(bytes: &mut dyn BufRead, context: &Context<'_>, take: &mut Take<'_>) -> Result<(), Stop> {
    let mut reader = Reader::from_reader(Tame { reader: bytes, buffer: Vec::new(), at: 0, allowed: 0, line: 1 });
    let mut buffer = Vec::new();
    let mut depth = 0_usize;
    let mut hosts = Hosts { context, words: Words::default(), text: String::new(), host: None, port: None };
    // Bounded by the input.
    let problem = loop {
        buffer.clear();
        reader.get_mut().allowed = MOST_ELEMENT_BYTES;
        let event = reader.read_event_into(&mut buffer);
        let (begins, ends) = match &event {
            Ok(Event::Start(element)) => (Some(element), None),
            Ok(Event::Empty(element)) => (Some(element), Some(element.name())),
            Ok(Event::End(element)) => (None, Some(element.name())),
            Ok(Event::Eof) if depth == 0 => return Ok(()),
            Ok(Event::Eof) => break "the XML ends within an element: some of it is missing".into(),
            Ok(_) => continue,
            Err(quick_xml::Error::Io(error)) if error.kind() != ErrorKind::InvalidData => {
                return Err(Stop::Reader(io::Error::new(error.kind(), error.to_string())));
            }
            Err(error) => break format!("this is not XML: {error}"),
        };
        match &event {
            Ok(Event::Start(_)) => depth += 1,
            Ok(Event::End(_)) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MOST_DEPTH {
            break format!("more than {MOST_DEPTH} elements are in one another");
        }
        let line = reader.get_ref().line;
        if let Some(element) = begins {
            hosts.begin(element, line, take)?;
        }
        if let Some(name) = ends {
            hosts.end(name.as_ref().as_bytes(), line, take)?;
        }
    };
    take(reader.get_ref().line, Err(problem))?;
    // The digest is one of the whole file.
    io::copy(reader.get_mut().reader, &mut io::sink())?;
    Ok(())
}

/// What has been read of the host and the port at which the document stands.
struct Hosts<'c> {
    context: &'c Context<'c>,
    words: Words,
    text: String,
    /// The address; empty until it comes.
    host: Option<String>,
    port: Option<Port>,
}

#[derive(Default)]
struct Port {
    number: String,
    transport: String,
    state: String,
}

impl Hosts<'_> {
    fn begin(&mut self, element: &BytesStart<'_>, line: u64, take: &mut Take<'_>) -> Result<(), Stop> {
        match element.name().as_ref() {
            "host" => self.host = Some(String::new()),
            "address" if attribute(element, "addrtype") != "mac" => {
                if let Some(host) = self.host.as_mut().filter(|host| host.is_empty()) {
                    *host = attribute(element, "addr");
                }
            }
            "port" if self.host.is_some() => {
                let (number, transport) = (attribute(element, "portid"), attribute(element, "protocol"));
                self.port = Some(Port { number, transport, state: String::new() });
            }
            "state" => {
                if let Some(port) = &mut self.port {
                    port.state = attribute(element, "state");
                }
            }
            "server" => {
                let (address, kind) = (attribute(element, "address"), attribute(element, "type"));
                let port = attribute(element, "port");
                let mut row = Row::default();
                row.set(Role::Address, &address);
                row.set(Role::Protocol, &kind);
                row.set(Role::Port, &port);
                self.say(&row, line, take)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &[u8], line: u64, take: &mut Take<'_>) -> Result<(), Stop> {
        match name {
            b"host" => self.host = None,
            b"port" => {
                if let (Some(port), Some(host)) = (self.port.take(), self.host.take()) {
                    let mut row = Row::default();
                    row.set(Role::Address, &host);
                    row.set_port(&port.number, &port.transport, &port.state);
                    self.say(&row, line, take)?;
                    self.host = Some(host);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn say(&mut self, row: &Row<'_>, line: u64, take: &mut Take<'_>) -> Result<(), Stop> {
        match row.entry(self.context, &mut self.words, &mut self.text) {
            Ok(Some(entry)) => take(line, Ok(entry))?,
            Ok(None) => {}
            Err(reason) => take(line, Err(reason))?,
        }
        Ok(())
    }
}

/// The value of an attribute; empty if there is none.
fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let found = element.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name);
    found.map(|attribute| attribute.value.into_owned()).unwrap_or_default()
}

/// A reader that gives ASCII, counts lines, and ends in an error where one element is too long. Whatever counts is ASCII:
/// qstat says that it writes Latin-1, and texts of servers may be anything.
struct Tame<'a> {
    reader: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    at: usize,
    /// Bytes that the next element may have.
    allowed: usize,
    line: u64,
}

impl Read for Tame<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.fill_buf()?.read(buffer)?;
        self.consume(size);
        Ok(size)
    }
}

impl BufRead for Tame<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.allowed == 0 {
            let reason = format!("an element is longer than {MOST_ELEMENT_BYTES} bytes");
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        if self.at == self.buffer.len() {
            let read = self.reader.fill_buf()?;
            let size = read.len().min(BUFFER);
            self.buffer.clear();
            let ascii = |byte: &u8| if byte.is_ascii() { *byte } else { b'?' };
            self.buffer.extend(read.iter().take(size).map(ascii));
            self.reader.consume(size);
            self.at = 0;
        }
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        Ok(rest.get(..self.allowed).unwrap_or(rest))
    }

    fn consume(&mut self, size: usize) {
        let taken = self.buffer.get(self.at..self.at + size).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', taken).count() as u64;
        self.at += size;
        self.allowed = self.allowed.saturating_sub(size);
    }
}

const BUFFER: usize = 16 << 10;
const MOST_ELEMENT_BYTES: usize = 1 << 20;
/// nmap's and masscan's documents have seven at most.
const MOST_DEPTH: usize = 64;
