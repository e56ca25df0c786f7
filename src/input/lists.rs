//! Lists of servers among the inputs: `--from URL` and the arguments of `fragscan list`.

use std::fmt::Display;
use std::net::{SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use super::Input;
use super::fetched::FetchedEnds;
use super::names::{Mention, Named};
use super::plans::Plans;
use super::steam::{self, SteamList};
use super::stream::Lists;
use super::system::zoned;
use crate::config::InputOptions;
use crate::engine::Plan;
use crate::error::Error;
use crate::list::steam_api::without_keys;
use crate::protocol::{self, AnyProtocol};
use crate::target::{Hosts, Origin, Origins, Ports, Target, TargetSpec};

/// Lists that were named.
#[derive(Debug, Default)]
pub(super) struct NamedLists {
    /// List servers whose addresses are known.
    servers: Lists,
    /// Names of others, to be resolved.
    names: Vec<Named>,
    /// Lists that are fetched from the Steam Web API.
    steam: Vec<SteamList>,
    left_out: bool,
}

impl NamedLists {
    pub(super) fn is_empty(&self) -> bool {
        self.servers.open == 0 && self.steam.is_empty()
    }

    /// Whether lists were named, and left out.
    pub(super) const fn were_left_out(&self) -> bool {
        self.left_out
    }

    /// Leaves out all lists, and returns what they are called.
    pub(super) fn forget(&mut self, origins: &Origins) -> Vec<Arc<str>> {
        let servers = self.origins().into_iter().filter_map(|origin| origins.find(origin)?.source);
        let all: Vec<_> = servers.chain(self.steam.iter().map(|list| Arc::clone(&list.source))).collect();
        *self = Self { left_out: !all.is_empty(), ..Self::default() };
        all
    }

    /// Origins of the list servers.
    pub(super) fn origins(&self) -> Vec<u32> {
        let named = self.names.iter().map(|list| list.mention.origin);
        self.servers.known.iter().map(|list| list.origin).chain(named).collect()
    }

    /// Starts to fetch Steam's lists, and returns all lists, with the names that have to be resolved.
    pub(super) fn start(
        &mut self,
        origins: &Origins,
        ends: &FetchedEnds,
        say: &(impl Fn(&dyn Display) + Clone + Send + 'static),
    ) -> Result<(Lists, Vec<Named>), Error> {
        let Self { mut servers, names, steam, .. } = std::mem::take(self);
        servers.fetched = steam::start(steam, origins, ends, say)?;
        Ok((servers, names))
    }

    /// Adds a Steam list.
    pub(super) fn add_steam(&mut self, list: SteamList) {
        self.steam.push(list);
    }
}

impl Input {
    /// Adds the lists of `options`. Their servers are asked in their usual protocol, unless one or a game was chosen.
    /// `--app` applies to the lists that can be filtered by application: each of them becomes one list per application.
    /// Two requests to Steam are `gap` apart.
    pub(super) fn add_lists(&mut self, options: &InputOptions, gap: Duration) -> Result<(), Error> {
        let mut takes_app = options.steam.apps.is_empty();
        for url in &options.lists {
            takes_app |= self.add_list_of_apps(url, options, gap)?;
        }
        if takes_app {
            return Ok(());
        }
        Err(Error::usage("--app: none of these lists can be asked for the servers of one application"))
    }

    /// Adds the list at `url` for each application; true if it can be asked for one.
    fn add_list_of_apps(&mut self, url: &str, options: &InputOptions, gap: Duration) -> Result<bool, Error> {
        let apps = &options.steam.apps;
        let steam = steam::behind_scheme(url);
        let wrong = |reason| Error::usage(without_keys(&format!("list {url:?}: {reason}")));
        let takes_app = steam.is_some() || takes_app(url).map_err(wrong)?;
        let each: Vec<_> =
            if takes_app && !apps.is_empty() { apps.iter().copied().map(Some).collect() } else { vec![None] };
        for app in &each {
            // Lists that differ in their application have different names.
            let source = match app {
                Some(app) if each.len() > 1 => &format!("{url}{}app={app}", if url.contains('?') { '&' } else { '?' }),
                _ => url,
            };
            if let Some(rest) = steam {
                let plan = self.plan_of_listed(Some("a2s"), options);
                self.lists.add_steam(steam::list((url, source), rest, *app, plan, &options.steam, gap)?);
            } else {
                self.add_list((url, source), *app, options).map_err(wrong)?;
            }
        }
        Ok(takes_app)
    }

    /// Adds the list at `url`, or those of its servers that run `app`, and calls it `source`. A list that is named twice
    /// is asked once.
    fn add_list(
        &mut self,
        (url, source): (&str, &str),
        app: Option<u32>,
        options: &InputOptions,
    ) -> Result<(), String> {
        let text = with_small_scheme(url);
        let (place, parameters) = text.split_once('?').unwrap_or((&text, ""));
        let spec = TargetSpec::parse(place).map_err(|reason| reason.to_string())?;
        let list = list_protocol(spec.scheme)?;
        list.check_parameters(parameters)?;
        let mut parameters = parameters.to_owned();
        if let Some(app) = app {
            parameters = format!("{parameters}&app={app}");
            list.check_parameters(&parameters).map_err(|reason| format!("with --app {app}: {reason}"))?;
        }
        let servers = self.plan_of_listed(list.lists(), options);
        let plan = self.plans.add(Plan { parameters: parameters.into(), ..Plan::of(list) });
        let ports = spec.ports.unwrap_or_else(|| Ports::one(list.spec().default_port));
        let one = || "a list is at one address and one port".to_owned();
        let port = ports.single().ok_or_else(one)?;
        let origin = || self.origins.add(Origin { source: Some(source.into()), ..Origin::default() });
        let address = match spec.hosts {
            Hosts::Range(range) if range.is_single() => Some(SocketAddr::new(range.first(), port)),
            Hosts::Zoned { ip, zone } => Some(SocketAddrV6::new(ip, port, 0, zoned(ip, zone)?.scope_id()).into()),
            _ => None,
        };
        match (address, spec.hosts) {
            (Some(address), _) => {
                if self.set.zones().ruling(&address, true).is_some() {
                    return Err(format!("{address} is never asked: it is in a network that is reserved or excluded"));
                }
                let known = &mut self.lists.servers.known;
                if known.iter().any(|list| (list.plan, list.address) == (plan, address)) {
                    return Ok(());
                }
                known.push_back(Target { address, plan, origin: origin() });
            }
            (None, Hosts::Name(name)) => {
                let same = |list: &Named| {
                    let is_called = |spelling: &str| list.name.trim_end_matches('.').eq_ignore_ascii_case(spelling);
                    is_called(name.trim_end_matches('.')) && (list.mention.plan, &list.mention.ports) == (plan, &ports)
                };
                if self.lists.names.iter().any(same) {
                    return Ok(());
                }
                let mention = Mention { origin: origin(), ports, plan, typed: true };
                self.lists.names.push(Named { name: name.into(), service: None, mention });
            }
            (None, _) => return Err(one()),
        }
        self.lists.servers.plans.insert(plan, servers);
        self.lists.servers.open += 1;
        Ok(())
    }

    /// The plan for servers that `usually` speak some protocol, unless a protocol or a game was chosen. Lists name the ports
    /// at which servers answer queries.
    fn plan_of_listed(&self, usually: Option<&str>, options: &InputOptions) -> u16 {
        let usual = usually.and_then(protocol::by_name).filter(|_| !options.spoken.is_chosen());
        usual.map_or_else(|| self.reading.plan_of_servers(), Plans::of)
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

/// Whether the list at `url` can be asked for the servers of one application.
fn takes_app(url: &str) -> Result<bool, String> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    Ok(list_protocol(scheme)?.check_parameters("app=1").is_ok())
}

/// `url` with what kind of list it is in small letters.
fn with_small_scheme(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find([':', '?']).unwrap_or(url.len()));
    scheme.to_ascii_lowercase() + rest
}

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
