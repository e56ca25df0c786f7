//! Shares, as in `10%`.

use std::str::FromStr;

/// A share of a whole, between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub(crate) struct Share(f64);

impl Share {
    /// `percent` of a hundred; what lies outside of 0 to 100 is moved to the nearer end.
    #[must_use]
    pub(crate) const fn percent(percent: f64) -> Self {
        Self(percent.clamp(0.0, 100.0) / 100.0)
    }

    /// Between 0 and 1.
    #[must_use]
    pub(crate) const fn fraction(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        // Without the sign, 0.1 might be meant as a tenth.
        let number: Option<f64> = text.strip_suffix('%').and_then(|number| number.parse().ok());
        match number {
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::percent(percent)),
            _ => Err(ShareError(text.into())),
        }
    }
}

/// Not a share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a share: write it as 10%")]
pub(crate) struct ShareError(Box<str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_and_say_so() {
        assert_eq!("10%".parse(), Ok(Share(0.1)));
        assert_eq!("2.5%".parse(), Ok(Share(0.025)));
        for bad in ["", "%", "0.1", "10", "-1%", "101%", "ten", "NaN", "1%%"] {
            assert_eq!(bad.parse::<Share>(), Err(ShareError(bad.into())));
        }
    }
}
