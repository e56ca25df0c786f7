//! What a target means that leaves something out, and which target a line of a file names.

use super::listing::{Line, Listing};
use super::plans::Plans;
use crate::config::{AUTO, InputOptions, Spoken, server_protocol, usual_protocol};
use crate::games::Game;
use crate::output::Filter;
use crate::protocol::{self, AnyProtocol};
use crate::target::{Hosts, IpRange, Ports, TargetSpec};

/// How targets are read that leave something out.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Protocol of targets that name none; without one, several are tried.
    pub protocol: Option<AnyProtocol>,
    /// Game of these targets: the ports that they name are those for players.
    game: Option<&'static Game>,
    /// Ports of targets that name none.
    ports: Option<Ports>,
    /// Numbers of plans: every protocol at the port that the target names, and each at its usual port.
    pub auto: u16,
    auto_at_usual_ports: u16,
    /// The plan that looks for the query port of the game's servers.
    of_game: Option<u16>,
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
        Self {
            protocol,
            game,
            ports: options.ports.clone(),
            auto: plans.auto_at_its_port(rounds),
            auto_at_usual_ports: plans.auto_at_usual_ports(rounds),
            of_game: game.zip(protocol).map(|(game, protocol)| plans.of_game(game, protocol)),
        }
    }

    /// The hosts, the ports and the plan that `spec` means; an error for farms.
    pub(super) fn read<'a>(&self, spec: &TargetSpec<'a>) -> Result<(Whom<'a>, Ports, u16), String> {
        // Whoever names a protocol names the port at which it is spoken, as rows of earlier outputs do.
        let (protocol, game) = match spec.scheme {
            None => (self.protocol, self.game),
            Some(AUTO) => (None, None),
            Some(name) => (Some(server_protocol(name)?), None),
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
        let plan = match (protocol, self.of_game.filter(|_| game.is_some()), written) {
            (None, _, Some(_)) => self.auto,
            (None, _, None) => self.auto_at_usual_ports,
            (_, Some(of_game), Some(_)) => of_game,
            (Some(protocol), ..) => Plans::of(protocol),
        };
        Ok((whom, written.cloned().unwrap_or_else(|| Ports::one(usual)), plan))
    }

    /// The plan of an address with a port, which names no protocol.
    pub(super) fn plan(&self) -> u16 {
        self.of_game.unwrap_or_else(|| self.plan_of_servers())
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

/// The target that a line of a list names, as it would be typed; none for headers and for rows that `filter` holds back.
pub(super) fn target_of_line(
    listing: &mut Listing,
    filter: &Filter,
    line: Result<&str, String>,
) -> Result<Option<String>, String> {
    Ok(match listing.read(line?)? {
        Line::Nothing => None,
        Line::Row(_, row) if !filter.holds_for(|name| row.value(name)) => None,
        Line::Target(text) | Line::Row(text, _) => Some(text),
    })
}
