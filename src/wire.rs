//! Bytes in, bytes out: a checked cursor over a datagram, the error it gives, and the helpers that write one.
//!
//! The cursor hands out sub-slices of its input and never panics: every read says what was missing and where. What the
//! bytes mean is left to the protocols.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use memchr::memchr;

/// A cursor over the bytes of one datagram.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the first byte of `data`.
    #[must_use]
    pub(crate) const fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// Offset of the next byte from the start of the datagram.
    #[must_use]
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// Everything that was not read yet.
    #[must_use]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    /// Everything that was not read yet, which is read by it.
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        let rest = self.rest();
        self.at += rest.len();
        rest
    }

    /// The next `count` bytes, or as many as there are.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let rest = self.rest();
        let taken = rest.get(..count).unwrap_or(rest);
        self.at += taken.len();
        taken
    }

    /// True when every byte was read.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// The next byte, which stays unread.
    #[must_use]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.data.get(self.at).copied()
    }

    /// Skips `prefix` if it comes next, and says whether it did.
    pub(crate) fn skip(&mut self, prefix: &[u8]) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(count).ok_or_else(|| self.cut())?;
        let taken = self.data.get(self.at..end).ok_or_else(|| self.cut())?;
        self.at = end;
        Ok(taken)
    }

    /// The next `N` bytes as an array.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let found = self.rest().first_chunk::<N>().copied().ok_or_else(|| self.cut())?;
        self.at += N;
        Ok(found)
    }

    /// One byte.
    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes, little-endian.
    pub(crate) fn u16_le(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    pub(crate) fn u32_le(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    pub(crate) fn u64_le(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// An address of `N` bytes, 4 (IPv4) or 16 (IPv6), and a port after it, both in network order. An IPv4-mapped IPv6
    /// address is the IPv4 address.
    pub(crate) fn address<const N: usize>(&mut self) -> Result<SocketAddr, DecodeError>
    where
        IpAddr: From<[u8; N]>,
    {
        let mut ahead = self.clone();
        let ip = IpAddr::from(ahead.array::<N>()?).to_canonical();
        let port = u16::from_be_bytes(ahead.array()?);
        *self = ahead;
        Ok(SocketAddr::new(ip, port))
    }

    /// The bytes up to the next NUL, which is read but not returned. Without a NUL nothing is read.
    pub(crate) fn cstr(&mut self) -> Result<&'a [u8], DecodeError> {
        let rest = self.rest();
        let end = memchr(0, rest).ok_or_else(|| self.error(Problem::Unterminated))?;
        self.at += end + 1;
        Ok(&rest[..end])
    }

    /// An error at the current position.
    #[must_use]
    pub(crate) fn error(&self, problem: Problem) -> DecodeError {
        DecodeError { problem, at: u32::try_from(self.at).unwrap_or(u32::MAX) }
    }

    fn cut(&self) -> DecodeError {
        self.error(Problem::Cut)
    }
}

/// Why a datagram could not be read, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// What was wrong.
    pub problem: Problem,
    /// Offset in bytes from the start of the datagram.
    pub at: u32,
}

impl DecodeError {
    /// An error at byte `at`.
    #[must_use]
    pub(crate) const fn new(problem: Problem, at: u32) -> Self {
        Self { problem, at }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.problem.as_str(), self.at)
    }
}

impl std::error::Error for DecodeError {}

/// What can be wrong with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The datagram ends before the field does.
    Cut,
    /// A string has no terminating NUL.
    Unterminated,
    /// The header is none that this protocol knows.
    Header,
    /// The message type is none that this protocol knows.
    Type,
    /// A field holds a value that its specification rules out.
    Value,
}

impl Problem {
    /// The problem in words, for a message.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "the datagram ends early",
            Self::Unterminated => "a string is not terminated",
            Self::Header => "unknown header",
            Self::Type => "unknown message type",
            Self::Value => "impossible value",
        }
    }
}

/// Appends `text` and a NUL. A NUL inside `text` would end it early for the reader; callers pass none.
pub(crate) fn put_cstr(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_their_byte_order() {
        let mut reader = Reader::new(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u16_le(), Ok(0x0302));
        assert_eq!(reader.u32_le(), Ok(0x0706_0504));
        assert_eq!(reader.u64_le(), Ok(0x0F0E_0D0C_0B0A_0908));
        assert!(reader.is_empty());
    }

    #[test]
    fn a_read_past_the_end_says_where_and_moves_nothing() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u32_le(), Err(DecodeError::new(Problem::Cut, 1)));
        assert_eq!(reader.bytes(usize::MAX), Err(DecodeError::new(Problem::Cut, 1)));
        assert_eq!(reader.bytes(2), Ok(&[2, 3][..]));
        assert_eq!(reader.u8().map_err(|e| e.to_string()), Err("the datagram ends early at byte 3".into()));
    }

    #[test]
    fn a_string_without_its_nul_is_left_unread() {
        let mut reader = Reader::new(b"ab\0cd");
        assert_eq!(reader.cstr(), Ok(&b"ab"[..]));
        assert_eq!(reader.cstr(), Err(DecodeError::new(Problem::Unterminated, 3)));
        assert_eq!(reader.rest(), b"cd");
        assert_eq!((reader.clone().take(1), reader.clone().take(9)), (&b"c"[..], &b"cd"[..]));
        assert!(!reader.skip(b"x") && reader.skip(b"cd"));
    }
}
