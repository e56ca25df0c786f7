//! What the engine is told: how long to wait, how often to ask, how much at once, and what to ask.

use std::time::Duration;

use super::limiter::Rate;
use crate::protocol::{AnyProtocol, Ask};
use crate::record::{Query, QuerySet};
use crate::rng::AddressHasher;
use crate::target::PortRule;

/// Settings of a run: [`Settings::unlimited`], with fields set.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Settings {
    /// Wait for the answer to a first try; see [`Settings::wait`].
    pub timeout: Duration,
    /// Further tries of each step after silence.
    pub retries: u32,
    /// Longest that one target may take (each leg of its plan).
    pub budget: Duration,
    /// Most targets in flight.
    pub window: usize,
    /// Limits on what leaves.
    pub rate: Rate,
    /// Which of these find their own size.
    pub auto: Auto,
    /// Time between two datagrams to one address after a burst; zero for no limit.
    pub host_gap: Duration,
    /// Time between two requests to one list server; zero for no limit.
    pub list_gap: Duration,
    /// Queries to ask.
    pub queries: QuerySet,
    /// Asks lists, and passes the servers that they name to the writer unasked.
    pub lists_only: bool,
    /// Whether datagrams go to the writer as they came from servers in flight, and the first one as it went to each.
    pub keep_datagrams: bool,
    /// Key of everything that depends on addresses.
    pub key: AddressHasher,
}

/// Limits that begin low and find their own size, up to what the settings say; the others are what they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Auto {
    /// [`Settings::window`].
    pub window: bool,
    /// The datagrams of [`Settings::rate`].
    pub rate: bool,
}

impl Settings {
    /// Info in three tries from one second on, ten thousand in flight, and no limit on the pace; hashes are keyed by `key`.
    #[must_use]
    pub fn unlimited(key: AddressHasher) -> Self {
        Self {
            timeout: Duration::from_secs(1),
            retries: 2,
            budget: Duration::from_secs(10),
            window: 10_000,
            rate: Rate::default(),
            auto: Auto::default(),
            host_gap: Duration::ZERO,
            list_gap: Duration::ZERO,
            queries: QuerySet::of(Query::Info),
            lists_only: false,
            keep_datagrams: false,
            key,
        }
    }

    /// How long try number `number` (from 0) of a step waits: twice as long as the one before, up to 8 s.
    #[must_use]
    pub fn wait(&self, number: u32) -> Duration {
        self.timeout.saturating_mul(1 << number.min(16)).min(LONGEST_WAIT.max(self.timeout))
    }

    /// How long all tries of one step take.
    #[must_use]
    pub(crate) fn patience(&self) -> Duration {
        (0..=self.retries).map(|number| self.wait(number)).sum()
    }
}

/// Waits do not double beyond this.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// What is tried for a target, one leg after the other, until one is answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// At least one.
    pub legs: Vec<Leg>,
    /// With one round, each leg has all its tries before the next begins; with several, one try in each round.
    pub rounds: u8,
    /// The part of the target's URL behind `?`.
    pub parameters: Box<str>,
}

/// A protocol to try, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leg {
    /// The protocol.
    pub protocol: AnyProtocol,
    /// At which port, given the target's own.
    pub port: PortRule,
}

impl Plan {
    /// A plan of one protocol at the target's own port.
    #[must_use]
    pub fn of(protocol: AnyProtocol) -> Self {
        Self::new(vec![Leg { protocol, port: PortRule::Own }])
    }

    /// A plan of `legs`, each of which has all its tries before the next begins.
    #[must_use]
    pub fn new(legs: Vec<Leg>) -> Self {
        Self { legs, rounds: 1, parameters: "".into() }
    }

    /// True if the plan asks list servers for the servers that they name; such a plan has no other legs.
    #[must_use]
    pub(crate) fn asks_for_list(&self) -> bool {
        self.legs[0].protocol.lists().is_some()
    }

    /// True if no leg is in another protocol.
    #[must_use]
    pub(crate) fn speaks_only(&self, protocol: AnyProtocol) -> bool {
        self.legs.iter().all(|leg| leg.protocol == protocol)
    }

    /// The leg that has this number, which goes on counting from round to round.
    #[must_use]
    pub fn leg(&self, number: u16) -> Option<&Leg> {
        self.legs.get(usize::from(number) % self.legs.len().max(1))
    }

    /// The round of the leg that has this number, from 0.
    #[must_use]
    pub(crate) fn round(&self, number: u16) -> u32 {
        u32::from(number) / self.legs.len().max(1) as u32
    }

    /// The first leg from number `from` on that can be asked for a target with port `own`, and its port: one whose rule
    /// gives a port, and that does not repeat an earlier leg of its round.
    #[must_use]
    pub(crate) fn next_leg(&self, from: u16, own: u16) -> Option<(u16, u16)> {
        let asks = |leg: &Leg| leg.port.apply(own).map(|port| (leg.protocol, port));
        let count = self.legs.len() * usize::from(self.rounds);
        (from..count.try_into().unwrap_or(u16::MAX)).find_map(|number| {
            let (protocol, port) = asks(self.leg(number)?)?;
            let earlier = self.legs.iter().take(usize::from(number) % self.legs.len());
            (!earlier.filter_map(asks).any(|asked| asked == (protocol, port))).then_some((number, port))
        })
    }

    /// What is asked in `protocol` of the server at `address`.
    #[must_use]
    pub fn ask(&self, protocol: AnyProtocol, settings: &Settings, address: std::net::SocketAddr) -> Ask<'_> {
        Ask { queries: protocol.asked(settings.queries), address, parameters: &self.parameters, key: settings.key }
    }
}
