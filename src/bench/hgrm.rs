//! A distribution of percentiles in the text form of HdrHistogram's tools (`.hgrm`).

use std::fmt::Write;

use hdrhistogram::Histogram;

/// The distribution of `times` (microseconds), with values in milliseconds.
#[must_use]
pub(crate) fn hgrm(times: &Histogram<u64>) -> String {
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut total = 0;
    for step in times.iter_quantiles(TICKS) {
        total += step.count_since_last_iteration();
        let (value, quantile) = (ms(step.value_iterated_to() as f64), step.quantile_iterated_to());
        // Writing to a string cannot fail.
        let _ = write!(text, "{value:12.3} {quantile:14.12} {total:10}");
        let _ = match quantile {
            1.0.. => writeln!(text),
            _ => writeln!(text, " {:14.2}", 1.0 / (1.0 - quantile)),
        };
    }
    let (mean, deviation, max) = (ms(times.mean()), ms(times.stdev()), ms(times.max() as f64));
    let (count, buckets) = (times.len(), times.buckets());
    let _ = writeln!(text, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
    let _ = writeln!(text, "#[Max     = {max:12.3}, Total count    = {count:12}]");
    let _ = writeln!(text, "#[Buckets = {buckets:12}, SubBuckets     = {SUB_BUCKETS:12}]");
    text
}

fn ms(us: f64) -> f64 {
    us / 1000.0
}

/// Lines for each halving of the distance to 100 %: what the tools use.
const TICKS: u32 = 5;
/// Of a histogram with three digits.
const SUB_BUCKETS: u32 = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::collect::empty_histogram;

    #[test]
    fn the_text_is_that_of_the_java_program() {
        let mut times = empty_histogram();
        (1..=100).for_each(|ms| times.saturating_record(ms * 1_000));
        let text = hgrm(&times);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!(lines[1], "");
        assert_eq!(lines[2], "       1.000 0.000000000000          1           1.00");
        let body: Vec<_> = lines.iter().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(**body.last().unwrap(), "     100.031 1.000000000000        100");
        assert_eq!(body.iter().filter(|line| line.contains(" 1.000000000000 ")).count(), 1);
        assert!(lines[lines.len() - 3].starts_with("#[Mean    =       50.5"), "{text}");
        assert!(lines[lines.len() - 2].ends_with("Total count    =          100]"), "{text}");
    }

    #[test]
    fn a_histogram_without_times_has_header_and_end() {
        let text = hgrm(&empty_histogram());
        assert!(text.starts_with("       Value     Percentile"));
        assert!(text.contains("Total count    =            0]"), "{text}");
    }
}
