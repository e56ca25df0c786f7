//! What is left out: `--exclude` and `--exclude-file`.

use std::path::Path;

use super::Input;
use super::files::each_line;
use super::lines::without_comment;
use crate::error::Error;
use crate::target::{Hosts, TargetSpec};

impl Input {
    /// Leaves out what `text` names.
    pub(super) fn exclude(&mut self, text: &str) -> Result<(), String> {
        let spec = TargetSpec::parse_exclusion(text).map_err(|reason| reason.to_string())?;
        match spec.hosts {
            // Where others may be asked than the port that a target names, any of the host may be.
            Hosts::Range(range) => {
                self.set.exclude(range, spec.ports.as_ref().filter(|_| self.reading.names_all_ports()));
            }
            Hosts::Name(name) => {
                return Err(format!("{name:?} is a name: write addresses, ranges or blocks to leave out"));
            }
            Hosts::Farm { .. } => return Err("simulated servers cannot be left out".into()),
        }
        Ok(())
    }

    /// Leaves out what the lines of a file name. A line that cannot be read is an error: what was meant to be left out
    /// must not be asked.
    pub(super) fn exclude_file(&mut self, path: &Path) -> Result<(), Error> {
        let digest = each_line(path, |number, line| {
            line.and_then(|text| match without_comment(text) {
                "" => Ok(()),
                text => self.exclude(text),
            })
            .map_err(|reason| Error::usage(format!("{}:{number}: {reason}", path.display())))
        })?;
        self.files.digests.push(digest);
        Ok(())
    }
}
