//! Steam's directory of servers, as far as `GetServerList` shows it: reads filters by itself, caps what it answers, and
//! is a web server on loopback if wanted.
//!
//! It shares nothing with the code that it tests, and is used by the tests of the program too.

use std::io::Cursor;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tiny_http::{Header, Response, Server};

/// Servers as the API shows them, with what it does not show in `_password`.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    pub servers: Vec<Value>,
    pub cap: usize,
    /// Whether upper and lower case are the same in conditions.
    pub folds: bool,
}

impl Directory {
    /// Servers of very unequal games, maps and names, as on Steam; the same for the same number.
    pub(crate) fn of(count: u32, cap: usize) -> Self {
        Self { servers: (0..count).map(server).collect(), cap, folds: false }
    }

    /// Which servers an answer to `filter` with `limit` has.
    pub(crate) fn picked(&self, filter: &str, limit: usize) -> Vec<usize> {
        let pairs = pairs(filter);
        let fits = |server| if self.folds { matches(server, filter, true) } else { all(server, &pairs) };
        (0..self.servers.len()).filter(|&n| fits(&self.servers[n])).take(limit.min(self.cap)).collect()
    }

    /// What the API answers: nothing at all if nothing matches.
    fn answer(&self, filter: &str, limit: usize) -> Value {
        let rows: Vec<Value> = self.picked(filter, limit).into_iter().map(|n| shown(&self.servers[n])).collect();
        if rows.is_empty() { json!({"response": {}}) } else { json!({"response": {"servers": rows}}) }
    }
}

/// A web server that answers like Steam's, for the one key that it knows.
pub(crate) struct Steam {
    pub url: String,
    /// Targets of the requests that came.
    pub asked: Arc<Mutex<Vec<String>>>,
    server: Arc<Server>,
}

/// An answer other than Steam's usual one: a status, seconds to wait, a body.
pub(crate) type Instead = (u16, Option<u32>, &'static str);

/// What Steam answers to whom it throttles.
pub(crate) const THROTTLED: Instead = (200, None, r#"{"response":{}}"#);

impl Steam {
    /// Shows `directory` to who has `key`; `instead` may answer request number 0, 1, 2, … itself.
    pub(crate) fn start(
        directory: Directory,
        key: &'static str,
        instead: impl Fn(usize) -> Option<Instead> + Send + 'static,
    ) -> Self {
        let server = Arc::new(Server::http("127.0.0.1:0").expect("loopback has a port left"));
        let url = format!("http://{}", server.server_addr());
        let listener = Arc::clone(&server);
        let log = Arc::<Mutex<Vec<String>>>::default();
        let steam = Self { url, asked: Arc::clone(&log), server };
        thread::spawn(move || {
            for request in listener.incoming_requests() {
                let number = {
                    let mut log = log.lock().expect("nobody panics with it");
                    log.push(request.url().to_owned());
                    log.len() - 1
                };
                let header = |name| request.headers().iter().find(|header| header.field.equiv(name));
                let allowed = header("x-webapi-key").is_some_and(|given| given.value == key);
                let response = match instead(number) {
                    Some(instead) => odd(instead),
                    None if !allowed => odd((403, None, "<html>Forbidden</html>")),
                    None => Response::from_string(directory.respond(request.url())),
                };
                // The client may have gone.
                let _ = request.respond(response);
            }
        });
        steam
    }
}

impl Drop for Steam {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

fn odd((status, wait, body): Instead) -> Response<Cursor<Vec<u8>>> {
    let response = Response::from_string(body).with_status_code(status);
    match wait {
        Some(seconds) => response.with_header(Header::from_bytes("Retry-After", seconds.to_string()).expect("digits")),
        None => response,
    }
}

impl Directory {
    /// The body for the target of a request.
    fn respond(&self, target: &str) -> String {
        let (path, query) = target.split_once('?').expect("parameters");
        assert_eq!(path, "/IGameServersService/GetServerList/v1/");
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| decoded(value))
        };
        let limit = parameter("limit").map_or(100, |limit| limit.parse().expect("a number"));
        self.answer(&parameter("filter").unwrap_or_default(), limit).to_string()
    }
}

/// Text without its `%XX`.
fn decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16)).expect("two digits");
        plain.push(if byte == b'%' { (digit() * 16 + digit()) as u8 } else { byte });
    }
    String::from_utf8(plain).expect("UTF-8")
}

/// The row of a server without what the API does not show.
fn shown(server: &Value) -> Value {
    let mut row = server.clone();
    row.as_object_mut().expect("servers are objects").remove("_password");
    row
}

/// Server `n`: draws from a hash of `n`, the lower the more likely.
fn server(n: u32) -> Value {
    let mut state = u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    let mut draw = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
        // Squared twice: a quarter of the draws are below 1/256 of the bound.
        (unit.powi(4) * bound as f64) as u64
    };
    let app = [730, 10, 252_490, 440, 4000, 107_410][draw(6) as usize];
    let players = draw(64);
    let words = ["[EU] Public", "xxBestxx", "Русский", "*** FUN ***", "\\o/ here", "", "Valve Server"];
    let region = [255, 3, -1, 0, 1, 4][draw(6) as usize];
    let os = ["l", "w", "m"][draw(3) as usize];
    let name = format!("{} {}", words[draw(7) as usize], draw(5000));
    json!({
        "addr": format!("10.{}.{}.{}:{}", n >> 16 & 0xFF, n >> 8 & 0xFF, n & 0xFF, 27_015 + n % 7),
        "gameport": 27_015 + n % 7,
        "steamid": (90_000_000_000_000_000_u64 + u64::from(n)).to_string(),
        "name": name.trim_start(),
        "appid": app,
        "gamedir": format!("game{}", app % 1000),
        "version": format!("1.{}.0", draw(30)),
        "product": format!("game{}", app % 1000),
        "region": region,
        "players": players,
        "max_players": players + draw(20),
        "bots": 0,
        "map": format!("map_{}", draw(3000)),
        "secure": draw(3) == 0,
        "dedicated": draw(40) < 39,
        "os": os,
        "gametype": "a,b",
        "_password": draw(5) == 1,
    })
}

/// Whether `filter` lets `server` pass. `\nor\N` and `\nand\N` count the pairs after them.
///
/// If it `folds`, upper and lower case are the same.
pub(crate) fn matches(server: &Value, filter: &str, folds: bool) -> bool {
    if !folds {
        return all(server, &pairs(filter));
    }
    let mut server = server.clone();
    for value in server.as_object_mut().expect("servers are objects").values_mut() {
        if let Some(text) = value.as_str() {
            *value = json!(text.to_lowercase());
        }
    }
    all(&server, &pairs(&filter.to_lowercase()))
}

fn pairs(filter: &str) -> Vec<(&str, &str)> {
    if filter.is_empty() {
        return Vec::new();
    }
    let words: Vec<&str> = filter.strip_prefix('\\').expect("a backslash before each word").split('\\').collect();
    words.chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or(""))).collect()
}

fn all(server: &Value, mut pairs: &[(&str, &str)]) -> bool {
    while let Some(((key, value), behind)) = pairs.split_first() {
        let count = if matches!(*key, "nor" | "nand") { value.parse().expect("a number") } else { 0 };
        let (inside, rest) = behind.split_at(count);
        let passes = match *key {
            "nor" => !inside.iter().any(|pair| holds(server, pair)),
            "nand" => !inside.iter().all(|pair| holds(server, pair)),
            _ => holds(server, &(key, value)),
        };
        if !passes {
            return false;
        }
        pairs = rest;
    }
    true
}

/// As Valve's wiki has it, with `\empty\` for servers that are not empty and `\full\` for those that are not full.
fn holds(server: &Value, (key, value): &(&str, &str)) -> bool {
    let is = |name: &str| server[name] == **value || value.parse::<i64>().is_ok_and(|number| server[name] == number);
    match *key {
        "appid" | "gamedir" | "map" | "region" => is(key),
        "secure" | "dedicated" => server[*key] == json!(true),
        "linux" => server["os"] == "l",
        "empty" => server["players"].as_i64() > Some(0),
        "noplayers" => server["players"] == 0,
        "full" => server["players"].as_i64() < server["max_players"].as_i64(),
        "password" => server["_password"] == json!(false),
        "version_match" => like(value, server["version"].as_str().expect("a text")),
        "name_match" => like(value, server["name"].as_str().expect("a text")),
        "gameaddr" => server["addr"].as_str().expect("a text").rsplit_once(':').expect("a port").0 == *value,
        other => panic!("Steam knows no filter {other:?}"),
    }
}

/// A pattern with at most one star, at its end.
fn like(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == text, |start| text.starts_with(start))
}
