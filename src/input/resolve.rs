//! Names to addresses, off the loop: a few threads ask the system's resolver and send what it says.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::ToSocketAddrs;
use std::thread;

use crossbeam_channel::{Sender, bounded};

use super::arrivals::Item;
use super::names::{Answer, Named};
use super::srv::NameServers;

/// Has names looked up: each once, however often it is mentioned.
pub(super) struct Resolver {
    items: Sender<Item>,
    names: Sender<Question>,
    /// Numbers of the names that were mentioned.
    numbers: HashMap<(Box<str>, Option<&'static str>), u32>,
}

/// A name to look up.
#[derive(Debug)]
struct Question {
    /// Its number, which the answer has too.
    number: u32,
    name: Box<str>,
    /// The service whose SRV record, if there is one, says host and port instead.
    service: Option<&'static str>,
}

impl Resolver {
    /// Starts the threads, which ask `servers` for SRV records and send answers to `items`. They end when the resolver is
    /// gone, or nobody takes answers.
    pub(super) fn start(items: Sender<Item>, servers: &NameServers) -> io::Result<Self> {
        let (names, to_look_up) = bounded::<Question>(WAITING);
        for _ in 0..THREADS {
            let (names, items, servers) = (to_look_up.clone(), items.clone(), servers.clone());
            thread::Builder::new().name("resolver".into()).spawn(move || {
                for question in names {
                    let number = question.number;
                    if items.send(Item::Resolved(number, resolve(question, &servers))).is_err() {
                        return;
                    }
                }
            })?;
        }
        Ok(Self { items, names, numbers: HashMap::new() })
    }

    /// Says that a name was mentioned, and has it looked up the first time; false if nobody takes it any more.
    pub(super) fn mention(&mut self, Named { name, service, mention }: Named) -> bool {
        let number = self.numbers.len() as u32;
        match self.numbers.entry((name.to_ascii_lowercase().into(), service)) {
            Entry::Occupied(known) => self.items.send(Item::Name(*known.get(), mention)).is_ok(),
            Entry::Vacant(new) => {
                new.insert(number);
                self.items.send(Item::Name(number, mention)).is_ok()
                    && self.names.send(Question { number, name, service }).is_ok()
            }
        }
    }
}

fn resolve(mut question: Question, servers: &NameServers) -> Answer {
    let mut port = None;
    if let Some((host, of_service)) = question.service.and_then(|service| servers.find(service, &question.name)) {
        question.name = host.into();
        port = Some(of_service);
    }
    let found = (0..TRIES).find_map(|_| (&*question.name, 0).to_socket_addrs().ok());
    let addresses: Vec<_> = found.into_iter().flatten().collect();
    // One name is one server, which may have an address of each family.
    let chosen = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    chosen.map_or(Answer::Nowhere, |address| Answer::Address(address.ip(), port))
}

/// Names that wait to be looked up.
const WAITING: usize = 1 << 14;
/// Names that are looked up at the same time.
const THREADS: usize = 16;
/// Times that a name is looked up before it is given up; the system's resolver repeats its own questions besides.
const TRIES: usize = 2;

#[cfg(test)]
mod tests {
    use crossbeam_channel::unbounded;

    use super::*;
    use crate::input::names::Mention;
    use crate::input::srv;
    use crate::target::Ports;

    /// What the threads say of these names and services.
    fn answers(names: &[(&str, Option<&'static str>)], servers: &NameServers) -> Vec<Answer> {
        let (sender, items) = unbounded();
        let mut resolver = Resolver::start(sender, servers).unwrap();
        for (name, service) in names {
            let mention = Mention { ports: Ports::one(1), plan: 0, origin: 0, typed: true };
            assert!(resolver.mention(Named { name: (*name).into(), service: *service, mention }));
        }
        drop(resolver);
        let found = items.into_iter().filter_map(|item| match item {
            Item::Resolved(number, answer) => Some((number, answer)),
            Item::Name(..) => None,
            other => panic!("{other:?}"),
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, answer)| answer).collect()
    }

    #[test]
    fn a_known_name_has_an_address_and_an_impossible_one_is_said_to_have_none() {
        // The second is reserved by RFC 6761 never to exist.
        let found = answers(
            &[("localhost", None), ("no-such-host.invalid", None), ("LOCALHOST", None)],
            &NameServers::default(),
        );
        let [Answer::Address(ip, None), Answer::Nowhere] = found[..] else { panic!("{found:?}") };
        assert!(ip.is_loopback());
    }

    #[test]
    fn a_service_is_where_its_record_says_and_else_where_its_name_is() {
        let servers = srv::testing::serve("_minecraft._tcp.play.example.org", &[(0, 5, 25_570, "localhost")]);
        let service = Some("_minecraft._tcp");
        let found = answers(&[("play.example.org", service), ("localhost", service)], &servers);
        let [Answer::Address(one, Some(25_570)), Answer::Address(other, None)] = found[..] else { panic!("{found:?}") };
        assert!(one.is_loopback() && other.is_loopback());
    }
}
