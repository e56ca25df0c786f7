//! The list of Half-Life servers of before Steam, as the WON master served it.
//!
//! ```text
//! request   'e' id:4      a batch: that of 0 is the first        reply   FF FF FF FF 'f' 0A next:4 (ip:4 port:2)*
//!           'c'           the list, as far as a datagram goes            FF FF FF FF 'd' 0A (ip:4 port:2)*
//! ```
//!
//! The id of the next batch comes with each one; 0, or -1, says that there is none. Masters that stay silent to `e` are
//! asked for `c`, twice or more in case that some of the answer was lost. Addresses and ports are in network order, ids are whatever the master sent.
//!
//! Source: `proto_oob.h` of the Half-Life SDK (`A2M_GET_SERVERS`, `A2M_GET_SERVERS_BATCH`), and qstat.

use super::master::{self, Answer, LISTEN, MOST_CIRCLES, Patience, Roll, Style, Union};
use super::{Ask, Auto, Dissection, Fields, Found, Manner, Next, Persona, Protocol, Replies, Spec, Step, a2s};
use crate::record::ServerRecord;
use crate::wire::{DecodeError, Problem, Reader};

/// A variant of the protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
}

/// The variants of this file.
pub(crate) static DIALECTS: &[Dialect] = &[Dialect {
    spec: &Spec {
        name: "hl1-master",
        aliases: &["won-master"],
        summary: "lists of Half-Life servers of before Steam (WON)",
        default_port: 27_010,
        columns: &[],
        auto: Auto::Never,
    },
}];

/// How far the list is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    /// The batch that is awaited.
    next: [u8; 4],
    form: Form,
    /// The list of a master without batches.
    list: Union,
    patience: Patience,
    /// More is listened for.
    listening: bool,
    /// Requests one after the other that were answered with what is known.
    circles: u8,
    answered: bool,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    #[default]
    Batches,
    Whole,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn lists(&self) -> Option<&'static str> {
        Some("hl1")
    }

    fn check_parameters(&self, text: &str) -> Result<(), String> {
        master::parameters(text).next().map_or(Ok(()), |(key, _)| Err(master::unknown_parameter(key, "none")))
    }

    fn request(&self, session: &Session, _ask: &Ask<'_>, out: &mut Vec<u8>) {
        match session.form {
            Form::Whole => out.push(WHOLE),
            Form::Batches => {
                out.push(BATCH);
                out.extend(session.next);
            }
        }
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        found: &mut Found,
    ) -> Result<Step, DecodeError> {
        let mut reader = a2s::message(data)?;
        let next = if reader.skip(BATCH_REPLY) {
            Some(reader.array()?)
        } else if reader.skip(WHOLE_REPLY) {
            None
        } else {
            return Err(reader.error(Problem::Type));
        };
        // Nothing marks the end of a list without batches: any of its datagrams may be the last one.
        let mut answer = Answer { ended: true, ..Answer::default() };
        while !reader.is_empty() {
            let Ok(server) = reader.address::<4>() else {
                found.note_ragged();
                break;
            };
            answer.entries += 1;
            answer.new += u32::from(server != ask.address && found.push(server));
        }
        session.answered = true;
        session.listening = false;
        if answer.new > 0 {
            session.patience.restore();
            session.circles = 0;
        }
        let Some(next) = next else {
            session.list.take(answer);
            session.listening = true;
            return Ok(Step::Move(Next::Listen(LISTEN)));
        };
        if ENDS.contains(&next) {
            return Ok(Step::Move(Next::Finish));
        }
        if answer.new == 0 {
            // An earlier batch once more, behind which the right one may come; or the list goes round in circles.
            session.listening = true;
            return Ok(Step::Move(Next::Listen(LISTEN)));
        }
        session.next = next;
        Ok(Step::Move(Next::Send))
    }

    fn silence(&self, session: &mut Session, _ask: &Ask<'_>) -> Next {
        if std::mem::take(&mut session.listening) {
            if let Some(next) = session.list.settle() {
                return next;
            }
            session.circles += 1;
            return if session.circles < MOST_CIRCLES { Next::Send } else { Next::Finish };
        }
        if !session.answered && session.form == Form::Batches {
            session.form = Form::Whole;
            return Next::Send;
        }
        session.patience.lose(session.answered)
    }

    fn decode(&self, _answers: &[&[u8]], _ask: &Ask<'_>, _record: &mut ServerRecord) {}

    fn dissect(&self, data: &[u8], _others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        if let Some(request) = Request::read(data) {
            let is_batch = request != Request::Whole;
            notes.title = if is_batch { "request of a batch" } else { "request of the list" };
            let mut fields = Fields::new(Reader::new(data), &mut *notes);
            fields.letter("type")?;
            return if is_batch { fields.array::<4>("batch").map(|_| ()) } else { Ok(()) };
        }
        let mut fields = Fields::new(Reader::new(data), &mut *notes);
        if fields.skip("header", &[a2s::HEADER, BATCH_REPLY].concat()) {
            fields.array::<4>("next batch")?;
        } else if !fields.skip("header", &[a2s::HEADER, WHOLE_REPLY].concat()) {
            return Err(DecodeError::new(Problem::Type, 0));
        }
        let entries = master::dissect_entries(&mut fields);
        notes.title = "batch of a list";
        entries
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        if Request::read(request).is_some() && persona.manner == Manner::Malformed {
            return replies.push(|out| out.extend_from_slice(&[0; 64]));
        }
        self.serve_list(&Roll { servers: &master::neighbours(persona), style: Style::Paged }, request, replies);
    }

    fn serve_list(&self, roll: &Roll<'_>, request: &[u8], replies: &mut Replies) {
        match (Request::read(request), roll.style) {
            (Some(Request::Batch(id)), Style::Paged | Style::Loop) => {
                // An id is the number of servers before the batch.
                let last = (u32::from_le_bytes(id) as usize).checked_sub(1).and_then(|place| roll.servers.get(place));
                let (page, more) = roll.page(last.copied(), PAGE);
                let place = page.last().and_then(|server| roll.servers.binary_search(server).ok());
                let next = place.filter(|_| more).map_or(0, |place| place as u32 + 1);
                replies.push(|out| {
                    out.extend_from_slice(a2s::HEADER);
                    out.extend_from_slice(BATCH_REPLY);
                    out.extend(next.to_le_bytes());
                    master::put_entries(page, out);
                });
            }
            (Some(Request::Whole), Style::AtOnce) => roll.servers.chunks(PAGE).for_each(|page| {
                replies.push(|out| {
                    out.extend_from_slice(a2s::HEADER);
                    out.extend_from_slice(WHOLE_REPLY);
                    master::put_entries(page, out);
                });
            }),
            _ => {}
        }
    }

    fn replay(&self, request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        let wanted = match Request::read(request) {
            Some(Request::Batch([0, 0, 0, 0])) => BATCH_REPLY,
            Some(Request::Whole) => WHOLE_REPLY,
            _ => return,
        };
        let answers = recorded
            .iter()
            .filter(|reply| reply.strip_prefix(a2s::HEADER).is_some_and(|body| body.starts_with(wanted)));
        answers.for_each(|reply| replies.push(|out| out.extend_from_slice(reply)));
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    /// The batch with this id.
    Batch([u8; 4]),
    Whole,
}

impl Request {
    fn read(request: &[u8]) -> Option<Self> {
        match request {
            [WHOLE] => Some(Self::Whole),
            [BATCH, id @ ..] => id.try_into().ok().map(Self::Batch),
            _ => None,
        }
    }
}

const WHOLE: u8 = b'c';
const BATCH: u8 = b'e';
/// `M2A_SERVERS` and a line feed.
const WHOLE_REPLY: &[u8] = b"d\n";
/// `M2A_SERVER_BATCH` and a line feed.
const BATCH_REPLY: &[u8] = b"f\n";
/// Ids of no batch.
const ENDS: [[u8; 4]; 2] = [[0; 4], [0xFF; 4]];
/// Servers in a datagram.
const PAGE: usize = 230;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_follow_the_ids_of_the_master_to_the_last_one() {
        let (mut session, mut found, ask) = (Session::default(), Found::default(), Ask::offline());
        let list = &DIALECTS[0];
        let request = |session: &Session| {
            let mut out = Vec::new();
            list.request(session, &ask, &mut out);
            out
        };
        assert_eq!(request(&session), b"e\0\0\0\0");
        let first = b"\xFF\xFF\xFF\xFFf\n\x2A\0\x01\0\xC6\x33\x64\x01\x69\x87";
        assert_eq!(list.receive(&mut session, &ask, first, &mut found), Ok(Step::Move(Next::Send)));
        assert_eq!(request(&session), b"e\x2A\0\x01\0");
        assert_eq!(list.receive(&mut session, &ask, first, &mut found), Ok(Step::Move(Next::Listen(LISTEN))), "again");
        for end in [[0; 4], [0xFF; 4]] {
            let final_batch = [b"\xFF\xFF\xFF\xFFf\n".as_slice(), &end, b"\xC6\x33\x64\x02\x69\x87\x01"].concat();
            let mut session = session;
            assert_eq!(list.receive(&mut session, &ask, &final_batch, &mut found), Ok(Step::Move(Next::Finish)));
        }
        assert_eq!((found.len(), found.ragged()), (2, 2));
    }

    #[test]
    fn a_master_without_batches_is_asked_for_the_list() {
        let (mut session, mut found, ask) = (Session::default(), Found::default(), Ask::offline());
        let list = &DIALECTS[0];
        assert_eq!(list.silence(&mut session, &ask), Next::Send);
        let mut request = Vec::new();
        list.request(&session, &ask, &mut request);
        assert_eq!(request, b"c");
        let reply = b"\xFF\xFF\xFF\xFFd\n\xC6\x33\x64\x01\x69\x87";
        assert_eq!(list.receive(&mut session, &ask, reply, &mut found), Ok(Step::Move(Next::Listen(LISTEN))));
        assert_eq!(list.silence(&mut session, &ask), Next::Send, "some of it may have been lost");
        assert_eq!(list.receive(&mut session, &ask, reply, &mut found), Ok(Step::Move(Next::Listen(LISTEN))));
        assert_eq!(list.silence(&mut session, &ask), Next::Finish);
        assert_eq!(found.pop().map(|address| address.to_string()).as_deref(), Some("198.51.100.1:27015"));
    }
}
