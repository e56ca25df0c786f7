//! The arguments of `fragscan query`.

use clap::Args;

use super::choice::{Query, QueryFormat};
use super::names::NameArgs;
use super::protocol::{self, Protocol};

/// `fragscan query`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if a server did not answer.")]
pub(crate) struct QueryArgs {
    /// Whom to ask: [PROTOCOL://]HOST[:PORT], HOST an address or a name
    #[arg(value_name = "ADDRESS", required = true)]
    pub addresses: Vec<String>,

    /// Protocol of addresses that name none
    #[arg(long, value_name = "NAME", value_parser = protocol::to_ask(), default_value = "a2s", ignore_case = true)]
    pub protocol: Protocol,

    /// Derive the query port of addresses that name no protocol from their game port, by the rules of this game (see
    /// `fragscan games`); may be repeated: fragscan tries the games in this order
    #[arg(long = "game", value_name = "KEY", conflicts_with = "protocol")]
    pub games: Vec<String>,

    /// What to ask; separate several words with commas
    #[arg(
        long,
        value_name = "QUERIES",
        value_enum,
        value_delimiter = ',',
        default_value = "info,players,rules",
        ignore_case = true
    )]
    pub queries: Vec<Query>,

    /// Wait this long for an answer to the first try; the wait doubles with each retry, up to 8 s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub timeout: String,

    /// Retry each step this many times if no answer comes
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub retries: u32,

    /// How names are looked up.
    #[command(flatten)]
    pub naming: NameArgs,

    /// Format of each server
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = QueryFormat::Text, ignore_case = true)]
    pub format: QueryFormat,
}
