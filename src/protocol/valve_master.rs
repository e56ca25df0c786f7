//! Valve's list of servers, as it was served over UDP, and as the masters of `Xash3D` and other communities still serve it.
//!
//! ```text
//! request   31 region:1 "a.b.c.d:port" 00 filter 00       the page behind that server; 0.0.0.0:0 is the first one
//! reply     FF FF FF FF 66 0A [7F key:4 08] (ip:4 port:2)*          the port in network order
//!           FF FF FF FF 66 0A [7F key:4 08] (ip:16 port:2)*         from a master that is asked over IPv6
//! ```
//!
//! The last entry of a page asks for the next one. An entry of zeros ends a datagram; it ends the list only if the master
//! has pages. `Xash3D`'s has none: it sends everything at once, whatever page was asked for, with that entry in every
//! datagram, so that its list ends by silence, and is asked for again in case that some of it was lost. It answers a filter
//! with `\key\HEX` with that key, and one without `\clver` with its own address, which is no server. Masters answer some 30
//! requests a minute and then none for a minute.
//!
//! Source: Valve's developer wiki (Master Server Query Protocol), and captures of xash3d-master.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use super::master::{self, Answer, LISTEN, MOST_CIRCLES, Patience, Roll, Style, Union};
use super::{
    Ask, Auto, Dissection, Fields, Found, Manner, Next, Persona, Protocol, Replies, Spec, Step, a2s, valve_filter,
};
use crate::record::ServerRecord;
use crate::wire::{DecodeError, Problem, Reader, put_cstr};

/// A variant of the protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[Dialect {
    spec: &Spec {
        name: "valve-master",
        aliases: &["steam-master"],
        summary: "lists of Valve's master server and of those that speak like it, such as Xash3D's",
        default_port: 27_010,
        columns: &[],
        auto: Auto::Never,
    },
}];

/// How far the list is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    /// The server behind which the awaited page begins.
    seed: Option<SocketAddr>,
    /// The list of a master without pages.
    list: Union,
    patience: Patience,
    awaiting: Awaiting,
    /// Requests one after the other that were answered with what is known.
    circles: u8,
    answered: bool,
}

/// What is being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Awaiting {
    /// The page that was asked for.
    #[default]
    Page,
    /// More of a list that may be over.
    Rest,
    /// The page, of which the last datagram was not the one: it repeated what is known.
    Other,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn lists(&self) -> Option<&'static str> {
        Some("a2s")
    }

    fn check_parameters(&self, text: &str) -> Result<(), String> {
        Parameters::read(text).map(|_| ())
    }

    fn request(&self, session: &Session, ask: &Ask<'_>, out: &mut Vec<u8>) {
        let parameters = Parameters::read(ask.parameters).unwrap_or_default();
        out.extend([REQUEST, parameters.region]);
        let first = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        put_cstr(out, session.seed.unwrap_or(first).to_string().as_bytes());
        put_cstr(out, parameters.filter.as_bytes());
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        found: &mut Found,
    ) -> Result<Step, DecodeError> {
        let mut reader = a2s::message(data)?;
        if !reader.skip(REPLY) {
            return Err(reader.error(Problem::Type));
        }
        skip_key(&mut reader, ask.parameters);
        let (mut last, mut page) = (None, Answer::default());
        while !reader.is_empty() {
            let entry = if ask.address.is_ipv6() { reader.address::<16>() } else { reader.address::<4>() };
            let Ok(entry) = entry else {
                found.note_ragged();
                break;
            };
            if entry.ip().is_unspecified() && entry.port() == 0 {
                page.ended = true;
                break;
            }
            last = Some(entry);
            page.entries += 1;
            page.new += u32::from(entry != ask.address && found.push(entry));
        }
        Ok(Step::Move(session.take_page(last, page)))
    }

    fn silence(&self, session: &mut Session, _ask: &Ask<'_>) -> Next {
        match std::mem::take(&mut session.awaiting) {
            Awaiting::Rest => session.list.settle().unwrap_or(Next::Finish),
            Awaiting::Other => {
                session.circles += 1;
                if session.circles >= MOST_CIRCLES { Next::Finish } else { Next::Send }
            }
            Awaiting::Page => session.patience.lose(session.answered),
        }
    }

    fn decode(&self, _answers: &[&[u8]], _ask: &Ask<'_>, _record: &mut ServerRecord) {}

    fn dissect(&self, data: &[u8], _others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        if data.first() == Some(&REQUEST) {
            notes.title = "request of a page";
            let mut fields = Fields::new(Reader::new(data), &mut *notes);
            fields.letter("type")?;
            fields.u8("region")?;
            fields.text("behind", &mut None)?;
            return fields.text("filter", &mut None);
        }
        let header = [a2s::HEADER, REPLY].concat();
        notes.title = "page of a list";
        let mut fields = Fields::new(Reader::new(data), &mut *notes);
        if !fields.skip("header", &header) {
            return Err(DecodeError::new(Problem::Type, 0));
        }
        // No public list names a server on loopback: this is a key.
        if matches!(fields.reader().rest(), [0x7F, _, _, _, _, 0x08, ..]) {
            fields.array::<6>("key")?;
        }
        master::dissect_entries(&mut fields)
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        if read_request(request).is_some() && persona.manner == Manner::Malformed {
            return replies.push(|out| out.extend_from_slice(&[0; 64]));
        }
        self.serve_list(&Roll { servers: &master::neighbours(persona), style: Style::Paged }, request, replies);
    }

    fn serve_list(&self, roll: &Roll<'_>, request: &[u8], replies: &mut Replies) {
        let Some((seed, filter)) = read_request(request) else { return };
        let mut push = |servers: &[SocketAddrV4], ended: bool| {
            replies.push(|out| {
                out.extend_from_slice(a2s::HEADER);
                out.extend_from_slice(REPLY);
                if let Some(key) = key_of(filter) {
                    out.extend(echo(key));
                }
                master::put_entries(servers, out);
                if ended {
                    master::put_entry(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0), out);
                }
            });
        };
        if roll.style == Style::AtOnce {
            return roll.servers.chunks(AT_ONCE).for_each(|servers| push(servers, true));
        }
        let (page, more) = roll.page(seed, PAGE);
        push(page, !more);
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        let is_page = |reply: &&&[u8]| reply.strip_prefix(a2s::HEADER).is_some_and(|body| body.starts_with(REPLY));
        if read_request(request).is_some_and(|(seed, _)| seed.is_none()) {
            let pages = recorded.iter().filter(is_page);
            pages.for_each(|reply| replies.push(|out| out.extend_from_slice(reply)));
        }
    }
}

impl Session {
    /// Goes on from a datagram whose last entry is `last`.
    fn take_page(&mut self, last: Option<SocketAddr>, page: Answer) -> Next {
        self.answered = true;
        self.awaiting = Awaiting::Page;
        let is_new = page.new > 0;
        if is_new {
            self.patience.restore();
            self.circles = 0;
        }
        match self.seed {
            Some(_) if page.ended => Next::Finish,
            None if page.ended || self.list.has_begun() => {
                self.list.take(page);
                self.awaiting = Awaiting::Rest;
                Next::Listen(LISTEN)
            }
            _ if is_new => {
                self.seed = last;
                Next::Send
            }
            // An earlier page once more, behind which the right one may come; or the list goes round in circles.
            _ => {
                self.awaiting = Awaiting::Other;
                Next::Listen(LISTEN)
            }
        }
    }
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Parameters {
    region: u8,
    filter: String,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { region: EVERYWHERE, filter: String::new() }
    }
}

impl Parameters {
    /// Reads `region=…&filter=…&app=…`; the error says what to write instead.
    fn read(text: &str) -> Result<Self, String> {
        let mut parameters = Self::default();
        let mut application = String::new();
        for (key, value) in master::distinct_parameters(text)? {
            match key {
                "region" => parameters.region = region(&value)?,
                "filter" => parameters.filter = valve_filter::read(&value).map_err(|error| error.to_string())?,
                "app" => {
                    let app: u32 = value.parse().map_err(|_| format!("app: {value:?} is not a number"))?;
                    application = format!("\\appid\\{app}");
                }
                _ => return Err(master::unknown_parameter(key, "region, filter and app")),
            }
        }
        // In front, where no group takes it for one of its conditions.
        parameters.filter.insert_str(0, &application);
        if valve_filter::applications(&parameters.filter) > 1 {
            return Err(valve_filter::ONE_APPLICATION.into());
        }
        if parameters.filter.len() > LONGEST_FILTER {
            let length = parameters.filter.len();
            return Err(format!("the filter has {length} bytes: no more than {LONGEST_FILTER} fit into a request"));
        }
        Ok(parameters)
    }
}

/// The number of a region, by its name or its number.
fn region(word: &str) -> Result<u8, String> {
    let named = REGIONS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    let numbered = || word.parse().ok().filter(|number| REGIONS.iter().any(|(_, known)| known == number));
    named.or_else(numbered).ok_or_else(|| {
        let known: Vec<_> = REGIONS.iter().map(|(name, _)| *name).collect();
        format!("there is no region {word:?}: known are {}", known.join(", "))
    })
}

/// Skips the key of the filter, if the master sends it back.
fn skip_key(reader: &mut Reader<'_>, parameters: &str) {
    // Filters without the word have no key, and nearly all have none.
    if parameters.contains("key") {
        let filter = Parameters::read(parameters).unwrap_or_default().filter;
        if let Some(key) = key_of(&filter) {
            reader.skip(&echo(key));
        }
    }
}

/// The value of `\key\` in a filter.
fn key_of(filter: &str) -> Option<u32> {
    let mut words = filter.split('\\').skip(1);
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        if key == "key" {
            return u32::from_str_radix(value, 16).ok();
        }
    }
    None
}

/// How a master sends a key back.
fn echo(key: u32) -> [u8; 6] {
    let [a, b, c, d] = key.to_le_bytes();
    [0x7F, a, b, c, d, 0x08]
}

/// The server behind which the page begins, none for the first page, and the filter of a request.
fn read_request(request: &[u8]) -> Option<(Option<SocketAddrV4>, &str)> {
    let mut reader = Reader::new(request);
    if !reader.skip(&[REQUEST]) {
        return None;
    }
    reader.u8().ok()?;
    // quakestat has a letter after the port.
    let seed = std::str::from_utf8(reader.cstr().ok()?).ok()?.trim_end_matches(|c: char| !c.is_ascii_digit());
    let seed: SocketAddrV4 = seed.parse().ok()?;
    // Some clients leave out the NUL at the end.
    let filter = reader.cstr().unwrap_or(reader.rest());
    Some((Some(seed).filter(|seed| !seed.ip().is_unspecified()), std::str::from_utf8(filter).ok()?))
}

const REQUEST: u8 = 0x31;
/// `M2A_SERVER_BATCH` and a line feed.
const REPLY: &[u8] = b"f\n";
const EVERYWHERE: u8 = 0xFF;
/// So that a request is never in pieces.
const LONGEST_FILTER: usize = 1_000;
const REGIONS: &[(&str, u8)] = &[
    ("all", EVERYWHERE),
    ("us-east", 0),
    ("us-west", 1),
    ("south-america", 2),
    ("europe", 3),
    ("asia", 4),
    ("australia", 5),
    ("middle-east", 6),
    ("africa", 7),
];
/// Servers on a page of Valve's.
const PAGE: usize = 231;
/// Servers in a datagram of `Xash3D`'s.
const AT_ONCE: usize = 83;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::DecodeError;

    /// Asks for a list as `parameters` say, at a master with an address of documentation, and hears `datagrams`.
    fn hear(master: &str, parameters: &str, datagrams: &[&[u8]]) -> (Session, Vec<Result<Step, DecodeError>>, Found) {
        let ask = Ask { address: master.parse().unwrap(), parameters, ..Ask::offline() };
        let (mut session, mut found) = (Session::default(), Found::default());
        let steps = datagrams.iter().map(|data| DIALECTS[0].receive(&mut session, &ask, data, &mut found)).collect();
        (session, steps, found)
    }

    fn addresses(mut found: Found) -> Vec<String> {
        std::iter::from_fn(move || found.pop()).map(|address| address.to_string()).collect()
    }

    fn request(session: &Session, parameters: &str) -> Vec<u8> {
        let mut out = Vec::new();
        DIALECTS[0].request(session, &Ask { parameters, ..Ask::offline() }, &mut out);
        out
    }

    const MASTER: &str = "192.0.2.1:27010";
    const PAGE_ONE: &[u8] = b"\xFF\xFF\xFF\xFFf\n\xC6\x33\x64\x01\x69\x87\xC6\x33\x64\x02\x69\x88";
    const PAGE_TWO: &[u8] = b"\xFF\xFF\xFF\xFFf\n\xC6\x33\x64\x03\x69\x87\0\0\0\0\0\0";
    const SEND: Result<Step, DecodeError> = Ok(Step::Move(Next::Send));
    const LISTENS: Result<Step, DecodeError> = Ok(Step::Move(Next::Listen(LISTEN)));

    #[test]
    fn a_request_names_region_last_server_and_filter() {
        let new = Session::default();
        assert_eq!(request(&new, ""), b"1\xFF0.0.0.0:0\0\0");
        let (session, ..) = hear(MASTER, "", &[PAGE_ONE]);
        let parameters = "region=europe&filter=/gamedir/tf&app=440";
        assert_eq!(request(&session, parameters), b"1\x03198.51.100.2:27016\0\\appid\\440\\gamedir\\tf\0");
    }

    #[test]
    fn parameters_that_make_no_sense_are_refused_with_what_to_write() {
        for (parameters, reason) in [
            ("region=mars", "there is no region \"mars\": known are all, us-east"),
            ("region=8", "there is no region \"8\""),
            ("filter=/map/x/typo/1", "there is no key \"typo\""),
            ("filter=/empty/2", "character 8 of the filter: /empty/2: write 0 or 1"),
            ("app=tf", "app: \"tf\" is not a number"),
            ("regoin=all", "\"regoin\" is no parameter of this list: it has region, filter and app"),
            ("region=asia&region=europe", "\"region\" is there twice"),
            ("app=10&filter=/map/x/appid/20", "no server runs two applications"),
            ("filter=/appid/10/appid/20", "no server runs two applications"),
            (&format!("filter=/map/{}&app=10", "x".repeat(987)), "the filter has 1001 bytes: no more than 1000 fit"),
        ] {
            let error = DIALECTS[0].check_parameters(parameters).expect_err(parameters);
            assert!(error.contains(reason), "{parameters}: {error}");
        }
        assert_eq!(DIALECTS[0].check_parameters("region=7&filter=/nor/1/map/de_dust2&app=730"), Ok(()));
        assert_eq!(DIALECTS[0].check_parameters("filter=/or/2/appid/10/appid/20"), Ok(()));
        assert_eq!(DIALECTS[0].check_parameters(&format!("filter=/map/{}&app=10", "x".repeat(986))), Ok(()));
    }

    #[test]
    fn zeros_end_a_list_with_pages_and_a_datagram_of_one_without() {
        let (_, steps, found) = hear(MASTER, "", &[PAGE_ONE, PAGE_TWO]);
        assert_eq!(steps, [SEND, Ok(Step::Move(Next::Finish))]);
        assert_eq!(addresses(found), ["198.51.100.1:27015", "198.51.100.2:27016", "198.51.100.3:27015"]);

        let other = [PAGE_ONE, b"\0\0\0\0\0\0"].concat();
        let (mut session, steps, found) = hear(MASTER, "", &[PAGE_TWO, &other]);
        assert_eq!((steps, found.len()), (vec![LISTENS, LISTENS], 3));
        assert_eq!(DIALECTS[0].silence(&mut session, &Ask::offline()), Next::Send, "some of it may have been lost");
    }

    #[test]
    fn a_list_without_pages_is_asked_for_until_nothing_of_it_is_missing() {
        let (mut session, mut found, list) = (Session::default(), Found::default(), &DIALECTS[0]);
        let other = [PAGE_ONE, b"\0\0\0\0\0\0"].concat();
        let mut round = |datagrams: &[&[u8]]| {
            for data in datagrams {
                assert_eq!(list.receive(&mut session, &Ask::offline(), data, &mut found), LISTENS);
            }
            assert_eq!(request(&session, ""), b"1\xFF0.0.0.0:0\0\0", "the whole list");
            list.silence(&mut session, &Ask::offline())
        };
        assert_eq!(round(&[&other]), Next::Send);
        assert_eq!(round(&[PAGE_TWO]), Next::Send, "the first datagram was lost");
        assert_eq!(round(&[PAGE_ONE, PAGE_TWO]), Next::Finish, "in whichever of them the end stands");
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_page_that_comes_again_is_waited_behind_and_a_circle_ends_the_list() {
        let (mut session, steps, mut found) = hear(MASTER, "", &[PAGE_ONE, PAGE_ONE]);
        assert_eq!(steps, [SEND, LISTENS]);
        assert_eq!(DIALECTS[0].silence(&mut session, &Ask::offline()), Next::Send, "the next page is asked for again");
        let again = DIALECTS[0].receive(&mut session, &Ask::offline(), PAGE_ONE, &mut found);
        assert_eq!(again, LISTENS);
        assert_eq!(DIALECTS[0].silence(&mut session, &Ask::offline()), Next::Finish);
    }

    #[test]
    fn the_key_and_the_master_itself_are_no_servers() {
        let reply =
            b"\xFF\xFF\xFF\xFFf\n\x7F\xEF\xBE\xAD\xDE\x08\xC0\0\x02\x01\x69\x82\xC6\x33\x64\x01\x69\x87\0\0\0\0\0\0";
        let (.., found) = hear(MASTER, "filter=/key/deadbeef", &[reply]);
        assert_eq!(addresses(found), ["198.51.100.1:27015"]);
        let (.., found) = hear(MASTER, "", &[reply]);
        assert_eq!(addresses(found)[0], "127.239.190.173:56840", "nobody asked for a key");
    }

    #[test]
    fn masters_on_ipv6_list_ipv6_and_ragged_ends_are_noted() {
        let reply = b"\xFF\xFF\xFF\xFFf\n\x20\x01\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\x01\x69\x87\0\0\0";
        let (_, steps, found) = hear("[2001:db8::9]:27010", "", &[reply]);
        assert_eq!((steps, found.ragged()), (vec![SEND], 1));
        assert_eq!(addresses(found), ["[2001:db8::1]:27015"]);
        let (.., found) = hear(MASTER, "", &[&PAGE_ONE[..15]]);
        assert_eq!((found.len(), found.ragged()), (1, 1));
    }
}
