//! What was odd about a server's answers, as a set of words.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of oddities; written as words with a space between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u32);

impl Flags {
    /// Nothing odd.
    pub const NONE: Self = Self(0);
    /// A text held control characters or line separators; others stand for them.
    pub const CONTROL_CHARS: Self = Self(1);
    /// A text was not valid UTF-8; what is invalid is shown as U+FFFD.
    pub const UTF8_LOSSY: Self = Self(1 << 1);
    /// An answer ended early; what came was kept.
    pub const TRUNCATED: Self = Self(1 << 2);
    /// An answer broke its specification in a known way that could be mended.
    pub const MALFORMED: Self = Self(1 << 3);
    /// An answer went on after its last known field.
    pub const TRAILING_BYTES: Self = Self(1 << 4);
    /// The answer may belong to an earlier try, so the round-trip time is a guess.
    pub const RTT_AMBIGUOUS: Self = Self(1 << 5);
    /// A list declares another number of entries than it has.
    pub const COUNT_MISMATCH: Self = Self(1 << 6);
    /// A number was infinite or no number.
    pub const NOT_FINITE: Self = Self(1 << 7);
    /// A GoldSource server answered one query in its old and its new form; the new one counts.
    pub const GOLDSOURCE_DUAL: Self = Self(1 << 8);
    /// The server hides its players: the only one in the list is called "Max Players" and has the slots as its score.
    pub const PLAYERS_HIDDEN: Self = Self(1 << 9);
    /// The overflow byte in the rules of an Arma 3 or DayZ server is not zero: something may have been left out.
    pub const RULES_OVERFLOW: Self = Self(1 << 10);
    /// All players are bots, and half of the slots or more are taken: the count is hardly one of people.
    pub const BOTS_FILL: Self = Self(1 << 11);
    /// The number of slots is one that the game does not have: 255, all that a byte holds, or more than 32 on GoldSource.
    pub const MAX_PLAYERS_FAKE: Self = Self(1 << 12);
    /// More than twenty ports of the address gave this answer.
    pub const SAME_ANSWER: Self = Self(1 << 13);

    /// Every flag with its word and its meaning.
    pub const ALL: &[(Self, &str, &str)] = &[
        (
            Self::CONTROL_CHARS,
            "control_chars",
            "a text held control characters or line separators; others stand for them",
        ),
        (Self::UTF8_LOSSY, "utf8_lossy", "a text was not valid UTF-8; what is invalid is shown as U+FFFD"),
        (Self::TRUNCATED, "truncated", "an answer ended early; what came was kept"),
        (Self::MALFORMED, "malformed", "an answer broke its specification in a known way that could be mended"),
        (Self::TRAILING_BYTES, "trailing_bytes", "an answer went on after its last known field"),
        (Self::RTT_AMBIGUOUS, "rtt_ambiguous", "a retry was sent before the answer came; rtt_ms counts from the retry"),
        (Self::COUNT_MISMATCH, "count_mismatch", "a list declares another number of entries than it has"),
        (Self::NOT_FINITE, "not_finite", "a number was infinite or no number; it is null"),
        (
            Self::GOLDSOURCE_DUAL,
            "goldsource_dual",
            "a GoldSource server answered one query in its old and its new form; the new one counts",
        ),
        (
            Self::PLAYERS_HIDDEN,
            "players_hidden",
            "the server hides its players: the only one in the list is called Max Players and has the slots as its score",
        ),
        (
            Self::RULES_OVERFLOW,
            "rules_overflow",
            "the overflow byte in the rules of an Arma 3 or DayZ server is not zero: something may have been left out",
        ),
        (
            Self::BOTS_FILL,
            "bots_fill",
            "suspicion: bots are as many as players_best, or more, and take half of the slots at least",
        ),
        (
            Self::MAX_PLAYERS_FAKE,
            "max_players_fake",
            "suspicion: a number of slots that the game does not have: 255 (all that a byte holds), or more than 32 on \
             GoldSource",
        ),
        (
            Self::SAME_ANSWER,
            "same_answer",
            "suspicion, with --flag-clones: twenty other ports of the address gave the same name, map and players before",
        ),
    ];

    /// True when `other`'s flags are all set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when no flag is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The words of the flags that are set.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().filter(move |(flag, ..)| self.contains(*flag)).map(|(_, word, _)| *word)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, word) in self.words().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(word)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_as_words_in_a_fixed_order() {
        let flags = Flags::TRUNCATED | Flags::UTF8_LOSSY;
        assert_eq!(flags.to_string(), "utf8_lossy truncated");
        assert!(flags.contains(Flags::TRUNCATED) && !flags.contains(Flags::MALFORMED));
        assert_eq!(Flags::NONE.to_string(), "");
    }

    #[test]
    fn every_flag_is_one_bit_of_its_own() {
        let all = Flags::ALL.iter().fold(0, |bits, (flag, ..)| {
            assert_eq!(flag.0.count_ones(), 1);
            assert_eq!(bits & flag.0, 0);
            bits | flag.0
        });
        assert_eq!(all.count_ones() as usize, Flags::ALL.len());
    }
}
