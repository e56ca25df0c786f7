//! The files of the corpus. Whatever is missing or cannot be read ends the test, with its path.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Datagrams of a server, and what they say.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) datagrams: Vec<Vec<u8>>,
    protocol: String,
    expected: Vec<Value>,
}

/// What was sent to a server and what it answered, and what other clients printed about it.
pub(crate) struct Capture {
    pub(crate) exchanges: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    pub(crate) peers: String,
}

/// All fixtures of the corpus at `folder`.
pub(crate) fn fixtures(folder: &Path) -> Vec<Fixture> {
    let folder = folder.join("fixtures");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "hex"))
        .map(|p| Fixture::read(&p))
        .collect()
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
            protocol: word("protocol"),
            datagrams: text(path)
                .lines()
                .filter(|line| !line.starts_with('#') && !line.is_empty())
                .map(bytes)
                .collect(),
            expected: json["expected"].as_array().cloned().unwrap_or_default(),
        }
    }

    /// What the datagram of type `kind` says.
    pub(crate) fn entry(&self, kind: &str) -> &Value {
        self.find(kind).unwrap_or_else(|| panic!("{}: nothing is said about {kind}", self.name))
    }

    /// What the info reply says, if there is one. Of one that is cut, nothing may be said but that.
    pub(crate) fn info_entry(&self) -> Option<&Value> {
        let only = self.expected.first().filter(|entry| entry["type"].is_null());
        self.find("I").or(only).filter(|_| self.protocol.starts_with("A2S"))
    }

    /// True when it holds messages of A2S and the type of each is one of the letters of `kinds`.
    pub(crate) fn holds_only(&self, kinds: &str) -> bool {
        let known = |entry: &Value| entry["type"].as_str().is_some_and(|kind| kinds.contains(kind));
        self.protocol.starts_with("A2S") && !self.expected.is_empty() && self.expected.iter().all(known)
    }

    /// The challenge that it says to be in its first datagram.
    pub(crate) fn challenge(&self) -> Vec<u8> {
        bytes(self.entry("A")["challenge"].as_str().unwrap_or_else(|| panic!("{}: no challenge", self.name)))
    }

    fn find(&self, kind: &str) -> Option<&Value> {
        self.expected.iter().find(|entry| entry["type"] == kind)
    }
}

impl Capture {
    /// The capture `name` of `query` in the corpus at `folder`.
    pub(crate) fn read(folder: &Path, name: &str, query: &str) -> Self {
        let folder = folder.join("captures");
        let mut exchanges: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
        for line in text(&folder.join(format!("{name}-{query}.hex"))).lines() {
            if let Some(request) = line.strip_prefix("> ") {
                exchanges.push((bytes(request), Vec::new()));
            } else if let Some(reply) = line.strip_prefix("< ") {
                exchanges
                    .last_mut()
                    .unwrap_or_else(|| panic!("{name}: a reply without a request"))
                    .1
                    .push(bytes(reply));
            }
        }
        Self { exchanges, peers: text(&folder.join(format!("peers/{name}.txt"))) }
    }
}

/// The bytes that `hex` stands for.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_else(|| panic!("not hex: {hex}")) as u8;
    let pairs = hex.trim().as_bytes().chunks(2);
    pairs
        .map(|pair| if let [high, low] = *pair { digit(high) << 4 | digit(low) } else { panic!("odd: {hex}") })
        .collect()
}

/// The hex of `bytes`, in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    digits.map(|digit| char::from_digit(digit.into(), 16).expect("four bits are a digit")).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// How an info reply begins that is not split.
pub(crate) const INFO_REPLY: &[u8] = b"\xFF\xFF\xFF\xFFI";
