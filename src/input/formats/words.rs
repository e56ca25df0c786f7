//! Words for what a server speaks: protocols, games, and what other programs write in such columns.

use crate::config::AUTO;
use crate::games::{self, Game};
use crate::protocol;

/// What a word in a column means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Word {
    /// Nothing was written, or only that it is UDP.
    #[default]
    Nothing,
    /// Something that does not run over UDP.
    OtherTransport,
    /// A protocol, or `auto`.
    Protocol(&'static str),
    /// A game, which speaks its protocol.
    Game(&'static Game),
    /// Nobody here knows it.
    Unknown,
}

impl Word {
    fn of(text: &str) -> Self {
        let is = |word: &&str| text.eq_ignore_ascii_case(word);
        if ["", "udp"].iter().any(is) {
            return Self::Nothing;
        }
        if ["tcp", "sctp", "icmp"].iter().any(is) {
            return Self::OtherTransport;
        }
        if is(&AUTO) {
            return Self::Protocol(AUTO);
        }
        let of_qstat = QSTAT.iter().find(|(word, _)| is(word)).map(|(_, name)| *name);
        if let Some(protocol) = protocol::of_servers().find(|protocol| protocol.is_called(of_qstat.unwrap_or(text))) {
            return Self::Protocol(protocol.spec().name);
        }
        games::by_key(text).map_or(Self::Unknown, Self::Game)
    }

    /// Why it is not understood.
    pub(super) fn refusal(text: &str) -> String {
        let known: Vec<_> = protocol::of_servers().map(|protocol| protocol.spec().name).collect();
        let similar = match *games::similar(text) {
            [] => String::new(),
            ref keys => format!("; did you mean {}?", keys.join(" or ")),
        };
        let known = known.join(", ");
        format!("{text:?} is neither a protocol ({known}) nor a game (`fragscan games` lists them){similar}")
    }
}

/// Looks words up, and remembers the last one: most lists have the same in every row.
#[derive(Debug, Default)]
pub(super) struct Words {
    text: String,
    word: Word,
}

impl Words {
    /// What `text` means.
    pub(super) fn find(&mut self, text: &str) -> Word {
        if self.text != text {
            self.text.clear();
            self.text.push_str(text);
            self.word = Word::of(text);
        }
        self.word
    }
}

/// What qstat calls protocols that have other names here.
const QSTAT: [(&str, &str); 4] = [("q3s", "quake3"), ("hls", "hl1"), ("hl2s", "a2s"), ("hla2s", "a2s")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_in_any_case() {
        let mut words = Words::default();
        for (text, protocol) in
            [("a2s", "a2s"), ("A2S", "a2s"), ("Source", "a2s"), ("q3s", "quake3"), ("HLS", "hl1"), ("Auto", "auto")]
        {
            assert_eq!(words.find(text), Word::Protocol(protocol), "{text}");
        }
        assert_eq!(words.find("udp"), Word::Nothing);
        assert_eq!(words.find(""), Word::Nothing);
        assert_eq!(words.find("TCP"), Word::OtherTransport);
        assert!(matches!(words.find("DayZ"), Word::Game(game) if game.key == "dayz"));
        assert_eq!(words.find("valve-master"), Word::Unknown, "lists are no servers");
        let refusal = Word::refusal("dayzz");
        assert!(refusal.contains("a2s, quake3") && refusal.contains("did you mean dayz"), "{refusal}");
    }
}
