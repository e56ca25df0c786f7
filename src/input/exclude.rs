//! What is left out: `--exclude` and `--exclude-file`.

use super::files::{InputDigest, each_line};
use super::lines::without_comment;
use super::reading::Reading;
use crate::config::InputOptions;
use crate::error::Error;
use crate::target::{Exclusions, Hosts, TargetSpec, Zones};

/// Reads what `options` leave out, and digests the files. A line that cannot be read is an error: what was meant to be left
/// out must not be asked.
pub(super) fn read(options: &InputOptions, reading: &Reading) -> Result<(Zones, Vec<InputDigest>), Error> {
    let mut exclusions = Exclusions::new(options.include_private);
    for text in &options.exclude {
        exclude(&mut exclusions, reading, text)
            .map_err(|reason| Error::usage(format!("--exclude {text:?}: {reason}")))?;
    }
    let mut digests = Vec::new();
    for path in &options.exclude_files {
        digests.push(each_line(path, |number, line| {
            line.and_then(|text| match without_comment(text) {
                "" => Ok(()),
                text => exclude(&mut exclusions, reading, text),
            })
            .map_err(|reason| Error::usage(format!("{}:{number}: {reason}", path.display())))
        })?);
    }
    Ok((exclusions.into_zones(), digests))
}

/// Leaves out what `text` names.
fn exclude(exclusions: &mut Exclusions, reading: &Reading, text: &str) -> Result<(), String> {
    let spec = TargetSpec::parse_exclusion(text).map_err(|reason| reason.to_string())?;
    match spec.hosts {
        // Where others may be asked than the port that a target names, any of the host may be.
        Hosts::Range(range) => exclusions.exclude(range, spec.ports.as_ref().filter(|_| reading.names_all_ports())),
        Hosts::Name(name) => {
            return Err(format!("{name:?} is a name: write addresses, ranges or blocks to leave out"));
        }
        Hosts::Farm { .. } => return Err("simulated servers cannot be left out".into()),
    }
    Ok(())
}
