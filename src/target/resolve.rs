//! Names to addresses, off the loop: a few threads ask the system's resolver and send what it says.

use std::io;
use std::net::ToSocketAddrs;
use std::thread;

use crossbeam_channel::{Receiver, Sender};

use super::srv::NameServers;
use super::stream::Item;
use super::{Ports, Target, Unresolved};

/// A name to look up.
#[derive(Debug, Clone)]
pub struct Name {
    /// The name.
    pub name: Box<str>,
    /// Ports to ask at its address.
    pub ports: Ports,
    /// The service whose SRV record, if there is one, says host and port instead.
    pub service: Option<&'static str>,
    /// What to ask: an index into the caller's plans.
    pub plan: u16,
    /// Who named it: an index into the caller's origins.
    pub origin: u32,
    /// It came as an argument.
    pub typed: bool,
}

/// Starts the threads, which ask `servers` for SRV records. They end when nobody sends names any more, or nobody takes
/// targets.
pub fn start(names: &Receiver<Name>, items: &Sender<Item>, servers: &NameServers) -> io::Result<()> {
    for _ in 0..THREADS {
        let (names, items, servers) = (names.clone(), items.clone(), servers.clone());
        thread::Builder::new().name("resolver".into()).spawn(move || {
            for name in names {
                if resolve(name, &items, &servers).is_none() {
                    return;
                }
            }
        })?;
    }
    Ok(())
}

/// Sends the targets of `name`; `None` if nobody takes them.
fn resolve(mut name: Name, items: &Sender<Item>, servers: &NameServers) -> Option<()> {
    if let Some((host, port)) = name.service.and_then(|service| servers.find(service, &name.name)) {
        name.name = host.into();
        name.ports = Ports::one(port);
    }
    let found = (0..TRIES).find_map(|_| (&*name.name, 0).to_socket_addrs().ok());
    let addresses: Vec<_> = found.into_iter().flatten().collect();
    // One name is one server, which may have an address of each family.
    let chosen = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    let Some(address) = chosen else {
        return items.send(Item::Unresolved(Unresolved { plan: name.plan, origin: name.origin })).ok();
    };
    for (number, port) in name.ports.iter().enumerate() {
        let mut address = *address;
        address.set_port(port);
        let target = Target { address, plan: name.plan, origin: name.origin };
        items.send(Item::Resolved { target, typed: name.typed, first: number == 0 }).ok()?;
    }
    Some(())
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

    #[test]
    fn a_known_name_becomes_targets_and_an_impossible_one_is_said_to_be_so() {
        let ((name_sender, names), (item_sender, items)) = (unbounded(), unbounded());
        let name = |name: &str, origin| Name {
            name: name.into(),
            ports: Ports::from_ranges([(1, 2)]),
            service: None,
            plan: 3,
            origin,
            typed: true,
        };
        name_sender.send(name("localhost", 4)).unwrap();
        // Reserved by RFC 6761 never to exist.
        name_sender.send(name("no-such-host.invalid", 5)).unwrap();
        drop(name_sender);
        start(&names, &item_sender, &NameServers::default()).unwrap();
        drop(item_sender);
        let (mut ports, mut unresolved) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                Item::Resolved { target, typed, first } => {
                    assert_eq!(first, target.address.port() == 1);
                    assert!(typed && target.address.ip().is_loopback() && (target.plan, target.origin) == (3, 4));
                    ports.push(target.address.port());
                }
                Item::Unresolved(name) => unresolved.push(name.origin),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((ports, unresolved), (vec![1, 2], vec![5]));
    }

    #[test]
    fn a_service_is_where_its_record_says_and_else_where_its_name_is() {
        let servers = srv::testing::serve("_minecraft._tcp.play.example.org", &[(0, 5, 25_570, "localhost")]);
        let ((name_sender, names), (item_sender, items)) = (unbounded(), unbounded());
        for (name, origin) in [("play.example.org", 1), ("localhost", 2)] {
            let service = Some("_minecraft._tcp");
            let name = Name { name: name.into(), ports: Ports::one(25_565), service, plan: 0, origin, typed: true };
            name_sender.send(name).unwrap();
        }
        drop(name_sender);
        start(&names, &item_sender, &servers).unwrap();
        drop(item_sender);
        let found = items.iter().map(|item| match item {
            Item::Resolved { target, .. } => {
                assert!(target.address.ip().is_loopback());
                (target.origin, target.address.port())
            }
            other => panic!("{other:?}"),
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        assert_eq!(found, [(1, 25_570), (2, 25_565)]);
    }
}
