//! Targets that become known while the scan runs: names, standard input that another program is still writing, and what
//! list servers say. List servers are targets too; they come first and are not counted.
//!
//! The stream waits for nothing: it gives what has arrived. It draws targets at random from a window of those that are
//! known, and [`Dedup`] ensures that each is asked once. It expands a range only as far as the window has room.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use crossbeam_channel::TryRecvError;

use super::arrivals::{Arrivals, Item};
use super::fetched::Fetched;
use super::names::{Fate, Mention, Names};
use crate::rng::Rng;
use crate::target::{
    Dedup, ExclusionReason, IpRange, NewRange, Order, Permutation, Ports, Ruling, Source, Tally, Target, Unresolved,
    Zones,
};

/// List servers that are asked for targets.
#[derive(Debug, Default)]
pub(crate) struct Lists {
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

    fn have(&self, plan: u16) -> bool {
        self.plans.contains_key(&plan)
    }
}

/// A set of targets, and the stream that follows it.
pub(crate) struct Stream {
    known: Dedup,
    /// Those that have not ended.
    arrivals: Vec<Arrivals>,
    /// More might have become known, had the run not been stopped.
    is_cut: bool,
    /// Known and not asked yet.
    window: VecDeque<Target>,
    /// Ranges whose targets are taken while the window has room.
    ranges: VecDeque<Pending>,
    names: Names,
    /// Mentions of targets' names that wait for an answer.
    mentions: u64,
    unresolved: VecDeque<Unresolved>,
    lists: Lists,
    order: Order,
    seed: u64,
    rng: Rng,
    zones: Zones,
    tally: Arc<Mutex<Tally>>,
}

/// What is left of a range.
struct Pending {
    range: NewRange,
    next: u64,
    /// Absent if the order is that of the input.
    order: Option<Permutation>,
}

impl Pending {
    fn left(&self) -> u64 {
        self.range.len() - self.next
    }
}

impl Iterator for Pending {
    type Item = Target;

    fn next(&mut self) -> Option<Target> {
        let place = self.order.as_ref().map_or(self.next, |order| order.apply(self.next));
        let target = self.range.nth(place);
        self.next += u64::from(target.is_some());
        target
    }
}

impl Stream {
    /// The targets that are `known`, then those of `arrivals` and `lists` that `zones` do not exclude. Counts them in
    /// `tally` as they come.
    #[must_use]
    pub(crate) fn new(
        known: Dedup,
        arrivals: Vec<Arrivals>,
        lists: Lists,
        zones: Zones,
        tally: Arc<Mutex<Tally>>,
        order: Order,
        seed: u64,
    ) -> Self {
        Self {
            known,
            arrivals,
            is_cut: false,
            window: VecDeque::with_capacity(WINDOW),
            ranges: VecDeque::new(),
            names: Names::default(),
            mentions: 0,
            unresolved: VecDeque::new(),
            lists,
            order,
            seed,
            rng: Rng::new(seed),
            zones,
            tally,
        }
    }

    /// Takes what is known or has arrived, as long as the window has room.
    fn fill(&mut self) {
        let shared = Arc::clone(&self.tally);
        let mut tally = shared.lock().unwrap_or_else(PoisonError::into_inner);
        // What has been named before, or is excluded, leaves the window empty: then the next items are taken at once.
        for _ in 0..MOST_IN_VAIN {
            let read = tally.read;
            self.expand(&mut tally);
            self.take_items(&mut tally);
            self.expand(&mut tally);
            self.take_fetched(&mut tally);
            if tally.read == read || !self.window.is_empty() {
                return;
            }
        }
    }

    /// Takes items. In input order, an item that follows a range waits until the range is expanded.
    fn take_items(&mut self, tally: &mut Tally) {
        let most_ranges = if self.order == Order::Input { 1 } else { MOST_RANGES };
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.retain_mut(|items| {
            for _ in 0..MOST_AT_ONCE {
                if self.window.len() >= WINDOW || self.ranges.len() >= most_ranges {
                    break;
                }
                match items.next() {
                    Ok(item) => self.take(item, tally),
                    Err(problem) => return problem == TryRecvError::Empty,
                }
            }
            true
        });
        self.arrivals = arrivals;
    }

    fn take(&mut self, item: Item, tally: &mut Tally) {
        match item {
            Item::Target(target) | Item::Typed(target) => {
                tally.read += 1;
                self.admit(target, matches!(item, Item::Typed(_)), tally);
            }
            Item::Range { hosts, ports, plan, origin } => self.take_range(hosts, &ports, (plan, origin), tally),
            Item::Name(number, mention) => {
                if !self.lists.have(mention.plan) {
                    tally.read += 1;
                    self.mentions += 1;
                }
                let fate = self.names.mention(number, mention);
                self.settle(fate, tally);
            }
            Item::Resolved(number, answer) => {
                for fate in self.names.answer(number, answer) {
                    self.settle(fate, tally);
                }
            }
            Item::Bad => {
                tally.read += 1;
                tally.invalid += 1;
            }
        }
    }

    /// A mention of a name counted as one target when it arrived. If the name has more ports, the others count as read
    /// now.
    fn settle(&mut self, fate: Fate, tally: &mut Tally) {
        match fate {
            Fate::Waits => {}
            Fate::Targets(lists, _) if lists.first().is_some_and(|list| self.lists.have(list.plan)) => {
                self.lists.known.extend(lists);
            }
            Fate::Targets(targets, typed) => {
                self.mentions -= 1;
                tally.read += (targets.len() as u64).saturating_sub(1);
                for target in targets {
                    self.admit(target, typed, tally);
                }
            }
            Fate::Unresolved(Mention { plan, origin, .. }, error) => {
                if self.lists.have(plan) {
                    self.lists.open -= 1;
                } else {
                    self.mentions -= 1;
                }
                self.unresolved.push_back(Unresolved { plan, origin, error });
            }
            Fate::Repeated(list) if self.lists.have(list.plan) => self.lists.open -= 1,
            Fate::Repeated(_) => {
                self.mentions -= 1;
                tally.duplicate += 1;
            }
        }
    }

    fn take_range(&mut self, hosts: IpRange, ports: &Ports, whose: (u16, u32), tally: &mut Tally) {
        let targets = hosts.count().saturating_mul(u128::from(ports.len()));
        if u128::from(tally.read).saturating_add(targets) >= MOST_TARGETS {
            tally.read += 1;
            tally.invalid += 1;
            return;
        }
        for range in self.known.insert_range(hosts, ports, whose, &self.zones, tally) {
            let order = (self.order == Order::Shuffled).then(|| Permutation::new(range.len(), self.seed));
            self.ranges.push_back(Pending { range, next: 0, order });
        }
    }

    /// Takes targets of ranges, from one after another or from all in turn, as long as the window has room.
    fn expand(&mut self, tally: &mut Tally) {
        for _ in 0..MOST_EXPANDED {
            if self.window.len() >= WINDOW {
                return;
            }
            let Some(mut range) = self.ranges.pop_front() else { return };
            let Some(target) = range.next() else { continue };
            match self.order {
                Order::Input => self.ranges.push_front(range),
                Order::Shuffled => self.ranges.push_back(range),
            }
            if self.known.is_single(&target) {
                tally.duplicate += 1;
            } else {
                self.window.push_back(target);
            }
        }
    }

    /// Takes what the threads of lists have sent, as long as the window has room.
    fn take_fetched(&mut self, tally: &mut Tally) {
        let mut fetched = std::mem::take(&mut self.lists.fetched);
        fetched.retain_mut(|list| {
            for _ in 0..MOST_AT_ONCE {
                if self.window.len() >= WINDOW {
                    break;
                }
                match list.next() {
                    Ok(target) if self.admit_listed(target, list.has_loopback(), tally) => {}
                    Ok(target) => list.forget(target),
                    Err(problem) => return problem == TryRecvError::Empty,
                }
            }
            true
        });
        self.lists.fetched = fetched;
    }

    /// Takes a target that a list names; false if it is not asked. A list may name servers on `loopback` only if it is
    /// there itself: nobody else may send us to what listens on this machine. An address that cannot be asked is
    /// skipped; it is not the user's mistake.
    fn admit_listed(&mut self, target: Target, loopback: bool, tally: &mut Tally) -> bool {
        tally.read += 1;
        let is_elsewhere = target.address.ip().is_loopback() && !loopback;
        match self.zones.ruling(&target.address, false) {
            Some(Ruling::Invalid) => tally.excluded[ExclusionReason::Reserved] += 1,
            _ if is_elsewhere => tally.excluded[ExclusionReason::Reserved] += 1,
            _ => return self.admit(target, false, tally),
        }
        false
    }

    /// Takes a target that was counted as read, unless it is excluded or known; false if it is not asked.
    fn admit(&mut self, target: Target, typed: bool, tally: &mut Tally) -> bool {
        match self.zones.ruling(&target.address, typed) {
            // Nothing can be sent to port 0.
            _ if target.address.port() == 0 => tally.invalid += 1,
            Some(Ruling::Invalid) => tally.invalid += 1,
            Some(Ruling::Excluded(reason)) => tally.excluded[reason] += 1,
            None if !self.known.insert(&target) => tally.duplicate += 1,
            None => {
                self.window.push_back(target);
                return true;
            }
        }
        false
    }
}

impl Source for Stream {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        if let Some(list) = self.lists.known.pop_front() {
            return Poll::Ready(Some(list));
        }
        if let Poll::Ready(Some(target)) = self.known.set_mut().poll_target() {
            return Poll::Ready(Some(target));
        }
        self.fill();
        let next = match self.order {
            Order::Shuffled => self.window.swap_remove_back(self.rng.below(self.window.len() as u64) as usize),
            Order::Input => self.window.pop_front(),
        };
        match next {
            Some(target) => Poll::Ready(Some(target)),
            None if self.is_exhausted() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn poll_unresolved(&mut self) -> Option<Unresolved> {
        self.unresolved.pop_front()
    }

    fn handle_ended(&mut self, target: Target) {
        self.lists.open -= usize::from(self.lists.have(target.plan));
    }

    fn handle_found(&mut self, list: Target, address: SocketAddr) {
        let Some(&plan) = self.lists.plans.get(&list.plan) else { return };
        let tally = Arc::clone(&self.tally);
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        let target = Target { address, plan, origin: list.origin };
        self.admit_listed(target, list.address.ip().is_loopback(), &mut tally);
    }

    fn handle_stop(&mut self) {
        let shared = Arc::clone(&self.tally);
        let mut tally = shared.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_cut = self.is_growing();
        for items in std::mem::take(&mut self.arrivals) {
            items.sent().for_each(|item| self.take(item, &mut tally));
        }
        for mut list in std::mem::take(&mut self.lists.fetched) {
            for _ in 0..MOST_SENT {
                let Ok(target) = list.next() else { break };
                if !self.admit_listed(target, list.has_loopback(), &mut tally) {
                    list.forget(target);
                }
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        let in_ranges: u64 = self.ranges.iter().map(Pending::left).sum();
        let known = (self.window.len() + self.unresolved.len()) as u64;
        Some(self.known.set().remaining()? + in_ranges + self.mentions + known)
    }

    fn is_growing(&self) -> bool {
        self.is_cut || !self.arrivals.is_empty() || !self.lists.are_over()
    }
}

/// Targets among which the next one is drawn.
const WINDOW: usize = 8192;
/// Items that are taken before somebody else has a turn.
const MOST_AT_ONCE: usize = 1024;
/// Times that items are taken although none of them was a new target.
const MOST_IN_VAIN: usize = 16;
/// Targets of ranges that are looked at before other inputs have a turn.
const MOST_EXPANDED: usize = 2 * WINDOW;
/// Servers of a list that are taken in when the run is stopped: more than wait for it at any time.
const MOST_SENT: usize = 1 << 14;
/// Ranges whose targets are taken in turn.
const MOST_RANGES: usize = 1024;
/// As in a set: sums of two counts must not overflow.
const MOST_TARGETS: u128 = 1 << 63;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::SocketAddr;

    use crossbeam_channel::{Sender, unbounded};

    use super::*;
    use crate::input::{FetchedEnd, FetchedEnds};
    use crate::list;
    use crate::record::{ListFact, ListFacts};
    use crate::target::{Exclusions, Origins, TargetSetBuilder};

    fn target(n: u32) -> Target {
        Target { address: SocketAddr::from((n.to_be_bytes(), 27_015)), plan: 0, origin: 0 }
    }

    fn item(n: u32) -> Item {
        Item::Target(target(n))
    }

    fn stream(order: Order) -> (Sender<Item>, Stream, Arc<Mutex<Tally>>) {
        stream_with(Lists::default(), order)
    }

    fn stream_with(lists: Lists, order: Order) -> (Sender<Item>, Stream, Arc<Mutex<Tally>>) {
        let (sender, items) = unbounded();
        let (set, tally) = TargetSetBuilder::new(Exclusions::new(false).into_zones()).build(order, 1).unwrap();
        let tally = Arc::new(Mutex::new(tally));
        let stream = Stream::new(
            Dedup::new(set, 1),
            vec![Arrivals::Sent(items)],
            lists,
            Exclusions::new(false).into_zones(),
            Arc::clone(&tally),
            order,
            1,
        );
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
        let (entries, to_take) = unbounded();
        let (origins, ends) = (Origins::default(), FetchedEnds::default());
        let fetched = vec![Fetched::new(to_take, "list:".into(), 3, &origins, &ends)];
        let lists = Lists { fetched, ..Lists::default() };
        let (_, mut stream, tally) = stream_with(lists, Order::Input);
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
            let lists = Lists { plans: [(1, 0)].into(), known: [list].into(), open: 1, ..Lists::default() };
            let (_, mut stream, tally) = stream_with(lists, Order::Input);
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
    fn what_has_arrived_when_the_run_is_stopped_is_in_the_account() {
        let (sender, mut stream, tally) = stream(Order::Shuffled);
        assert_eq!(stream.poll_target(), Poll::Pending);
        let block: ipnet::IpNet = "8.8.0.0/24".parse().unwrap();
        let ports = Ports::one(27_015);
        sender.send(Item::Range { hosts: block.into(), ports, plan: 0, origin: 0 }).unwrap();
        (0..10_000).for_each(|n| sender.send(item(0x0808_0000 + n)).unwrap());
        sender.send(Item::Bad).unwrap();
        stream.handle_stop();
        assert!(sender.send(Item::Bad).is_err(), "nobody takes any more");
        let tally = *tally.lock().unwrap();
        assert_eq!((tally.read, tally.duplicate, tally.invalid), (256 + 10_001, 256, 1));
        assert_eq!(stream.remaining(), Some(10_000));
        assert!(stream.is_growing() && !stream.is_exhausted(), "nobody knows what else there would have been");
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
