//! The files of the corpus. Whatever is missing or cannot be read ends the test, with its path.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use super::text::bytes;

/// Datagrams of a server, and what they say.
pub(crate) struct Fixture {
    pub(crate) name: String,
    /// Where the datagrams are.
    pub(crate) path: PathBuf,
    pub(crate) datagrams: Vec<Vec<u8>>,
    /// What the messages say, in their order.
    pub(crate) entries: Vec<Value>,
    /// What is hidden in the rules, if anything is.
    pub(crate) hidden: Option<Value>,
    protocol: String,
}

/// Requests, each with what was answered to it.
pub(crate) type Exchanges = Vec<(Vec<u8>, Vec<Vec<u8>>)>;

/// Where the corpus is; `None`, and a message, without one.
pub(crate) fn corpus() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let Some(folder) = env::var_os("FRAGSCAN_CORPUS").map(PathBuf::from) else {
            announce("corpus tests skipped: set FRAGSCAN_CORPUS to a folder with fixtures/ and captures/ in it");
            return None;
        };
        // The program is started in other folders.
        Some(fs::canonicalize(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())))
    });
    folder.as_deref()
}

/// Says something also when the test passes; what `eprintln` says is hidden then.
pub(crate) fn announce(message: &str) {
    let _ = writeln!(std::io::stderr(), "\n{message}\n");
}

/// All fixtures of the corpus at `folder` that hold something of A2S or of its predecessor, sorted by their names.
pub(crate) fn fixtures(folder: &Path) -> Vec<Fixture> {
    fixtures_of(folder, PROTOCOLS)
}

/// All fixtures of the corpus at `folder` whose protocol begins with one of `protocols`, sorted by their names.
pub(crate) fn fixtures_of(folder: &Path, protocols: &[&str]) -> Vec<Fixture> {
    let all = hex_files(&folder.join("fixtures")).into_iter().map(|path| Fixture::read(&path));
    all.filter(|fixture| protocols.iter().any(|protocol| fixture.protocol.starts_with(protocol))).collect()
}

/// The paths of the files of datagrams in `folder`, sorted.
pub(crate) fn hex_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|extension| extension == "hex")).collect();
    paths.sort();
    paths
}

impl Fixture {
    fn read(path: &Path) -> Self {
        let beside = path.with_extension("json");
        let json: Value =
            serde_json::from_str(&text(&beside)).unwrap_or_else(|error| panic!("{}: {error}", beside.display()));
        let word =
            |key: &str| json[key].as_str().unwrap_or_else(|| panic!("{}: no {key}", beside.display())).to_owned();
        Self {
            name: word("name"),
            path: path.to_owned(),
            protocol: word("protocol"),
            datagrams: text(path)
                .lines()
                .filter(|line| !line.starts_with('#') && !line.is_empty())
                .map(bytes)
                .collect(),
            entries: json["expected"].as_array().cloned().unwrap_or_default(),
            hidden: json.get("arma3_decoded").or(json.get("dayz_decoded")).cloned(),
        }
    }

    /// What the message of type `kind` says.
    pub(crate) fn entry(&self, kind: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry["type"] == kind)
    }

    /// True when it holds nothing but challenges.
    pub(crate) fn is_challenge(&self) -> bool {
        !self.entries.is_empty() && self.entries.iter().all(|entry| entry["type"] == "A")
    }

    /// The bytes after the header of the only datagram that there is.
    pub(crate) fn body(&self) -> &[u8] {
        let [datagram] = self.datagrams.as_slice() else { panic!("{}: not one datagram", self.name) };
        &datagram[4..]
    }
}

/// What `server` was asked in the capture of `query`, and what it answered.
pub(crate) fn exchanges(folder: &Path, server: &str, query: &str) -> Exchanges {
    let mut exchanges = Exchanges::new();
    for line in text(&capture(folder, server, query)).lines() {
        if let Some(request) = line.strip_prefix("> ") {
            exchanges.push((bytes(request), Vec::new()));
        } else if let Some(reply) = line.strip_prefix("< ") {
            let last = exchanges.last_mut().unwrap_or_else(|| panic!("{server}: a reply without a request"));
            last.1.push(bytes(reply));
        }
    }
    exchanges
}

/// Where the capture of `query` of `server` is.
pub(crate) fn capture(folder: &Path, server: &str, query: &str) -> PathBuf {
    folder.join(format!("captures/{server}-{query}.hex"))
}

/// What other clients printed about `server`.
pub(crate) fn peers(folder: &Path, server: &str) -> String {
    text(&folder.join(format!("captures/peers/{server}.txt")))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// How the names of A2S and its kin begin.
const PROTOCOLS: &[&str] = &["A2S", "A2A", "A2C", "FFOW", "garbage", "HL1"];
/// The servers whose captures other clients have read.
pub(crate) const CAPTURED: &[&str] = &["gbe", "sqproxy", "xash3d", "xash3d-private-empty"];
