//! Questions and replies as they are on the wire (RFC 1035, section 4), by way of the crate `domain`.
//!
//! A reply is read once: the addresses at the end of its chain of aliases, or the service that is preferred. Nothing of a
//! reply is kept that the question did not ask for.

use std::net::IpAddr;

use domain::base::iana::{Class, Opcode, Rcode, Rtype};
use domain::base::name::{Name as NameOf, ToName};
use domain::base::{Message, MessageBuilder};
use domain::rdata::{A, Aaaa, Srv};

use super::answer::MOST_ADDRESSES;

/// A name in wire format.
pub(super) type Name = NameOf<Vec<u8>>;

/// What is asked about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its IPv4 addresses.
    A,
    /// Its IPv6 addresses.
    Aaaa,
    /// The host and the port of a service.
    Srv,
    /// Where a zone begins; asked about the root, to see whether a server answers at all.
    Soa,
}

impl Kind {
    const fn rtype(self) -> Rtype {
        match self {
            Self::A => Rtype::A,
            Self::Aaaa => Rtype::AAAA,
            Self::Srv => Rtype::SRV,
            Self::Soa => Rtype::SOA,
        }
    }
}

/// What a reply says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// The name has these addresses, at least one.
    Addresses(Vec<IpAddr>),
    /// The service is at a port of this host.
    Service(Name, u16),
    /// The name stands for another one, of which the reply says nothing.
    Alias(Name),
    /// The name has nothing of this kind.
    NoData,
    /// The name does not exist.
    NxDomain,
    /// The server could not or would not say, or said something that cannot be read.
    Failure,
    /// The reply did not fit: it has to be asked for over TCP.
    Truncated,
}

/// The name `text`, with or without its last dot; `None` if there is no such name.
pub(super) fn name(text: &str) -> Option<Name> {
    Name::vec_from_str(text).ok()
}

/// Writes the question for `kind` of `name` into `buffer`, in place of what it holds.
pub(super) fn write(id: u16, name: &Name, kind: Kind, buffer: &mut Vec<u8>) {
    buffer.clear();
    let Ok(mut message) = MessageBuilder::from_target(std::mem::take(buffer));
    message.header_mut().set_id(id);
    message.header_mut().set_rd(true);
    let mut questions = message.question();
    // A vector has room for any question.
    let _ = questions.push((name, kind.rtype(), Class::IN));
    *buffer = questions.finish();
}

/// The id of a message.
pub(super) fn id(data: &[u8]) -> Option<u16> {
    Some(Message::from_octets(data).ok()?.header().id())
}

/// What `data` says if it is a reply to the question for `kind` of `name`; `None` if it is not.
pub(super) fn read(data: &[u8], name: &Name, kind: Kind) -> Option<Reply> {
    let message = Message::from_octets(data).ok()?;
    let question = message.sole_question().ok()?;
    let header = message.header();
    let is_reply = header.qr() && header.opcode() == Opcode::QUERY;
    let is_ours = question.qtype() == kind.rtype() && question.qclass() == Class::IN && question.qname().name_eq(name);
    (is_reply && is_ours).then(|| {
        if header.tc() {
            return Reply::Truncated;
        }
        match header.rcode() {
            Rcode::NOERROR => records(&message, kind).unwrap_or(Reply::Failure),
            Rcode::NXDOMAIN => Reply::NxDomain,
            _ => Reply::Failure,
        }
    })
}

/// What the records of an answer say; `None` if they cannot be read, or their aliases go round in circles.
fn records(message: &Message<&[u8]>, kind: Kind) -> Option<Reply> {
    let canonical = message.canonical_name()?;
    let answer = message.answer().ok()?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    let mut best: Option<Srv<_>> = None;
    // Bounded by the size of a message.
    for record in answer {
        let record = record.ok()?;
        if record.class() != Class::IN || record.rtype() != kind.rtype() || record.owner() != canonical {
            continue;
        }
        match kind {
            Kind::A if addresses.len() < MOST_ADDRESSES => {
                addresses.push(IpAddr::V4(record.to_record::<A>().ok()??.data().addr()));
            }
            Kind::Aaaa if addresses.len() < MOST_ADDRESSES => {
                addresses.push(IpAddr::V6(record.to_record::<Aaaa>().ok()??.data().addr()));
            }
            Kind::Srv => {
                let service = record.into_record::<Srv<_>>().ok()??.into_data();
                // A service that is decidedly not available has no name (RFC 2782).
                let is_usable = service.port() > 0 && !service.target().is_root();
                let rank = |service: &Srv<_>| (service.priority(), u16::MAX - service.weight());
                if is_usable && best.as_ref().is_none_or(|best| rank(&service) < rank(best)) {
                    best = Some(service);
                }
            }
            _ => {}
        }
    }
    Some(match best {
        Some(service) => Reply::Service(service.target().to_vec(), service.port()),
        None if !addresses.is_empty() => Reply::Addresses(addresses),
        None if message.sole_question().ok()?.qname().name_eq(&canonical) => Reply::NoData,
        None => Reply::Alias(canonical.to_vec()),
    })
}
