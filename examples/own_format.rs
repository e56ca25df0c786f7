//! Writes the records of a scan in your own format: one JSON array, which has a beginning and an end.
//!
//! ```sh
//! cargo run --example own_format               # to standard output
//! cargo run --example own_format -- FILE       # to FILE, which gets that name once it is complete
//! ```

use std::env;
use std::error::Error;
use std::mem;
use std::path::Path;

use fragscan::config::ScanOptions;
use fragscan::output::{Destination, FileSink, RowFormat};
use fragscan::record::ServerRecord;
use fragscan::run::Scan;
use serde_json::json;

/// Turns records into bytes. A [`FileSink`] takes them from time to time and writes them.
struct JsonArray {
    bytes: Vec<u8>,
    is_first: bool,
}

impl RowFormat for JsonArray {
    fn row(&mut self, record: &ServerRecord) {
        self.bytes.extend_from_slice(if mem::take(&mut self.is_first) { b"[\n  " } else { b",\n  " });
        // JSON escapes what is special in the texts of servers.
        let object = json!({
            "address": record.address.to_string(),
            "status": record.status.as_str(),
            "name": record.name.as_str(),
            "map": record.map.as_str(),
            "players": record.players,
            "rtt_ms": record.rtt_us.map(|us| f64::from(us) / 1000.0),
        });
        self.bytes.extend_from_slice(object.to_string().as_bytes());
    }

    /// Ends the array. A run that is cut short does not write this, so that no reader mistakes a part for the whole.
    fn finish(&mut self) {
        self.bytes.extend_from_slice(if self.is_first { b"[]\n" } else { b"\n]\n" });
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Hands the bytes over and keeps the other buffer, whose capacity is reused.
    fn take(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        mem::swap(buffer, &mut self.bytes);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ScanOptions::default();
    options.input.targets.push("farm:200".into());
    let destination = match env::args().nth(1) {
        // As FILE.partial until it is complete, and with FILE.meta.json beside it.
        Some(file) => Destination::file(Path::new(&file))?,
        None => Destination::stdout(),
    };
    let format = JsonArray { bytes: Vec::new(), is_first: true };
    // `into_result`, because a file that could not be written is not an error of the scan itself.
    Scan::new(options).with_sink(FileSink::new(Box::new(format), destination)).run()?.into_result()?;
    Ok(())
}
