//! `fragscan decode`: what recorded datagrams mean, and what a scan would have written about them.

use std::collections::HashMap;
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
use crate::offline::{self, Recording, Sorted, Sorter};
use crate::output::dissection::Dissector;
use crate::output::{Destination, FileSink, Format, Look, Sink, is_stdout};
use crate::protocol::{self, AnyProtocol};
use crate::record::{QuerySet, Selection};

/// Reads the files and prints what is asked for. Of a damaged file, what stands before the damage is shown.
pub(super) fn run(args: DecodeArgs) -> Result<ExitCode, Error> {
    let DecodeConfig { files, form, protocol } = config::decode(args)?;
    let mut read = Vec::new();
    let mut damage = None;
    for path in &files {
        let (file, result) = read_file(path)?;
        read.push(file);
        if let Err(error) = result {
            damage = Some(error);
            break;
        }
    }
    let code = match form {
        Form::Dissection(style) => {
            let width = terminal_size::terminal_size().map(|(width, _)| width.0);
            dissect(&read, protocol, Dissector::new(style, width))
        }
        Form::Rows { format, selection, queries } => rows(read, protocol, queries, format, selection.as_ref()),
    }?;
    damage.map_or(Ok(code), Err)
}

/// What a file holds.
struct Reading {
    datagrams: Vec<Datagram>,
    /// What its servers were asked, if it says so.
    queries: Option<QuerySet>,
}

/// Reads a file up to what cannot be read of it. Bad hex is the user's mistake, and nothing is shown.
fn read_file(path: &Path) -> Result<(Reading, Result<(), Error>), Error> {
    let name = if is_stdout(path) { "standard input".into() } else { path.display().to_string() };
    let input: Box<dyn Read> = if is_stdout(path) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(|source| Error::Input { name: name.clone(), source })?)
    };
    let mut capture = capture::open(&name, input)?;
    let mut datagrams = Vec::new();
    let mut result = Ok(());
    for datagram in &mut capture {
        match datagram {
            Ok(datagram) => datagrams.push(datagram),
            Err(error @ capture::Error::Hex { .. }) => return Err(error.into()),
            Err(error) => result = Err(error.into()),
        }
    }
    let skipped = capture.skipped();
    if skipped.total() > 0 {
        say(&format_args!("{name}: {skipped}"));
    }
    let queries = capture.comment().and_then(|comment| comment.parse().ok());
    Ok((Reading { datagrams, queries }, result))
}

fn rows(
    read: Vec<Reading>,
    protocol: Option<AnyProtocol>,
    queries: Option<QuerySet>,
    format: Format,
    selection: Option<&Selection>,
) -> Result<ExitCode, Error> {
    let said = read.iter().map(|file| file.queries).reduce(|all, more| Some(all?.union(more?))).flatten();
    let mut recordings = sort(read.into_iter().map(|file| file.datagrams));
    // List servers are no targets of a scan either.
    recordings.retain(|recording| {
        protocol.is_some() || offline::recognise_among(protocol::all(), recording).lists().is_none()
    });
    let format = format.writer(selection, Look::default());
    let mut sink = FileSink::new(format, Destination::stdout());
    let (now, _) = read_clocks();
    let mut result = Ok(());
    offline::records(&recordings, protocol, queries.or(said), now, |record| {
        if result.is_ok() {
            result = sink.record(record);
        }
    });
    result?;
    sink.commit()?;
    Ok(ExitCode::SUCCESS)
}

fn sort(files: impl Iterator<Item = Vec<Datagram>>) -> Vec<Recording> {
    let mut sorter = Sorter::default();
    for file in files {
        for datagram in file {
            sorter.push(datagram);
        }
        sorter.next_file();
    }
    let Sorted { recordings, strangers, left_out } = sorter.finish();
    if left_out > 0 {
        say(&format_args!("{left_out} datagrams left out: their servers sent thousands of others before"));
    }
    if strangers > 0 {
        say(&format_args!("{strangers} addresses left out: they speak no protocol that is known here"));
    }
    recordings
}

fn dissect(files: &[Reading], protocol: Option<AnyProtocol>, mut dissector: Dissector) -> Result<ExitCode, Error> {
    print(|out| {
        for Reading { datagrams, .. } in files {
            // Without addresses a file holds one server; with them, each is recognised by all that it sent.
            let recordings = sort(std::iter::once(datagrams.clone()));
            let speaks =
                |server: &Recording| protocol.unwrap_or_else(|| offline::recognise_among(protocol::all(), server));
            let servers: HashMap<_, _> = recordings.iter().map(|server| (server.address, speaks(server))).collect();
            for datagram in datagrams {
                let of_server = servers.get(&datagram.from).or_else(|| servers.get(&datagram.to));
                let Some(&protocol) = of_server else { continue };
                let is_request = offline::is_request(datagram.direction, &datagram.data);
                let protocol = if is_request { offline::asked_in(protocol, &datagram.data) } else { protocol };
                dissector.datagram(datagram, is_request, protocol);
                out.write_all(dissector.take().as_bytes())?;
            }
            dissector.end_of_file();
            out.write_all(dissector.take().as_bytes())?;
        }
        Ok(())
    })
}
