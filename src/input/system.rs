//! The system's resolver, for names that only it knows: a few threads, each of which waits for it.

use std::net::{SocketAddr, ToSocketAddrs};
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

/// Names that wait for a thread.
const WAITING: usize = 1 << 10;
const THREADS: usize = 4;
