//! What is asked about one name, one question after the other, until it is known where it leads.
//!
//! ```text
//! [SRV of the service] ─► host, port ─┐
//!          └─ none ─► the name ───────┴─► A ─ none ─► AAAA ─ none ─► the next search domain
//!                                         └─ alias ─► the same of the other name
//! ```
//!
//! Each name costs a bounded number of questions, whatever the servers say.

use std::net::IpAddr;

use super::answer::{Answer, Family, Wanted};
use super::config::Config;
use super::hosts::Hosts;
use super::message::{Kind, Name, Reply, name};
use crate::target::NameError;

/// What was asked about a name so far, and what is to be asked now.
#[derive(Debug)]
pub(super) struct Course {
    /// The name as it was given.
    text: Box<str>,
    /// Number of the name among those that it may stand for.
    candidate: usize,
    question: (Name, Kind),
    /// Port of the service, once its host is known.
    port: Option<u16>,
    /// Addresses of the families that were asked for.
    found: Vec<IpAddr>,
    aliases: u8,
    /// One of the names that it may stand for exists.
    exists: bool,
}

/// What is known all along: how names are completed, what needs no server, and what is wanted.
#[derive(Debug)]
pub(super) struct Rules {
    pub(crate) config: Config,
    pub(crate) hosts: Hosts,
    pub(crate) wanted: Wanted,
}

/// What follows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The question is to be asked.
    Ask,
    /// This is the answer.
    Done(Answer),
}

/// How a question has ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A server has replied.
    Reply(Reply),
    /// It was given up.
    GivenUp(NameError),
}

impl Course {
    /// The course for `text`, and for `service` there if one is looked for.
    pub(super) fn begin(text: Box<str>, service: Option<&str>, rules: &Rules) -> Result<Self, Answer> {
        if let Some(answer) = rules.hosts.find(&text, rules.wanted) {
            return Err(answer);
        }
        let nowhere = Answer::Failed(NameError::NxDomain);
        let of_service = service.and_then(|service| name(&format!("{service}.{text}")));
        let question = match of_service {
            Some(of_service) => (of_service, Kind::Srv),
            None => (rules.candidate(&text, 0).ok_or(nowhere)?, rules.first_kind()),
        };
        let (found, port) = (Vec::new(), None);
        Ok(Self { text, candidate: 0, question, port, found, aliases: 0, exists: false })
    }

    /// The name as it was given.
    pub(super) fn into_text(self) -> Box<str> {
        self.text
    }

    /// What is to be asked now.
    pub(super) fn question(&self) -> (&Name, Kind) {
        (&self.question.0, self.question.1)
    }

    /// Records how the question has ended.
    pub(super) fn handle(&mut self, outcome: Outcome, rules: &Rules) -> Next {
        if self.question.1 == Kind::Srv {
            return self.handle_service(outcome, rules);
        }
        match outcome {
            Outcome::Reply(Reply::Addresses(ips)) => {
                self.exists = true;
                self.found.extend(ips);
                let has_one = matches!(rules.wanted.choose(self.found.iter().copied(), None), Answer::Addresses(..));
                if has_one && !rules.wanted.all { self.finish(rules) } else { self.next_family(rules) }
            }
            Outcome::Reply(Reply::NoData) => {
                self.exists = true;
                self.next_family(rules)
            }
            Outcome::Reply(Reply::Alias(other)) if self.aliases < MOST_ALIASES => {
                self.aliases += 1;
                self.question.0 = other;
                Next::Ask
            }
            Outcome::Reply(Reply::NxDomain) => self.next_candidate(rules),
            // Half of what was wanted is better than nothing.
            _ if !self.found.is_empty() => self.finish(rules),
            Outcome::Reply(_) => Next::Done(Answer::Failed(NameError::ServerFailure)),
            Outcome::GivenUp(error) => Next::Done(Answer::Failed(error)),
        }
    }

    /// Nothing depends on a service: without an answer, the name is looked up as any other.
    fn handle_service(&mut self, outcome: Outcome, rules: &Rules) -> Next {
        match outcome {
            Outcome::Reply(Reply::Alias(other)) if self.aliases < MOST_ALIASES => {
                self.aliases += 1;
                self.question.0 = other;
                Next::Ask
            }
            Outcome::Reply(Reply::Service(host, port)) => {
                if let Some(Answer::Addresses(ips, _)) = rules.hosts.find(&host.to_string(), rules.wanted) {
                    return Next::Done(Answer::Addresses(ips, Some(port)));
                }
                self.port = Some(port);
                // What a record names is complete.
                self.candidate = usize::MAX;
                self.question = (host, rules.first_kind());
                Next::Ask
            }
            _ => match rules.candidate(&self.text, 0) {
                Some(name) => {
                    self.question = (name, rules.first_kind());
                    Next::Ask
                }
                None => Next::Done(Answer::Failed(NameError::NxDomain)),
            },
        }
    }

    fn next_family(&mut self, rules: &Rules) -> Next {
        if self.question.1 == Kind::A && rules.wanted.family == Family::Any {
            self.question.1 = Kind::Aaaa;
            return Next::Ask;
        }
        self.next_candidate(rules)
    }

    /// The next name that it may stand for, unless this one has led somewhere.
    fn next_candidate(&mut self, rules: &Rules) -> Next {
        self.candidate = self.candidate.saturating_add(1);
        match rules.candidate(&self.text, self.candidate).filter(|_| self.found.is_empty()) {
            Some(name) => {
                self.question = (name, rules.first_kind());
                Next::Ask
            }
            None => self.finish(rules),
        }
    }

    fn finish(&mut self, rules: &Rules) -> Next {
        let found = std::mem::take(&mut self.found);
        if found.is_empty() && !self.exists {
            return Next::Done(Answer::Failed(NameError::NxDomain));
        }
        Next::Done(rules.wanted.choose(found, self.port))
    }
}

impl Rules {
    /// The name of that number among those that `text` may stand for.
    fn candidate(&self, text: &str, number: usize) -> Option<Name> {
        name(&self.config.candidates(text).nth(number)?)
    }

    /// One address is of IPv4 if there is one.
    const fn first_kind(&self) -> Kind {
        match self.wanted.family {
            Family::Any | Family::Ipv4 => Kind::A,
            Family::Ipv6 => Kind::Aaaa,
        }
    }
}

/// Aliases that are followed beyond those that one reply resolves.
const MOST_ALIASES: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(wanted: Wanted, search: &[&str]) -> Rules {
        let search = search.iter().map(|domain| (*domain).to_owned()).collect();
        let config = Config { search, ndots: 1, ..Config::default() };
        Rules { config, hosts: Hosts::parse("192.0.2.9 in.hosts\n"), wanted }
    }

    /// What is asked about `text`, if these are the replies, and where it leads.
    fn course(text: &str, service: Option<&str>, rules: &Rules, replies: Vec<Outcome>) -> (Vec<String>, Answer) {
        let mut course = match Course::begin(text.into(), service, rules) {
            Ok(course) => course,
            Err(answer) => return (Vec::new(), answer),
        };
        let mut asked = Vec::new();
        for reply in replies {
            let (name, kind) = course.question();
            asked.push(format!("{kind:?} {name}"));
            if let Next::Done(answer) = course.handle(reply, rules) {
                return (asked, answer);
            }
        }
        panic!("it goes on after {asked:?}");
    }

    fn at(ips: &[&str], port: Option<u16>) -> Answer {
        Answer::Addresses(ips.iter().map(|ip| ip.parse().unwrap()).collect(), port)
    }

    fn has(ips: &[&str]) -> Outcome {
        Outcome::Reply(Reply::Addresses(ips.iter().map(|ip| ip.parse().unwrap()).collect()))
    }

    const NONE: fn() -> Outcome = || Outcome::Reply(Reply::NoData);
    const GONE: fn() -> Outcome = || Outcome::Reply(Reply::NxDomain);

    #[test]
    fn one_question_is_enough_for_a_name_with_an_ipv4_address_and_for_one_that_does_not_exist() {
        let rules = rules(Wanted::default(), &["lan.example"]);
        let (asked, answer) = course("a.example", None, &rules, vec![has(&["192.0.2.1", "192.0.2.2"])]);
        assert_eq!((asked, answer), (vec!["A a.example".into()], at(&["192.0.2.1"], None)));
        let (asked, answer) = course("a.example", None, &rules, vec![GONE()]);
        assert_eq!((asked.len(), answer), (1, Answer::Failed(NameError::NxDomain)));
    }

    #[test]
    fn families_are_asked_for_as_far_as_they_are_wanted() {
        for (family, all, replies, asked, expected) in [
            (Family::Any, false, vec![NONE(), has(&["2001:db8::1"])], "A Aaaa", at(&["2001:db8::1"], None)),
            (
                Family::Any,
                true,
                vec![has(&["192.0.2.1"]), has(&["2001:db8::1"])],
                "A Aaaa",
                at(&["192.0.2.1", "2001:db8::1"], None),
            ),
            (
                Family::Any,
                true,
                vec![has(&["192.0.2.1"]), Outcome::GivenUp(NameError::Silence)],
                "A Aaaa",
                at(&["192.0.2.1"], None),
            ),
            (Family::Ipv4, false, vec![NONE()], "A", Answer::Failed(NameError::NoAddress)),
            (Family::Ipv6, false, vec![has(&["2001:db8::1"])], "Aaaa", at(&["2001:db8::1"], None)),
            (Family::Any, false, vec![has(&["0.0.0.0"]), NONE()], "A Aaaa", Answer::Failed(NameError::Blocked)),
            (
                Family::Any,
                false,
                vec![Outcome::GivenUp(NameError::ServerFailure)],
                "A",
                Answer::Failed(NameError::ServerFailure),
            ),
        ] {
            let (questions, answer) = course("a.example", None, &rules(Wanted { family, all }, &[]), replies);
            let kinds: Vec<_> = questions.iter().map(|question| question.split(' ').next().unwrap()).collect();
            assert_eq!((kinds.join(" "), answer), (asked.into(), expected));
        }
    }

    #[test]
    fn search_domains_come_first_and_the_first_that_leads_somewhere_counts() {
        let rules = rules(Wanted::default(), &["a.example", "b.example"]);
        let (asked, answer) = course("host", None, &rules, vec![GONE(), has(&["192.0.2.1"])]);
        assert_eq!(asked, ["A host.a.example", "A host.b.example"]);
        assert_eq!(answer, at(&["192.0.2.1"], None));
        let (asked, answer) = course("host", None, &rules, vec![NONE(), NONE(), GONE(), GONE()]);
        assert_eq!(asked, ["A host.a.example", "Aaaa host.a.example", "A host.b.example", "A host"]);
        assert_eq!(answer, Answer::Failed(NameError::NoAddress), "one of them exists");
    }

    #[test]
    fn aliases_are_followed_and_not_for_ever() {
        let alias = |text: &str| Outcome::Reply(Reply::Alias(name(text).unwrap()));
        let rules = rules(Wanted::default(), &[]);
        let (asked, answer) = course("a.example", None, &rules, vec![alias("b.example"), has(&["192.0.2.1"])]);
        assert_eq!(asked, ["A a.example", "A b.example"]);
        assert_eq!(answer, at(&["192.0.2.1"], None));
        let circle = (0..100).map(|n| alias(if n % 2 == 0 { "b.example" } else { "a.example" })).collect();
        let (asked, answer) = course("a.example", None, &rules, circle);
        assert_eq!((asked.len(), answer), (9, Answer::Failed(NameError::ServerFailure)));
    }

    #[test]
    fn a_service_is_where_its_record_says_and_else_where_its_name_is() {
        let rules = rules(Wanted::default(), &["lan.example"]);
        let service = |host: &str| Outcome::Reply(Reply::Service(name(host).unwrap(), 25_570));
        let srv = Some("_minecraft._tcp");
        let (asked, answer) = course("mc.example", srv, &rules, vec![service("s.example"), has(&["192.0.2.1"])]);
        assert_eq!(asked, ["Srv _minecraft._tcp.mc.example", "A s.example"]);
        assert_eq!(answer, at(&["192.0.2.1"], Some(25_570)));
        let (_, answer) = course("mc.example", srv, &rules, vec![service("in.hosts")]);
        assert_eq!(answer, at(&["192.0.2.9"], Some(25_570)));
        for none in [GONE(), NONE(), Outcome::GivenUp(NameError::Silence)] {
            let (asked, answer) = course("mc.example", srv, &rules, vec![none, has(&["192.0.2.1"])]);
            assert_eq!(asked, ["Srv _minecraft._tcp.mc.example", "A mc.example"]);
            assert_eq!(answer, at(&["192.0.2.1"], None));
        }
        // A host that is gone is not looked up in search domains, nor is the name of the service then asked.
        let (asked, answer) = course("mc.example", srv, &rules, vec![service("gone"), GONE()]);
        assert_eq!((asked.len(), answer), (2, Answer::Failed(NameError::NxDomain)));
    }

    #[test]
    fn what_the_hosts_file_knows_is_not_asked_for() {
        let rules = rules(Wanted::default(), &[]);
        assert_eq!(course("in.hosts", Some("_minecraft._tcp"), &rules, vec![]), (vec![], at(&["192.0.2.9"], None)));
        let too_long = vec!["a".repeat(60); 5].join(".");
        assert_eq!(course(&too_long, None, &rules, vec![]).1, Answer::Failed(NameError::NxDomain));
    }
}
