//! What is known when a run is over.

use crate::error::Error;
use crate::input::InputDigest;
use crate::ledger::{Latency, Ledger};
use crate::net::driver::Stop;
use crate::net::socket::Granted;
use crate::output::metadata::Metadata;
use crate::output::{ListReport, OutputError};
use crate::target::Tally;

/// What is known when a run is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Why it ended before every target was asked, if it did.
    pub stop: Option<Stop>,
    /// The output that failed. Others have what was known by then.
    pub error: Option<OutputError>,
    /// No target was asked, and nothing is left of the run.
    pub is_empty: bool,
    /// It came to its end, and the outputs have their names.
    pub is_complete: bool,
    /// Nobody wanted further records.
    pub is_closed: bool,
    pub(crate) metadata: Metadata<Vec<InputDigest>, Option<Granted>>,
    /// The metadata could not be written.
    pub(crate) metadata_error: Option<OutputError>,
    pub(crate) tally: Tally,
}

impl Outcome {
    /// Returns the outcome itself, or an error if the ledger does not add up, or if an output or the metadata could not
    /// be written. A run that was stopped early is not an error.
    pub fn into_result(mut self) -> Result<Self, Error> {
        let imbalances: Vec<_> = self.ledger().check().iter().map(ToString::to_string).collect();
        if !imbalances.is_empty() {
            return Err(Error::Ledger(imbalances.join("; ")));
        }
        self.error.take().or(self.metadata_error.take()).map_or(Ok(self), |error| Err(error.into()))
    }

    /// Where every target and every datagram went.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.metadata.ledger
    }

    /// Round-trip times of all that answered.
    #[must_use]
    pub fn latency(&self) -> &Latency {
        &self.metadata.rtt_ms
    }

    /// How the lists have ended.
    #[must_use]
    pub fn lists(&self) -> &[ListReport] {
        &self.metadata.lists
    }
}
