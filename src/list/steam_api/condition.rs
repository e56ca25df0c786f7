//! Conditions of the filter language by which a question is made smaller.
//!
//! Every one is documented for the master servers (`\map\de_dust2`), or sent by Valve's own server browser (`\region\3`).
//! Nobody has to know how Steam reads one: a part is made of a condition and its sibling of the same condition under
//! `\nor`, so that each server is on one side, whatever the condition means. That is why `\noplayers\1` is not used as
//! the opposite of `\empty\1`: a server with bots alone may be on neither side.

use std::borrow::Cow;
use std::fmt;

use super::server::Server;

/// Something by which servers differ and that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    App,
    Folder,
    Region,
    Secure,
    Linux,
    Dedicated,
    Version,
    Map,
    /// `\empty\1` means: with players.
    Occupied,
    /// `\full\1` means: with room.
    Room,
    /// By the first letters of the name.
    Name,
    Host,
    /// `\password\0` means: without one. Answers do not say who has.
    Open,
}

impl Dimension {
    /// All of them: those first that are preferred where nothing else decides.
    pub(super) const ALL: [Self; 13] = [
        Self::App,
        Self::Folder,
        Self::Region,
        Self::Secure,
        Self::Linux,
        Self::Dedicated,
        Self::Version,
        Self::Name,
        Self::Map,
        Self::Occupied,
        Self::Room,
        Self::Open,
        Self::Host,
    ];

    /// How the language calls it.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::App => "appid",
            Self::Folder => "gamedir",
            Self::Region => "region",
            Self::Secure => "secure",
            Self::Linux => "linux",
            Self::Dedicated => "dedicated",
            Self::Version => "version_match",
            Self::Map => "map",
            Self::Occupied => "empty",
            Self::Room => "full",
            Self::Name => "name_match",
            Self::Host => "gameaddr",
            Self::Open => "password",
        }
    }

    /// The only value of conditions that hold or do not.
    pub(super) const fn only_value(self) -> Option<&'static str> {
        match self {
            Self::Secure | Self::Linux | Self::Dedicated | Self::Occupied | Self::Room => Some("1"),
            Self::Open => Some("0"),
            _ => None,
        }
    }

    /// Whether a server changes sides from minute to minute: one that does so between two questions is missed or seen twice.
    pub(super) const fn is_volatile(self) -> bool {
        matches!(self, Self::Map | Self::Occupied | Self::Room)
    }

    /// The value with which the condition holds for `server`, if it can be written; of names, the letters up to the one
    /// behind `prefix`.
    pub(super) fn value_of<'a>(self, server: &'a Server, prefix: &str) -> Option<Cow<'a, str>> {
        let text = |text: &'a Option<String>| text.as_deref().map(Cow::Borrowed);
        let only = |holds: bool| holds.then_some(Cow::Borrowed("1"));
        match self {
            Self::App => server.appid.map(|id| id.to_string().into()),
            Self::Folder => text(&server.gamedir),
            Self::Region => server.region.map(|region| region.to_string().into()),
            Self::Secure => only(server.secure?),
            Self::Linux => only(server.os.as_deref()? == "l"),
            Self::Dedicated => only(server.dedicated?),
            Self::Version => text(&server.version),
            Self::Map => text(&server.map),
            Self::Occupied => only(server.players? > 0),
            Self::Room => only(server.players? < server.max_players?),
            Self::Name => {
                let name = server.name.as_deref()?;
                let mut ends = name.char_indices().map(|(start, letter)| start + letter.len_utf8());
                let letters = prefix.chars().count();
                let known = if letters == 0 { 0 } else { ends.nth(letters - 1)? };
                let end = ends.next()?;
                // Names that are in the part may be spelt otherwise.
                (fold(&name[..known]) == fold(prefix)).then(|| Cow::Borrowed(&name[..end]))
            }
            Self::Host => Some(server.addr.ip().to_string().into()),
            Self::Open => None,
        }
        // What follows the letters of a name is a star.
        .filter(|value| can_be_written(value) && (self == Self::Name || value.trim_end() == *value))
    }
}

/// The language has no escapes: a backslash ends a value, and stars and question marks are wild.
fn can_be_written(value: &str) -> bool {
    !value.is_empty()
        && value.trim_start() == value
        && !value.contains(|c: char| matches!(c, '\\' | '*' | '?') || c.is_control())
}

/// What texts have in common that Steam may take for the same: it does not say whether it looks at upper and lower case.
pub(super) fn fold(text: &str) -> String {
    text.to_lowercase()
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub dimension: Dimension,
    /// What the server has there; of names, how they begin.
    pub value: Box<str>,
}

impl Condition {
    /// Most bytes that it can take in a URL.
    pub(super) fn cost(&self) -> usize {
        // What is no letter or digit may become `%XX`; the star of a name stays.
        let bytes = self.value.bytes().map(|byte| if byte.is_ascii_alphanumeric() { 1 } else { 3 });
        bytes.sum::<usize>() + 3 * self.dimension.key().len() + 2 * 3 + 1
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.dimension == Dimension::Name { "*" } else { "" };
        write!(f, "\\{}\\{}{star}", self.dimension.key(), self.value)
    }
}
