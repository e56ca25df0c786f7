//! What a simulated server sends back to one request.

/// Datagrams that a simulated server sends back; reused from request to request.
#[derive(Debug, Default)]
pub struct Replies {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Replies {
    /// Adds one datagram that `write` appends to the buffer.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// The datagrams, in the order in which they are sent.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// True when there is no reply.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets the datagrams and keeps the capacity.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_come_out_as_they_went_in() {
        let mut replies = Replies::default();
        assert!(replies.is_empty());
        replies.push(|out| out.extend_from_slice(b"one"));
        replies.push(|_| ());
        replies.push(|out| out.extend_from_slice(b"three"));
        let all: Vec<_> = replies.iter().collect();
        assert_eq!(all, [&b"one"[..], b"", b"three"]);
        replies.clear();
        assert_eq!(replies.iter().count(), 0);
    }
}
