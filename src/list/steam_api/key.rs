//! The key of the Steam Web API, which nothing prints.

use std::fmt;

/// A key of the Steam Web API. It has no way to be printed: what holds one may be printed, and shows `[hidden]` instead.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key(Box<str>);

impl Key {
    /// Reads a key with nothing but blanks around it. An error says what is wrong and never what was read: whoever mixes
    /// up two files must not find the other secret in a log.
    pub(crate) fn new(text: &str) -> Result<Self, &'static str> {
        // Some editors put a byte order mark in front.
        let key = text.trim_start_matches('\u{FEFF}').trim();
        if key.is_empty() {
            Err("there is nothing in it")
        } else if key.len() > LONGEST || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            Err("this is no key of the Steam Web API, which is 32 hexadecimal digits and nothing else")
        } else {
            Ok(Self(key.into()))
        }
    }

    /// The key itself, for the header of a request and for nothing else.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// `text` without what may be a key: nobody who typed one in the wrong place shall find it in a log.
#[must_use]
pub(crate) fn without_keys(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_hexdigit();
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    // Bounded by the text: each turn takes some of it.
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_digit(c) != is_digit(first)).unwrap_or(rest.len());
        shown += if is_digit(first) && end >= DIGITS { HIDDEN } else { &rest[..end] };
        rest = &rest[end..];
    }
    shown
}

const HIDDEN: &str = "[hidden]";
/// So many hexadecimal digits in a row may be most of a key, which has 32.
const DIGITS: usize = 16;
/// Today's keys have 32 digits; other forms may come.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_out_of_a_text_and_nothing_else_is() {
        let key = "0123456789abcdef0123456789ABCDEF";
        for (text, expected) in [
            (key.to_owned(), "[hidden]".to_owned()),
            (format!("é?key={key}&x={key}0"), "é?key=[hidden]&x=[hidden]".into()),
            (format!("https://u:{key}@h/"), "https://u:[hidden]@h/".into()),
            (key[1..].into(), "[hidden]".into()),
            (key[17..].into(), key[17..].into()),
            ("steam-api:?filter=/appid/730".into(), "steam-api:?filter=/appid/730".into()),
            (String::new(), String::new()),
        ] {
            assert_eq!(without_keys(&text), expected);
        }
    }

    #[test]
    fn neither_a_key_nor_what_was_taken_for_one_is_printed() {
        let key = Key::new("\u{FEFF} 0123456789ABCDEF0123456789ABCDEF\r\n").unwrap();
        assert_eq!(key.reveal(), "0123456789ABCDEF0123456789ABCDEF");
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "[hidden] Some([hidden])");
        for wrong in ["", " \n", "hunter2 hunter3", "hunter2\n0123", "hunter2\u{0}", &"h".repeat(257)] {
            assert!(!Key::new(wrong).unwrap_err().contains("hunter"), "{wrong:?}");
        }
    }
}
