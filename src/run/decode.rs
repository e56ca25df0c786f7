//! Recorded datagrams: read from files, and given to a sink as the records that a scan would have made of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::scan::Notices;
use crate::capture::{self, Datagram};
use crate::error::Error;
use crate::net::driver::read_clocks;
use crate::offline::{self, Recording, Sorted, Sorter};
use crate::output::{OutputError, Sink, is_stdout};
use crate::protocol::{self, AnyProtocol};
use crate::record::QuerySet;

/// The contents of files of datagrams.
pub(crate) struct Captured {
    /// The files, up to the first that is damaged.
    pub files: Vec<CapturedFile>,
    /// Why the rest of the last one cannot be read.
    pub damage: Option<Error>,
}

/// The contents of a file.
pub(crate) struct CapturedFile {
    /// Its datagrams, in their order.
    pub datagrams: Vec<Datagram>,
    /// What its servers were asked, if it says so.
    queries: Option<QuerySet>,
}

impl Captured {
    /// Reads the files at `paths`, of which `-` is standard input. Invalid hex is the user's mistake: then nothing is
    /// read.
    pub(crate) fn read(paths: &[PathBuf], notices: &Notices) -> Result<Self, Error> {
        let mut captured = Self { files: Vec::new(), damage: None };
        for path in paths {
            let (file, damage) = read_file(path, notices)?;
            captured.files.push(file);
            captured.damage = damage;
            if captured.damage.is_some() {
                break;
            }
        }
        Ok(captured)
    }

    /// Gives `sink` one record for each server. If no protocol is given, each server's is recognised. If no queries are
    /// given, they are those that the files say, or else those that any server answered.
    pub(crate) fn records(
        self,
        protocol: Option<AnyProtocol>,
        queries: Option<QuerySet>,
        sink: &mut dyn Sink,
        notices: &Notices,
    ) -> Result<(), OutputError> {
        let said = self.files.iter().map(|file| file.queries).reduce(|all, more| Some(all?.union(more?))).flatten();
        let mut recordings = sort(self.files.into_iter().map(|file| file.datagrams), notices);
        // List servers are no targets of a scan either.
        recordings.retain(|recording| {
            protocol.is_some() || offline::recognise_among(protocol::all(), recording).lists().is_none()
        });
        let (now, _) = read_clocks();
        let mut result = Ok(());
        offline::records(&recordings, protocol, queries.or(said), now, |record| {
            if result.is_ok() {
                result = sink.record(record);
            }
        });
        result?;
        sink.commit()
    }
}

/// Reads a file as far as it can be read.
fn read_file(path: &Path, notices: &Notices) -> Result<(CapturedFile, Option<Error>), Error> {
    let name = if is_stdout(path) { "standard input".into() } else { path.display().to_string() };
    let input: Box<dyn Read> = if is_stdout(path) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(|source| Error::Input { name: name.clone(), source })?)
    };
    let mut capture = capture::open(&name, input)?;
    let mut datagrams = Vec::new();
    let mut damage = None;
    for datagram in &mut capture {
        match datagram {
            Ok(datagram) => datagrams.push(datagram),
            Err(error @ capture::Error::Hex { .. }) => return Err(error.into()),
            Err(error) => damage = Some(error.into()),
        }
    }
    let skipped = capture.skipped();
    if skipped.total() > 0 {
        notices(&format_args!("{name}: {skipped}"));
    }
    let queries = capture.comment().and_then(|comment| comment.parse().ok());
    Ok((CapturedFile { datagrams, queries }, damage))
}

/// What was recorded of each server, in the datagrams of `files`.
pub(crate) fn sort(files: impl Iterator<Item = Vec<Datagram>>, notices: &Notices) -> Vec<Recording> {
    let mut sorter = Sorter::default();
    for file in files {
        for datagram in file {
            sorter.push(datagram);
        }
        sorter.next_file();
    }
    let Sorted { recordings, strangers, left_out } = sorter.finish();
    if left_out > 0 {
        notices(&format_args!("{left_out} datagrams left out: their servers sent thousands of others before"));
    }
    if strangers > 0 {
        notices(&format_args!("{strangers} addresses left out: they speak no known protocol"));
    }
    recordings
}
