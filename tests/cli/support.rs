//! What the tests share: starting the program, reading back what it wrote, and sockets to ask.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use tempfile::TempDir;

/// A folder for one test, in which the program is started.
pub(crate) struct Folder(TempDir);

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// A CSV file that was read back.
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A JSON object with its keys in the order in which they were written.
pub(crate) struct Object(pub(crate) Vec<(String, Value)>);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix("fragscan-").expect("there is room for a folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program here with `arguments`, until its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "")
    }

    /// The same, with something on standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &str) -> Run {
        let mut command = cargo_bin_cmd!("fragscan");
        command.current_dir(self.path()).args(arguments).write_stdin(stdin).timeout(HANG);
        let output = command.output().expect("the program starts");
        let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
        Run { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// The same, for a run that has to succeed.
    pub(crate) fn run_well(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}: {run}");
        run
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), content).expect("the folder can be written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}; there are {:?}", self.names()))
    }

    pub(crate) fn table(&self, name: &str) -> Table {
        Table::read(&self.read(name))
    }

    /// The metadata that was written beside an output.
    pub(crate) fn metadata(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(&format!("{name}.meta.json"))).expect("metadata is JSON")
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("the folder is there");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<_> = entries.map(|entry| name(entry.expect("the folder can be listed"))).collect();
        names.sort();
        names
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {:?}, standard error:\n{}", self.code, self.stderr)
    }
}

impl Table {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut reader = csv::Reader::from_reader(bytes);
        let owned = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
        let header = owned(reader.headers().expect("the header is UTF-8"));
        let rows = reader.records().map(|row| owned(&row.expect("each row has as many cells as the header"))).collect();
        Self { header, rows }
    }

    /// The cells of one column, from the first row to the last.
    pub(crate) fn column(&self, name: &str) -> Vec<&str> {
        let place = self.header.iter().position(|other| other == name);
        let place = place.unwrap_or_else(|| panic!("{name} is no column of {:?}", self.header));
        self.rows.iter().map(|row| row[place].as_str()).collect()
    }

    /// The same, sorted.
    pub(crate) fn sorted(&self, name: &str) -> Vec<&str> {
        let mut cells = self.column(name);
        cells.sort_unstable();
        cells
    }
}

impl Object {
    /// Reads NDJSON; every line, the last one too, has to be whole.
    pub(crate) fn read_lines(bytes: &[u8]) -> Vec<Self> {
        assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "the last line has an end");
        let text = std::str::from_utf8(bytes).expect("NDJSON is UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
    }

    pub(crate) fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|(key, _)| key.as_str()).collect()
    }

    /// The value of `key`; a key that is not there is a failure, unlike one that is null.
    pub(crate) fn value(&self, key: &str) -> &Value {
        let found = self.0.iter().find(|(other, _)| other == key);
        found.map_or_else(|| panic!("{key} is no key of {:?}", self.keys()), |(_, value)| value)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// A port of loopback on which nobody listens; no two tests are given the same one.
///
/// It lies below the ports that systems give to sockets that ask for none, so that no socket of another test takes it
/// in the meantime.
pub(crate) fn closed_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    // Two runs of the tests at the same time begin in different places.
    let first = 15_000 + (std::process::id() % 8_000) as u16;
    let mut candidates = (0..1_000).map(|_| first + TAKEN.fetch_add(1, Ordering::Relaxed));
    let free = |port: &u16| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok();
    candidates.find(free).expect("one of a thousand ports is free")
}

/// A socket on loopback that knows whether somebody wrote to it.
pub(crate) struct Listener(UdpSocket);

impl Listener {
    pub(crate) fn new() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        socket.set_nonblocking(true).expect("sockets can be nonblocking");
        Self(socket)
    }

    /// How to ask it.
    pub(crate) fn target(&self) -> String {
        self.0.local_addr().expect("it is bound").to_string()
    }

    /// Whether a datagram has come. Loopback delivers before the sender goes on, so that nothing comes after its end.
    pub(crate) fn was_asked(&self) -> bool {
        self.0.recv_from(&mut [0; 64]).is_ok()
    }
}

/// Waits a moment, between two looks for a sign.
#[expect(clippy::disallowed_methods, reason = "a test waits for another process, which has a clock of its own")]
pub(crate) fn pause() {
    thread::sleep(PAUSE);
}

/// Looks for a sign until there is one, for at most [`HANG`].
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..HANG.as_millis() / PAUSE.as_millis() {
        if let Some(found) = look() {
            return found;
        }
        pause();
    }
    panic!("waited {HANG:?} for {what}");
}

const PAUSE: Duration = Duration::from_millis(20);
/// What takes this long will never end.
pub(crate) const HANG: Duration = Duration::from_secs(90);
