//! Scans servers and prints those that have players, the fullest first.
//!
//! ```sh
//! cargo run --example players                  # 200 simulated servers on loopback
//! cargo run --example players -- TARGET…       # targets as `fragscan scan` takes them
//! ```

use std::cmp::Reverse;
use std::env;
use std::error::Error;
use std::io::{self, Write};

use fragscan::config::ScanOptions;
use fragscan::output::printable;
use fragscan::run::Scan;

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ScanOptions::default();
    options.input.targets = env::args().skip(1).collect();
    if options.input.targets.is_empty() {
        // `farm:N` starts N simulated servers, which are gone after the scan.
        options.input.targets.push("farm:200".into());
    }

    let mut servers = Vec::new();
    let outcome = Scan::new(options)
        // One record for each target, also for those that do not answer. The callback runs on a thread of the scan and may
        // borrow: `run` returns after the last record.
        .for_each(|record| {
            // A protocol may know a better number than the count that the server sends; absent if no answer came.
            let players = record.players_best.unwrap_or(0);
            if players > 0 {
                let name = record.name.as_str().unwrap_or_default();
                servers.push((players, record.max_players_best, record.address, name.to_owned()));
            }
        })
        .run()?;

    servers.sort_by_key(|(players, _, address, _)| (Reverse(*players), *address));
    // `println!` panics when a reader such as `head` has seen enough; a locked stream is faster, too.
    let mut out = io::stdout().lock();
    for (players, slots, address, name) in servers {
        let slots = slots.map_or("?".into(), |slots| slots.to_string());
        // Whoever runs a server chooses its name, and may try to control your terminal with it.
        writeln!(out, "{:>7}  {address:<21}  {}", format!("{players}/{slots}"), printable(&name))?;
    }

    // The ledger has every target and every datagram in one of its counters. If it does not add up, that is a bug.
    let ledger = outcome.ledger();
    writeln!(out, "{} targets asked: {}", ledger.targets.finished, ledger.rows.status)?;
    for imbalance in ledger.check() {
        writeln!(out, "the ledger does not add up: {imbalance}")?;
    }
    Ok(())
}
