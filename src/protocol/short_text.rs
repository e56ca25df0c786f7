//! Short texts of simulated servers, made for each request without an allocation.

use std::fmt::{self, Write};

/// At most 64 bytes of text, without an allocation.
#[derive(Clone, Copy)]
pub(crate) struct ShortText {
    bytes: [u8; 64],
    length: usize,
}

impl ShortText {
    /// Formats `arguments`; what does not fit is left out.
    #[must_use]
    pub(crate) fn format(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self { bytes: [0; 64], length: 0 };
        // The only error is that the text is full, and then it holds what fits.
        let _ = text.write_fmt(arguments);
        text
    }

    /// The text as bytes.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.length;
        let fits = text.floor_char_boundary(room);
        self.bytes[self.length..self.length + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_does_not_fit_is_cut_between_characters() {
        let text = ShortText::format(format_args!("{}日本", "x".repeat(60)));
        assert_eq!(text.as_bytes(), format!("{}日", "x".repeat(60)).as_bytes());
    }
}
