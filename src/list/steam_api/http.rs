//! The Steam Web API over HTTP: one question, one answer.

use std::io::ErrorKind;
use std::time::Duration;

use serde_json::error::Category;
use ureq::Agent;
use ureq::http::{HeaderValue, StatusCode, Uri};

use super::crawl::{Answer, shortened};
use super::key::{Key, without_keys};
use super::partition::Question;
use super::server;

/// Where to ask, and with which key.
pub(super) struct Api {
    agent: Agent,
    url: Url,
    /// Not in the URL, which ends up in messages, logs of proxies and the like.
    key: HeaderValue,
}

/// An address of the API that a key may be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    base: String,
    host: String,
    loopback: bool,
}

impl Url {
    /// Reads `https://HOST[:PORT][/PATH]`; `http` is for this machine only, since whoever listens would learn the key.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        // What was typed may hold a key or a password, and is not repeated.
        let wrong =
            || "this is no address of a web server: write https://HOST[:PORT]/PATH, with nothing else".to_owned();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        if text.contains(['?', '#']) || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong());
        }
        let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        let loopback = ip.map_or(host == "localhost", |ip| ip.is_loopback());
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if loopback => {}
            Some("http") => return Err(format!("http:// would send the key to {host} in the clear: write https://")),
            _ => return Err(wrong()),
        }
        Ok(Self { base: text.trim_end_matches('/').into(), host: host.into(), loopback })
    }

    /// True if it is on this machine.
    #[must_use]
    pub(crate) fn is_loopback(&self) -> bool {
        self.loopback
    }
}

impl Default for Url {
    fn default() -> Self {
        Self { base: format!("https://{HOST}"), host: HOST.into(), loopback: false }
    }
}

impl Api {
    pub(super) fn new(url: Url, key: &Key, timeout: Duration) -> Self {
        let mut config = Agent::config_builder()
            .timeout_global(Some(timeout))
            // The status says what to do, and a redirection could carry the key to somebody else.
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("fragscan/", env!("CARGO_PKG_VERSION")));
        if url.is_loopback() {
            config = config.proxy(None);
        }
        let mut key = HeaderValue::from_str(key.reveal()).expect("a key has letters and digits only");
        key.set_sensitive(true);
        Self { agent: config.build().new_agent(), url, key }
    }

    /// Asks, and waits for the answer no longer than the timeout.
    pub(super) fn ask(&self, question: &Question) -> Answer {
        let host = &self.url.host;
        let later = |why: &dyn std::fmt::Display| Answer::Later(format!("asking {host} for servers: {why}"), None);
        let request = self
            .agent
            .get(format!("{}{PATH}", self.url.base))
            .header("x-webapi-key", self.key.clone())
            .query("filter", &question.filter)
            .query("limit", question.limit.to_string());
        let mut response = match request.call() {
            Ok(response) => response,
            Err(error) => return later(&failure(&error)),
        };
        match response.status() {
            StatusCode::OK => {}
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                return Answer::Refused(format!(
                    "{host} refused the key ({}): see https://steamcommunity.com/dev/apikey",
                    status.as_u16()
                ));
            }
            status if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
                let wanted = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
                let why = format!("{host} answered with status {}", status.as_u16());
                return Answer::Later(why, wanted.map(Duration::from_secs));
            }
            status => {
                return Answer::Never(format!(
                    "asking {host} for servers: it answered with status {}",
                    status.as_u16()
                ));
            }
        }
        let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
        match body.map(|body| server::read(&body, question.limit)) {
            Ok(Ok(rows)) => Answer::Rows(rows),
            Ok(Err(error)) => later(&format_args!("reading the answer: {}", flaw(&error))),
            Err(error) => later(&format_args!("receiving the answer: {}", failure(&error))),
        }
    }
}

/// What went wrong on the way: as far as possible without a word of the server's, which may be long, or hold the key.
fn failure(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no whole answer in time".into(),
        ureq::Error::HostNotFound => "there is no such host".into(),
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => "this is not HTTP as it should be".into(),
        ureq::Error::BodyExceedsLimit(limit) => format!("it has more than {} MiB", limit >> 20),
        ureq::Error::Decompress(..) => "it cannot be unpacked".into(),
        ureq::Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
            "the connection was closed too early".into()
        }
        ureq::Error::Io(error) if error.raw_os_error().is_some() => error.kind().to_string(),
        ureq::Error::Io(error) => without_keys(&shortened(&error.to_string())),
        other => without_keys(&shortened(&other.to_string())),
    }
}

/// What is wrong with an answer, without a word of it.
fn flaw(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Eof => "it ends too early",
        Category::Data => "it is no list of servers",
        Category::Syntax | Category::Io => "it is no JSON",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

const HOST: &str = "api.steampowered.com";
const PATH: &str = "/IGameServersService/GetServerList/v1/";
/// A row takes about 400 bytes; this is more than six times what 10,000 of them take.
const MOST_BYTES: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::TcpListener;
    use std::time::Instant;

    use crossbeam_channel::bounded;

    use super::*;
    use crate::list::Item;
    use crate::list::steam_api::testing::{Directory, Instead, Steam, THROTTLED};
    use crate::list::steam_api::{Patience, SteamApi, spawn};

    const KEY: &str = "0123456789ABCDEF0123456789ABCDEF";

    fn question() -> Question {
        Question { filter: r"\appid\730".into(), limit: 10, witnessed: false }
    }

    fn ask(steam: &Steam, key: &str) -> Answer {
        Api::new(Url::new(&steam.url).unwrap(), &Key::new(key).unwrap(), Duration::from_secs(5)).ask(&question())
    }

    fn answered(instead: Instead) -> Answer {
        let steam = Steam::start(Directory::of(100, 10), KEY, move |_| Some(instead));
        ask(&steam, KEY)
    }

    #[test]
    fn a_question_goes_out_without_the_key_in_it_and_rows_come_back() {
        let steam = Steam::start(Directory::of(100, 10), KEY, |_| None);
        let Answer::Rows(rows) = ask(&steam, KEY) else { panic!("no rows") };
        assert_eq!((rows.servers.len(), rows.odd), (10, 0));
        assert!(rows.servers.iter().all(|server| server.appid == Some(730)));
        let asked = steam.asked.lock().unwrap();
        assert_eq!(*asked, ["/IGameServersService/GetServerList/v1/?filter=%5Cappid%5C730&limit=10"]);
    }

    #[test]
    fn statuses_say_whether_to_ask_again() {
        let steam = Steam::start(Directory::of(100, 10), KEY, |_| None);
        let refused = ask(&steam, "ABCDEF");
        assert!(
            matches!(&refused, Answer::Refused(why) if why.contains("127.0.0.1 refused the key (403)")),
            "{refused:?}"
        );
        let busy = answered((429, Some(7), ""));
        assert!(matches!(&busy, Answer::Later(_, Some(wait)) if wait.as_secs() == 7), "{busy:?}");
        assert!(matches!(answered((503, None, "")), Answer::Later(why, None) if why.contains("status 503")));
        assert!(matches!(answered((404, None, "")), Answer::Never(why) if why.contains("status 404")));
        assert!(matches!(answered((302, None, "")), Answer::Never(why) if why.contains("status 302")));
        assert!(
            matches!(answered((200, None, "<html>")), Answer::Later(why, None) if why.contains("reading the answer"))
        );
        assert!(matches!(answered(THROTTLED), Answer::Rows(rows) if rows.servers.is_empty()));
    }

    #[test]
    fn messages_say_what_is_wrong_and_nothing_that_the_server_said() {
        for (body, expected) in [
            ("\u{1B}[31m<html>", "it is no JSON (line 1, column 1)"),
            (
                r#"{"response":{"servers":"0123456789ABCDEF0123456789ABCDEF"}}"#,
                "it is no list of servers (line 1, column 57)",
            ),
            ("{\n\"response\":", "it ends too early (line 2, column 11)"),
        ] {
            let Answer::Later(message, None) = answered((200, None, body)) else { panic!("{body} is an answer") };
            assert_eq!(message, format!("asking 127.0.0.1 for servers: reading the answer: {expected}"));
        }
        let long = ureq::Error::ConnectProxyFailed("x".repeat(1 << 20) + KEY);
        assert!(failure(&long).len() < 300);
        assert!(!failure(&ureq::Error::ConnectProxyFailed(KEY.into())).contains(KEY));
    }

    #[test]
    fn who_does_not_answer_is_not_waited_for_and_the_key_is_in_no_error() {
        // Somebody whose system accepts for them and who says nothing, and then nobody.
        let mut listener = Some(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.as_ref().unwrap().local_addr().unwrap();
        for expected in ["no whole answer in time", "connection refused"] {
            let url = Url::new(&format!("http://{address}")).unwrap();
            let api = Api::new(url, &Key::new(KEY).unwrap(), Duration::from_millis(200));
            let Answer::Later(message, None) = api.ask(&question()) else { panic!("an answer") };
            assert_eq!(message, format!("asking 127.0.0.1 for servers: {expected}"));
            drop(listener.take());
        }
    }

    #[test]
    fn a_key_is_sent_encrypted_or_to_this_machine() {
        for right in
            ["https://api.steampowered.com", "https://example.com:8443/steam/", "http://127.0.0.1:80", "http://[::1]:1"]
        {
            assert!(Url::new(right).is_ok(), "{right}");
        }
        for wrong in [
            "",
            "example.com",
            "ftp://example.com",
            "https://",
            "https://u:hunter2@example.com",
            "https://example.com/?key=hunter2",
            "https://example.com/#hunter2",
            "hunter2",
        ] {
            let error = Url::new(wrong).unwrap_err();
            assert!(error.contains("https://HOST") && !error.contains("hunter2"), "{wrong}: {error}");
        }
        assert!(Url::new("http://example.com").unwrap_err().contains("in the clear"));
    }

    /// A list of all servers of `steam`, with short waits.
    fn list(steam: &Steam, gap: Duration) -> SteamApi {
        let wait = Duration::from_millis(1);
        SteamApi {
            filter: String::new(),
            most_rows: 100,
            key: Key::new(KEY).unwrap(),
            url: Url::new(&steam.url).unwrap(),
            patience: Patience { gap, first_wait: wait, longest_wait: wait },
        }
    }

    #[test]
    fn the_thread_lists_everything_of_a_steam_that_caps_and_throttles() {
        let directory = Directory::of(2000, 100);
        let instead = |number| match number % 7 {
            2 => Some(THROTTLED),
            4 => Some((429, Some(0), "")),
            5 => Some((500, None, "")),
            _ => None,
        };
        let steam = Steam::start(directory, KEY, instead);
        let api = list(&steam, Duration::ZERO);
        let (items, listed) = bounded(10);
        let (say, said) = crossbeam_channel::unbounded();
        let shown = format!("{api:?}");
        let thread = spawn(vec![(api, items)], move |text| say.send(text.to_owned()).unwrap()).unwrap();
        let mut found = HashSet::new();
        let mut questions = 0;
        let mut last = None;
        for item in listed {
            assert_eq!(last, None, "behind the last item");
            match item {
                Item::Entry(entry) => {
                    assert_eq!(entry.facts.as_ref().map(|facts| facts.0.len()), Some(16));
                    assert!(found.insert(entry.address), "{} twice", entry.address);
                }
                Item::Asked { odd_rows } => {
                    assert_eq!(odd_rows, 0);
                    questions += 1;
                }
                end => last = Some(end),
            }
        }
        thread.join().unwrap();
        assert_eq!(last, Some(Item::Complete));
        assert_eq!(found.len(), 2000);
        let said: Vec<String> = said.into_iter().collect();
        assert!(said.iter().any(|text| text.contains("status 429")) && said.len() > 6, "{said:?}");
        assert!(!shown.contains(KEY) && !said.concat().contains(KEY));
        let asked = steam.asked.lock().unwrap();
        assert_eq!(questions, asked.len());
        assert!(!asked.concat().contains(KEY));
    }

    /// The items of `number` lists of `steam` that are asked for together.
    fn lists(steam: &Steam, number: usize, gap: Duration) -> Vec<Vec<Item>> {
        let (lists, listed): (Vec<_>, Vec<_>) = (0..number)
            .map(|_| {
                let (items, listed) = bounded(1000);
                ((list(steam, gap), items), listed)
            })
            .unzip();
        spawn(lists, |_| ()).unwrap().join().unwrap();
        listed.into_iter().map(|listed| listed.into_iter().collect()).collect()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "real gaps are measured")]
    fn several_lists_keep_the_pace_of_one() {
        let steam = Steam::start(Directory::of(5, 100), KEY, |_| None);
        let (gap, start) = (Duration::from_millis(50), Instant::now());
        let all = lists(&steam, 4, gap);
        assert!(start.elapsed() >= gap * 3, "{:?}", start.elapsed());
        for items in all {
            assert_eq!(items[0], Item::Asked { odd_rows: 0 });
            assert_eq!((items.len(), items.last()), (7, Some(&Item::Complete)));
        }
        assert_eq!(steam.asked.lock().unwrap().len(), 4);
    }

    #[test]
    fn who_is_refused_asks_for_no_further_list() {
        let steam = Steam::start(Directory::of(5, 100), KEY, |_| Some((429, Some(86_400), "")));
        let [first, second] = <[Vec<Item>; 2]>::try_from(lists(&steam, 2, Duration::ZERO)).unwrap();
        assert!(matches!(&first[1], Item::Incomplete(why) if why.contains("86400 s")), "{first:?}");
        let [Item::Incomplete(why)] = &*second else { panic!("{second:?}") };
        assert!(why.starts_with("not asked for: ") && why.contains("86400 s"), "{why}");
        assert_eq!(steam.asked.lock().unwrap().len(), 1);
    }
}
