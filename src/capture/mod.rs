//! Datagrams in files: what `fragscan decode` reads and what `scan --raw` writes.
//!
//! ```text
//!   file ─► unpacked ─┬─► hex      one datagram a line, or dumps       ─┬─► Datagram
//!           (gzip,    └─► packets ─► layers ─► fragments (reassembly)  ─┘
//!            Zstandard)   (pcap,     (link, IP, UDP)
//!                          pcapng)
//!
//!   Datagram ─► raw ─► blocks of pcapng in a buffer of the caller's
//! ```
//!
//! The format is known by the first bytes, never by a file's name. Nothing is left out silently: a packet that is no
//! whole UDP datagram is counted with the reason, and what cannot be read is an error that says where. Memory is bounded
//! whatever the file says, apart from the datagrams that [`read`] collects; [`open`] hands them out one at a time. What
//! the bytes of a datagram mean is left to the protocols.

mod dump;
mod fragments;
mod hex;
mod layers;
mod packets;
pub(crate) mod raw;
mod skipped;
#[cfg(test)]
mod tests;
mod unpack;

use std::io::{self, BufRead, Read};
use std::net::SocketAddr;

pub(crate) use hex::HexError;
pub(crate) use skipped::Skipped;

/// A datagram as a file holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Datagram {
    /// Who sent it, if the file says so.
    pub from: Option<SocketAddr>,
    /// To whom it was sent, if the file says so.
    pub to: Option<SocketAddr>,
    /// When it was captured, in µs since 1970 (UTC), if the file says so.
    pub at_us: Option<i64>,
    /// Who speaks.
    pub direction: Direction,
    /// In a hex file, the line where it begins, counted from 1.
    pub line: Option<u64>,
    /// The payload of UDP.
    pub data: Vec<u8>,
}

/// Whether a datagram asks or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Sent to a server (`>` in a hex file).
    Request,
    /// Sent by a server (`<` in a hex file).
    Reply,
    /// The file does not say. Captures of packets never do: which side is the server is for the reader to tell.
    Unknown,
}

/// Everything in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The datagrams in the order of the file; one that came in fragments stands where its last fragment does.
    pub datagrams: Vec<Datagram>,
    /// What else is in the file.
    pub skipped: Skipped,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The system, or what unpacks a packed file, says so.
    #[error("reading {name}: {source}")]
    Io {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The first bytes belong to no format that is known here.
    #[error("{name} is {found}, neither a capture (pcap or pcapng) nor text with hex digits")]
    Format {
        /// The file.
        name: String,
        /// What it seems to be.
        found: &'static str,
    },
    /// A line of a hex file is wrong. The lines after it can be read.
    #[error("{name}:{line}:{column}: {problem}")]
    Hex {
        /// The file.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// The column in characters, counted from 1.
        column: usize,
        /// What is wrong there.
        problem: HexError,
    },
    /// The structure of a capture is broken; nothing after that place can be found.
    #[error("{name} is damaged after {packets} packet{}: {problem}", if *packets == 1 { "" } else { "s" })]
    Damaged {
        /// The file.
        name: String,
        /// How many packets could be read before.
        packets: u64,
        /// What is broken.
        problem: &'static str,
    },
}

/// Reads everything in `input`, or nothing: the first error ends it. `name` is what messages call the input (a path, or
/// "standard input").
pub(crate) fn read(name: &str, input: impl Read) -> Result<Reading, Error> {
    let mut capture = open(name, input)?;
    let datagrams = capture.by_ref().collect::<Result<_, _>>()?;
    Ok(Reading { datagrams, skipped: capture.skipped() })
}

/// Recognises the format of `input` and gives an iterator over its datagrams, for files that are large or damaged.
pub(crate) fn open<'a>(name: &str, input: impl Read + 'a) -> Result<Capture<'a>, Error> {
    let failed = |source| Error::Io { name: name.into(), source };
    let (head, input) = unpack::unpacked(input).map_err(failed)?;
    let format = if packets::is_capture(&head) {
        Format::Packets(packets::Packets::open(name, &head, input)?, layers::Layers::default())
    } else if let Some(found) = not_text(&head) {
        return Err(Error::Format { name: name.into(), found });
    } else {
        Format::Hex(hex::Lines::new(name, input))
    };
    Ok(Capture { format, ended: false })
}

/// The datagrams of a file, one at a time. After an [`Error::Hex`] the next line follows; after any other error, and
/// after the end, there is nothing more.
pub(crate) struct Capture<'a> {
    format: Format<'a>,
    ended: bool,
}

enum Format<'a> {
    Hex(hex::Lines<Box<dyn BufRead + 'a>>),
    Packets(packets::Packets<Box<dyn BufRead + 'a>>, layers::Layers),
}

impl Capture<'_> {
    /// What was skipped so far. Fragments that still wait for the others are counted among it.
    #[must_use]
    pub(crate) fn skipped(&self) -> Skipped {
        match &self.format {
            Format::Hex(_) => Skipped::default(),
            Format::Packets(_, layers) => layers.skipped(),
        }
    }

    /// What a pcapng says to whoever reads it, once its first datagram was read.
    #[must_use]
    pub(crate) fn comment(&self) -> Option<&str> {
        match &self.format {
            Format::Hex(_) => None,
            Format::Packets(packets, _) => packets.comment(),
        }
    }

    fn advance(&mut self) -> Result<Option<Datagram>, Error> {
        let (packets, layers) = match &mut self.format {
            Format::Hex(lines) => return lines.next_datagram(),
            Format::Packets(packets, layers) => (packets, layers),
        };
        // Bounded by the packets of the input.
        while let Some(packet) = packets.next_packet()? {
            if let Some(datagram) = layers.handle_packet(&packet) {
                return Ok(Some(datagram));
            }
        }
        Ok(None)
    }
}

impl Iterator for Capture<'_> {
    type Item = Result<Datagram, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance().transpose();
        self.ended = !matches!(next, Some(Ok(_) | Err(Error::Hex { .. })));
        next
    }
}

/// What a file is that begins with `head` and cannot be text.
fn not_text(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return Some("text in UTF-16 (save it as UTF-8)");
    }
    head.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace()).then_some("binary")
}
