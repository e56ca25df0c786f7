//! A benchmark: rounds, each of which asks the same targets over and over.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossbeam_channel::after;

use super::scan::{Notices, Ready, start_farm};
use super::session::Session;
use crate::bench::{Bell, Circle, Collected, Collector, Cost, Round, Schedule};
use crate::config::{InputOptions, Length, Limits, NetworkOptions};
use crate::engine::{Batch, Engine, Plan, Rate, Settings, Snapshot};
use crate::error::Error;
use crate::farm::serve::Serving;
use crate::input::{Input, Opened, why_nothing};
use crate::ledger::Datagrams;
use crate::net::driver::{Stopper, Watch, read_clocks};
use crate::net::{self, sys};
use crate::output::writer::Consumer;
use crate::target::Target;

/// Whom to ask, and how.
pub(crate) struct Bench {
    targets: Vec<Target>,
    settings: Settings,
    plans: Arc<[Plan]>,
    network: NetworkOptions,
    _farm: Option<Serving>,
}

impl Bench {
    /// Reads the targets, and waits until every name among them has been resolved or has finally failed to.
    pub(crate) fn prepare(
        input: InputOptions,
        limits: &Limits,
        network: NetworkOptions,
        notices: &Notices,
    ) -> Result<Self, Error> {
        limits.check()?;
        let (_, unix_us) = read_clocks();
        let seed = unix_us.unsigned_abs();
        let input = Input::read(input, limits, Vec::new())?;
        let farm = input.farm().map(start_farm).transpose()?;
        let Ready { opened, farm, .. } = Ready::open(input, farm, seed, None, notices)?;
        let Opened { mut source, plans, origins, account, .. } = opened;
        let mut targets = Vec::new();
        // Bounded by the targets, and by the patience of the resolver.
        loop {
            let next = source.poll_target();
            while let Some(name) = source.poll_unresolved() {
                let text = origins.find(name.origin).and_then(|origin| origin.text);
                notices(&format_args!("{} has no address: {}", text.as_deref().unwrap_or("a name"), name.error));
            }
            match next {
                Poll::Ready(Some(target)) => targets.push(target),
                Poll::Ready(None) => break,
                Poll::Pending => drop(after(A_WHILE).recv()),
            }
            if targets.len() > MOST_TARGETS {
                return Err(Error::usage(format!(
                    "more than {MOST_TARGETS} targets: a benchmark goes round through fewer"
                )));
            }
        }
        if targets.is_empty() {
            return Err(Error::usage(why_nothing(&account.tally())));
        }
        let settings = limits.settings(false, seed);
        Ok(Self { targets, settings, plans, network, _farm: farm })
    }

    /// Whom it asks.
    #[must_use]
    pub(crate) fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// How it asks.
    #[must_use]
    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The word for the system calls that are used.
    #[must_use]
    pub(crate) const fn io(&self) -> &'static str {
        self.network.io.as_str()
    }

    /// Runs a round at `rate`, with sockets of its own, as a scan whose source repeats its targets; none if it was
    /// stopped. `tell_stopper` is given the handle that stops it.
    pub(crate) fn round(
        &self,
        rate: Option<f64>,
        length: Length,
        tell_stopper: impl FnOnce(Stopper),
        stopping: &mut dyn FnMut(&Snapshot, Duration),
    ) -> Result<Option<Round>, Error> {
        let bell = Bell::default();
        let (time, count) = match (length, rate) {
            (Length::Count(count), _) => (None, Some(count)),
            (Length::Time(time), None) => (Some(time), None),
            // No query has less than a datagram.
            (Length::Time(time), Some(rate)) => (Some(time), Some(((rate * time.as_secs_f64()) as u64).max(1))),
        };
        let circle = Circle::new(&self.targets, count, bell.clone());
        let settings = Settings { rate: Rate { packets: rate, bits: None }, ..self.settings };
        let families = [SocketAddr::is_ipv4, SocketAddr::is_ipv6];
        let [ipv4, ipv6] = families.map(|is| self.targets.iter().any(|target| is(&target.address)));
        let (start, _) = read_clocks();
        let engine = Engine::new(settings, Arc::clone(&self.plans), Box::new(circle), start);
        let session = Session::open(engine, (ipv4, ipv6), &self.network)?;
        tell_stopper(session.stopper());
        let mut clock = Clock { time, rate, bell, start, is_late: false, ended: None, stopping };
        let before = processor_time()?;
        let (outcome, collected) = session.run(Collector::new(rate), &mut clock)?;
        let after = processor_time()?;
        if outcome.stop.is_some() {
            return Ok(None);
        }
        if outcome.snapshot.targets.finished != collected.statuses.total() {
            return Err(Error::Bug("queries were asked that were not counted"));
        }
        let cost = Cost { of_loop: after.0 - before.0, of_process: after.1 - before.1, peak_memory: peak_memory() };
        // Whoever kept pace to the end has begun the last query before the bell.
        let kept_pace = |time| {
            let Snapshot { targets, datagrams, .. } = &outcome.snapshot;
            let (queries, Datagrams { sent, received, .. }) = (targets.scheduled, *datagrams);
            Schedule { planned: time, time, queries, sent, received }
        };
        let schedule = clock.ended.or_else(|| time.map(kept_pace));
        Ok(Some(Round::new(rate, schedule, collected, &outcome.snapshot, (outcome.stall, cost))))
    }
}

impl Consumer for Collector {
    type Report = Collected;

    fn take(&mut self, batch: &Batch) {
        batch.iter().for_each(|finished| self.add(finished));
    }

    fn finish(self) -> Collected {
        Self::finish(self)
    }
}

/// Rings the bell once the round's time is over and all datagrams that were planned for it have left. A stall that was
/// short is made up for after that time, at the same pace.
struct Clock<'a> {
    time: Option<Duration>,
    rate: Option<f64>,
    bell: Bell,
    start: Instant,
    /// The time is over.
    is_late: bool,
    /// What was known when the bell rang.
    ended: Option<Schedule>,
    stopping: &'a mut dyn FnMut(&Snapshot, Duration),
}

impl Watch for Clock<'_> {
    fn interval(&self) -> Option<Duration> {
        if self.is_late { Some(A_LITTLE) } else { self.time }
    }

    fn look(&mut self, now: Instant, snapshot: &Snapshot) {
        self.is_late = true;
        let (time, Some(planned)) = (now.saturating_duration_since(self.start), self.time) else { return };
        let Snapshot { targets, datagrams: Datagrams { sent, received, .. }, .. } = *snapshot;
        let has_left = self.rate.is_none_or(|rate| sent as f64 >= rate * planned.as_secs_f64());
        if self.ended.is_some() || !has_left && time < planned + MOST_MADE_UP {
            return;
        }
        self.bell.ring();
        self.ended = Some(Schedule { planned, time, queries: targets.scheduled, sent, received });
    }

    fn stopping(&mut self, snapshot: &Snapshot, grace: Duration) {
        (self.stopping)(snapshot, grace);
    }
}

/// Processor time of this thread, which runs the loop, and of the process.
fn processor_time() -> Result<(Duration, Duration), Error> {
    let time = |whole| sys::cpu_time(whole).map_err(|source| net::Error::on("reading", "the processor time", source));
    Ok((time(false)?, time(true)?))
}

/// Bytes of memory that the process has had at the most, where the system says it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// How often the clock looks whether everything has left.
const A_LITTLE: Duration = Duration::from_millis(1);
/// What a longer stall has delayed is lost.
const MOST_MADE_UP: Duration = Duration::from_millis(250);
/// How soon a source that had nothing is asked again.
const A_WHILE: Duration = Duration::from_millis(10);
/// With 40 bytes each, twice.
const MOST_TARGETS: usize = 1_000_000;
