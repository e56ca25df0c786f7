//! Targets that become known while the scan runs: names, standard input that another program is still writing, and what
//! list servers say. These are targets too, which come first and count as none.
//!
//! Nothing is waited for: what has arrived is asked. Targets are drawn at random from a window of those that are known,
//! and each is asked once; to know that, every target that was seen is kept, in 8 bytes and a share of a hash table.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use crossbeam_channel::{Receiver, TryRecvError};
use hashbrown::HashTable;

use super::{ExclusionReason, Fetched, Order, Ruling, Source, Tally, Target, TargetSet, Unresolved, Zones};
use crate::rng::{AddressHasher, Rng, mix};

/// What comes out of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A target.
    Target {
        /// The target.
        target: Target,
        /// It came as an argument.
        typed: bool,
    },
    /// A name, which is being resolved from now on.
    Name,
    /// A name that came before.
    Repeated,
    /// A target of a name, which may have one for each of several ports.
    Resolved {
        /// The target.
        target: Target,
        /// It came as an argument.
        typed: bool,
        /// It is the first of its name.
        first: bool,
    },
    /// A name that finally could not be resolved.
    Unresolved(Unresolved),
    /// A line that could not be read.
    Bad,
}

/// List servers that are asked for targets.
#[derive(Debug, Default)]
pub struct Lists {
    /// The plan of each list, and that of the servers that it names.
    pub plans: HashMap<u16, u16>,
    /// Those whose addresses are known; the others come as items.
    pub known: VecDeque<Target>,
    /// All of these that have not ended.
    pub open: usize,
    /// Those that threads fetch, without those that have ended.
    pub fetched: Vec<Fetched>,
}

impl Lists {
    /// True if no list can name anything any more.
    fn are_over(&self) -> bool {
        self.open == 0 && self.fetched.is_empty()
    }
}

/// A set of targets, and the stream that follows it.
pub struct Stream {
    set: TargetSet,
    items: Receiver<Item>,
    ended: bool,
    /// Known and not asked yet.
    window: VecDeque<Target>,
    unresolved: VecDeque<Unresolved>,
    /// Names that are being resolved.
    names: u64,
    lists: Lists,
    /// Draws from the window; absent if the order is that of the input.
    draw: Option<Rng>,
    seen: Seen,
    zones: Zones,
    tally: Arc<Mutex<Tally>>,
}

impl Stream {
    /// The targets of `set`, then those of `items` and `lists` that `zones` do not exclude. `tally` is counted up as they come.
    #[must_use]
    pub fn new(
        set: TargetSet,
        items: Receiver<Item>,
        lists: Lists,
        zones: Zones,
        tally: Arc<Mutex<Tally>>,
        order: Order,
        seed: u64,
    ) -> Self {
        Self {
            set,
            items,
            ended: false,
            window: VecDeque::with_capacity(WINDOW),
            unresolved: VecDeque::new(),
            names: 0,
            lists,
            draw: (order == Order::Shuffled).then(|| Rng::new(seed)),
            seen: Seen::new(AddressHasher::new(seed)),
            zones,
            tally,
        }
    }

    /// Takes what has arrived, as long as the window has room.
    fn fill(&mut self) {
        if self.ended || self.window.len() >= WINDOW {
            return;
        }
        let tally = Arc::clone(&self.tally);
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        // Bounded: an item that takes no room in the window was read by somebody, who is slower than this loop.
        for _ in 0..MOST_AT_ONCE {
            if self.window.len() >= WINDOW {
                return;
            }
            match self.items.try_recv() {
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.ended = true;
                    return;
                }
                Ok(Item::Bad) => {
                    tally.read += 1;
                    tally.invalid += 1;
                }
                Ok(Item::Name) => {
                    tally.read += 1;
                    self.names += 1;
                }
                Ok(Item::Repeated) => {
                    tally.read += 1;
                    tally.duplicate += 1;
                }
                Ok(Item::Unresolved(name)) => {
                    if self.lists.plans.contains_key(&name.plan) {
                        self.lists.open -= 1;
                    } else {
                        self.names -= 1;
                    }
                    self.unresolved.push_back(name);
                }
                Ok(Item::Resolved { target, .. }) if self.lists.plans.contains_key(&target.plan) => {
                    self.lists.known.push_back(target);
                }
                Ok(item @ (Item::Target { target, typed } | Item::Resolved { target, typed, .. })) => {
                    // The first target of a name was counted when the name came.
                    let counted = matches!(item, Item::Resolved { first: true, .. });
                    self.names -= u64::from(counted);
                    tally.read += u64::from(!counted);
                    self.admit(target, typed, &mut tally);
                }
            }
        }
    }

    /// Takes what the threads of lists have sent, as long as the window has room.
    fn fill_from_lists(&mut self) {
        if self.lists.fetched.is_empty() {
            return;
        }
        let tally = Arc::clone(&self.tally);
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fetched = std::mem::take(&mut self.lists.fetched);
        fetched.retain_mut(|list| {
            for _ in 0..MOST_AT_ONCE {
                if self.window.len() >= WINDOW {
                    break;
                }
                match list.next() {
                    Ok(target) => self.admit_listed(target, list.has_loopback(), &mut tally),
                    Err(problem) => return problem == TryRecvError::Empty,
                }
            }
            true
        });
        self.lists.fetched = fetched;
    }

    /// Takes a target that a list names, which may name servers on `loopback` if it is there itself: nobody else sends us
    /// to what listens here. What nobody can be asked at is no mistake of the user's, but nothing to ask.
    fn admit_listed(&mut self, target: Target, loopback: bool, tally: &mut Tally) {
        tally.read += 1;
        let is_elsewhere = target.address.ip().is_loopback() && !loopback;
        match self.zones.ruling(&target.address, false) {
            Some(Ruling::Invalid) => tally.excluded[ExclusionReason::Reserved] += 1,
            _ if is_elsewhere => tally.excluded[ExclusionReason::Reserved] += 1,
            _ => self.admit(target, false, tally),
        }
    }

    /// Takes a target that was counted as read, unless it is excluded or was seen before.
    fn admit(&mut self, target: Target, typed: bool, tally: &mut Tally) {
        match self.zones.ruling(&target.address, typed) {
            // Nothing can be sent to port 0.
            _ if target.address.port() == 0 => tally.invalid += 1,
            Some(Ruling::Invalid) => tally.invalid += 1,
            Some(Ruling::Excluded(reason)) => tally.excluded[reason] += 1,
            None if !self.seen.insert(&target) => tally.duplicate += 1,
            None => self.window.push_back(target),
        }
    }
}

impl Source for Stream {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        if let Some(list) = self.lists.known.pop_front() {
            return Poll::Ready(Some(list));
        }
        if let Poll::Ready(Some(target)) = self.set.poll_target() {
            self.seen.insert(&target);
            return Poll::Ready(Some(target));
        }
        self.fill();
        self.fill_from_lists();
        let next = match &mut self.draw {
            Some(rng) => self.window.swap_remove_back(rng.below(self.window.len() as u64) as usize),
            None => self.window.pop_front(),
        };
        match next {
            Some(target) => Poll::Ready(Some(target)),
            None if self.ended && self.unresolved.is_empty() && self.lists.are_over() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn poll_unresolved(&mut self) -> Option<Unresolved> {
        self.unresolved.pop_front()
    }

    fn handle_ended(&mut self, target: Target) {
        self.lists.open -= usize::from(self.lists.plans.contains_key(&target.plan));
    }

    fn handle_found(&mut self, list: Target, address: SocketAddr) {
        let Some(&plan) = self.lists.plans.get(&list.plan) else { return };
        let tally = Arc::clone(&self.tally);
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        let target = Target { address, plan, origin: list.origin };
        self.admit_listed(target, list.address.ip().is_loopback(), &mut tally);
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.set.remaining()? + self.names + (self.window.len() + self.unresolved.len()) as u64)
    }

    fn is_growing(&self) -> bool {
        !self.ended || !self.lists.are_over()
    }

    fn is_exhausted(&self) -> bool {
        self.ended && self.lists.are_over() && self.remaining() == Some(0)
    }
}

/// Every target that was seen. An IPv4 target is known exactly, an IPv6 target by a keyed hash of 64 bits.
struct Seen {
    /// Many tables rather than one, so that when they grow they do not all exist twice at once.
    shards: Vec<HashTable<u64>>,
    hasher: AddressHasher,
}

impl Seen {
    fn new(hasher: AddressHasher) -> Self {
        Self { shards: (0..SHARDS).map(|_| HashTable::new()).collect(), hasher }
    }

    /// False if it was seen before.
    fn insert(&mut self, target: &Target) -> bool {
        let key = match target.address.ip() {
            IpAddr::V4(ip) => {
                u64::from(ip.to_bits()) << 32 | u64::from(target.address.port()) << 16 | u64::from(target.plan)
            }
            IpAddr::V6(_) => self.hasher.socket(&target.address) ^ mix(u64::from(target.plan) + 1),
        };
        let hash = mix(key);
        let shard = &mut self.shards[(hash >> 58) as usize % SHARDS];
        let new = shard.find(hash, |&other| other == key).is_none();
        if new {
            shard.insert_unique(hash, key, |&other| mix(other));
        }
        new
    }
}

/// Targets among which the next one is drawn.
const WINDOW: usize = 8192;
/// Items that are taken before somebody else has a turn.
const MOST_AT_ONCE: usize = 1024;
const SHARDS: usize = 64;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::SocketAddr;

    use crossbeam_channel::{Sender, unbounded};

    use super::*;
    use crate::list;
    use crate::record::{ListFact, ListFacts};
    use crate::target::{Exclusions, FetchedEnd, FetchedEnds, Origins, TargetSetBuilder};

    fn target(n: u32) -> Target {
        Target { address: SocketAddr::from((n.to_be_bytes(), 27_015)), plan: 0, origin: 0 }
    }

    fn item(n: u32) -> Item {
        Item::Target { target: target(n), typed: false }
    }

    fn stream(order: Order) -> (Sender<Item>, Stream, Arc<Mutex<Tally>>) {
        let (sender, items) = unbounded();
        let (set, tally) = TargetSetBuilder::new(false).build(order, 1).unwrap();
        let tally = Arc::new(Mutex::new(tally));
        let stream =
            Stream::new(set, items, Lists::default(), Exclusions::new(false).zones(), Arc::clone(&tally), order, 1);
        (sender, stream, tally)
    }

    #[test]
    fn what_has_arrived_is_given_before_the_end_is_known() {
        let (sender, mut stream, _) = stream(Order::Shuffled);
        assert_eq!(stream.poll_target(), Poll::Pending);
        sender.send(item(0x0808_0808)).unwrap();
        assert_eq!(stream.poll_target(), Poll::Ready(Some(target(0x0808_0808))));
        assert_eq!(stream.poll_target(), Poll::Pending);
        drop(sender);
        assert_eq!(stream.poll_target(), Poll::Ready(None));
    }

    #[test]
    fn each_target_comes_once_and_everything_is_in_the_tally() {
        let (sender, mut stream, tally) = stream(Order::Shuffled);
        let public = 0x0808_0000;
        for n in 0..20_000 {
            sender.send(item(public + n % 15_000)).unwrap();
        }
        sender.send(Item::Bad).unwrap();
        for ip in [0x0A00_0001, 0xC000_0201, 0x7FFF_FFFF] {
            sender.send(item(ip)).unwrap();
        }
        drop(sender);
        let mut given = Vec::new();
        while let Poll::Ready(Some(target)) = stream.poll_target() {
            given.push(target.address);
        }
        let distinct: HashSet<_> = given.iter().collect();
        assert_eq!((given.len(), distinct.len()), (15_000, 15_000));
        assert!(given.windows(2).filter(|pair| pair[0] > pair[1]).count() > 5_000, "they are shuffled");
        let tally = *tally.lock().unwrap();
        assert_eq!((tally.read, tally.invalid, tally.duplicate, tally.excluded.total()), (20_004, 2, 5_000, 2));
    }

    #[test]
    fn fetched_lists_are_taken_in_as_they_come_and_their_ends_are_kept() {
        let (_, items) = unbounded();
        let (entries, to_take) = unbounded();
        let (origins, ends) = (Origins::default(), FetchedEnds::default());
        let fetched = vec![Fetched::new(to_take, "list:".into(), 3, &origins, &ends)];
        let lists = Lists { fetched, ..Lists::default() };
        let (set, tally) = TargetSetBuilder::new(false).build(Order::Input, 1).unwrap();
        let tally = Arc::new(Mutex::new(tally));
        let zones = Exclusions::new(false).zones();
        let mut stream = Stream::new(set, items, lists, zones, Arc::clone(&tally), Order::Input, 1);
        assert_eq!(stream.poll_target(), Poll::Pending);
        let open = Some("the run ended before the list did".to_owned());
        let account = || ends.lock().unwrap().clone();
        let end =
            FetchedEnd { source: "list:".into(), servers: 0, questions: 0, odd_rows: 0, ended: false, problem: open };
        assert_eq!(account(), vec![end.clone()], "it is there from the start");
        for odd_rows in [0, 5] {
            entries.send(list::Item::Asked { odd_rows }).unwrap();
        }
        let facts = Arc::new(ListFacts([("name", ListFact::Text("a".into()))].into()));
        for (n, facts) in [(1, None), (2, Some(Arc::clone(&facts))), (1, None)] {
            entries.send(list::Item::Entry(list::Entry { address: target(0x0808_0800 + n).address, facts })).unwrap();
        }
        let Poll::Ready(Some(first)) = stream.poll_target() else { panic!("it has come") };
        let Poll::Ready(Some(second)) = stream.poll_target() else { panic!("it has come") };
        assert_eq!((first.address, first.plan), (target(0x0808_0801).address, 3));
        assert_eq!(origins.find(first.origin).unwrap().source.as_deref(), Some("list:"));
        assert_eq!(origins.find(second.origin).unwrap().facts, Some(facts));
        assert_eq!(stream.poll_target(), Poll::Pending, "the list is not over");
        let end = FetchedEnd { servers: 3, questions: 2, odd_rows: 5, ..end };
        assert_eq!(account(), vec![end.clone()]);
        entries.send(list::Item::Incomplete("refused".into())).unwrap();
        assert_eq!(stream.poll_target(), Poll::Ready(None));
        let end = FetchedEnd { ended: true, problem: Some("refused".into()), ..end };
        assert_eq!(account(), vec![end]);
        let tally = *tally.lock().unwrap();
        assert_eq!((tally.read, tally.duplicate), (3, 1));
    }

    #[test]
    fn only_a_list_on_loopback_names_servers_there() {
        let lists = ["192.0.2.1:27010", "127.0.0.1:27010"].map(|address| address.parse().unwrap());
        for (address, taken) in lists.into_iter().zip([1, 2]) {
            let list = Target { address, plan: 1, origin: 0 };
            let (_, items) = unbounded();
            let (set, tally) = TargetSetBuilder::new(false).build(Order::Input, 1).unwrap();
            let (tally, zones) = (Arc::new(Mutex::new(tally)), Exclusions::new(false).zones());
            let lists = Lists { plans: [(1, 0)].into(), known: [list].into(), open: 1, ..Lists::default() };
            let mut stream = Stream::new(set, items, lists, zones, Arc::clone(&tally), Order::Input, 1);
            for named in ["127.0.0.1:22", "8.8.8.8:27015", "0.0.0.0:27015"] {
                stream.handle_found(list, named.parse().unwrap());
            }
            let tally = *tally.lock().unwrap();
            assert_eq!(
                (tally.read, tally.invalid, tally.excluded[ExclusionReason::Reserved]),
                (3, 0, 3 - taken),
                "{address}"
            );
            assert_eq!(stream.window.len() as u64, taken, "{address}");
        }
    }

    #[test]
    fn the_order_of_the_input_is_kept_when_it_is_asked_for() {
        let (sender, mut stream, _) = stream(Order::Input);
        (0..1_000).for_each(|n| sender.send(item(0x0808_0000 + n)).unwrap());
        drop(sender);
        let mut n = 0;
        while let Poll::Ready(Some(given)) = stream.poll_target() {
            assert_eq!(given, target(0x0808_0000 + n));
            n += 1;
        }
        assert_eq!(n, 1_000);
    }
}
