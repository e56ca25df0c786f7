//! Names of columns and keys: which of them say where a server is, whatever program wrote them.
//!
//! A name counts whatever its case, and with or without `_`, `-` and blanks: `queryPort`, `query_port` and `Query Port` are
//! one.

use crate::record;

/// What a column says. Those that name a host come first, in the order in which they are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Role {
    /// `query_ip`.
    QueryIp,
    /// `address`, mostly with a port.
    Address,
    /// `addr`, as Steam has it: the address for queries.
    Addr,
    /// `ip_str`: in Shodan's records `ip` is a number.
    IpStr,
    /// `saddr`: of zmap's replies it is the server's.
    Saddr,
    /// `ip`.
    Ip,
    /// `connect`, as `GameDig` has it: where players go.
    Connect,
    /// `host`, which may be a name.
    Host,
    /// `hostname`.
    Hostname,
    /// `query_port`.
    QueryPort,
    /// `port`, or zmap's `sport`.
    Port,
    /// `gameport`: the port for players.
    GamePort,
    /// Another name that ends in `port`, of which nobody knows what it means.
    OtherPort,
    /// `protocol`: ours, or `udp`.
    Protocol,
    /// `proto` or `transport`: `udp`.
    Transport,
    /// `game`: a key of the games.
    Game,
    /// `target`: what named a server in a row of ours.
    Target,
    /// zmap's `success`: the answer is what the probe expects.
    Success,
    /// zmap's `repeat`: it answered before.
    Repeat,
    /// zmap's `icmp_responder`: the row is about an ICMP error.
    Icmp,
    /// masscan's `rec_type`: `status`, or `banner`.
    RecordType,
    /// `ports`, and the `services` of a host: a list.
    Ports,
    /// `state` or `status` of a port.
    State,
}

impl Role {
    /// How many roles there are.
    pub(super) const COUNT: usize = Self::State as usize + 1;

    /// Those that name a host, the one to believe first.
    pub(super) const HOSTS: [Self; 9] = [
        Self::QueryIp,
        Self::Address,
        Self::Addr,
        Self::IpStr,
        Self::Saddr,
        Self::Ip,
        Self::Connect,
        Self::Host,
        Self::Hostname,
    ];

    /// What a column of this name says; none if that is nothing about where a server is.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let mut plain = [0; LONGEST];
        let mut size = 0;
        for byte in name {
            if byte.is_ascii_alphanumeric() {
                *plain.get_mut(size)? = byte.to_ascii_lowercase();
                size += 1;
            } else if !matches!(byte, b'_' | b'-' | b' ' | b':' | b'.' | b'(' | b')' | b'#') {
                return None;
            }
        }
        Some(match plain.get(..size)? {
            b"queryip" => Self::QueryIp,
            b"address" | b"ipport" => Self::Address,
            b"addr" => Self::Addr,
            b"ipstr" => Self::IpStr,
            b"saddr" => Self::Saddr,
            b"ip" | b"ipaddress" | b"ipaddr" => Self::Ip,
            b"connect" => Self::Connect,
            b"host" => Self::Host,
            b"hostname" => Self::Hostname,
            b"queryport" | b"portquery" => Self::QueryPort,
            b"port" | b"sport" => Self::Port,
            b"gameport" => Self::GamePort,
            b"protocol" => Self::Protocol,
            b"proto" | b"transport" | b"transportprotocol" => Self::Transport,
            b"game" => Self::Game,
            b"target" => Self::Target,
            b"success" => Self::Success,
            b"repeat" => Self::Repeat,
            b"icmpresponder" => Self::Icmp,
            b"rectype" => Self::RecordType,
            b"ports" | b"services" => Self::Ports,
            b"state" | b"status" => Self::State,
            // zmap's `dport` is the port that the probe came from.
            name if is_about_port(name) => Self::OtherPort,
            _ => return None,
        })
    }

    pub(super) const fn names_host(self) -> bool {
        (self as usize) < Self::HOSTS.len()
    }

    /// The same of a cell, which holds a list of ports as it would be typed.
    pub(super) const fn in_table(self) -> Self {
        if matches!(self, Self::Ports) { Self::Port } else { self }
    }

    pub(super) const fn names_port(self) -> bool {
        matches!(self, Self::QueryPort | Self::Port | Self::GamePort | Self::OtherPort)
    }
}

/// Who wrote the columns of a list, which decides what its `game` means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Writer {
    /// fragscan: `game` is what a server says of itself.
    Ours,
    /// Maybe fragscan: `game` may be either.
    MaybeOurs,
    /// Somebody else: `game` is a key of the games.
    #[default]
    Other,
}

impl Writer {
    /// Who has columns, or keys, of these names.
    pub(super) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut writer = Self::MaybeOurs;
        for name in names {
            let scalar = name.strip_suffix("_hex").unwrap_or(name);
            if record::column(scalar).is_none() && !OUR_LISTS.contains(&name) && !name.starts_with("list_") {
                return Self::Other;
            }
            if ONLY_OURS.contains(&name) {
                writer = Self::Ours;
            }
        }
        writer
    }
}

/// What a message says that is about columns.
pub(super) const RECOGNIZED: &str = "recognized columns are address, ip, addr, host, hostname, saddr, ip_str, connect and query_ip; \
                                     port, sport, query_port and, with --game, gameport; protocol and game";

/// Letters and digits of the longest name that is looked at.
const LONGEST: usize = 24;
/// Whether a name, in small letters and digits, is about a port at which a server may be asked.
fn is_about_port(name: &[u8]) -> bool {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    has(b"port") && !NO_PORTS_OF_SERVERS.contains(&name) && !NO_PORTS.iter().any(|word| has(word))
}

/// Names of ports at which nobody is asked: zmap's own, and those of other services of a server.
const NO_PORTS_OF_SERVERS: [&[u8]; 6] =
    [b"dport", b"spectatorport", b"specport", b"tvport", b"sourcetvport", b"rconport"];
/// Words that have `port` in them and are about none.
const NO_PORTS: [&[u8]; 9] =
    [b"transport", b"report", b"support", b"import", b"export", b"airport", b"portal", b"portrait", b"passport"];
/// Columns that nobody else has, among those that may decide.
const ONLY_OURS: [&str; 5] = ["info_status", "sent_at", "rtt_ms", "game_key", "flags"];
const OUR_LISTS: [&str; 4] = ["player_list", "rules", "mods", "dlc"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_however_it_is_written() {
        for name in ["query_port", "queryPort", "Query Port", "QUERY-PORT", "portQuery"] {
            assert_eq!(Role::of(name.as_bytes()), Some(Role::QueryPort), "{name}");
        }
        for (name, role) in [
            ("IP", Some(Role::Ip)),
            ("ip:port", Some(Role::Address)),
            ("dport", None),
            ("spectator_port", None),
            ("server_port", Some(Role::OtherPort)),
            ("Airport", None),
            ("daddr", None),
            ("8.8.8.8", None),
            ("", None),
            ("\u{1F600}", None),
            ("a name that is far too long to be one of these", None),
        ] {
            assert_eq!(Role::of(name.as_bytes()), role, "{name}");
        }
        assert!(Role::HOSTS.iter().all(|role| role.names_host()) && !Role::QueryPort.names_host());
        assert!(Role::HOSTS.iter().enumerate().all(|(place, role)| *role as usize == place));
    }

    #[test]
    fn our_columns_are_known_from_others() {
        let writer = |names: &str| Writer::of(names.split(','));
        assert_eq!(writer("address,game,rtt_ms"), Writer::Ours);
        assert_eq!(writer("address,game,name,name_hex,player_list"), Writer::MaybeOurs);
        assert_eq!(writer("ip,port,game"), Writer::MaybeOurs);
        assert_eq!(writer("ip,port,game,owner"), Writer::Other);
        assert_eq!(writer("IP,port,game,rtt_ms"), Writer::Other);
    }
}
