//! `--fail-if`: conditions on the numbers of a benchmark.

use std::cmp::Ordering;
use std::fmt;

use super::metrics::Metric;
use super::round::Round;

/// A number, and what it must not be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    text: String,
    metric: &'static str,
    above: bool,
    or_equal: bool,
    limit: f64,
}

/// Reads conditions such as `p99>50ms,loss>0.1%`; `time` reads milliseconds, `rate` a rate.
pub(crate) fn conditions(
    text: &str,
    time: impl Fn(&str) -> Option<f64>,
    rate: impl Fn(&str) -> Option<f64>,
) -> Result<Vec<Condition>, String> {
    text.split(',').map(|part| condition(part.trim(), &time, &rate)).collect()
}

fn condition(
    text: &str,
    time: impl Fn(&str) -> Option<f64>,
    rate: impl Fn(&str) -> Option<f64>,
) -> Result<Condition, String> {
    let at = text.find(['<', '>']).ok_or_else(|| format!("{text:?} is no condition: write it as p99>50ms"))?;
    let (name, rest) = text.split_at(at);
    let above = rest.starts_with('>');
    let (or_equal, value) = match rest[1..].strip_prefix('=') {
        Some(value) => (true, value.trim()),
        None => (false, rest[1..].trim()),
    };
    let name = name.trim();
    let (_, metric, unit) = NAMES.iter().find(|(known, ..)| *known == name).ok_or_else(|| {
        let known: Vec<_> = NAMES.iter().map(|(known, ..)| *known).collect();
        format!("{name:?} is not measured: known are {}", known.join(", "))
    })?;
    let percent =
        |text: &str| text.strip_suffix('%')?.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share));
    let (metric, limit, example) = match unit {
        Unit::Time => (metric, time(value), "50ms"),
        Unit::Share => (metric, percent(value), "0.1%"),
        Unit::ShareOrNumber(number) if !value.ends_with('%') => {
            (number, value.parse::<u64>().ok().map(|count| count as f64), "0.1% or 10")
        }
        Unit::ShareOrNumber(_) => (metric, percent(value), "0.1% or 10"),
        Unit::Rate => (metric, rate(value), "10k"),
    };
    let limit = limit.ok_or_else(|| format!("{text:?}: invalid value for {name}: write a value such as {example}"))?;
    Ok(Condition { text: text.to_owned(), metric, above, or_equal, limit })
}

impl Condition {
    /// Its value over `rounds` if the condition holds: that of the median. What was not measured is no reason to pass:
    /// then a condition on times holds too, with no value.
    #[must_use]
    pub(crate) fn holds(&self, rounds: &[&Round]) -> Option<Held<'_>> {
        let metric = Metric::named(self.metric)?;
        let value = metric.spread(rounds.iter().copied()).map(|spread| spread.median);
        let holds = value.is_none_or(|value| match value.total_cmp(&self.limit) {
            Ordering::Less => !self.above,
            Ordering::Equal => self.or_equal,
            Ordering::Greater => self.above,
        });
        holds.then_some(Held { condition: self, value })
    }
}

/// A condition that holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held<'a> {
    condition: &'a Condition,
    value: Option<f64>,
}

impl fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Condition { text, metric, .. } = self.condition;
        match self.value {
            // A number of queries is whole.
            Some(value) if is_number(metric) => {
                write!(f, "{text} holds: {metric} is {value}")
            }
            Some(value) => write!(f, "{text} holds: {metric} is {value:.3}"),
            None => write!(f, "{text} holds: nothing was answered, so there is no {metric}"),
        }
    }
}

/// Whether the metric is a number of queries.
fn is_number(metric: &str) -> bool {
    NAMES.iter().any(|(.., unit)| matches!(unit, Unit::ShareOrNumber(number) if *number == metric))
}

enum Unit {
    Time,
    /// Of the planned queries.
    Share,
    /// The same, or a number of queries, which is another metric.
    ShareOrNumber(&'static str),
    Rate,
}

/// Names in conditions, the metrics that they mean, and what these are compared with.
const NAMES: &[(&str, &str, Unit)] = &[
    ("p50", "p50_ms", Unit::Time),
    ("p90", "p90_ms", Unit::Time),
    ("p99", "p99_ms", Unit::Time),
    ("p99.9", "p99.9_ms", Unit::Time),
    ("max", "max_ms", Unit::Time),
    ("planned-p50", "planned_p50_ms", Unit::Time),
    ("planned-p90", "planned_p90_ms", Unit::Time),
    ("planned-p99", "planned_p99_ms", Unit::Time),
    ("planned-p99.9", "planned_p99.9_ms", Unit::Time),
    ("planned-max", "planned_max_ms", Unit::Time),
    ("loss", "loss_percent", Unit::Share),
    ("answered", "answered_percent", Unit::ShareOrNumber("answered")),
    ("failed", "failed_percent", Unit::ShareOrNumber("failed")),
    ("not_sent", "not_sent_percent", Unit::ShareOrNumber("not_sent")),
    ("rate", "answers_per_second", Unit::Rate),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::round;

    fn read(text: &str) -> Result<Vec<Condition>, String> {
        let time = |text: &str| text.strip_suffix("ms")?.parse().ok();
        conditions(text, time, |text| text.parse().ok())
    }

    #[test]
    fn conditions_are_read_with_their_units() {
        let all =
            read("p99>50ms, loss>=0.1%,answered<99%,rate<1000,planned-p99.9<=3ms,failed>1%,failed>10,not_sent>=1")
                .unwrap();
        let seen: Vec<_> = all.iter().map(|one| (one.metric, one.above, one.or_equal, one.limit)).collect();
        assert_eq!(
            seen,
            [
                ("p99_ms", true, false, 50.0),
                ("loss_percent", true, true, 0.1),
                ("answered_percent", false, false, 99.0),
                ("answers_per_second", false, false, 1000.0),
                ("planned_p99.9_ms", false, true, 3.0),
                ("failed_percent", true, false, 1.0),
                ("failed", true, false, 10.0),
                ("not_sent", true, true, 1.0),
            ]
        );
    }

    #[test]
    fn every_name_means_a_metric() {
        assert!(NAMES.iter().all(|(_, metric, _)| Metric::named(metric).is_some()));
        let numbers = NAMES.iter().filter_map(|(.., unit)| match unit {
            Unit::ShareOrNumber(number) => Some(number),
            _ => None,
        });
        assert!(numbers.clone().count() == 3 && numbers.clone().all(|number| Metric::named(number).is_some()));
    }

    #[test]
    fn a_condition_that_makes_no_sense_is_explained() {
        for (bad, explanation) in [
            ("", "is no condition: write it as p99>50ms"),
            ("p99", "is no condition"),
            ("p98>5ms", "\"p98\" is not measured: known are p50, p90"),
            ("p99>5", "invalid value for p99: write a value such as 50ms"),
            ("loss>1", "invalid value for loss: write a value such as 0.1%"),
            ("loss>NaN%", "invalid value for loss"),
            ("failed>x", "invalid value for failed: write a value such as 0.1% or 10"),
            ("failed>200%", "invalid value for failed: write a value such as 0.1% or 10"),
            ("rate<fast", "invalid value for rate: write a value such as 10k"),
            ("p99>50ms,", "\"\" is no condition"),
        ] {
            let message = read(bad).unwrap_err();
            assert!(message.contains(explanation), "{bad}: {message}");
        }
    }

    #[test]
    fn a_condition_is_about_the_median_and_what_was_not_measured_does_not_pass() {
        let rounds = [round(100, 100), round(100, 90), round(100, 80)];
        let rounds: Vec<_> = rounds.iter().collect();
        let loss = &read("loss>5%").unwrap()[0];
        assert_eq!(loss.holds(&rounds).unwrap().to_string(), "loss>5% holds: loss_percent is 10.000");
        assert!(read("loss>10%").unwrap()[0].holds(&rounds).is_none());
        assert!(read("loss>=10%").unwrap()[0].holds(&rounds).is_some());
        let silent = round(5, 0);
        let none = read("p99>1ms").unwrap();
        assert!(none[0].holds(&[&silent]).unwrap().to_string().contains("nothing was answered"));
    }
}
