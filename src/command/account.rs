//! The account of a run for a person: a summary, and how it ended.

use std::process::ExitCode;

use super::say;
use super::summary::{Manner, Summary};
use crate::error::{Error, NO_NAME_SERVER, STOPPED};
use crate::input::{what_is_left_out, why_nothing};
use crate::output::metadata::OutputDigest;
use crate::run::Outcome;

/// Reports the outcome of a run. With `strict`, an incomplete list gives an exit code of its own; if `quiet`, no
/// summary is printed.
pub(super) fn account(outcome: Outcome, manner: Manner, strict: bool, quiet: bool) -> Result<ExitCode, Error> {
    let Outcome { metadata, tally, stop, error, metadata_error, is_empty, is_closed, .. } = outcome;
    let lists_lack = strict && metadata.lists.iter().any(|list| !list.complete);
    if is_empty {
        for list in &metadata.lists {
            say(list);
        }
        if lists_lack {
            return Ok(ExitCode::from(STOPPED));
        }
        return Err(Error::usage(match manner {
            _ if tally.read == 0 && !metadata.lists.is_empty() => "the lists named no server".into(),
            Manner::Scan => why_nothing(&tally),
            Manner::List => format!("there is nothing to print: {}", what_is_left_out(&tally)),
        }));
    }
    if !quiet {
        say(&Summary { metadata: &metadata, manner });
    }
    let imbalances = metadata.ledger.check();
    if !imbalances.is_empty() {
        let all: Vec<_> = imbalances.iter().map(ToString::to_string).collect();
        return Err(Error::Ledger(all.join("; ")));
    }
    if let Some(error) = error {
        return Err(Error::OutputLost { error, safe: what_is_safe(&metadata.outputs) });
    }
    if let Some(error) = metadata_error {
        return Err(error.into());
    }
    let early = stop.is_some() && !is_closed;
    Ok(match () {
        () if lists_lack || early => ExitCode::from(STOPPED),
        () if metadata.ledger.names.no_server > 0 => ExitCode::from(NO_NAME_SERVER),
        () => ExitCode::SUCCESS,
    })
}

fn what_is_safe(outputs: &[OutputDigest]) -> String {
    let all: Vec<_> =
        outputs.iter().map(|output| format!("{} rows are safe in {}", output.rows, output.name)).collect();
    all.join(", ")
}
