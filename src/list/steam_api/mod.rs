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
//! `crawl` says when to believe it. Both are free of sockets and clocks; the thread that [`SteamApi::spawn`] starts is
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

pub use self::crawl::Patience;
pub use self::http::Url;
pub use self::key::Key;

/// What to ask for, and how.
#[derive(Debug, Clone)]
pub struct SteamApi {
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

impl SteamApi {
    /// Starts a thread that sends every server once, as soon as it is known, and then how it ended; `say` tells a person
    /// why that takes a while. Fails if the system has no thread left.
    pub fn spawn(self, items: Items, say: impl FnMut(&str) + Send + 'static) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().name("steam-api".into()).spawn(move || {
            let partition = Partition::new(&self.filter, self.most_rows);
            let mut around = Around { api: Api::new(self.url, &self.key, TIMEOUT), items, say };
            let last = match crawl(partition, &self.patience, &mut around) {
                Ending::Complete => Item::Complete,
                Ending::Incomplete(why) => Item::Incomplete(why),
                Ending::Unwanted => return,
            };
            // Nobody may want to know any more.
            let _ = around.items.send(last);
        })
    }
}

/// The network, the clock and the scan.
struct Around<S> {
    api: Api,
    items: Items,
    say: S,
}

impl<S: FnMut(&str)> Surroundings for Around<S> {
    fn ask(&mut self, question: &Question) -> Answer {
        self.api.ask(question)
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

/// Rows that Steam puts into an answer at most.
pub const MOST_ROWS: usize = 10_000;
/// An answer of 10,000 rows has a few megabytes, and Steam takes its time to find them.
const TIMEOUT: Duration = Duration::from_mins(1);
