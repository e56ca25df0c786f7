//! Text from a server: always valid UTF-8 on one line, with the original bytes beside it where the two differ.

use super::Flags;

/// A text field. Absent and empty are two things.
///
/// C0 controls and DEL become their Unicode pictures (U+2400 and on); C1 controls, the Unicode line and paragraph
/// separators and invalid UTF-8 become U+FFFD. When any of it happened, [`Text::original`] has the bytes as they came.
#[derive(Debug, Clone, Default)]
pub struct Text {
    value: String,
    original: Vec<u8>,
    present: bool,
    plain: bool,
}

impl Text {
    /// Takes `bytes` as the new value and says what had to be changed.
    pub fn set(&mut self, bytes: &[u8]) -> Flags {
        self.clear();
        self.present = true;
        // The whole string is looked at, without an early exit, so that the compiler can use vector instructions.
        let (mut controls, mut marks, mut all) = (0, 0, 0);
        for &byte in bytes {
            controls |= u8::from(byte < 0x20) | u8::from(byte == 0x7F);
            marks |= MARKS.iter().fold(0, |found, &mark| found | u8::from(byte == mark));
            all |= byte;
        }
        self.plain = marks == 0;
        if controls == 0
            && let Ok(text) = std::str::from_utf8(bytes)
            && (all < 0x80 || !text.chars().any(breaks_lines))
        {
            self.value.push_str(text);
            return Flags::NONE;
        }
        let mut flags = Flags::NONE;
        self.original.extend_from_slice(bytes);
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                let shown = picture(c);
                self.value.push(shown);
                if shown != c {
                    flags |= Flags::CONTROL_CHARS;
                }
            }
            if !chunk.invalid().is_empty() {
                self.value.push(char::REPLACEMENT_CHARACTER);
                flags |= Flags::UTF8_LOSSY;
            }
        }
        flags
    }

    /// Takes `shown` as the new value of a text that came as `original`, and says what else had to be changed: for texts
    /// with colour codes, or in another encoding.
    pub(crate) fn set_shown(&mut self, shown: &[u8], original: &[u8]) -> Flags {
        let flags = self.set(shown);
        if shown != original {
            self.original.clear();
            self.original.extend_from_slice(original);
        }
        flags
    }

    /// The text, if there is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.present.then_some(self.value.as_str())
    }

    /// The bytes as they came, if the text is not exactly them.
    #[must_use]
    pub fn original(&self) -> Option<&[u8]> {
        (!self.original.is_empty()).then_some(self.original.as_slice())
    }

    /// True if it holds none of `"`, `,`, `#` and `\\`, for which formats that are made of lines have a use.
    #[must_use]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Makes it absent; capacity stays.
    pub fn clear(&mut self) {
        self.value.clear();
        self.original.clear();
        self.present = false;
    }

    /// Bytes that fit without an allocation.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.value.capacity()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.original() == other.original()
    }
}

/// What a line of CSV or JSON cannot hold as it is.
const MARKS: [u8; 4] = *b"\",#\\";

fn picture(c: char) -> char {
    match c {
        '\0'..='\x1F' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7F' => '\u{2421}',
        c if breaks_lines(c) => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

/// C1 controls, which some terminals obey, and what some readers take for the end of a line.
fn breaks_lines(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9F}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_kept_and_has_no_second_form() {
        let mut text = Text::default();
        assert_eq!(text.as_str(), None);
        assert_eq!(text.set("日本語 \"x\", y".as_bytes()), Flags::NONE);
        assert_eq!(text.as_str(), Some("日本語 \"x\", y"));
        assert_eq!(text.original(), None);
        assert_eq!(text.set(b""), Flags::NONE);
        assert_eq!(text.as_str(), Some(""));
    }

    #[test]
    fn marks_of_formats_are_noticed_anywhere_in_a_text() {
        let mut text = Text::default();
        for (bytes, plain) in [(&b""[..], true), (b"de_dust2", true), ("é".as_bytes(), true), (b"\xFF\x01", true)] {
            let _ = text.set(bytes);
            assert_eq!(text.is_plain(), plain);
        }
        for mark in MARKS {
            for place in 0..40 {
                let mut bytes = [b'x'; 40];
                bytes[place] = mark;
                let _ = text.set(&bytes);
                assert!(!text.is_plain());
            }
        }
    }

    #[test]
    fn controls_become_pictures_and_the_bytes_are_kept() {
        let mut text = Text::default();
        assert_eq!(text.set(b"\x01a\r\n\x1B[0m\x7F"), Flags::CONTROL_CHARS);
        assert_eq!(text.as_str(), Some("\u{2401}a\u{240D}\u{240A}\u{241B}[0m\u{2421}"));
        assert_eq!(text.original(), Some(&b"\x01a\r\n\x1B[0m\x7F"[..]));
        assert_eq!(text.set("a\u{9B}31m\u{85}\u{2028}b".as_bytes()), Flags::CONTROL_CHARS);
        assert_eq!(text.as_str(), Some("a\u{FFFD}31m\u{FFFD}\u{FFFD}b"));
        assert!(text.original().is_some());
    }

    #[test]
    fn text_that_shows_less_than_came_keeps_what_came() {
        let mut text = Text::default();
        assert_eq!(text.set_shown(b"Arena", b"^1Arena"), Flags::NONE);
        assert_eq!((text.as_str(), text.original()), (Some("Arena"), Some(&b"^1Arena"[..])));
        assert_eq!(text.set_shown(b"a\n", b"^1a\n"), Flags::CONTROL_CHARS);
        assert_eq!((text.as_str(), text.original()), (Some("a\u{240A}"), Some(&b"^1a\n"[..])));
        assert_eq!(text.set_shown(b"Arena", b"Arena"), Flags::NONE);
        assert_eq!(text.original(), None);
    }

    #[test]
    fn invalid_utf8_becomes_replacement_characters_and_the_bytes_are_kept() {
        let mut text = Text::default();
        assert_eq!(text.set(b"Caf\xE9 \xFF\xFE \xC3("), Flags::UTF8_LOSSY);
        assert_eq!(text.as_str(), Some("Caf\u{FFFD} \u{FFFD}\u{FFFD} \u{FFFD}("));
        assert_eq!(text.original(), Some(&b"Caf\xE9 \xFF\xFE \xC3("[..]));
        assert_eq!(text.set(b"\xFF\0"), Flags::UTF8_LOSSY | Flags::CONTROL_CHARS);
    }
}
