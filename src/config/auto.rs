//! `--protocol auto`: what is tried of a server of which nobody says which protocol it speaks.

use crate::engine::{Leg, Plan};
use crate::protocol::{self, AnyProtocol};
use crate::target::PortRule;

/// Every protocol at the target's own port: those first at whose usual ports it is, then the likeliest. Each is tried once
/// in each of `rounds` rounds, so that a server of the last one need not wait until all tries of the first are over.
pub(super) fn at_its_port(rounds: u8) -> Plan {
    let usual = protocol::in_auto().map(|protocol| Leg { protocol, port: near(protocol) });
    let all = protocol::in_auto().map(|protocol| Leg { protocol, port: PortRule::Own });
    Plan { rounds, ..Plan::new(usual.chain(all).collect()) }
}

/// Every protocol at its own usual port, for targets that name none.
pub(super) fn at_usual_ports(rounds: u8) -> Plan {
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
}
