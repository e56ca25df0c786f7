//! Files that a run must not mix up: it writes nothing twice, and nothing over what it reads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Output;
use crate::error::Error;
use crate::output::metadata::beside;
use crate::output::partial;

/// No file may be written twice, nor one that is read: neither rows over rows or targets, nor metadata over rows.
pub(super) fn refuse<'a>(
    read: impl Iterator<Item = &'a Path>,
    outputs: &[Output],
    others: [(&str, Option<&Path>); 3],
) -> Result<(), Error> {
    // Standard input may be a file too, which has its name here.
    let of_input = |path| if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let mut seen: Vec<PathBuf> = read.map(|path| identity(of_input(path))).collect();
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
    use crate::output::Format;

    #[test]
    fn no_file_is_written_twice_however_it_is_spelled() {
        let refused = |names: &[&str], metadata: Option<&str>| {
            let lists = [Path::new("list.csv")].into_iter();
            let metadata = ("--metadata", metadata.map(Path::new));
            let others =
                [metadata, ("--raw", Some(Path::new("raw.pcapng"))), ("--names", Some(Path::new("names.csv")))];
            let output = |name: &&str| Output { path: (*name != "-").then(|| name.into()), format: Format::Csv };
            let outputs: Vec<_> = names.iter().map(output).collect();
            refuse(lists, &outputs, others).is_err()
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
        assert!(refused(&["names.csv"], None));
    }
}
