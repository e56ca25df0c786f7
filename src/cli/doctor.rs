//! The arguments of `fragscan doctor`.

use clap::Args;

use super::choice::DoctorFormat;

/// `fragscan doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if something will lose datagrams. Nothing is changed, and nothing is sent but a few \
    empty datagrams over loopback."
)]
pub(crate) struct DoctorArgs {
    /// Datagrams per second of the scan that you plan, as in 2000, 50k, max or auto [default: 2000]
    #[arg(short, long, value_name = "RATE", alias = "max-rate")]
    pub rate: Option<String>,

    /// Most targets in flight of that scan
    #[arg(long, value_name = "N", default_value = "10000")]
    pub window: String,

    /// The network interface that it will send through [default: that of the default route]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,

    /// Format of the findings
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = DoctorFormat::Text, ignore_case = true)]
    pub format: DoctorFormat,
}
