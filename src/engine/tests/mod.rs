//! Whole scans in virtual time: engine, farm and link.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::testing::{List, Simulation, protocol, settings};
use super::*;
use crate::farm::link::LinkSettings;
use crate::farm::{Behaviour, Farm, FarmSettings, Share, Speaks};
use crate::protocol::{GameEngine, Manner, in_auto, probe};
use crate::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord};
use crate::target::{PortRule, Target};

mod each_once;
mod errors;
mod lanes;
mod link;
mod outcome;
mod pace;
mod pieces;
mod plans;
mod queries;
mod stopping;

const MS: Duration = Duration::from_millis(1);

fn a2s() -> Plan {
    Plan::of(protocol("a2s"))
}

fn lossy(percent: f64) -> LinkSettings {
    LinkSettings { loss: Share::percent(percent), delay: 40 * MS, ..LinkSettings::default() }
}

fn servers(servers: u32) -> FarmSettings {
    FarmSettings { servers, ..FarmSettings::default() }
}

/// With time for every query of a target.
fn patient() -> Settings {
    Settings { budget: Duration::from_secs(40), ..settings() }
}

/// A plan that tries each protocol in turn, some at another port.
fn legs(legs: &[(&str, Option<u16>)]) -> Plan {
    let rule = |port: Option<u16>| port.map_or(PortRule::Own, PortRule::Fixed);
    let legs = legs.iter().map(|&(name, port)| Leg { protocol: protocol(name), port: rule(port) }).collect();
    Plan::new(legs)
}

/// Every protocol that is looked for, each tried once in each of three rounds.
fn whatever() -> Plan {
    let legs = in_auto().map(|protocol| Leg { protocol, port: PortRule::Own }).collect();
    Plan { rounds: 3, ..Plan::new(legs) }
}
