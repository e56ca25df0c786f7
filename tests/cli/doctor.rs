//! `fragscan doctor`, on whatever machine the tests run.

use serde_json::Value;

use crate::support::{Folder, Run};

#[test]
fn the_exit_code_is_that_of_the_findings() {
    // Of the slowest and the fastest pace, one finds nothing on most machines and the other something on many.
    for arguments in [
        &["doctor"][..],
        &["doctor", "--rate", "1", "--window", "1"],
        &["doctor", "--rate", "max"],
        &["doctor", "--rate", "auto", "--window", "auto"],
    ] {
        let run = Folder::new().run(&[arguments, &["--format", "json"]].concat());
        let findings = findings(&run);
        let loses = findings.iter().any(|finding| finding["level"] == "loss");
        assert_eq!(run.code, Some(i32::from(loses)), "{arguments:?}: {findings:?} {run}");
        assert!(run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn every_finding_has_its_keys_and_every_loss_a_command() {
    let run = Folder::new().run(&["doctor", "--rate", "max", "--format", "json"]);
    for finding in findings(&run) {
        let keys: Vec<_> = finding.as_object().expect("it is an object").keys().collect();
        assert_eq!(keys.len(), 5, "{keys:?}");
        for key in ["name", "level", "seen", "need"] {
            assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{key} of {finding}");
        }
        assert!(["ok", "note", "loss", "unknown"].iter().any(|level| finding["level"] == **level), "{finding}");
        assert!(finding["level"] != "loss" || finding["mend"].is_string(), "{finding}");
        assert!(finding["mend"].is_string() || finding["mend"].is_null(), "{finding}");
    }
}

#[test]
fn the_text_has_a_line_for_each_finding() {
    let folder = Folder::new();
    let text = folder.run(&["doctor", "--interface", "lo"]);
    let findings = findings(&folder.run(&["doctor", "--interface", "lo", "--format", "json"]));
    let printed = String::from_utf8(text.stdout).expect("it is UTF-8");
    let lines: Vec<_> = printed.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(lines.len(), findings.len(), "{printed}");
    for (line, finding) in lines.iter().zip(&findings) {
        assert!(line.contains(finding["name"].as_str().expect("it is a text")), "{line}: {finding}");
    }
    assert!(printed.lines().last().is_some_and(|line| line.contains("will lose datagrams")), "{printed}");
    assert!(folder.names().is_empty());
}

#[test]
fn what_was_mistyped_is_explained() {
    for (arguments, explanation) in [
        (["--rate", "fast"], "--rate: \"fast\" is not a rate"),
        (["--rate", "0"], "--rate: \"0\" is not a rate"),
        (["--rate", "auto:7"], "a rate that adapts never falls below 100"),
        (["--window", "0"], "--window: 0 is not in 1 to"),
        (["--format", "xml"], "invalid value 'xml' for '--format <FORMAT>'\n  [possible values: text, json]"),
        (["--interface", "no such one"], "--interface: there is no interface \"no such one\"; there are: "),
    ] {
        let run = Folder::new().run(&[&["doctor"][..], &arguments].concat());
        assert_eq!(run.code, Some(2), "{arguments:?}: {run}");
        assert!(run.stderr.contains(explanation), "{arguments:?}: {run}");
        assert!(run.stdout.is_empty(), "{arguments:?}");
    }
}

fn findings(run: &Run) -> Vec<Value> {
    let found: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    found.as_array().expect("it is an array").clone()
}
