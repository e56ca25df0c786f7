//! What the loop pays for a target, without sockets: the engine as a whole, and the structures that it is made of.
//!
//! A whole exchange is four datagrams (request, challenge, request, answer) with ten thousand targets in flight, so
//! that its memory does not fit into the innermost cache, as in a scan. Servers answer in the order in which they were
//! asked, from constants.
#![expect(clippy::disallowed_methods, reason = "virtual time has to begin somewhere")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput};

use fragscan::engine::{Engine, Plan, Rate, Settings};
use fragscan::internals::{Deadlines, Limiter, Permutation};
use fragscan::protocol;
use fragscan::rng::AddressHasher;
use fragscan::target::{Source, Target};

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    exchange(&mut criterion);
    deadlines(&mut criterion);
    limiter(&mut criterion);
    permutation(&mut criterion);
    criterion.final_summary();
}

fn exchange(criterion: &mut Criterion) {
    let start = Instant::now();
    let mut group = criterion.benchmark_group("engine");
    group.throughput(Throughput::Elements(u64::from(TARGETS)));
    group.bench_function("info with challenge", |bencher| {
        bencher.iter_batched_ref(|| Exchange::new(start), Exchange::run, BatchSize::PerIteration);
    });
    group.finish();
}

/// A scan of [`TARGETS`] servers, and the datagrams on their way to them.
struct Exchange {
    engine: Engine,
    now: Instant,
    buffer: Vec<u8>,
    /// Who was asked, and with how many bytes: a request that carries a challenge is longer.
    asked: VecDeque<(SocketAddr, usize)>,
    answer: Vec<u8>,
}

impl Exchange {
    fn new(now: Instant) -> Self {
        let mut settings = Settings::unlimited(AddressHasher::new(1));
        settings.window = WINDOW;
        let plans: Arc<[Plan]> = [Plan::of(protocol::by_name("a2s").expect("it is in the registry"))].into();
        let source = Shuffled { order: Permutation::new(TARGETS.into(), 1), next: 0 };
        Self {
            engine: Engine::new(settings, plans, Box::new(source), now),
            now,
            buffer: Vec::new(),
            asked: VecDeque::with_capacity(WINDOW),
            answer: [INFO, &[b'x'; 195][..]].concat(),
        }
    }

    /// Turns of the loop: send what may be sent, receive as much as one call of the system gives, hand over.
    fn run(&mut self) {
        let mut finished = 0;
        while !self.engine.is_done() {
            self.now += TURN;
            self.buffer.clear();
            while let Some(transmit) = self.engine.poll_transmit(self.now, &mut self.buffer) {
                self.asked.push_back((transmit.to, transmit.size));
            }
            for (server, size) in self.asked.drain(..self.asked.len().min(AT_ONCE)) {
                let reply = if size == PLAIN { CHALLENGE } else { &self.answer };
                self.engine.handle_datagram(self.now, self.now, server, reply);
            }
            self.engine.handle_timeout(self.now);
            while let Some(batch) = self.engine.poll_finished(self.now) {
                finished += batch.len();
                self.engine.recycle(batch);
            }
        }
        assert_eq!(finished, TARGETS as usize);
        assert_eq!(self.engine.snapshot().datagrams.matched, 2 * u64::from(TARGETS));
    }
}

/// Addresses of one network, in the order in which a scan asks them.
struct Shuffled {
    order: Permutation,
    next: u64,
}

impl Source for Shuffled {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        if self.next == self.order.len() {
            return Poll::Ready(None);
        }
        let ip = Ipv4Addr::from_bits(FIRST.to_bits() + self.order.apply(self.next) as u32);
        self.next += 1;
        Poll::Ready(Some(Target { address: (ip, 27_015).into(), plan: 0, origin: 0 }))
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.order.len() - self.next)
    }
}

fn deadlines(criterion: &mut Criterion) {
    let start = Instant::now();
    let slots = WINDOW as u32;
    let at = |slot: u32| start + Duration::from_micros(u64::from(slot));
    let mut group = criterion.benchmark_group("deadlines");
    group.throughput(Throughput::Elements(slots.into()));
    let mut set = Deadlines::default();
    let pop_all = move |set: &mut Deadlines| {
        let due = at(slots);
        while let Some(slot) = set.pop_due(due) {
            black_box(slot);
        }
    };
    group.bench_function("set in a lane, pop", |bencher| {
        bencher.iter(|| {
            (0..slots).for_each(|slot| set.set_in_lane(slot, 0, at(slot)));
            pop_all(&mut set);
        });
    });
    group.bench_function("set in a lane, cancel", |bencher| {
        bencher.iter(|| {
            (0..slots).for_each(|slot| set.set_in_lane(slot, 0, at(slot)));
            (0..slots).for_each(|slot| set.cancel(slot));
        });
    });
    group.bench_function("set in the heap, pop", |bencher| {
        let order = Permutation::new(slots.into(), 1);
        bencher.iter(|| {
            (0..slots).for_each(|slot| set.set(slot, at(order.apply(slot.into()) as u32)));
            pop_all(&mut set);
        });
    });
    group.finish();
}

fn limiter(criterion: &mut Criterion) {
    let start = Instant::now();
    let mut group = criterion.benchmark_group("limiter");
    group.throughput(Throughput::Elements(1));
    for (name, rate) in [
        ("packets", Rate { packets: Some(1e5), bits: None }),
        ("packets and bits", Rate { packets: Some(1e5), bits: Some(1e8) }),
    ] {
        group.bench_function(name, |bencher| {
            let (mut limiter, mut now) = (Limiter::new(rate, start), start);
            bencher.iter(|| {
                now += Duration::from_micros(10);
                if limiter.is_ready(black_box(now)) {
                    limiter.charge(black_box(PLAIN));
                }
            });
        });
    }
    group.finish();
}

fn permutation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("permutation");
    group.throughput(Throughput::Elements(1));
    // Full of its domain; just past a power of two, where the walk is longest; all of IPv4.
    for len in [1 << 20, (1 << 20) + 1, 1 << 32] {
        group.bench_function(len.to_string(), |bencher| {
            let (order, mut index) = (Permutation::new(len, 1), 0);
            bencher.iter(|| {
                index = if index + 1 == len { 0 } else { index + 1 };
                order.apply(black_box(index))
            });
        });
    }
    group.finish();
}

const TARGETS: u32 = 100_000;
const WINDOW: usize = 10_000;
/// Datagrams that one call of the system gives.
const AT_ONCE: usize = 64;
/// Time of one turn of the loop.
const TURN: Duration = Duration::from_micros(50);
const FIRST: Ipv4Addr = Ipv4Addr::new(8, 0, 0, 0);
/// Bytes of a request without a challenge.
const PLAIN: usize = 25;
const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";
/// The engine looks no further than this: what follows is decoded elsewhere.
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFI";
