//! Lists as other programs write them: one line in, the target that it names out.
//!
//! ```text
//! a plain list            TARGET                                  any target that can be typed
//! our CSV, zmap's CSV     header with address, or saddr[,sport]   then rows
//! our NDJSON              {"address": …}  {"saddr": …, "sport": …}
//! masscan -oL             open udp PORT IP TIME
//! masscan -oJ             { "ip": …, "ports": [ {"port": …} ] }   between the lines [ , ]
//! ```
//!
//! The first line that says something decides. A row of ours names its protocol too, so that a scan of an earlier output
//! speaks what was spoken then.

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Map, Value};

use super::lines::without_comment;

/// What kind of list it is, once a line has told.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    kind: Kind,
}

#[derive(Debug, Default)]
enum Kind {
    #[default]
    Unknown,
    Plain,
    Table(Header),
    Objects,
    Masscan,
}

/// The names of a table's columns.
#[derive(Debug)]
struct Header {
    names: Vec<String>,
    address: Columns,
    protocol: Option<usize>,
}

/// Where the address stands.
#[derive(Debug)]
enum Columns {
    Whole(usize),
    Parts { host: usize, port: Option<usize> },
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// Nothing: a header, a bracket.
    Nothing,
    /// A target, as it would be typed.
    Target(String),
    /// A target out of a row that has more to say.
    Row(String, Row),
}

/// A row's values by the names of their columns, for conditions on them.
#[derive(Debug, PartialEq)]
pub(crate) struct Row(Vec<(String, String)>);

impl Row {
    /// The value called `name`; absent ones are empty.
    #[must_use]
    pub(crate) fn value(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

impl Listing {
    /// Reads the next line that is not blank. An error says what was expected.
    pub(crate) fn read(&mut self, line: &str) -> Result<Line, String> {
        let is_comment = line.starts_with('#');
        // In a table a name may begin so.
        if is_comment && !matches!(&self.kind, Kind::Table(header) if header.fits(line)) {
            return Ok(Line::Nothing);
        }
        if let Kind::Unknown = self.kind {
            self.kind = Kind::of(line);
            if let Kind::Table(_) = self.kind {
                return Ok(Line::Nothing);
            }
        }
        match &self.kind {
            Kind::Unknown | Kind::Plain => Ok(Line::Target(without_comment(line).into())),
            Kind::Table(header) => header.row(line),
            Kind::Objects => object(line),
            Kind::Masscan => masscan(line),
        }
    }
}

impl Kind {
    fn of(line: &str) -> Self {
        if line.starts_with('{') || line == "[" {
            return Self::Objects;
        }
        if line.starts_with("open udp ") || line.starts_with("open tcp ") {
            return Self::Masscan;
        }
        match cells(line).and_then(|cells| Header::of(&cells)) {
            Some(header) => Self::Table(header),
            None => Self::Plain,
        }
    }
}

impl Header {
    fn of(cells: &StringRecord) -> Option<Self> {
        let names: Vec<String> = cells.iter().map(|name| name.trim().to_owned()).collect();
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let address = match (find("address"), find("saddr")) {
            // `address` alone is a name that a host may have.
            (Some(address), _) if names.len() > 1 => Columns::Whole(address),
            (_, Some(host)) => Columns::Parts { host, port: find("sport") },
            _ => return None,
        };
        let protocol = find("protocol");
        Some(Self { names, address, protocol })
    }

    /// True if `line` has as many cells as the header.
    fn fits(&self, line: &str) -> bool {
        cells(line).is_some_and(|cells| cells.len() == self.names.len())
    }

    fn row(&self, line: &str) -> Result<Line, String> {
        let cells = cells(line)
            .filter(|cells| cells.len() == self.names.len())
            .ok_or_else(|| format!("the header has {} columns, and this row has not", self.names.len()))?;
        let cell = |index: usize| cells.get(index).unwrap_or_default();
        let address = match self.address {
            Columns::Whole(address) => cell(address).to_owned(),
            Columns::Parts { host, port } => join(cell(host), port.map(cell)),
        };
        let protocol = self.protocol.map(cell).unwrap_or_default();
        let values = self.names.iter().cloned().zip(cells.iter().map(str::to_owned)).collect();
        named(protocol, &address, Row(values))
    }
}

fn cells(line: &str) -> Option<StringRecord> {
    let mut record = StringRecord::new();
    let read = ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes()).read_record(&mut record);
    read.ok()?.then_some(record)
}

fn object(line: &str) -> Result<Line, String> {
    let text = line.trim_end_matches(',');
    if matches!(text, "[" | "]" | "" | "{finished: 1}") {
        return Ok(Line::Nothing);
    }
    let object: Map<String, Value> =
        serde_json::from_str(text).map_err(|reason| format!("this line is no JSON object: {reason}"))?;
    let value = |name: &str| object.get(name).map(text_of).unwrap_or_default();
    let ports = object.get("ports").and_then(Value::as_array);
    let first_port = ports.and_then(|ports| ports.first()?.get("port")).map(text_of);
    let address = match (value("address"), value("saddr"), value("ip")) {
        (address, ..) if !address.is_empty() => address,
        (_, host, _) if !host.is_empty() => join(&host, Some(&value("sport"))),
        (.., host) if !host.is_empty() => join(&host, first_port.as_deref()),
        _ => return Err("this object has neither address nor saddr nor ip".into()),
    };
    let values = object.iter().map(|(name, value)| (name.clone(), text_of(value))).collect();
    named(&value("protocol"), &address, Row(values))
}

fn masscan(line: &str) -> Result<Line, String> {
    let mut words = line.split_ascii_whitespace();
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some("open"), Some(_), Some(port), Some(host)) => Ok(Line::Target(join(host, Some(port)))),
        _ => Err("expected a line as masscan -oL writes it: open udp PORT IP TIME".into()),
    }
}

/// A value as it stands in CSV.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn join(host: &str, port: Option<&str>) -> String {
    match port.filter(|port| !port.is_empty()) {
        None => host.into(),
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
    }
}

fn named(protocol: &str, address: &str, row: Row) -> Result<Line, String> {
    match (protocol, address) {
        (_, "") => Err("this row has no address".into()),
        ("", address) => Ok(Line::Row(address.into(), row)),
        (protocol, address) => Ok(Line::Row(format!("{protocol}://{address}"), row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The targets of a list, and the number of lines that could not be read.
    fn read(lines: &[&str]) -> (Vec<String>, usize) {
        let mut listing = Listing::default();
        let mut targets = Vec::new();
        let mut bad = 0;
        for line in lines {
            match listing.read(line) {
                Ok(Line::Nothing) => {}
                Ok(Line::Target(target) | Line::Row(target, _)) => targets.push(target),
                Err(_) => bad += 1,
            }
        }
        (targets, bad)
    }

    #[test]
    fn each_kind_of_list_is_recognised_by_its_first_line() {
        let cases: [(&[&str], &[&str]); 8] = [
            (&["192.0.2.1", "192.0.2.0/24:1-2,5"], &["192.0.2.1", "192.0.2.0/24:1-2,5"]),
            (&["address,ip,protocol,name", "192.0.2.1:5,192.0.2.1,a2s,\"a, b\""], &["a2s://192.0.2.1:5"]),
            (&["saddr,sport,data", "192.0.2.1,27015,ff"], &["192.0.2.1:27015"]),
            (&["saddr", "192.0.2.1", "192.0.2.2"], &["192.0.2.1", "192.0.2.2"]),
            (&[r#"{"address":"[2001:db8::1]:5","protocol":"a2s"}"#], &["a2s://[2001:db8::1]:5"]),
            (&[r#"{"saddr":"192.0.2.1","sport":27015}"#], &["192.0.2.1:27015"]),
            (
                &["open udp 27015 192.0.2.1 1700000000", "open udp 5 2001:db8::1 1"],
                &["192.0.2.1:27015", "[2001:db8::1]:5"],
            ),
            (
                &["[", r#"{ "ip": "192.0.2.1", "ports": [ {"port": 27015, "proto": "udp"} ] },"#, ",", "]"],
                &["192.0.2.1:27015"],
            ),
        ];
        for (lines, targets) in cases {
            assert_eq!(read(lines), (targets.iter().map(|t| (*t).to_owned()).collect(), 0), "{lines:?}");
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_errors_of_their_own() {
        let (targets, bad) =
            read(&["address,port", "192.0.2.1:5,5", "192.0.2.2:5", "192.0.2.3:5,5,5", ",5", "192.0.2.4:5,5"]);
        assert_eq!((targets.len(), bad), (2, 3));
        let (targets, bad) =
            read(&[r#"{"address":"192.0.2.1:5"}"#, "{", r#"{"name":"x"}"#, "[1]", r#"{"ip":"192.0.2.2"}"#]);
        assert_eq!((targets, bad), (vec!["192.0.2.1:5".into(), "192.0.2.2".into()], 3));
    }

    #[test]
    fn a_name_may_begin_as_a_comment_does() {
        let (targets, bad) = read(&["# a", "name,address", "# b", "#c,192.0.2.1:5", "\"#d\",192.0.2.2:5"]);
        assert_eq!((targets, bad), (vec!["192.0.2.1:5".into(), "192.0.2.2:5".into()], 0));
    }

    #[test]
    fn the_values_of_a_row_can_be_asked_for_by_name() {
        let mut listing = Listing::default();
        listing.read("address,players,name").unwrap();
        let Line::Row(_, row) = listing.read("192.0.2.1:5,12,\"x \"\"y\"\"\"").unwrap() else { panic!("a row") };
        assert_eq!([row.value("players"), row.value("name"), row.value("map")], ["12", "x \"y\"", ""]);
        let mut listing = Listing::default();
        let Line::Row(_, row) =
            listing.read(r#"{"address":"192.0.2.1:5","players":12,"vac":null,"os":"linux"}"#).unwrap()
        else {
            panic!("a row")
        };
        assert_eq!([row.value("players"), row.value("vac"), row.value("os")], ["12", "", "linux"]);
    }
}
