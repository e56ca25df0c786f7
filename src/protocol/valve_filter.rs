//! The filter language of Valve's lists, which the master and the Web API share: `\key\value\key\value…`.
//!
//! `\nor\N`, `\nand\N`, `\or\N` and `\and\N` apply to conditions behind them, which may be such groups themselves. Whether
//! N counts the pairs of a group inside it differs between implementations, so that only this is checked: N pairs follow
//! at least. What the conditions mean is left to the list.

use thiserror::Error;

/// A filter that a list would not understand, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}, at character {at} of the filter")]
pub struct FilterError {
    /// What is wrong, and what to write.
    pub problem: String,
    /// Where it begins, from 1.
    pub at: usize,
}

/// Checks `text` and writes it as lists want it: with backslashes, where slashes stand in for them.
pub fn read(text: &str) -> Result<String, FilterError> {
    let filter = if text.starts_with('/') { text.replace('/', "\\") } else { text.to_owned() };
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
        let &[(key, at), (value, value_at)] = pair else {
            let (key, at) = pair[0];
            return Err(error(format!("{key:?} has no value: write \\{key}\\VALUE"), at));
        };
        let Some((_, kind)) = KEYS.iter().find(|(known, _)| *known == key) else {
            let known: Vec<_> = KEYS.iter().map(|(key, _)| *key).collect();
            return Err(error(format!("there is no key {key:?}: known are {}", known.join(", ")), at));
        };
        let behind = (pairs - number - 1) as u64;
        let problem = match (kind, value.parse::<u64>()) {
            (Kind::Group, Ok(0) | Err(_)) => {
                format!("\\{key}\\{value}: write how many conditions follow, as in \\{key}\\2")
            }
            (Kind::Group, Ok(count)) if count > behind => {
                format!("\\{key}\\{value}: only {behind} conditions follow")
            }
            (Kind::Number, Err(_)) => format!("\\{key}\\{value}: {value:?} is not a number"),
            (Kind::Flag, _) if !matches!(value, "0" | "1") => format!("\\{key}\\{value}: write 0 or 1"),
            _ => continue,
        };
        return Err(error(problem, value_at));
    }
    Ok(filter)
}

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
    fn a_mistake_is_named_with_its_place() {
        for (typed, at, problem) in [
            ("appid/730", 1, "a filter begins with a key"),
            ("/appid/730/typo/1", 12, "there is no key \"typo\""),
            ("/map/größe/dedicated/yes", 22, r"\dedicated\yes: write 0 or 1"),
            ("/appid", 2, "\"appid\" has no value"),
            ("/appid/cs", 8, "\"cs\" is not a number"),
            ("/nor/0/map/x", 6, "write how many conditions follow"),
            ("/nor/2/nand/2/map/x", 13, "only 1 conditions follow"),
            ("/nor/2/map/x", 6, "only 1 conditions follow"),
            ("/map/a\nb", 7, "a filter has no control characters"),
        ] {
            let error = read(typed).expect_err(typed);
            assert!(error.at == at && error.problem.contains(problem), "{typed:?}: {error}");
        }
    }
}
