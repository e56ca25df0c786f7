//! What a server says about itself: the basic stat and the full one.
//!
//! ```text
//! basic   name 00 game 00 map 00 players 00 slots 00 port:2 (little-endian) address 00
//! full    padding (key 00 value 00)* 00 [01 (field 00 first:1 (value 00)* 00)*] [02 …]
//!
//! padding "splitnum" 00 80 00 · "GeyserMC" 00 80 00 · 00 × 11
//! ```
//!
//! Section 01 is about players, 02 about teams. Each field has a list of values, one a player, which begins with player
//! number `first`; Minecraft has only `player_`, the names. Just Cause 2 has players in another form after the keys:
//! `count:2 (name 00 steam id 00 ping:2)*`, big-endian.
//!
//! Texts are UTF-8 or Latin-1. A name may hold a NUL, if the server writes the low bytes of characters of two bytes.

use std::borrow::Cow;

use memchr::{memchr_iter, memmem};

use super::Dialect;
use crate::protocol::{Fields, Scribe, bedrock};
use crate::record::{Flags, Letter, Player, Query, QuerySet, QueryStatus, ServerRecord};
use crate::wire::{DecodeError, Reader};

/// What a stat is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Basic,
    Full,
    Piece,
}

/// What the value of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Name,
    Map,
    Game,
    Version,
    Players,
    Slots,
    Bots,
    Port,
    Password,
    Dedicated,
}

impl Form {
    /// The form of the stat with `body`, if it is one.
    pub(super) fn of(dialect: &Dialect, body: &[u8]) -> Option<Self> {
        if let Some(rest) = body.strip_prefix(SPLITNUM) {
            return match (*rest.first()?, dialect.is_just_cause) {
                // Just Cause 2 never splits a stat, and does not say that it is whole.
                (0, true) | (ONLY, false) => Some(Self::Full),
                (_, true) => None,
                (_, false) => Some(Self::Piece),
            };
        }
        if !dialect.has_basic {
            return None;
        }
        if body.get(PADDING_SIZE..).is_some_and(begins_with_key) {
            return Some(Self::Full);
        }
        if Basic::of(body).is_some() {
            return Some(Self::Basic);
        }
        padding_size(body).map(|_| Self::Full)
    }
}

/// Fills `record` from the full stat with `body`: with the answers to `queries`.
pub(super) fn fill(dialect: &Dialect, body: &[u8], queries: QuerySet, record: &mut ServerRecord) {
    let result = read(dialect, &mut Fields::silent(Reader::new(body)), record);
    if result.is_err() {
        record.flags |= Flags::TRUNCATED;
    }
    if record.rules.is_empty() {
        return;
    }
    // Keys that nobody knows are no info.
    let says_something = record.name.as_str().is_some() || record.players.is_some() || record.max_players.is_some();
    for query in [Query::Info, Query::Players, Query::Rules].into_iter().filter(|query| queries.contains(*query)) {
        if !says_something {
            record.flags |= Flags::MALFORMED;
            break;
        }
        // Of players nothing is known if it ended before them.
        if result.is_ok() || query != Query::Players || record.player_list.is_present() {
            record.set_query(query, QueryStatus::Ok);
        }
    }
    if !queries.contains(Query::Players) {
        record.player_list.clear();
        record.players_declared = None;
    }
    if !queries.contains(Query::Rules) {
        record.rules.clear();
    }
}

/// Fills `record` from the basic stat with `body`.
pub(super) fn fill_basic(dialect: &Dialect, body: &[u8], record: &mut ServerRecord) {
    if read_basic(dialect, &mut Fields::silent(Reader::new(body)), record).is_err() {
        record.flags |= Flags::TRUNCATED;
    }
}

/// Reads a full stat into `record`: what came is kept, and an error says where it ended early.
pub(super) fn read<S: Scribe>(
    dialect: &Dialect,
    fields: &mut Fields<'_, S>,
    record: &mut ServerRecord,
) -> Result<(), DecodeError> {
    record.rules.begin();
    if fields.skip("splitnum", SPLITNUM) {
        fields.u8("number, 80: last")?;
        fields.skip("section", &[PAIRS]);
    } else {
        let size = padding_size(fields.reader().rest()).unwrap_or(0);
        fields.span("padding", size);
    }
    let result = read_pairs(dialect, fields, record);
    best(record);
    result?;
    record.player_list.begin();
    if dialect.is_just_cause { read_just_cause(fields, record) } else { read_sections(fields, record) }
}

/// Reads a basic stat into `record`.
pub(super) fn read_basic<S: Scribe>(
    dialect: &Dialect,
    fields: &mut Fields<'_, S>,
    record: &mut ServerRecord,
) -> Result<(), DecodeError> {
    let Some(Basic { name, has_text_port }) = Basic::of(fields.reader().rest()) else { return Ok(()) };
    set(dialect, Key::Name, fields.ended_span("name", name, b"\0"), record);
    for (name, key) in [("game", Key::Game), ("map", Key::Map), ("players", Key::Players), ("slots", Key::Slots)] {
        let mut value = None;
        fields.text(name, &mut value)?;
        set(dialect, key, value.unwrap_or_default(), record);
    }
    best(record);
    if has_text_port {
        let mut port = None;
        fields.text("port", &mut port)?;
        set(dialect, Key::Port, port.unwrap_or_default(), record);
    } else {
        // The only little-endian number of the protocol.
        record.game_port = Some(fields.u16_le("port")?).filter(|port| *port > 0);
    }
    fields.text("address", &mut None)
}

/// Where the fields of a basic stat are.
struct Basic {
    /// Bytes of the name: it ends two texts before the first two numbers in a row.
    name: usize,
    /// One implementation writes the port as text.
    has_text_port: bool,
}

impl Basic {
    fn of(body: &[u8]) -> Option<Self> {
        // The ends of the last five texts.
        let mut ends = [0; 5];
        let mut count = 0;
        let mut begin = 0;
        let mut numbers = 0;
        for end in memchr_iter(0, body) {
            ends.rotate_left(1);
            ends[4] = end;
            count += 1;
            let is_number = end > begin && body[begin..end].iter().all(u8::is_ascii_digit);
            numbers = if is_number && count > 3 { numbers + 1 } else { 0 };
            begin = end + 1;
            if numbers == 2 {
                let rest = body.get(begin..).unwrap_or_default();
                let port = memchr::memchr(0, rest).filter(|end| *end > 0 && *end + 1 < rest.len());
                let has_text_port = port.is_some_and(|end| rest[..end].iter().all(u8::is_ascii_digit));
                return Some(Self { name: ends[0], has_text_port });
            }
        }
        None
    }
}

/// Reads keys and values up to the first section after them.
fn read_pairs<S: Scribe>(
    dialect: &Dialect,
    fields: &mut Fields<'_, S>,
    record: &mut ServerRecord,
) -> Result<(), DecodeError> {
    let mut number = 0;
    // Each turn reads at least one byte.
    loop {
        match fields.reader().peek() {
            None | Some(PLAYERS | TEAMS) => return Ok(()),
            Some(0) if dialect.is_just_cause => {
                fields.skip("end", b"\0");
                return Ok(());
            }
            Some(0) => skip_zeros(fields),
            Some(_) => {
                fields.entry("pair", number);
                number += 1;
                let mut key = None;
                fields.text("key", &mut key)?;
                let key = key.unwrap_or_default();
                let (value, result) = read_value(dialect, key, fields, record);
                record.rules.push(key, value);
                if let Some((_, meaning)) = dialect.keys.iter().find(|(name, _)| *name == key) {
                    set(dialect, *meaning, value, record);
                }
                result?;
            }
        }
    }
}

/// Reads the value of `key`. A name with a NUL in it goes on to the next key that is known.
fn read_value<'a, S: Scribe>(
    dialect: &Dialect,
    key: &[u8],
    fields: &mut Fields<'a, S>,
    record: &mut ServerRecord,
) -> (&'a [u8], Result<(), DecodeError>) {
    let mut value = None;
    if dialect.has_basic && key == b"hostname" {
        let rest = fields.reader().rest();
        let is_end = |end: &usize| begins_with_key(&rest[end + 1..]) || rest[*end..].starts_with(END);
        let mut zeros = memchr_iter(0, rest).enumerate();
        if let Some((inner, end)) = zeros.find(|(_, end)| is_end(end)) {
            if inner > 0 {
                record.flags |= Flags::MALFORMED;
            }
            return (fields.ended_span("value", end, b"\0"), Ok(()));
        }
    }
    let result = fields.text("value", &mut value);
    (value.unwrap_or_default(), result)
}

/// Reads the fields of players and teams.
fn read_sections<S: Scribe>(fields: &mut Fields<'_, S>, record: &mut ServerRecord) -> Result<(), DecodeError> {
    let mut field = Field::Other;
    // Each turn reads at least one byte.
    loop {
        match fields.reader().peek() {
            None => return Ok(()),
            Some(0) => skip_zeros(fields),
            Some(section @ (PLAYERS | TEAMS)) => {
                fields.skip("section", &[section]);
            }
            Some(_) => {
                let mut name = None;
                fields.text("field", &mut name)?;
                let name = name.unwrap_or_default();
                field = match name {
                    b"player_" => Field::Name,
                    b"score_" => Field::Score,
                    b"deaths_" => Field::Deaths,
                    _ if name.ends_with(b"_") || name.ends_with(b"_t") => Field::Other,
                    // A blank value looked like the end of the list.
                    _ => {
                        field.set(record.player_list.len(), name, record);
                        read_values(field, record.player_list.len(), fields, record)?;
                        continue;
                    }
                };
                let first = fields.u8("first")?;
                read_values(field, first.into(), fields, record)?;
            }
        }
    }
}

/// Reads the values of `field`, the first of which belongs to player number `first`.
fn read_values<S: Scribe>(
    field: Field,
    first: usize,
    fields: &mut Fields<'_, S>,
    record: &mut ServerRecord,
) -> Result<(), DecodeError> {
    for number in first.. {
        let mut value = None;
        let result = fields.text("value", &mut value);
        let value = value.unwrap_or_default();
        if value.is_empty() {
            return result;
        }
        field.set(number, value, record);
        result?;
    }
    Ok(())
}

/// What the values of a field are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Score,
    Deaths,
    Other,
}

impl Field {
    /// Sets it for player `number`.
    fn set(self, number: usize, value: &[u8], record: &mut ServerRecord) {
        let list = &mut record.player_list;
        match self {
            // What came at the end of one piece comes again in the next.
            Self::Name if number < list.len() => {}
            Self::Name => list.push(Player { name: value, ..Player::default() }),
            Self::Score => {
                if let Some(player) = list.entry_mut(number) {
                    player.score = parsed(value);
                }
            }
            Self::Deaths => {
                if let Some(player) = list.entry_mut(number) {
                    player.deaths = parsed(value);
                }
            }
            Self::Other => {}
        }
    }
}

/// Reads the players of Just Cause 2.
fn read_just_cause<S: Scribe>(fields: &mut Fields<'_, S>, record: &mut ServerRecord) -> Result<(), DecodeError> {
    let declared = fields.u16_be("players")?;
    record.players_declared = Some(declared.into());
    let mut result = Ok(());
    let mut number = 0;
    while !fields.reader().is_empty() && result.is_ok() {
        fields.entry("player", number);
        number += 1;
        let mut name = None;
        result = fields.text("name", &mut name);
        record.player_list.push(Player { name: name.unwrap_or_default(), ..Player::default() });
        result =
            result.and_then(|()| fields.text("steam id", &mut None)).and_then(|()| fields.u16_be("ping").map(|_| ()));
    }
    if number != usize::from(declared) {
        record.flags |= Flags::COUNT_MISMATCH;
    }
    result
}

fn skip_zeros<S: Scribe>(fields: &mut Fields<'_, S>) {
    let zeros = fields.reader().rest().iter().take_while(|byte| **byte == 0).count();
    fields.span("end", zeros);
}

/// Bytes before the first key, if it is one that is known.
fn padding_size(body: &[u8]) -> Option<usize> {
    (0..=MOST_PADDING).find(|size| body.get(*size..).is_some_and(begins_with_key))
}

/// True if a key that Minecraft servers send begins here.
fn begins_with_key(text: &[u8]) -> bool {
    MINECRAFT_KEYS.iter().any(|key| text.strip_prefix(*key).is_some_and(|rest| rest.first() == Some(&0)))
}

/// Writes `value` into the column that `key` stands for.
fn set(dialect: &Dialect, key: Key, value: &[u8], record: &mut ServerRecord) {
    let text = match key {
        Key::Name => &mut record.name,
        Key::Map => &mut record.map,
        Key::Game => &mut record.game,
        Key::Version => &mut record.version,
        Key::Players => return record.players = parsed(value),
        Key::Slots => return record.max_players = parsed(value),
        Key::Bots => return record.bots = parsed(value),
        Key::Port => return record.game_port = parsed(value).filter(|port| *port > 0),
        Key::Password => return record.password = switch(value),
        Key::Dedicated => {
            record.server_type = switch(value).map(|is| Letter::Known(if is { "dedicated" } else { "listen" }));
            return;
        }
    };
    let shown = utf8(value);
    let shown =
        if key == Key::Name && dialect.has_basic { bedrock::without_codes(&shown) } else { Cow::Borrowed(&*shown) };
    record.flags |= text.set_shown(&shown, value);
}

/// The best known numbers: the list of players may be a sample.
fn best(record: &mut ServerRecord) {
    record.players_best = record.players;
    record.max_players_best = record.max_players;
    record.players_basis = record.players.map(|_| "reported");
}

/// `text` in UTF-8: what cannot be that is Latin-1.
fn utf8(text: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(text).is_ok() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes())
}

fn parsed<T: std::str::FromStr>(value: &[u8]) -> Option<T> {
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

fn switch(value: &[u8]) -> Option<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"1" | b"true" => Some(true),
        b"0" | b"false" | b"" => Some(false),
        _ => None,
    }
}

/// True where the pairs of `content` are over: a section follows.
pub(super) fn has_sections(content: &[u8]) -> bool {
    [PLAYERS, TEAMS].iter().any(|section| memmem::find(content, &[0, 0, *section]).is_some())
}

/// Before the number of a piece, or what is the only one.
pub(super) const SPLITNUM: &[u8] = b"splitnum\0";
/// The bit of the last piece.
pub(super) const LAST: u8 = 0x80;
/// The number of a piece that is the only one.
pub(super) const ONLY: u8 = LAST;
/// Of keys and values.
pub(super) const PAIRS: u8 = 0;
/// Of fields of players.
pub(super) const PLAYERS: u8 = 1;
/// Of fields of teams.
pub(super) const TEAMS: u8 = 2;
/// Behind the value of the last key of Minecraft.
const END: &[u8] = b"\0\0\x01player_\0";
/// Bytes before the keys, as most servers send them.
const PADDING_SIZE: usize = 11;
/// Bytes before the keys, in case that others send another number of them.
const MOST_PADDING: usize = 16;
/// The keys that Minecraft servers send; the last two, some of the Bedrock edition.
const MINECRAFT_KEYS: [&[u8]; 13] = [
    b"hostname",
    b"gametype",
    b"game type",
    b"game_id",
    b"version",
    b"plugins",
    b"map",
    b"numplayers",
    b"maxplayers",
    b"hostport",
    b"hostip",
    b"server_engine",
    b"whitelist",
];
