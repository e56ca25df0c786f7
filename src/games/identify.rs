//! Which game a server runs, from what it says: for every row, on the writer thread, so it is two binary searches.
//!
//! A Steam application id decides, and where mods share it, the folder. Without one, as from old GoldSource servers and
//! in other protocols, the folder decides, or the name of the game where the protocol has one, if only one game goes by it.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::{Game, all};
use crate::record::{QueryStatus, ServerRecord, Text};

/// The key of the game that `record` is about, if that is beyond doubt.
#[must_use]
pub fn identify(record: &ServerRecord) -> Option<&'static str> {
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(all()));
    INDEX.game(record).map(|game| game.key.as_str())
}

struct Index {
    /// By application; a mod stands there by that of the game that it is a mod of.
    apps: Vec<(u32, &'static Game)>,
    /// By family and folder, in small letters.
    folders: Vec<(&'static str, String, &'static Game)>,
    /// Families of one game.
    alone: Vec<(&'static str, &'static Game)>,
}

impl Index {
    fn of(games: &'static [Game]) -> Self {
        let mut apps: Vec<_> = games.iter().filter_map(|game| Some((game.app_id.or(game.mod_of)?, game))).collect();
        apps.sort_by_key(|(id, _)| *id);
        let named = |game: &'static Game| {
            game.folders().map(move |folder| (family_of(game), folder.to_ascii_lowercase(), game))
        };
        let mut folders: Vec<_> = games.iter().flat_map(named).collect();
        folders.sort_by(|(one, folder, _), (other, next, _)| (one, folder).cmp(&(other, next)));
        let is_alone =
            |game: &&'static Game| games.iter().filter(|other| family_of(other) == family_of(game)).count() == 1;
        let alone = games.iter().filter(is_alone).map(|game| (family_of(game), game)).collect();
        Self { apps, folders, alone }
    }

    fn game(&self, record: &ServerRecord) -> Option<&'static Game> {
        let id = record.app_id.unwrap_or(0);
        let first = self.apps.partition_point(|(other, _)| *other < id);
        let same = self.apps.iter().skip(first).take_while(|(other, _)| *other == id).map(|(_, game)| *game);
        // Of an id of more than 16 bits, a reply without the game id has the lower ones only.
        if same.clone().next().is_none() && (id == 0 || record.game_id.is_none()) {
            return self.by_name(record);
        }
        let folder = record.folder.as_str().unwrap_or_default();
        let is_it = |game: &&Game| game.mod_of.is_some() && game.folders().any(|own| own.eq_ignore_ascii_case(folder));
        same.clone().find(is_it).or_else(|| same.clone().find(|game| game.mod_of.is_none()))
    }

    fn by_name(&self, record: &ServerRecord) -> Option<&'static Game> {
        let families = families(record);
        // What A2S calls the game is a text for people.
        let name = Some(&record.game).filter(|_| !matches!(record.protocol, "a2s" | "hl1"));
        let mut given = [Some(&record.folder), name].into_iter().flatten().filter_map(Text::as_str);
        let named = given.find_map(|text| self.only(families, text));
        // Silence is of no game.
        let answered = record.queries.contains(&QueryStatus::Ok);
        let alone = || self.alone.iter().find(|(family, _)| answered && families == [Some(*family), None]);
        named.or_else(|| alone().map(|(_, game)| *game))
    }

    /// The one game of these families that goes by `name`.
    fn only(&self, families: [Option<&str>; 2], name: &str) -> Option<&'static Game> {
        let of = |family: &str| {
            let place = |entry: &(&str, String, &Game)| entry.0.cmp(family).then_with(|| compare(&entry.1, name));
            let first = self.folders.partition_point(|entry| place(entry) == Ordering::Less);
            let after = self.folders.partition_point(|entry| place(entry) != Ordering::Greater);
            self.folders.get(first..after).unwrap_or_default()
        };
        let mut games = families.into_iter().flatten().flat_map(of);
        match (games.next(), games.next()) {
            (Some((.., game)), None) => Some(game),
            _ => None,
        }
    }
}

/// How `small`, which is in small letters, compares with `name`, in capitals or not.
fn compare(small: &str, name: &str) -> Ordering {
    small.bytes().cmp(name.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// Within a family, a folder means one game: GoldSource and Source both have a `cstrike`.
fn family_of(game: &'static Game) -> &'static str {
    let is_goldsource = game.app_id.or(game.mod_of).is_some_and(|id| GOLDSOURCE_APPS.contains(&id));
    if is_goldsource { GOLDSOURCE } else { family_of_protocol(&game.protocol) }
}

fn family_of_protocol(protocol: &'static str) -> &'static str {
    match protocol {
        "hl1" => GOLDSOURCE,
        "a2s" => SOURCE,
        // A server answers in either.
        "fivem" => "quake3",
        other => other,
    }
}

/// The families that the server may be of that `record` is about. GoldSource gives no application in its old form, and in
/// the new one, where it is an emulation, 0; a reply that was cut before that may be of either engine.
fn families(record: &ServerRecord) -> [Option<&'static str>; 2] {
    match (record.protocol, record.protocol_version) {
        ("a2s", Some(version)) if GOLDSOURCE_VERSIONS.contains(&version) => [Some(GOLDSOURCE), None],
        ("a2s", _) if record.app_id.is_none() => [Some(GOLDSOURCE), Some(SOURCE)],
        (protocol, _) => [Some(family_of_protocol(protocol)), None],
    }
}

const GOLDSOURCE: &str = "goldsource";
const SOURCE: &str = "source";
/// Games on Valve's first engine: Half-Life, those by Valve and Gearbox, and Sven Co-op.
const GOLDSOURCE_APPS: [u32; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 130, 225_840];
/// Network protocols of that engine and of `Xash3D`; Source has others.
const GOLDSOURCE_VERSIONS: std::ops::RangeInclusive<u32> = 43..=49;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Query;

    /// The game of a server that speaks `protocol`, whose network protocol is `version`.
    fn game(
        protocol: &'static str,
        version: u32,
        app_id: Option<u32>,
        folder: &str,
        name: &str,
    ) -> Option<&'static str> {
        let mut record = ServerRecord::new();
        record.protocol = protocol;
        record.protocol_version = Some(version);
        record.set_query(Query::Info, QueryStatus::Ok);
        record.app_id = app_id;
        record.game_id = app_id.filter(|id| *id > 0xFFFF).map(u64::from);
        record.folder.set(folder.as_bytes());
        record.game.set(name.as_bytes());
        identify(&record)
    }

    #[test]
    fn an_application_is_a_game_whatever_its_folder() {
        assert_eq!(game("a2s", 17, Some(440), "tf", "Freak Fortress"), Some("tf2"));
        assert_eq!(game("a2s", 17, Some(221_100), "dayz", ""), Some("dayz"));
        assert_eq!(game("a2s", 17, Some(240), "", ""), Some("css"));
        assert_eq!(game("a2s", 17, Some(999_999), "tf", ""), None, "a game that is not in the table");
        assert_eq!(game("a2s", 17, Some(4_465_480), "csgo", ""), Some("csgo"));
        assert_eq!(game("a2s", 17, Some(730), "csgo", ""), Some("cs2"));
        assert_eq!(game("a2s", 17, Some(218), "tf", ""), None, "an SDK with a mod that is not in the table");
    }

    #[test]
    fn mods_that_share_an_application_are_told_by_their_folder() {
        assert_eq!(game("a2s", 48, Some(70), "valve", ""), Some("half-life"));
        assert_eq!(game("a2s", 48, Some(70), "ns", ""), Some("ns"));
        assert_eq!(game("a2s", 48, Some(70), "AG", ""), Some("ag"));
        assert_eq!(game("a2s", 48, Some(70), "some-other-mod", ""), Some("half-life"), "the game it is a mod of");
        assert_eq!(game("a2s", 17, Some(218), "gesource", ""), Some("goldeneye-source"));
    }

    #[test]
    fn without_an_application_the_folder_decides_within_its_engine() {
        assert_eq!(game("hl1", 47, None, "cstrike", ""), Some("cs16"));
        assert_eq!(game("hl1", 46, None, "rewolf", ""), Some("gunman"));
        assert_eq!(game("a2s", 47, None, "gearbox", "HLTV"), Some("opposing-force"));
        assert_eq!(game("a2s", 49, Some(0), "valve", "Half-Life"), Some("half-life"), "Xash3D");
        assert_eq!(game("a2s", 17, Some(0), "cstrike", ""), Some("css"));
        assert_eq!(game("a2s", 17, Some(0), "garrysmod", "cs16"), Some("gmod"));
        assert_eq!(game("a2s", 17, None, "cstrike", ""), None, "a reply that was cut may be of either engine");
        assert_eq!(
            game("a2s", 2, None, "FOW", "FL"),
            Some("ffow"),
            "and this one is of neither, and has no application"
        );
        assert_eq!(game("a2s", 17, Some(61_936), "RisingWorld", ""), Some("rising-world"), "324080 in 16 bits");
        assert_eq!(game("a2s", 17, Some(0), "insurgency", ""), None, "two games have this folder");
        assert_eq!(game("a2s", 17, Some(0), "", "Team Fortress 2"), None, "what A2S calls a game is a text for people");
    }

    #[test]
    fn other_protocols_name_their_game_or_have_one_only() {
        assert_eq!(game("quake3", 6, None, "", "Call of Duty 4"), Some("cod4"));
        assert_eq!(game("quake3", 71, None, "", "baseoa"), Some("openarena"));
        assert_eq!(game("quake3", 71, None, "", "Quake3Arena"), None, "OpenArena says so too");
        assert_eq!(game("quake3", 21, None, "basewsw", "Warsow"), Some("warsow"));
        assert_eq!(game("quake3", 68, None, "baseq3", ""), Some("quake3"), "Quake Live has this folder, and A2S");
        assert_eq!(game("quake3", 3, None, "", "nexuiz"), Some("nexuiz"));
        assert_eq!(game("fivem", 4, None, "", "gta5"), Some("fivem"));
        assert_eq!(game("quake3", 4, None, "", "gta5"), Some("fivem"));
        assert_eq!(game("fivem", 4, None, "", "CitizenFX"), None, "RedM says so too");
        assert_eq!(game("bedrock", 622, None, "", "MCPE"), Some("bedrock"));
        assert_eq!(game("minecraft", 0, None, "", "SMP"), Some("minecraft"));
        assert_eq!(game("justcause2", 0, None, "", ""), Some("jc2mp"));
        assert_eq!(game("probe", 0, None, "", ""), None);
    }

    #[test]
    fn who_says_nothing_runs_nothing() {
        for protocol in ["a2s", "quake3", "bedrock"] {
            assert_eq!(identify(&ServerRecord { protocol, ..ServerRecord::new() }), None);
        }
    }

    #[test]
    fn mods_of_one_application_have_folders_of_their_own() {
        for game in all().iter().filter(|game| game.mod_of.is_some()) {
            for folder in game.folders() {
                let same = all().iter().filter(|other| {
                    other.app_id.or(other.mod_of) == game.mod_of && other.folders().any(|own| own == folder)
                });
                assert_eq!(same.count(), 1, "{}: {folder}", game.key);
            }
        }
    }
}
