//! Runs two scans at once in one process, and stops one of them early.
//!
//! ```sh
//! cargo run --example parallel
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;

use fragscan::config::{RateLimit, ScanOptions};
use fragscan::run::{Outcome, Scan, Stop};

fn main() -> Result<(), Box<dyn Error>> {
    let mut whole = ScanOptions::default();
    whole.input.targets.push("farm:1000".into());
    let mut early = ScanOptions::default();
    early.input.targets.push("farm:5000".into());
    // At this pace it would take more than ten seconds.
    early.limits.rate = Some(RateLimit::PerSecond(500.0));

    // A prepared scan has its sockets and files, and a handle that stops it.
    let whole = Scan::new(whole).prepare()?;
    let (sender, answers) = mpsc::channel();
    let early = Scan::new(early)
        .for_each(move |record| {
            // Nobody receives what comes after the hundredth record.
            let _ = sender.send(record.address);
        })
        .prepare()?;
    let stopper = early.stopper();

    let (whole, early) = thread::scope(|scope| {
        // `run` occupies its thread. `()` is for a caller that does not watch the progress.
        let whole = scope.spawn(|| whole.run(&mut ()));
        let early = scope.spawn(|| early.run(&mut ()));
        answers.into_iter().take(100).for_each(drop);
        // No new target is asked. What is in flight has a moment to finish, and gets a record in any case.
        stopper.stop(Stop::Asked);
        (whole.join(), early.join())
    });
    report("whole", &whole.expect("no callback panics")?)?;
    report("early", &early.expect("no callback panics")?)?;
    Ok(())
}

fn report(name: &str, outcome: &Outcome) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let ledger = outcome.ledger();
    let balance = if ledger.check().is_empty() { "adds up" } else { "does not add up" };
    let end = outcome.stop.map_or("complete".into(), |stop| format!("stopped ({stop:?})"));
    let (read, asked, left) = (ledger.input.read, ledger.targets.finished, ledger.input.not_started);
    writeln!(out, "{name}: {end}, {read} read = {asked} asked + {left} not started: {balance}")
}
