//! `fragscan games`: the games that `--game` knows.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use super::{columns, print, say};
use crate::cli::GamesArgs;
use crate::config::{self, GamesConfig};
use crate::error::Error;
use crate::games::Game;
use crate::output::Format;

/// Prints the games that were asked for; exit code 1 if there are none.
pub(super) fn run(args: GamesArgs) -> Result<ExitCode, Error> {
    let GamesConfig { games, format, why_none } = config::games(args, io::stdout().is_terminal())?;
    if games.is_empty() {
        say(&why_none);
        return Ok(ExitCode::FAILURE);
    }
    print(|out| match format {
        Format::Table => {
            let title = ["KEY", "PROTOCOL", "GAME PORT", "QUERY PORT", "APP ID", "NAME"].map(str::to_owned);
            columns(out, std::iter::once(title).chain(games.into_iter().map(row)))
        }
        Format::Csv => {
            let mut csv = csv::Writer::from_writer(out);
            games.into_iter().try_for_each(|game| csv.serialize(game)).map_err(io::Error::from)?;
            csv.flush()
        }
        Format::Ndjson => games.into_iter().try_for_each(|game| {
            serde_json::to_writer(&mut *out, game)?;
            out.write_all(b"\n")
        }),
    })
}

fn row(game: &Game) -> [String; 6] {
    let app = match (game.app_id, game.mod_of) {
        (Some(id), _) => id.to_string(),
        (None, Some(id)) => format!("mod of {id}"),
        (None, None) => String::new(),
    };
    let [game_port, query_port] = [game.game_port, game.query_port].map(|port| port.to_string());
    [game.key.clone(), game.protocol.clone(), game_port, query_port, app, game.name.clone()]
}
