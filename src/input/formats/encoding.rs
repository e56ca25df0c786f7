//! Byte order marks: what UTF-16 says as UTF-8, and a mark of UTF-8 left out.

use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The text of `bytes` as UTF-8 without a mark. Without one, nothing is changed.
pub(super) fn decoded<'a>(bytes: &'a mut dyn BufRead) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::new();
    // Bounded by the longest mark. Nothing is waited for that cannot belong to one.
    while !MARKS.contains(&&*head) && MARKS.iter().any(|mark| mark.starts_with(&head)) {
        let byte = match bytes.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?.first().copied(),
        };
        let Some(byte) = byte else { break };
        bytes.consume(1);
        head.push(byte);
    }
    Ok(match &*head {
        UTF_8 => Box::new(bytes),
        UTF_16_BIG | UTF_16_LITTLE => {
            let is_big = head == UTF_16_BIG;
            Box::new(BufReader::new(Utf16 {
                reader: bytes,
                is_big,
                odd: None,
                high: None,
                ready: Vec::new(),
                given: 0,
            }))
        }
        _ => Box::new(Cursor::new(head).chain(bytes)),
    })
}

/// Reads UTF-16 as UTF-8; what is no text is U+FFFD.
struct Utf16<'a> {
    reader: &'a mut dyn BufRead,
    is_big: bool,
    /// The first byte of a unit.
    odd: Option<u8>,
    /// The first unit of a pair.
    high: Option<u16>,
    ready: Vec<u8>,
    /// Bytes of it that were given away.
    given: usize,
}

impl Utf16<'_> {
    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        // Bounded by the input; a single byte makes nothing ready.
        while self.ready.is_empty() {
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            let size = buffer.len();
            if size == 0 {
                if self.odd.take().is_some() | self.high.take().is_some() {
                    put(&mut self.ready, char::REPLACEMENT_CHARACTER);
                }
                return Ok(());
            }
            for &byte in buffer {
                let Some(first) = self.odd.take() else {
                    self.odd = Some(byte);
                    continue;
                };
                let unit = if self.is_big { [first, byte] } else { [byte, first] };
                push(&mut self.ready, &mut self.high, u16::from_be_bytes(unit));
            }
            self.reader.consume(size);
        }
        Ok(())
    }
}

impl Read for Utf16<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            self.refill()?;
        }
        let size = self.ready.get(self.given..).unwrap_or_default().read(buffer)?;
        self.given += size;
        Ok(size)
    }
}

/// Appends what `unit` says behind `high`, or keeps it until its other half comes.
fn push(text: &mut Vec<u8>, high: &mut Option<u16>, unit: u16) {
    if let Some(first) = high.take() {
        if let Some(Ok(letter)) = char::decode_utf16([first, unit]).next() {
            return put(text, letter);
        }
        put(text, char::REPLACEMENT_CHARACTER);
    }
    match char::from_u32(unit.into()) {
        Some(letter) => put(text, letter),
        None if unit < LOW => *high = Some(unit),
        None => put(text, char::REPLACEMENT_CHARACTER),
    }
}

fn put(text: &mut Vec<u8>, letter: char) {
    text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The second halves of pairs begin here.
const LOW: u16 = 0xDC00;
const UTF_8: &[u8] = b"\xEF\xBB\xBF";
const UTF_16_BIG: &[u8] = b"\xFE\xFF";
const UTF_16_LITTLE: &[u8] = b"\xFF\xFE";
const MARKS: [&[u8]; 3] = [UTF_8, UTF_16_BIG, UTF_16_LITTLE];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the same bytes whole and through buffers that end at every place.
    fn text(bytes: &[u8]) -> String {
        let mut texts = (1..9).map(|size| {
            let mut text = String::new();
            let mut bytes = BufReader::with_capacity(size, bytes);
            decoded(&mut bytes).unwrap().read_to_string(&mut text).expect("UTF-8 comes out");
            text
        });
        let first = texts.next().unwrap();
        assert!(texts.all(|text| text == first), "{first:?}");
        first
    }

    #[test]
    fn a_mark_says_what_the_bytes_are() {
        let wide = |text: &str, big: bool| -> Vec<u8> {
            let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            ["\u{FEFF}", text].concat().encode_utf16().flat_map(bytes).collect()
        };
        let list = "192.0.2.1:27015\r\n# Z\u{FC}rich \u{1F600}\n";
        assert_eq!(text(list.as_bytes()), list);
        assert_eq!(text(format!("\u{FEFF}{list}").as_bytes()), list);
        assert_eq!(text(&wide(list, false)), list);
        assert_eq!(text(&wide(list, true)), list);
        assert_eq!(text(b""), "");
    }

    #[test]
    fn halves_of_letters_are_replaced() {
        assert_eq!(text(b"\xFF\xFEa"), "\u{FFFD}", "half a unit");
        assert_eq!(text(b"\xFE\xFF\xD8\x00\0a"), "\u{FFFD}a", "the first of a pair");
        assert_eq!(text(b"\xFE\xFF\xDC\x00\0a"), "\u{FFFD}a", "the second");
        assert_eq!(text(b"\xFE\xFF\xD8\x00\xD8\x00\xDC\x00"), "\u{FFFD}\u{10000}");
        assert_eq!(text(b"\xFE\xFF\xD8\x00"), "\u{FFFD}");
    }
}
