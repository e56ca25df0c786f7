//! The arguments of `fragscan doctor`.

use super::limits::{self, DEFAULT_RATE};
use crate::cli::DoctorArgs;
use crate::cli::choice::DoctorFormat;
use crate::doctor::Workload;
use crate::error::Error;

/// What `fragscan doctor` does.
#[derive(Debug)]
pub(crate) struct DoctorConfig {
    /// The scan that is meant to run.
    pub workload: Workload,
    /// The interface to look at, if it was named.
    pub interface: Option<String>,
    /// How the findings are printed.
    pub format: DoctorFormat,
}

/// Reads the arguments of `fragscan doctor`.
pub(crate) fn doctor(args: DoctorArgs) -> Result<DoctorConfig, Error> {
    let rate = match &args.rate {
        Some(text) => limits::adaptive_rate(text)?.0.per_second(),
        None => Some(DEFAULT_RATE),
    };
    let (window, _) = limits::adaptive_window(&args.window)?;
    Ok(DoctorConfig { workload: Workload { rate, window }, interface: args.interface, format: args.format })
}
