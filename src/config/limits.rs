//! The limits of a scan: its pace, its patience, and how much is in flight.

use std::time::Duration;

use super::choice::queries;
use super::value::{self, RateLimit};
use crate::cli::ScanArgs;
use crate::engine::{Auto, LEAST_RATE, LEAST_WINDOW, Rate, Settings};
use crate::error::Error;
use crate::record::{Query, QuerySet};
use crate::rng::AddressHasher;

/// How fast, how long, and what to ask: the default of an absent field depends on the targets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Datagrams per second.
    pub rate: Option<RateLimit>,
    /// Which limits adapt; their values are then upper bounds.
    pub auto: Auto,
    /// Bits per second, with headers of IP and UDP.
    pub bandwidth: Option<RateLimit>,
    /// Datagrams per second to one address, after a burst.
    pub host_rate: Option<RateLimit>,
    /// Time between two requests to one list server.
    pub list_gap: Duration,
    /// How long to wait for the answer to a first try; it doubles with each retry.
    pub timeout: Duration,
    /// The longest time that one target may take.
    pub target_timeout: Option<Duration>,
    /// Further tries of each step after silence.
    pub retries: u32,
    /// Most targets in flight.
    pub window: usize,
    /// What each server is asked.
    pub queries: QuerySet,
    /// Asks lists, but not the servers that they name.
    pub lists_only: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rate: None,
            auto: Auto::default(),
            bandwidth: None,
            host_rate: None,
            list_gap: Duration::from_secs(2),
            timeout: Duration::from_secs(1),
            target_timeout: None,
            retries: 2,
            window: 10_000,
            queries: QuerySet::of(Query::Info),
            lists_only: false,
        }
    }
}

impl Limits {
    /// Reads the arguments.
    pub(super) fn read(args: &ScanArgs) -> Result<Self, Error> {
        let rate = |flag, text: Option<&str>| text.map(|text| value::rate(flag, text)).transpose();
        let pace = args.rate.as_deref().map(adaptive_rate).transpose()?;
        let (window, auto_window) = adaptive_window(&args.window)?;
        let limits = Limits {
            rate: pace.map(|(rate, _)| rate),
            auto: Auto { window: auto_window, rate: pace.is_some_and(|(_, auto)| auto) },
            bandwidth: rate("--bandwidth", args.bandwidth.as_deref())?,
            host_rate: rate("--host-rate", args.host_rate.as_deref())?,
            list_gap: list_gap(&args.list_rate)?,
            timeout: value::time("--timeout", &args.timeout)?,
            target_timeout: (args.target_timeout.as_deref())
                .map(|text| value::time("--target-timeout", text))
                .transpose()?,
            retries: args.retries,
            window,
            queries: queries(&args.queries),
            lists_only: false,
        };
        limits.check()?;
        Ok(limits)
    }

    /// Returns an error for limits that no run can keep.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self { rate, bandwidth, host_rate, timeout, target_timeout, list_gap, retries, window, .. } = self;
        for (flag, limit) in [("--rate", rate), ("--bandwidth", bandwidth), ("--host-rate", host_rate)] {
            if let Some(RateLimit::PerSecond(number)) = limit
                && !value::RATES.contains(number)
            {
                return Err(Error::usage(format!(
                    "{flag}: {number} is not a rate: write it as 0.5, 2000, 50k, or max"
                )));
            }
        }
        for (flag, time) in [("--timeout", Some(timeout)), ("--target-timeout", target_timeout.as_ref())] {
            if time.is_some_and(|time| time.is_zero() || *time > value::LONGEST_TIME) {
                return Err(Error::usage(format!("{flag}: write more than nothing and at most a day, as in 1s")));
            }
        }
        if *list_gap > value::LONGEST_TIME {
            return Err(Error::usage("--list-rate: write more than one request a day, as in 30"));
        }
        if *retries > MOST_RETRIES {
            return Err(Error::usage(format!("--retries: {retries} is not in 0 to {MOST_RETRIES}")));
        }
        if !(1..=MOST_IN_FLIGHT).contains(window) {
            return Err(Error::usage(format!("--window: {window} is not in 1 to {MOST_IN_FLIGHT}")));
        }
        Ok(())
    }

    /// Rounds in which a plan with several protocols tries each of them once: as many as a step has tries.
    #[must_use]
    pub(crate) fn rounds(&self) -> u8 {
        u8::try_from(self.retries.saturating_add(1)).unwrap_or(u8::MAX)
    }

    /// Scans of nothing but loopback bother nobody, and run as fast as they can unless told otherwise.
    #[must_use]
    pub fn settings(&self, loopback_only: bool, seed: u64) -> Settings {
        let or_polite = |chosen: Option<RateLimit>, rate| {
            let usual = if loopback_only { RateLimit::Max } else { RateLimit::PerSecond(rate) };
            chosen.unwrap_or(usual).per_second()
        };
        let packets = or_polite(self.rate, DEFAULT_RATE);
        let host_rate = or_polite(self.host_rate, DEFAULT_HOST_RATE);
        let mut settings = Settings {
            timeout: self.timeout,
            retries: self.retries,
            budget: DEFAULT_BUDGET,
            window: self.window,
            rate: Rate { packets, bits: self.bandwidth.and_then(RateLimit::per_second) },
            auto: self.auto,
            host_gap: host_rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1).div_f64(rate)),
            list_gap: self.list_gap,
            queries: self.queries,
            keep_datagrams: false,
            lists_only: self.lists_only,
            key: AddressHasher::new(seed),
        };
        // Whoever asks for more tries means to have them, a server that is silent to one form of a query may know another,
        // and one query that stays unanswered must not use up the time of the others.
        let one_step = settings.patience() + settings.timeout.saturating_mul(OTHER_FORMS);
        let further = FURTHER_BUDGET * (self.queries.len() as u32).saturating_sub(1);
        settings.budget = self.target_timeout.unwrap_or(DEFAULT_BUDGET.max(one_step) + further);
        settings
    }
}

/// Reads a rate, or how far one may grow that finds its own size.
pub(super) fn adaptive_rate(text: &str) -> Result<(RateLimit, bool), Error> {
    let (rate, auto) = value::adaptive(text, RateLimit::PerSecond(MOST_AUTO_RATE), |text| value::rate("--rate", text))?;
    if auto && rate.per_second().is_some_and(|rate| rate < LEAST_RATE) {
        return Err(Error::usage(format!("--rate: {text:?}: a rate that adapts never falls below {LEAST_RATE}")));
    }
    Ok((rate, auto))
}

/// The time between two requests to a list server, from `--list-rate`: requests a minute.
pub(super) fn list_gap(text: &str) -> Result<Duration, Error> {
    let a_minute = Duration::from_mins(1);
    let reason = || format!("--list-rate: {text:?} is not a number of requests a minute: write it as 30, 0.5 or max");
    Ok(match value::rate("", text).map_err(|_| Error::usage(reason()))? {
        RateLimit::Max => Duration::ZERO,
        RateLimit::PerSecond(number) => a_minute.div_f64(number),
    })
}

/// Reads the number of targets in flight, or how far one may grow that finds its own size.
pub(super) fn adaptive_window(text: &str) -> Result<(usize, bool), Error> {
    let fixed = |number: &str| match number.parse() {
        Ok(number) if (1..=MOST_IN_FLIGHT).contains(&number) => Ok(number),
        Ok(number) => Err(Error::usage(format!("--window: {number} is not in 1 to {MOST_IN_FLIGHT}"))),
        Err(_) => Err(Error::usage(format!("--window: {text:?} is not a number of targets: write 10000 or auto"))),
    };
    let (window, auto) = value::adaptive(text, MOST_AUTO_WINDOW, fixed)?;
    if auto && (window as f64) < LEAST_WINDOW {
        return Err(Error::usage(format!("--window: {text:?}: a window that adapts never falls below {LEAST_WINDOW}")));
    }
    Ok((window, auto))
}

const DEFAULT_BUDGET: Duration = Duration::from_secs(10);
/// Requests that are made once, in other forms, after all tries of a step: `hl1` has the most, two, and one is for the odds.
const OTHER_FORMS: u32 = 3;
/// For each query after the first.
const FURTHER_BUDGET: Duration = Duration::from_secs(5);
/// Datagrams a second, unless every target is on loopback.
pub(super) const DEFAULT_RATE: f64 = 2_000.0;
/// Datagrams a second to one address: what GoldSource servers put up with (`max_queries_sec`).
const DEFAULT_HOST_RATE: f64 = 3.0;
const MOST_RETRIES: u32 = 100;
const MOST_IN_FLIGHT: usize = 4_000_000;
/// How far limits grow that find their own size, unless told otherwise: 21 Mbit/s of short requests, and flights in some
/// 30 MB.
const MOST_AUTO_RATE: f64 = 50_000.0;
const MOST_AUTO_WINDOW: usize = 65_536;
