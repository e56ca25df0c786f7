//! Datagrams as hex digits: one a line, or as a dump of several lines.
//!
//! ```text
//! # a comment
//! > ff ff ff ff 54 …       a request
//! < ffffffff49…            a reply
//! \xff\xff 0xff ff:ff-ff   whatever stands between bytes elsewhere
//! 00000000: ffff ffff …    a dump (see `dump`): its lines make one datagram, the next begins at offset 0
//! ```
//!
//! Each mistake names line and column, and the lines after it can be read. Lines and datagrams are bounded in memory.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use super::dump::{DumpLine, Form};
use super::{Datagram, Direction, Error, layers};

/// What is wrong with a line of hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HexError {
    /// A character that does not belong there.
    #[error("{0:?} is not a hex digit")]
    NotHex(char),
    /// A byte has two digits; this is one that stands alone.
    #[error("odd number of hex digits")]
    Odd,
    /// Longer than any datagram.
    #[error("datagram of {0} bytes: UDP holds at most {MOST_BYTES}")]
    TooLong(u64),
    /// Longer than a line with any datagram.
    #[error("line of more than {MOST_LINE_BYTES} bytes")]
    LongLine,
    /// A dump that leaves lines out.
    #[error("'*' stands for repeated lines that are missing: dump again with hexdump -v, or xxd without -a")]
    Squeezed,
    /// A line of a dump that does not follow the one before it.
    #[error("offset 0x{found:x} where 0x{expected:x} should follow")]
    Offset {
        /// What the line says.
        found: u64,
        /// How many bytes there are before it.
        expected: u64,
    },
}

/// Reads datagrams out of lines.
pub(super) struct Lines<R> {
    name: String,
    input: R,
    /// The line at hand, and its number.
    line: Vec<u8>,
    number: u64,
    /// The dump whose lines are being read.
    dump: Option<Dump>,
    /// What lines gave: two things at most, the dump that one ended and its own.
    ready: VecDeque<Result<Datagram, Error>>,
}

/// A dump that may go on.
struct Dump {
    form: Form,
    direction: Direction,
    line: u64,
    /// The first of its bytes, a few more than a datagram may have at most.
    data: Vec<u8>,
    size: u64,
    /// A mistake in it was reported: the rest of its lines is passed over.
    broken: bool,
}

/// A mistake and the byte of a text where it is.
type Mistake = (usize, HexError);

impl<R: BufRead> Lines<R> {
    /// Reads a file from its start.
    pub(super) fn new(name: &str, input: R) -> Self {
        Self { name: name.into(), input, line: Vec::new(), number: 0, dump: None, ready: VecDeque::new() }
    }

    /// The next datagram, or none at the end.
    pub(super) fn next_datagram(&mut self) -> Result<Option<Datagram>, Error> {
        // Bounded by the lines of the input.
        while self.ready.is_empty() {
            let more = self.read_line().map_err(|source| Error::Io { name: self.name.clone(), source })?;
            if !more {
                self.finish_dump();
                break;
            }
            let line = std::mem::take(&mut self.line);
            if line.len() as u64 > MOST_LINE_BYTES {
                self.finish_dump();
                self.complain("", (0, HexError::LongLine));
            } else {
                self.take_line(String::from_utf8_lossy(&line).trim_end());
            }
            self.line = line;
        }
        self.ready.pop_front().transpose()
    }

    /// Reads a line; false at the end. Of one that is too long only enough is kept to know that.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let size = self.input.by_ref().take(MOST_LINE_BYTES + 1).read_until(b'\n', &mut self.line)?;
        if size as u64 > MOST_LINE_BYTES && !self.line.ends_with(b"\n") {
            self.input.skip_until(b'\n')?;
        }
        self.number += 1;
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(size > 0)
    }

    fn take_line(&mut self, text: &str) {
        let (direction, body) = marked(text.trim_start());
        let start = text.len() - body.len();
        if direction == Direction::Unknown && (body.is_empty() || body.starts_with('#')) {
            // Nothing is said here.
        } else if body == "*" {
            if let Some(dump) = &mut self.dump {
                dump.broken = true;
            }
            self.complain(text, (start, HexError::Squeezed));
        } else if let Some(line) = DumpLine::read(body).filter(|line| self.is_dump(line)) {
            if let Err((at, problem)) = self.add_to_dump(&line, direction) {
                self.complain(text, (start + at, problem));
            }
        } else {
            self.finish_dump();
            let (digits, _comment) = body.split_once('#').unwrap_or((body, ""));
            if !is_heading(digits) {
                match bytes(digits) {
                    Ok(data) => self.hand_out(direction, self.number, data.len() as u64, data),
                    Err((at, problem)) => self.complain(text, (start + at, problem)),
                }
            }
        }
    }

    /// Whether a line in the form of a dump's is one. That of `hexdump -C` may be a datagram of its own: it is a dump
    /// at its start, behind such a line, and where a column of text follows.
    fn is_dump(&self, line: &DumpLine<'_>) -> bool {
        let follows = self.dump.as_ref().is_some_and(|dump| dump.form == line.form);
        line.form != Form::Hexdump || line.barred || follows || (line.offset == 0 && !line.hex.is_empty())
    }

    fn add_to_dump(&mut self, line: &DumpLine<'_>, direction: Direction) -> Result<(), Mistake> {
        let follows = self.dump.as_ref().is_some_and(|dump| dump.form == line.form);
        if line.offset == 0 || !follows {
            self.finish_dump();
        }
        let dump = self.dump.get_or_insert_with(|| Dump::new(line.form, direction, self.number));
        let added = if dump.broken { Ok(()) } else { dump.add(line) };
        dump.broken |= added.is_err();
        if line.hex.is_empty() {
            // `hexdump -C` ends with how long it was.
            self.finish_dump();
        }
        added
    }

    /// Hands out the dump that was being read, if there is one.
    fn finish_dump(&mut self) {
        if let Some(dump) = self.dump.take().filter(|dump| !dump.broken) {
            self.hand_out(dump.direction, dump.line, dump.size, dump.data);
            // What tcpdump shows begins with the header of IP, unless it was told otherwise.
            if dump.form == Form::Tcpdump
                && let Some(Ok(datagram)) = self.ready.back_mut()
                && let Some(inner) = layers::in_ip_packet(&datagram.data)
            {
                *datagram = Datagram { line: datagram.line, direction: datagram.direction, ..inner };
            }
        }
    }

    fn hand_out(&mut self, direction: Direction, line: u64, size: u64, data: Vec<u8>) {
        self.ready.push_back(if size > MOST_BYTES {
            Err(self.error(line, 1, HexError::TooLong(size)))
        } else {
            Ok(Datagram { from: None, to: None, at_us: None, direction, line: Some(line), data })
        });
    }

    /// Reports a mistake in the line at hand.
    fn complain(&mut self, text: &str, (at, problem): Mistake) {
        let column = text.char_indices().take_while(|(start, _)| *start < at).count() + 1;
        self.ready.push_back(Err(self.error(self.number, column, problem)));
    }

    fn error(&self, line: u64, column: usize, problem: HexError) -> Error {
        Error::Hex { name: self.name.clone(), line, column, problem }
    }
}

impl Dump {
    const fn new(form: Form, direction: Direction, line: u64) -> Self {
        Self { form, direction, line, data: Vec::new(), size: 0, broken: false }
    }

    fn add(&mut self, line: &DumpLine<'_>) -> Result<(), Mistake> {
        if line.offset != self.size {
            return Err((0, HexError::Offset { found: line.offset, expected: self.size }));
        }
        let data = bytes(line.hex).map_err(|(at, problem)| (line.at + at, problem))?;
        self.size += data.len() as u64;
        if self.data.len() as u64 <= MOST_BYTES {
            self.data.extend(data);
        }
        Ok(())
    }
}

/// Who speaks in a line, and the rest of it.
fn marked(line: &str) -> (Direction, &str) {
    let marked = |mark| line.strip_prefix(mark).map(str::trim_start);
    if let Some(body) = marked('>') {
        (Direction::Request, body)
    } else if let Some(body) = marked('<') {
        (Direction::Reply, body)
    } else {
        (Direction::Unknown, line)
    }
}

/// True for the lines that tcpdump writes above its dumps: `12:30:01.5 IP 192.0.2.1.27015 > 192.0.2.2.5000: UDP, …`.
fn is_heading(line: &str) -> bool {
    let protocol = |word| line.strip_prefix(word).is_some() || line.contains(&format!(" {word}"));
    protocol("IP ") || protocol("IP6 ") || (line.contains(" > ") && line.contains(": "))
}

/// The bytes that hex digits in `text` stand for, whatever usually stands between bytes being passed over.
fn bytes(text: &str) -> Result<Vec<u8>, Mistake> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut half: Option<(usize, u8)> = None;
    let mut chars = text.char_indices().peekable();
    // Bounded by the characters of the line.
    while let Some((at, ch)) = chars.next() {
        // `0x` and `\x`.
        if half.is_none() && matches!(ch, '0' | '\\') && chars.next_if(|(_, ch)| matches!(ch, 'x' | 'X')).is_some() {
            continue;
        }
        match (half, ch.to_digit(16), ch) {
            (None, Some(digit), _) => half = Some((at, digit as u8)),
            (Some((_, high)), Some(digit), _) => {
                bytes.push(high << 4 | digit as u8);
                half = None;
            }
            (None, None, ' ' | '\t' | ':' | '-' | ',') => {}
            (Some((at, _)), None, ' ' | '\t' | ':' | '-' | ',') => return Err((at, HexError::Odd)),
            (_, None, other) => return Err((at, HexError::NotHex(other))),
        }
    }
    half.map_or(Ok(bytes), |(at, _)| Err((at, HexError::Odd)))
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// What a datagram of IPv4 can carry.
const MOST_BYTES: u64 = 65_507;
/// Room for the longest datagram, whatever stands between its bytes.
const MOST_LINE_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::super::{Reading, open, read};
    use super::*;

    const BYTES: &[u8] = b"\xFF\xFF\xFF\xFFI\x11deadbeef\0cafe|  face";

    fn datagrams(text: &str) -> Vec<(Direction, u64, Vec<u8>)> {
        let Reading { datagrams, skipped } = read("test.hex", text.as_bytes()).unwrap();
        assert_eq!(skipped.total(), 0);
        datagrams.into_iter().map(|datagram| (datagram.direction, datagram.line.unwrap(), datagram.data)).collect()
    }

    /// What a text of one datagram holds.
    fn one(text: &str) -> Vec<u8> {
        let mut found = datagrams(text);
        assert_eq!(found.len(), 1, "{text}");
        found.remove(0).2
    }

    fn errors(text: &str) -> Vec<String> {
        open("test.hex", text.as_bytes())
            .unwrap()
            .filter_map(|found| found.err().map(|error| error.to_string()))
            .collect()
    }

    #[test]
    fn a_line_is_a_datagram_and_its_mark_says_who_speaks() {
        let text = "\u{FEFF}# captured on a Monday\r\n\r\n> FFFFFFFF54\r\n<ff ff\r\n  \n49 # a reply?\n>\n";
        let expected = [
            (Direction::Request, 3, b"\xFF\xFF\xFF\xFF\x54".to_vec()),
            (Direction::Reply, 4, b"\xFF\xFF".to_vec()),
            (Direction::Unknown, 6, b"\x49".to_vec()),
            (Direction::Request, 7, Vec::new()),
        ];
        assert_eq!(datagrams(text), expected);
    }

    #[test]
    fn whatever_stands_between_bytes_is_passed_over() {
        for text in [
            "ffffffff49",
            "FFff FFff 49",
            "ff:ff:ff:ff:49",
            "ff-ff-ff-ff-49",
            "0xffffffff49",
            "0xff, 0xff, 0xff, 0xff, 0x49",
            r"\xff\xff\xff\xff\x49",
            "\tff ff  ff\tff 49 \t",
            "ffffffff 49",
        ] {
            assert_eq!(one(text), b"\xFF\xFF\xFF\xFF\x49", "{text}");
        }
        assert_eq!(one("00 0x00 00"), [0; 3]);
        assert_eq!(one("00000000"), [0; 4]);
        assert_eq!(one("ffffffff"), [0xFF; 4]);
    }

    #[test]
    fn dumps_of_xxd_are_read_in_all_widths() {
        assert_eq!(
            one("00000000: ffff ffff 4911 6465 6164 6265 6566 0063  ....I.deadbeef.c\n\
                 00000010: 6166 657c 2020 6661 6365                 afe|  face\n"),
            BYTES
        );
        assert_eq!(
            one("00000000: ff ff ff ff 49 11 64 65 61 64 62 65  ....I.deadbe\n\
                 0000000c: 65 66 00 63 61 66 65 7c 20 20 66 61  ef.cafe|  fa\n\
                 00000018: 63 65                                ce\n"),
            BYTES
        );
        assert_eq!(
            one("0000000: FFFFFFFF4911646561646265656600636166657C202066616365  ....I.deadbeef.cafe|  face"),
            BYTES
        );
    }

    #[test]
    fn dumps_of_hexdump_are_read_with_and_without_their_end() {
        let text = "00000000  ff ff ff ff 49 11 64 65  61 64 62 65 65 66 00 63  |....I.deadbeef.c|\n\
                    00000010  61 66 65 7c 20 20 66 61  63 65                    |afe|  face|\n";
        assert_eq!(one(text), BYTES);
        assert_eq!(one(&format!("{text}0000001a\n")), BYTES);
        assert_eq!(one("00000000  ff ff\n00000002\n"), [0xFF; 2]);
        let both = datagrams(&format!("{text}0000001a\n0000001a\n<{text}"));
        let lines: Vec<_> = both.iter().map(|(direction, line, data)| (*direction, *line, data.len())).collect();
        assert_eq!(lines, [(Direction::Unknown, 1, 26), (Direction::Unknown, 4, 4), (Direction::Reply, 5, 26)]);
    }

    #[test]
    fn dumps_of_tcpdump_are_unwrapped_if_they_are_ip() {
        let raw = "\t0x0000:  ffff ffff 4911 6465 6164 6265 6566 0063  ....I.deadbeef.c\n\
                   \t0x0010:  6166 657c 2020 6661 6365                 afe|..face\n";
        assert_eq!(one(raw), BYTES);
        let packet = "12:30:01.500000 IP 192.0.2.1.27015 > 198.51.100.9.5000: UDP, length 5\n\
                      \t0x0000:  4500 0021 0000 4000 4011 8bb9 c000 0201  E..!..@.@.......\n\
                      \t0x0010:  c633 6409 6987 1388 000d 0000 ffff ffff  .3d.i...........\n\
                      \t0x0020:  49                                       I\n";
        for text in [packet.to_owned(), packet.replace("IP 192", "IP (tos 0x0)\n    192")] {
            let found = read("test.hex", text.as_bytes()).unwrap().datagrams.remove(0);
            assert_eq!(found.data, b"\xFF\xFF\xFF\xFFI");
            assert_eq!(found.from, Some("192.0.2.1:27015".parse().unwrap()));
            assert_eq!(found.to, Some("198.51.100.9:5000".parse().unwrap()));
            assert_eq!(found.line, Some(1 + text.matches("\n    ").count() as u64 + 1));
        }
    }

    #[test]
    fn an_offset_of_zero_begins_the_next_datagram_and_so_does_another_form() {
        let text = "> 00000000: 0102  ..\n00000002: 03  .\n\n00000000: 04  .\n# comment\n00000001: 05  .\n\
                    00000000  06  |.|\n0x0000:  07\n08\n";
        let expected = [
            (Direction::Request, 1, vec![1, 2, 3]),
            (Direction::Unknown, 4, vec![4, 5]),
            (Direction::Unknown, 7, vec![6]),
            (Direction::Unknown, 8, vec![7]),
            (Direction::Unknown, 9, vec![8]),
        ];
        assert_eq!(datagrams(text), expected);
    }

    #[test]
    fn a_mistake_names_line_and_column_and_the_next_line_is_read() {
        let text = "ff\n> ff fg\n  é0\nff f ff\n< fff # odd\n00 ☃\nff > 00\nff";
        let expected = [
            "test.hex:2:7: 'g' is not a hex digit",
            "test.hex:3:3: 'é' is not a hex digit",
            "test.hex:4:4: odd number of hex digits",
            "test.hex:5:5: odd number of hex digits",
            "test.hex:6:4: '☃' is not a hex digit",
            "test.hex:7:4: '>' is not a hex digit",
        ];
        assert_eq!(errors(text), expected);
        assert_eq!(open("test.hex", text.as_bytes()).unwrap().flatten().count(), 2);
        assert_eq!(read("test.hex", text.as_bytes()).unwrap_err().to_string(), "test.hex:2:7: 'g' is not a hex digit");
    }

    #[test]
    fn a_dump_with_lines_missing_is_one_mistake() {
        let squeezed = "test.hex:2:1: '*' stands for repeated lines that are missing: dump again with hexdump -v, or xxd without -a";
        assert_eq!(errors("00000000  00 00  |..|\n*\n00000100  00 00  |..|\n00000102\nff\n"), [squeezed]);
        let squeezed_then_plain = "00000000  00  |.|\n*\n00000100\nffffffff\n";
        assert_eq!(errors(squeezed_then_plain), [squeezed]);
        assert_eq!(open("test.hex", squeezed_then_plain.as_bytes()).unwrap().flatten().count(), 1);
        assert_eq!(errors("00000000: 0000  ..\n*\n00000100: 0000  ..\n"), [squeezed]);
        assert_eq!(
            errors("00000000: 00  .\n 00000002: 00  .\n00000003: 00  .\n00000000: 01"),
            ["test.hex:2:2: offset 0x2 where 0x1 should follow"]
        );
        assert_eq!(
            errors("00000010  00  |.|\n00000011  00  |.|\n"),
            ["test.hex:1:1: offset 0x10 where 0x0 should follow"]
        );
        assert_eq!(errors("> 0x0000:  00zz  ..\n"), ["test.hex:1:14: 'z' is not a hex digit"]);
        assert_eq!(errors("00000000  00  |.|\n00000009\n"), ["test.hex:2:1: offset 0x9 where 0x1 should follow"]);
    }

    #[test]
    fn a_datagram_longer_than_udp_can_carry_is_refused() {
        assert_eq!(one(&"ff".repeat(65_507)).len(), 65_507);
        assert_eq!(one(&r"\xff ".repeat(65_507)).len(), 65_507);
        assert_eq!(errors(&"ff ".repeat(70_000)), ["test.hex:1:1: datagram of 70000 bytes: UDP holds at most 65507"]);
        let dump: Vec<_> = (0..70_000 / 16).map(|line| format!("{:08x}: {}\n", line * 16, "00".repeat(16))).collect();
        assert_eq!(
            errors(&format!("\n{}", dump.concat())),
            ["test.hex:2:1: datagram of 70000 bytes: UDP holds at most 65507"]
        );
        assert_eq!(
            errors(&format!("{}\nfg\n", "ff".repeat(600_000))),
            ["test.hex:1:1: line of more than 1048576 bytes", "test.hex:2:2: 'g' is not a hex digit"]
        );
    }

    #[test]
    fn files_that_are_no_text_say_so() {
        for (bytes, said) in [
            (&b"\x7FELF\x02"[..], "test.hex is binary, neither a capture (pcap or pcapng) nor text with hex digits"),
            (
                b"\xFF\xFEf\0f\0",
                "test.hex is text in UTF-16 (save it as UTF-8), neither a capture (pcap or pcapng) nor text with hex digits",
            ),
        ] {
            assert_eq!(read("test.hex", bytes).unwrap_err().to_string(), said);
        }
        assert_eq!(read("empty", &b""[..]).unwrap().datagrams, []);
    }
}
