//! At which rates rounds are run.

use std::str::FromStr;

/// At which rates rounds are run, in datagrams a second; `None` is as fast as possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// All rounds at one rate.
    Fixed(Option<f64>),
    /// One round at each step.
    Ramp(Ramp),
    /// Rounds that look for the highest rate without loss.
    FindMax,
}

/// Steps of rising rate, evenly apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ramp {
    /// The first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many there are.
    pub steps: u32,
}

impl Pace {
    /// The highest rate that is sent at.
    #[must_use]
    pub(crate) const fn highest(&self) -> Option<f64> {
        match self {
            Self::Fixed(rate) => *rate,
            Self::Ramp(ramp) => Some(ramp.to),
            Self::FindMax => None,
        }
    }
}

impl Ramp {
    /// Reads `FROM-TO` or `FROM-TOxSTEPS`, where `rate` reads a rate.
    pub(crate) fn parse(text: &str, rate: impl Fn(&str) -> Option<f64>) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no ramp: write it as 1k-20k, or 1k-20kx10 for ten steps");
        let (rates, steps) = match text.rsplit_once('x') {
            Some((rates, steps)) => (rates, u32::from_str(steps).map_err(|_| wrong())?),
            None => (text, STEPS),
        };
        let (from, to) = rates.split_once('-').ok_or_else(wrong)?;
        let (from, to) = rate(from).zip(rate(to)).ok_or_else(wrong)?;
        if from >= to {
            return Err(format!("{text:?} does not rise: write the lower rate first"));
        }
        if !(2..=MOST_STEPS).contains(&steps) {
            return Err(format!("{text:?} has {steps} steps: write 2 to {MOST_STEPS}"));
        }
        Ok(Self { from, to, steps })
    }

    /// The rates.
    pub(crate) fn rates(self) -> impl Iterator<Item = f64> {
        let Self { from, to, steps } = self;
        (0..steps).map(move |step| from + (to - from) * f64::from(step) / f64::from(steps - 1))
    }
}

const STEPS: u32 = 5;
const MOST_STEPS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(text: &str) -> Result<Ramp, String> {
        Ramp::parse(text, |text| {
            let (digits, factor) = text.strip_suffix('k').map_or((text, 1.0), |digits| (digits, 1e3));
            digits.parse::<f64>().ok().map(|number| number * factor)
        })
    }

    #[test]
    fn a_ramp_has_its_ends_and_even_steps() {
        assert_eq!(ramp("1k-3k").unwrap(), Ramp { from: 1e3, to: 3e3, steps: 5 });
        let rates: Vec<_> = ramp("1k-3kx3").unwrap().rates().collect();
        assert_eq!(rates, [1_000.0, 2_000.0, 3_000.0]);
        assert_eq!(Pace::Ramp(ramp("10-20").unwrap()).highest(), Some(20.0));
    }

    #[test]
    fn a_ramp_that_makes_no_sense_is_explained() {
        for bad in ["", "5", "1k-", "-5k", "1k-max", "1k-5kx", "1k-5kxten"] {
            assert!(ramp(bad).unwrap_err().contains("is no ramp: write it as 1k-20k"), "{bad}");
        }
        assert!(ramp("5k-1k").unwrap_err().contains("does not rise"));
        for bad in ["1k-2kx1", "1k-2kx0", "1k-2kx1000"] {
            assert!(ramp(bad).unwrap_err().contains("steps: write 2 to 100"), "{bad}");
        }
    }
}
