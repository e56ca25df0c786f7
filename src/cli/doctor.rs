//! The arguments of `fragscan doctor`.

use clap::Args;

/// `fragscan doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if something will lose datagrams. Nothing is changed, and nothing is sent but a few \
    empty datagrams over loopback."
)]
pub struct DoctorArgs {
    /// Datagrams a second of the scan that is meant to run, as in 2000, 50k, max or auto [default: 2000]
    #[arg(short, long, value_name = "RATE", alias = "max-rate")]
    pub rate: Option<String>,

    /// Most targets in flight of that scan
    #[arg(long, value_name = "N", default_value = "10000")]
    pub window: String,

    /// The network interface that it will send through [default: that of the default route]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,

    /// text for a person, or json: an array with an object for each check
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub format: String,
}
