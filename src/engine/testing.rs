//! Virtual time: an engine, a farm and a lossy link, without sockets and without a clock.
#![expect(clippy::disallowed_methods, reason = "virtual time has to begin somewhere; no test looks at the clock again")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::{Engine, Finished, ListEnd, Plan, Settings};
use crate::farm::{Farm, FarmSettings};
use crate::ledger::{Input, Ledger, Rows};
use crate::net::turn::Turn;
use crate::output::{Assembler, Epoch};
use crate::protocol::{AnyProtocol, by_name};
use crate::record::{ServerRecord, Status};
use crate::rng::AddressHasher;
use crate::target::{Origins, Source, Target};

mod network;

pub(crate) use network::{Bucket, Network, World};

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
    turn: Turn<Network>,
    read: u64,
    assembler: Assembler,
    rows: Rows,
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
            turn: Turn::new(Network::new(farm, now)),
            read,
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

    /// One turn of the loop, which sends everything that may leave, in however many batches; false when the scan is
    /// done.
    pub(crate) fn turn(&mut self) -> bool {
        self.turn.receive(&mut self.engine, self.now, &mut |_, _, _| {});
        // Bounded by what may leave at this instant.
        loop {
            self.turn.send(&mut self.engine, self.now);
            let sent = &mut self.turn.transport_mut().world().sent;
            if sent.is_empty() {
                break;
            }
            self.sent.append(sent);
        }
        self.write_rows();
        if self.engine.is_done() {
            return false;
        }
        let event = self.world().next();
        let next = [event, self.turn.poll_timeout(&mut self.engine, self.now)].into_iter().flatten().min();
        self.go_on(next.expect("a scan that is not done waits for something").max(self.now));
        true
    }

    fn go_on(&mut self, next: Instant) {
        self.now = next;
        if let Some((at, length)) = self.stall
            && self.now >= self.began + at
        {
            self.stall = None;
            self.now += length;
        }
        let now = self.now;
        self.world().now = now;
    }

    fn write_rows(&mut self) {
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
    }

    /// The network beyond the queues of the lanes.
    pub(crate) fn world(&mut self) -> &mut World {
        self.network().world()
    }

    /// The network.
    pub(crate) fn network(&mut self) -> &mut Network {
        self.turn.transport_mut()
    }

    /// A datagram from anywhere arrives.
    pub(crate) fn inject(&mut self, from: SocketAddr, data: &[u8]) {
        let _ = self.engine.handle_datagram(self.now, self.now, from, data);
    }

    /// A datagram from anywhere arrives a while later.
    pub(crate) fn inject_after(&mut self, time: Duration, from: SocketAddr, data: &[u8]) {
        self.world().arrive_after(time, from, data);
    }

    /// The servers.
    pub(crate) fn farm(&self) -> &Farm {
        self.turn.transport().farm()
    }

    /// How many targets ended so.
    pub(crate) fn count(&self, status: Status) -> usize {
        self.records.iter().filter(|record| record.status == status).count()
    }

    /// The ledger as it stands.
    pub(crate) fn ledger(&self) -> Ledger {
        let snapshot = self.turn.snapshot(&self.engine);
        Ledger {
            input: Input { read: self.read, not_started: snapshot.not_started, ..Input::default() },
            targets: snapshot.targets,
            datagrams: snapshot.datagrams,
            rows: self.rows.clone(),
            lists: ListEnd::datagrams(self.engine.lists()),
            names: crate::ledger::Names::default(),
        }
    }
}
