//! Lists as other programs write them: bytes in, the targets that they name out.
//!
//! ```text
//! bytes ── encoding ──► text ──┬─ { or [ ──► json    NDJSON, arrays, documents
//!                              ├─ < ───────► xml     nmap, masscan, qstat
//!                              └─ else ────► lists   lines: a table under a header, or one of
//!                                            text       targets as they are typed, HOST,PORT, connect HOST:PORT
//!                                            scanners   masscan -oL, nmap and masscan -oG
//! ```
//!
//! Whatever the form, a record becomes a [`row::Row`], and that becomes a target as it would be typed. One rule holds for all
//! of them: what names a port is asked at that port, or is refused. Memory is bounded by one record.

use std::io::{self, BufRead, Cursor, Read};

use crate::error::Error;
use crate::output::Filter;

mod cells;
mod columns;
mod encoding;
mod json;
mod lists;
mod row;
mod scanner;
mod scanners;
mod servers;
mod table;
mod text;
mod values;
mod words;
mod xml;

#[cfg(test)]
mod tests;

/// What the records of a list are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input) enum Purpose {
    /// They are to be asked.
    Ask,
    /// They are to be left out, whatever else is said of them.
    Exclude,
}

/// How records are read.
#[derive(Debug, Clone, Copy)]
pub(in crate::input) struct Context<'a> {
    pub purpose: Purpose,
    /// If the run has games: the scheme that makes fragscan ask a target at exactly the port that it names. Without games,
    /// game ports cannot be translated to query ports.
    pub exact_word: Option<&'static str>,
    /// Conditions on rows that have columns.
    pub condition: &'a Filter,
}

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input) enum Entry<'a> {
    /// A target, as it would be typed.
    Target(&'a str),
    /// A row for which the conditions do not hold.
    HeldBack,
    /// A port that is closed, or is no UDP port.
    PassedOver,
}

/// Takes entries, each with the number of its line.
pub(in crate::input) type Take<'t> = dyn FnMut(u64, Result<Entry<'_>, String>) -> Result<(), Error> + 't;

/// Why reading stops before the end.
#[derive(Debug)]
pub(in crate::input) enum Stop {
    /// The bytes cannot be read.
    Reader(io::Error),
    /// Whoever takes the entries has had enough.
    Taker(Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Reader(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Taker(error)
    }
}

impl Context<'_> {
    /// What becomes of a record without columns: no condition holds for it.
    fn judge<'e>(&self, entry: Result<Entry<'e>, String>) -> Result<Entry<'e>, String> {
        match entry {
            Ok(Entry::Target(_)) if !self.condition.is_empty() => Ok(Entry::HeldBack),
            entry => entry,
        }
    }

    /// Whether a record that names a port in such a state is one to be asked. What is to be left out is so in any case.
    fn takes(&self, transport: &str, state: &str) -> bool {
        let is_udp = transport.is_empty() || transport.eq_ignore_ascii_case("udp");
        let is_closed = matches!(state, "closed" | "filtered" | "unfiltered" | "closed|filtered");
        self.purpose == Purpose::Exclude || is_udp && !is_closed
    }
}

/// Reads a list to its end, whatever its form.
pub(in crate::input) fn read(bytes: &mut dyn BufRead, context: &Context<'_>, take: &mut Take<'_>) -> Result<(), Stop> {
    let mut text = encoding::decoded(bytes)?;
    let (form, head) = sniff(&mut *text)?;
    let mut whole = Cursor::new(head).chain(text);
    match form {
        Form::Lines => lists::read(&mut whole, context, take),
        Form::Json => json::read(&mut whole, context, take),
        Form::Xml => xml::read(&mut whole, context, &mut |number, entry| take(number, context.judge(entry))),
    }
}

/// The forms that are told apart by their first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Lines,
    Json,
    Xml,
}

/// Takes as many bytes as tell which form it is: what is blank or a comment, and the first character after it.
fn sniff(text: &mut dyn BufRead) -> io::Result<(Form, Vec<u8>)> {
    let mut head = Vec::new();
    let mut state = Sniffed::LineStart;
    // Bounded by the length of a head.
    while head.len() < MOST_HEAD_BYTES {
        let byte = match text.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?.first().copied(),
        };
        let Some(byte) = byte else { break };
        text.consume(1);
        head.push(byte);
        state = match (state, byte) {
            (Sniffed::LineStart | Sniffed::Comment, b'\n' | b'\r') => Sniffed::LineStart,
            (Sniffed::LineStart, b'#') => Sniffed::Comment,
            (Sniffed::LineStart, b'[') => Sniffed::Bracket,
            (Sniffed::LineStart, b'<') => return Ok((Form::Xml, head)),
            // An IPv6 address may be in brackets, too.
            (Sniffed::LineStart, b'{') | (Sniffed::Bracket, b'{' | b'[' | b']' | b'"') => {
                return Ok((Form::Json, head));
            }
            (Sniffed::Comment, _) | (_, b' ' | b'\t' | b'\n' | b'\r') => state,
            _ => return Ok((Form::Lines, head)),
        };
    }
    Ok((if state == Sniffed::Bracket { Form::Json } else { Form::Lines }, head))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sniffed {
    LineStart,
    Comment,
    Bracket,
}

/// Blanks and comments before what tells the form.
const MOST_HEAD_BYTES: usize = 64 << 10;
