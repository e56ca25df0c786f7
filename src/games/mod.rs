//! The games that can be asked: their protocol, ports and Steam application, as one table in `games.csv`.
//!
//! ```text
//! key,name,protocol,game_port,query_port,rule,app_id,mod_of,folder
//! arma3,Arma 3,a2s,2302,2303,+1 27016+(port-2302)/100,107410,,Arma3
//!                            where to look, given the port for players; see `Game::ports`
//! ag,Adrenaline Gamer,a2s,27015,27015,,,70,ag
//!                            a mod: application 70 is another game's, and only the folder tells
//! ```
//!
//! A new game is a new row; the tests below say what a row must be like. Ports are facts that others found too (the
//! makers' documentation, `GameDig`, `GameQ`, `qstat`); where those disagree the makers are right. Which game a server
//! runs is told by [`identify()`]. Speaking the protocols is left to others.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::target::PortRule;

pub(crate) mod identify;

pub(crate) use identify::identify;

/// One game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Game {
    /// What `--game` and the `game_key` column call it: small letters, digits and hyphens.
    pub key: String,
    /// What its makers call it.
    pub name: String,
    /// Name of the protocol that its servers speak.
    pub protocol: String,
    /// Port for players, unless a server says otherwise.
    pub game_port: u16,
    /// Port for queries of such a server.
    pub query_port: u16,
    /// Rules for the query ports of others, separated by spaces; none where both ports stay as far apart as these.
    pub rule: Option<String>,
    /// Its Steam application.
    pub app_id: Option<u32>,
    /// The Steam application whose id its servers give although it is not theirs.
    pub mod_of: Option<u32>,
    /// Game directories, or names, that its servers give, separated by `|`; only those that are known for sure.
    pub folder: Option<String>,
}

impl Game {
    /// Where a server may answer queries, given the port that is known of it, in the order of trying: as the rules say, at
    /// that port itself, at the usual port for queries.
    #[must_use]
    pub fn ports(&self) -> Vec<PortRule> {
        let mut ports: Vec<_> = match &self.rule {
            Some(rules) => rules.split_whitespace().map(|rule| self.port(rule)).collect(),
            None => vec![PortRule::Offset(i32::from(self.query_port) - i32::from(self.game_port))],
        };
        ports.extend([PortRule::Own, PortRule::Fixed(self.query_port)]);
        ports
    }

    fn port(&self, rule: &str) -> PortRule {
        match rule {
            "fixed" => PortRule::Fixed(self.query_port),
            rule => rule.parse().expect("the tests have read every rule of the table"),
        }
    }

    /// True if `word` is in its key or its name, in capitals or not, or is the id of its application.
    #[must_use]
    pub(crate) fn matches(&self, word: &str) -> bool {
        let small = word.to_lowercase();
        let is_id = word.parse().is_ok_and(|id: u32| [self.app_id, self.mod_of].contains(&Some(id)));
        is_id || self.key.contains(&small) || self.name.to_lowercase().contains(&small)
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        self.folder.iter().flat_map(|folders| folders.split('|'))
    }
}

/// Every game, by key.
#[must_use]
pub fn all() -> &'static [Game] {
    static GAMES: LazyLock<Vec<Game>> = LazyLock::new(|| read(TABLE).expect("the tests have read the table"));
    &GAMES
}

/// The game that `key` names, in capitals or not.
#[must_use]
pub fn by_key(key: &str) -> Option<&'static Game> {
    all().iter().find(|game| game.key.eq_ignore_ascii_case(key))
}

/// Keys that somebody may have meant by `key`, the likeliest first.
#[must_use]
pub(crate) fn similar(key: &str) -> Vec<&'static str> {
    let small = key.to_lowercase();
    let likeness =
        |game: &Game| strsim::jaro_winkler(&game.key, &small).max(if game.matches(key) { LIKE } else { 0.0 });
    let mut likely: Vec<_> =
        all().iter().map(|game| (likeness(game), game)).filter(|(like, _)| *like >= LIKE).collect();
    likely.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    likely.iter().take(MOST_SIMILAR).map(|(_, game)| game.key.as_str()).collect()
}

fn read(table: &str) -> csv::Result<Vec<Game>> {
    csv::Reader::from_reader(table.as_bytes()).into_deserialize().collect()
}

const TABLE: &str = include_str!("games.csv");
/// How alike two keys are that may be meant for each other, from 0 to 1.
const LIKE: f64 = 0.8;
const MOST_SIMILAR: usize = 3;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::protocol;

    /// Every protocol that a game of the table may speak.
    const PROTOCOLS: [&str; 8] = ["a2s", "hl1", "quake3", "fivem", "minecraft", "ut3", "justcause2", "bedrock"];

    fn game(key: &str) -> &'static Game {
        by_key(key).unwrap_or_else(|| panic!("{key} is in the table"))
    }

    /// The ports that are tried for a server of `key` whose port is `own`.
    fn tried(key: &str, own: u16) -> Vec<u16> {
        let mut ports = Vec::new();
        for port in game(key).ports().into_iter().filter_map(|rule| rule.apply(own)) {
            if !ports.contains(&port) {
                ports.push(port);
            }
        }
        ports
    }

    #[test]
    fn the_table_is_sound() {
        let games = read(TABLE).unwrap();
        assert!(games.len() >= 150, "{}", games.len());
        let keys: Vec<_> = games.iter().map(|game| game.key.as_str()).collect();
        assert!(keys.is_sorted() && keys.iter().collect::<HashSet<_>>().len() == keys.len(), "sorted, and none twice");
        let names: HashSet<_> = games.iter().map(|game| &game.name).collect();
        assert_eq!(names.len(), games.len(), "names, too");
        let mut ids = HashSet::new();
        for game in &games {
            let Game { key, name, game_port, query_port, app_id, mod_of, .. } = game;
            let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(!key.is_empty() && key.chars().all(is_letter) && !key.starts_with('-'), "{key}");
            assert!(!name.is_empty() && name.trim() == name, "{key}");
            assert!(*game_port > 0 && *query_port > 0, "{key}");
            assert!(app_id.is_none_or(|id| id > 0 && ids.insert(id)), "{key}: {app_id:?} is another game's");
            assert!(
                mod_of.is_none() || app_id.is_none() && game.folder.is_some(),
                "{key}: a mod is told by its folder"
            );
            // Reading the rules panics if one is none.
            let first = game.ports()[0].apply(*game_port);
            assert_eq!(first, Some(*query_port), "{key}: the usual ports belong together");
            assert!(game.folders().all(|folder| !folder.is_empty() && folder.trim() == folder), "{key}");
        }
    }

    #[test]
    fn every_protocol_has_a_game_and_goes_by_its_name() {
        let spoken: HashSet<_> = all().iter().map(|game| game.protocol.as_str()).collect();
        assert_eq!(spoken, HashSet::from(PROTOCOLS));
        for protocol in spoken.into_iter().filter_map(protocol::by_name) {
            assert!(PROTOCOLS.contains(&protocol.spec().name), "{protocol:?} is selected by an alias");
        }
    }

    #[test]
    fn ports_are_tried_by_rule_then_as_named_then_as_usual() {
        for (key, own, ports) in [
            // 27016 + (2302 - 2302) / 100, + 1, itself; the usual one is the first
            ("dayz", 2302, &[27_016, 2303, 2302][..]),
            ("dayz", 2402, &[27_017, 2403, 2402, 27_016]),
            ("dayz", 27_016, &[27_263, 27_017, 27_016]), // (27016 - 2302) / 100 = 247.14
            ("dayz", 1000, &[1001, 1000, 27_016]),
            ("arma3", 2402, &[2403, 27_017, 2402, 2303]),
            ("ark", 7777, &[27_015, 7777]),
            ("ark", 7781, &[27_019, 7781, 27_015]), // 7781 - 7777 + 27015
            ("arma-reforger", 2005, &[17_777, 2005]),
            ("rising-world", 4255, &[4254, 4255]),
            ("rising-world", 1, &[1, 4254]), // there is no port 0
            ("ut3", 7777, &[6500, 7777]),
            ("atlas", 5761, &[57_561, 5761]),
            ("atlas", 57_557, &[57_557, 57_561]), // 109357 is no port
            ("v-rising", 27_015, &[27_016, 27_030, 27_015, 9877]),
            ("rust", 28_015, &[28_017, 28_016, 28_015]),
            ("cs2", 27_015, &[27_015]),
            ("cs2", 27_025, &[27_025, 27_015]),
            ("fivem", 30_121, &[30_121, 30_120]),
        ] {
            assert_eq!(tried(key, own), ports, "{key} at {own}");
        }
    }

    #[test]
    fn words_find_games_by_key_name_and_application() {
        let found =
            |word| -> Vec<_> { all().iter().filter(|game| game.matches(word)).map(|game| game.key.as_str()).collect() };
        assert_eq!(found("221100"), ["dayz"]);
        assert_eq!(found("DAYZ"), ["dayz", "dayz-mod"]);
        assert_eq!(found("garry"), ["gmod"]);
        assert!(found("70").contains(&"half-life") && found("70").contains(&"ns"), "{:?}", found("70"));
        assert!(!found("70").contains(&"the-ship"), "2400 is another id");
        assert!(found("no such game").is_empty());
    }

    #[test]
    fn a_mistyped_key_has_similar_ones() {
        assert_eq!(by_key("DayZ"), Some(game("dayz")));
        assert_eq!(similar("dayzz")[0], "dayz");
        assert_eq!(similar("arma-3")[0], "arma3");
        assert!(similar("valve").contains(&"valheim"));
        assert_eq!(similar("garry"), ["gmod"], "a word of the name will do");
        assert!(similar("qqqqqqqq").is_empty());
    }
}
