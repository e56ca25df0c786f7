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

/// Reads the body behind the type byte into `record`'s list: what came is kept, and an error says where it ended early.
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

/// Reads the body behind the type byte, which ends with the message, and flags what is odd about it.
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
