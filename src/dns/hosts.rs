//! Names that need no name server: those of the hosts file (hosts(5)), and those with a meaning of their own (RFC 6761).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::answer::{Answer, Family, Wanted};
use crate::target::NameError;

/// The names of a hosts file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts(HashMap<Box<str>, Vec<IpAddr>>);

impl Hosts {
    /// Reads the `text` of a hosts file; lines that cannot be read are skipped, as the system does.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        let mut hosts: HashMap<Box<str>, Vec<IpAddr>> = HashMap::new();
        for line in text.lines() {
            let line = line.split_once('#').map_or(line, |(line, _)| line);
            let mut words = line.split_ascii_whitespace();
            let Some(ip) = words.next().and_then(|word| word.parse().ok()) else { continue };
            for name in words {
                hosts.entry(name.to_ascii_lowercase().into()).or_default().push(ip);
            }
        }
        Self(hosts)
    }

    /// What is known of `name`; `None` if it has to be asked for.
    #[must_use]
    pub(crate) fn find(&self, name: &str, wanted: Wanted) -> Option<Answer> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let found = self.0.get(&*name).into_iter().flatten().copied().filter(|ip| wanted.family.has(*ip));
        let found: Vec<_> = found.collect();
        if !found.is_empty() {
            return Some(wanted.choose(found, None));
        }
        match name.rsplit('.').next() {
            Some("localhost") => {
                let ipv6 = (wanted.family == Family::Ipv6).then_some(Ipv6Addr::LOCALHOST.into());
                Some(wanted.choose([ipv6.unwrap_or(Ipv4Addr::LOCALHOST.into())], None))
            }
            Some("invalid") => Some(Answer::Failed(NameError::NxDomain)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Wanted = Wanted { family: Family::Any, all: false };

    fn at(ip: &str) -> Answer {
        Answer::Addresses([ip.parse().unwrap()].into(), None)
    }

    #[test]
    fn every_word_after_an_address_is_a_name_of_it() {
        let hosts = Hosts::parse(
            "# own\n192.0.2.1\tPlay.Example.Net play # both\n2001:db8::1 play\n0.0.0.0 tracker.example\nrubbish play\n",
        );
        assert_eq!(hosts.find("play.example.net.", ONE), Some(at("192.0.2.1")));
        assert_eq!(hosts.find("PLAY", ONE), Some(at("192.0.2.1")));
        assert_eq!(hosts.find("play", Wanted { family: Family::Ipv6, all: false }), Some(at("2001:db8::1")));
        assert_eq!(hosts.find("tracker.example", ONE), Some(Answer::Failed(NameError::Blocked)));
        assert_eq!(
            hosts.find("play.example.net", Wanted { family: Family::Ipv6, all: false }),
            None,
            "it is asked for"
        );
        assert_eq!(hosts.find("rubbish", ONE), None);
    }

    #[test]
    fn some_names_mean_the_same_everywhere() {
        let hosts = Hosts::default();
        assert_eq!(hosts.find("localhost", ONE), Some(at("127.0.0.1")));
        assert_eq!(hosts.find("a.LOCALHOST.", Wanted { family: Family::Ipv6, all: true }), Some(at("::1")));
        assert_eq!(hosts.find("no.such.invalid", ONE), Some(Answer::Failed(NameError::NxDomain)));
        assert_eq!(hosts.find("localhost.example", ONE), None);
    }
}
