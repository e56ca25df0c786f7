//! A name server for tests, as a function from a query to a reply. What it says depends on the first letters of a name.
//!
//! ```text
//! good…  A     six…  AAAA      both…  A, AAAA     alias…  CNAME and A     other…  CNAME to good, without its A
//! cut…   TC, whole over TCP    fail…  SERVFAIL    flaky…  SERVFAIL, then A    silent…  nothing
//! none…  no records            zero…  A 0.0.0.0   _…      SRV: port 25570 of good     the rest: NXDOMAIN
//! ```

use std::net::{Ipv4Addr, Ipv6Addr};

use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::name::ToName;
use domain::base::{Message, MessageBuilder, Ttl};
use domain::rdata::{A, Aaaa, Cname, Srv};

use super::message::{Name, name};
use crate::rng::{Rng, mix};

/// A name server that delays nothing and loses datagrams.
pub(crate) struct NameServer {
    pub(crate) loss: f64,
    pub(crate) rng: Rng,
    /// Names that were asked for, with the kind, in order.
    pub(crate) asked: Vec<String>,
}

impl NameServer {
    pub(crate) fn new(loss: f64, seed: u64) -> Self {
        Self { loss, rng: Rng::new(seed), asked: Vec::new() }
    }

    /// The reply to `query`, if there is one.
    pub(crate) fn reply(&mut self, query: &[u8], over_tcp: bool) -> Option<Vec<u8>> {
        let query = Message::from_octets(query).expect("a header");
        let question = query.sole_question().expect("one question");
        let (text, rtype) = (question.qname().to_string().to_ascii_lowercase(), question.qtype());
        self.asked.push(format!("{rtype} {text}"));
        let is_flaky = text.starts_with("flaky") && self.asked.iter().filter(|name| name.ends_with(&text)).count() < 3;
        if text.starts_with("silent") || (!over_tcp && self.rng.chance(self.loss)) {
            return None;
        }
        let is_cut = text.starts_with("cut") && !over_tcp;
        let starts = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
        let known = ["good", "six", "both", "alias", "other", "cut", "flaky", "none", "zero", "_"];
        let rcode = match () {
            () if text.is_empty() => Rcode::REFUSED,
            () if text.starts_with("fail") || is_flaky => Rcode::SERVFAIL,
            () if starts(&known) => Rcode::NOERROR,
            () => Rcode::NXDOMAIN,
        };
        let mut answer = MessageBuilder::new_vec().start_answer(&query.for_slice_ref(), rcode).expect("it fits");
        answer.header_mut().set_tc(is_cut);
        let (ttl, good) = (Ttl::from_secs(60), name("good.example").expect("a name"));
        let owner = if starts(&["alias", "other"]) { good.clone() } else { question.qname().to_vec() };
        if rcode == Rcode::NOERROR && !is_cut {
            if starts(&["alias", "other"]) {
                answer.push((question.qname(), Class::IN, ttl, Cname::new(good.clone()))).expect("it fits");
            }
            if rtype == Rtype::A && starts(&["good", "both", "alias", "cut", "flaky", "zero"]) {
                let ip = if text.starts_with("zero") { Ipv4Addr::UNSPECIFIED } else { address(&text) };
                answer.push((&owner, Class::IN, ttl, A::new(ip))).expect("it fits");
            }
            if rtype == Rtype::AAAA && starts(&["six", "both"]) {
                answer.push((&owner, Class::IN, ttl, Aaaa::new(IPV6))).expect("it fits");
            }
            if rtype == Rtype::SRV && starts(&["_"]) {
                let later: Name = name("later.example").expect("a name");
                answer.push((&owner, Class::IN, ttl, Srv::new(5, 9, 1, &later))).expect("it fits");
                answer.push((&owner, Class::IN, ttl, Srv::new(1, 20, 25_570, &good))).expect("it fits");
                answer.push((&owner, Class::IN, ttl, Srv::new(1, 10, 2, &later))).expect("it fits");
                answer.push((&owner, Class::IN, ttl, Srv::new(0, 0, 3, Name::root_vec()))).expect("it fits");
            }
        }
        Some(answer.finish())
    }
}

/// The IPv4 address of the name `text`: somewhere in 127.0.0.0/8.
pub(crate) fn address(text: &str) -> Ipv4Addr {
    let hash = text.bytes().fold(7, |hash, byte| mix(hash ^ u64::from(byte)));
    Ipv4Addr::from(0x7F00_0000 | (hash as u32 & 0x000F_FFFF) | 2)
}

pub(crate) const IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1);
