//! A scan that runs takes no memory: once its buffers have grown, neither the engine nor the making of rows allocates.
#![expect(clippy::disallowed_methods, reason = "virtual time has to begin somewhere")]

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use fragscan::engine::{Batch, Engine, Plan, Settings};
use fragscan::internals::{Persona, Replies, serve};
use fragscan::output::{Assembler, Epoch, Format, Look, RowFormat};
use fragscan::protocol;
use fragscan::record::ServerRecord;
use fragscan::rng::AddressHasher;
use fragscan::target::{Origin, Origins, Source, Target};

/// A scan of simulated servers behind challenges, and everything that it needs on the way to lines of CSV.
struct Scan {
    engine: Engine,
    now: Instant,
    request: Vec<u8>,
    asked: VecDeque<(SocketAddr, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    replies: Replies,
    assembler: Assembler,
    record: ServerRecord,
    csv: Box<dyn RowFormat>,
    lines: Vec<u8>,
    rows: usize,
}

impl Scan {
    fn new() -> Self {
        let now = Instant::now();
        let mut settings = Settings::unlimited(AddressHasher::new(1));
        settings.window = WINDOW;
        let plans: Arc<[Plan]> = [Plan::of(protocol::by_name("a2s").expect("it is in the registry"))].into();
        let origins = Origins::default();
        let origin =
            origins.add(Origin { text: Some("8.0.0.0/8".into()), source: Some("servers.txt".into()), facts: None });
        Self {
            engine: Engine::new(settings, Arc::clone(&plans), Box::new(Counting { next: 0, origin }), now),
            now,
            request: Vec::new(),
            asked: VecDeque::new(),
            spare: Vec::new(),
            replies: Replies::default(),
            assembler: Assembler::new(plans, origins, settings, Epoch { instant: now, unix_us: 0 }),
            record: ServerRecord::new(),
            csv: Format::Csv.writer(None, Look::default()),
            lines: Vec::new(),
            rows: 0,
        }
    }

    /// Goes on until so many rows have been made.
    fn run_until(&mut self, rows: usize) {
        let protocol = protocol::by_name("a2s").expect("it is in the registry");
        while self.rows < rows {
            self.now += Duration::from_micros(500);
            self.request.clear();
            while let Some(transmit) = self.engine.poll_transmit(self.now, &mut self.request) {
                let mut copy = self.spare.pop().unwrap_or_default();
                copy.clear();
                copy.extend_from_slice(&self.request);
                self.asked.push_back((transmit.to, copy));
                self.request.clear();
            }
            for (server, request) in self.asked.drain(..self.asked.len().min(64)) {
                let SocketAddr::V4(address) = server else { panic!("IPv4") };
                let index = address.ip().to_bits();
                let persona = Persona {
                    seed: u64::from(index % 64),
                    index,
                    challenge: Some(index.to_le_bytes()),
                    ..Persona::default()
                };
                self.replies.clear();
                serve(protocol, &persona, &request, &mut self.replies);
                for reply in self.replies.iter() {
                    self.engine.handle_datagram(self.now, self.now, server, reply);
                }
                self.spare.push(request);
            }
            self.engine.handle_timeout(self.now);
            while let Some(batch) = self.engine.poll_finished(self.now) {
                self.write(&batch);
                self.engine.recycle(batch);
            }
        }
    }

    fn write(&mut self, batch: &Batch) {
        let mut answers = Vec::new();
        for finished in batch.iter() {
            self.assembler.assemble(batch, finished, &mut answers, &mut self.record);
            assert_eq!(self.record.status.as_str(), "ok");
            self.csv.row(&self.record);
            self.rows += 1;
        }
        if self.csv.len() >= 64 << 10 {
            self.csv.take(&mut self.lines);
        }
    }
}

/// Addresses of one network, one after the other.
struct Counting {
    next: u32,
    origin: u32,
}

impl Source for Counting {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        let ip = Ipv4Addr::from_bits(Ipv4Addr::new(8, 0, 0, 0).to_bits() + self.next);
        self.next += 1;
        Poll::Ready(Some(Target { address: (ip, 27_015).into(), plan: 0, origin: self.origin }))
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_scan_that_has_warmed_up_allocates_nothing_for_its_targets() {
    let mut scan = Scan::new();
    scan.run_until(20_000);
    let made = scan.rows;
    let allocated = allocation_counter::measure(|| scan.run_until(40_000));
    let rows = (scan.rows - made) as u64;
    assert!(rows >= 10_000, "{rows}");
    // Queues and tables may grow once more; a target has no allocation of its own.
    assert!(allocated.count_total <= rows / 100, "{} allocations for {rows} rows", allocated.count_total);
}

const WINDOW: usize = 2_000;
