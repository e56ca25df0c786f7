//! A row of any form, and the target that it names.
//!
//! Which port is asked, if a row names several:
//!
//! ```text
//! query_port                       that one, exactly
//! port, sport, HOST:PORT           that one; refused if two of them differ
//! gameport beside another port     where both differ, the other one is the port for queries, and asked exactly
//! gameport alone                   the port for players, if the game is known
//! none                             the usual one
//! ```

use std::borrow::Cow;

use super::columns::{RECOGNIZED, Role, Writer};
use super::servers::is_target;
use super::words::{Word, Words};
use super::{Context, Entry, Purpose};

/// What the columns of a row say; what is absent is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row<'a> {
    values: [&'a str; Role::COUNT],
    /// Two ports that were named alike.
    other_port: Option<(&'a str, &'a str)>,
    pub(super) writer: Writer,
}

/// The port of a row, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port<'a> {
    /// None is named.
    Usual,
    /// The port of the target, for queries or for players.
    Named(&'a str),
    /// The port for queries for sure.
    Query(&'a str),
    /// The port for players for sure.
    Players(&'a str),
    /// Whichever it is, the whole host is meant.
    Any,
}

impl<'a> Row<'a> {
    /// Sets what is in the column of this role. The first column that says something counts.
    pub(super) fn set(&mut self, role: Role, value: &'a str) {
        let value = value.trim();
        let Some(known) = self.values.get_mut(role as usize) else { return };
        if known.is_empty() {
            *known = value;
        } else if role.names_port() && !value.is_empty() && as_number(known) != as_number(value) {
            self.other_port.get_or_insert((known, value));
        }
    }

    /// Sets one of several ports of the host, and what is said of it.
    pub(super) fn set_port(&mut self, port: &'a str, transport: &'a str, state: &'a str) {
        for (role, value) in [(Role::Port, port), (Role::Transport, transport), (Role::State, state)] {
            self.values[role as usize] = value;
        }
    }

    /// Whether a host is named, or what was called one.
    pub(super) fn names_host(&self) -> bool {
        Role::HOSTS.iter().chain([&Role::Target]).any(|role| !self.value(*role).is_empty())
    }

    /// Whether a port is named.
    pub(super) fn has_port(&self) -> bool {
        [Role::QueryPort, Role::Port, Role::GamePort, Role::OtherPort].iter().any(|role| !self.value(*role).is_empty())
    }

    /// Whether something is named that is an address, and no title.
    pub(super) fn names_address(&self) -> bool {
        Role::HOSTS.iter().any(|role| is_target(self.value(*role)))
    }

    /// The port that is named beside a list of `ports`, none of which it is.
    pub(super) fn port_beside(&self, ports: &[Result<Cow<'_, str>, String>]) -> Option<&'a str> {
        let port = self.value(Role::Port);
        let is_listed = |listed: &Result<Cow<'_, str>, String>| {
            listed.as_ref().is_ok_and(|listed| listed.split('/').next() == Some(as_number(port)))
        };
        (!port.is_empty() && !ports.is_empty() && !ports.iter().any(is_listed)).then_some(port)
    }

    /// Whether it names a game.
    pub(super) fn has_game(&self) -> bool {
        !self.value(Role::Game).is_empty()
    }

    fn value(&self, role: Role) -> &'a str {
        self.values[role as usize]
    }

    /// Writes the target that the row names to `text`, as it would be typed. None if it names none on purpose.
    pub(super) fn entry<'t>(
        &self,
        context: &Context<'_>,
        words: &mut Words,
        text: &'t mut String,
    ) -> Result<Option<Entry<'t>>, String> {
        if self.value(Role::RecordType) == "banner" {
            // It has a row as well that says that the port is open.
            return Ok(None);
        }
        let asks = context.purpose == Purpose::Ask;
        let spoken = match self.spoken(words) {
            Err(reason) if asks => return Err(reason),
            spoken => spoken.unwrap_or_default(),
        };
        let takes = context.takes(self.value(Role::Transport), self.value(Role::State));
        if asks && (!takes || spoken == Word::OtherTransport || self.is_no_answer()) {
            return Ok(Some(Entry::PassedOver));
        }
        if let Some((one, other)) = self.other_port.filter(|_| asks) {
            return Err(two_ports(one, other));
        }
        let (host, port) = self.host()?;
        text.clear();
        let Some(host) = host else {
            // A row of ours about a name that did not resolve.
            let target = self.value(Role::Target);
            match spoken {
                // A game says more than the protocol of its servers.
                Word::Protocol(name) if !target.contains("://") && context.exact_word != Some(name) => {
                    put(text, Some(name), target, None);
                }
                _ => text.push_str(target),
            }
            return Ok(Some(Entry::Target(text)));
        };
        if let (true, Word::Protocol(name)) = (asks && context.exact_word.is_some(), spoken)
            && context.exact_word == Some(name)
            && let Some((scheme, port)) = self.named_without_answer()
        {
            put(text, scheme, host, port);
            return Ok(Some(Entry::Target(text)));
        }
        let (scheme, host) = match host.split_once("://") {
            Some((scheme, host)) => (Some(scheme), host),
            None => (None, host),
        };
        let game = if let Word::Game(game) = spoken { Some(game) } else { None };
        let exact = game.map(|game| game.protocol.as_str()).or(context.exact_word);
        let port = self.port(port, exact.is_some(), asks)?;
        let scheme = match (spoken, port) {
            _ if scheme.is_some() => scheme,
            _ if !asks => None,
            (_, Port::Players(_)) => game.map(|game| game.key.as_str()),
            (Word::Protocol(name), _) => Some(name),
            (_, Port::Query(_)) => exact,
            (Word::Game(game), _) => Some(game.key.as_str()),
            _ => None,
        };
        match port {
            // Whoever is left out by the port for players is left out at every port.
            Port::Named(_) | Port::Players(_) if !asks && game.is_some() => put(text, None, host, None),
            Port::Usual | Port::Any => put(text, scheme, host, None),
            Port::Named(port) | Port::Query(port) | Port::Players(port) => put(text, scheme, host, Some(port)),
        }
        Ok(Some(Entry::Target(text)))
    }

    /// What the row says is spoken.
    fn spoken(&self, words: &mut Words) -> Result<Word, String> {
        let protocol = self.value(Role::Protocol);
        match words.find(protocol) {
            Word::Nothing => {}
            Word::Unknown => return Err(Word::refusal(protocol)),
            word => return Ok(word),
        }
        let game = self.value(Role::Game);
        if game.is_empty() || self.writer == Writer::Ours {
            return Ok(Word::Nothing);
        }
        let word = words.find(game);
        // What a server says of itself is no key, unless it is written as one.
        let is_key = match word {
            Word::Game(found) => found.key == game,
            Word::Protocol(name) => name == game,
            _ => false,
        };
        match word {
            _ if self.writer == Writer::MaybeOurs && !is_key => Ok(Word::Nothing),
            Word::Unknown => Err(Word::refusal(game)),
            word => Ok(word),
        }
    }

    /// Whether zmap says that this is no answer of a server, or a second one.
    fn is_no_answer(&self) -> bool {
        let is_false = |value: &str| matches!(value, "0" | "false");
        let is_true = |value: &str| matches!(value, "1" | "true");
        !self.value(Role::Saddr).is_empty()
            && (is_false(self.value(Role::Success))
                || is_true(self.value(Role::Repeat))
                || !self.value(Role::Icmp).is_empty())
    }

    /// The host without its port, and its port; no host in a row of ours that has only what it was called.
    fn host(&self) -> Result<(Option<&'a str>, Option<&'a str>), String> {
        let parts = |host: &'a str| {
            let (host, port) = split(without_connect(host));
            (Some(host), port)
        };
        let has_port = [Role::QueryPort, Role::Port].iter().any(|role| !self.value(*role).is_empty());
        let hosts = || Role::HOSTS.iter().map(|role| self.value(*role)).filter(|host| !host.is_empty());
        let Some(first) = hosts().next() else {
            return match self.value(Role::Target) {
                "" => Err(format!("this row has no address: {RECOGNIZED}")),
                target if has_port => Ok(parts(target)),
                _ => Ok((None, None)),
            };
        };
        // Where nothing else names a port, whichever host has one does. A name without a dot may be a title.
        let has_own = |(host, port): &(Option<&str>, Option<&str>)| {
            let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            port.is_some_and(is_number) && host.is_some_and(is_target)
        };
        let named = hosts().map(parts).find(has_own).filter(|_| !has_port);
        Ok(named.unwrap_or_else(|| parts(first)))
    }

    /// In a row of ours about a server that did not answer: the game and the port that were named, where others were asked.
    fn named_without_answer(&self) -> Option<(Option<&'a str>, Option<&'a str>)> {
        let (target, status) = (self.value(Role::Target), self.value(Role::State));
        if self.writer == Writer::Other || target.is_empty() || matches!(status, "" | "ok" | "partial") {
            return None;
        }
        let (scheme, rest) = match target.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, target),
        };
        // With several ports, nobody knows which of them the row is about.
        let (_, port) = split(rest);
        let is_one = port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        (is_one && !rest.starts_with("farm:")).then_some((scheme, port))
    }

    fn has_steam_address(&self) -> bool {
        split(self.value(Role::Addr)).1.is_some()
    }

    /// The port, if the host has `own` with it. A port for players will do if the game is known.
    fn port(&self, own: Option<&'a str>, knows_game: bool, asks: bool) -> Result<Port<'a>, String> {
        let written = |role| Some(as_number(self.value(role))).filter(|port| !port.is_empty());
        if let Some(port) = written(Role::QueryPort) {
            return Ok(Port::Query(port));
        }
        let players = written(Role::GamePort);
        match (own, written(Role::Port)) {
            (Some(one), Some(other)) if one != other => Err(two_ports(one, other)),
            (Some(port), _) | (None, Some(port)) => Ok(match players {
                // Steam's `addr` is the address for queries, even if both ports are the same.
                Some(players) if knows_game && (players != port || self.has_steam_address()) => Port::Query(port),
                _ => Port::Named(port),
            }),
            (None, None) => match players {
                Some(port) if knows_game => Ok(Port::Players(port)),
                Some(_) if !asks => Ok(Port::Any),
                Some(_) => Err(format!(
                    "this row names a port for players only: say with --game which game it is; {RECOGNIZED}"
                )),
                None if self.value(Role::OtherPort).is_empty() => Ok(Port::Usual),
                None => Err(format!("this row names a port in a column that says nothing here: {RECOGNIZED}")),
            },
        }
    }
}

/// Why a row is rejected that names two ports in the same way.
fn two_ports(one: &str, other: &str) -> String {
    format!("this row names two ports, {one} and {other}: call the right one query_port")
}

/// Divides `HOST:PORT`. Two colons and more make an IPv6 address, unless it is in brackets.
pub(super) fn split(text: &str) -> (&str, Option<&str>) {
    let start = text.find("://").map_or(0, |at| at + 3);
    let from = text.rfind(']').unwrap_or(start).max(start);
    match text.get(from..).unwrap_or_default().split_once(':') {
        Some((_, port)) if !port.contains(':') => {
            (text.get(..text.len() - port.len() - 1).unwrap_or_default(), Some(port))
        }
        _ => (text, None),
    }
}

/// `text` without what makes Steam, or a game's console, connect there, and without the password.
pub(super) fn without_connect(text: &str) -> &str {
    let strip = |prefix: &str| {
        let (start, rest) = text.split_at_checked(prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then_some(rest)
    };
    let Some(rest) = ["steam://connect/", "connect ", "+connect "].into_iter().find_map(strip) else { return text };
    let rest = rest.trim_start_matches([' ', '"']);
    let host = rest.split([' ', '/', ';', '?', '"']).next().unwrap_or_default();
    // What follows may be a password, and must not be a port.
    let behind = rest.get(host.len()..).unwrap_or_default().trim_start_matches([' ', '"']);
    let may_be_port =
        behind.starts_with(|c: char| c.is_ascii_digit()) || behind.starts_with("+port") || host.ends_with(',');
    if may_be_port { text } else { host }
}

/// Other programs write whole numbers with a fraction where some are missing.
fn as_number(port: &str) -> &str {
    port.strip_suffix(".0").unwrap_or(port)
}

/// Appends a target as it is typed.
pub(super) fn put(text: &mut String, scheme: Option<&str>, host: &str, port: Option<&str>) {
    if let Some(scheme) = scheme {
        text.push_str(scheme);
        text.push_str("://");
    }
    let Some(port) = port else { return text.push_str(host) };
    let needs_brackets = host.contains(':') && !host.starts_with('[');
    let (open, close) = if needs_brackets { ("[", "]:") } else { ("", ":") };
    for part in [open, host, close, port] {
        text.push_str(part);
    }
}
