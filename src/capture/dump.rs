//! Lines of hex dumps: an offset, bytes, and the bytes again as text.
//!
//! ```text
//! xxd         00000000: ffff ffff 4902 5465 7374 00         ....I.Test.
//! hexdump -C  00000000  ff ff ff ff 49 02 54 65  73 74 00   |....I.Test.|
//!             0000000b
//! tcpdump -X  <tab>0x0000:  4500 0027 …                     E..'…
//! ```
//!
//! Which bytes are hex and which are text is told by the separator, never by how they look: two spaces, or a bar.

/// Which program wrote a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `xxd`: eight digits (seven in old versions), a colon.
    Xxd,
    /// `hexdump -C`, `hd`: eight digits, two spaces.
    Hexdump,
    /// `tcpdump -x` and `-X`: `0x`, four digits, a colon.
    Tcpdump,
}

/// A line of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DumpLine<'a> {
    pub form: Form,
    /// Of its first byte.
    pub offset: u64,
    /// The bytes in hex.
    pub hex: &'a str,
    /// Where they are in the line, in bytes of text.
    pub at: usize,
    /// It has a column of text behind a bar, as nothing but `hexdump -C` has.
    pub barred: bool,
}

impl<'a> DumpLine<'a> {
    /// Reads a line without the blanks before it; none if it has not the form of one. A line of `hexdump -C` may
    /// also be plain digits in groups: whoever knows the lines before it has to decide.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (prefix, digits_and_rest) = text.strip_prefix("0x").map_or(("", text), |rest| ("0x", rest));
        let end = digits_and_rest.find(|ch: char| !ch.is_ascii_hexdigit()).unwrap_or(digits_and_rest.len());
        let (digits, rest) = digits_and_rest.split_at_checked(end)?;
        let offset = u64::from_str_radix(digits, 16).ok()?;
        let (form, rest) = match (prefix, digits.len(), rest.strip_prefix(':')) {
            ("0x", 4.., Some(rest)) => (Form::Tcpdump, rest),
            ("", 7.., Some(rest)) => (Form::Xxd, rest),
            ("", 8, None) if rest.trim().is_empty() || rest.starts_with("  ") => (Form::Hexdump, rest),
            _ => return None,
        };
        let rest = rest.trim_start();
        let barred = form == Form::Hexdump && rest.contains('|');
        let (hex, _) = rest.split_once(if form == Form::Hexdump { "|" } else { "  " }).unwrap_or((rest, ""));
        Some(Self { form, offset, hex, at: text.len() - rest.len(), barred })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_beside_the_bytes_is_not_taken_for_hex() {
        for (line, form, hex) in [
            ("00000000: 6465 6164 6265 6566  deadbeef", Form::Xxd, "6465 6164 6265 6566"),
            ("00000000: 64                   d", Form::Xxd, "64"),
            ("0000000: 6420 20                d  ", Form::Xxd, "6420 20"),
            ("00000000: ffff", Form::Xxd, "ffff"),
            ("00000010  64 65 61 64  62 65 65 66  |deadbeef|", Form::Hexdump, "64 65 61 64  62 65 65 66"),
            ("00000000  7c 7c                     |||||", Form::Hexdump, "7c 7c"),
            ("00000008", Form::Hexdump, ""),
            ("0x0010:  6465 6164 62             deadb", Form::Tcpdump, "6465 6164 62"),
        ] {
            let read = DumpLine::read(line).unwrap();
            assert_eq!((read.form, read.hex.trim()), (form, hex), "{line}");
            assert!(line[read.at..].starts_with(hex));
        }
    }

    #[test]
    fn plain_digits_are_no_dump() {
        for line in ["ffffffff49", "ff:ff:ff:ff", "ffff:ffff", "ffffffff 49", "0xff 0xff", "0xffff", "", "é: ff", "0x:"]
        {
            assert_eq!(DumpLine::read(line), None, "{line}");
        }
    }
}
