//! Gives the records of a scan to your own sink, which counts servers and players by map.
//!
//! ```sh
//! cargo run --example own_sink                 # 200 simulated servers on loopback
//! cargo run --example own_sink -- TARGET…      # targets as `fragscan scan` takes them
//! ```

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::io::{self, Write};

use fragscan::config::ScanOptions;
use fragscan::output::{OutputError, Sink, printable};
use fragscan::record::ServerRecord;
use fragscan::run::Scan;

/// Servers and players on each map.
#[derive(Default)]
struct ByMap {
    maps: BTreeMap<String, (u64, u64)>,
    records: u64,
    is_complete: bool,
}

impl Sink for ByMap {
    /// Called for each record, on a thread of the scan. An error would end the scan.
    fn record(&mut self, record: &ServerRecord) -> Result<(), OutputError> {
        self.records += 1;
        // Servers that did not answer have no map.
        if let Some(map) = record.map.as_str() {
            let (servers, players) = self.maps.entry(map.to_owned()).or_default();
            *servers += 1;
            *players += u64::from(record.players.unwrap_or(0));
        }
        Ok(())
    }

    /// The ledger compares this with the records that were given to the sink: what is missing was lost.
    fn written(&self) -> u64 {
        self.records
    }

    /// Called once, if the scan reaches its end. A sink with a file would give it its final name here.
    fn commit(&mut self) -> Result<(), OutputError> {
        self.is_complete = true;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ScanOptions::default();
    options.input.targets = env::args().skip(1).collect();
    if options.input.targets.is_empty() {
        options.input.targets.push("farm:200".into());
    }
    let mut sink = ByMap::default();
    // If an output fails, the scan ends, and its account is still useful. `into_result` turns the failure into an
    // error.
    let outcome = Scan::new(options).with_sink(&mut sink).run()?.into_result()?;

    let mut out = io::stdout().lock();
    for (map, (servers, players)) in &sink.maps {
        writeln!(out, "{servers:>4} servers  {players:>5} players  {}", printable(map))?;
    }
    let ledger = outcome.ledger();
    let end = if sink.is_complete { "complete" } else { "incomplete" };
    writeln!(out, "{end}: {} records, {} lost", ledger.rows.written, ledger.rows.unwritten)?;
    Ok(())
}
