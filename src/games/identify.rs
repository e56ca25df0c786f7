//! Which game a server runs, from what it says: for every row, on the writer thread, so it is two binary searches.
//!
//! A Steam application id decides, and where mods share it, the folder. Without one, as from old GoldSource servers and
//! in other protocols, the folder decides, or the name of the game where the protocol has one, if only one game goes by it.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::{Game, all};
use crate::record::{ServerRecord, Text};

/// The key of the game that `record` is about, if that is beyond doubt.
#[must_use]
pub fn identify(record: &ServerRecord) -> Option<&'static str> {
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(all()));
    let game = match record.app_id {
        Some(id) if id != 0 => INDEX.by_app(id, &record.folder),
        _ => INDEX.by_folder(record),
    };
    game.map(|game| game.key.as_str())
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
        let is_alone = |game: &&Game| games.iter().filter(|other| family_of(other) == family_of(game)).count() == 1;
        let alone = games.iter().filter(is_alone).map(|game| (family_of(game), game)).collect();
        Self { apps, folders, alone }
    }

    fn by_app(&self, id: u32, folder: &Text) -> Option<&'static Game> {
        let first = self.apps.partition_point(|(other, _)| *other < id);
        let same = || self.apps.iter().skip(first).take_while(|(other, _)| *other == id).map(|(_, game)| *game);
        let folder = folder.as_str().unwrap_or_default();
        let is_mod = |game: &&Game| game.mod_of.is_some() && game.folders().any(|own| own.eq_ignore_ascii_case(folder));
        same().find(is_mod).or_else(|| same().find(|game| game.mod_of.is_none()))
    }

    fn by_folder(&self, record: &ServerRecord) -> Option<&'static Game> {
        let family = family_spoken(record)?;
        // A2S has a text for people there.
        let name = Some(&record.game).filter(|_| !matches!(family, GOLDSOURCE | SOURCE));
        [Some(&record.folder), name]
            .into_iter()
            .flatten()
            .find_map(|text| self.by_name(family, text.as_str()?))
            .or_else(|| self.alone.iter().find(|(other, _)| *other == family).map(|(_, game)| *game))
    }

    fn by_name(&self, family: &str, name: &str) -> Option<&'static Game> {
        let place = |entry: &(&str, String, &Game)| entry.0.cmp(family).then_with(|| compare(&entry.1, name));
        let first = self.folders.partition_point(|entry| place(entry) == Ordering::Less);
        let mut same = self.folders.iter().skip(first).take_while(|entry| place(entry) == Ordering::Equal);
        match (same.next(), same.next()) {
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
fn family_of(game: &Game) -> &'static str {
    match game.protocol.as_str() {
        "hl1" => GOLDSOURCE,
        "a2s" if game.app_id.or(game.mod_of).is_some_and(|id| GOLDSOURCE_APPS.contains(&id)) => GOLDSOURCE,
        other => family_of_protocol(other),
    }
}

/// The family of the server that `record` is about. What a GoldSource server says has no application id, or in the new
/// form, where it is an emulation, 0.
fn family_spoken(record: &ServerRecord) -> Option<&'static str> {
    match (record.protocol, record.protocol_version) {
        ("hl1", _) => Some(GOLDSOURCE),
        ("a2s", Some(version)) if GOLDSOURCE_VERSIONS.contains(&version) => Some(GOLDSOURCE),
        // The reply ended before its application, or has none.
        ("a2s", _) if record.app_id.is_none() => None,
        (other, _) => Some(family_of_protocol(other)),
    }
}

/// Dialects are one family: a server may be asked in either.
fn family_of_protocol(protocol: &str) -> &'static str {
    match protocol {
        "a2s" => SOURCE,
        "quake3" | "fivem" => "quake3",
        "minecraft" => "minecraft",
        "ut3" => "ut3",
        "justcause2" => "justcause2",
        "bedrock" => "bedrock",
        _ => "",
    }
}

const GOLDSOURCE: &str = "goldsource";
const SOURCE: &str = "source";
/// Games on Valve's first engine: Half-Life, those by Valve and Gearbox, and Sven Co-op.
const GOLDSOURCE_APPS: [u32; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 130, 225_840];
/// Network protocols of that engine and of Xash3D; Source has others.
const GOLDSOURCE_VERSIONS: std::ops::RangeInclusive<u32> = 43..=49;

#[cfg(test)]
mod tests {
    use super::*;

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
        record.app_id = app_id;
        record.folder.set(folder.as_bytes());
        record.game.set(name.as_bytes());
        identify(&record)
    }

    #[test]
    fn an_application_is_a_game_whatever_its_folder() {
        assert_eq!(game("a2s", 17, Some(440), "tf", "Freak Fortress"), Some("tf2"));
        assert_eq!(game("a2s", 17, Some(221_100), "dayz", ""), Some("dayz"));
        assert_eq!(game("a2s", 17, Some(240), "", ""), Some("css"));
        assert_eq!(game("a2s", 17, Some(4_465_480), "csgo", ""), Some("csgo"));
        assert_eq!(game("a2s", 17, Some(730), "csgo", ""), Some("cs2"));
        assert_eq!(game("a2s", 17, Some(999_999_999), "tf", ""), None, "a game that is not in the table");
    }

    #[test]
    fn mods_that_share_an_application_are_told_by_their_folder() {
        assert_eq!(game("a2s", 48, Some(70), "valve", ""), Some("half-life"));
        assert_eq!(game("a2s", 48, Some(70), "ns", ""), Some("ns"));
        assert_eq!(game("a2s", 48, Some(70), "AG", ""), Some("ag"));
        assert_eq!(game("a2s", 48, Some(70), "some-other-mod", ""), Some("half-life"), "the game it is a mod of");
        assert_eq!(game("a2s", 17, Some(218), "gesource", ""), Some("goldeneye-source"));
        assert_eq!(game("a2s", 17, Some(218), "some-other-mod", ""), None, "218 is no game");
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
