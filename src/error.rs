//! The error that ends the program, with its exit code.

use std::io;
use std::process::ExitCode;

use crate::capture;
use crate::net;
use crate::output::OutputError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was typed cannot be done.
    #[error("{0}")]
    Usage(String),
    /// A file of the user's cannot be read.
    #[error("reading {name}: {source}")]
    Input {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// A file of datagrams cannot be read.
    #[error("{0}")]
    Capture(String),
    /// Rows, metadata or another output cannot be written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// Rows could not be written, and this is what is safe.
    #[error("{error}; {safe}")]
    OutputLost {
        /// What failed.
        error: OutputError,
        /// What was written before.
        safe: String,
    },
    /// The network or the system failed.
    #[error("{0}")]
    Net(#[from] net::Error),
    /// The ledger does not add up.
    #[error("the ledger does not add up ({0}); this is a bug in fragscan, please report it with the metadata file")]
    Ledger(String),
    /// Something that must not happen did.
    #[error("{0}; this is a bug in fragscan, please report it")]
    Bug(&'static str),
}

impl Error {
    /// A usage error with its explanation.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The process's exit code for it.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::Input { .. } | Self::Capture(_) => ExitCode::from(USAGE),
            Self::Output(error) if error.source.kind() == io::ErrorKind::AlreadyExists => ExitCode::from(IN_THE_WAY),
            Self::Output(_) | Self::OutputLost { .. } => ExitCode::from(OUTPUT),
            Self::Net(_) | Self::Ledger(_) | Self::Bug(_) => ExitCode::FAILURE,
        }
    }
}

impl From<capture::Error> for Error {
    fn from(error: capture::Error) -> Self {
        Self::Capture(error.to_string())
    }
}

/// Exit code of a run that could not be understood.
pub const USAGE: u8 = 2;
/// Exit code of a run that was stopped before its end.
pub const STOPPED: u8 = 3;
/// Exit code of a run whose output could not be written.
pub const OUTPUT: u8 = 4;
/// Exit code of a run that did not begin because an earlier one has left a `.partial` file.
pub const IN_THE_WAY: u8 = 6;
/// Exit code of a run in which names were given up because no name server answered.
pub const NO_NAME_SERVER: u8 = 9;
/// Exit code of a benchmark for which a condition of `--fail-if` holds.
pub const HELD: u8 = 5;
