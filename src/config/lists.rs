//! `--from URL` and the arguments of `fragscan list`.

use std::sync::Arc;

use super::input::{Inputs, plan_of};
use super::output::outputs;
use super::scan::ScanConfig;
use super::steam;
use crate::cli::{ListArgs, ScanArgs};
use crate::engine::Plan;
use crate::error::Error;
use crate::list::steam_api::without_keys;
use crate::protocol::{self, AnyProtocol};
use crate::record::{self, Selection};
use crate::target::names::{Mention, Named};
use crate::target::{Hosts, Origin, Ports, Target, TargetSpec};

impl Inputs {
    /// Adds the lists of `--from`. Their servers are asked in their usual protocol, unless one or a game was `chosen`;
    /// `--app` is for those of them that can be asked for an application.
    pub(super) fn lists(&mut self, args: &ScanArgs, chosen: bool) -> Result<(), Error> {
        let mut takes_app = args.steam.app.is_none();
        for url in &args.from {
            if let Some(rest) = steam::behind_scheme(url) {
                takes_app = true;
                self.steam_list(url, rest, args, chosen)?;
                continue;
            }
            let wrong = |reason| Error::usage(without_keys(&format!("list {url:?}: {reason}")));
            takes_app |= self.list(url, args.steam.app, chosen).map_err(wrong)?;
        }
        if takes_app {
            return Ok(());
        }
        Err(Error::usage("--app: none of these lists can be asked for the servers of one application"))
    }

    /// Adds the list at `url`, and says whether it can be asked for an application.
    fn list(&mut self, url: &str, app: Option<u32>, chosen: bool) -> Result<bool, String> {
        let text = with_small_scheme(url);
        let (place, parameters) = text.split_once('?').unwrap_or((&text, ""));
        let spec = TargetSpec::parse(place).map_err(|reason| reason.to_string())?;
        let list = list_protocol(spec.scheme)?;
        list.check_parameters(parameters)?;
        let takes_app = list.check_parameters("app=1").is_ok();
        let mut parameters = parameters.to_owned();
        if let Some(app) = app.filter(|_| takes_app) {
            parameters = format!("{parameters}&app={app}");
            list.check_parameters(&parameters).map_err(|reason| format!("with --app {app}: {reason}"))?;
        }
        let servers = self.plan_of_listed(list.lists(), chosen);
        let plan = self.plans.len() as u16;
        self.plans.push(Plan { parameters: parameters.into(), ..Plan::of(list) });
        self.lists.plans.insert(plan, servers);
        self.lists.open += 1;
        let ports = spec.ports.unwrap_or_else(|| Ports::one(list.spec().default_port));
        let one = || "a list is at one address and one port".to_owned();
        let port = ports.single().ok_or_else(one)?;
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
                let mention = Mention { ports, plan, origin, typed: true };
                self.list_names.push(Named { name: name.into(), service: None, mention });
            }
            Hosts::Range(_) | Hosts::Farm { .. } => return Err(one()),
        }
        Ok(takes_app)
    }

    /// Leaves out all lists, and returns what they are called.
    pub(super) fn forget_lists(&mut self) -> Vec<Arc<str>> {
        let known = std::mem::take(&mut self.lists).known.into_iter().map(|list| list.origin);
        let named = std::mem::take(&mut self.list_names).into_iter().map(|list| list.mention.origin);
        let source = |origin| self.origins.find(origin)?.source;
        let fetched = std::mem::take(&mut self.steam).into_iter().map(|list| list.source);
        let all: Vec<_> = known.chain(named).filter_map(source).chain(fetched).collect();
        self.had_lists |= !all.is_empty();
        all
    }

    /// The plan of servers that are `usually` of some protocol, unless one or a game was `chosen`.
    pub(super) fn plan_of_listed(&self, usually: Option<&str>, chosen: bool) -> u16 {
        let usual = usually.and_then(protocol::by_name);
        usual.filter(|_| !chosen).map_or_else(|| self.reading.plan(), plan_of)
    }
}

/// The protocol of lists that is called `scheme`.
fn list_protocol(scheme: Option<&str>) -> Result<AnyProtocol, String> {
    let all = || protocol::of_lists().map(|list| format!("{}://HOST:PORT", list.spec().name));
    let known = || format!("known are {} and steam-api:", all().collect::<Vec<_>>().join(", "));
    let word = scheme.ok_or_else(|| format!("say what kind of list it is: {}", known()))?;
    let list = protocol::of_lists().find(|list| list.is_called(word));
    list.ok_or_else(|| format!("there is no kind of list {word:?}: {}", known()))
}

/// `url` with what kind of list it is in small letters.
fn with_small_scheme(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find([':', '?']).unwrap_or(url.len()));
    scheme.to_ascii_lowercase() + rest
}

/// Reads the arguments of `fragscan list`: a scan of which only the lists are asked.
pub fn list(args: ListArgs, random: u64) -> Result<ScanConfig, Error> {
    // A table is for a person at a terminal; the same words as for rows.
    outputs(&args.output, args.format.as_deref())?;
    let scan = ScanArgs {
        from: args.from,
        steam: args.steam,
        list_rate: args.list_rate,
        exclude: args.exclude,
        exclude_file: args.exclude_file,
        include_private: args.include_private,
        sending: args.sending,
        timeout: args.timeout,
        retries: args.retries,
        output: args.output,
        format: args.format,
        strict: args.strict,
        quiet: args.quiet,
        verbose: args.verbose,
        order: "input".into(),
        ..ScanArgs::default()
    };
    let columns = COLUMNS.iter().filter_map(|name| record::column(name)).collect();
    let mut config = super::scan(scan, random)?;
    config.selection = Some(Selection { columns, lists: Vec::new(), always: true });
    Ok(config)
}

/// What is known of a server that was not asked.
const COLUMNS: [&str; 5] = ["address", "ip", "port", "protocol", "source"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_lists_have_small_letters_and_nothing_else_changes() {
        for (url, expected) in [
            ("Valve-Master://Host:1?filter=/map/DE_dust2", "valve-master://Host:1?filter=/map/DE_dust2"),
            ("STEAM-API:?filter=/name_match/A:B", "steam-api:?filter=/name_match/A:B"),
            ("Steam-Api?filter=/name_match/A:B", "steam-api?filter=/name_match/A:B"),
            ("STEAM-API", "steam-api"),
        ] {
            assert_eq!(with_small_scheme(url), expected);
        }
    }
}
