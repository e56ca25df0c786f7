//! Drives the engine of a scan by hand, in virtual time: no socket and no thread.
//!
//! The first datagram is lost, so the engine sends it again; the server wants a challenge sent back, and then answers.
//!
//! ```sh
//! cargo run --example sans_io
//! ```
#![expect(clippy::disallowed_methods, reason = "virtual time has to begin somewhere; nothing looks at the clock again")]

use std::error::Error;
use std::io::{self, Write};
use std::mem;
use std::time::Instant;

use fragscan::config::Limits;
use fragscan::engine::{Engine, Plan};
use fragscan::output::printable;
use fragscan::protocol;
use fragscan::record::ServerRecord;
use fragscan::target::Target;

/// Asks the client to send four bytes, `abcd`, at the end of its request.
const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFAabcd";
/// Answers a request that ends with them.
const INFO: &[u8] =
    b"\xFF\xFF\xFF\xFFI\x11Surf Free\0surf_ski\0cstrike\0Counter-Strike\0\xF0\0\x0C\x18\x02dl\0\x011.0\0";

fn main() -> Result<(), Box<dyn Error>> {
    let a2s = protocol::by_name("a2s").expect("it is in the registry");
    let plan = Plan::of(a2s);
    // As fast as it can, with the usual time-outs; everything random derives from the seed, 1.
    let settings = Limits::default().settings(true, 1);
    // An address for documentation: nothing is sent to it.
    let target = Target { address: "192.0.2.1:27015".parse()?, plan: 0, origin: 0 };

    let began = Instant::now();
    let mut now = began;
    let mut engine = Engine::new(settings, [plan.clone()].into(), Box::new(vec![target].into_iter()), now);
    let mut out = io::stdout().lock();
    let mut request = Vec::new();
    let mut reply = None;
    let mut is_lost = true;
    // Each turn: deadlines, then all that may leave, then what came back. It ends because each target has a time limit.
    while !engine.is_done() {
        engine.handle_timeout(now);
        while let Some(transmit) = engine.poll_transmit(now, &mut request) {
            writeln!(out, "{:>6} ms  {} bytes to {}", (now - began).as_millis(), transmit.size, transmit.to)?;
            if !mem::take(&mut is_lost) {
                reply = Some(if request.ends_with(b"abcd") { INFO } else { CHALLENGE });
            }
            request.clear();
        }
        if let Some(reply) = reply.take() {
            writeln!(out, "{:>6} ms  {} bytes from {}", (now - began).as_millis(), reply.len(), target.address)?;
            // Returns the reason if the engine has no use for a datagram. Nothing that a server sends is an error.
            let _ = engine.handle_datagram(now, now, target.address, reply);
        }
        // The engine names the moment from which it wants to be called again.
        now = engine.poll_timeout(now).map_or(now, |at| at.max(now));
    }

    // Finished targets come in batches, with their answers as they were received.
    let mut record = ServerRecord::new();
    while let Some(batch) = engine.poll_finished(now) {
        for finished in batch.iter() {
            let mut answers = Vec::new();
            batch.answers(finished, &mut answers);
            a2s.decode(&answers, &plan.ask(a2s, &settings, finished.address), &mut record);
            let name = printable(record.name.as_str().unwrap_or_default());
            writeln!(out, "{}: {}, {} sent, {name}", finished.address, finished.status, finished.sent)?;
        }
    }
    Ok(())
}
