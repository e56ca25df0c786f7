//! Names to addresses, off the loop: a few threads ask the system's resolver and send what it says.

use std::io;
use std::net::ToSocketAddrs;
use std::thread;

use crossbeam_channel::{Receiver, Sender};

use super::names::Answer;
use super::srv::NameServers;
use super::stream::Item;

/// A name to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Its number, which the answer has too.
    pub number: u32,
    /// The name.
    pub name: Box<str>,
    /// The service whose SRV record, if there is one, says host and port instead.
    pub service: Option<&'static str>,
}

/// Starts the threads, which ask `servers` for SRV records. They end when nobody sends names any more, or nobody takes
/// answers.
pub fn start(names: &Receiver<Name>, items: &Sender<Item>, servers: &NameServers) -> io::Result<()> {
    for _ in 0..THREADS {
        let (names, items, servers) = (names.clone(), items.clone(), servers.clone());
        thread::Builder::new().name("resolver".into()).spawn(move || {
            for name in names {
                let number = name.number;
                if items.send(Item::Resolved(number, resolve(name, &servers))).is_err() {
                    return;
                }
            }
        })?;
    }
    Ok(())
}

fn resolve(mut name: Name, servers: &NameServers) -> Answer {
    let mut port = None;
    if let Some((host, of_service)) = name.service.and_then(|service| servers.find(service, &name.name)) {
        name.name = host.into();
        port = Some(of_service);
    }
    let found = (0..TRIES).find_map(|_| (&*name.name, 0).to_socket_addrs().ok());
    let addresses: Vec<_> = found.into_iter().flatten().collect();
    // One name is one server, which may have an address of each family.
    let chosen = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    chosen.map_or(Answer::Nowhere, |address| Answer::Address(address.ip(), port))
}

/// Names that are looked up at the same time.
const THREADS: usize = 16;
/// Times that a name is looked up before it is given up; the system's resolver repeats its own questions besides.
const TRIES: usize = 2;

#[cfg(test)]
mod tests {
    use crossbeam_channel::unbounded;

    use super::*;
    use crate::target::srv;

    /// What the threads say of these names and services.
    fn answers(names: &[(&str, Option<&'static str>)], servers: &NameServers) -> Vec<Answer> {
        let ((name_sender, to_look_up), (item_sender, items)) = (unbounded(), unbounded());
        for (number, (name, service)) in (0..).zip(names) {
            name_sender.send(Name { number, name: (*name).into(), service: *service }).unwrap();
        }
        drop(name_sender);
        start(&to_look_up, &item_sender, servers).unwrap();
        drop(item_sender);
        let mut found: Vec<_> = items
            .into_iter()
            .map(|item| match item {
                Item::Resolved(number, answer) => (number, answer),
                other => panic!("{other:?}"),
            })
            .collect();
        found.sort_unstable_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, answer)| answer).collect()
    }

    #[test]
    fn a_known_name_has_an_address_and_an_impossible_one_is_said_to_have_none() {
        // The second is reserved by RFC 6761 never to exist.
        let found = answers(&[("localhost", None), ("no-such-host.invalid", None)], &NameServers::default());
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
