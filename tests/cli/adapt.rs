//! `--window auto` and `--rate auto`: everything is found, and the metadata says how the pace went.

use serde_json::Value;

use crate::support::Folder;

#[test]
fn a_scan_that_finds_its_own_pace_finds_every_server_and_says_how_it_went() {
    let folder = Folder::new();
    let run = folder.run_well(&["scan", "farm:5000", "--window", "auto", "--rate", "auto:3000", "-o", "servers.csv"]);
    assert_eq!(folder.table("servers.csv").column("status"), vec!["ok"; 5_000]);
    let metadata = folder.metadata("servers.csv");
    assert_eq!((&metadata["settings"]["window"], &metadata["settings"]["rate"]), (&65_536.into(), &3_000.0.into()));
    for (name, start, most) in [("window", 1_000, 65_536), ("rate", 2_000, 3_000)] {
        let course = &metadata["adapted"][name];
        let number = |key: &str| course[key].as_u64().unwrap_or_else(|| panic!("{key} is no number in {course}"));
        assert_eq!(number("start"), start);
        assert!(number("least") <= number("end") && number("end") <= number("greatest"), "{course}");
        assert!(number("greatest") <= most, "{course}");
        let changes = course["changes"].as_array().expect("there is a list of changes");
        assert_eq!(changes.last().map_or(Some(start), |change| change["value"].as_u64()), Some(number("end")));
        assert!(changes.len() as u64 <= number("increases") + number("decreases"), "{course}");
        assert!(run.stderr.contains(&format!("\n{name}: {start}")), "{run}");
    }
    // 9,000 datagrams take more than a time-out at that rate, which is what it takes to judge the first ones.
    assert_eq!(metadata["adapted"]["rate"]["changes"][0]["reason"], "grown", "{}", metadata["adapted"]);
}

#[test]
fn what_is_fixed_does_not_adapt() {
    let folder = Folder::new();
    folder.run_well(&["scan", "farm:50", "-o", "servers.csv"]);
    assert_eq!(folder.metadata("servers.csv")["adapted"], Value::Null);
    folder.run_well(&["scan", "farm:50", "-o", "servers.csv", "--window", "auto:80"]);
    let metadata = folder.metadata("servers.csv");
    assert_eq!(metadata["settings"]["rate"], Value::Null);
    assert_eq!(metadata["adapted"]["rate"], Value::Null);
    assert_eq!(metadata["adapted"]["window"]["greatest"], 80);
}

#[test]
fn a_benchmark_adapts_its_window_and_not_its_rate() {
    let folder = Folder::new();
    let short = ["--warmup", "0s", "--rounds", "1", "--count", "300", "-q", "--format", "json"];
    let run = folder.run_well(&[&["bench", "farm:100", "--rate", "max", "--window", "auto"][..], &short].concat());
    let report: Value = serde_json::from_slice(&run.stdout).expect("it is JSON");
    assert_eq!(report["about"]["adaptive_window"], true);
    assert_eq!(report["rounds"][0]["window_at_end"], 1_000);
    assert_eq!(folder.run(&["bench", "farm:100", "--rate", "auto"]).code, Some(2));
}

#[test]
fn bounds_that_make_no_sense_are_explained() {
    let folder = Folder::new();
    for (flag, value, explanation) in [
        ("--rate", "auto:50", "a rate that adapts never falls below 100"),
        ("--rate", "auto:fast", "is not a rate"),
        ("--rate", "automatic", "is not a rate"),
        ("--window", "auto:0", "0 is not in 1 to"),
        ("--window", "auto:63", "a window that adapts never falls below 64"),
        ("--window", "wide", "write 10000 or auto"),
    ] {
        let run = folder.run(&["scan", "farm:5", flag, value]);
        assert_eq!(run.code, Some(2), "{flag} {value}: {run}");
        assert!(run.stderr.contains(explanation), "{flag} {value}: {run}");
    }
}
