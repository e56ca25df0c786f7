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

use std::collections::HashMap;
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

    /// The layout, if this is piece 0 of one. A piece further on that happens to look like a message without its header is
    /// taken for one too: see [`first_of`].
    pub(super) fn layout(&self) -> Option<Layout> {
        self.layout_of_message().or_else(|| self.layout_of_bare_message())
    }

    /// The layout, if a message with its header begins here.
    fn layout_of_message(&self) -> Option<Layout> {
        // A size field of FF FF is none; four bytes FF where it would be are the header of the message.
        let layouts = [Layout::GoldSource, Layout::Source2006, Layout::Source];
        layouts.into_iter().filter(|layout| self.is_first(*layout)).find(|layout| self.begins_message(*layout))
    }

    /// The layout, if a message begins here whose header the server has left out.
    fn layout_of_bare_message(&self) -> Option<Layout> {
        // A size field is one if it can be a size.
        let layouts = [Layout::GoldSource, Layout::Source, Layout::Source2006];
        layouts.into_iter().filter(|layout| self.is_first(*layout)).find(|layout| self.begins_bare_message(*layout))
    }

    fn is_first(&self, layout: Layout) -> bool {
        self.place(layout).is_some_and(|(number, _)| number == 0)
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

/// The pieces of a reply that was put together, by their checksums: those that come again are duplicates. A server may use
/// the same id for every reply, so the id alone says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::protocol) struct Joined([u32; REMEMBERED]);

impl Joined {
    /// Remembers the newest of `parts`.
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let mut prints = [0; REMEMBERED];
        for (print, part) in prints.iter_mut().zip(parts.iter().rev()) {
            *print = crc32fast::hash(part);
        }
        Self(prints)
    }

    /// True if `piece` is one of those that are remembered.
    pub(super) fn holds(&self, piece: &[u8]) -> bool {
        self.0[0] != 0 && self.0.contains(&crc32fast::hash(piece))
    }
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

/// The types of the messages that recorded pieces are of, by the ids of their replies. Pieces that make no message, and do
/// not begin one, are of the longest kind there is.
pub(super) fn kinds(recorded: &[&[u8]]) -> HashMap<u32, u8> {
    let mut sets: HashMap<u32, Vec<&[u8]>> = HashMap::new();
    for part in recorded {
        if let Ok(piece) = Piece::read(part) {
            let set = sets.entry(piece.id).or_default();
            if set.len() < MOST_OF_A_SET {
                set.push(part);
            }
        }
    }
    let kind = |(id, set): (u32, Vec<&[u8]>)| (id, kind_of_set(&set).unwrap_or(super::RULES));
    sets.into_iter().map(kind).collect()
}

fn kind_of_set(set: &[&[u8]]) -> Option<u8> {
    let (layout, first) = first_of(set.iter().filter_map(|part| Piece::read(part).ok()))?;
    if !first.is_compressed(layout) {
        let payload = first.payload(layout)?;
        return payload.strip_prefix(HEADER).unwrap_or(payload).first().copied();
    }
    let mut whole = Vec::new();
    (join(set, &mut whole) == Join::Whole).then(|| whole.get(HEADER.len()).copied())?
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

/// Takes a piece apart, as the first one of its reply says if that is among the `others`.
pub(super) fn dissect(data: &[u8], others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
    let piece = Piece::read(data)?;
    let of_reply = others.iter().filter_map(|other| Piece::read(other).ok()).filter(|other| other.id == piece.id);
    let earlier = first_of(of_reply).map(|(layout, _)| layout);
    let is_first = piece.layout_of_message().is_some() || (earlier.is_none() && piece.layout().is_some());
    let layout = if is_first { piece.layout() } else { earlier };
    notes.title = match layout {
        None => "piece of a split reply",
        Some(layout) if is_first => layout.name(),
        Some(_) => "further piece of a split reply",
    };
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
            if is_first && piece.is_compressed(layout) {
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

/// Piece 0 among the pieces of one reply, with the layout that it tells: the newest that begins a message with its header,
/// else the first that may begin one without.
fn first_of<'a>(pieces: impl DoubleEndedIterator<Item = Piece<'a>> + Clone) -> Option<(Layout, Piece<'a>)> {
    let with_header = pieces.clone().rev().find_map(|piece| Some((piece.layout_of_message()?, piece)));
    with_header.or_else(|| pieces.into_iter().find_map(|piece| Some((piece.layout_of_bare_message()?, piece))))
}

/// The pieces of one reply, by number. The newest of each counts: a retry may bring another reply with the same id.
struct Set<'a> {
    payloads: [Option<&'a [u8]>; 256],
    total: usize,
    compressed: bool,
}

impl<'a> Set<'a> {
    /// The pieces of `id` among `parts`, if piece 0 is one of them.
    fn of(id: u32, parts: &[&'a [u8]]) -> Option<Self> {
        let pieces = || parts.iter().filter_map(|part| Piece::read(part).ok()).filter(move |piece| piece.id == id);
        let (layout, first) = first_of(pieces())?;
        let (_, total) = first.place(layout)?;
        let mut payloads = [None; 256];
        for piece in pieces() {
            let place = piece.place(layout).filter(|(_, claimed)| *claimed == total);
            if let (Some((number, _)), Some(payload)) = (place, piece.payload(layout)) {
                payloads[usize::from(number)] = Some(payload);
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
    // The least is a header and a type.
    if size <= HEADER.len() || size > MOST_DECOMPRESSED {
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
/// Pieces of a reply whose return is noticed.
const REMEMBERED: usize = 10;
/// Pieces of one reply that are looked at to know what it is.
const MOST_OF_A_SET: usize = 512;
/// Most bytes that a compressed reply may hold: more than 255 pieces of any size seen on real servers.
const MOST_DECOMPRESSED: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use bzip2::Compression;
    use bzip2::write::BzEncoder;
    use proptest::prelude::*;

    use super::*;

    const MESSAGE: &[u8] = b"\xFF\xFF\xFF\xFFE\x02\0sv_gravity\x00800\0mp_timelimit\x0030\0";

    /// `message` in `total` pieces of `layout`, or in fewer if it is short.
    fn cut(message: &[u8], layout: Layout, id: u32, total: u8) -> Vec<Vec<u8>> {
        let size = message.len().div_ceil(usize::from(total));
        let total = message.len().div_ceil(size) as u8;
        (0_u8..)
            .zip(message.chunks(size))
            .map(|(number, payload)| {
                let mut piece = [SPLIT_HEADER, &id.to_le_bytes()].concat();
                match layout {
                    Layout::GoldSource => piece.push(number << 4 | total),
                    Layout::Source2006 => piece.extend([total, number]),
                    Layout::Source => {
                        piece.extend([total, number]);
                        piece.extend((size as u16).to_le_bytes());
                    }
                }
                piece.extend_from_slice(payload);
                piece
            })
            .collect()
    }

    fn compress(message: &[u8]) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(message).unwrap();
        let head = [(message.len() as u32).to_le_bytes(), crc32fast::hash(message).to_le_bytes()].concat();
        [head, encoder.finish().unwrap()].concat()
    }

    fn join_all(pieces: &[Vec<u8>]) -> (Join, Vec<u8>) {
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let mut whole = Vec::new();
        (join(&pieces, &mut whole), whole)
    }

    #[test]
    fn the_first_piece_tells_the_layout_and_the_others_follow_it() {
        for layout in Layout::ALL {
            for total in 1..=9 {
                let pieces = cut(MESSAGE, layout, 7, total);
                assert_eq!(Piece::read(&pieces[0]).unwrap().layout(), Some(layout));
                assert_eq!(join_all(&pieces), (Join::Whole, MESSAGE.to_vec()), "{layout:?} in {total}");
                let (last, others) = pieces.split_last().unwrap();
                assert!(others.is_empty() || join_all(others).0 == Join::More);
                assert_eq!(Piece::read(last).unwrap().id, 7);
            }
        }
    }

    #[test]
    fn a_message_without_its_header_gets_one() {
        for layout in Layout::ALL {
            let pieces = cut(&MESSAGE[4..], layout, 7, 3);
            assert_eq!(join_all(&pieces), (Join::Whole, MESSAGE.to_vec()), "{layout:?}");
        }
    }

    #[test]
    fn a_header_that_stands_twice_is_no_size() {
        let twice = [HEADER, MESSAGE].concat();
        for layout in Layout::ALL {
            assert_eq!(join_all(&cut(&twice, layout, 7, 2)), (Join::Whole, twice.clone()), "{layout:?}");
        }
    }

    #[test]
    fn compressed_replies_are_checked_and_capped() {
        let long: Vec<u8> = [HEADER, b"E", &[7; 5_000]].concat();
        for layout in [Layout::Source, Layout::Source2006] {
            let id = 7 | COMPRESSED;
            assert_eq!(join_all(&cut(&compress(&long), layout, id, 2)), (Join::Whole, long.clone()), "{layout:?}");
            let mut broken = compress(&long);
            for (at, why) in [(0, "another size"), (5, "another checksum"), (30, "another stream")] {
                broken[at] ^= 1;
                assert_eq!(join_all(&cut(&broken, layout, id, 2)).0, Join::Corrupt, "{why}");
                broken[at] ^= 1;
            }
        }
        // A few bytes that would become eight megabytes.
        let bomb = compress(&vec![0; 8 << 20]);
        let mut claims_little = bomb.clone();
        claims_little[..4].copy_from_slice(&1_000_u32.to_le_bytes());
        for bytes in [bomb, claims_little] {
            let (join, whole) = join_all(&cut(&bytes, Layout::Source, 7 | COMPRESSED, 1));
            assert_eq!(join, Join::Corrupt);
            assert!(whole.capacity() <= MOST_DECOMPRESSED + 4096, "{} bytes were taken", whole.capacity());
        }
    }

    #[test]
    fn pieces_of_none_and_beyond_the_last_are_refused() {
        let piece = |place: &[u8]| [SPLIT_HEADER, &[1, 0, 0, 0], place, b"\xE0\x04\xFF\xFF\xFF\xFFE"].concat();
        // Total 0, in both ways of reading it.
        assert!(Piece::read(&piece(&[0, 0])).is_err());
        // Number 9 of 9: of GoldSource it would be number 0 of 9.
        assert!(Piece::read(&piece(&[9, 9])).is_ok());
        // Number 48 of 48, or 3 of 0.
        assert!(Piece::read(&piece(&[48, 48])).is_err());
        for length in 0..9 {
            assert!(Piece::read(&piece(&[2, 0])[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut pieces = cut(MESSAGE, Layout::Source, 7, 4);
        pieces.remove(2);
        let others = cut(MESSAGE, Layout::Source, 8, 4);
        pieces.push(others[3].clone());
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let text = |pieces: &[&[u8]]| {
            let mut record = ServerRecord::new();
            say_what_is_missing(pieces, &mut record);
            record.error.as_str().map(str::to_owned)
        };
        assert_eq!(text(&pieces).as_deref(), Some("3 of 4 pieces of a split reply came"));
        assert_eq!(text(&pieces[1..3]).as_deref(), Some("2 pieces of a split reply came, and not the first"));
        assert_eq!(text(&[MESSAGE]), None);
    }

    proptest! {
        /// Whatever the order, with duplicates, and between the pieces of another reply: the reply is whole with the last
        /// of its pieces, and not before.
        #[test]
        fn a_split_reply_survives_reordering_duplicates_and_other_replies(
            layout in prop::sample::select(&Layout::ALL[..]),
            total in 1_u8..15,
            body in prop::collection::vec(any::<u8>(), 40..4_000),
            order in prop::collection::vec(any::<prop::sample::Index>(), 20..60),
        ) {
            let message = [HEADER, b"E", &body].concat();
            let mine = cut(&message, layout, 7, total);
            let total = mine.len();
            let other = cut(MESSAGE, layout, 8, total as u8);
            let all: Vec<&Vec<u8>> = mine.iter().chain(&other[1..]).collect();
            let mut came: Vec<&[u8]> = Vec::new();
            let mut whole = Vec::new();
            for index in order {
                let piece = index.get(&all).as_slice();
                came.push(piece);
                whole.clear();
                let result = join(&came, &mut whole);
                let have_all = mine.iter().all(|piece| came.contains(&piece.as_slice()));
                if have_all && mine.iter().any(|one| one == piece) {
                    // The number in the header says four or eight bits of the total, which is right if it was cut so.
                    prop_assert_eq!((result, whole == message), (Join::Whole, true));
                } else {
                    prop_assert_eq!(result, Join::More);
                }
            }
        }
    }
}
