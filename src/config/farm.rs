//! Settings of simulated servers, from flags or from the parameters of `farm:N?…`.

use std::path::PathBuf;

use super::value;
use crate::cli::FarmArgs;
use crate::error::Error;
use crate::farm::{FarmSettings, Mix};

/// What `fragscan farm` does.
#[derive(Debug)]
pub struct FarmConfig {
    /// The servers.
    pub settings: FarmSettings,
    /// Their port.
    pub port: u16,
    /// Where their addresses are written.
    pub list: Option<PathBuf>,
    /// Folder of recorded servers that answer in place of simulated ones.
    pub replay: Option<PathBuf>,
}

/// Reads the arguments of `fragscan farm`.
pub fn farm(args: FarmArgs) -> Result<FarmConfig, Error> {
    let mut settings = mix("--mix", args.mix.as_deref())?;
    (settings.servers, settings.seed) = (args.servers, args.seed);
    for (key, text) in args.shares() {
        set(&mut settings, key, &format!("--{key}"), text)?;
    }
    settings.link.delay = value::time("--delay", &args.delay)?;
    if let (Some(_), Some((share, _))) = (&args.replay, args.shares().find(|(name, _)| !LINK.contains(name))) {
        return Err(Error::usage(format!("--{share}: recorded servers are what they were recorded as")));
    }
    let settings = settings.validate().map_err(|reason| Error::usage(reason.to_string()))?;
    if args.port == 0 {
        return Err(Error::usage("--port: port 0 cannot be asked: ports are 1 to 65535"));
    }
    Ok(FarmConfig { settings, port: args.port, list: args.list, replay: args.replay })
}

/// Reads the target `farm:N?key=value&…`.
pub(super) fn farm_target(servers: u32, parameters: &str) -> Result<FarmSettings, Error> {
    let pairs = || parameters.split('&').filter_map(|pair| pair.split_once('='));
    let name = |key: &str| format!("farm:{servers}?{key}");
    let named = pairs().find_map(|(key, text)| (key == "mix").then_some(text));
    let mut settings = FarmSettings { servers, ..mix(&name("mix"), named)? };
    for (key, text) in pairs().filter(|(key, _)| *key != "mix") {
        set(&mut settings, key, &name(key), text)?;
    }
    settings.validate().map_err(|reason| Error::usage(format!("farm:{servers}: {reason}")))
}

/// What a farm is like before single settings are set.
fn mix(flag: &str, text: Option<&str>) -> Result<FarmSettings, Error> {
    Ok(match text.map_or(Ok(Mix::Sound), |text| value::parse(flag, text))? {
        Mix::Sound => FarmSettings::default(),
        Mix::Full => FarmSettings::of_every_kind(),
    })
}

/// Sets what `key` names; `flag` is what the user calls it.
fn set(settings: &mut FarmSettings, key: &str, flag: &str, text: &str) -> Result<(), Error> {
    match (key, settings.share_mut(key)) {
        (_, Some(share)) => *share = value::parse(flag, text)?,
        ("seed", _) => settings.seed = value::parse(flag, text)?,
        ("delay", _) => settings.link.delay = value::time(flag, text)?,
        _ => {
            return Err(Error::usage(format!(
                "{flag}: farms have no such setting; they have those of `fragscan farm --help`, as in loss=5%&delay=20ms"
            )));
        }
    }
    Ok(())
}

/// Shares that are of datagrams, and not of servers.
const LINK: [&str; 3] = ["loss", "duplicate", "reorder"];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::farm::Share;

    #[test]
    fn a_farm_target_takes_the_settings_of_the_farm_command() {
        let settings = farm_target(500, "loss=5%&delay=20ms&seed=7").unwrap();
        assert_eq!((settings.servers, settings.seed), (500, 7));
        assert_eq!(settings.link.loss, Share::percent(5.0));
        assert_eq!(settings.link.delay, Duration::from_millis(20));
        let full = farm_target(500, "legacy=0%&mix=full").unwrap();
        assert_eq!(full, FarmSettings { servers: 500, legacy: Share::default(), ..FarmSettings::of_every_kind() });
        assert_eq!(farm_target(500, "").unwrap(), FarmSettings { servers: 500, ..FarmSettings::default() });
    }

    #[test]
    fn a_wrong_parameter_is_named_with_what_is_expected() {
        let message = |parameters| farm_target(9, parameters).unwrap_err().to_string();
        assert_eq!(message("loss=much"), "farm:9?loss: \"much\" is not a share: write it as 10%");
        assert!(message("lag=1").starts_with("farm:9?lag: farms have no such setting"), "{}", message("lag=1"));
        let too_many = farm_target(16_777_214, "").unwrap_err().to_string();
        assert!(too_many.ends_with("there is room for 1 to 16777213"), "{too_many}");
        assert_eq!(message("mix=odd"), "farm:9?mix: \"odd\" is no mix: write sound or full");
        assert!(message("silent=60%&refused=60%").ends_with("are more than 100% together"));
    }
}
