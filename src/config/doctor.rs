//! The arguments of `fragscan doctor`.

use super::limits::{self, DEFAULT_RATE};
use crate::cli::DoctorArgs;
use crate::doctor::Workload;
use crate::error::Error;

/// What `fragscan doctor` does.
#[derive(Debug)]
pub struct DoctorConfig {
    /// The scan that is meant to run.
    pub workload: Workload,
    /// The interface to look at, if it was named.
    pub interface: Option<String>,
    /// How the findings are printed.
    pub form: DoctorForm,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorForm {
    /// A line each, for a person.
    Text,
    /// An array of objects.
    Json,
}

/// Reads the arguments of `fragscan doctor`.
pub fn doctor(args: DoctorArgs) -> Result<DoctorConfig, Error> {
    let form = match args.format.as_str() {
        "text" => DoctorForm::Text,
        "json" => DoctorForm::Json,
        other => return Err(Error::usage(format!("--format: {other:?} is no format: write text or json"))),
    };
    let rate = match &args.rate {
        Some(text) => limits::adaptive_rate(text)?.0.per_second(),
        None => Some(DEFAULT_RATE),
    };
    let (window, _) = limits::adaptive_window(&args.window)?;
    Ok(DoctorConfig { workload: Workload { rate, window }, interface: args.interface, form })
}
