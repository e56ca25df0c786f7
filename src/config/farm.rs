//! Settings of simulated servers, from flags or from the parameters of `farm:N?…`.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use ipnet::Ipv4Net;

use super::value;
use crate::cli::FarmArgs;
use crate::cli::choice::Mix;
use crate::cli::protocol::{Master, Protocols};
use crate::error::Error;
use crate::farm::link::LinkSettings;
use crate::farm::site::{Clients, Place, Site};
use crate::farm::{FarmSettings, Share};
use crate::protocol::{self, AnyProtocol, Style};

/// What `fragscan farm` does.
#[derive(Debug)]
pub(crate) struct FarmConfig {
    /// The servers.
    pub settings: FarmSettings,
    /// Their port, or that of the first one.
    pub port: u16,
    /// Where they are and whom they answer, if not on loopback.
    pub site: Option<Site>,
    /// The same, as it was typed.
    pub bind: Option<String>,
    /// List servers of them.
    pub masters: Option<MasterConfig>,
    /// Where their addresses are written.
    pub list: Option<PathBuf>,
    /// Folder of recorded servers that answer in place of simulated ones.
    pub replay: Option<PathBuf>,
}

/// List servers of a farm.
#[derive(Debug)]
pub(crate) struct MasterConfig {
    /// Their kinds.
    pub kinds: Vec<AnyProtocol>,
    /// Port of the first kind that there is.
    pub port: u16,
    /// How they answer.
    pub style: Style,
    /// How bad the link to them is.
    pub link: LinkSettings,
}

/// Reads the arguments of `fragscan farm`.
pub(crate) fn farm(args: FarmArgs) -> Result<FarmConfig, Error> {
    let mut settings = FarmSettings::from(args.mix);
    settings.seed = args.seed;
    settings.servers = args.servers.unwrap_or(settings.servers);
    for (key, text) in args.shares() {
        set(&mut settings, key, &format!("--{key}"), text)?;
    }
    settings.speaks = args.protocols.into();
    settings.link.delay = value::time("--delay", &args.delay)?;
    if let (Some(_), Some((share, _))) = (&args.replay, args.shares().find(|(name, _)| !LINK.contains(name))) {
        return Err(Error::usage(format!("--{share}: recorded servers are what they were recorded as")));
    }
    if args.port == 0 {
        return Err(Error::usage("--port: port 0 cannot be asked: ports are 1 to 65535"));
    }
    let site = site(&args, &mut settings)?;
    let settings = settings.validate().map_err(|reason| Error::usage(reason.to_string()))?;
    let masters = masters(&args)?;
    Ok(FarmConfig { settings, port: args.port, site, bind: args.bind, masters, list: args.list, replay: args.replay })
}

/// The list servers, if there are any.
fn masters(args: &FarmArgs) -> Result<Option<MasterConfig>, Error> {
    let kinds = args.master.iter().flat_map(|word| match word {
        Master::All => protocol::of_lists().collect(),
        Master::Only(kind) => vec![*kind],
    });
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() {
        return Ok(None);
    }
    // Each kind has its place after the first port, whether or not the others are there.
    let place_of = |kind: &AnyProtocol| protocol::of_lists().position(|list| list == *kind).map(|place| place as u16);
    let most = u16::MAX - kinds.iter().filter_map(place_of).max().unwrap_or(0);
    if !(1..=most).contains(&args.master_port) {
        let words = value::words(&args.master).join(",");
        let message = format!("--master-port: {} is not in 1 to {most}, as --master {words} needs", args.master_port);
        return Err(Error::usage(message));
    }
    if kinds.iter().filter_map(place_of).any(|place| args.master_port + place == args.port) {
        return Err(Error::usage(format!("--master-port: the servers themselves are at port {}", args.port)));
    }
    let loss = value::parse("--master-loss", &args.master_loss)?;
    let link = LinkSettings { loss, ..LinkSettings::default() };
    Ok(Some(MasterConfig { kinds, port: args.master_port, style: args.master_style.into(), link }))
}

/// Where the servers are, if not on loopback, with as many of them as there is room for, all of which want a challenge.
fn site(args: &FarmArgs, settings: &mut FarmSettings) -> Result<Option<Site>, Error> {
    let Some(bind) = &args.bind else {
        return match args.clients[..] {
            [] => Ok(None),
            _ => Err(Error::usage("--clients: only this machine can ask a farm without --bind")),
        };
    };
    if args.clients.is_empty() {
        return Err(Error::usage(
            "--bind: say whom to answer, as in --clients 192.168.1.0/24: a farm that anybody can ask is a weapon",
        ));
    }
    let clients = args.clients.iter().map(|text| match network(text) {
        Some((network, _)) => Ok(network),
        None => Err(Error::usage(format!("--clients: {text:?} is no network: write it as 192.168.1.0/24"))),
    });
    let clients = Clients::new(clients.collect::<Result<_, _>>()?)
        .map_err(|reason| Error::usage(format!("--clients: {reason}")))?;
    let (place, usual, room) = match network(bind) {
        Some((network, true)) if network.prefix_len() < LEAST_PREFIX => {
            return Err(Error::usage(format!(
                "--bind: {bind} is wider than a farm can use: write a /{LEAST_PREFIX} at the most"
            )));
        }
        Some((network, true)) => {
            let room = network.hosts().count() as u32;
            (Place::Addresses(network.hosts().next().unwrap_or(network.addr())), room.min(settings.servers), room)
        }
        Some((network, false)) => (Place::Ports(network.addr()), 1, (1 << 16) - u32::from(args.port)),
        None => {
            return Err(Error::usage(format!(
                "--bind: {bind:?} is no address: write it as 192.168.1.5 or 10.9.0.0/16"
            )));
        }
    };
    let first = place.first();
    if first.is_unspecified() || first.is_multicast() || first.is_broadcast() || first.is_link_local() {
        return Err(Error::usage(format!("--bind: {first} is no address of one machine")));
    }
    settings.servers = args.servers.unwrap_or(usual);
    if settings.servers > room {
        return Err(Error::usage(format!("--servers: there is room for {room} at {bind} from port {} on", args.port)));
    }
    if args.challenge.is_some() && settings.challenge < Share::percent(100.0) {
        return Err(Error::usage("--challenge: with --bind every server wants one"));
    }
    settings.challenge = Share::percent(100.0);
    if settings.link.duplicate > Share::default() {
        return Err(Error::usage("--duplicate: with --bind nothing is sent twice"));
    }
    Ok(Some(Site { place, clients }))
}

/// Reads an address or a network, and says whether it is a network.
fn network(text: &str) -> Option<(Ipv4Net, bool)> {
    match text.parse::<Ipv4Addr>() {
        Ok(ip) => Some((ip.into(), false)),
        Err(_) => text.parse::<Ipv4Net>().ok().map(|network| (network.trunc(), true)),
    }
}

/// Reads the target `farm:N?key=value&…`.
pub(crate) fn farm_target(servers: u32, parameters: &str) -> Result<FarmSettings, Error> {
    let pairs = || parameters.split('&').filter_map(|pair| pair.split_once('='));
    let name = |key: &str| format!("farm:{servers}?{key}");
    let named = pairs().find_map(|(key, text)| (key == "mix").then_some(text));
    let mix = named.map_or(Ok(Mix::Sound), |text| value::word(&name("mix"), text))?;
    let mut settings = FarmSettings { servers, ..mix.into() };
    for (key, text) in pairs().filter(|(key, _)| *key != "mix") {
        set(&mut settings, key, &name(key), text)?;
    }
    settings.validate().map_err(|reason| Error::usage(format!("farm:{servers}: {reason}")))
}

/// Sets what `key` names; `flag` is what the user calls it.
fn set(settings: &mut FarmSettings, key: &str, flag: &str, text: &str) -> Result<(), Error> {
    match (key, settings.share_mut(key)) {
        (_, Some(share)) => *share = value::parse(flag, text)?,
        ("seed", _) => settings.seed = value::parse(flag, text)?,
        ("protocols", _) => settings.speaks = value::word::<Protocols>(flag, text)?.into(),
        ("delay", _) => settings.link.delay = value::time(flag, text)?,
        _ => {
            return Err(Error::usage(format!(
                "{flag}: farms have no such setting; they have those of `fragscan farm --help`, as in loss=5%&delay=20ms"
            )));
        }
    }
    Ok(())
}

/// The widest network that a farm is put on: 10.0.0.0/8.
const LEAST_PREFIX: u8 = 8;

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

    fn typed(arguments: &str) -> Result<FarmConfig, Error> {
        use clap::Parser;
        let words = ["fragscan", "farm"].into_iter().chain(arguments.split_whitespace());
        let crate::cli::Command::Farm(args) = crate::cli::Args::try_parse_from(words).unwrap().command else {
            panic!("farm was typed")
        };
        farm(args)
    }

    #[test]
    fn servers_that_others_can_ask_want_a_challenge_and_are_as_many_as_there_is_room_for() {
        for (arguments, place, servers) in [
            ("--bind 127.0.0.1", Place::Ports(Ipv4Addr::LOCALHOST), 1),
            ("--bind 127.0.0.1 --servers 100", Place::Ports(Ipv4Addr::LOCALHOST), 100),
            ("--bind 127.0.0.9 --port 65000 --servers 536", Place::Ports(Ipv4Addr::new(127, 0, 0, 9)), 536),
            ("--bind 127.9.0.7/24", Place::Addresses(Ipv4Addr::new(127, 9, 0, 1)), 254),
            ("--bind 127.9.0.0/16", Place::Addresses(Ipv4Addr::new(127, 9, 0, 1)), 10_000),
            ("--bind 127.9.0.7/32", Place::Addresses(Ipv4Addr::new(127, 9, 0, 7)), 1),
            ("--bind 127.0.0.1 --challenge 100%", Place::Ports(Ipv4Addr::LOCALHOST), 1),
        ] {
            let config = typed(&format!("{arguments} --clients 127.0.0.0/8,10.0.0.7")).expect(arguments);
            assert_eq!((config.site.unwrap().place, config.settings.servers), (place, servers), "{arguments}");
            assert_eq!(config.settings.challenge, Share::percent(100.0));
        }
        let config = typed("").unwrap();
        assert_eq!((config.site, config.settings), (None, FarmSettings::default()));
    }

    #[test]
    fn lists_may_be_at_the_last_ports_that_there_are() {
        for arguments in ["valve --master-port 65535", "valve,hl1 --master-port 65534", "all --master-port 65533"] {
            assert!(typed(&format!("--master {arguments}")).is_ok(), "{arguments}");
        }
    }

    #[test]
    fn what_would_let_strangers_in_is_refused() {
        for (arguments, explanation) in [
            ("--bind 127.0.0.1", "--bind: say whom to answer, as in --clients 192.168.1.0/24"),
            ("--clients 10.0.0.0/8", "--clients: only this machine can ask a farm without --bind"),
            ("--bind 127.0.0.1 --clients 0.0.0.0/0", "0.0.0.0/0 are more strangers than you can answer for"),
            ("--bind 127.0.0.1 --clients 10.0.0.0/8,8.8.0.0/16", "8.8.0.0/16 are more strangers"),
            ("--bind 127.0.0.1 --clients all", "\"all\" is no network: write it as 192.168.1.0/24"),
            ("--bind eth0 --clients 10.0.0.0/8", "\"eth0\" is no address"),
            ("--bind ::1 --clients 10.0.0.0/8", "\"::1\" is no address"),
            ("--bind 0.0.0.0 --clients 10.0.0.0/8", "0.0.0.0 is no address of one machine"),
            ("--bind 127.0.0.1 --clients 127.0.0.1 --challenge 99%", "--challenge: with --bind every server wants one"),
            ("--bind 127.0.0.1 --clients 127.0.0.1 --duplicate 1%", "--duplicate: with --bind nothing is sent twice"),
            ("--bind 127.0.0.1 --clients 127.0.0.1 --port 65000 --servers 537", "there is room for 536"),
            ("--bind 127.9.0.0/24 --clients 127.0.0.1 --servers 255", "there is room for 254"),
        ] {
            let message = typed(arguments).expect_err(arguments).to_string();
            assert!(message.contains(explanation), "{arguments}: {message}");
        }
    }

    #[test]
    fn a_wrong_parameter_is_named_with_what_is_expected() {
        let message = |parameters| farm_target(9, parameters).unwrap_err().to_string();
        assert_eq!(message("loss=much"), "farm:9?loss: \"much\" is not a share: write it as 10%");
        assert!(message("lag=1").starts_with("farm:9?lag: farms have no such setting"), "{}", message("lag=1"));
        let too_many = farm_target(16_777_214, "").unwrap_err().to_string();
        assert!(too_many.ends_with("there is room for 1 to 16777213"), "{too_many}");
        assert_eq!(message("mix=odd"), "farm:9?mix: invalid value \"odd\": possible values are sound, full");
        assert!(message("silent=60%&refused=60%").ends_with("are more than 100% together"));
    }
}
