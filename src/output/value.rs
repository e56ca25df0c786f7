//! The text of a value, the same in every format.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use jiff::Timestamp;

use crate::record::Value;

/// Appends one `value` as plain text to `out`; an absent value is empty.
pub(super) fn put(value: &Value<'_>, out: &mut Vec<u8>) {
    Printer::default().put(value, out);
}

/// Writes values as text. It remembers the last second that it wrote, since rows come many to a second.
#[derive(Debug, Default)]
pub(super) struct Printer {
    second: Option<i64>,
    /// That second as `2026-01-31T23:59:58`.
    prefix: Vec<u8>,
}

impl Printer {
    /// Appends `value`; see [`put`].
    pub(super) fn put(&mut self, value: &Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::Absent => {}
            Value::Word(word) | Value::Label(word) => out.extend_from_slice(word.as_bytes()),
            Value::Text(text) => out.extend_from_slice(text.as_str().unwrap_or_default().as_bytes()),
            Value::Byte(byte) if byte.is_ascii_graphic() => out.push(*byte),
            Value::Byte(byte) => put_display(format_args!("0x{byte:02x}"), out),
            Value::Socket(SocketAddr::V4(address)) => {
                put_ipv4(*address.ip(), out);
                out.push(b':');
                put_number(address.port(), out);
            }
            Value::Ip(SocketAddr::V4(address)) => put_ipv4(*address.ip(), out),
            Value::Socket(address) => put_display(format_args!("{address}"), out),
            Value::Ip(SocketAddr::V6(address)) => {
                put_display(format_args!("{}", address.ip()), out);
                // As in the address with its port.
                if address.scope_id() != 0 {
                    out.push(b'%');
                    put_number(address.scope_id(), out);
                }
            }
            Value::Integer(number) | Value::Id(number) => put_number(*number, out),
            Value::Micros(us) => {
                put_number(us / 1000, out);
                out.push(b'.');
                put_digits::<3>(us % 1000, out);
            }
            Value::Timestamp(us) => {
                self.put_second(us.div_euclid(1_000_000), out);
                out.push(b'.');
                put_digits::<6>(us.rem_euclid(1_000_000) as u32, out);
                out.push(b'Z');
            }
            Value::Boolean(true) => out.extend_from_slice(b"true"),
            Value::Boolean(false) => out.extend_from_slice(b"false"),
            Value::Flags(flags) if flags.is_empty() => {}
            Value::Flags(flags) => put_display(format_args!("{flags}"), out),
        }
    }

    fn put_second(&mut self, second: i64, out: &mut Vec<u8>) {
        if self.second != Some(second) {
            self.second = Some(second);
            let at = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
            self.prefix.clear();
            put_display(format_args!("{at:.0}"), &mut self.prefix);
            self.prefix.pop(); // the Z, which stands behind the fraction
        }
        out.extend_from_slice(&self.prefix);
    }
}

fn put_ipv4(ip: Ipv4Addr, out: &mut Vec<u8>) {
    let [a, b, c, d] = ip.octets();
    put_number(a, out);
    for octet in [b, c, d] {
        out.push(b'.');
        put_number(octet, out);
    }
}

fn put_number(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The last `N` decimal digits of `number`, with zeros before it.
fn put_digits<const N: usize>(mut number: u32, out: &mut Vec<u8>) {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits);
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
        Printer::default().put(&value, &mut out);
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
        assert_eq!(text(Value::Timestamp(-1)), "1969-12-31T23:59:59.999999Z");
        assert_eq!(text(Value::Micros(u32::MAX)), "4294967.295");
        assert_eq!(text(Value::Socket("203.0.113.7:27015".parse().unwrap())), "203.0.113.7:27015");
        let ip = |address: &str| text(Value::Ip(address.parse().unwrap()));
        assert_eq!(ip("10.20.30.255:1"), "10.20.30.255");
        assert_eq!(ip("[2001:db8::1]:1"), "2001:db8::1");
        assert_eq!(ip("[fe80::1%3]:1"), "fe80::1%3");
        assert_eq!(text(Value::Socket("[fe80::1%3]:1".parse().unwrap())), "[fe80::1%3]:1");
        assert_eq!(text(Value::Socket("[2001:db8::1]:27015".parse().unwrap())), "[2001:db8::1]:27015");
        assert_eq!(text(Value::Flags(Flags::MALFORMED)), "malformed");
        assert_eq!(text(Value::Boolean(false)), "false");
    }

    #[test]
    fn a_second_that_is_remembered_is_written_as_one_that_is_not() {
        let mut printer = Printer::default();
        for us in [0, 1, 999_999, 1_000_000, 1_700_000_000_999_999, 1_700_000_001_000_000, 1_700_000_000_500_000] {
            let mut out = Vec::new();
            printer.put(&Value::Timestamp(us), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text(Value::Timestamp(us)));
        }
    }
}
