//! What a simulated server is, as numbers: every protocol makes its answers from the same persona.

use std::fmt::{self, Write};

use crate::rng::mix;

/// One simulated server. It is only numbers, so that a farm of millions needs no memory: everything else (name, map,
/// counts) follows from `seed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Persona {
    /// Decides all that is not said below.
    pub seed: u64,
    /// Number of the server in its farm, from 0.
    pub index: u32,
    /// Port that the server listens on.
    pub port: u16,
    /// The challenge that this client must send back; `None` if the server asks for none.
    pub challenge: Option<[u8; 4]>,
    /// The server tells this client that it is banned.
    pub banned: bool,
    /// The server answers with bytes that mean nothing.
    pub malformed: bool,
}

impl Persona {
    /// A number below `bound` that is always the same for this server and `purpose`.
    #[must_use]
    pub fn pick(&self, purpose: u64, bound: u64) -> u64 {
        ((u128::from(mix(self.seed ^ mix(purpose))) * u128::from(bound)) >> 64) as u64
    }

    /// Name as a server browser shows it.
    #[must_use]
    pub fn name(&self) -> ShortText {
        let region = REGIONS[self.pick(1, REGIONS.len() as u64) as usize];
        let style = STYLES[self.pick(2, STYLES.len() as u64) as usize];
        ShortText::format(format_args!("[{region}] {style} #{}", self.index))
    }

    /// Map that is played.
    #[must_use]
    pub fn map(&self) -> &'static str {
        MAPS[self.pick(3, MAPS.len() as u64) as usize]
    }

    /// Slots.
    #[must_use]
    pub fn max_players(&self) -> u8 {
        SLOTS[self.pick(4, SLOTS.len() as u64) as usize]
    }

    /// Players, bots among them.
    #[must_use]
    pub fn players(&self) -> u8 {
        self.pick(5, u64::from(self.max_players()) + 1) as u8
    }

    /// Bots.
    #[must_use]
    pub fn bots(&self) -> u8 {
        if self.pick(6, 4) == 0 { self.pick(7, u64::from(self.players()) + 1) as u8 } else { 0 }
    }

    /// A password is needed.
    #[must_use]
    pub fn password(&self) -> bool {
        self.pick(8, 10) == 0
    }
}

/// At most 64 bytes of text, without an allocation.
#[derive(Clone, Copy)]
pub struct ShortText {
    bytes: [u8; 64],
    length: usize,
}

impl ShortText {
    /// Formats `arguments`; what does not fit is left out.
    #[must_use]
    pub fn format(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self { bytes: [0; 64], length: 0 };
        // The only error is that the text is full, and then it holds what fits.
        let _ = text.write_fmt(arguments);
        text
    }

    /// The text as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
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

/// Datagrams that a simulated server sends back; reused from request to request.
#[derive(Debug, Default)]
pub struct Replies {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Replies {
    /// Adds one datagram that `write` appends to the buffer.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
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
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets the datagrams and keeps the capacity.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

const REGIONS: [&str; 8] = ["EU", "US-East", "US-West", "BR", "AU", "SEA", "東京", "RU"];
const STYLES: [&str; 8] = [
    "24/7 Dust2, no lag",
    "Dévotion \"PRO\"",
    "Deathmatch; 128 tick",
    "Vanilla | fresh wipe",
    "Zombie, escape",
    "Surf",
    "Retakes",
    "Выживание",
];
const MAPS: [&str; 10] = [
    "de_dust2",
    "de_inferno",
    "cp_badlands",
    "pl_upward",
    "surf_mesa",
    "ctf_2fort",
    "chernarusplus",
    "gm_construct",
    "c1m1_hotel",
    "Procedural Map",
];
const SLOTS: [u8; 8] = [8, 10, 16, 24, 32, 64, 100, 127];

#[cfg(test)]
mod tests {
    use super::*;

    fn persona(seed: u64) -> Persona {
        Persona { seed, index: 9_999_999, port: 27_015, challenge: None, banned: false, malformed: false }
    }

    #[test]
    fn counts_are_plausible_for_every_seed() {
        for seed in 0..2_000 {
            let persona = persona(mix(seed));
            assert!(persona.players() <= persona.max_players());
            assert!(persona.bots() <= persona.players());
            assert!(persona.name().as_bytes().len() < 64);
        }
    }

    #[test]
    fn text_that_does_not_fit_is_cut_between_characters() {
        let text = ShortText::format(format_args!("{}日本", "x".repeat(60)));
        assert_eq!(text.as_bytes(), format!("{}日", "x".repeat(60)).as_bytes());
    }

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
