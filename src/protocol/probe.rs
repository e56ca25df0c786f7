//! A protocol for tests only: the smallest one that uses every part of the seam.
//!
//! ```text
//! 'P' nonce:8                hello               'T' nonce:8 token:4                 Move(Send)
//! 'P' nonce:8 token:4 'i'    the name, please    'F' nonce:8 number:1 total:1 bytes  Part, joined to 'N' nonce:8 name
//!                                                                                    Answer(Listen), then SendAfter
//! 'P' nonce:8 token:4 'l'    the neighbours      'L' nonce:8 (ip:4 port:2)*          Answer(Finish), Found
//! ```

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::{Ask, Auto, Dissection, Fields, Found, Ignored, Join, Next, Pace, Persona, Protocol, Replies, Spec, Step};
use crate::record::{Query, QuerySet, QueryStatus, ServerRecord};
use crate::wire::{DecodeError, Problem, Reader};

/// A variant of the test protocol.
#[derive(Debug)]
pub(crate) struct Dialect {
    spec: &'static Spec,
    pace: Pace,
}

/// A fast one and a slow one.
pub(crate) static DIALECTS: &[Dialect] = &[
    Dialect {
        spec: &Spec {
            name: "probe",
            aliases: &[],
            summary: "for tests",
            default_port: 7,
            auto: Auto::Never,
            columns: &["name", "rules_declared"],
        },
        pace: Pace { server: Duration::ZERO, host: Duration::ZERO },
    },
    Dialect {
        spec: &Spec {
            name: "slow-probe",
            aliases: &["patient-probe"],
            summary: "for tests, with servers that want a second between two datagrams",
            default_port: 8,
            auto: Auto::Never,
            columns: &["name", "rules_declared"],
        },
        pace: Pace { server: Duration::from_secs(1), host: Duration::ZERO },
    },
];

/// How far a query is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Session {
    token: Option<[u8; 4]>,
    named: bool,
    /// The neighbours were asked for.
    listing: bool,
}

impl Protocol for Dialect {
    type Session = Session;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn pace(&self) -> Pace {
        self.pace
    }

    fn queries(&self) -> QuerySet {
        QuerySet::of(Query::Info).with(Query::Rules)
    }

    fn request(&self, session: &Session, ask: &Ask<'_>, out: &mut Vec<u8>) {
        put_header(b'P', ask.nonce(), out);
        if let Some(token) = session.token {
            out.extend(token);
            out.push(if session.named { b'l' } else { b'i' });
        }
    }

    fn receive(
        &self,
        session: &mut Session,
        ask: &Ask<'_>,
        data: &[u8],
        found: &mut Found,
    ) -> Result<Step, DecodeError> {
        let mut reader = Reader::new(data);
        let kind = reader.u8()?;
        if !b"TFNL".contains(&kind) {
            return Err(DecodeError::new(Problem::Type, 0));
        }
        if reader.u64_le()? != ask.nonce() {
            return Ok(Step::Ignore(Ignored::Spoofed));
        }
        match (kind, session.token, session.named) {
            (b'T', None, _) => {
                session.token = Some(reader.array()?);
                Ok(Step::Move(Next::Send))
            }
            (b'T', Some(_), _) => Ok(Step::Ignore(Ignored::Duplicate)),
            (b'F', Some(_), false) => Ok(Step::Part),
            (b'F', ..) => Ok(Step::Ignore(Ignored::Late)),
            (b'N', Some(_), false) => {
                session.named = true;
                Ok(Step::Answer(if ask.queries.contains(Query::Rules) { Next::Listen(LISTEN) } else { Next::Finish }))
            }
            (b'L', Some(_), true) => {
                while !reader.is_empty() {
                    found.push(SocketAddr::from((reader.array::<4>()?, u16::from_le_bytes(reader.array()?))));
                }
                Ok(Step::Answer(Next::Finish))
            }
            _ => Ok(Step::Ignore(Ignored::Unsolicited)),
        }
    }

    fn silence(&self, session: &mut Session, ask: &Ask<'_>) -> Next {
        // After the name this is called twice: when listening is over, and when nobody names the neighbours.
        let more = session.named && !session.listing && ask.queries.contains(Query::Rules);
        session.listing |= more;
        if more { Next::SendAfter(PAUSE) } else { Next::Finish }
    }

    fn join(&self, _session: &mut Session, parts: &[&[u8]], whole: &mut Vec<u8>) -> Join {
        let total = parts.first().and_then(|part| part.get(10)).copied().unwrap_or(0);
        for number in 0..total {
            let Some(part) = parts.iter().find(|part| part.get(9) == Some(&number)) else { return Join::More };
            if part.get(10) != Some(&total) {
                return Join::Corrupt;
            }
            whole.extend_from_slice(part.get(11..).unwrap_or_default());
        }
        if total == 0 { Join::Corrupt } else { Join::Whole }
    }

    fn decode(&self, answers: &[&[u8]], _ask: &Ask<'_>, record: &mut ServerRecord) {
        for answer in answers {
            let body = answer.get(9..).unwrap_or_default();
            match answer.first() {
                Some(b'N') => {
                    record.flags |= record.name.set(body);
                    record.set_query(Query::Info, QueryStatus::Ok);
                }
                Some(b'L') => {
                    record.rules_declared = Some((body.len() / 6) as u32);
                    record.set_query(Query::Rules, QueryStatus::Ok);
                }
                _ => {}
            }
        }
    }

    fn asking(&self, session: &Session, _ask: &Ask<'_>) -> QuerySet {
        QuerySet::of(if session.named { Query::Rules } else { Query::Info })
    }

    fn dissect(&self, data: &[u8], _others: &[&[u8]], notes: &mut Dissection) -> Result<(), DecodeError> {
        let mut fields = Fields::new(Reader::new(data), &mut *notes);
        fields.letter("type")?;
        fields.u64_le("nonce")?;
        fields.bytes("rest");
        Ok(())
    }

    fn replay(&self, _request: &[u8], recorded: &[&[u8]], replies: &mut Replies) {
        for reply in recorded {
            replies.push(|out| out.extend_from_slice(reply));
        }
    }

    fn serve(&self, persona: &Persona, request: &[u8], replies: &mut Replies) {
        let mut reader = Reader::new(request);
        let (Ok(b'P'), Ok(nonce)) = (reader.u8(), reader.u64_le()) else { return };
        let token = persona.challenge.unwrap_or([1; 4]);
        if !reader.skip(&token) {
            replies.push(|out| {
                put_header(b'T', nonce, out);
                out.extend(token);
            });
            return;
        }
        match reader.rest() {
            b"i" if persona.manner == super::Manner::Malformed => replies.push(|out| {
                put_header(b'F', nonce, out);
                out.extend([0, 0]);
            }),
            b"i" => {
                let mut whole = Vec::new();
                put_header(b'N', nonce, &mut whole);
                whole.extend_from_slice(persona.name().as_bytes());
                for (number, piece) in whole.chunks(whole.len().div_ceil(3)).enumerate() {
                    replies.push(|out| {
                        put_header(b'F', nonce, out);
                        out.extend([number as u8, 3]);
                        out.extend_from_slice(piece);
                    });
                }
            }
            b"l" => replies.push(|out| {
                put_header(b'L', nonce, out);
                for neighbour in [persona.index, persona.index + 1] {
                    out.extend(Ipv4Addr::from_bits(0x0A00_0000 + neighbour).octets());
                    out.extend(7_u16.to_le_bytes());
                }
            }),
            _ => {}
        }
    }
}

fn put_header(kind: u8, nonce: u64, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(nonce.to_le_bytes());
}

/// How long it listens after the name.
pub(crate) const LISTEN: Duration = Duration::from_millis(250);
/// How long it pauses before it asks for the neighbours.
pub(crate) const PAUSE: Duration = Duration::from_millis(40);
