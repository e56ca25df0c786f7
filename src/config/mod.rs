//! From what was typed to what is meant: arguments become options that need no further checks.
//!
//! Nothing here looks at a file, a socket or the clock: `input` and `run` decide what depends on those.

mod bench;
mod choice;
mod decode;
mod doctor;
mod farm;
mod game;
mod limits;
mod list;
mod names;
mod options;
mod output;
mod protocol;
mod query;
mod scan;
mod value;

pub(crate) use bench::{BenchConfig, Length, bench};
pub(crate) use decode::{DecodeConfig, Form, decode};
pub(crate) use doctor::doctor;
pub(crate) use farm::{FarmConfig, MasterConfig, farm, farm_target};
pub(crate) use game::{GamesConfig, games};
pub use limits::Limits;
pub(crate) use list::list;
pub use options::{
    InputOptions, NameOptions, NetworkOptions, Output, OutputOptions, ScanOptions, Spoken, SteamOptions,
};
pub(crate) use protocol::{AUTO, server_protocol, usual_protocol};
pub(crate) use query::query;
pub(crate) use scan::{Messages, ScanConfig, scan};
pub use value::RateLimit;
