//! What was measured: as text for people, as one JSON object, as CSV.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde_json::{Map, Number, Value, json};

use super::find::SearchResult;
use super::metrics::{METRICS, Metric, Spread};
use super::pace::Pace;
use super::round::Round;

/// What was benchmarked, and how.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct About {
    /// Name and version of the program.
    pub program: String,
    /// How many addresses were asked in turn.
    pub targets: usize,
    /// What was asked.
    pub queries: String,
    /// Milliseconds that an answer was waited for.
    pub timeout_ms: u64,
    /// Further tries after silence.
    pub retries: u32,
    /// Most queries in flight.
    pub window: usize,
    /// Whether the window found its own size below that, anew in each round.
    pub adaptive_window: bool,
    /// Which calls send and receive.
    pub io: &'static str,
}

/// All rounds, and what follows from them.
#[derive(Debug)]
pub(crate) struct Report {
    /// What was benchmarked.
    pub about: About,
    /// At which rates.
    pub pace: Pace,
    /// The rounds, in the order in which they were run.
    pub rounds: Vec<Round>,
    /// What a search for the highest rate has found.
    pub found: Option<SearchResult>,
}

impl Report {
    /// The rounds that the summary is about: all at a fixed rate, else the best one.
    #[must_use]
    pub(crate) fn summarised(&self) -> Vec<&Round> {
        let best = self.found.and_then(|found| self.rounds.get(found.best?));
        match (self.pace, best) {
            (Pace::Fixed(_), _) => self.rounds.iter().collect(),
            (_, Some(best)) => vec![best],
            _ => {
                let most = |a: &&Round, b: &&Round| a.answers_per_second().total_cmp(&b.answers_per_second());
                self.rounds.iter().max_by(most).into_iter().collect()
            }
        }
    }

    /// Groups of rounds that conditions are checked on: each step of a ramp on its own, else what is summarised.
    #[must_use]
    pub(crate) fn judged(&self) -> Vec<Vec<&Round>> {
        match self.pace {
            Pace::Ramp(_) => self.rounds.iter().map(|round| vec![round]).collect(),
            _ => vec![self.summarised()],
        }
    }
}

/// One JSON object, with the histograms in HdrHistogram's compressed form (V2, base64).
#[must_use]
pub(crate) fn json(report: &Report) -> String {
    let rounds: Vec<Value> = report.rounds.iter().map(round_json).collect();
    let summarised = report.summarised();
    let summary: Map<_, _> = METRICS
        .iter()
        .map(|metric| {
            let spread = metric.spread(summarised.iter().copied());
            let object =
                |Spread { median, min, max }| json!({"median": tidy(median), "min": tidy(min), "max": tidy(max)});
            (metric.name.to_owned(), spread.map_or(Value::Null, object))
        })
        .collect();
    let mut object = json!({
        "about": report.about,
        "mode": match report.pace {
            Pace::Fixed(_) => "fixed",
            Pace::Ramp(_) => "ramp",
            Pace::FindMax => "find-max",
        },
        "rounds": rounds,
        "summary": summary,
    });
    if let Some(found) = report.found {
        let best = found.best.and_then(|best| report.rounds.get(best));
        object["lossless_datagrams_sent_per_second"] = best.map_or(Value::Null, |best| tidy(best.sent_per_second()));
        object["plateau_answers_per_second"] =
            found.plateau.map_or(Value::Null, |plateau| tidy(plateau.answers_per_second));
    }
    object.to_string()
}

fn round_json(round: &Round) -> Value {
    let mut object = Map::new();
    object.insert("rate".into(), round.rate.map_or(Value::Null, tidy));
    for metric in METRICS {
        object.insert(metric.name.into(), (metric.of)(round).map_or(Value::Null, tidy));
    }
    if let Some(window) = round.window {
        object.insert("window_at_end".into(), json!(window));
    }
    object.insert("statuses".into(), json!(round.statuses));
    object.insert("histogram_us".into(), json!({"actual": packed(&round.actual), "planned": packed(&round.planned)}));
    Value::Object(object)
}

/// HdrHistogram's V2 form, compressed, in base64. Writing it to memory cannot fail; nothing would stand for it.
fn packed(times: &Histogram<u64>) -> Option<String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(times, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}

/// One row a round, and median, least and most of those that the summary is about.
#[must_use]
pub(crate) fn csv(report: &Report) -> String {
    let mut text = String::from("round,rate");
    let row = |head: &str, cells: &mut dyn Iterator<Item = Option<f64>>| {
        let cells: String =
            cells.map(|cell| cell.map_or_else(|| ",".into(), |cell| format!(",{}", tidy(cell)))).collect();
        format!("{head}{cells}\n")
    };
    for metric in METRICS {
        text.extend([",", metric.name]);
    }
    text.push('\n');
    for (number, round) in (1..).zip(&report.rounds) {
        let rate = round.rate.map_or_else(|| "max".into(), |rate| tidy(rate).to_string());
        text.push_str(&row(&format!("{number},{rate}"), &mut METRICS.iter().map(|metric| (metric.of)(round))));
    }
    let summarised = report.summarised();
    let spreads: Vec<_> = METRICS.iter().map(|metric| metric.spread(summarised.iter().copied())).collect();
    text.push_str(&row("median,", &mut spreads.iter().map(|spread| spread.map(|spread| spread.median))));
    text.push_str(&row("min,", &mut spreads.iter().map(|spread| spread.map(|spread| spread.min))));
    text.push_str(&row("max,", &mut spreads.iter().map(|spread| spread.map(|spread| spread.max))));
    text
}

/// A whole number, or one to four digits after the point.
fn tidy(value: f64) -> Value {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        return Value::Number((value as u64).into());
    }
    Number::from_f64((value * 1e4).round() / 1e4).map_or(Value::Null, Value::Number)
}

/// Tables for people.
#[must_use]
pub(crate) fn text(report: &Report) -> String {
    let About { targets, queries, timeout_ms, retries, window, adaptive_window, .. } = &report.about;
    let mut text = format!(
        "{targets} {}, {queries}; timeout {timeout_ms} ms, {retries} retries, window {}{window}\n\n",
        if *targets == 1 { "target" } else { "targets" },
        if *adaptive_window { "auto up to " } else { "" }
    );
    text.push_str(&rounds_table(&report.rounds));
    let summarised = report.summarised();
    if let Some(found) = &report.found {
        text.push('\n');
        describe_search(&mut text, report, *found);
    }
    if !summarised.is_empty() {
        summary(&mut text, report, &summarised);
    }
    text
}

fn rounds_table(rounds: &[Round]) -> String {
    let head = "round,rate/s,sent/s,received/s,queries,answered,late,lost there,lost here,failed,not sent,answers/s";
    let mut rows = vec![head.split(',').map(str::to_owned).collect::<Vec<_>>()];
    for (number, round) in (1..).zip(rounds) {
        let counts = [round.queries, round.answered, round.late, round.lost_there, round.lost_here, round.failed];
        let mut row = vec![number.to_string(), round.rate.map_or_else(|| "max".into(), |rate| format!("{rate:.0}"))];
        row.push(format!("{:.0}", round.sent_per_second()));
        row.push(format!("{:.0}", round.received_per_second()));
        row.extend(counts.iter().chain([&round.not_sent]).map(ToString::to_string));
        row.push(format!("{:.0}", round.answers_per_second()));
        rows.push(row);
    }
    aligned(&rows)
}

fn describe_search(text: &mut String, report: &Report, found: SearchResult) {
    // Writing to a string cannot fail.
    let _ = match found.best.and_then(|best| Some((best + 1, report.rounds.get(best)?))) {
        Some((number, best)) => writeln!(
            text,
            "highest rate without loss: {:.0} datagrams/s, {:.0} answers/s (round {number})",
            best.sent_per_second(),
            best.answers_per_second()
        ),
        None => writeln!(text, "no rate was without loss, down to a hundredth of the highest"),
    };
    if let Some(plateau) = found.plateau {
        let (from, to) = plateau.sent_per_second;
        let _ = writeln!(
            text,
            "answers stay at {:.0} a second whether {from:.0} or {to:.0} datagrams a second are sent, and nothing is \
             dropped here:\nlikely a limit of the server, for each source or in all",
            plateau.answers_per_second
        );
    }
}

fn summary(text: &mut String, report: &Report, rounds: &[&Round]) {
    let spread = |name: &str| Metric::named(name).and_then(|metric| metric.spread(rounds.iter().copied()));
    let single = rounds.len() == 1;
    let which = match report.pace {
        Pace::Fixed(_) if single => "",
        Pace::Fixed(_) => "median of the rounds (least to most)",
        _ => "the best round",
    };
    let _ = writeln!(text, "{}{which}", if which.is_empty() { "" } else { "\n" });
    let shown = |name: &str, digits: usize| {
        spread(name).map_or_else(
            || "-".into(),
            |Spread { median, min, max }| {
                if single {
                    format!("{median:.digits$}")
                } else {
                    format!("{median:.digits$} ({min:.digits$} to {max:.digits$})")
                }
            },
        )
    };
    let _ = writeln!(text, "answers/s             {}", shown("answers_per_second", 0));
    let _ = writeln!(text, "datagrams/s sent      {}", shown("datagrams_sent_per_second", 0));
    let _ = writeln!(text, "datagrams/s received  {}", shown("datagrams_received_per_second", 0));
    let _ = writeln!(text, "loss                  {} %", shown("loss_percent", 3));
    let _ = writeln!(text, "loop's thread         {} s of processor time", shown("loop_cpu_seconds", 2));
    let _ = writeln!(text, "whole process         {} s of processor time", shown("process_cpu_seconds", 2));
    if let Some(memory) = spread("peak_memory_bytes") {
        let _ = writeln!(text, "peak memory           {:.1} MiB", memory.max / f64::from(1 << 20));
    }
    let quantiles = ["p50", "p90", "p99", "p99.9", "max"];
    let mut rows =
        vec![std::iter::once("round-trip time in ms").chain(quantiles).map(str::to_owned).collect::<Vec<_>>()];
    for (head, prefix) in [("from the actual send", ""), ("from the planned send", "planned_")] {
        let times = quantiles.map(|quantile| shown(&format!("{prefix}{quantile}_ms"), 2));
        rows.push(std::iter::once(head.to_owned()).chain(times).collect());
    }
    let _ = write!(text, "\n{}", aligned(&rows));
    if let Some(Spread { max, .. }) = spread("longest_stall_ms").filter(|spread| spread.max >= NOTICEABLE_MS) {
        let _ = writeln!(
            text,
            "fragscan itself stalled for up to {max:.0} ms because this machine was busy; the times above include the stall"
        );
    }
}

/// A loop that sleeps by milliseconds, on a machine that does other things too, is late by less than this.
const NOTICEABLE_MS: f64 = 20.0;

/// Columns flush right, two spaces apart.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        format!("{}\n", cells.join("  "))
    };
    rows.iter().map(line).collect()
}
