//! Values of flags: rates, times, shares.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;

use crate::error::Error;

/// Reads `text` as the value of `flag`.
pub(super) fn parse<T: FromStr<Err: std::fmt::Display>>(flag: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|reason| Error::usage(format!("{flag}: {reason}")))
}

/// Parses a word of a fixed set where clap does not: in the parameters of `farm:N?…`.
pub(super) fn word<T: ValueEnum>(flag: &str, text: &str) -> Result<T, Error> {
    T::from_str(text, true).map_err(|_| {
        let known = words(T::value_variants()).join(", ");
        Error::usage(format!("{flag}: invalid value {text:?}: possible values are {known}"))
    })
}

/// The words for `choices`.
pub(super) fn words<T: ValueEnum>(choices: &[T]) -> Vec<String> {
    choices.iter().filter_map(ValueEnum::to_possible_value).map(|word| word.get_name().to_owned()).collect()
}

/// Reads a time such as `500ms`, `3s` or `2m`.
pub(super) fn time(flag: &str, text: &str) -> Result<Duration, Error> {
    let time: Option<Duration> =
        text.parse::<jiff::SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    match time {
        Some(time) if time <= LONGEST_TIME => Ok(time),
        Some(_) => Err(Error::usage(format!("{flag}: {text:?} is longer than a day"))),
        None => Err(Error::usage(format!("{flag}: {text:?} is not a time: write it as 500ms, 3s or 2m"))),
    }
}

/// Rates that can be kept, in a second: the slowest is one in a quarter of an hour.
pub(super) const RATES: RangeInclusive<f64> = 0.001..=1e12;
/// No query takes longer, and sums of such times never leave the range of the clock.
pub(super) const LONGEST_TIME: Duration = Duration::from_hours(24);

/// How fast something may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateLimit {
    /// As fast as possible.
    Max,
    /// So often in a second.
    PerSecond(f64),
}

impl RateLimit {
    /// The number, if there is one.
    #[must_use]
    pub const fn per_second(self) -> Option<f64> {
        match self {
            Self::Max => None,
            Self::PerSecond(rate) => Some(rate),
        }
    }
}

/// Reads a number of bytes such as `4096`, `4k` or `16M` (1024 bytes to the k).
pub(super) fn size(flag: &str, text: &str) -> Result<usize, Error> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    let size = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    match size.filter(|size| (1..=MOST_BYTES).contains(size)) {
        Some(size) => Ok(size),
        None => Err(Error::usage(format!("{flag}: {text:?} is not a size up to 1024M: write it as 4096, 4k or 16M"))),
    }
}

/// Largest size that can be asked for.
const MOST_BYTES: usize = 1 << 30;

/// Reads a limit that may find its own size: what `fixed` reads, `auto` up to `most`, or `auto:` and another bound; and says
/// whether it does.
pub(super) fn adaptive<T>(text: &str, most: T, fixed: impl Fn(&str) -> Result<T, Error>) -> Result<(T, bool), Error> {
    match text.strip_prefix("auto") {
        Some("") => Ok((most, true)),
        Some(bound) if bound.starts_with(':') => Ok((fixed(&bound[1..])?, true)),
        _ => Ok((fixed(text)?, false)),
    }
}

/// Reads a rate such as `2000`, `50k`, `1.5M` or `max`.
pub(super) fn rate(flag: &str, text: &str) -> Result<RateLimit, Error> {
    if text.eq_ignore_ascii_case("max") {
        return Ok(RateLimit::Max);
    }
    let (number, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1e6),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let rate = number.parse::<f64>().map(|number| number * factor).ok();
    match rate.filter(|rate| RATES.contains(rate)) {
        Some(rate) => Ok(RateLimit::PerSecond(rate)),
        None => Err(Error::usage(format!("{flag}: {text:?} is not a rate: write it as 0.5, 2000, 50k, or max"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit() {
        assert_eq!(time("--timeout", "1.5s").unwrap(), Duration::from_millis(1_500));
        assert_eq!(time("--timeout", "250ms").unwrap(), Duration::from_millis(250));
        for bad in ["3", "-1s", "", "soon"] {
            let message = time("--timeout", bad).unwrap_err().to_string();
            assert_eq!(message, format!("--timeout: {bad:?} is not a time: write it as 500ms, 3s or 2m"));
        }
        assert!(time("--timeout", "24h").is_ok());
        assert!(time("--timeout", "25h").is_err());
    }

    #[test]
    fn rates_take_suffixes_and_max() {
        assert_eq!(rate("--rate", "2000").unwrap(), RateLimit::PerSecond(2_000.0));
        assert_eq!(rate("--rate", "50k").unwrap(), RateLimit::PerSecond(50_000.0));
        assert_eq!(rate("--rate", "1.5M").unwrap(), RateLimit::PerSecond(1_500_000.0));
        assert_eq!(rate("--rate", "0.5").unwrap(), RateLimit::PerSecond(0.5));
        assert_eq!(rate("--rate", "MAX").unwrap(), RateLimit::Max);
        for bad in ["", "k", "0", "-5", "fast", "NaN", "inf", "1é"] {
            assert!(rate("--rate", bad).is_err(), "{bad}");
        }
    }
}
