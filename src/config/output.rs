//! Where rows go, and in which format.

use std::path::{Path, PathBuf};

use super::options::Output;
use crate::error::Error;
use crate::output::{Format, is_stdout};

/// The outputs of `--output`, with the format that was `typed`, if any; standard output is a `terminal` or not.
pub(super) fn outputs(paths: &[PathBuf], typed: Option<Format>, terminal: bool) -> Result<Vec<Output>, Error> {
    let to_stdout = Output { path: None, format: typed.unwrap_or(Format::Csv) };
    if paths.is_empty() {
        let usual = if terminal { Format::Table } else { Format::Csv };
        return Ok(vec![Output { path: None, format: typed.unwrap_or(usual) }]);
    }
    let mut outputs: Vec<Output> = Vec::new();
    for path in paths {
        let output = if is_stdout(path) {
            to_stdout.clone()
        } else {
            Output { path: Some(path.clone()), format: format_of(path, typed)? }
        };
        outputs.push(output);
    }
    Ok(outputs)
}

/// The format of the file's extension, or the one that was typed; a file without an extension holds CSV.
fn format_of(path: &Path, typed: Option<Format>) -> Result<Format, Error> {
    match Format::of_path(path).or(typed) {
        Some(format) => Ok(format),
        None if path.extension().is_none() => Ok(Format::Csv),
        None => Err(Error::usage(format!(
            "--output: the extension of {} names no format: write .csv or .ndjson, or say --format",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn the_extension_names_the_format_and_the_flag_those_without_one() {
        let formats = |names, flag| -> Vec<Format> {
            outputs(&paths(names), flag, false).unwrap().into_iter().map(|output| output.format).collect()
        };
        assert_eq!(formats(&["a.csv", "b.ndjson", "c.JSONL"], None), [Format::Csv, Format::Ndjson, Format::Ndjson]);
        assert_eq!(
            formats(&["-", "b.txt", "c.csv"], Some(Format::Ndjson)),
            [Format::Ndjson, Format::Ndjson, Format::Csv]
        );
        assert_eq!(formats(&[], None), [Format::Csv]);
        assert_eq!(formats(&["list"], None), [Format::Csv]);
        assert!(outputs(&paths(&["a.json"]), None, false).is_err(), "a guess would be wrong");
    }
}
