//! How many players and slots there really are, as far as a server says so elsewhere than in its info.
//!
//! The info has a byte for each, and some games put something else into it: Rust the count modulo 256, Mordhau zero, Squad
//! and its relatives entries of players who have left. They say the true number in the keywords or in the rules. What the
//! info says stays as it is; this fills `players_best`, `max_players_best` and `players_basis`, and flags counts that are
//! hardly true.
//!
//! ```text
//! basis              players                          slots              of bots
//! rust_keywords      cp547                            mp575              does not say; those in the queue (qp17) are no players
//! mordhau_keywords   B:19                             as reported        does not say
//! squad_rules        rule PlayerCount_i               as reported        there are none
//! player_list        entries of the list with a name  as reported        there are none
//! reported           as reported                      as reported        Source and GoldSource count bots as players; see `bots`
//! ```
//!
//! Source: captures of each game; of Squad and Post Scriptum, `PlayerCount_i` is exactly the number of entries with a name.

use crate::record::{Flags, ServerRecord};

/// Fills the best known numbers of `record`, in which everything else that was answered stands, and flags odd ones.
pub(in crate::protocol) fn settle(record: &mut ServerRecord) {
    record.players_best = record.players;
    record.max_players_best = record.max_players;
    record.players_basis = record.players.map(|_| "reported");
    let game = GAMES.iter().find(|game| match record.app_id {
        Some(id) if id != 0 => game.app_id == id,
        // The id is at the end of the info, which may be cut, and 16 bits do not hold it.
        _ => game.folder.is_some() && game.folder == record.folder.as_str(),
    });
    let better = game.and_then(|game| (game.counts)(record));
    if let Some(Counts { players, max_players, basis }) = better {
        record.players_best = players.or(record.players);
        record.max_players_best = max_players.or(record.max_players);
        record.players_basis = Some(basis);
    }
    // A few bots that wait for somebody to come are no lie.
    if let (Some(players @ 1..), Some(slots), Some(bots)) = (record.players_best, record.max_players_best, record.bots)
        && bots >= players
        && bots >= slots.div_ceil(2)
    {
        record.flags |= Flags::BOTS_FILL;
    }
    let is_gold_source = record.protocol_version.is_some_and(|version| GOLD_SOURCE.contains(&version));
    let most = if is_gold_source { GOLD_SOURCE_SLOTS } else { ALL_OF_A_BYTE - 1 };
    // More than a byte can hold was said in words, by a game that has so many.
    if record.max_players_best.is_some_and(|slots| (most + 1..=ALL_OF_A_BYTE).contains(&slots)) {
        record.flags |= Flags::MAX_PLAYERS_FAKE;
    }
}

/// A game that says elsewhere how many play.
struct Game {
    app_id: u32,
    folder: Option<&'static str>,
    counts: fn(&ServerRecord) -> Option<Counts>,
}

/// What was said elsewhere.
struct Counts {
    players: Option<u32>,
    max_players: Option<u32>,
    basis: &'static str,
}

const GAMES: &[Game] = &[
    Game { app_id: 252_490, folder: Some("rust"), counts: rust },
    Game { app_id: 629_760, folder: Some("mordhau"), counts: mordhau },
    Game { app_id: 393_380, folder: Some("squad"), counts: squad },
    Game { app_id: 736_220, folder: Some("postscriptum"), counts: squad },
    // Hell Let Loose; no capture names its folder.
    Game { app_id: 686_810, folder: None, counts: squad },
];

/// `cp` and `mp`, in any order among other keywords. A modded server may have only one of them.
fn rust(record: &ServerRecord) -> Option<Counts> {
    let number = |prefix| keywords(record).find_map(|word| word.strip_prefix(prefix)?.parse().ok());
    let (players, max_players) = (number("cp"), number("mp"));
    (players.is_some() || max_players.is_some()).then_some(Counts { players, max_players, basis: "rust_keywords" })
}

/// `B` among pairs of key and value, in any order.
fn mordhau(record: &ServerRecord) -> Option<Counts> {
    let players = keywords(record).find_map(|word| word.strip_prefix("B:")?.parse().ok())?;
    Some(Counts { players: Some(players), max_players: None, basis: "mordhau_keywords" })
}

/// The rule, or else the entries with a name, if all of the list came.
fn squad(record: &ServerRecord) -> Option<Counts> {
    let number = |value: &[u8]| std::str::from_utf8(value).ok()?.parse().ok();
    let rule = record.rules.iter().find_map(|(name, value)| number(value).filter(|_| name == b"PlayerCount_i"));
    if let Some(players) = rule {
        return Some(Counts { players: Some(players), max_players: None, basis: "squad_rules" });
    }
    if !record.player_list.is_present() || record.flags.contains(Flags::TRUNCATED) {
        return None;
    }
    let named = record.player_list.iter().filter(|player| !player.name.is_empty()).count();
    Some(Counts { players: Some(named as u32), max_players: None, basis: "player_list" })
}

/// The keywords one by one, without the last one where Steam may have cut it.
fn keywords(record: &ServerRecord) -> impl Iterator<Item = &str> {
    let text = record.keywords.as_str().unwrap_or_default();
    let sent = record.keywords.original().map_or(text.len(), <[u8]>::len);
    let whole = if sent < MOST_KEYWORD_BYTES { text } else { text.rsplit_once(',').map_or("", |(whole, _)| whole) };
    whole.split(',')
}

/// Steam keeps so many bytes of the keywords.
const MOST_KEYWORD_BYTES: usize = 127;
/// Protocol versions of GoldSource.
const GOLD_SOURCE: std::ops::RangeInclusive<u32> = 46..=48;
/// Most slots of a GoldSource server.
const GOLD_SOURCE_SLOTS: u32 = 32;
const ALL_OF_A_BYTE: u32 = 255;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Player;

    fn record(app_id: u32, keywords: &str) -> ServerRecord {
        let mut record = ServerRecord::new();
        record.app_id = Some(app_id);
        record.players = Some(86);
        record.max_players = Some(63);
        record.bots = Some(0);
        record.keywords.set(keywords.as_bytes());
        record
    }

    fn settled(mut record: ServerRecord) -> (Option<u32>, Option<u32>, Option<&'static str>) {
        settle(&mut record);
        assert_eq!(record.players, Some(86), "what was sent stays");
        (record.players_best, record.max_players_best, record.players_basis)
    }

    const REPORTED: (Option<u32>, Option<u32>, Option<&str>) = (Some(86), Some(63), Some("reported"));

    #[test]
    fn rust_says_it_in_its_keywords_in_any_order() {
        let of = |keywords| settled(record(252_490, keywords));
        let both = (Some(547), Some(575), Some("rust_keywords"));
        assert_eq!(of("mp575,cp547,ptrak,qp17,v2336"), both);
        assert_eq!(of("oxide,modded,qp17,cp547,mp575"), both);
        assert_eq!(of("cpu,mp,cp547"), (Some(547), Some(63), Some("rust_keywords")));
        assert_eq!(of("mp575"), (Some(86), Some(575), Some("rust_keywords")));
        assert_eq!(of("cp-5,cp5x,cp,mp99999999999,Cp7,qp9"), REPORTED);
        assert_eq!(settled(record(440, "mp575,cp547")), REPORTED, "other games mean something else");
    }

    #[test]
    fn a_keyword_at_the_end_of_all_that_steam_keeps_may_be_cut() {
        let of = |length: usize| settled(record(252_490, &format!("{},cp54", "x".repeat(length - 5))));
        assert_eq!(of(126), (Some(54), Some(63), Some("rust_keywords")));
        assert_eq!(of(127), REPORTED);
        assert_eq!(settled(record(252_490, &"cp".repeat(64))), REPORTED);
    }

    #[test]
    fn mordhau_has_one_key_for_it() {
        let of = |keywords| settled(record(629_760, keywords));
        let expected = (Some(19), Some(63), Some("mordhau_keywords"));
        assert_eq!(of("H:501310830,C:523,B:19,N:Deathmatch,M:15000"), expected);
        assert_eq!(of("N:x,Lobby_s:6152744854467005185,C:4107,B:19"), expected);
        assert_eq!(of("AB:7,b:8,B,B:,B:x"), REPORTED);
    }

    #[test]
    fn squad_says_it_in_a_rule_and_else_the_named_entries_count() {
        for app_id in [393_380, 736_220, 686_810] {
            let mut server = record(app_id, "cp5,B:6");
            assert_eq!(settled(server.clone()), REPORTED);
            server.player_list.begin();
            for name in [&b"a"[..], b"", b"b", b""] {
                server.player_list.push(Player { name, ..Player::default() });
            }
            let listed = (Some(2), Some(63), Some("player_list"));
            assert_eq!(settled(server.clone()), listed);
            server.rules.begin();
            server.rules.push(b"PlayerCount_i", b"many");
            server.rules.push(b"PublicQueue_i", b"21");
            assert_eq!(settled(server.clone()), listed);
            let cut = ServerRecord { flags: Flags::TRUNCATED, ..server.clone() };
            assert_eq!(settled(cut), REPORTED, "who knows how many more there are");
            server.rules.push(b"PlayerCount_i", b"77");
            assert_eq!(settled(server), (Some(77), Some(63), Some("squad_rules")));
        }
    }

    #[test]
    fn without_an_id_the_folder_names_the_game() {
        let mut server = record(0, "cp547,mp575");
        server.folder.set(b"rust");
        assert_eq!(settled(server.clone()).2, Some("rust_keywords"));
        server.app_id = None;
        assert_eq!(settled(server.clone()).2, Some("rust_keywords"));
        server.app_id = Some(440);
        assert_eq!(settled(server.clone()), REPORTED);
        server.app_id = None;
        server.folder.clear();
        assert_eq!(settled(server), REPORTED);
    }

    #[test]
    fn without_info_nothing_is_known() {
        let mut nothing = ServerRecord::new();
        settle(&mut nothing);
        assert_eq!(nothing, ServerRecord::new());
    }

    #[test]
    fn counts_that_are_hardly_true_are_flagged() {
        let flags = |players, max_players, bots, version| {
            let mut record = ServerRecord::new();
            (record.players, record.max_players) = (Some(players), Some(max_players));
            (record.bots, record.protocol_version) = (Some(bots), Some(version));
            settle(&mut record);
            record.flags
        };
        assert_eq!(flags(78, 127, 78, 17), Flags::BOTS_FILL);
        assert_eq!(flags(10, 127, 78, 17), Flags::BOTS_FILL);
        assert_eq!(flags(78, 127, 77, 17), Flags::NONE);
        assert_eq!([flags(3, 7, 3, 17), flags(3, 6, 3, 17)], [Flags::NONE, Flags::BOTS_FILL], "half of the slots");
        assert_eq!(flags(0, 10, 10, 17), Flags::NONE, "nobody claims to be there");
        assert_eq!(flags(104, 80, 0, 17), Flags::NONE, "many servers let more in than they have slots");
        assert_eq!(flags(5, 255, 0, 17), Flags::MAX_PLAYERS_FAKE);
        assert_eq!(flags(5, 254, 0, 17), Flags::NONE);
        for version in 46..=48 {
            assert_eq!(flags(5, 33, 0, version), Flags::MAX_PLAYERS_FAKE);
            assert_eq!(flags(5, 32, 0, version), Flags::NONE);
        }
        assert_eq!(flags(255, 255, 255, 48), Flags::BOTS_FILL | Flags::MAX_PLAYERS_FAKE);
    }

    #[test]
    fn a_byte_that_ran_over_is_no_lie() {
        let mut server = record(252_490, "cp5,mp511");
        server.max_players = Some(255);
        settle(&mut server);
        assert_eq!((server.max_players_best, server.flags), (Some(511), Flags::NONE));
    }
}
