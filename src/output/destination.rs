//! Where rows go: a file that takes its name when it is complete, or a stream.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// Somewhere to write to.
pub struct Destination {
    name: String,
    kind: Kind,
    /// Bytes known to be written. In a file, they are whole lines; a pipe may have accepted part of a line before its reader
    /// closed it.
    written: u64,
    digest: Sha256,
}

enum Kind {
    /// A regular file, written under another name.
    File { file: File, partial: PathBuf, path: PathBuf, committed: bool },
    /// A device, a pipe or the like, written directly.
    Stream(Box<dyn Write + Send>),
}

/// What to do about the rows that an earlier run has left in `FILE.partial`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Leftover {
    /// Keep them, and do not begin.
    #[default]
    Refuse,
    /// Write over them.
    Discard,
}

/// An output that failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {name}: {source}")]
pub struct OutputError {
    /// What was being done.
    pub operation: &'static str,
    /// To which output.
    pub name: String,
    /// Why it failed.
    pub source: io::Error,
}

impl Destination {
    /// Standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self {
            name: "standard output".into(),
            kind: Kind::Stream(unbuffered_stdout()),
            written: 0,
            digest: Sha256::new(),
        }
    }

    /// Standard output for `-`, else a file.
    pub fn named(path: &Path) -> Result<Self, OutputError> {
        Self::named_beside(path, Leftover::Discard)
    }

    /// The same, where an earlier run may have left something over.
    pub(crate) fn named_beside(path: &Path, leftover: Leftover) -> Result<Self, OutputError> {
        if is_stdout(path) { Ok(Self::stdout()) } else { Self::file_beside(path, leftover) }
    }

    /// The file at `path`: a regular one is written as `FILE.partial` until [`Destination::commit`], so that an earlier
    /// file stays whole until there is a better one. What an earlier run left over under that name is discarded.
    pub fn file(path: &Path) -> Result<Self, OutputError> {
        Self::file_beside(path, Leftover::Discard)
    }

    fn file_beside(path: &Path, leftover: Leftover) -> Result<Self, OutputError> {
        let name = path.display().to_string();
        let failed = |operation| move |source| OutputError { operation, name: path.display().to_string(), source };
        let special = path.starts_with("/dev") || path.starts_with("/proc");
        let kind = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(failed("opening")(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            Ok(metadata) if special || !metadata.is_file() => {
                // What stands in a file that another name leads to (`/dev/fd/3`) is kept.
                let file = OpenOptions::new().append(true).open(path).map_err(failed("opening"))?;
                Kind::Stream(Box::new(file))
            }
            found => {
                // A link is followed, so that the file it names is replaced and not the link.
                let path = if path.is_symlink() {
                    // It may name a file that is not there yet.
                    let named = fs::read_link(path).map_err(failed("following"))?;
                    let beside = path.parent().unwrap_or(Path::new("")).join(named);
                    found.and_then(|_| fs::canonicalize(path)).unwrap_or(beside)
                } else {
                    path.to_owned()
                };
                let partial = partial(&path);
                let named = |operation| {
                    let name = partial.display().to_string();
                    move |source| OutputError { operation, name, source }
                };
                let file = create_alone(&partial).map_err(named("creating"))?;
                if leftover == Leftover::Refuse {
                    refuse_leftover(&file).map_err(named("creating"))?;
                }
                file.set_len(0).map_err(named("emptying"))?;
                if let Ok(metadata) = fs::metadata(&path) {
                    // The new file is as private as the old one. If that fails it is as private as any new file.
                    let _ = file.set_permissions(metadata.permissions());
                }
                Kind::File { file, partial, path, committed: false }
            }
        };
        Ok(Self { name, kind, written: 0, digest: Sha256::new() })
    }

    /// Writes whole lines. If a file cannot take all of them, what it took of them is cut off again.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        let (taken, result) = match &mut self.kind {
            Kind::Stream(stream) => {
                let (taken, result) = write(stream, lines);
                (taken, result.and_then(|()| stream.flush()))
            }
            Kind::File { file, .. } => match file.write_all(lines) {
                Ok(()) => (lines.len(), Ok(())),
                Err(error) => {
                    // If even this fails, the error that is reported is still the first one.
                    let _ = file.set_len(self.written);
                    (0, Err(error))
                }
            },
        };
        self.written += taken as u64;
        self.digest.update(&lines[..taken]);
        result.map_err(|source| OutputError { operation: "writing to", name: self.place(), source })
    }

    /// Bytes that were written.
    #[must_use]
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Gives a complete file its name.
    pub fn commit(&mut self) -> Result<(), OutputError> {
        let Kind::File { file, partial, path, committed } = &mut self.kind else { return Ok(()) };
        file.sync_all().and_then(|()| fs::rename(partial, path)).map_err(|source| OutputError {
            operation: "completing",
            name: self.name.clone(),
            source,
        })?;
        *committed = true;
        Ok(())
    }

    /// Leaves nothing behind of a file that was not committed.
    pub fn discard(&mut self) {
        self.written = 0;
    }

    /// SHA-256 of everything that was written, in hex.
    #[must_use]
    pub fn sha256(&self) -> String {
        format!("{:x}", self.digest.clone().finalize())
    }

    /// Where the rows are at the moment, for a message.
    #[must_use]
    pub fn place(&self) -> String {
        self.path().map_or_else(|| self.name.clone(), |path| path.display().to_string())
    }

    /// The file in which the rows are at the moment; `None` for a stream.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Stream(_) => None,
            Kind::File { path, committed: true, .. } => Some(path),
            Kind::File { partial, .. } => Some(partial),
        }
    }
}

impl Drop for Destination {
    /// A file that nothing was written to is not left behind.
    fn drop(&mut self) {
        // `written` is set back by `discard`.
        if let Kind::File { partial, committed: false, .. } = &self.kind
            && self.written == 0
        {
            // If it cannot be removed, an empty file stays; there is nobody to tell.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Writes all of `bytes`, and says how many were taken if not all were.
fn write(stream: &mut dyn Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut taken = 0;
    // Bounded: each turn takes a byte or more, or is the last; a signal interrupts a write before it takes any.
    while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
        match stream.write(rest) {
            Ok(0) => return (taken, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => taken += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (taken, Err(error)),
        }
    }
    (taken, Ok(()))
}

/// Standard output without the buffer of the standard library, which does not say what a reader that has closed its end
/// has taken.
fn unbuffered_stdout() -> Box<dyn Write + Send> {
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(File::from(descriptor)),
        // It was closed when the program began. The standard library takes what is written there.
        Err(_) => Box::new(io::stdout()),
    }
}

/// Creates a file, or opens it as it is, unless another process is writing it.
fn create_alone(path: &Path) -> io::Result<File> {
    // The name is our own: whoever has made a link of it would have another file overwritten.
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(io::Error::other("another run is writing it")),
        // A file system without locks is no reason not to write.
        Err(TryLockError::Error(_)) | Ok(()) => {}
    }
    Ok(file)
}

/// Refuses to empty a file with something in it.
fn refuse_leftover(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    if metadata.len() == 0 {
        return Ok(());
    }
    let written = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
    let when = written.map(|time| format!(", written until {time:.0}")).unwrap_or_default();
    let what = format!(
        "{} bytes of an earlier run that did not end are there{when}: move the file away, or write --if-partial discard",
        metadata.len()
    );
    Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
}

/// True for `-` and for the names by which the system knows standard output: opened by its name, a file to which it was
/// redirected would be written from its start.
#[must_use]
pub(crate) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// The name under which the file at `path` is written until it is complete.
#[must_use]
pub(crate) fn partial(path: &Path) -> PathBuf {
    suffixed(path, PARTIAL)
}

/// `path` with `suffix` after its whole name.
pub(super) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

const PARTIAL: &str = ".partial";

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_earlier_file_stays_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.csv");
        fs::write(&path, "old\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let mut destination = Destination::file(&path).unwrap();
        destination.write(b"new\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
        assert_eq!(destination.place(), format!("{}.partial", path.display()));
        destination.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
        assert!(!partial(&path).exists());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn two_runs_do_not_write_one_file_and_an_empty_one_is_not_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.csv");
        let first = Destination::file(&path).unwrap();
        let refused = Destination::file(&path).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.ends_with("servers.csv.partial: another run is writing it"), "{refused}");
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Destination::file(&path).is_ok());
    }

    #[test]
    fn a_linked_file_is_replaced_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.csv"), folder.path().join("link.csv"));
        fs::write(&real, "old\n").unwrap();
        std::os::unix::fs::symlink("real.csv", &link).unwrap();
        for there in [true, false] {
            if !there {
                fs::remove_file(&real).unwrap();
            }
            let mut destination = Destination::file(&link).unwrap();
            destination.write(b"new\n").unwrap();
            destination.commit().unwrap();
            assert_eq!(fs::read_to_string(&real).unwrap(), "new\n");
            assert!(link.is_symlink());
        }
    }

    #[test]
    fn a_device_is_written_directly_and_a_full_one_says_so() {
        let mut full = Destination::file(Path::new("/dev/full")).unwrap();
        let error = full.write(b"row\n").unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("writing to /dev/full: "), "{error}");
        assert!(Destination::file(Path::new("/dev/null")).unwrap().write(b"row\n").is_ok());
    }

    #[test]
    fn what_a_pipe_took_before_it_was_closed_is_counted() {
        struct Pipe(usize);
        impl Write for Pipe {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let count = bytes.len().min(self.0).min(5);
                self.0 -= count;
                if count == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(count) }
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut destination = Destination::stdout();
        destination.kind = Kind::Stream(Box::new(Pipe(16)));
        destination.write(b"one\ntwo\n").unwrap();
        let error = destination.write(b"three\nfour\n").unwrap_err();
        assert_eq!((error.source.kind(), destination.written()), (io::ErrorKind::BrokenPipe, 16));
        assert_eq!(destination.sha256(), format!("{:x}", Sha256::digest(b"one\ntwo\nthree\nfo")));
    }

    #[test]
    fn a_folder_or_a_missing_one_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Destination::file(folder.path()).is_err());
        assert!(Destination::file(&folder.path().join("missing/servers.csv")).is_err());
    }
}
