//! The messages as they are on the wire: a word, then keys and values, then lines of players.
//!
//! ```text
//! infoResponse    (\key\value)*
//! statusResponse  (\key\value)* 0A (score SP ping [SP more] SP "name" [SP more] 0A)*       Quake III Arena and most
//!                 \sv_maxclients\…\clients\… 0A (0 SP 0 SP "name" 0A)* (\key\value)*       FiveM
//! ```
//!
//! Length decides where a message ends, not a NUL: FiveM has sent one after the challenge. Names hold quotes, which nobody
//! escapes, so that a name reaches from the first quote of its line to the last. Neither does FiveM escape a backslash
//! in its server's name, behind which every later key would be taken for a value: see [`Variables::value_length`].

use memchr::{memchr, memrchr};

use crate::protocol::{Fields, Scribe, a2s};
use crate::record::{Flags, Player};
use crate::wire::{DecodeError, Problem};

/// What a message begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The info.
    InfoResponse,
    /// The players and the server's variables.
    StatusResponse,
    /// Text for the console of a player.
    Print,
    /// The request for the info.
    GetInfo,
    /// The request for players and variables.
    GetStatus,
}

impl Word {
    const ALL: [(Self, &[u8]); 5] = [
        (Self::InfoResponse, b"infoResponse"),
        (Self::StatusResponse, b"statusResponse"),
        (Self::Print, b"print"),
        (Self::GetInfo, b"getinfo"),
        (Self::GetStatus, b"getstatus"),
    ];
}

/// What a response says, piece by piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Entry<'a> {
    /// A variable of the server.
    Variable { key: &'a [u8], value: &'a [u8] },
    /// A player; `bot` if the line says that it is one.
    Player { player: Player<&'a [u8]>, bot: bool },
}

/// `data` without the NULs at its end, with which some servers end their messages.
pub(super) fn trim(data: &[u8]) -> &[u8] {
    let end = data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    data.get(..end).unwrap_or_default()
}

/// Reads the header and the word of a message, and what separates it from what follows. A response has variables.
pub(super) fn read_word<S: Scribe>(fields: &mut Fields<'_, S>) -> Result<Word, DecodeError> {
    if !fields.skip("header", a2s::HEADER) {
        return Err(fields.reader().error(Problem::Header));
    }
    while fields.skip("header", a2s::HEADER) {} // ends with the datagram at the latest
    let rest = fields.reader().rest();
    let end = rest.iter().position(|byte| b"\n\r \\\0".contains(byte)).unwrap_or(rest.len());
    let found = Word::ALL.into_iter().find(|(_, text)| rest.get(..end) == Some(*text));
    let Some((word, text)) = found else { return Err(fields.reader().error(Problem::Type)) };
    fields.span("command", text.len());
    let blank = fields.reader().rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    fields.pass(blank);
    match (word, fields.reader().peek()) {
        (Word::InfoResponse | Word::StatusResponse, None) => Err(fields.reader().error(Problem::Cut)),
        (Word::InfoResponse | Word::StatusResponse, Some(byte)) if byte != b'\\' => {
            Err(fields.reader().error(Problem::Value))
        }
        _ => Ok(word),
    }
}

/// Reads what follows the word of a response, and says what was odd about it.
pub(super) fn read<'a, S: Scribe>(fields: &mut Fields<'a, S>, word: Word, mut each: impl FnMut(Entry<'a>)) -> Flags {
    let mut variables = Variables::default();
    if word == Word::InfoResponse {
        variables.fixed = true;
        let line = without_end(fields.reader().rest());
        return variables.read(fields, line, &mut each);
    }
    let (mut flags, mut players, mut first) = (Flags::NONE, 0, true);
    // Bounded by the message: each turn passes a byte of it at least.
    while !fields.reader().is_empty() {
        let rest = fields.reader().rest();
        let end = memchr(b'\n', rest);
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let text = without_end(line);
        if text.starts_with(b"\\") && (first || !is_player(text)) {
            flags |= variables.read(fields, text, &mut each);
        } else if text.trim_ascii().is_empty() {
            fields.pass(text.len());
        } else {
            fields.entry("player", players);
            let (player, odd) = if text.starts_with(b"\\") {
                (Some(player_of_pairs(fields, text)), Flags::NONE)
            } else {
                player_of_line(fields, text)
            };
            flags |= odd;
            if let Some(player) = player {
                each(player);
                players += 1;
            }
        }
        fields.pass(line.len() - text.len() + 1);
        first = false;
    }
    flags
}

/// `line` without what ends it. Blanks at the end of a value belong to it.
fn without_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    line.get(..end).unwrap_or_default()
}

/// Reads keys and values.
#[derive(Default)]
struct Variables {
    /// How many were read.
    count: usize,
    /// The keys are those of FiveM's info, and no others.
    fixed: bool,
    /// The server said that it is FiveM's.
    fivem: bool,
}

impl Variables {
    /// Reads `line`, which comes next and begins with a backslash.
    fn read<'a, S: Scribe>(
        &mut self,
        fields: &mut Fields<'a, S>,
        line: &'a [u8],
        each: &mut impl FnMut(Entry<'a>),
    ) -> Flags {
        let mut flags = Flags::NONE;
        let mut left = line;
        // Bounded by the line: each turn takes a backslash off it at least.
        while let Some(rest) = left.strip_prefix(b"\\") {
            fields.entry("variable", self.count);
            fields.pass(1);
            let Some(key_length) = memchr(b'\\', rest) else {
                // Whoever ends a line with a backslash has said everything; a key alone has lost its value.
                if !rest.is_empty() {
                    fields.span("key", rest.len());
                    flags |= Flags::MALFORMED;
                }
                break;
            };
            let key = fields.span("key", key_length);
            fields.pass(1);
            let rest = rest.get(key_length + 1..).unwrap_or_default();
            let (length, mended) = self.value_length(rest, key);
            let value = fields.span("value", length);
            left = rest.get(length..).unwrap_or_default();
            if mended {
                flags |= Flags::MALFORMED;
            }
            self.fivem |= says_fivem(key, value);
            self.count += 1;
            each(Entry::Variable { key, value });
        }
        flags
    }

    /// How long the value of `key` is, with which `rest` begins, and whether it holds backslashes.
    ///
    /// Only FiveM sends those, and only the server's name is looked at. What seems to be a key after it is part of it if
    /// FiveM's info has no such key. Among the server's variables, which may be called anything, it is part of it if
    /// a key that is known stands where its value would be: then everything is shifted by one.
    fn value_length(&self, rest: &[u8], key: &[u8]) -> (usize, bool) {
        let token = |at: usize| rest.get(at + 1..).and_then(|rest| rest.split(|byte| *byte == b'\\').next());
        let mut length = token_length(rest);
        if !self.fivem || !NAMES.contains(&key) {
            return (length, false);
        }
        let mut mended = false;
        // Bounded by the backslashes in `rest`.
        while let Some(next) = token(length).filter(|next| !is_fivem_key(next)) {
            let behind = length + 1 + next.len();
            if !self.fixed && !token(behind).is_some_and(is_fivem_key) {
                break;
            }
            length = behind;
            mended = true;
        }
        (length, mended)
    }
}

fn token_length(rest: &[u8]) -> usize {
    memchr(b'\\', rest).unwrap_or(rest.len())
}

/// True for the keys of FiveM's info, and for variables of FiveM's after the server's name, which are sorted.
fn is_fivem_key(key: &[u8]) -> bool {
    key.starts_with(b"sv_") || FIVEM_KEYS.contains(&key)
}

/// True if `line`, which begins with a backslash, describes a player rather than the server.
fn is_player(line: &[u8]) -> bool {
    let has = |key| value_of(line, key).is_some();
    has(b"name") && has(b"ping")
}

/// The value of `key` in `line`.
fn value_of<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut tokens = line.split(|byte| *byte == b'\\').skip(1);
    while let (Some(name), Some(value)) = (tokens.next(), tokens.next()) {
        if name == key {
            return Some(value);
        }
    }
    None
}

/// Reads a player who is described by keys and values.
fn player_of_pairs<'a, S: Scribe>(fields: &mut Fields<'a, S>, line: &'a [u8]) -> Entry<'a> {
    fields.span("keys and values", line.len());
    let number_of = |key| value_of(line, key).and_then(number);
    let (score, ping_ms) = (number_of(b"score"), number_of(b"ping"));
    let name = value_of(line, b"name").unwrap_or_default();
    Entry::Player { player: Player { name, score, ping_ms, ..Player::default() }, bot: false }
}

/// Reads a player's line: up to two numbers, a name in quotes, and whatever else there is, which differs between games. A
/// line without a name that is not two numbers at least is no player.
fn player_of_line<'a, S: Scribe>(fields: &mut Fields<'a, S>, line: &'a [u8]) -> (Option<Entry<'a>>, Flags) {
    let quote = memchr(b'"', line);
    let mut left = quote.unwrap_or(line.len());
    let score = read_number(fields, "score", &mut left);
    let ping_ms = score.and_then(|_| read_number(fields, "ping", &mut left));
    let entry = |name, bot| Entry::Player { player: Player { name, score, ping_ms, ..Player::default() }, bot };
    let Some(first) = quote else {
        let name = fields.span("rest", left).trim_ascii();
        return if ping_ms.is_some() { (Some(entry(name, false)), Flags::NONE) } else { (None, Flags::TRAILING_BYTES) };
    };
    fields.pass(left + 1);
    let Some(last) = memrchr(b'"', line).filter(|last| *last > first) else {
        let name = fields.span("name, cut", line.len() - first - 1);
        return (Some(entry(name, false)), Flags::TRUNCATED);
    };
    let name = fields.span("name", last - first - 1);
    fields.pass(1);
    let more = match line.len() - last - 1 {
        0 => b"",
        length => fields.span("rest", length),
    };
    let bot = more.split(u8::is_ascii_whitespace).any(|word| word == b"[bot]");
    (Some(entry(name, bot)), Flags::NONE)
}

/// Reads a number out of the next `left` bytes, if one comes next there.
fn read_number<S: Scribe>(fields: &mut Fields<'_, S>, name: &'static str, left: &mut usize) -> Option<i32> {
    let text = fields.reader().rest().get(..*left).unwrap_or_default();
    let blank = text.iter().take_while(|byte| **byte == b' ').count();
    let word = text.get(blank..)?.split(|byte| *byte == b' ').next()?;
    let number = number(word)?;
    fields.pass(blank);
    fields.span(name, word.len());
    *left -= blank + word.len();
    Some(number)
}

/// A number that is nothing else.
pub(super) fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// True if only servers of FiveM have this variable.
pub(super) fn says_fivem(key: &[u8], value: &[u8]) -> bool {
    key == b"gamename" && FIVEM_GAMES.contains(&value)
}

/// Under which keys servers send their names: in the info, and among the variables.
pub(super) const NAMES: &[&[u8]] = &[b"hostname", b"sv_hostname"];
/// What FiveM's servers are called: in the info, and among the variables.
const FIVEM_GAMES: &[&[u8]] = &[b"CitizenFX", b"gta5", b"rdr3"];
const FIVEM_KEYS: &[&[u8]] = &[
    b"clients",
    b"challenge",
    b"gamename",
    b"protocol",
    b"hostname",
    b"gametype",
    b"mapname",
    b"iv",
    b"tags",
    b"temp-convar",
    b"txAdmin-version",
    b"version",
];
