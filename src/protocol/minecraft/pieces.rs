//! Full stats in several datagrams, and how they are put together.
//!
//! ```text
//! piece   "splitnum" 00 number:1 (bit 7: it is the last) section:1 …
//! ```
//!
//! Each piece begins with the section that it goes on with, and within a section of players or teams with the field and
//! the number of the first value. What was cut at the end of a piece, be it a key, a value or both, comes again at the
//! beginning of the next: what makes no pair is dropped from the end.

use super::stat::{LAST, ONLY, PAIRS, SPLITNUM, has_sections};
use super::{HEADER_SIZE, body};
use crate::protocol::{Fields, Join, Scribe};
use crate::record::ServerRecord;
use crate::wire::DecodeError;

/// The pieces of a stat, by number. The newest of each counts: a retry may bring another stat.
struct Set<'a> {
    contents: [Option<&'a [u8]>; LAST as usize],
    /// Known once the last one came.
    total: Option<usize>,
}

impl<'a> Set<'a> {
    fn of(parts: &[&'a [u8]]) -> Self {
        let mut set = Self { contents: [None; LAST as usize], total: None };
        for part in parts {
            let Some([number, content @ ..]) = body(part).strip_prefix(SPLITNUM) else { continue };
            let index = usize::from(number & !LAST);
            if number & LAST != 0 {
                set.total = Some(index + 1);
            }
            set.contents[index] = Some(content);
        }
        set
    }

    /// The contents from the first on, as far as none is missing.
    fn contents(&self) -> impl Iterator<Item = &'a [u8]> {
        self.contents.iter().take(self.total.unwrap_or(usize::MAX)).map_while(|content| *content)
    }
}

/// Puts the stat together that `parts` are of, as one that was sent whole.
pub(super) fn join(parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
    let set = Set::of(parts);
    if set.total != Some(set.contents().count()) {
        return Join::More;
    }
    put_together(&set, parts, whole);
    Join::Whole
}

/// Puts the beginning of a stat together of which the last piece, or one in between, never came.
pub(super) fn join_beginning(parts: &[&[u8]]) -> Vec<u8> {
    let mut whole = Vec::new();
    put_together(&Set::of(parts), parts, &mut whole);
    whole
}

fn put_together(set: &Set<'_>, parts: &[&[u8]], whole: &mut Vec<u8>) {
    whole.extend_from_slice(parts.last().and_then(|part| part.get(..HEADER_SIZE)).unwrap_or_default());
    whole.extend_from_slice(SPLITNUM);
    whole.push(ONLY);
    let mut contents = set.contents().peekable();
    while let Some(content) = contents.next() {
        match contents.peek() {
            None => whole.extend_from_slice(content),
            Some(next) => {
                whole.extend_from_slice(without_cut(content, next));
                // Ends the value, and the list: the next piece says how it goes on.
                whole.extend([0, 0]);
            }
        }
    }
}

/// `content` without what was cut at its end and comes again at the beginning of `next`.
fn without_cut<'a>(content: &'a [u8], next: &[u8]) -> &'a [u8] {
    let again = texts(next.get(1..).unwrap_or_default()).next().unwrap_or_default();
    let pairs_end = content.first() == Some(&PAIRS) && !has_sections(content);
    let trimmed = content.strip_suffix(b"\0").unwrap_or(content);
    let start = usize::from(pairs_end);
    let all: Vec<&[u8]> = texts(trimmed.get(start..).unwrap_or_default()).collect();
    let dropped = match all.as_slice() {
        // A key without a value, or the beginning of a key.
        [.., last] if pairs_end && all.len() % 2 == 1 => last.len() + 1,
        // A value of which more is to come.
        [.., key, value] if pairs_end && *key == again => key.len() + value.len() + 2,
        // A field without values, or the beginning of its name.
        [.., end, name] if !pairs_end && end.is_empty() && again.starts_with(name) => name.len() + 1,
        _ => 0,
    };
    trimmed.get(..trimmed.len().saturating_sub(dropped)).unwrap_or_default()
}

/// Says in `record` how far a stat came of which `parts` came, since it was never whole.
pub(super) fn say_what_is_missing(parts: &[&[u8]], record: &mut ServerRecord) {
    let set = Set::of(parts);
    let came = set.contents.iter().flatten().count();
    let text = match set.total {
        Some(total) => format!("{came} of {total} pieces of a split reply came"),
        None => format!("{came} pieces of a split reply came, and not the last"),
    };
    record.flags |= record.error.set(text.as_bytes());
}

/// Takes the piece apart that `fields` stand at the body of.
pub(super) fn dissect<S: Scribe>(fields: &mut Fields<'_, S>) -> Result<(), DecodeError> {
    fields.skip("splitnum", SPLITNUM);
    fields.u8("number, 80: last")?;
    fields.u8("section")?;
    fields.bytes("payload");
    Ok(())
}

/// What stands between zeros.
fn texts(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == 0)
}
