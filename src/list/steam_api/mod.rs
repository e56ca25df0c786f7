//! Steam's list of servers, by way of its Web API (`IGameServersService/GetServerList/v1`): the one way to a whole list
//! since Valve's master servers went silent.
//!
//! ```text
//!   filter ─► partition ─► crawl ─► http ─► api.steampowered.com
//!                 ▲           │
//!                 └── rows ───┴──► servers that are new ─► Items
//! ```
//!
//! An answer has 10,000 rows at most and there are no pages: `partition` takes the question apart until every part is
//! answered in full. The only reply to too many questions is an empty one, the same as to a question that nothing matches:
//! `crawl` says when to believe it. Both are free of sockets and clocks; the thread that [`spawn`] starts is
//! where waiting is done. The [`Key`] goes into a header, and nowhere else.
//!
//! Sources: Valve's pages on the [API](https://partner.steamgames.com/doc/webapi/IGameServersService), on
//! [keys](https://partner.steamgames.com/doc/webapi_overview/auth) and on the
//! [filter language](https://developer.valvesoftware.com/wiki/Master_Server_Query_Protocol); limits as clients found them.

mod condition;
mod crawl;
mod http;
mod key;
mod partition;
mod server;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::after;

use self::crawl::{Answer, Ending, Surroundings, crawl};
use self::http::Api;
use self::partition::{Partition, Question};
use self::server::Server;
use super::{Entry, Item, Items};

pub(crate) use self::crawl::Patience;
pub(crate) use self::http::Url;
pub(crate) use self::key::{Key, without_keys};

/// What to ask for, and how.
#[derive(Debug, Clone)]
pub(crate) struct SteamApi {
    /// Which servers, in the filter language with backslashes; empty for all of them.
    pub filter: String,
    /// Rows that an answer has at most.
    pub most_rows: usize,
    /// The key to ask with.
    pub key: Key,
    /// Where to ask.
    pub url: Url,
    /// How patient to be.
    pub patience: Patience,
}

/// Starts a thread that asks for one of `lists` after the other, so that all of them together keep the pace of one. It
/// sends every server of a list once, as soon as it is known, and then how it ended; `say` tells a person why that takes a
/// while. Fails if the system has no thread left.
pub(crate) fn spawn(
    lists: Vec<(SteamApi, Items)>,
    mut say: impl FnMut(&str) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(SCHEME.into()).spawn(move || {
        let mut refusal = None;
        for (number, (list, items)) in lists.into_iter().enumerate() {
            let mut around = Around { api: Api::new(list.url, &list.key, TIMEOUT), items, say: &mut say };
            let ending = if let Some(why) = &refusal {
                Ending::Incomplete(format!("not asked for: {why}"))
            } else {
                if number > 0 {
                    around.wait(list.patience.gap);
                }
                crawl(Partition::new(&list.filter, list.most_rows), &list.patience, &mut around)
            };
            let last = match ending {
                Ending::Complete => Item::Complete,
                Ending::Incomplete(why) => Item::Incomplete(why),
                Ending::Refused(missing, why) => {
                    refusal = Some(why);
                    Item::Incomplete(missing)
                }
                Ending::Unwanted => return,
            };
            // Nobody may want to know any more.
            let _ = around.items.send(last);
        }
    })
}

/// The network, the clock and the scan.
struct Around<'a, S> {
    api: Api,
    items: Items,
    say: &'a mut S,
}

impl<S: FnMut(&str)> Surroundings for Around<'_, S> {
    fn ask(&mut self, question: &Question) -> Answer {
        let answer = self.api.ask(question);
        let odd_rows = if let Answer::Rows(rows) = &answer { rows.odd as u64 } else { 0 };
        // If nobody wants to know any more, servers show it.
        let _ = self.items.send(Item::Asked { odd_rows });
        answer
    }

    fn wait(&mut self, time: Duration) {
        // It cannot fail: its sender is the clock.
        let _ = after(time).recv();
    }

    fn found(&mut self, server: Server) -> bool {
        let address = server.addr;
        self.items.send(Item::Entry(Entry { address, facts: Some(Arc::new(server.facts())) })).is_ok()
    }

    fn say(&mut self, message: &str) {
        (self.say)(message);
    }
}

/// How URLs of these lists begin.
pub(crate) const SCHEME: &str = "steam-api";
/// Rows that Steam puts into an answer at most.
pub(crate) const MOST_ROWS: usize = 10_000;
/// An answer of 10,000 rows has a few megabytes, and Steam takes its time to find them.
const TIMEOUT: Duration = Duration::from_mins(1);
