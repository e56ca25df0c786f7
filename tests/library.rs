//! The library as other programs use it: whole scans of simulated servers on loopback.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use fragscan::config::{Limits, RateLimit, ScanOptions};
use fragscan::engine::Plan;
use fragscan::output::{OutputError, Sink};
use fragscan::protocol;
use fragscan::record::{ServerRecord, Status};
use fragscan::run::{Outcome, Scan, Stop};
use fragscan::target::{Source, Target};

fn options(targets: &[&str]) -> ScanOptions {
    let mut options = ScanOptions::default();
    options.input.targets = targets.iter().map(|target| (*target).to_owned()).collect();
    options
}

/// A scan of this many simulated servers, and the addresses of those that answered.
fn scan(servers: u32) -> (Outcome, Vec<SocketAddr>) {
    let (sender, found) = mpsc::channel();
    let scan = Scan::new(options(&[&format!("farm:{servers}")])).for_each(move |record| {
        assert_eq!(record.status, Status::Ok);
        sender.send(record.address).expect("somebody listens");
    });
    let outcome = scan.run().expect("it runs");
    (outcome, found.iter().collect())
}

fn check((outcome, mut found): (Outcome, Vec<SocketAddr>), servers: usize) {
    assert_eq!(outcome.ledger().check(), []);
    assert!(outcome.is_complete && outcome.stop.is_none() && outcome.error.is_none());
    assert_eq!((outcome.ledger().targets.finished, outcome.ledger().rows.written), (servers as u64, servers as u64));
    assert_eq!(found.len(), servers);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), servers, "each once");
}

#[test]
fn scans_run_one_after_the_other_and_beside_each_other_in_one_process() {
    check(scan(30), 30);
    let beside = [200, 300].map(|servers| (servers, thread::spawn(move || scan(servers))));
    for (servers, thread) in beside {
        check(thread.join().expect("it ends"), servers as usize);
    }
    check(scan(30), 30);
}

#[test]
fn addresses_of_an_iterator_are_asked_once_and_what_is_excluded_is_not() {
    let (sender, found) = mpsc::channel();
    let silent = |last: u8| SocketAddr::from(([127, 0, 9, last], 9));
    let addresses = [1, 2, 1, 3, 2, 1].map(silent).into_iter().chain([SocketAddr::from(([10, 0, 0, 1], 9))]);
    let mut options = options(&["127.0.9.3:9"]);
    options.input.exclude.push("127.0.9.2".into());
    options.limits.timeout = Duration::from_millis(20);
    options.limits.retries = 0;
    let scan = Scan::new(options).with_targets(addresses);
    let outcome = scan.for_each(move |record| sender.send(record.address).expect("somebody listens")).run();
    let ledger = outcome.expect("it runs").ledger().clone();
    assert_eq!(ledger.check(), []);
    let input = ledger.input;
    assert_eq!((input.read, input.duplicate, input.excluded_listed, input.excluded_private), (8, 3, 2, 1));
    let mut found: Vec<_> = found.iter().collect();
    found.sort_unstable();
    assert_eq!(found, [silent(1), silent(3)]);
}

/// Gives targets of its own, and says now and then that it has none yet; the last few it never gives.
struct Own {
    left: u8,
    kept: u8,
    waits: bool,
}

impl Source for Own {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        self.waits = !self.waits;
        if self.waits || (self.left == self.kept && self.kept > 0) {
            return Poll::Pending;
        }
        let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
        self.left = left;
        Poll::Ready(Some(Target { address: SocketAddr::from(([127, 0, 8, left], 9)), plan: 1, origin: 0 }))
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.left.into())
    }
}

/// Counts, and wants no more than this many records.
struct Enough {
    wanted: u64,
    records: u64,
}

impl Sink for Enough {
    fn record(&mut self, record: &ServerRecord) -> Result<(), OutputError> {
        assert_eq!(record.protocol, "quake3");
        self.records += 1;
        Ok(())
    }

    fn written(&self) -> u64 {
        self.records
    }

    fn is_closed(&self) -> bool {
        self.records >= self.wanted
    }
}

#[test]
fn a_source_of_its_own_is_asked_by_its_plans_and_a_sink_that_has_enough_ends_the_run() {
    for (wanted, kept, complete) in [(u64::MAX, 0, true), (3, 20, false)] {
        let plans = ["a2s", "quake3"].map(|name| Plan::of(protocol::by_name(name).expect("it is known")));
        let mut options = options(&[]);
        options.limits.timeout = Duration::from_millis(20);
        options.limits.retries = 0;
        options.limits.window = 4;
        let scan = Scan::new(options).with_source(Own { left: 60, kept, waits: false }, plans.to_vec());
        let outcome = scan.with_sink(Enough { wanted, records: 0 }).run().expect("it runs");
        let ledger = outcome.ledger();
        assert_eq!(ledger.check(), []);
        assert_eq!(outcome.is_complete, complete);
        assert_eq!(outcome.is_closed, !complete);
        assert_eq!((ledger.targets.finished, ledger.input.not_started), (60 - u64::from(kept), kept.into()));
        assert_eq!(ledger.input.read, 60);
    }
}

#[test]
fn a_run_is_stopped_from_anywhere_and_accounts_for_what_it_did_not_ask() {
    let mut options = options(&["127.0.7.0/24:9"]);
    options.limits.timeout = Duration::from_mins(10);
    options.limits.target_timeout = Some(Duration::from_mins(10));
    options.limits.window = 2;
    let run = Scan::new(options).prepare().expect("it opens");
    let stopper = run.stopper();
    stopper.stop(Stop::Asked);
    stopper.stop(Stop::Asked);
    let outcome = run.run(&mut ()).expect("it runs");
    assert_eq!((outcome.stop, outcome.is_complete), (Some(Stop::Asked), false));
    assert_eq!(outcome.ledger().check(), []);
    assert_eq!(outcome.ledger().input.not_started + outcome.ledger().targets.finished, 256);
}

#[test]
fn a_callback_that_panics_ends_the_run_and_hands_its_panic_to_the_caller() {
    let mut options = options(&["127.0.6.0/28:9"]);
    options.limits.window = 1;
    // After the first row there are targets for hours.
    options.limits.rate = Some(RateLimit::PerSecond(0.001));
    let scan = Scan::new(options).for_each(|record| panic!("{}", record.address));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scan.run())).expect_err("it panicked");
    assert!(panic.downcast_ref::<String>().is_some_and(|text| text.starts_with("127.0.6.")));
}

#[test]
fn limits_that_no_run_can_keep_are_refused() {
    type Set = fn(&mut Limits);
    let odd: [(&str, Set); 12] = [
        ("--rate", |limits| limits.rate = Some(RateLimit::PerSecond(-5.0))),
        ("--rate", |limits| limits.rate = Some(RateLimit::PerSecond(f64::NAN))),
        ("--rate", |limits| limits.rate = Some(RateLimit::PerSecond(f64::INFINITY))),
        ("--bandwidth", |limits| limits.bandwidth = Some(RateLimit::PerSecond(0.0))),
        ("--host-rate", |limits| limits.host_rate = Some(RateLimit::PerSecond(0.0))),
        ("--window", |limits| limits.window = 0),
        ("--window", |limits| limits.window = usize::MAX),
        ("--retries", |limits| limits.retries = u32::MAX),
        ("--timeout", |limits| limits.timeout = Duration::ZERO),
        ("--timeout", |limits| limits.timeout = Duration::MAX),
        ("--target-timeout", |limits| limits.target_timeout = Some(Duration::ZERO)),
        ("--list-rate", |limits| limits.list_gap = Duration::MAX),
    ];
    for (flag, set) in odd {
        let mut options = options(&["farm:1"]);
        set(&mut options.limits);
        let error = Scan::new(options).prepare().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(flag), "{flag}: {error:?}");
    }
}

#[test]
fn targets_of_several_iterators_add_up_and_those_of_a_source_are_the_only_ones() {
    let silent = |last: u8| SocketAddr::from(([127, 0, 5, last], 9));
    let both = |options| Scan::new(options).with_targets([silent(1)]).with_targets([silent(2), silent(1)]);
    let outcome = both(options(&["127.0.5.3:9"])).run().expect("it runs");
    assert_eq!((outcome.ledger().input.read, outcome.ledger().targets.finished), (4, 3));
    let plans = || vec![Plan::of(protocol::by_name("a2s").expect("it is known"))];
    let source = Vec::<Target>::new;
    for scan in [
        both(options(&[])).with_source(source().into_iter(), plans()),
        Scan::new(options(&["127.0.5.3:9"])).with_source(source().into_iter(), plans()),
    ] {
        let error = scan.run().expect_err("nothing is dropped silently");
        assert!(error.to_string().contains("and not both"), "{error}");
    }
}
