//! JSON of any make: an object a line, arrays over many lines, documents around them.
//!
//! ```text
//! {"address": …}  {"ip": …, "port": …}  {"saddr": …, "sport": …}  {"ip_str": …}      an object a line
//! [ {"ip": …, "ports": [ {"port": …, "proto": …, "status": …} ] }, … ]                masscan
//! [ {"protocol": …, "address": …}, … ]                                                qstat
//! {"response": {"servers": [ {"addr": …, "gameport": …}, … ] } }                      the Steam Web API
//! {"queryPort": …, "connect": …}                                                      GameDig
//! ```
//!
//! A record is not built: the stream is read once, and of each object the few values are kept that count. So there is no
//! bound on the length of a document. What others get wrong (a comma too many or too few, keys without quotes) is forgiven
//! where it is clear what is meant. Where it is not, the next object that begins a line is read again.

use std::borrow::Cow;
use std::io::{self, BufRead};

use super::columns::{RECOGNIZED, Role, Writer};
use super::row::Row;
use super::scanner::{Problem, Scanner, UNFINISHED};
use super::servers::is_target;
use super::text::Text;
use super::values::{Value, key, value};
use super::words::Words;
use super::{Context, Entry, Stop, Take};
use crate::error::Error;

/// Reads a list to its end.
pub(super) fn read(bytes: &mut dyn BufRead, context: &Context<'_>, take: &mut Take<'_>) -> Result<(), Stop> {
    let mut json = Json {
        scanner: Scanner::new(bytes),
        context,
        take,
        words: Words::default(),
        text: String::new(),
        targets: Text::new(),
        spare: Vec::new(),
        line: 1,
        open: 0,
        is_lost: false,
    };
    // Bounded by the input: each turn takes something of it.
    loop {
        match json.top() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(Failure::Taker(error)) => return Err(Stop::Taker(error)),
            Err(Failure::Text(Problem::Reader(error))) => return Err(Stop::Reader(error)),
            Err(Failure::Text(Problem::Text(reason))) => {
                (json.take)(json.line, Err(reason))?;
                json.recover()?;
            }
        }
    }
}

struct Json<'j, 'r> {
    scanner: Scanner<'r>,
    context: &'j Context<'j>,
    take: &'j mut Take<'j>,
    words: Words,
    text: String,
    /// Reads texts that are targets by themselves.
    targets: Text,
    /// Records that are not in use.
    spare: Vec<Record>,
    /// Line of the object that began last.
    line: u64,
    /// Arrays around the next object.
    open: u64,
    /// Something could not be read, and no object has begun since.
    is_lost: bool,
}

/// What counts of an object.
#[derive(Debug, Default)]
struct Record {
    /// Values, one after the other.
    kept: Vec<u8>,
    /// Where the value of each role is.
    roles: Vec<(Role, Value)>,
    ports: Vec<Item>,
    /// All keys with a line end behind each, which say who wrote them.
    keys: Vec<u8>,
    /// Values by their keys, if there are conditions on them.
    all: Vec<(Value, Value)>,
    /// A container of records was in it.
    is_container: bool,
}

/// A port in a list of them.
#[derive(Debug, Clone, Copy, Default)]
struct Item {
    port: Value,
    transport: Value,
    state: Value,
}

enum Failure {
    Text(Problem),
    Taker(Error),
}

impl<E: Into<Problem>> From<E> for Failure {
    fn from(problem: E) -> Self {
        Self::Text(problem.into())
    }
}

impl Json<'_, '_> {
    /// Reads what stands outside of objects; false at the end.
    fn top(&mut self) -> Result<bool, Failure> {
        let next = self.scanner.next()?;
        self.line = self.scanner.line();
        match next {
            None if std::mem::take(&mut self.open) > 0 => {
                return Err(Problem::from("the list ends before its array does: some of it is missing").into());
            }
            None => return Ok(false),
            Some(b'{') => {
                self.is_lost = false;
                self.object(0, true)?;
            }
            Some(b'[') => {
                self.open = self.open.saturating_add(1);
                self.scanner.bump();
            }
            Some(b']') => {
                self.open = self.open.saturating_sub(1);
                self.scanner.bump();
            }
            Some(b',' | b'}') => self.scanner.bump(),
            Some(b'#') if self.scanner.is_at_start() => self.scanner.skip_line()?,
            Some(_) if self.is_lost => self.scanner.skip_line()?,
            Some(b'"') => self.target()?,
            Some(_) => return Err(Problem::Text(format!("this is no JSON object: {RECOGNIZED}")).into()),
        }
        Ok(true)
    }

    /// Goes on behind what cannot be read: with the next line, unless an object has just begun one.
    fn recover(&mut self) -> io::Result<()> {
        self.is_lost = true;
        self.open = 0;
        if self.scanner.is_at_start() && self.scanner.peek()? == Some(b'{') {
            return Ok(());
        }
        self.scanner.skip_line()
    }

    /// Reads a text that is a target by itself.
    fn target(&mut self) -> Result<(), Failure> {
        let mut kept = Vec::new();
        let value = value(&mut self.scanner, &mut kept)?;
        if self.scanner.next()? == Some(b',') {
            self.scanner.bump();
        }
        // A number behind a text is its port, or something else.
        let is_followed = self.scanner.next()?.is_some_and(|byte| byte.is_ascii_digit());
        if is_followed {
            self.scanner.skip()?;
        }
        let (line, take) = (self.line, &mut self.take);
        match value.text(&kept) {
            Ok(target) if is_followed || !is_target(&target) => {
                take(line, Err(format!("{target:?} is no target of a list: write HOST:PORT as one text")))
            }
            Ok(target) => {
                let take = &mut |entry: Result<Entry<'_>, String>| take(line, entry);
                self.targets.read(target.as_bytes(), self.context, take)
            }
            Err(reason) => take(line, Err(reason)),
        }
        .map_err(Failure::Taker)
    }

    /// Reads an object, which is a record or what is around some, and says whether it named anything.
    fn object(&mut self, depth: usize, is_record: bool) -> Result<bool, Failure> {
        let line = self.scanner.line();
        self.line = line;
        let mut record = self.spare.pop().unwrap_or_default();
        record.clear();
        let said = self.members(&mut record, depth)?;
        // A record may have others in it; what is only around them names no host.
        let names_host = record.roles.iter().any(|(role, value)| role.names_host() && !value.is_empty());
        let finishes = !said || names_host;
        let said = finishes && self.finish(&record, line, is_record).map_err(Failure::Taker)? || said;
        self.spare.push(record);
        Ok(said)
    }

    fn members(&mut self, record: &mut Record, depth: usize) -> Result<bool, Failure> {
        let mut said = false;
        self.scanner.bump();
        // Bounded by the input.
        while let Some(key) = key(&mut self.scanner, &mut record.keys)? {
            let next = self.scanner.next()?;
            let is_scalar = !matches!(next, Some(b'{' | b'['));
            let name = key.bytes(&record.keys);
            let role = Role::of(name);
            if !is_scalar && depth < MOST_DEPTH && CONTAINERS.contains(&name) {
                record.is_container = true;
                said |= self.container(depth + 1)?;
            } else if matches!(role, Some(Role::Ports | Role::Port)) && !is_scalar {
                ports(&mut self.scanner, record)?;
            } else if role.is_some_and(Role::names_port) && !is_scalar {
                // Nobody here can tell which of them it is.
                self.scanner.skip()?;
                let start = record.kept.len();
                record.kept.extend_from_slice(b"several");
                let several = Value::since(start, &record.kept, true);
                record.keep(Some(Role::OtherPort), key, several, self.context)?;
            } else if is_scalar && (role.is_some() || !self.context.condition.is_empty()) {
                let value = value(&mut self.scanner, &mut record.kept)?;
                record.keep(role, key, value, self.context)?;
            } else {
                self.scanner.skip()?;
            }
        }
        Ok(said)
    }

    /// Reads what is around records: an array of them, or an object that has them somewhere.
    fn container(&mut self, depth: usize) -> Result<bool, Failure> {
        if self.scanner.peek()? == Some(b'{') {
            return self.object(depth, false);
        }
        self.scanner.bump();
        let mut said = false;
        // Bounded by the input.
        loop {
            match self.scanner.next()? {
                None => return Err(UNFINISHED.into()),
                Some(b']') => break,
                Some(b',') => self.scanner.bump(),
                Some(b'{') => said |= self.object(depth, true)?,
                Some(b'"') => {
                    self.line = self.scanner.line();
                    self.target()?;
                    said = true;
                }
                Some(_) => self.scanner.skip()?,
            }
        }
        self.scanner.bump();
        Ok(said)
    }

    /// Says what a record names, and whether that is anything. What is only around records may be without.
    fn finish(&mut self, record: &Record, line: u64, is_record: bool) -> Result<bool, Error> {
        let Self { context, take, words, text, .. } = self;
        let texts: Result<Vec<_>, String> =
            record.roles.iter().map(|(role, value)| Ok((*role, value.text(&record.kept)?))).collect();
        let texts = match texts {
            Ok(texts) => texts,
            Err(reason) => return take(line, Err(reason)).map(|()| true),
        };
        let mut row = Row::default();
        for (role, text) in &texts {
            row.set(*role, text);
        }
        if !row.names_host() && (!is_record || record.is_container || record.keys == b"finished\n") {
            return Ok(false);
        }
        // In an object about something else, a host may be a title.
        if !is_record && !row.has_port() && !row.names_address() {
            return Ok(false);
        }
        if let Some(port) =
            row.port_beside(&record.ports.iter().map(|item| item.port.text(&record.kept)).collect::<Vec<_>>())
        {
            return take(
                line,
                Err(format!("this row names the port {port}, and a list of others: call the right one query_port")),
            )
            .map(|()| true);
        }
        row.writer = if row.has_game() { record.writer() } else { Writer::Other };
        if !context.condition.is_empty() && !record.meets(context) {
            take(line, Ok(Entry::HeldBack))?;
            return Ok(true);
        }
        let mut say = |row: Result<Row<'_>, String>| match row.and_then(|row| row.entry(context, words, text)) {
            Ok(entry) => entry.map_or(Ok(()), |entry| take(line, Ok(entry))),
            Err(reason) => take(line, Err(reason)),
        };
        if record.ports.is_empty() {
            say(Ok(row))?;
        }
        for item in &record.ports {
            let [port, transport, state] =
                [item.port, item.transport, item.state].map(|value| value.text(&record.kept));
            let (port, transport, state) = match (port, transport, state) {
                (Ok(port), Ok(transport), Ok(state)) => (port, transport, state),
                (Err(reason), ..) | (_, Err(reason), _) | (.., Err(reason)) => {
                    say(Err(reason))?;
                    continue;
                }
            };
            // Some write 27015/udp.
            let (port, transport) = port.split_once('/').unwrap_or((&port, &transport));
            let mut row = row;
            row.set_port(port, transport, &state);
            say(Ok(row))?;
        }
        Ok(true)
    }
}

impl Record {
    /// Keeps a value, if it is the first of its role, or there are conditions.
    fn keep(&mut self, role: Option<Role>, key: Value, value: Value, context: &Context<'_>) -> Result<(), Problem> {
        let role = role.map(|role| if role == Role::Ports { Role::Port } else { role });
        let is_known = |role| self.roles.iter().any(|(other, value)| *other == role && !value.is_empty());
        if let Some(role) = role.filter(|role| role.names_port() && is_known(*role)) {
            // Whether it is another one is seen later.
            if self.roles.len() < MOST_ROLES {
                self.roles.push((role, value));
            }
        } else if let Some(role) = role.filter(|role| !is_known(*role)) {
            self.roles.retain(|(other, _)| *other != role);
            self.roles.push((role, value));
        }
        if !context.condition.is_empty() {
            if self.all.len() == MOST_KEYS {
                return Err(Problem::Text(format!("this object has more than {MOST_KEYS} keys")));
            }
            self.all.push((key, value));
        }
        Ok(())
    }

    fn add_port(&mut self, item: Item) -> Result<(), Problem> {
        if self.ports.len() == MOST_PORTS {
            return Err(Problem::Text(format!("this object has more than {MOST_PORTS} ports")));
        }
        self.ports.push(item);
        Ok(())
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.roles.clear();
        self.ports.clear();
        self.keys.clear();
        self.all.clear();
        self.is_container = false;
    }

    fn writer(&self) -> Writer {
        std::str::from_utf8(&self.keys).map_or(Writer::Other, |keys| Writer::of(keys.lines()))
    }

    fn meets(&self, context: &Context<'_>) -> bool {
        let text = |(key, value): &(Value, Value)| Some((key.text(&self.keys).ok()?, value.text(&self.kept).ok()?));
        let all: Vec<(Cow<'_, str>, Cow<'_, str>)> = self.all.iter().filter_map(text).collect();
        context.condition.holds_for(|name| all.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value))
    }
}

/// Takes a list of ports: numbers, or objects that say more.
fn ports(scanner: &mut Scanner<'_>, record: &mut Record) -> Result<(), Problem> {
    if scanner.peek()? == Some(b'{') {
        return item(scanner, record);
    }
    scanner.bump();
    // Bounded by the input.
    loop {
        match scanner.next()? {
            None => return Err(UNFINISHED.into()),
            Some(b']') => break,
            Some(b',') => scanner.bump(),
            Some(b'{') => item(scanner, record)?,
            Some(_) => {
                let port = value(scanner, &mut record.kept)?;
                record.add_port(Item { port, ..Item::default() })?;
            }
        }
    }
    scanner.bump();
    Ok(())
}

/// Takes an object about one port.
fn item(scanner: &mut Scanner<'_>, record: &mut Record) -> Result<(), Problem> {
    scanner.bump();
    let mut item = Item::default();
    let mut name = Vec::new();
    // Bounded by the input.
    while key(scanner, &mut name)?.is_some() {
        let is_scalar = !matches!(scanner.next()?, Some(b'{' | b'['));
        let place = match Role::of(name.trim_ascii_end()) {
            Some(Role::Port) => Some(&mut item.port),
            Some(Role::Transport | Role::Protocol) => Some(&mut item.transport),
            Some(Role::State) => Some(&mut item.state),
            _ => None,
        };
        match place {
            Some(place) if is_scalar => *place = value(scanner, &mut record.kept)?,
            _ => scanner.skip()?,
        }
        name.clear();
    }
    if item.port.is_empty() {
        return Err("an entry of this list of ports has no port".into());
    }
    record.add_port(item)
}

/// What has records in it: an array of them, or an object that leads to them.
const CONTAINERS: [&[u8]; 9] =
    [b"response", b"servers", b"data", b"attributes", b"matches", b"results", b"result", b"host", b"hosts"];
/// Values that are kept of an object.
const MOST_ROLES: usize = 64;
/// There are no more.
const MOST_PORTS: usize = 65_535;
/// An object of ours has a few dozen.
const MOST_KEYS: usize = 4096;
/// Containers in one another that are looked into.
const MOST_DEPTH: usize = 8;
