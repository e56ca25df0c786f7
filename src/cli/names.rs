//! How names are looked up: arguments of every command that takes them.

use clap::Args;

use super::choice::Family;

/// How names are looked up.
#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// Look names up at this name server, an IP address with or without a port; may be repeated [default: those of
    /// /etc/resolv.conf]
    #[arg(long, value_name = "ADDRESS", help_heading = "Names")]
    pub resolver: Vec<String>,

    /// Wait this long for a name server's answer to the first try; the wait doubles with each retry, up to four times this
    /// value; fragscan tries each DNS query five times
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Names")]
    pub dns_timeout: String,

    /// Resolve names to addresses of this family
    #[arg(
        long,
        value_name = "FAMILY",
        value_enum,
        default_value_t = Family::Any,
        ignore_case = true,
        help_heading = "Names"
    )]
    pub family: Family,

    /// Ask every address of a name [default: its first IPv4 address, or its first IPv6 address if it has no other]
    #[arg(long, help_heading = "Names")]
    pub all_addresses: bool,
}
