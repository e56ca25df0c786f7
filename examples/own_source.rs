//! Scans the targets of your own source: a crawl, in which each server that answers leads to two others.
//!
//! It begins at one of 200 simulated servers and reaches them all. Every second one is asked in a different protocol.
//!
//! ```sh
//! cargo run --example own_source
//! ```

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::task::Poll;

use fragscan::config::ScanOptions;
use fragscan::engine::Plan;
use fragscan::protocol;
use fragscan::record::Status;
use fragscan::run::{Farm, Scan};
use fragscan::target::{Source, Target};

/// Targets that another thread finds.
struct Found(Receiver<Target>);

impl Source for Found {
    /// The scan takes a target when it has room for one. This is called between datagrams, so it must not wait.
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        match self.0.try_recv() {
            Ok(target) => Poll::Ready(Some(target)),
            // Not yet: the scan goes on with what is in flight, and asks again soon.
            Err(TryRecvError::Empty) => Poll::Pending,
            // Never again: the scan ends after what is in flight.
            Err(TryRecvError::Disconnected) => Poll::Ready(None),
        }
    }

    /// Nobody knows how many a crawl will find. A source that does know gives a better account if the scan is stopped.
    fn remaining(&self) -> Option<u64> {
        None
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let farm = Farm::start("farm:200")?;
    // A plan says what to ask, and targets name theirs by number. If a plan had more legs, they would be tried in turn.
    let plans = ["a2s", "quake3"].map(|name| Plan::of(protocol::by_name(name).expect("it is in the registry")));
    let target = |(number, address)| Target { address, plan: (number % 2) as u16, origin: 0 };
    let targets: Vec<_> = farm.addresses().enumerate().map(target).collect();
    // Each is found through one other. If your own source gives a target twice, the scan asks it twice.
    let links = targets.iter().enumerate().map(|(i, target)| (target.address, targets.iter().skip(2 * i + 1).take(2)));
    let links: HashMap<_, _> = links.collect();

    let (sender, receiver) = mpsc::channel();
    sender.send(targets[0])?;
    let mut sender = Some(sender);
    let mut open = 1;
    let mut protocols = BTreeMap::<_, u64>::new();
    let outcome = Scan::new(ScanOptions::default())
        .with_source(Found(receiver), plans.into())
        .for_each(|record| {
            *protocols.entry(record.protocol).or_default() += 1;
            if record.status == Status::Ok {
                for found in links[&record.address].clone() {
                    // The source is gone if the scan was stopped.
                    if let Some(sender) = &sender
                        && sender.send(*found).is_ok()
                    {
                        open += 1;
                    }
                }
            }
            open -= 1;
            if open == 0 {
                sender = None;
            }
        })
        .run()?;
    let ledger = outcome.ledger();
    writeln!(io::stdout(), "{} targets asked: {} {protocols:?}", ledger.targets.finished, ledger.rows.status)?;
    Ok(())
}
