//! `fragscan decode`: what recorded datagrams mean, and what a scan would have written about them.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;

use super::{print, say};
use crate::cli::DecodeArgs;
use crate::config::{self, DecodeConfig, Form};
use crate::error::Error;
use crate::offline::{self, Recording};
use crate::output::dissection::Dissector;
use crate::output::table::Look;
use crate::output::{Destination, FileSink};
use crate::protocol::{self, AnyProtocol};
use crate::run::Notices;
use crate::run::decode::{Captured, CapturedFile, sort};

/// Reads the files and prints what is asked for. Of a damaged file, what stands before the damage is shown.
pub(super) fn run(args: DecodeArgs) -> Result<ExitCode, Error> {
    let DecodeConfig { files, form, protocol } = config::decode(args)?;
    let notices: Notices = Arc::new(|line| say(line));
    let mut captured = Captured::read(&files, &notices)?;
    let damage = captured.damage.take();
    match form {
        Form::Dissection(style) => {
            let width = terminal_size::terminal_size().map(|(width, _)| width.0);
            dissect(&captured.files, protocol, Dissector::new(style, width), &notices)?;
        }
        Form::Rows { format, selection, queries } => {
            let rows = format.writer(selection.as_ref(), Look { width: 0, colour: false });
            captured.records(protocol, queries, &mut FileSink::new(rows, Destination::stdout()), &notices)?;
        }
    }
    damage.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn dissect(
    files: &[CapturedFile],
    protocol: Option<AnyProtocol>,
    mut dissector: Dissector,
    notices: &Notices,
) -> Result<ExitCode, Error> {
    print(|out| {
        for CapturedFile { datagrams, .. } in files {
            // Without addresses a file holds one server; with them, each is recognised by all that it sent.
            let recordings = sort(std::iter::once(datagrams.clone()), notices);
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
