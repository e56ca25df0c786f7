//! What the list servers have in common: the parameters of their URLs, entries on the wire, how long silence is put up
//! with, and the roll that a simulated one calls.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use super::{Dissection, Fields, Next, Persona};
use crate::record::Status;
use crate::wire::DecodeError;

/// What a simulated list server lists, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roll<'a> {
    /// The servers, ascending, each once.
    pub servers: &'a [SocketAddrV4],
    /// How it answers.
    pub style: Style,
}

/// How a simulated list server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    /// As its protocol has it: page by page, where it has pages.
    #[default]
    Paged,
    /// With the whole list at once, whatever page was asked for.
    AtOnce,
    /// Round and round, without an end.
    Loop,
}

impl<'a> Roll<'a> {
    /// The page that follows `last` (the first one without), of at most `size` servers, and whether more follow it.
    pub(super) fn page(&self, last: Option<SocketAddrV4>, size: usize) -> (&'a [SocketAddrV4], bool) {
        let from = last.map_or(0, |last| match self.servers.binary_search(&last) {
            Ok(place) => place + 1,
            Err(place) => place,
        });
        let from = if self.style == Style::Loop && from >= self.servers.len() { 0 } else { from };
        let rest = self.servers.get(from..).unwrap_or_default();
        let page = rest.get(..size).unwrap_or(rest);
        (page, page.len() < rest.len() || self.style == Style::Loop)
    }
}

/// What the list server `persona` has on its roll: 500 neighbours.
pub(super) fn neighbours(persona: &Persona) -> Vec<SocketAddrV4> {
    let first = Ipv4Addr::new(198, 18, 0, 0).to_bits() + (persona.index << 9 & 0xFFFF);
    (0..500).map(|number| SocketAddrV4::new(Ipv4Addr::from_bits(first + number), persona.port)).collect()
}

/// Appends an entry: the address and the port, both in network order.
pub(super) fn put_entry(server: SocketAddrV4, out: &mut Vec<u8>) {
    out.extend(server.ip().octets());
    out.extend(server.port().to_be_bytes());
}

/// Appends the entries of `servers`.
pub(super) fn put_entries(servers: &[SocketAddrV4], out: &mut Vec<u8>) {
    for server in servers {
        put_entry(*server, out);
    }
}

/// Notes entries of IPv4 addresses up to the end of the datagram.
pub(super) fn dissect_entries(fields: &mut Fields<'_, &mut Dissection>) -> Result<(), DecodeError> {
    let mut number = 0;
    while !fields.reader().is_empty() {
        fields.entry("server", number);
        fields.address::<4>("address")?;
        number += 1;
    }
    Ok(())
}

/// How often a list server was silent at one place of its list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Patience(u8);

impl Patience {
    /// It has said something new.
    pub(super) fn restore(&mut self) {
        self.0 = 0;
    }

    /// Every try of a step stayed unanswered: the pauses grow past the minute for which masters are silent to somebody who
    /// has asked too often. One that has never answered is given up at once.
    pub(super) fn lose(&mut self, has_answered: bool) -> Next {
        match PAUSES.get(usize::from(self.0)) {
            Some(pause) if has_answered => {
                self.0 += 1;
                Next::SendAfter(*pause)
            }
            _ => Next::Fail(Status::Timeout),
        }
    }
}

/// A list that comes as a whole each time it is asked for, in datagrams of which nothing says how many there are: answers
/// are united until one after the first held everything, or two brought nothing new.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Union {
    /// Answers that are over.
    answers: u8,
    /// How many of them, one after the other, brought nothing new.
    quiet: u8,
    /// Different servers of all answers.
    servers: u32,
    /// This answer, as far as it has come; none of it, if nothing has.
    answer: Option<Answer>,
}

/// An answer, or a datagram of one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answer {
    /// Servers that it named, and how many of them nothing else had named before.
    pub entries: u32,
    pub new: u32,
    /// It has come to its end, as far as its protocol marks one.
    pub ended: bool,
}

impl Union {
    /// Something was answered.
    pub(super) fn has_begun(&self) -> bool {
        self.answers > 0 || self.answer.is_some()
    }

    /// Takes one more datagram of the answer.
    pub(super) fn take(&mut self, part: Answer) {
        let answer = self.answer.get_or_insert_default();
        answer.entries = answer.entries.saturating_add(part.entries);
        answer.new = answer.new.saturating_add(part.new);
        answer.ended |= part.ended;
    }

    /// What to do when nothing more comes; nothing is known if there was no answer.
    pub(super) fn settle(&mut self) -> Option<Next> {
        let answer = self.answer.take()?;
        self.answers += 1;
        self.servers = self.servers.saturating_add(answer.new);
        self.quiet = if answer.new == 0 { self.quiet + 1 } else { 0 };
        let whole = self.answers > 1 && answer.ended && answer.entries >= self.servers;
        Some(match self.answers {
            _ if whole || self.quiet > 1 => Next::Finish,
            MOST_ANSWERS.. => Next::Fail(Status::Timeout),
            _ => Next::Send,
        })
    }
}

/// The parameters of a URL: `key=value` or `key`, between `&`, with `%26` for what would mean something else.
pub(crate) fn parameters(text: &str) -> impl Iterator<Item = (&str, String)> {
    text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key, decoded(value))
    })
}

/// The same; what to say if one of them is there twice.
pub(crate) fn distinct_parameters(text: &str) -> Result<Vec<(&str, String)>, String> {
    let all: Vec<_> = parameters(text).collect();
    let twice = all.iter().enumerate().find(|(place, (key, _))| all[..*place].iter().any(|(other, _)| other == key));
    match twice {
        Some((_, (key, _))) => Err(format!("{key:?} is there twice: write it once")),
        None => Ok(all),
    }
}

/// `text` with every `%` and two hexadecimal digits replaced by the byte that they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    // Bounded by the text: each turn takes some of it.
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = code.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What to say of a parameter that a list does not have; `known` are those that it has.
#[must_use]
pub(crate) fn unknown_parameter(key: &str, known: &str) -> String {
    format!("{key:?} is no parameter of this list: it has {known}")
}

/// How long the rest of a list that comes in several datagrams is waited for.
pub(super) const LISTEN: Duration = Duration::from_secs(1);
/// Answers that are united at most.
const MOST_ANSWERS: u8 = 12;
/// Times that a page is asked for of a list that names nothing new.
pub(super) const MOST_CIRCLES: u8 = 2;
/// Between two rounds of tries that stay unanswered.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(30), Duration::from_mins(1)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_split_first_and_decoded_then() {
        let all: Vec<_> = parameters(r"region=all&filter=\name_match\a%26b%5c%zz&empty&").collect();
        let expected = [("region", "all"), ("filter", r"\name_match\a&b\%zz"), ("empty", "")];
        assert_eq!(all, expected.map(|(key, value)| (key, value.to_owned())));
    }

    #[test]
    fn patience_outlasts_a_minute_and_ends() {
        let mut patience = Patience::default();
        assert_eq!(patience.lose(false), Next::Fail(Status::Timeout));
        let waits: Vec<_> = (0..5).map(|_| patience.lose(true)).collect();
        assert_eq!(waits[3], Next::SendAfter(Duration::from_mins(1)));
        assert_eq!(waits[4], Next::Fail(Status::Timeout));
        patience.restore();
        assert_eq!(patience.lose(true), waits[0]);
    }

    #[test]
    fn the_pages_of_a_roll_follow_each_other_to_its_end_or_for_ever() {
        let servers = neighbours(&Persona { port: 7, ..Persona::default() });
        for (style, more_at_the_end) in [(Style::Paged, false), (Style::Loop, true)] {
            let roll = Roll { servers: &servers, style };
            let (first, more) = roll.page(None, 300);
            assert_eq!((first, more), (&servers[..300], true));
            assert_eq!(roll.page(first.last().copied(), 300), (&servers[300..], more_at_the_end));
            let next = roll.page(servers.last().copied(), 300).0;
            assert_eq!(next.len(), if more_at_the_end { 300 } else { 0 });
        }
    }
}
