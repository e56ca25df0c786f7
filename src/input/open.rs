//! From what was read to a source: the set, and the stream that follows it if more may become known.

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::thread;

use crossbeam_channel::bounded;

use super::account::{Account, why_nothing, why_unaskable};
use super::arrivals::{Arrivals, Item};
use super::outcomes::Outcomes;
use super::resolve::Resolver;
use super::stream::Stream;
use super::{Input, stdin};
use crate::engine::Plan;
use crate::error::Error;
use crate::farm::Farm;
use crate::output::{NameLog, count};
use crate::target::{Dedup, Order, Origin, Origins, Source, Target};

/// Targets that a scan can take, and what it needs to know about them.
pub(crate) struct Opened {
    /// The targets.
    pub source: Box<dyn Source>,
    /// What their plans say.
    pub plans: Arc<[Plan]>,
    /// Who named them.
    pub origins: Origins,
    /// What becomes of the input; it goes on changing while the scan runs.
    pub account: Account,
    /// Where they are.
    pub reach: Reach,
}

/// Where targets are, as far as is known before the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// There may be IPv4 targets.
    pub ipv4: bool,
    /// There may be IPv6 targets.
    pub ipv6: bool,
    /// All targets are known to be on loopback.
    pub loopback_only: bool,
}

impl Opened {
    /// The targets of a source that the caller brought, which follow `plans`.
    #[must_use]
    pub(crate) fn foreign(source: Box<dyn Source>, plans: Vec<Plan>) -> Self {
        let origins = Origins::default();
        // Targets that name no origin have this one.
        let _ = origins.add(Origin::default());
        let reach = Reach { ipv4: true, ipv6: true, loopback_only: false };
        Self { source, plans: plans.into(), origins, account: Account::foreign(), reach }
    }
}

impl Input {
    /// Makes the source, with the servers of the `farm` that was started in the meantime, and starts the threads that
    /// resolve names, read standard input and fetch lists.
    ///
    /// If the input is strict, targets that cannot be asked at all are an error too. `complain` receives messages:
    /// about lines of standard input that later cannot be read, and about what holds up a list. Where
    /// names lead is noted in `log`.
    pub(crate) fn open(
        mut self,
        farm: Option<&Farm>,
        seed: u64,
        log: Option<NameLog>,
        complain: impl Fn(&dyn Display) + Clone + Send + 'static,
    ) -> Result<Opened, Error> {
        if let Some(farm) = farm {
            self.add_farm(farm);
        }
        let grows = self.stdin.is_some()
            || !(self.given.is_empty() && self.zoned.is_empty() && self.names.is_empty() && self.lists.is_empty());
        let zones = self.set.zones().clone();
        let (targets, tally) = self.set.build(self.order, seed).map_err(|reason| Error::usage(reason.to_string()))?;
        let unaskable = tally.invalid - self.files.bad_lines;
        if self.strict && unaskable > 0 {
            return Err(Error::usage(format!("{}; nothing was sent, because of --strict", why_unaskable(unaskable))));
        }
        // An earlier output must not be replaced by an empty one because a list was broken.
        if targets.is_empty() && !grows && !self.lists.were_left_out() {
            let held_back = match self.files.held_back {
                0 => String::new(),
                rows => format!("; --input-where leaves out {}", count(rows, "row")),
            };
            return Err(Error::usage(format!("{}{held_back}", why_nothing(&tally))));
        }
        let reach = Reach {
            ipv4: grows || targets.has_ipv4(),
            ipv6: grows || targets.has_ipv6(),
            loopback_only: !grows && targets.all_loopback(),
        };
        let mut account = Account::new(Arc::new(Mutex::new(tally)), self.files.bad_lines);
        account.list_servers = self.lists.origins();
        let origins = self.origins.clone();
        if !grows {
            let plans = self.plans.all().into();
            return Ok(Opened { source: Box::new(targets), plans, origins, account, reach });
        }
        let (lists, list_names) = self.lists.start(&origins, &account.fetched, &complain)?;
        let (sender, items) = bounded(WAITING);
        let (plan, origin) = (self.reading.plan_of_servers(), self.argument_origin);
        let given = self.given.into_iter().map(|addresses| {
            let targets = addresses.map(move |address| Item::Target(Target { address, plan, origin }));
            Arrivals::Given(Box::new(targets))
        });
        if self.order == Order::Shuffled {
            // However they were written, they come in the same order.
            self.zoned.sort_by_key(|item| match item {
                Item::Target(target) | Item::Typed(target) => Some(*target),
                _ => None,
            });
        }
        let on_links = Arrivals::Given(Box::new(self.zoned.into_iter()));
        let arrivals = given.chain([on_links, Arrivals::Sent(items)]).collect();
        let known = Dedup::new(targets, seed);
        let stream = Stream::new(known, arrivals, lists, zones, Arc::clone(&account.tally), self.order, seed);
        let outcomes = Outcomes { items: sender.clone(), counts: Arc::clone(&account.names), log };
        let mut resolver = if self.asks_names {
            Resolver::start(&self.naming, self.local, outcomes)?
        } else {
            Resolver::asking_nobody(outcomes)
        };
        let failed = |source| Error::Input { name: "names and standard input".into(), source };
        let Self { names, stdin, reading, condition, plans, .. } = self;
        let lines = stdin.map(|origin| stdin::Lines { reading, condition, origin, origins: origins.clone() });
        thread::Builder::new()
            .spawn(move || {
                // Whoever does not take a name has ended, because the scan has.
                if list_names.into_iter().chain(names).all(|name| resolver.mention(name))
                    && let Some(lines) = lines
                {
                    lines.read(&complain, &sender, &mut resolver);
                }
            })
            .map_err(failed)?;
        Ok(Opened { source: Box::new(stream), plans: plans.all().into(), origins, account, reach })
    }
}

/// Items that were read and not taken.
const WAITING: usize = 1 << 14;
