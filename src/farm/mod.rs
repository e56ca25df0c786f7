//! Simulated servers: thousands of them, of every protocol, on loopback or in virtual time.
//!
//! What a server is follows from a hash of the farm's seed and its number, so a farm needs no memory and is the same in
//! every run. The servers answer through [`Protocol::serve`](crate::protocol::Protocol::serve); [`link`] loses, delays,
//! repeats and reorders datagrams; [`serve`] puts a farm on real sockets, and [`site`] says where.

use std::net::SocketAddr;

use crate::protocol::{self, AnyProtocol, Auto, GameEngine, Manner, Persona, Replies};
use crate::rng::{AddressHasher, mix, unit};

pub(crate) mod link;
mod master;
mod replay;
pub(crate) mod serve;
mod settings;
mod share;
pub(crate) mod site;

pub(crate) use master::Masters;
pub(crate) use replay::{Recorded, ReplayFarm};
pub(crate) use settings::{FarmSettings, Speaks};
pub(crate) use share::Share;

use site::Place;

/// A farm of `settings.servers` servers, at 127.0.0.2 and on and all on one port unless it is said to be elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Farm {
    settings: FarmSettings,
    place: Place,
    port: u16,
    closed_port: u16,
    challenges: AddressHasher,
}

/// How a server of a farm behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// It answers, one way or another.
    Answers(Manner),
    /// It never answers.
    Silent,
    /// Its port is closed: it is listed with the port on which nobody listens.
    Refused,
}

impl Farm {
    /// A farm on `port`; its refused servers are said to be on `closed_port`.
    #[must_use]
    pub(crate) fn new(settings: FarmSettings, port: u16, closed_port: u16) -> Self {
        let challenges = AddressHasher::new(settings.seed ^ CHALLENGE);
        Self { settings, place: Place::LOOPBACK, port, closed_port, challenges }
    }

    /// The same farm elsewhere, with challenges that only those know who know `secret`.
    #[must_use]
    pub(crate) fn at(self, place: Place, secret: u64) -> Self {
        Self { place, challenges: AddressHasher::new(secret), ..self }
    }

    /// How many servers there are.
    #[must_use]
    pub(crate) fn len(&self) -> u32 {
        self.settings.servers
    }

    /// What was asked for.
    #[must_use]
    pub(crate) fn settings(&self) -> &FarmSettings {
        &self.settings
    }

    /// Port of all servers that are not refused, or of the first one.
    #[must_use]
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Address at which server `index` is to be asked.
    #[must_use]
    pub(crate) fn address(&self, index: u32) -> SocketAddr {
        let mut address = self.place.address(index, self.port);
        if matches!(self.place, Place::Addresses(_)) && self.behaviour(index) == Behaviour::Refused {
            address.set_port(self.closed_port);
        }
        address.into()
    }

    /// The server at `ip`, where all have one port.
    #[cfg(test)]
    pub(crate) fn index_of(&self, ip: std::net::Ipv4Addr) -> Option<u32> {
        self.place.index(ip, 0).filter(|index| *index < self.len())
    }

    /// How server `index` behaves.
    #[must_use]
    pub(crate) fn behaviour(&self, index: u32) -> Behaviour {
        let FarmSettings { silent, refused, banned, malformed, challenge_loop, challenge_only, .. } = self.settings;
        let behaviours = [
            (silent, Behaviour::Silent),
            (refused, Behaviour::Refused),
            (banned, Behaviour::Answers(Manner::Banned)),
            (malformed, Behaviour::Answers(Manner::Malformed)),
            (challenge_loop, Behaviour::Answers(Manner::ChallengeLoop)),
            (challenge_only, Behaviour::Answers(Manner::ChallengeOnly)),
        ];
        self.one_of(&behaviours, index, BEHAVIOUR).unwrap_or(Behaviour::Answers(Manner::Sound))
    }

    /// What server `index` is, for `client`.
    #[must_use]
    pub(crate) fn persona(&self, index: u32, client: SocketAddr) -> Persona {
        let FarmSettings { ship, goldsource, dual, legacy, .. } = self.settings;
        let engines = [
            (ship, GameEngine::TheShip),
            (goldsource, GameEngine::GoldSource),
            (dual, GameEngine::GoldSourceDual),
            (legacy, GameEngine::GoldSourceLegacy),
        ];
        let is_one = |share: Share, purpose| unit(self.hash(index, purpose)) < share.fraction();
        let challenge = is_one(self.settings.challenge, CHALLENGE)
            .then(|| (self.challenges.socket(&client) ^ self.hash(index, CHALLENGE)) as u32);
        Persona {
            seed: self.hash(index, PERSONA),
            index,
            port: self.place.address(index, self.port).port(),
            challenge: challenge.map(u32::to_le_bytes),
            manner: match self.behaviour(index) {
                Behaviour::Answers(manner) => manner,
                Behaviour::Silent | Behaviour::Refused => Manner::Sound,
            },
            engine: self.one_of(&engines, index, ENGINE).unwrap_or_default(),
            split: is_one(self.settings.split, SPLIT),
            bzip2: is_one(self.settings.bzip2, BZIP2),
            alone: self.settings.speaks != Speaks::Any,
        }
    }

    /// The one protocol that server `index` speaks; `None` if it speaks any.
    #[must_use]
    pub(crate) fn protocol(&self, index: u32) -> Option<AnyProtocol> {
        match self.settings.speaks {
            Speaks::Any => return None,
            Speaks::Only(protocol) => return Some(protocol),
            Speaks::OneEach => {}
        }
        let known = || protocol::all().filter(|protocol| protocol.spec().auto != Auto::Never);
        let number = self.hash(index, PROTOCOL) % known().count() as u64;
        known().nth(number as usize)
    }

    fn hash(&self, index: u32, purpose: u64) -> u64 {
        mix(self.settings.seed ^ mix(u64::from(index) << 8 | purpose))
    }

    /// Which of `choices`, each with its share of all servers, server `index` is; `None` for the rest.
    fn one_of<T: Copy>(&self, choices: &[(Share, T)], index: u32, purpose: u64) -> Option<T> {
        let mut at = unit(self.hash(index, purpose));
        for (share, choice) in choices {
            if at < share.fraction() {
                return Some(*choice);
            }
            at -= share.fraction();
        }
        None
    }
}

/// Servers, by their numbers from 0.
pub(crate) trait Servers: Clone + Send + 'static {
    /// How many there are.
    fn count(&self) -> u32;

    /// True if the port of server `index` is closed.
    fn is_refused(&self, index: u32) -> bool;

    /// Answers a datagram that `client` sent to server `index`.
    fn answer(&self, index: u32, client: SocketAddr, request: &[u8], replies: &mut Replies);
}

impl Servers for Farm {
    fn count(&self) -> u32 {
        self.len()
    }

    fn is_refused(&self, index: u32) -> bool {
        self.behaviour(index) == Behaviour::Refused
    }

    fn answer(&self, index: u32, client: SocketAddr, request: &[u8], replies: &mut Replies) {
        if matches!(self.behaviour(index), Behaviour::Silent | Behaviour::Refused) {
            return;
        }
        let persona = self.persona(index, client);
        let only = self.protocol(index);
        for protocol in protocol::of_servers().filter(|protocol| only.is_none_or(|only| only == *protocol)) {
            protocol.serve(&persona, request, replies);
            if !replies.is_empty() {
                return;
            }
        }
    }
}

/// Most servers on loopback: the last one is at 127.255.255.254, since 127.255.255.255 is a broadcast address.
pub(crate) const MOST_SERVERS: u32 = 0x7FFF_FFFE - 0x7F00_0002 + 1;

const BEHAVIOUR: u64 = 1;
const CHALLENGE: u64 = 2;
const PERSONA: u64 = 3;
const ENGINE: u64 = 4;
const SPLIT: u64 = 5;
const BZIP2: u64 = 6;
const PROTOCOL: u64 = 7;

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn farm(settings: FarmSettings) -> Farm {
        Farm::new(settings, 27_015, 27_016)
    }

    #[test]
    fn shares_are_kept_and_do_not_overlap() {
        let share = Share::percent(10.0);
        let settings = FarmSettings {
            servers: 20_000,
            silent: share,
            refused: share,
            banned: share,
            malformed: share,
            ..FarmSettings::default()
        };
        let farm = farm(settings);
        for behaviour in [
            Behaviour::Silent,
            Behaviour::Refused,
            Behaviour::Answers(Manner::Banned),
            Behaviour::Answers(Manner::Malformed),
        ] {
            let count = (0..farm.len()).filter(|&index| farm.behaviour(index) == behaviour).count();
            assert!((1_800..2_200).contains(&count), "{behaviour:?}: {count}");
        }
    }

    #[test]
    fn addresses_and_numbers_are_inverse_up_to_the_last_server() {
        let farm = farm(FarmSettings { servers: MOST_SERVERS, ..FarmSettings::default() });
        for index in [0, 1, 253, 254, 70_000, MOST_SERVERS - 1] {
            let SocketAddr::V4(address) = farm.address(index) else { panic!("IPv4") };
            assert_eq!(farm.index_of(*address.ip()), Some(index));
        }
        assert_eq!(farm.address(MOST_SERVERS - 1).ip(), IpAddr::V4(Ipv4Addr::new(127, 255, 255, 254)));
        assert_eq!(farm.index_of(Ipv4Addr::LOCALHOST), None);
        assert_eq!(farm.index_of(Ipv4Addr::new(127, 255, 255, 255)), None);
    }

    #[test]
    fn a_challenge_is_bound_to_the_client_and_the_server() {
        let farm = farm(FarmSettings { servers: 2, challenge: Share::percent(100.0), ..FarmSettings::default() });
        let client = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let one = farm.persona(0, client(1)).challenge;
        assert!(one.is_some());
        assert_eq!(one, farm.persona(0, client(1)).challenge);
        assert_ne!(one, farm.persona(0, client(2)).challenge);
        assert_ne!(one, farm.persona(1, client(1)).challenge);
    }
}
