//! The key of the Steam Web API, which nothing prints.

use std::fmt;

/// A key of the Steam Web API. It has no way to be printed: what holds one may be printed, and shows `[hidden]` instead.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Box<str>);

impl Key {
    /// Reads a key with nothing but blanks around it. An error says what is wrong and never what was read: whoever mixes
    /// up two files must not find the other secret in a log.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let key = text.trim();
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
        f.write_str("[hidden]")
    }
}

/// Today's keys have 32 digits; other forms may come.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_key_nor_what_was_taken_for_one_is_printed() {
        let key = Key::new(" 0123456789ABCDEF0123456789ABCDEF\r\n").unwrap();
        assert_eq!(key.reveal(), "0123456789ABCDEF0123456789ABCDEF");
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "[hidden] Some([hidden])");
        for wrong in ["", " \n", "hunter2 hunter3", "hunter2\n0123", "hunter2\u{0}", &"h".repeat(257)] {
            assert!(!Key::new(wrong).unwrap_err().contains("hunter"), "{wrong:?}");
        }
    }
}
