//! What is tried at targets: a plan for each protocol, plans of several protocols or ports, and plans of lists.
//!
//! Plans with equal legs are one plan, so that an address which two of them name in the same way is asked once.

use crate::engine::{Leg, Plan};
use crate::games::Game;
use crate::protocol::{self, AnyProtocol};
use crate::target::PortRule;

/// The plans of a run. Every protocol has one, in the order of the registry.
#[derive(Debug)]
pub(super) struct Plans(Vec<Plan>);

impl Plans {
    pub(super) fn new() -> Self {
        Self(protocol::all().map(Plan::of).collect())
    }

    /// Number of the plan that speaks `protocol` at the target's own port.
    pub(super) fn of(protocol: AnyProtocol) -> u16 {
        protocol::all().position(|other| other == protocol).unwrap_or(0) as u16
    }

    /// Number of `plan`, which is added unless there is an equal one.
    pub(super) fn add(&mut self, plan: Plan) -> u16 {
        let known = self.0.iter().position(|other| *other == plan);
        known.unwrap_or_else(|| {
            self.0.push(plan);
            self.0.len() - 1
        }) as u16
    }

    /// `--protocol auto`: every protocol at the target's own port.
    pub(super) fn auto_at_its_port(&mut self, rounds: u8) -> u16 {
        self.add(at_its_port(rounds))
    }

    /// The same for targets without a port: every protocol at its own usual one.
    pub(super) fn auto_at_usual_ports(&mut self, rounds: u8) -> u16 {
        self.add(at_usual_ports(rounds))
    }

    /// How a server of one of `games`, whose targets name the port for players, is asked: in the protocol of a game, on one
    /// port after the other. If there are several games, each is tried once in each of `rounds` rounds.
    pub(super) fn of_games(&mut self, games: &[&Game], rounds: u8) -> u16 {
        self.of_legs(games, rounds, Game::ports)
    }

    /// The same for targets without a port: each game at its usual one.
    pub(super) fn of_games_at_usual_ports(&mut self, games: &[&Game], rounds: u8) -> u16 {
        match games {
            // Then the target is that of the protocol.
            [game] => protocol_of(game).map_or(0, Self::of),
            _ => self.of_legs(games, rounds, |game| vec![PortRule::Fixed(game.query_port)]),
        }
    }

    /// The same for servers that name the port at which they answer queries.
    pub(super) fn of_games_at_their_port(&mut self, games: &[&Game], rounds: u8) -> u16 {
        match only_protocol(games) {
            Some(protocol) => Self::of(protocol),
            None => self.of_legs(games, rounds, |_| vec![PortRule::Own]),
        }
    }

    fn of_legs(&mut self, games: &[&Game], rounds: u8, ports: impl Fn(&Game) -> Vec<PortRule>) -> u16 {
        let mut legs: Vec<Leg> = Vec::new();
        for (protocol, port) in games.iter().flat_map(|game| {
            let ports = protocol_of(game).map(|protocol| ports(game).into_iter().map(move |port| (protocol, port)));
            ports.into_iter().flatten()
        }) {
            let leg = Leg { protocol, port };
            if !legs.contains(&leg) {
                legs.push(leg);
            }
        }
        let rounds = if games.len() > 1 { rounds } else { 1 };
        self.add(Plan { rounds, ..Plan::new(legs) })
    }

    /// All plans, by number.
    pub(super) fn all(self) -> Vec<Plan> {
        self.0
    }
}

/// The protocol that servers of `game` speak.
pub(super) fn protocol_of(game: &Game) -> Option<AnyProtocol> {
    protocol::by_name(&game.protocol)
}

/// The protocol that servers of all these games speak, if it is the same.
pub(super) fn only_protocol(games: &[&Game]) -> Option<AnyProtocol> {
    let (first, others) = games.split_first()?;
    protocol_of(first).filter(|protocol| others.iter().all(|game| protocol_of(game) == Some(*protocol)))
}

/// Every protocol at the target's own port: those first at whose usual ports it is, then the likeliest. Each is tried once
/// in each of `rounds` rounds, so that a server of the last one need not wait until all tries of the first are over.
fn at_its_port(rounds: u8) -> Plan {
    let usual = protocol::in_auto().map(|protocol| Leg { protocol, port: near(protocol) });
    let all = protocol::in_auto().map(|protocol| Leg { protocol, port: PortRule::Own });
    Plan { rounds, ..Plan::new(usual.chain(all).collect()) }
}

/// Every protocol at its own usual port, for targets that name none.
fn at_usual_ports(rounds: u8) -> Plan {
    let at_its_own = |protocol: AnyProtocol| PortRule::Fixed(protocol.spec().default_port);
    let legs = protocol::in_auto().map(|protocol| Leg { protocol, port: at_its_own(protocol) });
    Plan { rounds, ..Plan::new(legs.collect()) }
}

/// The ports from the usual one on, where the second and the tenth server of a host often are.
fn near(protocol: AnyProtocol) -> PortRule {
    let first = protocol.spec().default_port;
    PortRule::Within { first, last: first.saturating_add(NEIGHBOURS) }
}

const NEIGHBOURS: u16 = 49;

#[cfg(test)]
mod tests {
    use super::*;

    /// The protocols that are tried for a target with port `own`, and where, in order.
    fn tried(plan: &Plan, own: u16) -> Vec<(&'static str, u16)> {
        let mut from = 0;
        std::iter::from_fn(|| {
            let (number, port) = plan.next_leg(from, own)?;
            from = number + 1;
            Some((plan.leg(number)?.protocol.spec().name, port))
        })
        .filter(|(name, _)| !name.ends_with("probe"))
        .collect()
    }

    #[test]
    fn the_likeliest_protocol_comes_first_and_each_once_a_round() {
        let plan = at_its_port(2);
        let names = |own| tried(&plan, own).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let usual = ["a2s", "quake3", "minecraft", "ut3", "justcause2", "bedrock", "hl1"];
        assert_eq!(names(40_000), [usual, usual].concat());
        assert_eq!(names(27_015)[..3], ["a2s", "hl1", "quake3"], "two are at home there");
        let bedrock = ["bedrock", "a2s", "quake3", "minecraft", "ut3", "justcause2", "hl1"];
        assert_eq!(names(19_140), [bedrock, bedrock].concat());
        assert_eq!(names(27_965)[..2], ["quake3", "a2s"]);
        assert!(tried(&plan, 25_565).iter().all(|(_, port)| *port == 25_565));
    }

    #[test]
    fn without_a_port_each_protocol_is_tried_at_its_own() {
        let first = [("a2s", 27_015), ("quake3", 27_960), ("minecraft", 25_565)];
        assert_eq!(tried(&at_usual_ports(1), 27_015)[..3], first);
    }

    #[test]
    fn equal_plans_are_one() {
        let mut plans = Plans::new();
        let count = plans.0.len();
        let a2s = protocol::by_name("a2s").unwrap();
        assert_eq!(plans.add(Plan::of(a2s)), Plans::of(a2s));
        let list = |parameters: &str| Plan { parameters: parameters.into(), ..Plan::of(a2s) };
        let numbers = ["", "region=all", "region=all", "region=asia"].map(|parameters| plans.add(list(parameters)));
        assert_eq!(numbers, [Plans::of(a2s), count as u16, count as u16, count as u16 + 1]);
        assert_eq!(plans.auto_at_its_port(3), plans.auto_at_its_port(3));
        assert_ne!(plans.auto_at_its_port(3), plans.auto_at_usual_ports(3));
    }
}
