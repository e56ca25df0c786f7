//! What Arma 3 and DayZ hide in their rules: mods, DLC and signatures, as a message of their own ("server browser
//! protocol").
//!
//! ```text
//! rules      number:1 total:1 00 page 00 …     pages of at most 124 bytes, numbered from 1, among other rules
//! page       01 01 is 01, 01 02 is 00, 01 03 is FF: undone in one pass over all pages together, left to right
//!
//! message    version:1 overflow:1 dlc_bits:2 [difficulty:2] hash:4 for each bit that is set, from the lowest
//!            count:1 (hash:4 id_length:1 id:id_length name_length:1 name)*                mods
//!            count:1 (length:1 signature)* [length:1 description]
//! ```
//!
//! Version 3 is Arma 3's. Version 2 is DayZ's, without the difficulty and with the description; an early DayZ has plain
//! rules. The low four bits of `id_length` are the length of the number in the Steam Workshop, and a number of zero is a
//! mod that is not from there. With bit 4 it is a DLC of another maker, the number is its application id, and the name is
//! empty. Of a message without all of its pages, what stands before the gap is read. What the bits of `overflow` mean is
//! not known but for the name. Source: Bohemia's wiki, "Arma 3: `ServerBrowserProtocol3`", and captures of both games.

use std::ops::Range;

use crate::protocol::{Dissection, Fields, Scribe, Shown};
use crate::record::{Dlc, Flags, Mod, Rules, ServerRecord};
use crate::wire::{DecodeError, Problem, Reader};

/// Reads what is hidden in the rules of `record` into its lists, if anything is, and flags what is odd about it.
pub(super) fn fill(record: &mut ServerRecord) {
    let Some(pages) = Pages::of(&record.rules, 0) else { return };
    let mut bytes = Vec::new();
    let mut flags = pages.join(|byte, _| bytes.push(byte));
    let mut message = Message::default();
    let game = Game::of(&bytes);
    if game == Some(Game::DayZ) && record.app_id == Some(ARMA3) {
        // What Arma 3 called version 2, long ago, had another layout.
        return;
    }
    if game.is_some() {
        let mut fields = Fields::silent(Reader::new(&bytes));
        match message.read(&mut fields) {
            Ok(()) if !fields.reader().is_empty() => flags |= Flags::TRAILING_BYTES,
            Ok(()) => {}
            Err(DecodeError { problem: Problem::Value, .. }) => flags |= Flags::MALFORMED,
            Err(_) => flags |= Flags::TRUNCATED,
        }
    } else if !bytes.is_empty() {
        // Another version, or rules of another game.
        return;
    }
    record.flags |= flags;
    if message.overflow != 0 {
        record.flags |= Flags::RULES_OVERFLOW;
    }
    (record.mods, record.dlc) = (message.mods, message.dlc);
}

/// Takes apart what is hidden in `rules`, the first of which begins `begin` bytes after the start of the datagram.
pub(super) fn dissect(rules: &Rules, begin: usize, notes: &mut Dissection) -> Result<(), DecodeError> {
    let Some(pages) = Pages::of(rules, begin) else { return Ok(()) };
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    pages.join(|byte, place| {
        bytes.push(byte);
        places.push(place);
    });
    if Game::of(&bytes).is_none() {
        return Ok(());
    }
    let end = places.last().map_or(begin, |place: &Range<usize>| place.end);
    let mut fields = Fields::new(Reader::new(&bytes), Placed { notes, places: &places });
    fields.leave();
    Message::default().read(&mut fields).map_err(|DecodeError { problem, at }| {
        let at = places.get(at as usize).map_or(end, |place| place.start);
        DecodeError::new(problem, at as u32)
    })
}

/// The pages of a message, by their numbers.
struct Pages<'a> {
    /// Each with its place in the datagram.
    all: [Option<(&'a [u8], usize)>; 255],
    total: usize,
}

impl<'a> Pages<'a> {
    /// The rules that are pages, if there are any. The first of them begins `at` bytes after the start of the datagram.
    fn of(rules: &'a Rules, mut at: usize) -> Option<Self> {
        let mut pages: Option<Self> = None;
        for (name, value) in rules.iter() {
            let place = at + name.len() + 1;
            at = place + value.len() + 1;
            let &[number, total] = name else { continue };
            if number == 0 || number > total {
                continue;
            }
            // A total may be a letter; a first number that is one belongs to a rule with a name of two letters.
            if pages.is_none() && !number.is_ascii_control() {
                continue;
            }
            let pages = pages.get_or_insert_with(|| Self { all: [None; 255], total: usize::from(total) });
            if pages.total == usize::from(total) {
                pages.all[usize::from(number) - 1].get_or_insert((value, place));
            }
        }
        pages
    }

    /// Gives each byte of the message to `put`, with the bytes of the datagram that stand for it, up to the first that is
    /// missing or cannot be read, and says which of it was. More than a message can have is left over and not looked at.
    fn join(&self, mut put: impl FnMut(u8, Range<usize>)) -> Flags {
        let pages = self.all[..self.total].iter();
        let mut sent = pages.clone().map_while(|page| *page).flat_map(|(page, at)| (at..).zip(page));
        for _ in 0..MOST_BYTES {
            let Some((at, &byte)) = sent.next() else { break };
            if byte != ESCAPE {
                put(byte, at..at + 1);
                continue;
            }
            match sent.next() {
                Some((end, &escaped @ 1..=3)) => put([0x01, 0x00, 0xFF][usize::from(escaped) - 1], at..end + 1),
                Some(_) => return Flags::MALFORMED,
                None => return Flags::TRUNCATED,
            }
        }
        if pages.into_iter().any(Option::is_none) { Flags::TRUNCATED } else { Flags::NONE }
    }
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Game {
    Arma3,
    DayZ,
}

impl Game {
    /// What the first byte of a message says.
    fn of(message: &[u8]) -> Option<Self> {
        match message.first() {
            Some(2) => Some(Self::DayZ),
            Some(3) => Some(Self::Arma3),
            _ => None,
        }
    }

    /// The name of the DLC that bit number `bit` stands for.
    fn dlc(self, bit: usize) -> Option<&'static str> {
        let names = match self {
            Self::Arma3 => ARMA3_DLC,
            Self::DayZ => DAYZ_DLC,
        };
        names.get(bit).copied()
    }
}

/// What a message says, as far as it goes.
#[derive(Debug, Default)]
struct Message {
    overflow: u8,
    dlc: Option<Vec<Dlc>>,
    mods: Option<Vec<Mod>>,
}

impl Message {
    /// Reads until something is missing; what was read before stays.
    fn read<S: Scribe>(&mut self, fields: &mut Fields<'_, S>) -> Result<(), DecodeError> {
        let at = fields.reader().position();
        let game = Game::of(&[fields.u8("mods version")?]).ok_or(DecodeError::new(Problem::Value, at as u32))?;
        self.overflow = fields.u8("overflow")?;
        let bits = fields.u16_le("dlc bits")?;
        let named = (0..16).filter(|bit| bits >> bit & 1 != 0);
        let dlc = self.dlc.insert(named.map(|bit| Dlc { name: game.dlc(bit), app_id: None, hash: None }).collect());
        if game == Game::Arma3 {
            fields.array::<2>("difficulty")?;
        }
        for (number, dlc) in dlc.iter_mut().enumerate() {
            fields.entry("dlc", number);
            dlc.hash = Some(fields.array("hash")?);
        }
        fields.leave();
        let count = fields.u8("mods")?;
        let mods = self.mods.insert(Vec::new());
        for number in 0..count {
            fields.entry("mod", number.into());
            read_mod(fields, mods, dlc)?;
        }
        fields.leave();
        let count = fields.u8("signatures")?;
        for number in 0..count {
            fields.entry("signature", number.into());
            fields.counted_text("name", &mut None)?;
        }
        fields.leave();
        if game == Game::DayZ && !fields.reader().is_empty() {
            fields.counted_text("description", &mut None)?;
        }
        Ok(())
    }
}

/// Reads an entry of the list of mods: into `mods`, or into `dlc` if it is one. One whose name is cut is kept.
fn read_mod<S: Scribe>(fields: &mut Fields<'_, S>, mods: &mut Vec<Mod>, dlc: &mut Vec<Dlc>) -> Result<(), DecodeError> {
    let hash = fields.array("hash")?;
    let length = fields.u8("id length")?;
    let is_dlc = length & IS_DLC != 0;
    let id = fields.uint_le(if is_dlc { "app id" } else { "workshop id" }, usize::from(length & ID_LENGTH))?;
    let mut name = None;
    let result = fields.counted_text("name", &mut name);
    if is_dlc {
        let known = ARMA3_CREATOR_DLC.iter().find(|(app_id, _)| u64::from(*app_id) == id);
        dlc.push(Dlc { name: known.map(|(_, name)| *name), app_id: u32::try_from(id).ok(), hash: Some(hash) });
    } else {
        mods.push(Mod { name: name.map(Box::from), workshop_id: Some(id).filter(|id| *id != 0), hash });
    }
    result
}

/// Tells where in the datagram the fields of a message are that is hidden in it.
struct Placed<'a> {
    notes: &'a mut Dissection,
    /// Of each byte of the message.
    places: &'a [Range<usize>],
}

impl Scribe for Placed<'_> {
    fn note(&mut self, name: &'static str, kind: &'static str, at: usize, size: usize, value: Shown<'_>) {
        let places = self.places.get(at..at + size).unwrap_or_default();
        let begin = self.places.get(at).or(self.places.last()).map_or(0, |place| place.start);
        // Where a page ends inside, what stands between it and the next belongs to it.
        let end = places.last().map_or(begin, |place| place.end);
        self.notes.note(name, kind, begin, end - begin, value);
    }

    fn entry(&mut self, list: &'static str, number: usize) {
        self.notes.entry(list, number);
    }

    fn leave(&mut self) {
        self.notes.leave();
    }
}

/// Steam application id of Arma 3.
const ARMA3: u32 = 107_410;
/// The longest message, of 16 DLC, 255 mods with numbers of 8 bytes, 255 signatures and a description, has 134,203 bytes.
const MOST_BYTES: usize = 134_204;
const ESCAPE: u8 = 0x01;
const IS_DLC: u8 = 0x10;
const ID_LENGTH: u8 = 0x0F;

/// What the bits of Arma 3 mean, from the lowest. Bohemia's wiki has all but the last, which is from captures; it calls the
/// last but one Enoch, as Bohemia called it before it came out.
const ARMA3_DLC: &[&str] = &[
    "Karts",
    "Marksmen",
    "Helicopters",
    "Zeus",
    "Apex",
    "Jets",
    "Laws of War",
    "Malden",
    "Tac-Ops Mission Pack",
    "Tanks",
    "Contact",
    "Contact (Platform)",
    "Art of War",
];
/// What the bits of DayZ mean, from the lowest.
const DAYZ_DLC: &[&str] = &["Livonia", "Frostline"];
/// DLC of other makers by their Steam application ids.
const ARMA3_CREATOR_DLC: &[(u32, &str)] = &[
    (1_042_220, "Global Mobilization - Cold War Germany"),
    (1_175_380, "Spearhead 1944"),
    (1_227_700, "S.O.G. Prairie Fire"),
    (1_294_440, "CSLA Iron Curtain"),
    (1_681_170, "Western Sahara"),
    (2_647_760, "Reaction Forces"),
    (2_647_830, "Expeditionary Forces"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::wire::put_cstr;

    /// The rules of `message` in pages of `size` bytes, with one of another kind before and after them.
    fn pages(message: &[u8], size: usize) -> Rules {
        let escape = |byte: &u8| match byte {
            0x01 => vec![1, 1],
            0x00 => vec![1, 2],
            0xFF => vec![1, 3],
            byte => vec![*byte],
        };
        let escaped: Vec<u8> = message.iter().flat_map(escape).collect();
        let total = escaped.len().div_ceil(size) as u8;
        let mut rules = Rules::default();
        rules.begin();
        rules.push(b"ab", b"two letters are no page");
        for (number, page) in (1..).zip(escaped.chunks(size)) {
            rules.push(&[number, total], page);
        }
        rules.push(b"island", b"enoch");
        rules
    }

    fn record(rules: Rules) -> ServerRecord {
        let mut record = ServerRecord::new();
        record.rules = rules;
        fill(&mut record);
        record
    }

    /// Without some of its pages.
    fn without(rules: &Rules, missing: impl Fn(&[u8]) -> bool) -> Rules {
        let mut left = Rules::default();
        left.begin();
        rules.iter().filter(|(name, _)| !missing(name)).for_each(|(name, value)| left.push(name, value));
        left
    }

    fn named(name: &[u8], workshop_id: Option<u64>, hash: [u8; 4]) -> Mod {
        Mod { name: Some(name.into()), workshop_id, hash }
    }

    /// Arma 3 with Zeus, Art of War and a bit that nobody knows, every length of an id, and a DLC of another maker.
    const ARMA3_MESSAGE: &[u8] = b"\x03\0\x08\x50\x9b\x01\
        \x10\xC5\xA5\x58\xEB\x6F\xB2\x0B\0\x01\xFF\x02\
        \x05\
        \x8C\xE9\x0C\x6C\x04\xCE\xB4\xC5\x93\x03CUP\
        \0\0\0\0\x01\0\x04mine\
        \x01\x01\x02\x03\x08\xFF\0\0\0\0\0\0\x80\0\
        \xAA\xBB\xCC\xDD\x13\x2C\xE7\x0F\0\
        \x09\x09\x09\x09\0\x01x\
        \x02\x02a3\0";

    #[test]
    fn arma_3_lists_dlc_and_mods() {
        for size in [1, 2, 7, 124] {
            let record = record(pages(ARMA3_MESSAGE, size));
            assert_eq!(
                record.mods.unwrap(),
                [
                    named(b"CUP", Some(2_479_207_630), *b"\x8C\xE9\x0C\x6C"),
                    named(b"mine", None, [0; 4]),
                    named(b"", Some(0x8000_0000_0000_00FF), [1, 1, 2, 3]),
                    named(b"x", None, [9; 4]),
                ]
            );
            let official = |name, hash| Dlc { name, app_id: None, hash: Some(hash) };
            let creator = "Global Mobilization - Cold War Germany";
            assert_eq!(
                record.dlc.unwrap(),
                [
                    official(Some("Zeus"), *b"\x10\xC5\xA5\x58"),
                    official(Some("Art of War"), *b"\xEB\x6F\xB2\x0B"),
                    official(None, *b"\0\x01\xFF\x02"),
                    Dlc { name: Some(creator), app_id: Some(1_042_220), hash: Some(*b"\xAA\xBB\xCC\xDD") },
                ]
            );
            assert_eq!(record.flags, Flags::NONE, "pages of {size}");
        }
    }

    /// DayZ with Frostline, one mod and a description.
    const DAYZ_MESSAGE: &[u8] =
        b"\x02\0\x02\0\x01\x02\x03\x04\x01\xFC\xEC\x49\x6D\x04\x02\x08\x27\x6B\x01W\x01\x04dayz\x02hi";

    #[test]
    fn dayz_has_no_difficulty_and_a_description() {
        let expected = [named(b"W", Some(1_797_720_066), *b"\xFC\xEC\x49\x6D")];
        let flags = |message: &[u8]| {
            let record = record(pages(message, 124));
            assert_eq!(record.mods.unwrap(), expected);
            assert_eq!(record.dlc.unwrap(), [Dlc { name: Some("Frostline"), app_id: None, hash: Some([1, 2, 3, 4]) }]);
            record.flags
        };
        assert_eq!(flags(DAYZ_MESSAGE), Flags::NONE);
        assert_eq!(flags(&DAYZ_MESSAGE[..DAYZ_MESSAGE.len() - 3]), Flags::NONE, "the description may be left out");
        assert_eq!(flags(&DAYZ_MESSAGE[..DAYZ_MESSAGE.len() - 1]), Flags::TRUNCATED);
        assert_eq!(flags(&[DAYZ_MESSAGE, b"?"].concat()), Flags::TRAILING_BYTES);
        let mut overflowing = DAYZ_MESSAGE.to_vec();
        overflowing[1] = 8;
        assert_eq!(flags(&overflowing), Flags::RULES_OVERFLOW);
    }

    #[test]
    fn escapes_are_undone_in_one_pass_over_all_pages() {
        let join = |values: &[&[u8]]| {
            let mut rules = Rules::default();
            rules.begin();
            for (number, value) in (1..).zip(values) {
                rules.push(&[number, values.len() as u8], value);
            }
            let mut bytes = Vec::new();
            let flags = Pages::of(&rules, 0).unwrap().join(|byte, _| bytes.push(byte));
            (bytes, flags)
        };
        // Replaced one sequence after the other, 01 01 02 would become 00.
        let one = join(&[b"\x01\x01\x02\x01\x01\x03\x01\x01\x01\x01\x02"]);
        assert_eq!(one, (b"\x01\x02\x01\x03\x01\x01\x02".to_vec(), Flags::NONE));
        assert_eq!(join(&[b"a\x01", b"\x03\x01\x02"]), (b"a\xFF\0".to_vec(), Flags::NONE), "across pages");
        assert_eq!(join(&[b"ab\x01\x04c"]), (b"ab".to_vec(), Flags::MALFORMED));
        assert_eq!(join(&[b"ab\x01"]), (b"ab".to_vec(), Flags::TRUNCATED));
    }

    #[test]
    fn what_stands_before_a_missing_page_is_sure() {
        // The first of four pages ends before the length of the first mod's name, the last begins in the signatures.
        let all = pages(ARMA3_MESSAGE, 33);
        let total = 4;
        let gap = |missing: u8| record(without(&all, |name| name == [missing, total]));
        let (first, second, last) = (gap(1), gap(2), gap(total));
        assert_eq!((first.mods, first.dlc, first.flags), (None, None, Flags::TRUNCATED));
        let nameless = Mod { name: None, workshop_id: Some(2_479_207_630), hash: *b"\x8C\xE9\x0C\x6C" };
        assert_eq!(
            (second.mods.unwrap(), second.dlc.unwrap().len(), second.flags),
            (vec![nameless], 3, Flags::TRUNCATED)
        );
        assert_eq!((last.mods.unwrap().len(), last.dlc.unwrap().len(), last.flags), (4, 4, Flags::TRUNCATED));
        // Pages may come in any order, and twice.
        let mut shuffled = Rules::default();
        shuffled.begin();
        let mut entries: Vec<_> = all.iter().chain(all.iter()).collect();
        entries.reverse();
        for (name, value) in entries {
            shuffled.push(name, value);
        }
        let (shuffled, whole) = (record(shuffled), record(all));
        assert_eq!((shuffled.mods, shuffled.dlc, shuffled.flags), (whole.mods, whole.dlc, Flags::NONE));
    }

    #[test]
    fn rules_of_other_games_and_other_versions_are_left_alone() {
        let untouched = |rules| {
            let record = record(rules);
            (record.mods, record.dlc, record.flags) == (None, None, Flags::NONE)
        };
        let mut plain = Rules::default();
        plain.begin();
        for (name, value) in [(&b"ab"[..], &b"\x03"[..]), (b"cd", b""), (b"\x02\x01", b"\x03"), (b"\x01", b"\x03")] {
            plain.push(name, value);
        }
        assert!(untouched(plain));
        for version in (0..=255).filter(|version| ![2, 3].contains(version)) {
            assert!(untouched(pages(&[&[version], &ARMA3_MESSAGE[1..]].concat(), 124)), "{version}");
        }
        let mut old = ServerRecord::new();
        (old.rules, old.app_id) = (pages(DAYZ_MESSAGE, 124), Some(107_410));
        fill(&mut old);
        assert_eq!((old.mods, old.flags), (None, Flags::NONE));
    }

    #[test]
    fn an_id_of_more_than_eight_bytes_ends_the_list() {
        let record = record(pages(b"\x02\0\0\0\x02abcd\x01\x07\x01xabcd\x09123456789\0\0", 124));
        assert_eq!(record.mods.unwrap(), [named(b"x", Some(7), *b"abcd")]);
        assert_eq!(record.flags, Flags::MALFORMED);
    }

    #[test]
    fn the_longest_message_is_read_and_no_more_than_it() {
        let text = [&[255][..], &[b'x'; 255]].concat();
        let one = [b"hash\x0812345678", &text[..]].concat();
        let hashes = [7; 64];
        let parts: [&[u8]; 7] =
            [b"\x02\0\xFF\xFF", &hashes, &[255], &one.repeat(255), &[255], &text.repeat(255), &text];
        let mut message = parts.concat();
        // Without the difficulty of Arma 3, which has no description.
        assert_eq!(message.len(), MOST_BYTES - 1 - 2);
        let whole = record(pages(&message, 600));
        assert_eq!((whole.mods.unwrap().len(), whole.dlc.unwrap().len(), whole.flags), (255, 16, Flags::NONE));
        message.resize(500_000, b'x');
        let rules = pages(&message, 2_000);
        let mut joined = 0;
        Pages::of(&rules, 0).unwrap().join(|_, _| joined += 1);
        let longer = record(rules);
        assert_eq!((joined, longer.mods.unwrap().len(), longer.flags), (MOST_BYTES, 255, Flags::TRAILING_BYTES));
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let whole = record(pages(ARMA3_MESSAGE, 124));
        let (all, all_dlc) = (whole.mods.unwrap(), whole.dlc.unwrap());
        for length in 0..ARMA3_MESSAGE.len() {
            let cut = record(pages(&ARMA3_MESSAGE[..length], 124));
            let mods = cut.mods.unwrap_or_default();
            // The last one may lack a part of its name.
            assert!(mods.len() <= all.len() && mods.iter().zip(&all).all(|(cut, whole)| cut.hash == whole.hash));
            assert!(mods.iter().rev().skip(1).rev().zip(&all).all(|(cut, whole)| cut == whole), "{length} bytes");
            let dlc = cut.dlc.unwrap_or_default();
            assert!(dlc.iter().zip(&all_dlc).all(|(cut, whole)| cut.name == whole.name), "{length} bytes");
            assert_eq!(cut.flags, if length == 0 { Flags::NONE } else { Flags::TRUNCATED }, "{length} bytes");
        }
    }

    #[test]
    fn a_dissection_shows_every_field_where_it_lies_in_the_datagram() {
        let rules = pages(ARMA3_MESSAGE, 30);
        let mut datagram = b"\xFF\xFF\xFF\xFFE\0\0".to_vec();
        for (name, value) in rules.iter() {
            put_cstr(&mut datagram, name);
            put_cstr(&mut datagram, value);
        }
        let mut notes = Dissection::default();
        assert_eq!(super::super::dissect(&datagram, &[], &mut notes), Ok(()));
        let field =
            |name: &str| notes.fields.iter().find(|field| field.name == name).unwrap_or_else(|| panic!("{name}"));
        let bytes = |name: &str| &datagram[field(name).at..][..field(name).size];
        assert_eq!((field("dlc bits").value.as_str(), bytes("dlc bits")), ("20488", &b"\x08\x50"[..]));
        assert_eq!(bytes("dlc 2 hash"), b"\x01\x02\x01\x01\x01\x03\x02");
        assert_eq!((field("mod 0 name").value.as_str(), bytes("mod 0 name").last()), ("CUP", Some(&b'P')));
        assert_eq!((field("mod 1 workshop id").value.as_str(), bytes("mod 1 workshop id")), ("0", &b"\x01\x02"[..]));
        assert_eq!(field("mod 3 app id").value, "1042220");
        assert_eq!((field("signature 0 name").value.as_str(), bytes("signature 0 name")), ("a3", &b"\x02a3"[..]));
        assert_eq!(field("signature 1 name").value, "");

        // The place of an error is that in the datagram, too.
        let cut = datagram.len() - 20;
        let mut notes = Dissection::default();
        let error = super::super::dissect(&datagram[..cut], &[], &mut notes).unwrap_err();
        assert!(error.at as usize <= cut && notes.fields.iter().any(|field| field.name == "mod 3 app id"));
    }

    #[test]
    fn thousands_of_bit_flips_are_survived_within_bounds() {
        let mut rng = Rng::new(57);
        for turn in 0..20_000 {
            let message = if turn % 2 == 0 { ARMA3_MESSAGE } else { DAYZ_MESSAGE };
            let mut bent = message.to_vec();
            for _ in 0..=rng.below(3) {
                let bit = rng.below(bent.len() as u64 * 8);
                bent[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            let rules = pages(&bent, 1 + rng.below(124) as usize);
            let mut notes = Dissection::default();
            let _ = dissect(&rules, 7, &mut notes);
            let size: usize = 7 + rules.iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>();
            assert!(notes.fields.iter().all(|field| field.at + field.size <= size), "turn {turn}");
            let record = record(rules);
            assert!(
                record.mods.map_or(0, |mods| mods.len()) <= 255 && record.dlc.map_or(0, |dlc| dlc.len()) <= 16 + 255
            );
        }
    }
}
