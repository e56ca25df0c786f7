//! The arguments of `fragscan query`.

use clap::Args;

/// `fragscan query`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if a server did not answer.")]
pub struct QueryArgs {
    /// Whom to ask: [PROTOCOL://]HOST[:PORT], HOST an address or a name
    #[arg(value_name = "ADDRESS", required = true)]
    pub addresses: Vec<String>,

    /// Protocol of addresses that name none; auto tries one after the other until one is answered
    #[arg(long, value_name = "NAME", default_value = "a2s")]
    pub protocol: String,

    /// Game of addresses that name no protocol: a port that they name is the one for players, and the port for queries
    /// follows from it; see `fragscan games`
    #[arg(long, value_name = "KEY", conflicts_with = "protocol")]
    pub game: Option<String>,

    /// What to ask: info, players, rules, ping, several as in info,players, or all
    #[arg(long, value_name = "QUERIES", default_value = "info,players,rules")]
    pub queries: String,

    /// Wait for the answer to a first try; doubles with each retry, up to 8 s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub timeout: String,

    /// Further tries of each step after silence
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub retries: u32,

    /// text for a person, or json: one object on one line
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub format: String,
}
