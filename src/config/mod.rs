//! From what was typed to what is meant: arguments become options that need no further checks.
//!
//! Nothing here looks at a file, a socket or the clock: what depends on those is decided by `input` and `run`.

mod bench;
mod choice;
mod decode;
mod doctor;
mod farm;
mod game;
mod limits;
mod list;
mod options;
mod output;
mod protocol;
mod query;
mod scan;
mod value;

pub use bench::{BenchConfig, Length, bench};
pub use decode::{DecodeConfig, Form, decode};
pub use doctor::{DoctorConfig, doctor};
pub use farm::{FarmConfig, MasterConfig, farm, farm_target};
pub use game::{GamesConfig, games};
pub use limits::Limits;
pub use list::list;
pub use options::{InputOptions, NetworkOptions, Output, OutputOptions, ScanOptions, Spoken, SteamOptions};
pub use protocol::{AUTO, server_protocol, usual_protocol};
pub use query::query;
pub use scan::{Messages, ScanConfig, scan};
pub use value::RateLimit;
