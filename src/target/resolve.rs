//! Names to addresses, off the loop: a few threads ask the system's resolver and send what it says.

use std::io;
use std::net::ToSocketAddrs;
use std::thread;

use crossbeam_channel::{Receiver, Sender};

use super::stream::Item;
use super::{Ports, Target, Unresolved};

/// A name to look up.
#[derive(Debug, Clone)]
pub struct Name {
    /// The name.
    pub name: Box<str>,
    /// Ports to ask at its address.
    pub ports: Ports,
    /// What to ask: an index into the caller's plans.
    pub plan: u16,
    /// Who named it: an index into the caller's origins.
    pub origin: u32,
    /// It came as an argument.
    pub typed: bool,
}

/// Starts the threads. They end when nobody sends names any more, or nobody takes targets.
pub fn start(names: &Receiver<Name>, items: &Sender<Item>) -> io::Result<()> {
    for _ in 0..THREADS {
        let (names, items) = (names.clone(), items.clone());
        thread::Builder::new().name("resolver".into()).spawn(move || {
            for name in names {
                if resolve(&name, &items).is_none() {
                    return;
                }
            }
        })?;
    }
    Ok(())
}

/// Sends the targets of `name`; `None` if nobody takes them.
fn resolve(name: &Name, items: &Sender<Item>) -> Option<()> {
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

    #[test]
    fn a_known_name_becomes_targets_and_an_impossible_one_is_said_to_be_so() {
        let ((name_sender, names), (item_sender, items)) = (unbounded(), unbounded());
        let name = |name: &str, origin| Name {
            name: name.into(),
            ports: Ports::from_ranges([(1, 2)]),
            plan: 3,
            origin,
            typed: true,
        };
        name_sender.send(name("localhost", 4)).unwrap();
        // Reserved by RFC 6761 never to exist.
        name_sender.send(name("no-such-host.invalid", 5)).unwrap();
        drop(name_sender);
        start(&names, &item_sender).unwrap();
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
}
