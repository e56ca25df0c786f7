//! What a target means that leaves something out.

use std::collections::HashMap;
use std::sync::Arc;

use super::plans::Plans;
use crate::config::{AUTO, InputOptions, Spoken, server_protocol, usual_protocol};
use crate::games::{self, Game};
use crate::protocol::{self, AnyProtocol};
use crate::target::{Hosts, IpRange, Ports, TargetSpec, Zones};

/// How targets are read that leave something out.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Protocol of targets that name none; without one, several are tried.
    pub protocol: Option<AnyProtocol>,
    /// Game of these targets: the ports that they name are those for players.
    pub game: Option<&'static Game>,
    /// Ports of targets that name none.
    ports: Option<Ports>,
    /// Numbers of plans: every protocol at the port that the target names, and each at its usual port.
    pub auto: u16,
    auto_at_usual_ports: u16,
    /// For each game the plan that looks for the query port of its servers.
    of_games: Arc<HashMap<&'static str, u16>>,
    /// What is excluded, once that was read: nothing that looks for a port may look there.
    pub zones: Option<Zones>,
}

/// Hosts that can be asked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whom<'a> {
    /// Addresses.
    Range(IpRange),
    /// A name that has to be resolved first.
    Name {
        /// The name.
        name: &'a str,
        /// The service whose SRV record is looked for.
        service: Option<&'static str>,
    },
}

impl Reading {
    /// As `options` say, with plans among `plans`. A protocol that is tried among others has so many `rounds`.
    pub(super) fn new(options: &InputOptions, plans: &mut Plans, rounds: u8) -> Self {
        let (protocol, game) = match options.spoken {
            Spoken::Usual => (Some(usual_protocol()), None),
            Spoken::Auto => (None, None),
            Spoken::Protocol(protocol) => (Some(protocol), None),
            Spoken::Game(game) => (protocol::by_name(&game.protocol), Some(game)),
        };
        let (auto, auto_at_usual_ports) = (plans.auto_at_its_port(rounds), plans.auto_at_usual_ports(rounds));
        let plan = |game: &'static Game| {
            let protocol = protocol::by_name(&game.protocol)?;
            Some((game.key.as_str(), plans.of_game(game, protocol)))
        };
        Self {
            protocol,
            game,
            ports: options.ports.clone(),
            auto,
            auto_at_usual_ports,
            of_games: Arc::new(games::all().iter().filter_map(plan).collect()),
            zones: None,
        }
    }

    /// The hosts, the ports and the plan that `spec` means; an error for farms.
    pub(super) fn read<'a>(&self, spec: &TargetSpec<'a>) -> Result<(Whom<'a>, Ports, u16), String> {
        let (protocol, game) = match spec.scheme {
            None => (self.protocol, self.game),
            Some(word) => spoken(word)?,
        };
        let written = spec.ports.as_ref().or(self.ports.as_ref());
        let whom = match spec.hosts {
            Hosts::Range(range) => Whom::Range(range),
            Hosts::Name(name) => Whom::Name {
                name,
                service: protocol.and_then(|protocol| protocol.service()).filter(|_| written.is_none()),
            },
            Hosts::Farm { .. } => return Err("simulated servers are for the command line".into()),
        };
        let usual = match (game, protocol) {
            (Some(game), _) => game.query_port,
            (None, Some(protocol)) => protocol.spec().default_port,
            // It stands for the target; each protocol has its own.
            (None, None) => protocol::in_auto().map(|protocol| protocol.spec().default_port).next().unwrap_or_default(),
        };
        let plan = match (protocol, game.and_then(|game| self.of_game(game)), written) {
            (None, _, Some(_)) => self.auto,
            (None, _, None) => self.auto_at_usual_ports,
            (_, Some(of_game), Some(_)) => of_game,
            (Some(protocol), ..) => Plans::of(protocol),
        };
        let looks_for_port = protocol.is_none() && written.is_none() || game.is_some() && written.is_some();
        if looks_for_port && self.may_be_partly_excluded(&whom) {
            return Err("some ports of it are excluded, and others than the named one might be asked: write \
                        PROTOCOL://HOST:PORT, or exclude all of it"
                .into());
        }
        Ok((whom, written.cloned().unwrap_or_else(|| Ports::one(usual)), plan))
    }

    /// The plan that looks for the query port of servers of `game`.
    fn of_game(&self, game: &Game) -> Option<u16> {
        self.of_games.get(game.key.as_str()).copied()
    }

    fn may_be_partly_excluded(&self, whom: &Whom<'_>) -> bool {
        self.zones.as_ref().is_some_and(|zones| match whom {
            Whom::Range(range) => zones.exclude_ports_of(Some(*range)),
            Whom::Name { .. } => zones.exclude_ports_of(None),
        })
    }

    /// The plan of an address with a port, which names no protocol.
    pub(super) fn plan(&self) -> u16 {
        self.game.and_then(|game| self.of_game(game)).unwrap_or_else(|| self.plan_of_servers())
    }

    /// The same of a server that names its own port.
    pub(super) fn plan_of_servers(&self) -> u16 {
        self.protocol.map_or(self.auto, Plans::of)
    }

    /// Whether a target is asked at the port that it names, and nowhere else.
    pub(super) fn names_all_ports(&self) -> bool {
        self.game.is_none() && self.protocol.is_some()
    }
}

/// The protocol, if it is one, and the game that the word before `://` names. Whoever names a protocol names the port at
/// which it is spoken, as rows of earlier outputs do; whoever names a game names the port for players.
fn spoken(word: &str) -> Result<(Option<AnyProtocol>, Option<&'static Game>), String> {
    if word.eq_ignore_ascii_case(AUTO) {
        return Ok((None, None));
    }
    match (server_protocol(word), games::by_key(word)) {
        (Ok(protocol), _) => Ok((Some(protocol), None)),
        (Err(reason), None) => Err(format!("{reason}; `fragscan games` lists the games")),
        (Err(_), Some(game)) => Ok((protocol::by_name(&game.protocol), Some(game))),
    }
}

/// Whether what names `scheme` may be asked at other ports than the one it names.
pub(super) fn looks_for_port(scheme: Option<&str>) -> bool {
    scheme.is_some_and(|word| matches!(spoken(word), Ok((_, Some(_)))))
}
