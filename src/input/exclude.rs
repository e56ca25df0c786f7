//! What is left out: `--exclude` and `--exclude-file`.

use super::FilesRead;
use super::files::each_entry;
use super::formats::{Context, Entry, Purpose};
use super::reading::{Reading, looks_for_port};
use crate::config::InputOptions;
use crate::error::Error;
use crate::output::Filter;
use crate::target::{Exclusions, Hosts, TargetSpec, Zones};

/// Reads the exclusions in `options`, and records the files in `files`. A line that cannot be read is an error: fragscan must
/// not ask what the user meant to exclude.
pub(super) fn read(options: &InputOptions, reading: &Reading, files: &mut FilesRead) -> Result<Zones, Error> {
    let mut exclusions = Exclusions::new(options.include_private);
    for text in &options.exclude {
        exclude(&mut exclusions, reading, text)
            .map_err(|reason| Error::usage(format!("--exclude {text:?}: {reason}")))?;
    }
    let condition = Filter::default();
    let context = Context { purpose: Purpose::Exclude, exact_word: reading.exact_word(), condition: &condition };
    for path in &options.exclude_files {
        let read = each_entry(path, &context, &mut |number, entry| {
            let excluded = entry.and_then(|entry| match entry {
                Entry::Target(text) => exclude(&mut exclusions, reading, text),
                Entry::HeldBack | Entry::PassedOver => Ok(()),
            });
            excluded.map_err(|reason| Error::usage(format!("{}:{number}: {reason}", path.display())))
        })?;
        files.remarks.extend(read.emptiness.map(|emptiness| format!("{emptiness}, so it excludes nothing")));
        files.digests.push(read.digest);
    }
    Ok(exclusions.into_zones())
}

/// Leaves out what `text` names.
fn exclude(exclusions: &mut Exclusions, reading: &Reading, text: &str) -> Result<(), String> {
    let spec = TargetSpec::parse_exclusion(text).map_err(|reason| reason.to_string())?;
    match spec.hosts {
        // Where others may be asked than the port that a target names, any of the host may be.
        Hosts::Range(range) => {
            let names_all_ports = reading.names_all_ports() && !looks_for_port(spec.scheme);
            exclusions.exclude(range, spec.ports.as_ref().filter(|_| names_all_ports));
        }
        Hosts::Zoned { ip, zone } => {
            return Err(format!("an exclusion applies to all interfaces: write {ip}, without %{zone}"));
        }
        Hosts::Name(name) => {
            return Err(format!("{name:?} is a name: write addresses, ranges or blocks to leave out"));
        }
        Hosts::Farm { .. } => return Err("simulated servers cannot be left out".into()),
    }
    Ok(())
}
