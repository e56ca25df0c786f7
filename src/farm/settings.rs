//! What a farm is like: how many servers, which shares of them are odd, and how bad the link is.

use super::MOST_SERVERS;
use super::link::LinkSettings;
use super::share::Share;
use crate::protocol::AnyProtocol;

/// What a farm is like. Shares are of all servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FarmSettings {
    /// Number of servers.
    pub servers: u32,
    /// Decides everything random.
    pub seed: u64,
    /// What each server speaks.
    pub speaks: Speaks,
    /// Servers that ask for a challenge.
    pub challenge: Share,
    /// Servers with so many rules that they send them in pieces.
    pub split: Share,
    /// Servers with as many, which compress them.
    pub bzip2: Share,
    /// Servers of The Ship.
    pub ship: Share,
    /// GoldSource servers of today.
    pub goldsource: Share,
    /// GoldSource servers that answer in the old form and in the new one.
    pub dual: Share,
    /// GoldSource servers that answer in the old form only.
    pub legacy: Share,
    /// Servers that never answer.
    pub silent: Share,
    /// Servers whose port is closed.
    pub refused: Share,
    /// Servers that have banned everybody.
    pub banned: Share,
    /// Servers that answer with bytes that mean nothing.
    pub malformed: Share,
    /// Servers that answer each challenge with another one.
    pub challenge_loop: Share,
    /// Servers that answer everything with the same challenge.
    pub challenge_only: Share,
    /// The link to all of them.
    pub link: LinkSettings,
}

impl Default for FarmSettings {
    /// 10,000 Source servers that answer, most of them behind a challenge, over a perfect link.
    fn default() -> Self {
        Self {
            servers: 10_000,
            seed: 1,
            speaks: Speaks::Any,
            challenge: Share::percent(80.0),
            split: Share::percent(20.0),
            bzip2: Share::percent(5.0),
            ship: Share::percent(1.0),
            goldsource: Share::default(),
            dual: Share::default(),
            legacy: Share::default(),
            silent: Share::default(),
            refused: Share::default(),
            banned: Share::default(),
            malformed: Share::default(),
            challenge_loop: Share::default(),
            challenge_only: Share::default(),
            link: LinkSettings::default(),
        }
    }
}

impl FarmSettings {
    /// Some servers of every kind that there is.
    #[must_use]
    pub(crate) fn of_every_kind() -> Self {
        let one = Share::percent(1.0);
        Self {
            ship: Share::percent(3.0),
            goldsource: Share::percent(10.0),
            dual: Share::percent(4.0),
            legacy: Share::percent(6.0),
            silent: Share::percent(2.0),
            refused: one,
            banned: one,
            malformed: one,
            challenge_loop: one,
            challenge_only: one,
            ..Self::default()
        }
    }

    /// The share called `name`, as it is written on the command line.
    pub(crate) fn share_mut(&mut self, name: &str) -> Option<&mut Share> {
        Some(match name {
            "challenge" => &mut self.challenge,
            "split" => &mut self.split,
            "bzip2" => &mut self.bzip2,
            "ship" => &mut self.ship,
            "goldsource" => &mut self.goldsource,
            "dual" => &mut self.dual,
            "legacy" => &mut self.legacy,
            "silent" => &mut self.silent,
            "refused" => &mut self.refused,
            "banned" => &mut self.banned,
            "malformed" => &mut self.malformed,
            "challenge-loop" => &mut self.challenge_loop,
            "challenge-only" => &mut self.challenge_only,
            "loss" => &mut self.link.loss,
            "duplicate" => &mut self.link.duplicate,
            "reorder" => &mut self.link.reorder,
            _ => return None,
        })
    }

    /// Checks what no single setting can.
    pub(crate) fn validate(self) -> Result<Self, SettingError> {
        if self.servers == 0 || self.servers > MOST_SERVERS {
            return Err(SettingError::Servers(self.servers));
        }
        let of_all = |shares: &[Share]| shares.iter().map(|share| share.fraction()).sum::<f64>() <= 1.0 + 1e-9;
        let faults = [self.silent, self.refused, self.banned, self.malformed, self.challenge_loop, self.challenge_only];
        if !of_all(&faults) {
            return Err(SettingError::MoreThanAll(
                "silent, refused, banned, malformed, challenge-loop and challenge-only",
            ));
        }
        if !of_all(&[self.ship, self.goldsource, self.dual, self.legacy]) {
            return Err(SettingError::MoreThanAll("ship, goldsource, dual and legacy"));
        }
        Ok(self)
    }
}

/// The protocols of a farm's servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Speaks {
    /// Each server answers in whichever it is asked; where two have the same requests, in the first of them.
    Any,
    /// Each speaks one, which follows from its number.
    OneEach,
    /// All speak this one.
    Only(AnyProtocol),
}

/// A farm that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingError {
    /// Servers that are one or the other are more than all.
    #[error("{0} are more than 100% together")]
    MoreThanAll(&'static str),
    /// No servers, or more than loopback has addresses.
    #[error("a farm of {0} servers cannot be started: there is room for 1 to {MOST_SERVERS}")]
    Servers(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farm_has_room_and_no_more_odd_servers_than_servers() {
        let half = Share::percent(50.0);
        let settings = FarmSettings { silent: half, refused: half, ..FarmSettings::default() };
        assert!(settings.validate().is_ok());
        let too_many = FarmSettings { banned: Share::percent(1.0), ..settings }.validate();
        assert!(matches!(too_many, Err(SettingError::MoreThanAll(_))));
        assert!(FarmSettings { ship: half, dual: half, legacy: half, ..settings }.validate().is_err());
        assert!(FarmSettings::of_every_kind().validate().is_ok());
        assert_eq!(FarmSettings { servers: 0, ..settings }.validate(), Err(SettingError::Servers(0)));
        assert!(FarmSettings { servers: MOST_SERVERS + 1, ..settings }.validate().is_err());
    }
}
