//! Virtual time: an engine, a farm and a lossy link, without sockets and without a clock.
#![expect(clippy::disallowed_methods, reason = "virtual time has to begin somewhere; no test looks at the clock again")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::{Engine, Finished, Icmp, ListEnd, Plan, Settings};
use crate::farm::link::Link;
use crate::farm::{Behaviour, Farm, FarmSettings, Servers};
use crate::ledger::{Input, Ledger, Rows};
use crate::output::{Assembler, Epoch};
use crate::protocol::{AnyProtocol, Replies, by_name};
use crate::record::{ServerRecord, Status};
use crate::rng::AddressHasher;
use crate::target::{Origins, Source, Target};

/// Some instant, far enough from the clock's zero that a test may also look back.
pub(crate) fn start() -> Instant {
    Instant::now() + Duration::from_secs(1_000)
}

/// The settings that a user who says nothing gets, without limits on the pace.
pub(crate) fn settings() -> Settings {
    Settings::unlimited(AddressHasher::new(9))
}

/// The protocol of that name.
pub(crate) fn protocol(name: &str) -> AnyProtocol {
    by_name(name).expect("it is in the registry")
}

/// A list of targets.
pub(crate) struct List(pub std::vec::IntoIter<Target>);

impl List {
    /// Targets with plan 0.
    pub(crate) fn of(addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        let targets: Vec<_> = addresses.into_iter().map(|address| Target { address, plan: 0, origin: 0 }).collect();
        Self(targets.into_iter())
    }
}

impl Source for List {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        Poll::Ready(self.0.next())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }
}

/// A scan of a farm in virtual time.
pub(crate) struct Simulation {
    pub engine: Engine,
    pub now: Instant,
    pub began: Instant,
    /// When each datagram left, and where it went.
    pub sent: Vec<(Duration, SocketAddr)>,
    /// What was made of each target, in the order in which they ended.
    pub records: Vec<ServerRecord>,
    /// The same, as they were handed over.
    pub finished: Vec<Finished>,
    /// The loop stands still for so long, once it is as late as this.
    pub stall: Option<(Duration, Duration)>,
    /// How much the way to the servers takes, if not everything.
    pub path: Option<Bucket>,
    /// How fast the receive buffer is read, and how much it holds, if not everything.
    pub buffer: Option<Bucket>,
    dropped: u64,
    read: u64,
    farm: Farm,
    there: Link,
    back: Link,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    number: u64,
    assembler: Assembler,
    rows: Rows,
}

/// A queue of fixed length that is emptied at an even rate, and drops what finds it full.
pub(crate) struct Bucket {
    pub rate: f64,
    depth: f64,
    level: f64,
    at: Option<Instant>,
}

impl Bucket {
    /// `rate` datagrams a second leave it, and `depth` fit in.
    pub(crate) fn new(rate: f64, depth: u32) -> Self {
        Self { rate, depth: f64::from(depth), level: 0.0, at: None }
    }

    /// Whether the datagram that comes at `now` finds room.
    fn takes(&mut self, now: Instant) -> bool {
        let passed = self.at.replace(now).map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.level = (self.level - self.rate * passed.as_secs_f64()).max(0.0);
        let room = self.level + 1.0 <= self.depth;
        self.level += f64::from(u8::from(room));
        room
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    ToServer(SocketAddr, Vec<u8>),
    ToClient(SocketAddr, Vec<u8>),
    Unreachable(SocketAddr),
}

impl Simulation {
    /// Every server of the farm is a target of `plan`.
    pub(crate) fn new(settings: Settings, plan: Plan, farm: FarmSettings) -> Self {
        let farm = Farm::new(farm, 27_015, 27_016);
        let targets = List::of((0..farm.len()).map(|index| farm.address(index)));
        Self::with_targets(settings, vec![plan], farm, targets)
    }

    /// Only `targets`, which may be in the farm or not.
    pub(crate) fn with_targets(settings: Settings, plans: Vec<Plan>, farm: Farm, targets: List) -> Self {
        let now = start();
        let plans: Arc<[Plan]> = plans.into();
        let epoch = Epoch { instant: now, unix_us: 0 };
        let read = targets.0.len() as u64;
        Self {
            engine: Engine::new(settings, Arc::clone(&plans), Box::new(targets), now),
            now,
            began: now,
            sent: Vec::new(),
            records: Vec::new(),
            finished: Vec::new(),
            stall: None,
            path: None,
            buffer: None,
            dropped: 0,
            read,
            farm,
            there: Link::new(farm.settings().link, 1),
            back: Link::new(farm.settings().link, 2),
            events: BinaryHeap::new(),
            number: 0,
            assembler: Assembler { plans, origins: Origins::default(), settings, epoch, clones: None },
            rows: Rows::default(),
        }
    }

    /// Turns until the scan is done.
    pub(crate) fn run(&mut self) {
        while self.turn() {}
        assert_eq!(self.ledger().check(), []);
    }

    /// Turns until `time` has passed since the beginning.
    pub(crate) fn run_until(&mut self, time: Duration) {
        while self.now < self.began + time && self.turn() {}
    }

    /// One turn of the loop, in the order of the real one; false when the scan is done.
    pub(crate) fn turn(&mut self) -> bool {
        self.deliver();
        self.engine.handle_dropped(self.dropped);
        self.engine.handle_timeout(self.now);
        let mut buffer = Vec::new();
        while let Some(transmit) = self.engine.poll_transmit(self.now, &mut buffer) {
            assert_eq!(transmit.size, buffer.len());
            self.sent.push((self.now - self.began, transmit.to));
            let data = std::mem::take(&mut buffer);
            if self.path.as_mut().is_some_and(|path| !path.takes(self.now)) {
                continue;
            }
            for delay in self.there.fate().into_iter().flatten() {
                self.push(self.now + delay, Event::ToServer(transmit.to, data.clone()));
            }
        }
        while let Some(batch) = self.engine.poll_finished(self.now) {
            let mut answers = Vec::new();
            for finished in batch.iter() {
                let mut record = ServerRecord::new();
                self.assembler.assemble(&batch, finished, &mut answers, &mut record);
                self.rows.status.add(record.status);
                self.rows.written += 1;
                self.rows.sent += u64::from(record.sent);
                self.rows.received += u64::from(record.received);
                self.records.push(record);
                self.finished.push(finished.clone());
            }
            self.engine.recycle(batch);
        }
        if self.engine.is_done() {
            return false;
        }
        let event = self.events.peek().map(|Reverse((at, ..))| *at);
        let next = [event, self.engine.poll_timeout(self.now)].into_iter().flatten().min();
        self.now = next.expect("a scan that is not done waits for something").max(self.now);
        if let Some((at, length)) = self.stall
            && self.now >= self.began + at
        {
            self.stall = None;
            self.now += length;
        }
        true
    }

    /// A datagram from anywhere arrives.
    pub(crate) fn inject(&mut self, from: SocketAddr, data: &[u8]) {
        let _ = self.engine.handle_datagram(self.now, self.now, from, data);
    }

    /// A datagram from anywhere arrives a while later.
    pub(crate) fn inject_after(&mut self, time: Duration, from: SocketAddr, data: &[u8]) {
        self.push(self.now + time, Event::ToClient(from, data.to_vec()));
    }

    /// The servers.
    pub(crate) fn farm(&self) -> &Farm {
        &self.farm
    }

    /// How many targets ended so.
    pub(crate) fn count(&self, status: Status) -> usize {
        self.records.iter().filter(|record| record.status == status).count()
    }

    /// The ledger as it stands.
    pub(crate) fn ledger(&self) -> Ledger {
        let snapshot = self.engine.snapshot();
        Ledger {
            input: Input { read: self.read, not_started: snapshot.not_started, ..Input::default() },
            targets: snapshot.targets,
            datagrams: snapshot.datagrams,
            rows: self.rows.clone(),
            lists: ListEnd::datagrams(self.engine.lists()),
        }
    }

    /// What was due by now happens. Times are those of the arrival: the loop may have been away.
    fn deliver(&mut self) {
        let client = SocketAddr::from(([127, 0, 0, 1], 50_000));
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= self.now) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { return };
            match event {
                Event::ToServer(to, data) => self.serve(at, to, client, &data),
                Event::ToClient(..) if self.buffer.as_mut().is_some_and(|buffer| !buffer.takes(at)) => {
                    self.dropped += 1;
                }
                Event::ToClient(from, data) => {
                    let _ = self.engine.handle_datagram(self.now, at, from, &data);
                }
                Event::Unreachable(to) => self.engine.handle_icmp(self.now, to, Icmp::PortUnreachable),
            }
        }
    }

    fn serve(&mut self, at: Instant, to: SocketAddr, client: SocketAddr, data: &[u8]) {
        let IpAddr::V4(ip) = to.ip() else { return };
        let Some(index) = self.farm.index_of(ip) else { return };
        if self.farm.behaviour(index) == Behaviour::Refused || to.port() != self.farm.port() {
            self.push(at, Event::Unreachable(to));
            return;
        }
        let mut replies = Replies::default();
        self.farm.answer(index, client, data, &mut replies);
        for reply in replies.iter() {
            for delay in self.back.fate().into_iter().flatten() {
                self.push(at + delay, Event::ToClient(to, reply.to_vec()));
            }
        }
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }
}
