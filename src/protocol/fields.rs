//! A cursor that names what it reads: the same code parses a message for a record and takes it apart for a person.
//!
//! Parsers read through [`Fields`] with the name of each field. With `()` as the scribe nothing is written down and the
//! names cost nothing; with a [`Dissection`] every field is noted with its place, its type and its value.

use std::net::{IpAddr, SocketAddr};

use crate::wire::{DecodeError, Problem, Reader};

/// A cursor over a message whose reads are told to a scribe.
#[derive(Debug)]
pub(crate) struct Fields<'a, S> {
    reader: Reader<'a>,
    scribe: S,
}

/// Whoever wants to know what was read.
pub(crate) trait Scribe {
    /// `size` bytes at `at` are the field `name`.
    fn note(&mut self, name: &'static str, kind: &'static str, at: usize, size: usize, value: Shown<'_>);

    /// What follows belongs to entry `number` (from 0) of `list`.
    fn entry(&mut self, list: &'static str, number: usize);

    /// What follows belongs to no list.
    fn leave(&mut self);
}

/// The value of a field, as it is to be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shown<'a> {
    /// A number.
    Number(u64),
    /// A number with a sign.
    Signed(i64),
    /// A number with a fraction.
    Float(f32),
    /// A letter that stands for something.
    Letter(u8),
    /// Text as it was sent.
    Text(&'a [u8]),
    /// Bytes without a meaning as text.
    Bytes(&'a [u8]),
    /// A word of ours.
    Word(&'a str),
}

impl<'a> Fields<'a, ()> {
    /// Reads on where `reader` stands, and tells nobody.
    #[must_use]
    pub(crate) fn silent(reader: Reader<'a>) -> Self {
        Self { reader, scribe: () }
    }
}

impl<'a, S: Scribe> Fields<'a, S> {
    /// Reads on where `reader` stands, and tells `scribe`.
    #[must_use]
    pub(crate) fn new(reader: Reader<'a>, scribe: S) -> Self {
        Self { reader, scribe }
    }

    /// The cursor itself, for what is no field.
    #[must_use]
    pub(crate) fn reader(&self) -> &Reader<'a> {
        &self.reader
    }

    /// What follows belongs to entry `number` (from 0) of `list`.
    #[inline]
    pub(crate) fn entry(&mut self, list: &'static str, number: usize) {
        self.scribe.entry(list, number);
    }

    /// What follows belongs to no list.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.scribe.leave();
    }

    /// One byte, a number.
    #[inline]
    pub(crate) fn u8(&mut self, name: &'static str) -> Result<u8, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.u8()?;
        self.scribe.note(name, "u8", at, 1, Shown::Number(value.into()));
        Ok(value)
    }

    /// One byte, a letter.
    #[inline]
    pub(crate) fn letter(&mut self, name: &'static str) -> Result<u8, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.u8()?;
        self.scribe.note(name, "letter", at, 1, Shown::Letter(value));
        Ok(value)
    }

    /// Two bytes, little-endian.
    #[inline]
    pub(crate) fn u16_le(&mut self, name: &'static str) -> Result<u16, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.u16_le()?;
        self.scribe.note(name, "u16 le", at, 2, Shown::Number(value.into()));
        Ok(value)
    }

    /// Two bytes, big-endian.
    #[inline]
    pub(crate) fn u16_be(&mut self, name: &'static str) -> Result<u16, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.array().map(u16::from_be_bytes)?;
        self.scribe.note(name, "u16 be", at, 2, Shown::Number(value.into()));
        Ok(value)
    }

    /// Four bytes, little-endian.
    #[inline]
    pub(crate) fn u32_le(&mut self, name: &'static str) -> Result<u32, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.u32_le()?;
        self.scribe.note(name, "u32 le", at, 4, Shown::Number(value.into()));
        Ok(value)
    }

    /// Four bytes, little-endian, with a sign.
    #[inline]
    pub(crate) fn i32_le(&mut self, name: &'static str) -> Result<i32, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.array().map(i32::from_le_bytes)?;
        self.scribe.note(name, "i32 le", at, 4, Shown::Signed(value.into()));
        Ok(value)
    }

    /// Four bytes, little-endian, a single-precision number.
    #[inline]
    pub(crate) fn f32_le(&mut self, name: &'static str) -> Result<f32, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.array().map(f32::from_le_bytes)?;
        self.scribe.note(name, "f32 le", at, 4, Shown::Float(value));
        Ok(value)
    }

    /// Eight bytes, little-endian.
    #[inline]
    pub(crate) fn u64_le(&mut self, name: &'static str) -> Result<u64, DecodeError> {
        let at = self.reader.position();
        let value = self.reader.u64_le()?;
        self.scribe.note(name, "u64 le", at, 8, Shown::Number(value));
        Ok(value)
    }

    /// `size` bytes, at most eight, little-endian.
    #[inline]
    pub(crate) fn uint_le(&mut self, name: &'static str, size: usize) -> Result<u64, DecodeError> {
        let at = self.reader.position();
        let mut bytes = [0; 8];
        let value = match bytes.get_mut(..size) {
            Some(low) => {
                low.copy_from_slice(self.reader.bytes(size)?);
                u64::from_le_bytes(bytes)
            }
            None => return Err(self.reader.error(Problem::Value)),
        };
        self.scribe.note(name, "uint le", at, size, Shown::Number(value));
        Ok(value)
    }

    /// `N` bytes as they are.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, name: &'static str) -> Result<[u8; N], DecodeError> {
        let at = self.reader.position();
        let value = self.reader.array::<N>()?;
        self.scribe.note(name, "bytes", at, N, Shown::Bytes(&value));
        Ok(value)
    }

    /// An address of `N` bytes, 4 (IPv4) or 16 (IPv6), and a port after it, big-endian.
    pub(crate) fn address<const N: usize>(&mut self, name: &'static str) -> Result<SocketAddr, DecodeError>
    where
        IpAddr: From<[u8; N]>,
    {
        let at = self.reader.position();
        let address = self.reader.address::<N>()?;
        self.scribe.note(name, "address", at, N + 2, Shown::Word(&address.to_string()));
        Ok(address)
    }

    /// Text up to a NUL. One that is cut is put into `field` as far as it goes, and is an error.
    #[inline]
    pub(crate) fn text(&mut self, name: &'static str, field: &mut Option<&'a [u8]>) -> Result<(), DecodeError> {
        let at = self.reader.position();
        match self.reader.cstr() {
            Ok(text) => {
                *field = Some(text);
                self.scribe.note(name, "string", at, text.len() + 1, Shown::Text(text));
                Ok(())
            }
            Err(error) => {
                let rest = self.reader.rest();
                *field = Some(rest);
                self.scribe.note(name, "string, cut", at, rest.len(), Shown::Text(rest));
                Err(error)
            }
        }
    }

    /// Text behind a byte that says how long it is. One that is cut is put into `field` as far as it goes, and is an error.
    #[inline]
    pub(crate) fn counted_text(&mut self, name: &'static str, field: &mut Option<&'a [u8]>) -> Result<(), DecodeError> {
        let at = self.reader.position();
        let length = usize::from(self.reader.u8()?);
        if let Ok(text) = self.reader.bytes(length) {
            *field = Some(text);
            self.scribe.note(name, "counted string", at, length + 1, Shown::Text(text));
            return Ok(());
        }
        let rest = self.reader.take_rest();
        *field = Some(rest);
        self.scribe.note(name, "counted string, cut", at, rest.len() + 1, Shown::Text(rest));
        Err(self.reader.error(Problem::Cut))
    }

    /// The next `length` bytes, or as many as there are, as text.
    #[inline]
    pub(crate) fn span(&mut self, name: &'static str, length: usize) -> &'a [u8] {
        self.ended_span(name, length, b"")
    }

    /// The next `length` bytes, or as many as there are, as text, and `end` after them if it is there.
    #[inline]
    pub(crate) fn ended_span(&mut self, name: &'static str, length: usize, end: &[u8]) -> &'a [u8] {
        let at = self.reader.position();
        let text = self.reader.take(length);
        self.reader.skip(end);
        self.scribe.note(name, "text", at, self.reader.position() - at, Shown::Text(text));
        text
    }

    /// Passes over `length` bytes, or as many as there are, that are no field: what stands between two of them.
    #[inline]
    pub(crate) fn pass(&mut self, length: usize) {
        let _ = self.reader.take(length);
    }

    /// Everything that is left, as text.
    pub(crate) fn rest(&mut self, name: &'static str) -> &'a [u8] {
        let at = self.reader.position();
        let rest = self.reader.take_rest();
        self.scribe.note(name, "text", at, rest.len(), Shown::Text(rest));
        rest
    }

    /// Everything that is left, as bytes.
    pub(crate) fn bytes(&mut self, name: &'static str) -> &'a [u8] {
        let at = self.reader.position();
        let rest = self.reader.take_rest();
        self.scribe.note(name, "bytes", at, rest.len(), Shown::Bytes(rest));
        rest
    }

    /// Skips `prefix` if it comes next, and says whether it did.
    pub(crate) fn skip(&mut self, name: &'static str, prefix: &[u8]) -> bool {
        let at = self.reader.position();
        let found = self.reader.skip(prefix);
        if found {
            self.scribe.note(name, "bytes", at, prefix.len(), Shown::Bytes(prefix));
        }
        found
    }
}

impl Scribe for () {
    #[inline]
    fn note(&mut self, _: &'static str, _: &'static str, _: usize, _: usize, _: Shown<'_>) {}
    #[inline]
    fn entry(&mut self, _: &'static str, _: usize) {}
    #[inline]
    fn leave(&mut self) {}
}

/// A message taken apart.
#[derive(Debug, Default, Clone, PartialEq)]
#[non_exhaustive]
pub struct Dissection {
    /// What kind of message it is.
    pub title: &'static str,
    /// Its fields, in the order of the wire.
    pub fields: Vec<Field>,
    entry: Option<(&'static str, usize)>,
}

/// One field of a message.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// Name, with the entry of the list that it belongs to before it: `player 3 score`.
    pub name: String,
    /// Type on the wire.
    pub kind: &'static str,
    /// Offset from the start of the message.
    pub at: usize,
    /// Bytes.
    pub size: usize,
    /// Value in readable form. It may hold any character: whoever prints it sees to the terminal's safety.
    pub value: String,
}

impl Scribe for &mut Dissection {
    fn note(&mut self, name: &'static str, kind: &'static str, at: usize, size: usize, value: Shown<'_>) {
        let name = match self.entry {
            Some((list, number)) => format!("{list} {number} {name}"),
            None => name.to_owned(),
        };
        let value = match value {
            Shown::Bytes(bytes) if bytes.len() > MOST_BYTES => format!("{} bytes", bytes.len()),
            value => value.to_string(),
        };
        self.fields.push(Field { name, kind, at, size, value });
    }

    fn entry(&mut self, list: &'static str, number: usize) {
        self.entry = Some((list, number));
    }

    fn leave(&mut self) {
        self.entry = None;
    }
}

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Letter(letter) if letter.is_ascii_graphic() => write!(f, "{}", char::from(*letter)),
            Self::Letter(letter) => write!(f, "0x{letter:02x}"),
            Self::Text(text) => f.write_str(&String::from_utf8_lossy(text)),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Bytes without a meaning as text that are written out.
const MOST_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_read_is_noted_with_its_place() {
        let mut dissection = Dissection::default();
        let mut fields = Fields::new(Reader::new(b"\x05ab\0\xFF\xFF\xFF\xFF\x00\x01yzx"), &mut dissection);
        let mut text = None;
        assert_eq!(fields.u8("count"), Ok(5));
        assert_eq!(fields.text("name", &mut text), Ok(()));
        fields.entry("player", 2);
        assert_eq!(fields.i32_le("score"), Ok(-1));
        assert_eq!(fields.u16_be("ping"), Ok(1));
        assert_eq!(fields.ended_span("letters", 1, b"z"), b"y");
        assert_eq!(fields.text("tail", &mut text).map_err(|error| error.problem), Err(Problem::Unterminated));
        assert_eq!(text, Some(&b"x"[..]));
        let noted: Vec<_> =
            dissection.fields.iter().map(|f| (f.name.as_str(), f.kind, f.at, f.size, f.value.as_str())).collect();
        assert_eq!(
            noted,
            [
                ("count", "u8", 0, 1, "5"),
                ("name", "string", 1, 3, "ab"),
                ("player 2 score", "i32 le", 4, 4, "-1"),
                ("player 2 ping", "u16 be", 8, 2, "1"),
                ("player 2 letters", "text", 10, 2, "y"),
                ("player 2 tail", "string, cut", 12, 1, "x"),
            ]
        );
    }

    #[test]
    fn text_of_a_known_length_ends_with_the_message_at_the_latest() {
        let mut dissection = Dissection::default();
        let mut fields = Fields::new(Reader::new(b"key=value"), &mut dissection);
        assert_eq!(fields.span("key", 3), b"key");
        fields.pass(1);
        assert_eq!((fields.span("value", 99), fields.reader().is_empty()), (&b"value"[..], true));
        fields.pass(1);
        let places: Vec<_> = dissection.fields.iter().map(|f| (f.name.as_str(), f.at, f.size)).collect();
        assert_eq!(places, [("key", 0, 3), ("value", 4, 5)]);
    }

    #[test]
    fn a_silent_cursor_reads_the_same() {
        let mut fields = Fields::silent(Reader::new(b"\x01\x02\x03\x04\x05\x06\x07\x08\x09"));
        assert_eq!(fields.u64_le("id"), Ok(0x0807_0605_0403_0201));
        assert_eq!(fields.u16_le("port").map_err(|error| (error.problem, error.at)), Err((Problem::Cut, 8)));
    }

    #[test]
    fn numbers_and_texts_may_say_their_size() {
        let mut dissection = Dissection::default();
        let mut fields = Fields::new(Reader::new(b"\x01\x02\x03\x02ab\x00\x05abc"), &mut dissection);
        let mut text = None;
        fields.entry("mod", 0);
        assert_eq!((fields.uint_le("id", 3), fields.uint_le("nothing", 0)), (Ok(0x03_02_01), Ok(0)));
        assert_eq!(fields.uint_le("id", 9).map_err(|error| (error.problem, error.at)), Err((Problem::Value, 3)));
        assert_eq!((fields.counted_text("name", &mut text), text), (Ok(()), Some(&b"ab"[..])));
        fields.leave();
        assert_eq!((fields.counted_text("name", &mut text), text), (Ok(()), Some(&b""[..])));
        let cut = fields.counted_text("name", &mut text).map_err(|error| (error.problem, error.at));
        assert_eq!((cut, text), (Err((Problem::Cut, 11)), Some(&b"abc"[..])));
        let places: Vec<_> = dissection.fields.iter().map(|f| (f.name.as_str(), f.at, f.size)).collect();
        let expected =
            [("mod 0 id", 0, 3), ("mod 0 nothing", 3, 0), ("mod 0 name", 3, 3), ("name", 6, 1), ("name", 7, 4)];
        assert_eq!(places, expected);
    }
}
