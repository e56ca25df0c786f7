//! The system's resolver, for names that only it knows: a few threads, each of which waits for it. It also knows the
//! interfaces of this machine.

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::outcomes::Outcomes;
use crate::dns::{Answer, Answered, Hosts, Wanted};
use crate::target::NameError;

/// Has names looked up by the system.
pub(super) struct System {
    hosts: Hosts,
    wanted: Wanted,
    outcomes: Outcomes,
    /// Where the threads take names from, once they have been started.
    names: Option<Sender<(u32, Box<str>)>>,
}

impl System {
    pub(super) const fn new(hosts: Hosts, wanted: Wanted, outcomes: Outcomes) -> Self {
        Self { hosts, wanted, outcomes, names: None }
    }

    /// Has `name` looked up; false if nobody takes answers any more.
    pub(super) fn look_up(&mut self, number: u32, name: Box<str>) -> bool {
        if let Some(answer) = self.hosts.find(&name, self.wanted) {
            return self.outcomes.take(Answered { number, name, answer });
        }
        let Self { wanted, outcomes, names, .. } = self;
        names.get_or_insert_with(|| start(*wanted, outcomes)).send((number, name)).is_ok()
    }
}

/// Starts the threads. They end when there are no more names, or nobody takes answers.
fn start(wanted: Wanted, outcomes: &Outcomes) -> Sender<(u32, Box<str>)> {
    let (sender, names) = bounded(WAITING);
    for _ in 0..THREADS {
        let (names, outcomes) = (names.clone(), outcomes.clone());
        // Without a thread the channel has no other end, and names are refused as at the end of a run.
        let _ = thread::Builder::new().name("names".into()).spawn(move || look_up(&names, wanted, &outcomes));
    }
    sender
}

fn look_up(names: &Receiver<(u32, Box<str>)>, wanted: Wanted, outcomes: &Outcomes) {
    for (number, name) in names {
        let answer = match (&*name, 0).to_socket_addrs() {
            Ok(found) => wanted.choose(found.map(|address: SocketAddr| address.ip()), None),
            // The standard library passes on only the words of gai_strerror(3), and those of `EAI_AGAIN` are known.
            Err(error) if error.to_string().to_ascii_lowercase().contains("tempora") => {
                Answer::Failed(NameError::ServerFailure)
            }
            Err(_) => Answer::Failed(NameError::NxDomain),
        };
        if !outcomes.take(Answered { number, name, answer }) {
            return;
        }
    }
}

/// The address `ip` on the network of the interface `zone`, with port 0. The system knows its interfaces by name; it asks
/// nobody else about an address.
pub(super) fn zoned(ip: Ipv6Addr, zone: &str) -> Result<SocketAddrV6, String> {
    let found = (format!("{ip}%{zone}"), 0).to_socket_addrs().ok().and_then(|mut found| found.next());
    match found {
        Some(SocketAddr::V6(address)) if address.scope_id() != 0 => Ok(address),
        _ => Err(format!("there is no network interface {zone:?} here: `ip link` lists them")),
    }
}

/// Names that wait for a thread.
const WAITING: usize = 1 << 10;
const THREADS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_an_interface_of_this_machine_by_name_or_number() {
        let ip: Ipv6Addr = "fe80::1".parse().unwrap();
        let by_name = zoned(ip, "lo").unwrap();
        assert_eq!((by_name.ip(), by_name.port()), (&ip, 0));
        assert_eq!(zoned(ip, &by_name.scope_id().to_string()), Ok(by_name));
        for bad in ["nowhere0", "0", "lo0x"] {
            assert!(zoned(ip, bad).unwrap_err().contains("there is no network interface"), "{bad}");
        }
    }
}
