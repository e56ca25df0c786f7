//! Settings of simulated servers, from flags or from the parameters of `farm:N?…`.

use std::path::PathBuf;

use super::value;
use crate::cli::FarmArgs;
use crate::error::Error;
use crate::farm::FarmSettings;

/// What `fragscan farm` does.
#[derive(Debug)]
pub struct FarmConfig {
    /// The servers.
    pub settings: FarmSettings,
    /// Their port.
    pub port: u16,
    /// Where their addresses are written.
    pub list: Option<PathBuf>,
}

/// Reads the arguments of `fragscan farm`.
pub fn farm(args: FarmArgs) -> Result<FarmConfig, Error> {
    let mut settings = FarmSettings { servers: args.servers, seed: args.seed, ..FarmSettings::default() };
    for (key, text) in [
        ("challenge", &args.challenge),
        ("silent", &args.silent),
        ("refused", &args.refused),
        ("banned", &args.banned),
        ("malformed", &args.malformed),
        ("loss", &args.loss),
        ("delay", &args.delay),
        ("duplicate", &args.duplicate),
        ("reorder", &args.reorder),
    ] {
        set(&mut settings, key, &format!("--{key}"), text)?;
    }
    let settings = settings.validate().map_err(|reason| Error::usage(reason.to_string()))?;
    if args.port == 0 {
        return Err(Error::usage("--port: port 0 cannot be asked: ports are 1 to 65535"));
    }
    Ok(FarmConfig { settings, port: args.port, list: args.list })
}

/// Reads the target `farm:N?key=value&…`.
pub(super) fn farm_target(servers: u32, parameters: &str) -> Result<FarmSettings, Error> {
    let mut settings = FarmSettings { servers, ..FarmSettings::default() };
    for (key, text) in parameters.split('&').filter_map(|pair| pair.split_once('=')) {
        set(&mut settings, key, &format!("farm:{servers}?{key}"), text)?;
    }
    settings.validate().map_err(|reason| Error::usage(format!("farm:{servers}: {reason}")))
}

/// Sets what `key` names; `flag` is what the user calls it.
fn set(settings: &mut FarmSettings, key: &str, flag: &str, text: &str) -> Result<(), Error> {
    let share = || value::parse(flag, text);
    match key {
        "seed" => settings.seed = value::parse(flag, text)?,
        "challenge" => settings.challenge = share()?,
        "silent" => settings.silent = share()?,
        "refused" => settings.refused = share()?,
        "banned" => settings.banned = share()?,
        "malformed" => settings.malformed = share()?,
        "loss" => settings.link.loss = share()?,
        "duplicate" => settings.link.duplicate = share()?,
        "reorder" => settings.link.reorder = share()?,
        "delay" => settings.link.delay = value::time(flag, text)?,
        _ => {
            return Err(Error::usage(format!(
                "{flag}: farms have no such setting; they have seed, challenge, silent, refused, banned, malformed, \
                 loss, delay, duplicate and reorder"
            )));
        }
    }
    Ok(())
}

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
        assert_eq!(farm_target(500, "").unwrap(), FarmSettings { servers: 500, ..FarmSettings::default() });
    }

    #[test]
    fn a_wrong_parameter_is_named_with_what_is_expected() {
        let message = |parameters| farm_target(9, parameters).unwrap_err().to_string();
        assert_eq!(message("loss=much"), "farm:9?loss: \"much\" is not a share: write it as 10%");
        assert!(message("lag=1").starts_with("farm:9?lag: farms have no such setting"), "{}", message("lag=1"));
        let too_many = farm_target(16_777_214, "").unwrap_err().to_string();
        assert!(too_many.ends_with("there is room for 1 to 16777213"), "{too_many}");
        assert!(message("silent=60%&refused=60%").ends_with("are more than 100% together"));
    }
}
