//! Where rows go: a file that takes its name when it is complete, or a stream.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Somewhere to write to.
pub struct Destination {
    name: String,
    kind: Kind,
    /// Bytes that are there for certain, all of them whole lines.
    written: u64,
    digest: Sha256,
}

enum Kind {
    /// A regular file, written under another name.
    File { file: File, partial: PathBuf, path: PathBuf },
    /// A device, a pipe or the like, written directly.
    Stream(Box<dyn Write + Send>),
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
            kind: Kind::Stream(Box::new(io::stdout())),
            written: 0,
            digest: Sha256::new(),
        }
    }

    /// The file at `path`: a regular one is written as `FILE.partial` until [`Destination::commit`], so that an earlier
    /// file stays whole until there is a better one.
    pub fn file(path: &Path) -> Result<Self, OutputError> {
        let name = path.display().to_string();
        let failed = |operation| move |source| OutputError { operation, name: path.display().to_string(), source };
        let special = path.starts_with("/dev") || path.starts_with("/proc");
        let kind = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(failed("opening")(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            Ok(metadata) if special || !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed("opening"))?;
                Kind::Stream(Box::new(file))
            }
            found => {
                // A link is followed, so that the file it names is replaced and not the link.
                let path =
                    if found.is_ok() { fs::canonicalize(path).map_err(failed("finding"))? } else { path.to_owned() };
                let partial = suffixed(&path, PARTIAL);
                let file = File::create(&partial).map_err(|source| OutputError {
                    operation: "creating",
                    name: partial.display().to_string(),
                    source,
                })?;
                Kind::File { file, partial, path }
            }
        };
        Ok(Self { name, kind, written: 0, digest: Sha256::new() })
    }

    /// Writes whole lines. If a file cannot take all of them, what it took of them is cut off again.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        let result = match &mut self.kind {
            Kind::Stream(stream) => stream.write_all(lines).and_then(|()| stream.flush()),
            Kind::File { file, .. } => file.write_all(lines).inspect_err(|_| {
                // If even this fails, the error that is reported is still the first one.
                let _ = file.set_len(self.written);
            }),
        };
        match result {
            Ok(()) => {
                self.written += lines.len() as u64;
                self.digest.update(lines);
                Ok(())
            }
            Err(source) => Err(OutputError { operation: "writing to", name: self.place(), source }),
        }
    }

    /// Gives a complete file its name.
    pub fn commit(&mut self) -> Result<(), OutputError> {
        match &self.kind {
            Kind::Stream(_) => Ok(()),
            Kind::File { file, partial, path } => file
                .sync_all()
                .and_then(|()| fs::rename(partial, path))
                .map_err(|source| OutputError { operation: "completing", name: self.name.clone(), source }),
        }
    }

    /// SHA-256 of everything that was written, in hex.
    #[must_use]
    pub fn sha256(&self) -> String {
        format!("{:x}", self.digest.clone().finalize())
    }

    /// What the user calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the rows are at the moment.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.kind {
            Kind::Stream(_) => self.name.clone(),
            Kind::File { partial, .. } => partial.display().to_string(),
        }
    }

    /// The path under which a complete file will stand; `None` for a stream.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Stream(_) => None,
            Kind::File { path, .. } => Some(path),
        }
    }
}

/// `path` with `suffix` behind its whole name.
pub(super) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

const PARTIAL: &str = ".partial";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_file_stays_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.csv");
        fs::write(&path, "old\n").unwrap();
        let mut destination = Destination::file(&path).unwrap();
        destination.write(b"new\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
        assert_eq!(destination.place(), format!("{}.partial", path.display()));
        destination.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
        assert!(!suffixed(&path, PARTIAL).exists());
    }

    #[test]
    fn a_linked_file_is_replaced_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.csv"), folder.path().join("link.csv"));
        fs::write(&real, "old\n").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut destination = Destination::file(&link).unwrap();
        destination.write(b"new\n").unwrap();
        destination.commit().unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new\n");
        assert!(link.is_symlink());
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
    fn a_folder_or_a_missing_one_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Destination::file(folder.path()).is_err());
        assert!(Destination::file(&folder.path().join("missing/servers.csv")).is_err());
    }
}
