//! `fragscan doctor`: what of this machine will lose datagrams, and the commands that mend it.

use std::io::{self, Write};
use std::process::ExitCode;

use super::print;
use crate::cli::DoctorArgs;
use crate::cli::choice::DoctorFormat;
use crate::config;
use crate::doctor::{Finding, Level, examine, interfaces, look};
use crate::error::Error;
use crate::output::table::harmless;

/// Looks, and prints what was found; exit code 1 if something will lose datagrams.
pub(super) fn run(args: DoctorArgs) -> Result<ExitCode, Error> {
    let config = config::doctor(args)?;
    if let (Some(name), Some(all)) = (&config.interface, interfaces())
        && !all.contains(name)
    {
        let all = all.join(", ");
        return Err(Error::usage(format!("--interface: there is no interface {name:?}; there are: {all}")));
    }
    let findings = examine(&look(config.interface.as_deref()), &config.workload);
    print(|out| match config.format {
        DoctorFormat::Text => text(out, &findings),
        DoctorFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &findings)?;
            writeln!(out)
        }
    })?;
    let loses = findings.iter().any(|finding| finding.level == Level::Loss);
    Ok(if loses { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn text(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    for Finding { name, level, seen, need, mend } in findings {
        // The name of an interface may hold what a terminal would obey.
        let seen = harmless(seen);
        write!(out, "{:8} {name:width$}  {seen}", mark(*level))?;
        match level {
            Level::Ok | Level::Unknown => writeln!(out)?,
            Level::Note | Level::Loss => writeln!(out, " (needed: {need})")?,
        }
        for line in mend.iter().flat_map(|mend| mend.lines()) {
            writeln!(out, "{:INDENT$}{}", "", harmless(line))?;
        }
    }
    let count = |wanted| findings.iter().filter(|finding| finding.level == wanted).count();
    let has_commands = findings.iter().any(|finding| finding.mend.is_some());
    let advice = if has_commands { "; the commands above need root, and hold until the next restart" } else { "" };
    match count(Level::Loss) {
        0 => writeln!(out, "nothing that was looked at will lose datagrams{advice}"),
        losses => writeln!(out, "{losses} of {} checks will lose datagrams{advice}", findings.len()),
    }
}

const fn mark(level: Level) -> &'static str {
    match level {
        Level::Ok => "[ok]",
        Level::Note => "[note]",
        Level::Loss => "[loss]",
        Level::Unknown => "[?]",
    }
}

/// Columns before a command.
const INDENT: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(level: Level, mend: Option<&str>) -> Finding {
        let (seen, need) = ("little".to_owned(), "much".to_owned());
        Finding { name: "receive buffer", level, seen, need, mend: mend.map(str::to_owned) }
    }

    fn printed(findings: &[Finding]) -> String {
        let mut out = Vec::new();
        text(&mut out, findings).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn commands_stand_below_what_they_mend() {
        let text = printed(&[finding(Level::Ok, None), finding(Level::Loss, Some("# why\nsysctl -w a=1"))]);
        let lines = [
            "[ok]     receive buffer  little",
            "[loss]   receive buffer  little (needed: much)",
            "         # why",
            "         sysctl -w a=1",
            "1 of 2 checks will lose datagrams; the commands above need root, and hold until the next restart",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn what_was_not_looked_at_is_not_said_to_be_well() {
        let text = printed(&[finding(Level::Unknown, None)]);
        assert_eq!(text, "[?]      receive buffer  little\nnothing that was looked at will lose datagrams\n");
    }
}
