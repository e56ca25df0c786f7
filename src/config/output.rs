//! Where rows go, and in which format.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::output::metadata::beside;
use crate::output::{Format, is_stdout, partial};

/// One output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The file; `None` is standard output.
    pub path: Option<PathBuf>,
    /// What is written to it.
    pub format: Format,
}

/// Reads `--output` and `--format`.
pub(super) fn outputs(paths: &[PathBuf], format: Option<&str>) -> Result<Vec<Output>, Error> {
    let typed = match format {
        None => None,
        Some(word) => Some(
            word.parse::<Format>()
                .map_err(|()| Error::usage(format!("--format: {word:?} is no format: write table, csv or ndjson")))?,
        ),
    };
    let to_stdout = Output { path: None, format: typed.unwrap_or(Format::Csv) };
    if paths.is_empty() {
        let usual = if io::stdout().is_terminal() { Format::Table } else { Format::Csv };
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

/// No file may be written twice, nor one that is read: neither rows over rows or targets, nor metadata over rows.
pub(super) fn refuse_collisions<'a>(
    read: impl Iterator<Item = &'a Path>,
    outputs: &[Output],
    others: [(&str, Option<&Path>); 2],
) -> Result<(), Error> {
    let mut seen: Vec<PathBuf> = read.filter(|path| *path != Path::new("-")).map(identity).collect();
    let mut add = |flag: &str, path: &Path| {
        let file = identity(path);
        if seen.contains(&file) {
            let name = if path == Path::new("-") { "standard output".into() } else { path.display().to_string() };
            return Err(Error::usage(format!("{flag}: {name} is taken by an input or another output")));
        }
        seen.push(file);
        Ok(())
    };
    for output in outputs {
        match &output.path {
            // Devices may take several.
            Some(path) if path.starts_with("/dev") => {}
            Some(path) => {
                let beside = beside(path);
                if beside.is_dir() {
                    let name = beside.display();
                    return Err(Error::usage(format!("--output: {name} is a folder, and metadata belongs there")));
                }
                let all = [path, &partial(path), &beside, &partial(&beside)];
                all.into_iter().try_for_each(|path| add("--output", path))?;
            }
            None => add("--output", Path::new("-"))?,
        }
    }
    for (flag, path) in others {
        match path {
            Some(path) if !path.starts_with("/dev") => {
                add(flag, path)?;
                add(flag, &partial(path))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The file that `path` names, however it is spelled.
fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let parent = absolute.parent().and_then(|parent| fs::canonicalize(parent).ok());
        match (parent, absolute.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => absolute,
        }
    })
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
            outputs(&paths(names), flag).unwrap().into_iter().map(|output| output.format).collect()
        };
        assert_eq!(formats(&["a.csv", "b.ndjson", "c.JSONL"], None), [Format::Csv, Format::Ndjson, Format::Ndjson]);
        assert_eq!(formats(&["-", "b.txt", "c.csv"], Some("ndjson")), [Format::Ndjson, Format::Ndjson, Format::Csv]);
        assert_eq!(formats(&[], None), [Format::Csv]);
        assert!(outputs(&[], Some("xml")).is_err());
        assert_eq!(formats(&["list"], None), [Format::Csv]);
        assert!(outputs(&paths(&["a.json"]), None).is_err(), "a guess would be wrong");
    }

    #[test]
    fn no_file_is_written_twice_however_it_is_spelled() {
        let refused = |names: &[&str], metadata: Option<&str>| {
            let lists = [Path::new("list.csv")].into_iter();
            let others = [("--metadata", metadata.map(Path::new)), ("--raw", Some(Path::new("raw.pcapng")))];
            refuse_collisions(lists, &outputs(&paths(names), Some("csv")).unwrap(), others).is_err()
        };
        assert!(refused(&["list.csv"], None), "an input");
        assert!(refused(&["a.csv.partial", "a.csv"], None));
        assert!(!refused(&["/dev/null", "/dev/null"], None));
        assert!(!refused(&["a.csv", "b.csv", "-"], Some("c.json")));
        assert!(refused(&["a.csv", "./a.csv"], None));
        assert!(refused(&["-", "-"], None));
        assert!(refused(&["a.csv"], Some("a.csv")));
        assert!(refused(&["a.csv"], Some("a.csv.meta.json")));
        assert!(refused(&["a.csv"], Some("raw.pcapng")));
    }
}
