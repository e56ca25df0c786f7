//! `steam-api:` lists: what to ask for, and the key to ask with.

use std::env;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::bounded;

use super::fetched::{Fetched, FetchedEnds};
use crate::config::SteamOptions;
use crate::error::Error;
use crate::list::steam_api::{self, Key, MOST_ROWS, Patience, SCHEME, SteamApi, Url, without_keys};
use crate::protocol::{master, valve_filter};
use crate::target::Origins;

/// A list of the Steam Web API that is to be fetched.
#[derive(Debug)]
pub(super) struct SteamList {
    /// What was typed.
    pub source: Arc<str>,
    /// Plan of the servers that it names.
    pub plan: u16,
    pub api: SteamApi,
}

/// Starts to fetch `lists`; `say` tells a person what holds them up.
pub(super) fn start(
    lists: Vec<SteamList>,
    origins: &Origins,
    ends: &FetchedEnds,
    say: &(impl Fn(&dyn Display) + Clone + Send + 'static),
) -> Result<Vec<Fetched>, Error> {
    if lists.is_empty() {
        return Ok(Vec::new());
    }
    let start = |SteamList { source, plan, api }: SteamList| {
        let (sender, items) = bounded(WAITING);
        let fetched = Fetched::new(items, source, plan, origins, ends).with_loopback(api.url.is_loopback());
        ((api, sender), fetched)
    };
    let (to_ask, fetched) = lists.into_iter().map(start).unzip();
    let say = say.clone();
    let say = move |message: &str| say(&message);
    let failed = |error| Error::Input { name: SCHEME.into(), source: error };
    // The thread ends by itself: with the lists, or when nobody takes their servers any more.
    steam_api::spawn(to_ask, say).map(drop).map_err(failed)?;
    Ok(fetched)
}

/// The list of the Steam Web API at `url`, whose part after the scheme is `rest`, or those of its servers that run `app`.
/// They are asked by `plan`, and two requests are `gap` apart. The list is called `source`.
pub(super) fn list(
    (url, source): (&str, &str),
    rest: &str,
    app: Option<u32>,
    plan: u16,
    options: &SteamOptions,
    gap: Duration,
) -> Result<SteamList, Error> {
    // The URL is printed and stands in metadata: a key must not be in it, and none is repeated.
    let wrong = |reason: String| {
        let has_key = without_keys(url) != url;
        let reason = if has_key { format!("write no key into the URL; {HOW_TO_GIVE_A_KEY}") } else { reason };
        Error::usage(format!("list {SCHEME}: {}", without_keys(&reason)))
    };
    let question = parameters(rest).and_then(|text| Question::read(text, app)).map_err(wrong)?;
    let address = options.api_url.as_deref().map(Url::new).transpose();
    let address = address.map_err(|reason| Error::usage(format!("--steam-api-url: {reason}")))?;
    let api = SteamApi {
        filter: question.filter,
        most_rows: question.limit,
        key: key(options.key_file.as_deref())?,
        url: address.unwrap_or_default(),
        patience: Patience { gap, ..Patience::default() },
    };
    Ok(SteamList { source: source.into(), plan, api })
}

/// What stands behind `steam-api` in the URL of such a list; none if it is another kind of list.
pub(super) fn behind_scheme(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(rest)
}

/// The parameters in what follows the scheme; the error says what to write instead.
fn parameters(rest: &str) -> Result<&str, String> {
    let behind = rest.strip_prefix(':').map_or(rest, |rest| rest.strip_prefix("//").unwrap_or(rest));
    if behind.is_empty() {
        return Ok("");
    }
    behind.strip_prefix('?').ok_or_else(|| {
        // What is a filter only lacks the word that says so.
        let filter = valve_filter::read(&format!("/{}", rest.trim_start_matches([':', '/', '\\'])));
        let filter = filter.map_or("/appid/730".into(), |filter| filter.replace('\\', "/"));
        format!("write {SCHEME}: for all servers, or {SCHEME}:?filter={filter}")
    })
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    filter: String,
    limit: usize,
}

impl Question {
    /// Reads `filter=…&app=…&limit=…`; the error says what to write instead.
    fn read(text: &str, app: Option<u32>) -> Result<Self, String> {
        let mut question = Self { filter: String::new(), limit: MOST_ROWS };
        let mut apps: Vec<u32> = app.into_iter().collect();
        for (key, value) in master::distinct_parameters(text)? {
            match key {
                "filter" => {
                    let filter = valve_filter::read(&value).map_err(|error| error.to_string())?;
                    // Behind a backslash that closes the last value no other condition can stand.
                    let closed = filter.split('\\').count() % 2 == 0 && filter.ends_with('\\');
                    question.filter += if closed { &filter[..filter.len() - 1] } else { &filter };
                }
                "app" => apps.push(value.parse().map_err(|_| format!("app: {value:?} is not a number"))?),
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=MOST_ROWS).contains(limit));
                    let wrong = || format!("limit: {value:?} is not a number of rows from 1 to {MOST_ROWS}");
                    question.limit = limit.ok_or_else(wrong)?;
                }
                key if key.eq_ignore_ascii_case("key") => {
                    return Err(format!("write no key into the URL; {HOW_TO_GIVE_A_KEY}"));
                }
                _ => return Err(master::unknown_parameter(key, "filter, app and limit")),
            }
        }
        if valve_filter::applications(&question.filter) + apps.len() > 1 {
            return Err(valve_filter::ONE_APPLICATION.into());
        }
        for app in apps {
            question.filter += "\\appid\\";
            question.filter += &app.to_string();
        }
        Ok(question)
    }
}

/// The key in the file at `path`, or else in the environment.
fn key(path: Option<&Path>) -> Result<Key, Error> {
    let Some(path) = path else {
        let text = env::var_os(VARIABLE).filter(|text| !text.is_empty());
        let missing = || Error::usage(format!("steam-api: a key of the Steam Web API is needed; {HOW_TO_GIVE_A_KEY}"));
        let wrong = |reason| Error::usage(format!("{VARIABLE}: {reason}"));
        return Key::new(&text.ok_or_else(missing)?.to_string_lossy()).map_err(wrong);
    };
    let name = path.display().to_string();
    let mut text = Vec::new();
    match File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_end(&mut text)) {
        Ok(_) => {
            let wrong = |reason| Error::usage(format!("--steam-key-file {name:?}: {reason}"));
            Key::new(&String::from_utf8_lossy(&text)).map_err(wrong)
        }
        // Whoever typed the key in place of the file must not find it in a log as well.
        Err(_) if without_keys(&name) != name => {
            Err(Error::usage("--steam-key-file: there is no such file; name the file that holds the key, not the key"))
        }
        Err(source) => Err(Error::Input { name, source }),
    }
}

/// Servers that were named and not taken.
const WAITING: usize = 1 << 12;
const VARIABLE: &str = "STEAM_API_KEY";
const HOW_TO_GIVE_A_KEY: &str =
    "put it into a file and name that with --steam-key-file, or into the environment as STEAM_API_KEY";
/// A file with more in it holds something else.
const LONGEST_FILE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_web_api_are_told_from_others() {
        for (url, expected) in [
            ("steam-api", Some(Ok(""))),
            ("steam-api:", Some(Ok(""))),
            ("STEAM-api:?filter=/appid/730", Some(Ok("filter=/appid/730"))),
            ("steam-api://?limit=5", Some(Ok("limit=5"))),
            ("steam-api:/appid/70", Some(Err("/appid/70"))),
            (r"steam-api://\appid\70\empty\1", Some(Err("/appid/70/empty/1"))),
            ("steam-api:filter=/appid/70", Some(Err("/appid/730"))),
            ("steam-apis:?a", Some(Err("/appid/730"))),
            ("valve-master://192.0.2.1", None),
            ("steam", None),
        ] {
            let advice = |filter| format!("write steam-api: for all servers, or steam-api:?filter={filter}");
            let expected = expected.map(|result| result.map_err(advice));
            assert_eq!(behind_scheme(url).map(parameters), expected, "{url}");
        }
    }

    #[test]
    fn filters_can_be_added_to_and_mistakes_are_named() {
        let read = |text, app| Question::read(text, app).map(|question| (question.filter, question.limit));
        assert_eq!(read("", None), Ok((String::new(), 10_000)));
        let closed = read(r"filter=\empty\1\&limit=7", Some(730));
        assert_eq!(closed, Ok((r"\empty\1\appid\730".to_owned(), 7)));
        assert_eq!(read("filter=/gametype/&app=10", None), Ok((r"\gametype\\appid\10".to_owned(), 10_000)));
        for (text, problem) in [
            ("filter=/empty/1&filter=/full/1", "\"filter\" is there twice"),
            ("filter=/appid/10&app=20", "no server runs two applications"),
            ("filter=/typo/1", "there is no key \"typo\""),
            ("app=cs", "app: \"cs\" is not a number"),
            ("limit=0", "from 1 to 10000"),
            ("limit=10001", "from 1 to 10000"),
            ("region=all", "\"region\" is no parameter"),
        ] {
            let error = read(text, None).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
