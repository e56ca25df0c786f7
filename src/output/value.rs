//! The text of a value, the same in every format.

use std::io::Write;

use jiff::Timestamp;

use crate::record::Value;

/// Appends `value` as plain text to `out`; an absent value is empty.
pub(super) fn put(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Absent => {}
        Value::Word(word) => out.extend_from_slice(word.as_bytes()),
        Value::Text(text) => out.extend_from_slice(text.as_str().unwrap_or_default().as_bytes()),
        Value::Byte(byte) if byte.is_ascii_graphic() => out.push(*byte),
        Value::Byte(byte) => put_display(format_args!("0x{byte:02x}"), out),
        Value::Socket(address) => put_display(format_args!("{address}"), out),
        Value::Ip(ip) => put_display(format_args!("{ip}"), out),
        Value::Integer(number) | Value::Id(number) => {
            out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
        }
        Value::Micros(us) => put_display(format_args!("{}.{:03}", us / 1000, us % 1000), out),
        Value::Timestamp(us) => {
            let at = Timestamp::from_microsecond(*us).unwrap_or(Timestamp::UNIX_EPOCH);
            put_display(format_args!("{at:.6}"), out);
        }
        Value::Boolean(true) => out.extend_from_slice(b"true"),
        Value::Boolean(false) => out.extend_from_slice(b"false"),
        Value::Flags(flags) => put_display(format_args!("{flags}"), out),
    }
}

fn put_display(text: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Flags;

    fn text(value: Value<'_>) -> String {
        let mut out = Vec::new();
        put(&value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_written_in_their_documented_form() {
        assert_eq!(text(Value::Absent), "");
        assert_eq!(text(Value::Byte(b'x')), "x");
        assert_eq!(text(Value::Byte(0)), "0x00");
        assert_eq!(text(Value::Id(u64::MAX)), "18446744073709551615");
        assert_eq!(text(Value::Micros(12_034)), "12.034");
        assert_eq!(text(Value::Timestamp(1_700_000_000_000_001)), "2023-11-14T22:13:20.000001Z");
        assert_eq!(text(Value::Timestamp(1_700_000_000_000_000)), "2023-11-14T22:13:20.000000Z");
        assert_eq!(text(Value::Socket("[2001:db8::1]:27015".parse().unwrap())), "[2001:db8::1]:27015");
        assert_eq!(text(Value::Flags(Flags::MALFORMED)), "malformed");
        assert_eq!(text(Value::Boolean(false)), "false");
    }
}
