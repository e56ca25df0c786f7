//! Values and keys of JSON objects, one after the other in a buffer of their object.

use std::borrow::Cow;

use super::scanner::{Problem, Scanner, UNFINISHED};

/// A value in `kept`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Value {
    start: u32,
    end: u32,
    is_text: bool,
}

impl Value {
    /// Whether it says nothing.
    pub(super) const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// What was appended to `kept` since it had `start` bytes, which are fewer than 2^32.
    pub(super) fn since(start: usize, kept: &[u8], is_text: bool) -> Self {
        Self { start: start as u32, end: kept.len() as u32, is_text }
    }

    pub(super) fn bytes(self, kept: &[u8]) -> &[u8] {
        kept.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// What it says, without escapes; nothing for `null`.
    pub(super) fn text(self, kept: &[u8]) -> Result<Cow<'_, str>, String> {
        let text =
            std::str::from_utf8(self.bytes(kept)).map_err(|_| "a value of this object is not UTF-8 text".to_owned())?;
        Ok(match (self.is_text, text) {
            (false, "null") => Cow::Borrowed(""),
            (true, text) if text.contains('\\') => {
                let quoted = format!("\"{text}\"");
                Cow::Owned(serde_json::from_str(&quoted).map_err(|error| format!("{quoted} is no JSON: {error}"))?)
            }
            (_, text) => Cow::Borrowed(text),
        })
    }
}

/// Takes a key and its colon, and appends it to `kept` with a line end; none at the end of an object.
pub(super) fn key(scanner: &mut Scanner<'_>, kept: &mut Vec<u8>) -> Result<Option<Value>, Problem> {
    let start = kept.len();
    // Bounded by the commas.
    loop {
        match scanner.next()? {
            None => return Err(UNFINISHED.into()),
            Some(b'}') => {
                scanner.bump();
                return Ok(None);
            }
            Some(b',') => scanner.bump(),
            Some(b'"') => break scanner.string(Some(kept))?,
            Some(b'{' | b'[' | b']' | b':') => return Err("a key is missing in this object".into()),
            Some(_) => break scanner.word(Some(kept), true)?,
        }
    }
    let key = Value::since(start, kept, true);
    kept.push(b'\n');
    if scanner.next()? != Some(b':') {
        return Err("a colon is missing in this object".into());
    }
    scanner.bump();
    Ok(Some(key))
}

/// Takes a text, a number or a word, and appends it to `kept`.
pub(super) fn value(scanner: &mut Scanner<'_>, kept: &mut Vec<u8>) -> Result<Value, Problem> {
    let start = kept.len();
    let is_text = scanner.next()? == Some(b'"');
    if is_text {
        scanner.string(Some(kept))?;
    } else {
        scanner.word(Some(kept), false)?;
    }
    Ok(Value::since(start, kept, is_text))
}
