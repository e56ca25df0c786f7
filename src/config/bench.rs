//! The arguments of `fragscan bench`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Limits;
use super::choice::queries;
use super::limits::adaptive_window;
use super::names::names;
use super::options::InputOptions;
use super::scan::spoken;
use super::value::{self, RateLimit};
use crate::bench::{Condition, Pace, Ramp, conditions};
use crate::cli::BenchArgs;
use crate::cli::choice::ReportFormat;
use crate::cli::protocol::Protocol;
use crate::engine::Auto;
use crate::error::Error;
use crate::farm::site::is_own_address;
use crate::net::options::IoPath;
use crate::output::is_stdout;
use crate::target::Target;

/// What a benchmark does.
pub(crate) struct BenchConfig {
    /// Whom it asks.
    pub input: InputOptions,
    /// How, except for the rate, which each round sets.
    pub limits: Limits,
    /// Which system calls are used.
    pub io: IoPath,
    /// At which rates.
    pub pace: Pace,
    /// How long it asks before anything is measured.
    pub warmup: Duration,
    /// How long a round is.
    pub length: Length,
    /// Rounds at a fixed rate.
    pub rounds: u32,
    /// Conditions under which it fails.
    pub conditions: Vec<Condition>,
    /// How the numbers are printed.
    pub format: ReportFormat,
    /// Where the distribution of round-trip times goes.
    pub hgrm: Option<PathBuf>,
    /// Nothing is said between the rounds.
    pub quiet: bool,
    /// The user may load servers that are nobody's own.
    may_load: bool,
}

/// How long a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// So long.
    Time(Duration),
    /// So many queries.
    Count(u64),
}

/// Reads the arguments of `fragscan bench`.
pub(crate) fn bench(args: BenchArgs) -> Result<BenchConfig, Error> {
    let length = match (args.count, args.duration.as_deref()) {
        (Some(0), _) => return Err(Error::usage("--count: write one query or more")),
        (Some(count), _) => Length::Count(count),
        (None, text) => Length::Time(value::time("--duration", text.unwrap_or(DURATION))?),
    };
    if length == Length::Time(Duration::ZERO) {
        return Err(Error::usage("--duration: write more than nothing, as in 5s"));
    }
    if !(1..=MOST_ROUNDS).contains(&args.rounds) {
        return Err(Error::usage(format!("--rounds: {} is not in 1 to {MOST_ROUNDS}", args.rounds)));
    }
    if args.hgrm.as_deref().is_some_and(is_stdout) {
        return Err(Error::usage("--hgrm: standard output has the report: name a file"));
    }
    let of_rate = |text: &str| value::rate("", text).ok().and_then(RateLimit::per_second);
    let pace = if args.find_max {
        Pace::FindMax
    } else if let Some(text) = &args.ramp {
        Pace::Ramp(Ramp::parse(text, of_rate).map_err(|reason| Error::usage(format!("--ramp: {reason}")))?)
    } else {
        if args.rate.as_deref().is_some_and(|text| text.starts_with("auto")) {
            return Err(Error::usage(
                "--rate: a benchmark measures at a rate it is told; --find-max looks for the highest",
            ));
        }
        let rate = args.rate.as_deref().map(|text| value::rate("--rate", text)).transpose()?;
        Pace::Fixed(rate.map_or(Some(DEFAULT_RATE), RateLimit::per_second))
    };
    let of_time = |text: &str| value::time("", text).ok().map(|time| time.as_secs_f64() * 1e3);
    let conditions = match &args.fail_if {
        Some(text) => {
            conditions(text, of_time, of_rate).map_err(|reason| Error::usage(format!("--fail-if: {reason}")))?
        }
        None => Vec::new(),
    };
    if args.protocol == Protocol::Auto {
        return Err(Error::usage("--protocol: a benchmark asks one protocol; name it"));
    }
    let warmup = value::time("--warmup", &args.warmup)?;
    let (window, auto_window) = adaptive_window(&args.window)?;
    // The rate is that of each round; the addresses themselves are asked as often as it takes.
    let limits = Limits {
        rate: Some(RateLimit::Max),
        host_rate: Some(RateLimit::Max),
        timeout: value::time("--timeout", &args.timeout)?,
        retries: args.retries,
        window,
        auto: Auto { window: auto_window, rate: false },
        queries: queries(&args.queries),
        ..Limits::default()
    };
    limits.check()?;
    let input = InputOptions {
        naming: names(&args.naming)?,
        targets: args.targets,
        spoken: spoken(Some(args.protocol), args.game.as_slice())?,
        ..InputOptions::default()
    };
    Ok(BenchConfig {
        input,
        limits,
        io: args.io.into(),
        pace,
        warmup,
        length,
        rounds: args.rounds,
        conditions,
        format: args.format,
        hgrm: args.hgrm,
        quiet: args.quiet,
        may_load: args.i_may_load_these_servers,
    })
}

impl BenchConfig {
    /// Says no to load on servers that are nobody's own here: `targets` are all addresses that will be asked.
    pub(crate) fn refuse_load(&self, targets: &[Target]) -> Result<(), Error> {
        if self.may_load || self.pace.highest().is_some_and(|rate| rate <= MOST_FOR_STRANGERS) {
            return Ok(());
        }
        match targets.iter().find(|target| !is_ours(target.address.ip())) {
            Some(stranger) => Err(Error::usage(format!(
                "{} is neither on this machine nor in a private network, and more than {MOST_FOR_STRANGERS:.0} \
                 datagrams a second are a load on it and on the way there: write --rate 1000 or less, or, if you may \
                 load it, --i-may-load-these-servers",
                stranger.address
            ))),
            None => Ok(()),
        }
    }
}

fn is_ours(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_own_address(ip),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

const DURATION: &str = "5s";
const DEFAULT_RATE: f64 = 1_000.0;
/// Datagrams a second that anybody may be sent.
const MOST_FOR_STRANGERS: f64 = 1_000.0;
const MOST_ROUNDS: u32 = 1_000;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Args, Command};

    fn config(arguments: &str) -> Result<BenchConfig, Error> {
        let words = ["fragscan", "bench"].into_iter().chain(arguments.split_whitespace());
        let Command::Bench(args) = Args::try_parse_from(words).unwrap().command else { panic!("bench was typed") };
        bench(args)
    }

    #[test]
    fn who_says_nothing_gets_a_thousand_a_second_in_three_rounds_of_five() {
        let config = config("farm:5").unwrap();
        assert_eq!(config.pace, Pace::Fixed(Some(1_000.0)));
        assert_eq!((config.rounds, config.length), (3, Length::Time(Duration::from_secs(5))));
        assert_eq!(config.warmup, Duration::from_secs(1));
    }

    #[test]
    fn strangers_are_not_loaded_without_a_word() {
        let refusal = |arguments: &str, ip: &str| {
            let address = std::net::SocketAddr::new(ip.parse().unwrap(), 27_015);
            config(arguments).unwrap().refuse_load(&[Target { address, plan: 0, origin: 0 }])
        };
        for ours in ["127.0.0.1", "10.1.2.3", "192.168.1.5", "172.16.0.1", "169.254.1.1", "::1", "fd00::1", "fe80::1"] {
            assert!(refusal("127.0.0.1 --rate max", ours).is_ok(), "{ours}");
        }
        for theirs in ["8.8.8.8", "172.32.0.1", "2001:4860:4860::8888", "100.64.0.1"] {
            assert!(refusal("127.0.0.1", theirs).is_ok());
            assert!(refusal("127.0.0.1 --ramp 100-1000", theirs).is_ok());
            for load in ["--rate 1001", "--rate max", "--ramp 100-1001", "--find-max"] {
                let message = refusal(&format!("127.0.0.1 {load}"), theirs).unwrap_err().to_string();
                assert!(message.contains(theirs) && message.contains("--i-may-load-these-servers"), "{message}");
                assert!(refusal(&format!("127.0.0.1 {load} --i-may-load-these-servers"), theirs).is_ok());
            }
        }
    }

    #[test]
    fn what_was_mistyped_is_explained() {
        for (arguments, explanation) in [
            ("--ramp 5k", "--ramp: \"5k\" is no ramp"),
            ("--fail-if p98>1ms", "--fail-if: \"p98\" is not measured"),
            ("--rounds 0", "--rounds: 0 is not in 1 to"),
            ("--duration 0s", "--duration: write more than nothing"),
            ("--count 0", "--count"),
            ("--rate fast", "--rate: \"fast\" is not a rate"),
            ("--rate auto", "--find-max looks for the highest"),
            ("--hgrm -", "--hgrm"),
        ] {
            let message = config(&format!("farm:5 {arguments}")).err().expect(arguments).to_string();
            assert!(message.contains(explanation), "{arguments}: {message}");
        }
    }
}
