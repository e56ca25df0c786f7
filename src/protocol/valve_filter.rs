//! The filter language of Valve's lists, which the master and the Web API share: `\key\value\key\value…`.
//!
//! `\nor\N`, `\nand\N`, `\or\N` and `\and\N` apply to conditions after them, which may be such groups themselves. Whether
//! N counts the pairs of a group inside it differs between implementations, so that only this is checked: N pairs follow
//! at least. What the conditions mean is left to the list.

use thiserror::Error;

/// A filter that a list would not understand, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("character {at} of the filter: {problem}")]
pub(crate) struct FilterError {
    /// What is wrong, and what to write.
    pub problem: String,
    /// Where it begins, from 1.
    pub at: usize,
}

/// Checks `text` and writes it as lists want it: with backslashes, where slashes stand in for them.
pub(crate) fn read(text: &str) -> Result<String, FilterError> {
    // Messages have the slashes that were typed.
    let (slash, filter) = if text.starts_with('/') { ('/', text.replace('/', "\\")) } else { ('\\', text.to_owned()) };
    if filter.is_empty() {
        return Ok(filter);
    }
    let error = |problem: String, at: usize| FilterError { problem, at: filter[..at].chars().count() + 1 };
    let Some(body) = filter.strip_prefix('\\') else {
        return Err(error(r"a filter begins with a key: write \appid\730 or /appid/730".into(), 0));
    };
    if let Some(at) = filter.find(char::is_control) {
        return Err(error("a filter has no control characters".into(), at));
    }
    let mut words = Vec::new();
    let mut at = 1;
    for word in body.split('\\') {
        words.push((word, at));
        at += word.len() + 1;
    }
    // A backslash at the end closes the last value.
    if words.len() % 2 == 1 && words.last().is_some_and(|(word, _)| word.is_empty()) {
        words.pop();
    }
    let pairs = words.chunks(2).len();
    for (number, pair) in words.chunks(2).enumerate() {
        let (key, at) = pair[0];
        let Some((_, kind)) = KEYS.iter().find(|(known, _)| *known == key) else {
            return Err(error(format!("there is no key {key:?}: {}", known_keys(key)), at));
        };
        let Some(&(value, value_at)) = pair.get(1) else {
            return Err(error(format!("{key:?} has no value: write {slash}{key}{slash}VALUE"), at));
        };
        let behind = (pairs - number - 1) as u64;
        let problem = match (kind, value.parse::<u64>()) {
            (Kind::Group, Ok(0) | Err(_)) => format!("write how many conditions follow, as in {slash}{key}{slash}2"),
            (Kind::Group, Ok(count)) if count > behind => match behind {
                0 => "no condition follows".to_owned(),
                1 => "only 1 condition follows".to_owned(),
                _ => format!("only {behind} conditions follow"),
            },
            (Kind::Number, Err(_)) => format!("{value:?} is not a number"),
            (Kind::Flag, _) if !matches!(value, "0" | "1") => "write 0 or 1".to_owned(),
            _ => continue,
        };
        return Err(error(format!("{slash}{key}{slash}{value}: {problem}"), value_at));
    }
    Ok(filter)
}

/// How many applications `filter`, as [`read`] writes it, asks for outside of groups: nothing is of two.
#[must_use]
pub(crate) fn applications(filter: &str) -> usize {
    let words: Vec<_> = filter.split('\\').skip(1).collect();
    let is_group = |key: &str| KEYS.iter().any(|(known, kind)| *known == key && matches!(kind, Kind::Group));
    words.chunks(2).map(|pair| pair[0]).take_while(|key| !is_group(key)).filter(|key| *key == "appid").count()
}

/// What to say of two applications.
pub(crate) const ONE_APPLICATION: &str =
    "no server runs two applications: name one, with --app, as app=ID in the URL or as /appid/ID in its filter";

/// The key that `key` was meant to be, or else all of them.
fn known_keys(key: &str) -> String {
    let small = key.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(known, &small);
    let known = KEYS.iter().map(|(known, _)| *known);
    match known.clone().max_by(|one, other| likeness(one).total_cmp(&likeness(other))) {
        Some(meant) if likeness(meant) >= LIKE => format!("did you mean {meant}?"),
        _ => format!("known are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// How alike two keys are that may be meant for each other, from 0 to 1.
const LIKE: f64 = 0.8;

/// What the value of a key is.
#[derive(Clone, Copy)]
enum Kind {
    /// How many conditions follow that belong together.
    Group,
    Number,
    /// 0 or 1.
    Flag,
    Text,
}

/// The keys of Valve's lists (`region` is the Web API's: masters have it in their request), then those that `Xash3D`'s list
/// has besides.
const KEYS: &[(&str, Kind)] = &[
    ("nor", Kind::Group),
    ("nand", Kind::Group),
    ("or", Kind::Group),
    ("and", Kind::Group),
    ("appid", Kind::Number),
    ("napp", Kind::Number),
    ("nappid", Kind::Number),
    ("gamedir", Kind::Text),
    ("map", Kind::Text),
    ("dedicated", Kind::Flag),
    ("secure", Kind::Flag),
    ("linux", Kind::Flag),
    ("password", Kind::Flag),
    ("empty", Kind::Flag),
    ("full", Kind::Flag),
    ("noplayers", Kind::Flag),
    ("proxy", Kind::Flag),
    ("white", Kind::Flag),
    ("gametype", Kind::Text),
    ("gamedata", Kind::Text),
    ("gamedataor", Kind::Text),
    ("name_match", Kind::Text),
    ("version_match", Kind::Text),
    ("region", Kind::Number),
    ("collapse_addr_hash", Kind::Flag),
    ("gameaddr", Kind::Text),
    ("clver", Kind::Text),
    ("key", Kind::Text),
    ("protocol", Kind::Number),
    ("nat", Kind::Flag),
    ("lan", Kind::Flag),
    ("bots", Kind::Flag),
    ("buildnum", Kind::Number),
    ("os", Kind::Text),
    ("arch", Kind::Text),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_taken_with_either_slash_and_with_groups_in_groups() {
        for (typed, read_as) in [
            ("", ""),
            ("/appid/730", r"\appid\730"),
            (r"\gamedir\cstrike\empty\1\", r"\gamedir\cstrike\empty\1\"),
            (r"\name_match\*a/b*", r"\name_match\*a/b*"),
            (r"\nor\3\map\de_dust2\nand\2\white\1\full\1", r"\nor\3\map\de_dust2\nand\2\white\1\full\1"),
            (r"\gametype\", r"\gametype\"),
        ] {
            assert_eq!(read(typed).as_deref().map_err(ToString::to_string), Ok(read_as), "{typed}");
        }
    }

    #[test]
    fn applications_are_counted_up_to_the_first_group() {
        for (filter, count) in [
            ("", 0),
            (r"\map\appid", 0),
            (r"\appid\10\map\x\", 1),
            (r"\appid\10\appid\20", 2),
            (r"\appid\10\nor\2\appid\20\map\x", 1),
        ] {
            assert_eq!(applications(filter), count, "{filter}");
        }
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        for (typed, at, problem) in [
            ("appid/730", 1, "a filter begins with a key"),
            ("/appid/730/typo/1", 12, "there is no key \"typo\": known are nor, nand"),
            ("/gamedri/tf", 2, "there is no key \"gamedri\": did you mean gamedir?"),
            ("/AppID/730", 2, "there is no key \"AppID\": did you mean appid?"),
            ("/typo", 2, "there is no key \"typo\""),
            ("/map/größe/dedicated/yes", 22, "/dedicated/yes: write 0 or 1"),
            ("/appid", 2, "\"appid\" has no value: write /appid/VALUE"),
            (r"\appid", 2, r"has no value: write \appid\VALUE"),
            ("/appid/cs", 8, "\"cs\" is not a number"),
            ("/nor/0/map/x", 6, "write how many conditions follow"),
            ("/nor/2/nand/2/map/x", 13, "/nand/2: only 1 condition follows"),
            (r"\nor\2\map\x", 6, r"\nor\2: only 1 condition follows"),
            ("/nor/3/map/x/full/1", 6, "/nor/3: only 2 conditions follow"),
            ("/or/1", 5, "/or/1: no condition follows"),
            ("/map/a\nb", 7, "a filter has no control characters"),
        ] {
            let error = read(typed).expect_err(typed);
            assert!(error.at == at && error.problem.contains(problem), "{typed:?}: {error}");
        }
    }
}
