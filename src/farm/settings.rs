//! What a farm is like: how many servers, which shares of them are odd, and how bad the link is.

use std::str::FromStr;

use super::MOST_SERVERS;
use super::link::LinkSettings;

/// What a farm is like. Shares are of all servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarmSettings {
    /// Number of servers.
    pub servers: u32,
    /// Decides everything random.
    pub seed: u64,
    /// Servers that ask for a challenge.
    pub challenge: Share,
    /// Servers that never answer.
    pub silent: Share,
    /// Servers whose port is closed.
    pub refused: Share,
    /// Servers that have banned everybody.
    pub banned: Share,
    /// Servers that answer with bytes that mean nothing.
    pub malformed: Share,
    /// The link to all of them.
    pub link: LinkSettings,
}

impl Default for FarmSettings {
    /// 10,000 servers that answer, most of them behind a challenge, over a perfect link.
    fn default() -> Self {
        Self {
            servers: 10_000,
            seed: 1,
            challenge: Share::percent(80.0),
            silent: Share::default(),
            refused: Share::default(),
            banned: Share::default(),
            malformed: Share::default(),
            link: LinkSettings::default(),
        }
    }
}

impl FarmSettings {
    /// Checks what no single setting can.
    pub fn validate(self) -> Result<Self, SettingError> {
        if self.servers == 0 || self.servers > MOST_SERVERS {
            return Err(SettingError::Servers(self.servers));
        }
        let odd = [self.silent, self.refused, self.banned, self.malformed];
        if odd.iter().map(|share| share.fraction()).sum::<f64>() > 1.0 + 1e-9 {
            return Err(SettingError::MoreThanAll);
        }
        Ok(self)
    }
}

/// A share of a whole, between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Share(f64);

impl Share {
    /// `percent` of a hundred; what lies outside of 0 to 100 is moved to the nearer end.
    #[must_use]
    pub const fn percent(percent: f64) -> Self {
        Self(percent.clamp(0.0, 100.0) / 100.0)
    }

    /// Between 0 and 1.
    #[must_use]
    pub const fn fraction(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        // Without the sign, 0.1 might be meant as a tenth.
        let number: Option<f64> = text.strip_suffix('%').and_then(|number| number.parse().ok());
        match number {
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::percent(percent)),
            _ => Err(SettingError::Share(text.into())),
        }
    }
}

/// A farm that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// Not a share.
    #[error("{0:?} is not a share: write it as 10%")]
    Share(Box<str>),
    /// The odd servers are more than all.
    #[error("silent, refused, banned and malformed are more than 100% together")]
    MoreThanAll,
    /// No servers, or more than loopback has addresses.
    #[error("a farm of {0} servers cannot be started: there is room for 1 to {MOST_SERVERS}")]
    Servers(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_and_say_so() {
        assert_eq!("10%".parse(), Ok(Share(0.1)));
        assert_eq!("2.5%".parse(), Ok(Share(0.025)));
        for bad in ["", "%", "0.1", "10", "-1%", "101%", "ten", "NaN", "1%%"] {
            assert_eq!(bad.parse::<Share>(), Err(SettingError::Share(bad.into())));
        }
    }

    #[test]
    fn a_farm_has_room_and_no_more_odd_servers_than_servers() {
        let half = Share::percent(50.0);
        let settings = FarmSettings { silent: half, refused: half, ..FarmSettings::default() };
        assert!(settings.validate().is_ok());
        assert_eq!(FarmSettings { banned: Share::percent(1.0), ..settings }.validate(), Err(SettingError::MoreThanAll));
        assert_eq!(FarmSettings { servers: 0, ..settings }.validate(), Err(SettingError::Servers(0)));
        assert!(FarmSettings { servers: MOST_SERVERS + 1, ..settings }.validate().is_err());
    }
}
