//! What the engine is told: how long to wait, how often to ask, how much at once, and what to ask.

use std::time::Duration;

use super::limiter::Rate;
use crate::protocol::{AnyProtocol, Ask};
use crate::record::QuerySet;
use crate::rng::AddressHasher;

/// Settings of a run.
#[derive(Debug, Clone, Copy)]
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
    /// Time between two datagrams to one address after a burst; zero for no limit.
    pub host_gap: Duration,
    /// Queries to ask.
    pub queries: QuerySet,
    /// Whether datagrams go to the writer as they came from servers in flight, and the first one as it went to each.
    pub keep_datagrams: bool,
    /// Key of everything that depends on addresses.
    pub key: AddressHasher,
}

impl Settings {
    /// How long try number `number` (from 0) of a step waits: twice as long as the one before, up to 8 s.
    #[must_use]
    pub fn wait(&self, number: u32) -> Duration {
        self.timeout.saturating_mul(1 << number.min(16)).min(LONGEST_WAIT.max(self.timeout))
    }

    /// How long all tries of one step take.
    #[must_use]
    pub fn patience(&self) -> Duration {
        (0..=self.retries).map(|number| self.wait(number)).sum()
    }
}

/// Waits do not double beyond this.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// What is tried for a target, one leg after the other, until one is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// At least one.
    pub legs: Vec<Leg>,
    /// The part of the target's URL behind `?`.
    pub parameters: Box<str>,
}

/// A protocol to try, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leg {
    /// The protocol.
    pub protocol: AnyProtocol,
    /// The port, if it is not the target's own.
    pub port: Option<u16>,
}

impl Plan {
    /// A plan of one protocol at the target's own port.
    #[must_use]
    pub fn of(protocol: AnyProtocol) -> Self {
        Self { legs: vec![Leg { protocol, port: None }], parameters: "".into() }
    }

    /// What is asked in `protocol` of the server at `address`.
    #[must_use]
    pub fn ask(&self, protocol: AnyProtocol, settings: &Settings, address: std::net::SocketAddr) -> Ask<'_> {
        Ask { queries: protocol.asked(settings.queries), address, parameters: &self.parameters, key: settings.key }
    }
}
