//! `--from URL` and the arguments of `fragscan list`.

use super::input::{Inputs, plan_of};
use super::output::outputs;
use super::scan::ScanConfig;
use super::steam;
use super::value::{self, Limit};
use crate::cli::{ListArgs, ScanArgs};
use crate::engine::Plan;
use crate::error::Error;
use crate::list::steam_api::without_keys;
use crate::protocol;
use crate::record::{self, Selection};
use crate::target::resolve::Name;
use crate::target::{Hosts, Origin, Ports, Target, TargetSpec};

impl Inputs {
    /// Adds the list at `url`. Its servers are asked in their usual protocol, unless one or a game was `chosen`; `--app`
    /// is added to the filters of lists that have them.
    pub(super) fn list(&mut self, url: &str, args: &ScanArgs, chosen: bool) -> Result<(), Error> {
        if let Some(rest) = steam::behind_scheme(url) {
            return self.steam_list(url, rest, args, chosen);
        }
        let wrong = |reason| Error::usage(without_keys(&format!("list {url:?}: {reason}")));
        self.add_list(url, args.steam.app, chosen).map_err(wrong)
    }

    fn add_list(&mut self, url: &str, app: Option<u32>, chosen: bool) -> Result<(), String> {
        let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
        let spec = TargetSpec::parse(place).map_err(|reason| reason.to_string())?;
        let known = || protocol::of_lists().map(|list| format!("{}://HOST:PORT", list.spec().name));
        let known = || format!("known are {} and steam-api:", known().collect::<Vec<_>>().join(", "));
        let word = spec.scheme.ok_or_else(|| format!("say what kind of list it is: {}", known()))?;
        let list = protocol::of_lists().find(|list| list.is_called(word));
        let list = list.ok_or_else(|| format!("there is no kind of list {word:?}: {}", known()))?;
        let parameters = app.map_or_else(|| parameters.to_owned(), |app| format!("{parameters}&app={app}"));
        list.check_parameters(&parameters)?;
        let servers = self.plan_of_listed(list.lists(), chosen);
        let plan = self.plans.len() as u16;
        self.plans.push(Plan { parameters: parameters.into(), ..Plan::of(list) });
        self.lists.plans.insert(plan, servers);
        self.lists.open += 1;
        let ports = spec.ports.unwrap_or_else(|| Ports::one(list.spec().default_port));
        let one = || "a list is at one address and one port".to_owned();
        let port = ports.nth(0).filter(|_| ports.len() == 1).ok_or_else(one)?;
        let origin = self.origins.add(Origin { source: Some(url.into()), ..Origin::default() });
        match spec.hosts {
            Hosts::Range(range) if range.is_single() => {
                let address = (range.first(), port).into();
                if self.builder.zones().ruling(&address, true).is_some() {
                    return Err(format!("{address} is never asked: it is in a network that is reserved or excluded"));
                }
                self.lists.known.push_back(Target { address, plan, origin });
            }
            Hosts::Name(name) => {
                self.list_names.push(Name { name: name.into(), ports, service: None, plan, origin, typed: true });
            }
            Hosts::Range(_) | Hosts::Farm { .. } => return Err(one()),
        }
        Ok(())
    }

    /// The plan of servers that are `usually` of some protocol, unless one or a game was `chosen`.
    pub(super) fn plan_of_listed(&self, usually: Option<&str>, chosen: bool) -> u16 {
        let usual = usually.and_then(protocol::by_name);
        usual.filter(|_| !chosen).map_or_else(|| self.reading.plan(), plan_of)
    }
}

/// What `fragscan list` does.
pub struct ListConfig {
    /// The scan that it is, of which only the lists are asked.
    pub scan: ScanConfig,
    /// What is written of each server.
    pub selection: Selection,
}

/// Reads the arguments of `fragscan list`: a scan of lists.
pub fn list(args: ListArgs, random: u64) -> Result<ListConfig, Error> {
    // A table is for a person at a terminal; the same words as for rows.
    outputs(&args.output, args.format.as_deref())?;
    let scan = ScanArgs {
        from: args.from,
        steam: args.steam,
        list_rate: args.list_rate,
        exclude: args.exclude,
        exclude_file: args.exclude_file,
        include_private: args.include_private,
        timeout: args.timeout,
        retries: args.retries,
        output: args.output,
        format: args.format,
        strict: args.strict,
        quiet: args.quiet,
        order: "input".into(),
        ..ScanArgs::default()
    };
    let columns = COLUMNS.iter().filter_map(|name| record::column(name)).collect();
    Ok(ListConfig {
        scan: super::scan(scan, random)?,
        selection: Selection { columns, lists: Vec::new(), always: true },
    })
}

/// The time between two requests to a list server, from `--list-rate`: requests a minute.
pub(super) fn list_gap(text: &str) -> Result<std::time::Duration, Error> {
    let a_minute = std::time::Duration::from_mins(1);
    Ok(match value::rate("--list-rate", text)? {
        Limit::Max => std::time::Duration::ZERO,
        Limit::PerSecond(number) => a_minute.div_f64(number),
    })
}

/// What is known of a server that was not asked.
const COLUMNS: [&str; 5] = ["address", "ip", "port", "protocol", "source"];
