//! Standard input as a stream: a thread reads it and sends what it names, as long as somebody takes it.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::thread;

use crossbeam_channel::{Receiver, SendError, Sender, bounded};

use super::input::{MOST_COMPLAINTS, Reading, each_line, named};
use crate::error::Error;
use crate::output::Filter;
use crate::target::listing::Listing;
use crate::target::stream::Item;
use crate::target::{IpRange, Ports, Target, TargetSpec};

/// Starts the thread; `complain` is told of the first lines that cannot be read.
pub(super) fn start(
    reading: Reading,
    filter: Filter,
    origin: u32,
    complain: impl Fn(&dyn Display) + Send + 'static,
) -> io::Result<Receiver<Item>> {
    let (sender, items) = bounded(WAITING);
    thread::Builder::new().name("stdin".into()).spawn(move || {
        if let Err(error) = read(&reading, &filter, origin, &complain, &sender)
            && !matches!(error, Error::Bug(_))
        {
            complain(&error);
        }
    })?;
    Ok(items)
}

fn read(
    reading: &Reading,
    filter: &Filter,
    origin: u32,
    complain: &dyn Fn(&dyn Display),
    sender: &Sender<Item>,
) -> Result<(), Error> {
    let mut listing = Listing::default();
    let mut bad = 0_usize;
    each_line(Path::new("-"), |number, line| {
        let understood = named(&mut listing, filter, line).and_then(|text| {
            let Some(text) = text else { return Ok(None) };
            let spec = TargetSpec::parse(&text).map_err(|reason| reason.to_string())?;
            reading.read(&spec).map(Some)
        });
        let sent = match understood {
            Ok(None) => Ok(()),
            Ok(Some((range, ports, plan))) => send(range, &ports, plan, origin, sender),
            Err(reason) => {
                bad += 1;
                if bad <= MOST_COMPLAINTS {
                    complain(&format_args!("-:{number}: {reason}"));
                }
                sender.send(Item::Bad)
            }
        };
        // The scan is over, and nobody takes targets any more.
        sent.map_err(|_| Error::Bug("the scan ended before its input"))
    })?;
    if bad > MOST_COMPLAINTS {
        complain(&format_args!("{} more lines cannot be read", bad - MOST_COMPLAINTS));
    }
    Ok(())
}

/// Sends each address on each port; waits while too many are under way.
fn send(range: IpRange, ports: &Ports, plan: u16, origin: u32, sender: &Sender<Item>) -> Result<(), SendError<Item>> {
    let each = |ip: IpAddr| {
        ports
            .iter()
            .try_for_each(|port| sender.send(Item::Target(Target { address: SocketAddr::new(ip, port), plan, origin })))
    };
    match (range.first(), range.last()) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            (first.to_bits()..=last.to_bits()).try_for_each(|ip| each(Ipv4Addr::from_bits(ip).into()))
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            (first.to_bits()..=last.to_bits()).try_for_each(|ip| each(Ipv6Addr::from_bits(ip).into()))
        }
        _ => Ok(()),
    }
}

/// Targets that were read and not taken.
const WAITING: usize = 1 << 14;
