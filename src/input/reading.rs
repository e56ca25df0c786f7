//! What a target means that leaves something out.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddrV6};
use std::sync::Arc;

use super::plans::{Plans, only_protocol, protocol_of};
use super::system::zoned;
use crate::config::{AUTO, InputOptions, Spoken, server_protocol, usual_protocol};
use crate::games::{self, Game};
use crate::protocol::{self, AnyProtocol};
use crate::target::{Hosts, IpRange, Ports, TargetSpec, Zones};

/// How targets are read that leave something out.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// What to speak with targets that do not say it.
    spoken: Speech,
    /// Ports of targets that name none.
    ports: Option<Ports>,
    /// For each game the plan that looks for the query port of its servers.
    of_games: Arc<HashMap<&'static str, u16>>,
    /// Every protocol: at the port that the target names, and each at its usual port.
    auto: PlanNumbers,
    /// What is excluded, once that was read: nothing that looks for a port may look there.
    pub zones: Option<Zones>,
}

/// What to speak with a target.
#[derive(Debug, Clone)]
enum Speech {
    /// This protocol, at the port that the target names.
    Protocol(AnyProtocol),
    /// Every protocol.
    Auto,
    /// The protocols of these games; the port that the target names is that for players.
    Games(Vec<&'static Game>, PlanNumbers),
}

/// Numbers of plans that may ask at several ports.
#[derive(Debug, Clone, Copy)]
struct PlanNumbers {
    /// For targets that name a port, which may be that for players.
    named: u16,
    /// For those that name none.
    usual: u16,
    /// For servers that name the port at which they answer.
    exact: u16,
}

/// Hosts that can be asked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whom<'a> {
    /// Addresses.
    Range(IpRange),
    /// An address on the network of one interface.
    Zoned(SocketAddrV6),
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
        let at_port = plans.auto_at_its_port(rounds);
        let auto = PlanNumbers { named: at_port, usual: plans.auto_at_usual_ports(rounds), exact: at_port };
        let of_games = games::all().iter().map(|game| (game.key.as_str(), plans.of_games(&[game], rounds))).collect();
        let spoken = match &options.spoken {
            Spoken::Usual => Speech::Protocol(usual_protocol()),
            Spoken::Auto => Speech::Auto,
            Spoken::Protocol(protocol) => Speech::Protocol(*protocol),
            Spoken::Games(games) => {
                let plan = PlanNumbers {
                    named: plans.of_games(games, rounds),
                    usual: plans.of_games_at_usual_ports(games, rounds),
                    exact: plans.of_games_at_their_port(games, rounds),
                };
                Speech::Games(games.clone(), plan)
            }
        };
        Self { spoken, ports: options.ports.clone(), of_games: Arc::new(of_games), auto, zones: None }
    }

    /// The hosts, the ports and the plan that `spec` means; an error for farms.
    pub(super) fn read<'a>(&self, spec: &TargetSpec<'a>) -> Result<(Whom<'a>, Ports, u16), String> {
        let spoken = match spec.scheme {
            None => &self.spoken,
            Some(word) => &self.spoken_by(word)?,
        };
        let written = spec.ports.as_ref().or(self.ports.as_ref());
        let whom = match spec.hosts {
            Hosts::Range(range) => {
                if let (true, IpAddr::V6(ip)) = (range.is_single(), range.first())
                    && ip.is_unicast_link_local()
                {
                    return Err(format!(
                        "a link-local address needs an interface: write it as in [{ip}%eth0]:27015 (`ip link` lists the interfaces)"
                    ));
                }
                Whom::Range(range)
            }
            Hosts::Zoned { ip, zone } => Whom::Zoned(zoned(ip, zone)?),
            Hosts::Name(name) => Whom::Name {
                name,
                service: spoken.protocol().and_then(|protocol| protocol.service()).filter(|_| written.is_none()),
            },
            Hosts::Farm { .. } => return Err("simulated servers are for the command line".into()),
        };
        let (plan, looks_for_port) = match spoken {
            Speech::Protocol(protocol) => (Plans::of(*protocol), false),
            Speech::Auto if written.is_some() => (self.auto.named, false),
            Speech::Auto => (self.auto.usual, true),
            Speech::Games(_, plan) if written.is_some() => (plan.named, true),
            Speech::Games(games, plan) => (plan.usual, games.len() > 1),
        };
        if looks_for_port && self.may_be_partly_excluded(&whom) {
            return Err(
                "some ports of this host are excluded, and fragscan might try them: write PROTOCOL://HOST:PORT, or \
                        exclude the whole address"
                    .into(),
            );
        }
        Ok((whom, written.cloned().unwrap_or_else(|| Ports::one(spoken.usual_port())), plan))
    }

    /// What simulated servers speak that are named with the word `scheme` before `://`, and the plan that asks them at
    /// their port.
    pub(super) fn read_farm(&self, scheme: Option<&str>) -> Result<(Option<AnyProtocol>, u16), String> {
        let spoken = match scheme {
            None => &self.spoken,
            Some(word) => &self.spoken_by(word)?,
        };
        Ok(match spoken {
            Speech::Protocol(protocol) => (Some(*protocol), Plans::of(*protocol)),
            Speech::Auto => (None, self.auto.exact),
            Speech::Games(games, plan) => (games.first().and_then(|game| protocol_of(game)), plan.exact),
        })
    }

    /// What the word before `://` says.
    fn spoken_by(&self, word: &str) -> Result<Speech, String> {
        Ok(match spoken(word)? {
            Word::Auto => Speech::Auto,
            Word::Protocol(protocol) => Speech::Protocol(protocol),
            Word::Game(game) => {
                let of_protocol = protocol_of(game).map_or(0, Plans::of);
                let at_port = self.of_games.get(game.key.as_str()).copied().unwrap_or(of_protocol);
                let plan = PlanNumbers { named: at_port, usual: of_protocol, exact: of_protocol };
                Speech::Games(vec![game], plan)
            }
        })
    }

    fn may_be_partly_excluded(&self, whom: &Whom<'_>) -> bool {
        self.zones.as_ref().is_some_and(|zones| match whom {
            Whom::Range(range) => zones.exclude_ports_of(Some(*range)),
            Whom::Zoned(address) => zones.exclude_ports_of(Some(IpAddr::from(*address.ip()).into())),
            Whom::Name { .. } => zones.exclude_ports_of(None),
        })
    }

    /// The plan of a server that names no protocol, but the port at which it answers queries.
    pub(super) fn plan_of_servers(&self) -> u16 {
        match &self.spoken {
            Speech::Protocol(protocol) => Plans::of(*protocol),
            Speech::Auto => self.auto.exact,
            Speech::Games(_, plan) => plan.exact,
        }
    }

    /// Whether a target is asked at the port that it names, and nowhere else.
    pub(super) fn names_all_ports(&self) -> bool {
        matches!(self.spoken, Speech::Protocol(_))
    }

    /// Where games were chosen, the word before `://` with which a target is asked at the port that it names.
    pub(super) fn exact_word(&self) -> Option<&'static str> {
        match &self.spoken {
            Speech::Games(..) => Some(self.spoken.protocol().map_or(AUTO, |protocol| protocol.spec().name)),
            Speech::Protocol(_) | Speech::Auto => None,
        }
    }
}

impl Speech {
    /// The only protocol that is tried.
    fn protocol(&self) -> Option<AnyProtocol> {
        match self {
            Self::Protocol(protocol) => Some(*protocol),
            Self::Auto => None,
            Self::Games(games, _) => only_protocol(games),
        }
    }

    /// The port of targets that name none. Where several are tried, it stands for the target.
    fn usual_port(&self) -> u16 {
        let port = |protocol: AnyProtocol| protocol.spec().default_port;
        match self {
            Self::Protocol(protocol) => port(*protocol),
            Self::Auto => protocol::in_auto().map(port).next().unwrap_or_default(),
            Self::Games(games, _) => games.first().map_or(0, |game| game.query_port),
        }
    }
}

/// What the word before `://` names.
enum Word {
    Auto,
    Protocol(AnyProtocol),
    Game(&'static Game),
}

/// What `word` names before `://`. Whoever names a protocol names the port at which it is spoken, as rows of earlier
/// outputs do; whoever names a game names the port for players.
fn spoken(word: &str) -> Result<Word, String> {
    if word.eq_ignore_ascii_case(AUTO) {
        return Ok(Word::Auto);
    }
    match (server_protocol(word), games::by_key(word)) {
        (Ok(protocol), _) => Ok(Word::Protocol(protocol)),
        (Err(reason), None) => Err(format!("{reason}; `fragscan games` lists the games")),
        (Err(_), Some(game)) => Ok(Word::Game(game)),
    }
}

/// Whether what names `scheme` may be asked at other ports than the one it names.
pub(super) fn looks_for_port(scheme: Option<&str>) -> bool {
    scheme.is_some_and(|word| matches!(spoken(word), Ok(Word::Game(_))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The protocols and ports that are tried for the target `text` in a round, with these games chosen.
    fn tried(games: &[&str], text: &str) -> Vec<(&'static str, u16)> {
        let games = games.iter().map(|key| games::by_key(key).unwrap()).collect();
        let mut plans = Plans::new();
        let options = InputOptions { spoken: Spoken::Games(games), ..InputOptions::default() };
        let reading = Reading::new(&options, &mut plans, 3);
        let (_, ports, plan) = reading.read(&TargetSpec::parse(text).unwrap()).unwrap();
        let plan = &plans.all()[usize::from(plan)];
        let mut from = 0;
        let legs = std::iter::from_fn(|| {
            let (number, port) = plan.next_leg(from, ports.single()?)?;
            from = number + 1;
            (usize::from(number) < plan.legs.len()).then_some((plan.leg(number)?.protocol.spec().name, port))
        });
        legs.collect()
    }

    #[test]
    fn several_games_are_tried_one_after_the_other_and_no_port_twice() {
        let dayz = [27_017, 2403, 2402, 27_016].map(|port| ("a2s", port));
        assert_eq!(tried(&["dayz"], "8.8.8.8:2402"), dayz);
        assert_eq!(tried(&["dayz", "dayz"], "8.8.8.8:2402"), dayz);
        // 2402 is tried already, 28017 is the usual port.
        let rust = [("a2s", 2404), ("a2s", 28_017)];
        assert_eq!(tried(&["dayz", "rust"], "8.8.8.8:2402"), [&dayz[..], &rust].concat());
        assert_eq!(tried(&["dayz", "rust"], "8.8.8.8"), [("a2s", 27_016), ("a2s", 28_017)]);
        let xonotic = [("quake3", 2402), ("quake3", 26_000)];
        assert_eq!(tried(&["dayz", "xonotic"], "8.8.8.8:2402"), [&dayz[..], &xonotic].concat());
        assert_eq!(tried(&["dayz", "xonotic"], "8.8.8.8"), [("a2s", 27_016), ("quake3", 26_000)]);
        // What a target says itself counts.
        assert_eq!(tried(&["dayz", "xonotic"], "Xonotic://8.8.8.8:2402"), xonotic);
        assert_eq!(tried(&["dayz", "xonotic"], "a2s://8.8.8.8:2402"), [("a2s", 2402)]);
    }
}
