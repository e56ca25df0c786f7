//! Minecraft's Bedrock edition: the unconnected ping of `RakNet`, which servers answer with a line for the server list.
//!
//! ```text
//! request   01 time:8 magic:16 client:8
//! reply     1C time:8 server:8 magic:16 length:2 text
//!
//! text      edition;name;protocol;version;players;slots;server;second line;mode;mode's number;port;port of IPv6;
//! magic     00 FF FF 00 FE FE FE FE FD FD FD FD 12 34 56 78
//! ```
//!
//! Numbers are big-endian. The time comes back as it was sent, so ours is a nonce. A text has six to twelve of these fields
//! and often an end after the last `;`. In the name `;` is written `\;`, but not by every server. Source: the Bedrock
//! Wiki and wiki.vg, "Raknet Protocol"; deviations as met on real servers are noted where they are handled.

use std::borrow::Cow;

use memchr::{memchr_iter, memmem};

use crate::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord};
use crate::wire::{DecodeError, Problem, Reader};

use super::{
    Ask, Auto, Dissection, Fields, Found, Ignored, Manner, Next, Persona, Protocol, Replies, Scribe, ShortText, Spec,
    Step,
};

/// A variant of the protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[Dialect {
    spec: &Spec {
        name: "bedrock",
        aliases: &["minecraft-bedrock", "raknet"],
        summary: "Minecraft's Bedrock edition: the ping of its server list",
        default_port: 19_132,
        auto: Auto::Tried,
        columns: &[
            "name",
            "map",
            "game",
            "players",
            "max_players",
            "players_best",
            "max_players_best",
            "players_basis",
            "protocol_version",
            "version",
            "game_port",
            "keywords",
            "flags",
        ],
    },
}];

impl Protocol for Dialect {
    /// One datagram answers everything.
    type Session = ();

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn queries(&self) -> QuerySet {
        QuerySet::of(Query::Info).with(Query::Ping)
    }

    fn asking(&self, (): &(), ask: &Ask<'_>) -> QuerySet {
        ask.queries
    }

    fn request(&self, (): &(), ask: &Ask<'_>, out: &mut Vec<u8>) {
        out.push(PING);
        out.extend_from_slice(&ask.nonce().to_be_bytes());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(CLIENT);
    }

    fn receive(&self, (): &mut (), ask: &Ask<'_>, data: &[u8], _found: &mut Found) -> Result<Step, DecodeError> {
        let pong = Pong::read(&mut Fields::silent(Reader::new(data)))?;
        let ours = pong.time == ask.nonce().to_be_bytes();
        Ok(if ours { Step::Answer(Next::Finish) } else { Step::Ignore(Ignored::Spoofed) })
    }

    fn decode(&self, answers: &[&[u8]], ask: &Ask<'_>, record: &mut ServerRecord) {
        let pongs = answers.iter().map(|answer| Pong::read(&mut Fields::silent(Reader::new(answer))));
        let Some(pong) = pongs.flatten().next() else { return };
        if ask.queries.contains(Query::Ping) {
            record.set_query(Query::Ping, QueryStatus::Ok);
        }
        // Other games speak RakNet too, and say nothing about themselves.
        if ask.queries.contains(Query::Info) && !pong.text.is_empty() {
            pong.fill(ask, record);
            record.set_query(Query::Info, QueryStatus::Ok);
        }
    }

    fn dissect(&self, data: &[u8], _others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        let mut fields = Fields::new(Reader::new(data), &mut *notes);
        if data.first() != Some(&PING) {
            let result = Pong::read(&mut fields).map(|_| ());
            notes.title = "pong";
            return result;
        }
        fields.u8("type")?;
        fields.array::<8>("time")?;
        let is_ping = fields.skip("magic", MAGIC);
        let error = fields.reader().error(Problem::Header);
        let result = if is_ping { fields.array::<8>("client").map(|_| ()) } else { Err(error) };
        notes.title = "ping";
        result
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        let Some(time) = time_of_ping(request) else { return };
        match persona.manner {
            // Whoever is banned gets no answer.
            Manner::Banned => {}
            Manner::Malformed => replies.push(|out| out.extend_from_slice(&[0; 64])),
            Manner::Sound | Manner::ChallengeLoop | Manner::ChallengeOnly => {
                replies.push(|out| put_pong(out, time, &text_of(persona)));
            }
        }
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        let Some(time) = time_of_ping(request) else { return };
        for reply in recorded {
            replies.push(|out| {
                let at = out.len() + 1;
                out.extend_from_slice(reply);
                if let (Some(&PONG), Some(place)) = (reply.first(), out.get_mut(at..at + time.len())) {
                    place.copy_from_slice(time);
                }
            });
        }
    }
}

/// A reply.
struct Pong<'a> {
    time: [u8; 8],
    /// The fields of the text, as far as there are some, in their order.
    text: Vec<&'a [u8]>,
    flags: Flags,
}

impl<'a> Pong<'a> {
    /// Reads a reply. The length of its text may be wrong: the text is what is there.
    fn read<S: Scribe>(fields: &mut Fields<'a, S>) -> Result<Self, DecodeError> {
        if fields.u8("type")? != PONG {
            return Err(DecodeError::new(Problem::Type, 0));
        }
        let time = fields.array("time")?;
        fields.array::<8>("server")?;
        if !fields.skip("magic", MAGIC) {
            return Err(fields.reader().error(Problem::Header));
        }
        let declared = usize::from(fields.u16_be("length")?);
        let rest = fields.reader().rest();
        let flags = match declared.cmp(&rest.len()) {
            std::cmp::Ordering::Less => Flags::MALFORMED,
            std::cmp::Ordering::Equal => Flags::NONE,
            std::cmp::Ordering::Greater => Flags::TRUNCATED,
        };
        let (sizes, mended) = sizes(rest);
        let names = NAMES.iter().copied().chain(std::iter::repeat("further field"));
        let text = sizes.into_iter().zip(names).map(|(size, name)| fields.ended_span(name, size, b";")).collect();
        Ok(Self { time, text, flags: if mended { flags | Flags::MALFORMED } else { flags } })
    }

    /// Writes what it says into `record`.
    fn fill(&self, ask: &Ask<'_>, record: &mut ServerRecord) {
        let field = |name| NAMES.iter().position(|other| *other == name).and_then(|at| self.text.get(at).copied());
        let number = |name| std::str::from_utf8(field(name)?).ok()?.parse::<u32>().ok();
        record.flags |= self.flags;
        for (name, text) in [
            (NAME, &mut record.name),
            (SECOND_LINE, &mut record.map),
            (EDITION, &mut record.game),
            (VERSION, &mut record.version),
            (MODE, &mut record.keywords),
        ] {
            if let Some(original) = field(name) {
                record.flags |= text.set_shown(&without_codes(&unescaped(original)), original);
            }
        }
        record.protocol_version = number(PROTOCOL);
        record.players = number(PLAYERS);
        record.max_players = number(SLOTS);
        record.players_best = record.players;
        record.max_players_best = record.max_players;
        record.players_basis = record.players.map(|_| "reported");
        // A server without one says 0 or -1.
        let port = number(if ask.address.is_ipv6() { PORT_V6 } else { PORT });
        record.game_port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
    }
}

/// The sizes of the fields of `text`, and whether a name had to be put together out of several.
///
/// Fields are found by counting from the left. Where a name holds a `;` that is not escaped, all after it have moved:
/// the protocol's number is then the first number behind which, one field later, players and slots stand.
fn sizes(text: &[u8]) -> (Vec<usize>, bool) {
    let mut fields: Vec<&[u8]> = Vec::new();
    let mut begin = 0;
    for at in memchr_iter(b';', text).filter(|at| *at == 0 || text[at - 1] != b'\\').take(MOST_FIELDS) {
        fields.push(&text[begin..at]);
        begin = at + 1;
    }
    // Behind the last `;` there is mostly nothing.
    if begin < text.len() {
        fields.push(&text[begin..]);
    }
    let mut sizes: Vec<usize> = fields.iter().map(|field| field.len()).collect();
    let is_number = |at: usize| fields.get(at).is_some_and(|field| is_number(field));
    let protocol = (2..fields.len()).find(|&at| is_number(at) && is_number(at + 2) && is_number(at + 3)).unwrap_or(2);
    if protocol > 2 {
        let name = sizes[1..protocol].iter().sum::<usize>() + protocol - 2;
        sizes.splice(1..protocol, [name]);
    }
    (sizes, protocol > 2)
}

fn is_number(field: &[u8]) -> bool {
    !field.is_empty() && field.iter().all(u8::is_ascii_digit)
}

/// A field without its escapes.
fn unescaped(field: &[u8]) -> Cow<'_, [u8]> {
    replaced(field, b"\\;", |rest| (b";", rest))
}

/// `text` in UTF-8 without its formatting codes: a section sign and a letter or digit after it.
pub(super) fn without_codes(text: &[u8]) -> Cow<'_, [u8]> {
    replaced(text, SECTION_SIGN, |rest| match rest {
        [code, rest @ ..] if code.is_ascii_alphanumeric() => (b"", rest),
        _ => (SECTION_SIGN, rest),
    })
}

/// `text` with what `replace` gives for each `sign`, out of what follows it, and goes on with.
fn replaced<'a>(text: &'a [u8], sign: &[u8], replace: impl Fn(&'a [u8]) -> (&'static [u8], &'a [u8])) -> Cow<'a, [u8]> {
    let mut rest = text;
    let mut whole = Vec::new();
    // Ends with the text: each turn takes a sign out of it.
    while let Some(at) = memmem::find(rest, sign) {
        let (instead, behind) = replace(&rest[at + sign.len()..]);
        whole.extend_from_slice(&rest[..at]);
        whole.extend_from_slice(instead);
        rest = behind;
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    whole.extend_from_slice(rest);
    Cow::Owned(whole)
}

/// The time in `request`, if that is a ping.
fn time_of_ping(request: &[u8]) -> Option<&[u8]> {
    let (time, rest) = request.strip_prefix(&[PING])?.split_at_checked(8)?;
    (rest.strip_prefix(MAGIC)?.len() == CLIENT.len()).then_some(time)
}

fn put_pong(out: &mut Vec<u8>, time: &[u8], text: &[u8]) {
    out.push(PONG);
    out.extend_from_slice(time);
    out.extend_from_slice(b"simulate");
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

/// What the server `persona` says about itself.
fn text_of(persona: &Persona) -> Vec<u8> {
    let (protocol, version) = VERSIONS[persona.pick(50, VERSIONS.len() as u64) as usize];
    let name = persona.name();
    let counts = ShortText::format(format_args!("{};{}", persona.players(), persona.max_players()));
    let ports = ShortText::format(format_args!("{};-1", persona.port));
    let mut text = Vec::from("MCPE;§b§l".as_bytes());
    for &byte in name.as_bytes() {
        if byte == b';' {
            text.push(b'\\');
        }
        text.push(byte);
    }
    text.extend_from_slice(format!("§r;{protocol};{version};").as_bytes());
    text.extend_from_slice(counts.as_bytes());
    // Older servers end here.
    if persona.pick(51, 4) > 0 {
        text.extend_from_slice(format!(";{};{};Survival;1;", persona.seed, persona.map()).as_bytes());
        text.extend_from_slice(ports.as_bytes());
        text.push(b';');
    }
    text
}

/// `ID_UNCONNECTED_PING`.
const PING: u8 = 0x01;
/// `ID_UNCONNECTED_PONG`.
const PONG: u8 = 0x1C;
/// `OFFLINE_MESSAGE_DATA_ID`.
const MAGIC: &[u8] = b"\x00\xFF\xFF\x00\xFE\xFE\xFE\xFE\xFD\xFD\xFD\xFD\x12\x34\x56\x78";
/// The number of the client. Some servers do not answer without one, and none cares which it is.
const CLIENT: &[u8; 8] = b"fragscan";
/// Begins a formatting code.
const SECTION_SIGN: &[u8] = "§".as_bytes();

const EDITION: &str = "edition";
const NAME: &str = "name";
const PROTOCOL: &str = "protocol";
const VERSION: &str = "version";
const PLAYERS: &str = "players";
const SLOTS: &str = "slots";
const SECOND_LINE: &str = "second line";
const MODE: &str = "mode";
const PORT: &str = "port";
const PORT_V6: &str = "port of IPv6";
/// The fields of the text, in their order.
const NAMES: [&str; 12] = [
    EDITION,
    NAME,
    PROTOCOL,
    VERSION,
    PLAYERS,
    SLOTS,
    "server's number",
    SECOND_LINE,
    MODE,
    "mode's number",
    PORT,
    PORT_V6,
];
/// Fields that are told apart; a name may hold some `;`.
const MOST_FIELDS: usize = 64;
/// Protocols and versions of simulated servers; some real ones say no version.
const VERSIONS: [(u32, &str); 4] = [(422, ""), (545, "1.19.21"), (671, "1.20.80"), (748, "1.21.40")];

#[cfg(test)]
mod tests {
    use super::*;

    fn pong(text: &[u8]) -> Vec<u8> {
        let mut pong = Vec::new();
        put_pong(&mut pong, &Ask::offline().nonce().to_be_bytes(), text);
        pong
    }

    fn decode(reply: &[u8]) -> ServerRecord {
        let mut record = ServerRecord::new();
        DIALECTS[0].decode(&[reply], &Ask { queries: DIALECTS[0].queries(), ..Ask::offline() }, &mut record);
        record
    }

    fn receive(reply: &[u8]) -> Result<Step, DecodeError> {
        DIALECTS[0].receive(&mut (), &Ask::offline(), reply, &mut Found::default())
    }

    #[test]
    fn a_ping_has_a_nonce_the_magic_and_a_client() {
        let ask = Ask { address: "192.0.2.1:19132".parse().unwrap(), ..Ask::offline() };
        let mut ping = Vec::new();
        DIALECTS[0].request(&(), &ask, &mut ping);
        assert_eq!((ping.len(), &ping[9..25], &ping[25..]), (33, MAGIC, &b"fragscan"[..]));
        assert_eq!(ping[1..9], ask.nonce().to_be_bytes());
    }

    #[test]
    fn a_pong_without_our_time_is_spoofed_and_one_without_the_magic_is_none() {
        let mut reply = pong(b"MCPE;a;1;2;3;4;");
        assert_eq!(receive(&reply), Ok(Step::Answer(Next::Finish)));
        reply[8] ^= 1;
        assert_eq!(receive(&reply), Ok(Step::Ignore(Ignored::Spoofed)));
        reply[20] ^= 1;
        assert_eq!(receive(&reply), Err(DecodeError::new(Problem::Header, 17)));
        assert_eq!(receive(&[0x1D]), Err(DecodeError::new(Problem::Type, 0)));
        assert_eq!(receive(&pong(b"")[..34]), Err(DecodeError::new(Problem::Cut, 33)));
    }

    #[test]
    fn fields_are_counted_from_the_left_and_may_be_missing() {
        let record = decode(&pong("MCEE;§r§4Sch§r§lool§;390;1.14;7;40;-12;;Adventure;2;19132;-1;x;y;".as_bytes()));
        assert_eq!((record.game.as_str(), record.name.as_str()), (Some("MCEE"), Some("School§")));
        assert_eq!(record.name.original(), Some("§r§4Sch§r§lool§".as_bytes()));
        assert_eq!((record.protocol_version, record.version.as_str()), (Some(390), Some("1.14")));
        assert_eq!((record.players, record.max_players, record.players_basis), (Some(7), Some(40), Some("reported")));
        assert_eq!((record.map.as_str(), record.keywords.as_str()), (Some(""), Some("Adventure")));
        assert_eq!((record.game_port, record.flags), (Some(19_132), Flags::NONE));
        let six = decode(&pong(b"MCPE;old;84;;0;-1"));
        assert_eq!((six.version.as_str(), six.players, six.max_players), (Some(""), Some(0), None));
        assert_eq!((six.map.as_str(), six.game_port, six.flags), (None, None, Flags::NONE));
        assert_eq!([six.query(Query::Info), six.query(Query::Ping)], [QueryStatus::Ok; 2]);
        let silent = decode(&pong(b""));
        assert_eq!([silent.query(Query::Info), silent.query(Query::Ping)], [QueryStatus::NotAsked, QueryStatus::Ok]);
    }

    #[test]
    fn only_what_was_asked_is_answered() {
        let reply = pong(b"MCPE;a;1;2;3;4");
        for query in [Query::Info, Query::Ping] {
            let ask = Ask { queries: QuerySet::of(query), ..Ask::offline() };
            assert_eq!(DIALECTS[0].asking(&(), &ask), QuerySet::of(query));
            let mut record = ServerRecord::new();
            DIALECTS[0].decode(&[&reply], &ask, &mut record);
            assert!(Query::ALL.iter().all(|other| (record.query(*other) == QueryStatus::Ok) == (*other == query)));
            assert_eq!(record.name.as_str(), (query == Query::Info).then_some("a"));
        }
    }

    #[test]
    fn a_semicolon_in_the_name_is_escaped_or_not() {
        for (name, flags) in [("a\\;b;c\\;", Flags::MALFORMED), ("a\\;b\\;c\\;", Flags::NONE)] {
            let record = decode(&pong(format!("MCPE;{name};545;1.19;5;10;1;2;3;4;5").as_bytes()));
            assert_eq!((record.name.as_str(), record.flags), (Some("a;b;c;"), flags));
            assert_eq!((record.protocol_version, record.players, record.game_port), (Some(545), Some(5), Some(5)));
        }
    }

    #[test]
    fn a_length_that_is_wrong_costs_nothing() {
        let mut reply = pong(b"MCPE;name;545;1.19;5;10;");
        let length = u16::from_be_bytes([reply[33], reply[34]]);
        for (declared, flags) in [(0, Flags::MALFORMED), (length + 1, Flags::TRUNCATED), (length, Flags::NONE)] {
            reply[33..35].copy_from_slice(&declared.to_be_bytes());
            let record = decode(&reply);
            assert_eq!((record.max_players, record.flags), (Some(10), flags));
        }
    }

    #[test]
    fn the_port_is_that_of_the_family_that_was_asked() {
        let address = "[2001:db8::1]:19133".parse().unwrap();
        let mut record = ServerRecord::new();
        let ask = Ask { address, ..Ask::offline() };
        DIALECTS[0].decode(&[&pong(b"MCPE;a;1;2;3;4;5;6;7;8;19132;19133;")], &ask, &mut record);
        assert_eq!(record.game_port, Some(19_133));
    }
}
