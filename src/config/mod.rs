//! From what was typed to what is meant: arguments become settings that need no further checks.

mod auto;
mod bench;
mod decode;
mod doctor;
mod farm;
mod game;
mod input;
mod later;
mod limits;
mod lists;
mod output;
mod query;
mod scan;
mod steam;
mod value;

pub use bench::{BenchConfig, Length, ReportFormat, bench};
pub use decode::{DecodeConfig, Form, decode};
pub use doctor::{DoctorConfig, DoctorForm, doctor};
pub use farm::{FarmConfig, MasterConfig, farm};
pub use game::{GamesConfig, games};
pub use input::{AUTO, InputDigest, more_lines};
pub use lists::list;
pub use output::Output;
pub use query::{QueryFormat, query};
pub use scan::{Colour, DEFAULT_PROTOCOL, Prepared, ScanConfig, scan, what_is_left_out, why_nothing, why_unaskable};
