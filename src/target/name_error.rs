//! Why a name led to no address.

use std::fmt;

/// Why a name led to no address. Of two reasons the greater one says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameError {
    /// It was not looked up: a dry run asks no name server.
    NotAsked,
    /// No name server answered this name; others were answered.
    Silence,
    /// No name server answered any name at that time.
    NoServer,
    /// The name servers could not or would not say (`SERVFAIL`, `REFUSED` and the like).
    ServerFailure,
    /// The name does not exist.
    NxDomain,
    /// The name exists and has no address of a family that is wanted.
    NoAddress,
    /// Its only address is 0.0.0.0 or ::, as filters answer for what they block.
    Blocked,
}

impl NameError {
    /// The words for it in the column `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAsked => "not asked",
            Self::Silence => "silence",
            Self::NoServer => "no name server",
            Self::ServerFailure => "server failure",
            Self::NxDomain => "NXDOMAIN",
            Self::NoAddress => "no address",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
