//! What is left out: `--exclude` and `--exclude-file`.

use super::FilesRead;
use super::files::each_entry;
use super::formats::{Context, Entry, Purpose};
use super::reading::{Reading, looks_for_port};
use crate::config::InputOptions;
use crate::error::Error;
use crate::output::{Filter, count};
use crate::target::{Exclusions, Hosts, TargetSpec, Zones};

/// Reads the exclusions in `options`, and records the files in `files`. A line that cannot be read is an error: fragscan must
/// not ask what the user meant to exclude.
pub(super) fn read(options: &InputOptions, reading: &Reading, files: &mut FilesRead) -> Result<Zones, Error> {
    let mut exclusions = Exclusions::new(options.include_private);
    for text in &options.exclude {
        exclude(&mut exclusions, reading, text)
            .map_err(|reason| Error::usage(format!("--exclude {text:?}: {reason}")))
            .map(drop)?;
    }
    let condition = Filter::default();
    let context = Context { purpose: Purpose::Exclude, exact_word: reading.exact_word(), condition: &condition };
    for path in &options.exclude_files {
        let (mut of_ports, mut example) = (0_u64, String::new());
        let read = each_entry(path, &context, &mut |number, entry| {
            let excluded = entry.and_then(|entry| match entry {
                Entry::Target(text) => {
                    let names_ports = exclude(&mut exclusions, reading, text)?;
                    if names_ports && of_ports == 0 {
                        text.clone_into(&mut example);
                    }
                    of_ports += u64::from(names_ports);
                    Ok(())
                }
                Entry::HeldBack | Entry::PassedOver => Ok(()),
            });
            excluded.map_err(|reason| Error::usage(format!("{}:{number}: {reason}", path.display())))
        })?;
        files.remarks.extend(read.emptiness.map(|emptiness| format!("{emptiness}, so it excludes nothing")));
        files.remarks.extend((of_ports > 0).then(|| {
            let entries = count(of_ports, "target");
            format!("{}: {entries} excluded at single ports only, such as {example}", path.display())
        }));
        files.digests.push(read.digest);
    }
    Ok(exclusions.into_zones())
}

/// Leaves out what `text` names; true if only at some of its ports.
fn exclude(exclusions: &mut Exclusions, reading: &Reading, text: &str) -> Result<bool, String> {
    let spec = TargetSpec::parse_exclusion(text).map_err(|reason| reason.to_string())?;
    match spec.hosts {
        // Where others may be asked than the port that a target names, any of the host may be.
        Hosts::Range(range) => {
            let names_all_ports = reading.names_all_ports() && !looks_for_port(spec.scheme);
            let ports = spec.ports.as_ref().filter(|_| names_all_ports);
            exclusions.exclude(range, ports);
            Ok(ports.is_some())
        }
        Hosts::Zoned { ip, zone } => {
            Err(format!("an exclusion applies to all interfaces: write {ip}, without %{zone}"))
        }
        Hosts::Name(name) => Err(format!("{name:?} is a name: write addresses, ranges or blocks to leave out")),
        Hosts::Farm { .. } => Err("simulated servers cannot be left out".into()),
    }
}
