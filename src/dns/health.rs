//! Whether a name server answers: one that does not is left aside and tried now and then.
//!
//! A server that does not answer a question may lack the answer only, since those whom it asks may be silent themselves. So
//! after two questions without an answer in a row it is asked for the root, which every server says something about; only
//! silence to that means that it is down.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A name server.
#[derive(Debug)]
pub(super) struct Server {
    pub(crate) address: SocketAddr,
    /// Questions without an answer since it last answered.
    silences: u32,
    answered_at: Option<Instant>,
    /// Since when it has been down.
    down_since: Option<Instant>,
    /// Nobody listens there, or no way leads there.
    is_refusing: bool,
    probe: Probe,
    /// Probes without an answer in a row.
    probes: u32,
}

#[derive(Debug)]
enum Probe {
    None,
    /// It is to be sent then.
    At(Instant),
    Flying,
}

impl Server {
    pub(super) const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            silences: 0,
            answered_at: None,
            down_since: None,
            is_refusing: false,
            probe: Probe::None,
            probes: 0,
        }
    }

    /// Since when it has been down, if it is.
    pub(super) const fn down_since(&self) -> Option<Instant> {
        self.down_since
    }

    pub(super) const fn is_up(&self) -> bool {
        self.down_since.is_none()
    }

    /// It is down, and nobody listens there.
    pub(super) const fn is_refusing(&self) -> bool {
        self.is_refusing
    }

    /// When a probe is to be sent.
    pub(super) const fn probe_at(&self) -> Option<Instant> {
        match self.probe {
            Probe::At(at) => Some(at),
            Probe::None | Probe::Flying => None,
        }
    }

    /// Records that a probe was sent.
    pub(super) const fn handle_probe(&mut self) {
        self.probe = Probe::Flying;
    }

    /// Records that it has answered, whatever it said.
    pub(super) const fn handle_answer(&mut self, now: Instant) {
        let address = self.address;
        *self = Self { answered_at: Some(now), ..Self::new(address) };
    }

    /// Records that it has not answered a question that was sent then.
    pub(super) fn handle_silence(&mut self, sent: Instant, now: Instant) {
        if self.answered_at.is_some_and(|at| at >= sent) {
            return;
        }
        self.silences = self.silences.saturating_add(1);
        if self.silences >= SUSPICIOUS && matches!(self.probe, Probe::None) {
            self.probe = Probe::At(now);
        }
    }

    /// Records that it has not answered a probe.
    pub(super) fn handle_silent_probe(&mut self, now: Instant) {
        self.down_since.get_or_insert(now);
        self.plan_probe(now);
    }

    /// Records that nobody listens there, or that no way leads there.
    pub(super) fn handle_refusal(&mut self, now: Instant) {
        self.is_refusing = true;
        self.down_since.get_or_insert(now);
        if !matches!(self.probe, Probe::At(_)) {
            self.plan_probe(now);
        }
    }

    fn plan_probe(&mut self, now: Instant) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.probes.min(8)).min(LONGEST_PAUSE);
        self.probes = self.probes.saturating_add(1);
        self.probe = Probe::At(now + pause);
    }
}

/// Questions without an answer, after which a server is asked whether it is there.
const SUSPICIOUS: u32 = 2;
/// Between probes of a server that is down; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::start;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_server_is_down_when_it_answers_no_probe_and_up_when_it_answers_anything() {
        let now = start();
        let mut server = Server::new("192.0.2.1:53".parse().unwrap());
        server.handle_silence(now, now + ms(1_000));
        assert_eq!(server.probe_at(), None, "one datagram may be lost");
        server.handle_silence(now, now + ms(1_000));
        assert!(server.probe_at().is_some() && server.is_up());
        server.handle_probe();
        server.handle_silence(now, now + ms(1_500));
        assert_eq!(server.probe_at(), None, "one probe at a time");
        server.handle_silent_probe(now + ms(2_000));
        assert_eq!(server.down_since(), Some(now + ms(2_000)));
        server.handle_probe();
        server.handle_silent_probe(now + ms(4_000));
        assert_eq!(server.down_since(), Some(now + ms(2_000)));
        assert_eq!(server.probe_at(), Some(now + ms(4_500)), "pauses grow");
        server.handle_answer(now + ms(5_000));
        assert!(server.is_up() && server.probe_at().is_none());
    }

    #[test]
    fn silence_to_what_was_asked_before_an_answer_says_nothing() {
        let now = start();
        let mut server = Server::new("192.0.2.1:53".parse().unwrap());
        server.handle_answer(now + ms(500));
        for _ in 0..10 {
            server.handle_silence(now, now + ms(1_000));
        }
        assert_eq!(server.probe_at(), None);
    }

    #[test]
    fn a_server_where_nobody_listens_is_down_at_once() {
        let now = start();
        let mut server = Server::new("192.0.2.1:53".parse().unwrap());
        server.handle_refusal(now);
        assert!(!server.is_up() && server.is_refusing());
        assert_eq!(server.probe_at(), Some(now + FIRST_PAUSE));
        server.handle_refusal(now + ms(1));
        assert_eq!(server.probe_at(), Some(now + FIRST_PAUSE), "one refusal for each datagram, and one pause");
    }
}
