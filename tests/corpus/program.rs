//! Running the program and reading what it wrote.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

/// A line of NDJSON.
pub(crate) type Row = Map<String, Value>;

/// What the program prints, started with `arguments` in `folder`; it has to succeed.
pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> String {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("fragscan");
    command.current_dir(folder).args(arguments).timeout(HANG);
    let output = command.output().expect("the program starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {messages}", command.get_args().collect::<Vec<_>>());
    String::from_utf8(output.stdout).expect("what it prints is UTF-8")
}

/// The row that `fragscan decode` makes of the file at `path`.
pub(crate) fn decode(path: &Path, options: &[&str]) -> Row {
    let arguments = ["decode", "--format", "ndjson"].iter().chain(options).map(AsRef::as_ref);
    let mut rows = rows(&run(Path::new("."), arguments.chain([path.as_os_str()])));
    assert_eq!(rows.len(), 1, "{}: a file without addresses is one server", path.display());
    rows.remove(0)
}

/// The lines of NDJSON.
pub(crate) fn rows(lines: &str) -> Vec<Row> {
    let row = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    lines.lines().map(row).collect()
}

/// What takes this long will never end.
pub(crate) const HANG: Duration = Duration::from_secs(90);
