//! Names among the targets: each is looked up once, however often it is mentioned, and every mention has its own fate.
//!
//! A mention of a name that leads to an address stands for one target on each of its ports. A name that leads nowhere is
//! a target by itself: mentions with the same plan and the same ports are the same one.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use crate::dns::Answer;
use crate::target::{NameError, Ports, Target};

/// What is to be asked at the address of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// Ports to ask.
    pub ports: Ports,
    /// What to ask: an index into the caller's plans.
    pub plan: u16,
    /// Who named it: an index into the caller's origins.
    pub origin: u32,
    /// It came as an argument.
    pub typed: bool,
}

/// A name and what is to be asked at its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The name.
    pub name: Box<str>,
    /// The service whose SRV record, if there is one, says host and port instead.
    pub service: Option<&'static str>,
    /// What is to be asked.
    pub mention: Mention,
}

/// Names by number: their answers, and the mentions that wait for one.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashMap<u32, State>,
}

#[derive(Debug)]
enum State {
    Waiting(Vec<Mention>),
    Addresses(Box<[IpAddr]>, Option<u16>),
    /// Why it leads nowhere, and the mentions that have a row.
    Nowhere(NameError, Vec<Mention>),
}

/// What becomes of a mention.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is settled with its name's answer.
    Waits,
    /// These targets are meant.
    Targets(Vec<Target>, bool),
    /// It has no address, and a row that says so and why.
    Unresolved(Mention, NameError),
    /// It has no address, and neither had the same mention before it.
    Repeated(Mention),
}

impl Names {
    /// Takes a mention of name `number`.
    pub(crate) fn mention(&mut self, number: u32, mention: Mention) -> Fate {
        match self.names.entry(number).or_insert_with(|| State::Waiting(Vec::new())) {
            State::Waiting(mentions) => {
                mentions.push(mention);
                Fate::Waits
            }
            State::Addresses(ips, port) => mention.at(ips, *port),
            State::Nowhere(error, known) => mention.nowhere(*error, known),
        }
    }

    /// Takes the answer of name `number`, and returns what becomes of each mention that waits for it, in their order.
    pub(crate) fn answer(&mut self, number: u32, answer: Answer) -> Vec<Fate> {
        let Some(state) = self.names.get_mut(&number) else { return Vec::new() };
        let State::Waiting(mentions) = state else { return Vec::new() };
        let mentions = std::mem::take(mentions);
        match answer {
            Answer::Addresses(ips, port) => {
                let fates = mentions.into_iter().map(|mention| mention.at(&ips, port)).collect();
                *state = State::Addresses(ips, port);
                fates
            }
            Answer::Failed(error) => {
                let mut known = Vec::new();
                let fates = mentions.into_iter().map(|mention| mention.nowhere(error, &mut known)).collect();
                *state = State::Nowhere(error, known);
                fates
            }
        }
    }
}

impl Mention {
    fn at(self, ips: &[IpAddr], port: Option<u16>) -> Fate {
        let ports = port.map_or(self.ports, Ports::one);
        let target =
            |ip: &IpAddr, port| Target { address: SocketAddr::new(*ip, port), plan: self.plan, origin: self.origin };
        let targets = ips.iter().flat_map(|ip| ports.iter().map(move |port| target(ip, port)));
        Fate::Targets(targets.collect(), self.typed)
    }

    /// A mention with another plan or other ports has a row of its own.
    fn nowhere(self, error: NameError, known: &mut Vec<Self>) -> Fate {
        if known.iter().any(|other| other.plan == self.plan && other.ports == self.ports) {
            return Fate::Repeated(self);
        }
        known.push(self.clone());
        Fate::Unresolved(self, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mention(ports: (u16, u16), plan: u16) -> Mention {
        Mention { ports: Ports::from_ranges([ports]), plan, origin: 4, typed: true }
    }

    #[test]
    fn every_mention_of_a_name_becomes_targets_before_and_after_its_answer() {
        let mut names = Names::default();
        let ip = IpAddr::from([127, 0, 0, 9]);
        let targets = |ports: &[u16], plan| {
            let target = |port: &u16| Target { address: SocketAddr::new(ip, *port), plan, origin: 4 };
            Fate::Targets(ports.iter().map(target).collect(), true)
        };
        assert_eq!(names.mention(0, mention((1, 2), 3)), Fate::Waits);
        assert_eq!(names.mention(0, mention((2, 3), 5)), Fate::Waits);
        let nowhere = Answer::Failed(NameError::Silence);
        let at = |port| Answer::Addresses([ip].into(), port);
        assert_eq!(names.answer(1, nowhere.clone()), []);
        assert_eq!(names.answer(0, at(None)), [targets(&[1, 2], 3), targets(&[2, 3], 5)]);
        assert_eq!(names.mention(0, mention((2, 2), 3)), targets(&[2], 3));
        assert_eq!(names.answer(0, nowhere), [], "the first answer counts");
        // A service is where its record says.
        assert_eq!(names.mention(7, mention((25_565, 25_565), 1)), Fate::Waits);
        assert_eq!(names.answer(7, at(Some(25_570))), [targets(&[25_570], 1)]);
    }

    #[test]
    fn a_name_with_several_addresses_is_a_target_at_each_on_each_port() {
        let mut names = Names::default();
        let ips = [IpAddr::from([127, 0, 0, 9]), IpAddr::from([127, 0, 0, 8])];
        assert_eq!(names.answer(0, Answer::Failed(NameError::NxDomain)), [], "nobody mentioned it");
        assert_eq!(names.mention(0, mention((1, 2), 3)), Fate::Waits);
        let fates = names.answer(0, Answer::Addresses(ips.into(), None));
        let [Fate::Targets(targets, true)] = &fates[..] else { panic!("{fates:?}") };
        let addresses: Vec<_> = targets.iter().map(|target| target.address.to_string()).collect();
        assert_eq!(addresses, ["127.0.0.9:1", "127.0.0.9:2", "127.0.0.8:1", "127.0.0.8:2"]);
    }

    #[test]
    fn a_name_without_an_address_has_a_row_for_each_plan_and_set_of_ports() {
        let mut names = Names::default();
        for ports in [(1, 2), (1, 2), (3, 3)] {
            assert_eq!(names.mention(0, mention(ports, 0)), Fate::Waits);
        }
        let unresolved = |ports, plan| Fate::Unresolved(mention(ports, plan), NameError::NxDomain);
        let fates = names.answer(0, Answer::Failed(NameError::NxDomain));
        assert_eq!(fates, [unresolved((1, 2), 0), Fate::Repeated(mention((1, 2), 0)), unresolved((3, 3), 0)]);
        assert_eq!(names.mention(0, mention((3, 3), 0)), Fate::Repeated(mention((3, 3), 0)));
        assert_eq!(names.mention(0, mention((3, 3), 1)), unresolved((3, 3), 1));
    }
}
