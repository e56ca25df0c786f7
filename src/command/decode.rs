//! `fragscan decode`: what recorded datagrams mean, and what a scan would have written about them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use super::{print, say};
use crate::capture::{self, Datagram};
use crate::cli::DecodeArgs;
use crate::config::{self, DecodeConfig, Form};
use crate::error::Error;
use crate::net::driver::read_clocks;
use crate::offline::{self, Recording, Sorter};
use crate::output::dissection::Dissector;
use crate::output::is_stdout;
use crate::output::table::Look;
use crate::protocol::AnyProtocol;

/// Reads the files and prints what is asked for. Of a damaged file, what stands before the damage is shown.
pub(super) fn run(args: DecodeArgs) -> Result<ExitCode, Error> {
    let DecodeConfig { files, form, protocol } = config::decode(args)?;
    let mut datagrams = Vec::new();
    let mut damage = None;
    for file in &files {
        let mut read = Vec::new();
        match read_file(file, &mut read) {
            Err(error @ Error::Capture(capture::Error::Hex { .. })) => return Err(error),
            Err(error) => damage = Some(error),
            Ok(()) => {}
        }
        datagrams.push(read);
        if damage.is_some() {
            break;
        }
    }
    let code = match form {
        Form::Dissection(style) => {
            let width = terminal_size::terminal_size().map(|(width, _)| width.0);
            dissect(&datagrams, protocol, Dissector::new(style, width))
        }
        Form::Rows { format, selection, queries } => {
            let recordings = sort(datagrams.into_iter());
            let mut rows = format.writer(selection.as_ref(), Look { width: 0, colour: false });
            print(|out| {
                let mut buffer = Vec::new();
                let mut result = Ok(());
                let (now, _) = read_clocks();
                offline::records(&recordings, protocol, queries, now, |record| {
                    rows.row(record);
                    if rows.len() >= ENOUGH && result.is_ok() {
                        rows.take(&mut buffer);
                        result = out.write_all(&buffer);
                    }
                });
                result?;
                rows.take(&mut buffer);
                out.write_all(&buffer)
            })
        }
    }?;
    damage.map_or(Ok(code), Err)
}

/// Adds the datagrams of a file to `datagrams`, up to what cannot be read.
fn read_file(path: &Path, datagrams: &mut Vec<Datagram>) -> Result<(), Error> {
    let name = if is_stdout(path) { "standard input".into() } else { path.display().to_string() };
    let input: Box<dyn Read> = if is_stdout(path) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(|source| Error::Input { name: name.clone(), source })?)
    };
    let mut capture = capture::open(&name, input)?;
    for datagram in &mut capture {
        datagrams.push(datagram?);
    }
    let skipped = capture.skipped();
    if skipped.total() > 0 {
        say(&format_args!("{name}: {skipped}"));
    }
    Ok(())
}

fn sort(files: impl Iterator<Item = Vec<Datagram>>) -> Vec<Recording> {
    let mut sorter = Sorter::default();
    for file in files {
        for datagram in file {
            sorter.push(datagram);
        }
        sorter.next_file();
    }
    sorter.finish()
}

fn dissect(
    files: &[Vec<Datagram>],
    protocol: Option<AnyProtocol>,
    mut dissector: Dissector,
) -> Result<ExitCode, Error> {
    print(|out| {
        for file in files {
            // Without addresses a file holds one server; with them, each is recognised by all that it sent.
            let recordings = sort(std::iter::once(file.clone()));
            let recognised = |datagram: &Datagram| {
                let mut servers = recordings.iter();
                let server = servers.find(|server| [datagram.from, datagram.to].contains(&server.address));
                protocol.or_else(|| server.map(offline::recognise))
            };
            for datagram in file {
                let Some(protocol) = recognised(datagram) else { continue };
                let is_request = offline::is_request(datagram.direction, &datagram.data);
                dissector.datagram(datagram, is_request, protocol);
                out.write_all(dissector.take().as_bytes())?;
            }
            dissector.end_of_file();
            out.write_all(dissector.take().as_bytes())?;
        }
        Ok(())
    })
}

/// Bytes that are worth a write.
const ENOUGH: usize = 64 << 10;
