//! What a simulated server is, as numbers: every protocol makes its answers from the same persona.

use super::short_text::ShortText;
use crate::rng::mix;

/// One simulated server. It is only numbers, so that a farm of millions needs no memory: everything else (name, map,
/// counts) follows from `seed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Persona {
    /// Decides all that is not said below.
    pub seed: u64,
    /// Number of the server in its farm, from 0.
    pub index: u32,
    /// Port that the server listens on.
    pub port: u16,
    /// The challenge that this client must send back; `None` if the server asks for none.
    pub challenge: Option<[u8; 4]>,
    /// How it treats whoever asks.
    pub manner: Manner,
    /// Which of Valve's engines it runs. Protocols of other families do not care.
    pub engine: GameEngine,
    /// It has so many rules that they do not fit in one datagram.
    pub split: bool,
    /// It has as many, and compresses them, if its engine can.
    pub bzip2: bool,
    /// It speaks one protocol only, so that requests which others would understand too are for it.
    pub alone: bool,
}

/// How a simulated server treats whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Manner {
    /// It answers.
    #[default]
    Sound,
    /// It says that the client is banned.
    Banned,
    /// It answers with bytes that mean nothing.
    Malformed,
    /// It answers each challenge with another one.
    ChallengeLoop,
    /// It answers everything with the same challenge.
    ChallengeOnly,
}

/// An engine of Valve's, by how its servers answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GameEngine {
    /// Source.
    #[default]
    Source,
    /// Source, with what The Ship adds.
    TheShip,
    /// GoldSource as it is today.
    GoldSource,
    /// GoldSource with patches that make it answer in the old form and in the new one.
    GoldSourceDual,
    /// GoldSource before it learned the new form.
    GoldSourceLegacy,
}

impl GameEngine {
    /// Every engine.
    pub const ALL: [Self; 5] =
        [Self::Source, Self::TheShip, Self::GoldSource, Self::GoldSourceDual, Self::GoldSourceLegacy];

    /// True for those that cut replies as GoldSource does.
    #[must_use]
    pub(crate) const fn is_gold_source(self) -> bool {
        matches!(self, Self::GoldSource | Self::GoldSourceDual | Self::GoldSourceLegacy)
    }
}

impl Persona {
    /// A number below `bound` that is always the same for this server and `purpose`.
    #[must_use]
    pub(crate) fn pick(&self, purpose: u64, bound: u64) -> u64 {
        ((u128::from(mix(self.seed ^ mix(purpose))) * u128::from(bound)) >> 64) as u64
    }

    /// Name as a server browser shows it.
    #[must_use]
    pub(crate) fn name(&self) -> ShortText {
        let region = REGIONS[self.pick(1, REGIONS.len() as u64) as usize];
        let style = STYLES[self.pick(2, STYLES.len() as u64) as usize];
        ShortText::format(format_args!("[{region}] {style} #{}", self.index))
    }

    /// Map that is played.
    #[must_use]
    pub(crate) fn map(&self) -> &'static str {
        MAPS[self.pick(3, MAPS.len() as u64) as usize]
    }

    /// Slots.
    #[must_use]
    pub(crate) fn max_players(&self) -> u8 {
        // GoldSource has no more than 32.
        let slots = if self.engine.is_gold_source() { &SLOTS[..5] } else { &SLOTS };
        slots[self.pick(4, slots.len() as u64) as usize]
    }

    /// Players, bots among them.
    #[must_use]
    pub(crate) fn players(&self) -> u8 {
        self.pick(5, u64::from(self.max_players()) + 1) as u8
    }

    /// Bots.
    #[must_use]
    pub(crate) fn bots(&self) -> u8 {
        if self.pick(6, 4) == 0 { self.pick(7, u64::from(self.players()) + 1) as u8 } else { 0 }
    }

    /// A password is needed.
    #[must_use]
    pub(crate) fn password(&self) -> bool {
        self.pick(8, 10) == 0
    }

    /// Name of player `number` (from 0); some are blank.
    #[must_use]
    pub(crate) fn player_name(&self, number: u32) -> ShortText {
        let name = PLAYERS[self.pick(100 + u64::from(number), PLAYERS.len() as u64) as usize];
        if name.is_empty() {
            ShortText::format(format_args!(""))
        } else {
            ShortText::format(format_args!("{name} {number}"))
        }
    }

    /// Score of player `number`; some are negative.
    #[must_use]
    pub(crate) fn score(&self, number: u32) -> i32 {
        self.pick(1_000 + u64::from(number), 60) as i32 - 5
    }

    /// Seconds that player `number` has been there; bots say -1.
    #[must_use]
    pub(crate) fn seconds(&self, number: u32) -> f32 {
        if number < u32::from(self.bots()) { -1.0 } else { self.pick(2_000 + u64::from(number), 14_400) as f32 + 0.25 }
    }

    /// How many rules there are.
    #[must_use]
    pub(crate) fn rules(&self) -> u32 {
        if self.split || self.bzip2 { 60 + self.pick(9, 140) as u32 } else { self.pick(9, 24) as u32 }
    }

    /// Name and value of rule `number` (from 0).
    #[must_use]
    pub(crate) fn rule(&self, number: u32) -> (ShortText, ShortText) {
        let name = RULES[number as usize % RULES.len()];
        let value = self.pick(3_000 + u64::from(number), 1_000);
        let name = match number as usize / RULES.len() {
            0 => ShortText::format(format_args!("{name}")),
            round => ShortText::format(format_args!("{name}_{round}")),
        };
        let value = match value % 4 {
            0 => ShortText::format(format_args!("")),
            1 => ShortText::format(format_args!("{}", value % 2)),
            2 => ShortText::format(format_args!("{value}")),
            _ => ShortText::format(format_args!("{value}; \"värde\", {}", self.map())),
        };
        (name, value)
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
const PLAYERS: [&str; 8] = ["Gordon", "(1)Barney", "玩家", "", "Zoë", "a,b;c\"d", "[clan] Ace", "Иван"];
const RULES: [&str; 12] = [
    "sv_gravity",
    "sv_cheats",
    "mp_timelimit",
    "mp_friendlyfire",
    "mp_roundtime",
    "sv_alltalk",
    "sv_maxspeed",
    "tv_enable",
    "deathmatch",
    "nextlevel",
    "sv_contact",
    "plugin_version",
];
const SLOTS: [u8; 8] = [8, 10, 16, 24, 32, 64, 100, 127];

#[cfg(test)]
mod tests {
    use super::*;

    fn persona(seed: u64) -> Persona {
        Persona {
            seed,
            index: 9_999_999,
            port: 27_015,
            challenge: None,
            manner: Manner::Sound,
            engine: GameEngine::Source,
            split: false,
            bzip2: false,
            alone: false,
        }
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
}
