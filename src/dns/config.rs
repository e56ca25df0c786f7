//! Which name servers are asked, and how names are completed: what `/etc/resolv.conf` says (resolv.conf(5)).
//!
//! Of its options, `ndots` and `rotate` count. `timeout` and `attempts` are made for a program that waits for one name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};

use resolv_conf::ScopedIp;

/// Which name servers are asked, and how names are completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The servers, the preferred ones first.
    pub(crate) servers: Vec<SocketAddr>,
    /// All servers are asked in turn, not only the first one that answers.
    pub(crate) rotate: bool,
    /// Domains in which names are looked up that have fewer dots than `ndots`.
    pub(crate) search: Vec<String>,
    /// A name with as many dots is looked up as it is.
    pub(crate) ndots: usize,
}

impl Config {
    /// Reads the `text` of a `resolv.conf`. What it does not say is as resolv.conf(5) has it; lines that cannot be read are
    /// skipped, as the system does. `scope` is the number of an interface by its name.
    #[must_use]
    pub(crate) fn parse(text: &[u8], scope: impl Fn(&str) -> Option<u32>) -> Self {
        let (config, _) = resolv_conf::Config::parse_with_errors(text);
        let servers = config.nameservers.iter().filter_map(|server| match server {
            ScopedIp::V6(ip, Some(zone)) => Some(SocketAddrV6::new(*ip, PORT, 0, scope(zone)?).into()),
            server => Some(SocketAddr::new(IpAddr::from(server), PORT)),
        });
        let mut servers: Vec<_> = servers.take(MOST_SERVERS).collect();
        if servers.is_empty() {
            servers.push((Ipv4Addr::LOCALHOST, PORT).into());
        }
        let search = config.get_last_search_or_domain().filter(|domain| *domain != ".");
        let search = search.take(MOST_DOMAINS).cloned().collect();
        Self { servers, rotate: config.rotate, search, ndots: config.ndots as usize }
    }

    /// These servers in turn, with names that are looked up as they are.
    #[must_use]
    pub(crate) fn asking(servers: &[SocketAddr]) -> Self {
        let servers = servers.iter().copied().take(MOST_SERVERS).collect();
        Self { servers, rotate: true, ..Self::default() }
    }

    /// Whether `name` is looked up only as it is, with a dot at its end or without one.
    pub(crate) fn is_complete(&self, name: &str) -> bool {
        let dots = name.bytes().filter(|byte| *byte == b'.').count();
        self.search.is_empty() || name.ends_with('.') || dots >= self.ndots
    }

    /// The names that `name` may stand for, in the order in which they are looked up.
    pub(super) fn candidates<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let search = if self.is_complete(name) { &[][..] } else { &self.search };
        search.iter().map(move |domain| format!("{name}.{domain}")).chain([name.to_owned()])
    }
}

/// Port of name servers.
const PORT: u16 = 53;
/// Servers that are asked.
const MOST_SERVERS: usize = 16;
/// As the system takes them.
const MOST_DOMAINS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_search_domains_and_options_are_read() {
        let text = b"nameserver 192.0.2.1\nnonsense\nnameserver 2001:db8::1\nsearch a.example b.example\noptions ndots:2 rotate\n";
        let config = Config::parse(text, |_| None);
        let servers = ["192.0.2.1:53", "[2001:db8::1]:53"].map(|server| server.parse().unwrap());
        let search = ["a.example", "b.example"].map(str::to_owned).into();
        assert_eq!(config, Config { servers: servers.into(), rotate: true, search, ndots: 2 });
    }

    #[test]
    fn a_link_local_server_is_asked_on_its_interface() {
        let text = b"nameserver fe80::1%eth0\nnameserver fe80::2%gone0\nnameserver fe80::3\n";
        let config = Config::parse(text, |zone| (zone == "eth0").then_some(4));
        assert_eq!(config.servers, ["[fe80::1%4]:53", "[fe80::3]:53"].map(|server| server.parse().unwrap()));
    }

    #[test]
    fn without_a_server_the_one_of_this_machine_is_asked() {
        assert_eq!(Config::parse(b"", |_| None).servers, ["127.0.0.1:53".parse().unwrap()]);
    }

    #[test]
    fn a_name_with_few_dots_is_looked_up_in_the_search_domains_first() {
        let config = Config::parse(b"search a.example b.example\noptions ndots:2\n", |_| None);
        let candidates = |name| config.candidates(name).collect::<Vec<_>>();
        assert_eq!(candidates("host"), ["host.a.example", "host.b.example", "host"]);
        assert_eq!(candidates("a.b"), ["a.b.a.example", "a.b.b.example", "a.b"]);
        assert_eq!(candidates("a.b.c"), ["a.b.c"]);
        assert_eq!(candidates("host."), ["host."]);
        let complete = ["host", "a.b", "a.b.c", "host."].map(|name| config.is_complete(name));
        assert_eq!(complete, [false, false, true, true]);
        assert!(Config::default().is_complete("host"));
    }
}
