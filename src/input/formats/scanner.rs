//! The characters of JSON, one after the other, from a stream: nothing is kept but what is asked for.

use std::io::{self, BufRead, ErrorKind};

/// Reads characters and skips values. Counts lines.
pub(super) struct Scanner<'a> {
    reader: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    at: usize,
    line: u64,
    /// Only blanks have come since the line began.
    at_start: bool,
}

/// Why a value cannot be read.
#[derive(Debug)]
pub(super) enum Problem {
    /// The bytes cannot be read.
    Reader(io::Error),
    /// They are not JSON, or not what was expected.
    Text(String),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Reader(error)
    }
}

impl From<&str> for Problem {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(reader: &'a mut dyn BufRead) -> Self {
        Self { reader, buffer: Vec::new(), at: 0, line: 1, at_start: true }
    }

    /// Number of the line of the next character.
    pub(super) const fn line(&self) -> u64 {
        self.line
    }

    /// Whether nothing but blanks stands before the next character on its line.
    pub(super) const fn is_at_start(&self) -> bool {
        self.at_start
    }

    /// What has been read and is not used yet; empty at the end. Nothing is waited for if there is something.
    fn rest(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            self.at = 0;
            self.buffer.clear();
            // Bounded by interruptions.
            loop {
                match self.reader.fill_buf() {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                    Ok(read) => {
                        let size = read.len().min(BUFFER);
                        self.buffer.extend_from_slice(read.get(..size).unwrap_or_default());
                        self.reader.consume(size);
                        break;
                    }
                }
            }
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    /// The next character, without taking it.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        match self.buffer.get(self.at) {
            Some(byte) => Ok(Some(*byte)),
            None => Ok(self.rest()?.first().copied()),
        }
    }

    /// Takes the character that [`Scanner::peek`] gave.
    pub(super) fn bump(&mut self) {
        if let Some(byte) = self.buffer.get(self.at) {
            self.at += 1;
            let is_end = *byte == b'\n';
            self.line += u64::from(is_end);
            self.at_start = is_end || self.at_start && matches!(byte, b' ' | b'\t' | b'\r');
        }
    }

    /// The next character that is not blank, without taking it.
    pub(super) fn next(&mut self) -> io::Result<Option<u8>> {
        // Bounded by the input.
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.bump(),
                other => return Ok(other),
            }
        }
    }

    /// Takes the rest of a line, with its end.
    pub(super) fn skip_line(&mut self) -> io::Result<()> {
        // Bounded by the input.
        loop {
            let rest = self.rest()?;
            let (size, ended) = match memchr::memchr(b'\n', rest) {
                Some(place) => (place + 1, true),
                None => (rest.len(), rest.is_empty()),
            };
            self.at += size;
            if ended {
                self.line += u64::from(size > 0);
                self.at_start = true;
                return Ok(());
            }
        }
    }

    /// Takes a text in quotes and appends what is between them, with its escapes, to `kept`.
    pub(super) fn string(&mut self, mut kept: Option<&mut Vec<u8>>) -> Result<(), Problem> {
        self.bump();
        // Bounded by the input.
        loop {
            let rest = self.rest()?;
            let size = memchr::memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(size);
            let next = behind.first().copied();
            if part.is_empty() && next.is_none() {
                return Err("the list ends within a text".into());
            }
            if let Some(kept) = &mut kept {
                keep(kept, part)?;
            }
            self.at += size;
            self.at_start = false;
            match next {
                Some(b'"') => {
                    self.bump();
                    return Ok(());
                }
                Some(b'\\') => {
                    self.bump();
                    let escaped = self.peek()?.filter(|byte| *byte != b'\n').ok_or("a text ends in a backslash")?;
                    if let Some(kept) = &mut kept {
                        keep(kept, &[b'\\', escaped])?;
                    }
                    self.bump();
                }
                Some(_) => return Err("a text has no closing quote on its line".into()),
                None => {}
            }
        }
    }

    /// Takes a number or a word without quotes and appends it to `kept`. A colon may be a part of a value, and ends a `key`.
    pub(super) fn word(&mut self, mut kept: Option<&mut Vec<u8>>, key: bool) -> Result<(), Problem> {
        let mut is_empty = true;
        // Bounded by the input.
        while let Some(byte) = self.peek()? {
            if matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'{' | b'}' | b'[' | b']' | b'"')
                || byte == b':' && key
            {
                break;
            }
            if let Some(kept) = &mut kept {
                keep(kept, &[byte])?;
            }
            is_empty = false;
            self.bump();
        }
        if is_empty { Err("a value is missing".into()) } else { Ok(()) }
    }

    /// Takes a value of any kind and keeps nothing.
    pub(super) fn skip(&mut self) -> Result<(), Problem> {
        let mut depth = 0_u64;
        // Bounded by the input.
        loop {
            match self.next()? {
                None => return Err(UNFINISHED.into()),
                Some(b'"') => self.string(None)?,
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.bump();
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.bump();
                }
                Some(b',' | b':') if depth > 0 => self.bump(),
                Some(_) => self.word(None, true)?,
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

fn keep(kept: &mut Vec<u8>, part: &[u8]) -> Result<(), Problem> {
    if kept.len() + part.len() > MOST_KEPT_BYTES {
        return Err(Problem::Text(format!("this object has more than {MOST_KEPT_BYTES} bytes of what counts")));
    }
    kept.extend_from_slice(part);
    Ok(())
}

/// What to say of an object that is not closed.
pub(super) const UNFINISHED: &str = "the list ends within an object";
const BUFFER: usize = 16 << 10;
/// Of one object.
const MOST_KEPT_BYTES: usize = 1 << 20;
