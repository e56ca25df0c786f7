//! Names on their way to addresses: each is looked up once, by name servers or, where only it can know, by the system.
//!
//! Without `--resolver`, the system is asked for names under `.local`, which are not in the DNS, and for names without a dot
//! if there is no domain to search them in: who knows them is up to its configuration (nsswitch.conf(5)).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::net::Ipv6Addr;
use std::sync::PoisonError;

use super::arrivals::Item;
use super::names::Named;
use super::outcomes::Outcomes;
use super::system::{System, zoned};
use crate::config::NameOptions;
use crate::dns::{self, Answer, Config, Hosts, Wanted};
use crate::error::Error;
use crate::net::options::Local;
use crate::net::resolver::{self, Lookups};
use crate::target::NameError;

/// Has names looked up: each once, however often it is mentioned.
pub(super) struct Resolver {
    /// Numbers of the names that were mentioned.
    numbers: HashMap<(Box<str>, Option<&'static str>), u32>,
    outcomes: Outcomes,
    /// Nobody, in a dry run.
    asked: Option<Asked>,
}

/// Who looks names up.
struct Asked {
    lookups: Lookups,
    system: System,
    known: SystemKnows,
    config: Config,
}

/// Which names only the system can know.
#[derive(Debug, Clone, Copy)]
struct SystemKnows {
    /// Names without a dot.
    single: bool,
    /// Names under `.local`.
    local: bool,
}

impl Resolver {
    /// Starts the threads that look up names as `options` say. DNS queries leave from the address and interface in `local`.
    /// The threads end when the resolver is gone, or nobody takes
    /// outcomes.
    pub(super) fn start(options: &NameOptions, local: Local, outcomes: Outcomes) -> Result<Self, Error> {
        let wanted = Wanted { family: options.family, all: options.all_addresses };
        // A file that is not there says nothing.
        let hosts = Hosts::parse(&String::from_utf8_lossy(&fs::read(HOSTS).unwrap_or_default()));
        let is_chosen = !options.servers.is_empty();
        let config = if is_chosen {
            Config::asking(&options.servers)
        } else {
            let scope = |zone: &str| Some(zoned(LINK_LOCAL, zone).ok()?.scope_id());
            Config::parse(&fs::read(RESOLV_CONF).unwrap_or_default(), scope)
        };
        let known = SystemKnows { single: !is_chosen && config.search.is_empty(), local: !is_chosen };
        let resolver = dns::Resolver::new(config.clone(), hosts.clone(), wanted, options.timeout, resolver::random());
        let lookups = resolver::start(resolver, local, outcomes.clone())?;
        let system = System::new(hosts, wanted, outcomes.clone());
        let asked = Asked { lookups, system, known, config };
        Ok(Self { numbers: HashMap::new(), outcomes, asked: Some(asked) })
    }

    /// One that asks nobody: every name leads nowhere, because it was not asked.
    pub(super) fn asking_nobody(outcomes: Outcomes) -> Self {
        Self { numbers: HashMap::new(), outcomes, asked: None }
    }

    /// Says that a name was mentioned, and has it looked up the first time; false if nobody takes it any more.
    pub(super) fn mention(&mut self, Named { name, service, mention }: Named) -> bool {
        let number = self.numbers.len() as u32;
        let items = &self.outcomes.items;
        match self.numbers.entry((self.key(&name), service)) {
            Entry::Occupied(known) => items.send(Item::Name(*known.get(), mention)).is_ok(),
            Entry::Vacant(new) => {
                new.insert(number);
                items.send(Item::Name(number, mention)).is_ok() && self.look_up(number, name, service)
            }
        }
    }

    /// `name` in the one form of its spellings: in small letters, and without the dot at its end if it means nothing.
    fn key(&self, name: &str) -> Box<str> {
        let without_dot = name.strip_suffix('.').filter(|name| {
            self.asked.as_ref().is_none_or(|Asked { known, config, .. }| known.has(name) || config.is_complete(name))
        });
        without_dot.unwrap_or(name).to_ascii_lowercase().into()
    }

    fn look_up(&mut self, number: u32, name: Box<str>, service: Option<&'static str>) -> bool {
        let Some(asked) = &mut self.asked else {
            return self.outcomes.items.send(Item::Resolved(number, Answer::Failed(NameError::NotAsked))).is_ok();
        };
        self.outcomes.counts.lock().unwrap_or_else(PoisonError::into_inner).looked_up += 1;
        if asked.known.has(&name) {
            return asked.system.look_up(number, name);
        }
        asked.lookups.look_up(number, name, service)
    }
}

impl SystemKnows {
    fn has(self, name: &str) -> bool {
        match name.strip_suffix('.').unwrap_or(name).rsplit_once('.') {
            Some((_, domain)) => self.local && domain.eq_ignore_ascii_case("local"),
            None => self.single,
        }
    }
}

const RESOLV_CONF: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";
/// Any address that has a zone.
const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 1);

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use crossbeam_channel::unbounded;

    use super::*;
    use crate::dns::testing;
    use crate::input::names::Mention;
    use crate::ledger;
    use crate::net::resolver::testing::serve;
    use crate::target::Ports;

    /// What becomes of these names and services, and what was counted.
    fn answers(names: &[(&str, Option<&'static str>)], options: Option<&NameOptions>) -> (Vec<Answer>, ledger::Names) {
        let (items, sent) = unbounded();
        let counts = Arc::default();
        let outcomes = Outcomes { items, counts: Arc::clone(&counts), log: None };
        let mut resolver = match options {
            Some(options) => Resolver::start(options, Local::default(), outcomes).unwrap(),
            None => Resolver::asking_nobody(outcomes),
        };
        for (name, service) in names {
            let mention = Mention { ports: Ports::one(1), plan: 0, origin: 0, typed: true };
            assert!(resolver.mention(Named { name: (*name).into(), service: *service, mention }));
        }
        drop(resolver);
        let found = sent.into_iter().filter_map(|item| match item {
            Item::Resolved(number, answer) => Some((number, answer)),
            Item::Name(..) => None,
            other => panic!("{other:?}"),
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable_by_key(|(number, _)| *number);
        let counts = *counts.lock().unwrap();
        (found.into_iter().map(|(_, answer)| answer).collect(), counts)
    }

    fn at(name: &str, port: Option<u16>) -> Answer {
        Answer::Addresses([testing::address(name).into()].into(), port)
    }

    #[test]
    fn each_name_is_looked_up_once_and_counted() {
        let options = NameOptions { servers: vec![serve()], ..NameOptions::default() };
        let names = [
            "good1.example",
            "GOOD1.example",
            "Good1.example.",
            "dead.example",
            "localhost",
            "zero.example",
            "x.invalid",
            "none.example",
        ];
        let (found, counts) = answers(&names.map(|name| (name, None)), Some(&options));
        let [one, dead, localhost, zero, invalid, none] = &found[..] else { panic!("{found:?}") };
        assert_eq!(*one, at("good1.example", None));
        assert!(matches!(localhost, Answer::Addresses(ips, None) if ips.iter().all(IpAddr::is_loopback)));
        let failed = [dead, invalid, zero, none];
        let errors = [NameError::NxDomain, NameError::NxDomain, NameError::Blocked, NameError::NoAddress];
        assert_eq!(failed.map(Clone::clone), errors.map(Answer::Failed));
        assert_eq!(
            (counts.looked_up, counts.found, counts.nxdomain, counts.blocked, counts.no_address),
            (6, 2, 2, 1, 1)
        );
        assert_eq!(counts.queries.sent - counts.queries.sent_retry, 1 + 1 + 2 + 2, "{counts:?}");
    }

    #[test]
    fn a_service_is_where_its_record_says_and_else_where_its_name_is() {
        let options = NameOptions { servers: vec![serve()], ..NameOptions::default() };
        let service = Some("_minecraft._tcp");
        let (found, _) = answers(&[("good1.example", service), ("good1.example", None)], Some(&options));
        assert_eq!(found, [at("good.example", Some(25_570)), at("good1.example", None)]);
    }

    #[test]
    fn the_system_has_the_names_that_it_alone_can_know() {
        let names = ["printer.local", "PRINTER.Local.", "nas", "nas.", "local", "a.example", "local.example"];
        let of_system = |known: SystemKnows| names.map(|name| known.has(name));
        let all = of_system(SystemKnows { single: true, local: true });
        assert_eq!(all, [true, true, true, true, true, false, false]);
        let with_search = of_system(SystemKnows { single: false, local: true });
        assert_eq!(with_search, [true, true, false, false, false, false, false]);
        assert_eq!(of_system(SystemKnows { single: false, local: false }), [false; 7]);
    }

    #[test]
    fn in_a_dry_run_nobody_is_asked() {
        let (found, counts) = answers(&[("good1.example", None), ("localhost", None)], None);
        assert_eq!(found, [Answer::Failed(NameError::NotAsked), Answer::Failed(NameError::NotAsked)]);
        assert_eq!(counts, ledger::Names::default());
    }
}
