//! `--game`, and the arguments of `fragscan games`.

use super::output::outputs;
use crate::cli::GamesArgs;
use crate::error::Error;
use crate::games::{self, Game};
use crate::output::Format;

/// The games that `--game` names, each once.
pub(super) fn games_of(keys: &[String]) -> Result<Vec<&'static Game>, Error> {
    let mut games = Vec::new();
    for key in keys {
        let game = game(key)?;
        if !games.contains(&game) {
            games.push(game);
        }
    }
    Ok(games)
}

fn game(key: &str) -> Result<&'static Game, Error> {
    games::by_key(key).ok_or_else(|| {
        Error::usage(format!("--game: there is no game {key:?}: {}`fragscan games` lists all", did_you_mean(key)))
    })
}

/// What `fragscan games` does.
pub(crate) struct GamesConfig {
    /// The games that are listed.
    pub games: Vec<&'static Game>,
    /// As what.
    pub format: Format,
    /// What to say if there are none.
    pub why_none: String,
}

/// Reads the arguments of `fragscan games`; standard output is a `terminal` or not.
pub(crate) fn games(args: GamesArgs, terminal: bool) -> Result<GamesConfig, Error> {
    let word = args.word.unwrap_or_default();
    let output = outputs(&[], args.format.map(Format::from), terminal)?.remove(0);
    let games = games::all().iter().filter(|game| word.is_empty() || game.matches(&word)).collect();
    let why_none = format!("no game has {word:?} in its key or name, or as its app id: {}", did_you_mean(&word));
    Ok(GamesConfig { games, format: output.format, why_none: why_none.trim_end_matches([':', ' ', ';']).into() })
}

fn did_you_mean(key: &str) -> String {
    match games::similar(key).as_slice() {
        [] => String::new(),
        keys => format!("did you mean {}? ", keys.join(" or ")),
    }
}
