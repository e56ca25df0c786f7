//! The body of `S2A_RULES`: the server's settings.
//!
//! ```text
//! declared:2 (name 00 value 00)*
//! ```
//!
//! Rules are read to the end of the message, in their order and with what comes twice. The count is little-endian; that
//! of Frontlines: Fuel of War is big-endian, and believed where it is right and the other is not.

use crate::protocol::{Fields, Scribe};
use crate::record::{Flags, ServerRecord};
use crate::wire::{DecodeError, Reader, put_cstr};

/// Reads the body after the type byte into `record`'s list: what came is kept, and an error says where it ended early.
pub(in crate::protocol) fn read<S: Scribe>(
    fields: &mut Fields<'_, S>,
    record: &mut ServerRecord,
) -> Result<(), DecodeError> {
    record.rules.begin();
    let declared = fields.u16_le("declared")?;
    record.rules_declared = Some(declared.into());
    let mut number = 0;
    while !fields.reader().is_empty() {
        fields.entry("rule", number);
        let (mut name, mut value) = (None, None);
        let result = fields.text("name", &mut name).and_then(|()| fields.text("value", &mut value));
        // A rule whose value was cut is kept as far as it goes; one of whose name is cut, nothing is known.
        if let (Some(name), Some(value)) = (name, value) {
            record.rules.push(name, value);
        }
        result?;
        number += 1;
    }
    if number == usize::from(declared.swap_bytes()) {
        record.rules_declared = Some(declared.swap_bytes().into());
    }
    Ok(())
}

/// Reads the body after the type byte, which ends with the message, and flags what is odd about it.
pub(in crate::protocol) fn fill(body: Reader<'_>, record: &mut ServerRecord) {
    if read(&mut Fields::silent(body), record).is_err() {
        record.flags |= Flags::TRUNCATED;
    }
    if record.rules_declared != Some(record.rules.len() as u32) {
        record.flags |= Flags::COUNT_MISMATCH;
    }
}

/// Writes the body of `rules`.
pub(in crate::protocol) fn emit<'a>(rules: impl Iterator<Item = (&'a [u8], &'a [u8])>, out: &mut Vec<u8>) {
    let at = out.len();
    let mut count = 0_u16;
    out.extend([0, 0]);
    for (name, value) in rules {
        put_cstr(out, name);
        put_cstr(out, value);
        count = count.wrapping_add(1);
    }
    out[at..at + 2].copy_from_slice(&count.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(body: &[u8]) -> ServerRecord {
        let mut record = ServerRecord::new();
        fill(Reader::new(body), &mut record);
        record
    }

    fn pairs(record: &ServerRecord) -> Vec<(&[u8], &[u8])> {
        record.rules.iter().collect()
    }

    #[test]
    fn order_and_duplicates_are_kept() {
        let record = record(b"\x04\0b\x002\0a\0\0b\x003\0\0x\0");
        let expected: [(&[u8], &[u8]); 4] = [(b"b", b"2"), (b"a", b""), (b"b", b"3"), (b"", b"x")];
        assert_eq!(pairs(&record), expected);
        assert_eq!((record.rules_declared, record.flags), (Some(4), Flags::NONE));
    }

    #[test]
    fn a_cut_value_is_kept_and_flagged_and_a_cut_name_is_not_a_rule() {
        let whole = b"\x02\0a\x001\0sv_long\0abc\0";
        for length in 2..whole.len() {
            let record = record(&whole[..length]);
            let count = match length {
                0..=3 => 0,
                // Behind the name's NUL there may be a value.
                4..=13 => 1,
                _ => 2,
            };
            assert_eq!(record.rules.len(), count, "{length} bytes");
            assert_eq!(record.rules_declared, Some(2));
            assert!(!record.flags.is_empty(), "{length} bytes");
        }
        let cut = record(&whole[..whole.len() - 2]);
        assert_eq!(pairs(&cut)[1], (&b"sv_long"[..], &b"ab"[..]));
        assert_eq!(cut.flags, Flags::TRUNCATED);
    }

    #[test]
    fn a_count_that_is_wrong_is_flagged_and_one_of_the_other_byte_order_is_not() {
        assert_eq!(record(b"\x05\0a\x001\0").flags, Flags::COUNT_MISMATCH);
        let big_endian = record(b"\0\x01a\x001\0");
        assert_eq!((big_endian.rules_declared, big_endian.flags), (Some(1), Flags::NONE));
        let none = record(b"\0\0");
        assert_eq!((none.rules_declared, none.rules.is_present(), none.flags), (Some(0), true, Flags::NONE));
        assert_eq!(record(b"\0").flags, Flags::TRUNCATED | Flags::COUNT_MISMATCH);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let texts: Vec<(String, String)> = (0..300).map(|n| (format!("rule {n}"), "x".repeat(n % 9))).collect();
        let all: Vec<(&[u8], &[u8])> = texts.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let mut body = Vec::new();
        emit(all.iter().copied(), &mut body);
        assert_eq!(pairs(&record(&body)), all);
    }
}
