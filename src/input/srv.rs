//! SRV records: a name for a service, to the host and the port that serve it.
//!
//! The system's resolver has no way to ask for them, so the name servers of `/etc/resolv.conf` are asked by a client of
//! its own. Nothing depends on an answer: without one, the name is looked up as any other.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use resolv_conf::Config;
use rsdns::clients::{ClientConfig, std::Client};
use rsdns::records::Class;
use rsdns::records::data::Srv;

/// The name servers that are asked for SRV records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NameServers(Vec<SocketAddr>);

impl NameServers {
    /// `servers`, in the order in which they are asked.
    #[must_use]
    pub(crate) fn new(servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self(servers.into_iter().collect())
    }

    /// Those of this system; none if it does not say.
    #[must_use]
    pub(crate) fn of_system() -> Self {
        let config = fs::read(RESOLV_CONF).ok().and_then(|text| Config::parse(text).ok());
        let servers = config.iter().flat_map(|config| &config.nameservers);
        Self::new(servers.map(|server| SocketAddr::new(IpAddr::from(server), DNS_PORT)))
    }

    /// Host and port of `service` at `name`, as in `_minecraft._tcp`; `None` if there is no record, or no answer.
    ///
    /// Of several records the one that is preferred counts: the lowest priority, then the greatest weight.
    #[must_use]
    pub(crate) fn find(&self, service: &str, name: &str) -> Option<(String, u16)> {
        let full = format!("{service}.{}.", name.trim_end_matches('.'));
        let records = self.0.iter().find_map(|server| ask(*server, &full))?;
        // A service that is decidedly not available has no name.
        let usable = records.into_iter().filter(|srv| srv.port > 0 && srv.target.as_str() != ".");
        let best = usable.min_by_key(|srv| (srv.priority, u16::MAX - srv.weight))?;
        Some((best.target.as_str().trim_end_matches('.').to_owned(), best.port))
    }
}

/// The records of `name`, none if there are none; `None` if `server` did not say.
fn ask(server: SocketAddr, name: &str) -> Option<Vec<Srv>> {
    let config = ClientConfig::with_nameserver(server).set_query_lifetime(PATIENCE).set_query_timeout(Some(WAIT));
    match Client::new(config).and_then(|mut client| client.query_rrset::<Srv>(name, Class::IN)) {
        Ok(records) => Some(records.rdata),
        Err(rsdns::Error::Timeout | rsdns::Error::IoError(_)) => None,
        Err(_) => Some(Vec::new()),
    }
}

const RESOLV_CONF: &str = "/etc/resolv.conf";
const DNS_PORT: u16 = 53;
/// Before a name server is asked again, and before the next one is.
const WAIT: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(3);

#[cfg(test)]
pub(crate) mod testing {
    //! A name server on loopback.

    use std::net::{Ipv4Addr, UdpSocket};
    use std::thread;

    use super::*;

    /// A record: priority, weight, port, target.
    pub(crate) type Record = (u16, u16, u16, &'static str);

    /// Starts a name server that knows `records` of one name, and of no other name anything. It runs as long as the test.
    pub(crate) fn serve(name: &'static str, records: &'static [Record]) -> NameServers {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let address = socket.local_addr().expect("it is bound");
        thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((size, client)) = socket.recv_from(&mut query) {
                let _ = socket.send_to(&reply(&query[..size], name, records), client);
            }
        });
        NameServers::new([address])
    }

    fn reply(query: &[u8], name: &str, records: &[Record]) -> Vec<u8> {
        // Header of twelve bytes, then the name as labels, type and class.
        let is_known = query[12..].starts_with(&[&labels(name)[..], b"\0\x21\0\x01"].concat());
        let known = if is_known { records } else { &[] };
        let flags: &[u8] = if is_known { b"\x81\x80" } else { b"\x81\x83" };
        let count = (known.len() as u16).to_be_bytes();
        let question_end = 12 + query[12..].iter().position(|byte| *byte == 0).expect("the root") + 5;
        let mut reply = [&query[..2], flags, b"\0\x01", &count, b"\0\0\0\0", &query[12..question_end]].concat();
        for (priority, weight, port, target) in known {
            let target = labels(target);
            // The name is the one in the question.
            reply.extend(b"\xC0\x0C\0\x21\0\x01\0\0\0\x3C");
            reply.extend((target.len() as u16 + 6).to_be_bytes());
            reply.extend([priority, weight, port].into_iter().flat_map(|number| number.to_be_bytes()));
            reply.extend(target);
        }
        reply
    }

    fn labels(name: &str) -> Vec<u8> {
        let label = |label: &str| [&[label.len() as u8], label.as_bytes()].concat();
        name.split('.').filter(|part| !part.is_empty()).flat_map(label).chain([0]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;

    #[test]
    fn the_preferred_record_says_host_and_port() {
        let servers = testing::serve(
            "_minecraft._tcp.play.example.org",
            &[
                (5, 9, 1, "later.example.org"),
                (1, 10, 2, "light.example.org"),
                (1, 20, 25_570, "mc.example.org"),
                (0, 0, 3, "."),
            ],
        );
        let expected = Some(("mc.example.org".to_owned(), 25_570));
        assert_eq!(servers.find("_minecraft._tcp", "play.example.org"), expected);
        assert_eq!(servers.find("_minecraft._tcp", "play.example.org."), expected);
        assert_eq!(servers.find("_minecraft._tcp", "other.example.org"), None, "there is no such name");
        assert_eq!(servers.find("_other._udp", "play.example.org"), None);
        assert_eq!(NameServers::default().find("_minecraft._tcp", "play.example.org"), None);
    }

    #[test]
    fn a_name_server_that_is_gone_is_followed_by_the_next() {
        let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let NameServers(alive) = testing::serve("_s._tcp.name", &[(1, 1, 7, "host")]);
        let servers = NameServers::new([gone, alive[0]]);
        assert_eq!(servers.find("_s._tcp", "name"), Some(("host".to_owned(), 7)));
    }
}
