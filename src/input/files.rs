//! Files of targets: plain or packed, and digested as they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::formats::{self, Context, Entry, Stop, Take};
use crate::error::Error;

/// What a file held when it was read.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InputDigest {
    /// The file.
    pub name: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// A file that was read to its end.
#[derive(Debug)]
pub(super) struct FileRead {
    pub digest: InputDigest,
    /// What to say of a file that names nothing.
    pub emptiness: Option<String>,
}

/// Calls `take` with everything that a file names. `-` is standard input.
pub(super) fn each_entry(path: &Path, context: &Context<'_>, take: &mut Take<'_>) -> Result<FileRead, Error> {
    let name = path.display().to_string();
    let failed = |source| Error::Input { name: path.display().to_string(), source };
    let reader: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
    let mut digest = Sha256::new();
    let bytes = BufReader::with_capacity(BUFFER, Digested { reader, digest: &mut digest });
    let mut bytes = unpacked(bytes).map_err(failed)?;
    let is_empty = bytes.fill_buf().map_err(failed)?.is_empty();
    let mut names_any = false;
    let mut counted = |number: u64, entry: Result<Entry<'_>, String>| {
        names_any = true;
        take(number, entry)
    };
    formats::read(&mut *bytes, context, &mut counted).map_err(|stop| match stop {
        Stop::Reader(error) => failed(error),
        Stop::Taker(error) => error,
    })?;
    drop(bytes);
    let shown = if path == Path::new("-") { "standard input" } else { &name };
    let emptiness = match (names_any, is_empty) {
        (true, _) => None,
        (false, true) => Some(format!("{shown}: the file is empty")),
        (false, false) => Some(format!("{shown}: no targets found")),
    };
    Ok(FileRead { digest: InputDigest { name, sha256: format!("{:x}", digest.finalize()) }, emptiness })
}

/// What is packed in `bytes`, or `bytes`: gzip and Zstandard are known by their first bytes.
fn unpacked<'a>(mut bytes: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let head = bytes.fill_buf()?;
    Ok(if head.starts_with(b"\x1F\x8B") {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(bytes)))
    } else if head.starts_with(b"\x28\xB5\x2F\xFD") {
        Box::new(BufReader::with_capacity(BUFFER, zstd::Decoder::with_buffer(bytes)?))
    } else {
        Box::new(bytes)
    })
}

/// A reader that digests what it reads.
struct Digested<'a> {
    reader: Box<dyn Read>,
    digest: &'a mut Sha256,
}

impl Read for Digested<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.reader.read(buffer)?;
        self.digest.update(&buffer[..size]);
        Ok(size)
    }
}

const BUFFER: usize = 64 << 10;
