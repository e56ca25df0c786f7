//! Replies that are cut into pieces, and put together again.
//!
//! ```text
//! GoldSource   FE FF FF FF id:4 number:4bit total:4bit                   payload
//! Source 2006  FE FF FF FF id:4 total:1 number:1                         payload
//! Source       FE FF FF FF id:4 total:1 number:1 size:2                  payload
//!
//! compressed   bit 31 of the id is set; piece 0 begins with size:4 crc32:4, then comes a bzip2 stream
//! ```
//!
//! A piece does not say which of the three it is. Piece 0 does: the message inside begins with `FF FF FF FF`, which thus
//! stands at byte 9, 10 or 12 (compressed: `BZh` eight bytes behind). The other pieces of its id are read like it. The
//! size counts bytes of payload and is true for neither the last piece nor servers whose administrators changed it; it
//! is not used.

use std::io::Read;

use bzip2::read::BzDecoder;

use super::HEADER;
use crate::protocol::{Dissection, Fields, Join};
use crate::record::ServerRecord;
use crate::wire::{DecodeError, Problem, Reader};

/// One piece, as far as it can be read without the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Of which reply.
    pub id: u32,
    data: &'a [u8],
}

/// Where a piece says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    GoldSource,
    Source2006,
    Source,
}

/// What the pieces of a flight make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// Different pieces that came of a reply.
    pub came: usize,
    /// Pieces that it has, if that is known.
    pub total: Option<usize>,
}

impl<'a> Piece<'a> {
    /// Reads the header of a piece. One that is cut, of none, or beyond the last in every layout is an error.
    pub(super) fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        if !reader.skip(SPLIT_HEADER) {
            return Err(reader.error(Problem::Header));
        }
        let id = reader.u32_le()?;
        let at = reader.position() as u32;
        reader.u8()?;
        let piece = Self { id, data };
        if Layout::ALL.iter().all(|layout| piece.place(*layout).is_none()) {
            return Err(DecodeError::new(Problem::Value, at));
        }
        Ok(piece)
    }

    /// Number and total according to `layout`, if they can be.
    pub(super) fn place(&self, layout: Layout) -> Option<(u8, u8)> {
        let first = *self.data.get(8)?;
        let (number, total) = match layout {
            Layout::GoldSource => (first >> 4, first & 0x0F),
            Layout::Source2006 | Layout::Source => (*self.data.get(9)?, first),
        };
        (number < total).then_some((number, total))
    }

    /// The payload according to `layout`.
    pub(super) fn payload(&self, layout: Layout) -> Option<&'a [u8]> {
        self.data.get(layout.header_size()..)
    }

    /// True if the reply is compressed, where that is known.
    fn is_compressed(&self, layout: Layout) -> bool {
        layout != Layout::GoldSource && self.id & COMPRESSED != 0
    }

    /// The layout, if this is piece 0 of one.
    pub(super) fn layout(&self) -> Option<Layout> {
        let is_first = |layout: &Layout| self.place(*layout).is_some_and(|(number, _)| number == 0);
        // A size field of FF FF is none; four bytes FF where it would be are the header of the message.
        let with_header = [Layout::GoldSource, Layout::Source2006, Layout::Source];
        // Some servers leave the header of the message out; then a size field is one if it can be a size.
        let bare = [Layout::GoldSource, Layout::Source, Layout::Source2006];
        let with_header = with_header.into_iter().filter(is_first).find(|layout| self.begins_message(*layout));
        with_header.or_else(|| bare.into_iter().filter(is_first).find(|layout| self.begins_bare_message(*layout)))
    }

    fn begins_message(&self, layout: Layout) -> bool {
        let Some(payload) = self.payload(layout) else { return false };
        if self.is_compressed(layout) {
            payload.get(8..).is_some_and(|stream| stream.starts_with(STREAM))
        } else {
            payload.starts_with(HEADER)
        }
    }

    fn begins_bare_message(&self, layout: Layout) -> bool {
        let Some(payload) = self.payload(layout) else { return false };
        let is_kind = payload.first().is_some_and(|kind| BARE_KINDS.contains(kind));
        let size = self.data.get(10..12).and_then(|bytes| Some(u16::from_le_bytes(bytes.try_into().ok()?)));
        is_kind && (layout != Layout::Source || size.is_some_and(|size| usize::from(size) >= payload.len()))
    }
}

impl Layout {
    const ALL: [Self; 3] = [Self::GoldSource, Self::Source2006, Self::Source];

    /// Bytes before the payload.
    pub(super) const fn header_size(self) -> usize {
        match self {
            Self::GoldSource => 9,
            Self::Source2006 => 10,
            Self::Source => 12,
        }
    }

    /// What a person reads of a piece 0.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GoldSource => "first piece of a split reply (GoldSource)",
            Self::Source2006 => "first piece of a split reply (Source without the size field)",
            Self::Source => "first piece of a split reply (Source)",
        }
    }
}

/// Puts the reply together that the newest of `parts` belongs to.
pub(super) fn join(parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
    let Some(newest) = parts.last().and_then(|part| Piece::read(part).ok()) else { return Join::More };
    let Some(set) = Set::of(newest.id, parts) else { return Join::More };
    if set.payloads[..set.total].iter().any(Option::is_none) {
        return Join::More;
    }
    let payloads = set.payloads[..set.total].iter().flatten();
    payloads.for_each(|payload| whole.extend_from_slice(payload));
    if set.compressed {
        let stream = std::mem::take(whole);
        if decompress(&stream, whole).is_none() {
            return Join::Corrupt;
        }
    }
    if !whole.starts_with(HEADER) {
        whole.splice(..0, HEADER.iter().copied());
    }
    Join::Whole
}

/// How many pieces came of the reply of which most came.
pub(super) fn count(parts: &[&[u8]]) -> Count {
    let pieces = || parts.iter().filter_map(|part| Piece::read(part).ok());
    // Bounded by the square of the pieces that a flight may have; asked once, when one ends with pieces left over.
    let of = |id| match Set::of(id, parts) {
        Some(set) => Count { came: set.payloads.iter().flatten().count(), total: Some(set.total) },
        None => Count { came: pieces().filter(|piece| piece.id == id).count(), total: None },
    };
    let mut ids: Vec<u32> = pieces().map(|piece| piece.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(of).max_by_key(|count| count.came).unwrap_or(Count { came: 0, total: None })
}

/// The type of the message that `piece` is one of; pieces that make no message are of the longest kind there is.
pub(super) fn kind(piece: &[u8], parts: &[&[u8]]) -> Option<u8> {
    let id = Piece::read(piece).ok()?.id;
    let of_id = |part: &&&[u8]| Piece::read(part).is_ok_and(|other| other.id == id);
    let set: Vec<&[u8]> = parts.iter().filter(of_id).copied().collect();
    let mut whole = Vec::new();
    match join(&set, &mut whole) {
        Join::Whole => whole.get(HEADER.len()).copied(),
        Join::More | Join::Corrupt => Some(super::RULES),
    }
}

/// Says in `record` how far a reply came of which pieces are among `answers`, since it was never whole.
pub(super) fn say_what_is_missing(answers: &[&[u8]], record: &mut ServerRecord) {
    let pieces: Vec<&[u8]> = answers.iter().copied().filter(|answer| answer.starts_with(SPLIT_HEADER)).collect();
    if pieces.is_empty() || record.error.as_str().is_some() {
        return;
    }
    let text = match count(&pieces) {
        Count { came, total: Some(total) } => format!("{came} of {total} pieces of a split reply came"),
        Count { came, total: None } => format!("{came} pieces of a split reply came, and not the first"),
    };
    record.flags |= record.error.set(text.as_bytes());
}

/// Takes a piece apart as far as it can be without the others.
pub(super) fn dissect(data: &[u8], notes: &mut Dissection) -> Result<(), DecodeError> {
    let piece = Piece::read(data)?;
    let layout = piece.layout();
    notes.title = layout.map_or("piece of a split reply", Layout::name);
    let mut fields = Fields::new(Reader::new(data), &mut *notes);
    fields.skip("header", SPLIT_HEADER);
    fields.u32_le("id, bit 31: compressed")?;
    match layout {
        Some(Layout::GoldSource) => {
            fields.u8("number (high 4 bits), total (low 4)")?;
        }
        Some(layout) => {
            fields.u8("total")?;
            fields.u8("number")?;
            if layout == Layout::Source {
                fields.u16_le("size of a payload")?;
            }
            if piece.is_compressed(layout) {
                fields.u32_le("size when decompressed")?;
                fields.u32_le("crc32 when decompressed")?;
            }
        }
        None => {
            fields.u8("total (Source), or number and total (GoldSource)")?;
            fields.u8("number (Source)")?;
        }
    }
    fields.bytes("payload");
    Ok(())
}

/// The pieces of one reply, by number; the first that came of each counts.
struct Set<'a> {
    payloads: [Option<&'a [u8]>; 256],
    total: usize,
    compressed: bool,
}

impl<'a> Set<'a> {
    /// The pieces of `id` among `parts`, if piece 0 is one of them.
    fn of(id: u32, parts: &[&'a [u8]]) -> Option<Self> {
        let pieces = || parts.iter().filter_map(|part| Piece::read(part).ok()).filter(|piece| piece.id == id);
        let (layout, first) = pieces().find_map(|piece| Some((piece.layout()?, piece)))?;
        let (_, total) = first.place(layout)?;
        let mut payloads = [None; 256];
        for piece in pieces() {
            let place = piece.place(layout).filter(|(_, claimed)| *claimed == total);
            if let (Some((number, _)), Some(payload)) = (place, piece.payload(layout)) {
                payloads[usize::from(number)].get_or_insert(payload);
            }
        }
        Some(Self { payloads, total: usize::from(total), compressed: first.is_compressed(layout) })
    }
}

/// Decompresses what begins with size and checksum; `None` if either is wrong, or the size beyond all reason.
fn decompress(joined: &[u8], whole: &mut Vec<u8>) -> Option<()> {
    let mut reader = Reader::new(joined);
    let size = reader.u32_le().ok()? as usize;
    let checksum = reader.u32_le().ok()?;
    if size > MOST_DECOMPRESSED {
        return None;
    }
    // One more than it says, so that a stream that holds more is seen; nothing is allocated on the word of the server.
    BzDecoder::new(reader.rest()).take(size as u64 + 1).read_to_end(whole).ok()?;
    (whole.len() == size && crc32fast::hash(whole) == checksum).then_some(())
}

/// Before each piece.
pub(super) const SPLIT_HEADER: &[u8] = b"\xFE\xFF\xFF\xFF";
/// Bit of the id that says that the reply is compressed.
pub(super) const COMPRESSED: u32 = 1 << 31;
/// How a bzip2 stream begins.
const STREAM: &[u8] = b"BZh";
/// Types of replies that are sent in pieces without a header of their own: info, players, rules, details.
const BARE_KINDS: &[u8] = b"IDEm";
/// Most bytes that a compressed reply may hold: more than 255 pieces of any size seen on real servers.
const MOST_DECOMPRESSED: usize = 1 << 20;
