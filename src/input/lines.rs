//! Lines out of a stream of bytes: the ones that carry something, each with its number.
//!
//! Lists come from everywhere: with LF, CRLF or CR ends, with comments, with one broken line in a million. A line that
//! cannot be read is an error for itself only, and no line grows past a megabyte in memory.

use std::io::{self, BufRead, ErrorKind};

use thiserror::Error;

/// Reads lines, skipping blank ones. Comments are left to [`without_comment`], since a row of a table may hold a `#`.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
    /// `line` is a whole line, which the caller may be looking at: it is cleared when the next one is begun.
    complete: bool,
    /// The last line ended in CR: an LF that comes now belongs to it.
    after_cr: bool,
}

/// A line with its number, or why it cannot be read.
pub(crate) type Line<'a> = (u64, Result<&'a [u8], LineError>);

/// Why a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum LineError {
    /// Longer than any target.
    #[error("the line is longer than {MOST_LINE_BYTES} bytes")]
    TooLong,
}

impl<R: BufRead> Lines<R> {
    /// Reads from the start of a file or stream.
    pub(crate) const fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), number: 0, complete: false, after_cr: false }
    }

    /// The next line that carries something: its number, counted from 1 over all lines, and its bytes without the end;
    /// `None` at the end. An error of the reader is passed on, and reading may go on after it
    /// (after `WouldBlock`, say: the part of a line that was read is kept).
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        // Bounded by the lines of the input.
        while self.read_line()? {
            self.number += 1;
            if self.line.len() > MOST_LINE_BYTES {
                return Ok(Some((self.number, Err(LineError::TooLong))));
            }
            if !self.line.iter().all(|byte| is_blank(*byte)) {
                return Ok(Some((self.number, Ok(&self.line))));
            }
        }
        Ok(None)
    }

    /// Reads one line without its end; false when there is none. Of a line that is too long only enough is kept to
    /// know that.
    fn read_line(&mut self) -> io::Result<bool> {
        if std::mem::take(&mut self.complete) {
            self.line.clear();
        }
        // Bounded by the length of the input.
        loop {
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            let Some(first) = buffer.first() else {
                self.complete = true;
                return Ok(!self.line.is_empty());
            };
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                self.reader.consume(1);
                continue;
            }
            let length = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(buffer.len());
            let (part, rest) = buffer.split_at(length);
            let room = (MOST_LINE_BYTES + 1).saturating_sub(self.line.len());
            self.line.extend(part.iter().take(room));
            let ended = rest.first().copied();
            self.reader.consume(length + usize::from(ended.is_some()));
            if let Some(end) = ended {
                self.after_cr = end == b'\r';
                self.complete = true;
                return Ok(true);
            }
        }
    }
}

/// `text` without a comment (`#` at the start or behind a space or tab) and the blanks before it.
#[must_use]
pub(crate) fn without_comment(text: &str) -> &str {
    let comment = text.match_indices('#').find(|&(at, _)| at == 0 || is_blank(text.as_bytes()[at - 1]));
    comment.map_or(text, |(at, _)| text.split_at(at).0).trim_end_matches([' ', '\t'])
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A row of an earlier output may hold hundreds of rules and players.
pub(crate) const MOST_LINE_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    fn read(mut lines: Lines<impl BufRead>) -> Vec<(u64, Result<String, LineError>)> {
        let mut read = Vec::new();
        while let Some((number, line)) = lines.next_line().expect("memory can be read") {
            read.push((number, line.map(|line| String::from_utf8_lossy(line).into_owned())));
        }
        read
    }

    /// Reads the same bytes whole and through buffers that end at every place.
    fn lines(bytes: &[u8]) -> Vec<(u64, Result<String, LineError>)> {
        let whole = read(Lines::new(bytes));
        for size in 1..10 {
            assert_eq!(read(Lines::new(BufReader::with_capacity(size, bytes))), whole, "with a buffer of {size}");
        }
        whole
    }

    fn texts(bytes: &[u8]) -> Vec<(u64, String)> {
        lines(bytes).into_iter().map(|(number, line)| (number, line.expect("a line"))).collect()
    }

    #[test]
    fn only_lines_that_carry_something_are_given_and_numbers_count_all() {
        let list = b"# servers\n\n  192.0.2.1:1\t\n \t \n192.0.2.2 # mine\n\t# not yet\nname#1\nlast";
        let expected = [
            (1, "# servers"),
            (3, "  192.0.2.1:1\t"),
            (5, "192.0.2.2 # mine"),
            (6, "\t# not yet"),
            (7, "name#1"),
            (8, "last"),
        ];
        assert_eq!(texts(list), expected.map(|(number, text)| (number, text.to_owned())));
        assert_eq!(texts(b""), []);
        assert_eq!(texts(b"\n\n"), []);
    }

    #[test]
    fn a_comment_stands_behind_a_blank() {
        for (text, without) in
            [("# a", ""), ("a # b", "a"), ("a\t#b", "a"), ("a#b", "a#b"), ("a #b # c", "a"), ("a", "a"), ("a  ", "a")]
        {
            assert_eq!(without_comment(text), without);
        }
    }

    #[test]
    fn every_kind_of_line_end_is_known() {
        let expected = [(1, "a"), (2, "b"), (4, "c")].map(|(number, text)| (number, text.to_owned()));
        assert_eq!(texts(b"a\nb\n\nc\n"), expected);
        assert_eq!(texts(b"a\r\nb\r\n\r\nc\r\n"), expected);
        assert_eq!(texts(b"a\rb\r\rc\r"), expected);
        assert_eq!(texts(b"a\r\nb\n\rc"), expected);
    }

    #[test]
    fn a_line_may_have_a_megabyte_and_no_more() {
        let longest = "x".repeat(MOST_LINE_BYTES);
        let list = format!("{longest}\r\n{longest}x\n{longest}{longest}{longest}\rb");
        assert_eq!(
            read(Lines::new(list.as_bytes())),
            [(1, Ok(longest)), (2, Err(LineError::TooLong)), (3, Err(LineError::TooLong)), (4, Ok("b".to_owned()))]
        );
    }

    #[test]
    fn reading_goes_on_after_the_reader_had_nothing() {
        struct Halting(u8);
        impl Read for Halting {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    1 => (&b"192.0"[..]).read(buffer),
                    2 => Err(ErrorKind::WouldBlock.into()),
                    3 => Err(ErrorKind::Interrupted.into()),
                    4 => (&b".2.1\n"[..]).read(buffer),
                    _ => Ok(0),
                }
            }
        }
        let mut lines = Lines::new(BufReader::new(Halting(0)));
        assert_eq!(lines.next_line().expect_err("nothing yet").kind(), ErrorKind::WouldBlock);
        assert_eq!(lines.next_line().expect("a line"), Some((1, Ok(&b"192.0.2.1"[..]))));
        assert_eq!(lines.next_line().expect("the end"), None);
    }
}
