//! List servers among the targets: they make no rows, what they name is given to the source, and how each has ended is
//! kept for the account of the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::Engine;
use super::flight::{DeadlineKind, Flight, Role, Slot};
use crate::ledger::ListDatagrams;
use crate::protocol::Found;
use crate::record::Status;
use crate::target::Target;

/// How a list server has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListEnd {
    /// Number of its origin.
    pub origin: u32,
    /// [`Status::Ok`] if the list came to its end; else why it did not.
    pub status: Status,
    /// Different servers that it has named.
    pub servers: u64,
    /// It named more servers than are taken from one list.
    pub is_cut: bool,
    /// Datagrams that ended within an entry.
    pub ragged: u32,
    /// Datagrams sent to it.
    pub sent: u64,
    /// Datagrams of its own that were used.
    pub received: u64,
}

impl ListEnd {
    /// A list server that was not asked, because of `status`.
    #[must_use]
    pub(crate) const fn unasked(origin: u32, status: Status) -> Self {
        Self { origin, status, servers: 0, is_cut: false, ragged: 0, sent: 0, received: 0 }
    }

    /// A list server whose flight ends with `status`, after it has named what is in `found`.
    pub(super) fn of(flight: &Flight, found: &Found, status: Status) -> Self {
        Self {
            origin: flight.origin,
            status,
            servers: found.len() as u64,
            is_cut: found.is_cut(),
            ragged: found.ragged(),
            sent: flight.sent.into(),
            received: flight.received.into(),
        }
    }

    /// Those that have `ended`, and those of `all`, by the numbers of their origins, that were not: the run was stopped
    /// before it came to them.
    #[must_use]
    pub(crate) fn with_unasked(mut ended: Vec<Self>, all: &[u32]) -> Vec<Self> {
        let unasked: Vec<_> = all.iter().filter(|origin| ended.iter().all(|end| end.origin != **origin)).collect();
        ended.extend(unasked.into_iter().map(|origin| Self::unasked(*origin, Status::Aborted)));
        ended
    }

    /// Datagrams of all of `lists`.
    #[must_use]
    pub(crate) fn datagrams(lists: &[Self]) -> ListDatagrams {
        ListDatagrams {
            sent: lists.iter().map(|list| list.sent).sum(),
            received: lists.iter().map(|list| list.received).sum(),
        }
    }

    /// True if the list was had as a whole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.status == Status::Ok && !self.is_cut
    }

    /// How it ended in a word: `complete`, `list_incomplete`, or why nothing came of it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.status {
            Status::Ok if !self.is_cut => "complete",
            _ if self.servers > 0 => "list_incomplete",
            status => status.as_str(),
        }
    }
}

impl Engine {
    /// How the list servers have ended that have.
    #[must_use]
    pub fn lists(&self) -> &[ListEnd] {
        &self.lists.ended
    }

    /// Begins a flight to a list server, or makes it wait while another flight uses its address. Lists have a pace of
    /// their own, whatever that of their host.
    pub(super) fn start_list(&mut self, target: Target, now: Instant) -> Option<Slot> {
        let slot = self.begin(target, now);
        let Some(flight) = slot.and_then(|slot| self.flights.get_mut(slot)) else {
            self.lists.postpone(target, now + self.until_retaken());
            return None;
        };
        flight.role = Role::List(Box::default());
        // What ends a list is silence or that it says nothing new; how long it is nobody knows.
        flight.budget = now + LONGEST_LIST;
        flight.gap = self.settings.list_gap;
        flight.deadline_kind = DeadlineKind::Apart;
        flight.log_room = LOG_ROOM;
        slot
    }

    /// Ends a flight that asks a list server.
    pub(super) fn end_list(&mut self, slot: Slot, end: ListEnd) {
        let Some(flight) = self.flights.get_mut(slot) else { return };
        let Flight { address, plan, origin, .. } = *flight;
        self.lists.ended(end);
        self.flights.remove(slot);
        self.source.handle_ended(Target { address, plan, origin });
        self.awaiting = false;
    }
}

/// The list servers of a run that are not in flight.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Those whose address is in use by another flight, and until when they wait.
    waiting: BinaryHeap<Reverse<(Instant, Target)>>,
    ended: Vec<ListEnd>,
}

impl Lists {
    /// Keeps `list` until `at`, which must lie in the future.
    fn postpone(&mut self, list: Target, at: Instant) {
        self.waiting.push(Reverse((at, list)));
    }

    /// Takes a list whose time has come; call until `None`.
    #[must_use]
    pub(super) fn poll_ready(&mut self, now: Instant) -> Option<Target> {
        self.earliest().filter(|at| *at <= now)?;
        self.waiting.pop().map(|Reverse((_, list))| list)
    }

    /// When the next list is ready; `None` if none waits.
    #[must_use]
    pub(super) fn earliest(&self) -> Option<Instant> {
        self.waiting.peek().map(|Reverse((at, _))| *at)
    }

    /// Records how a list ended.
    pub(super) fn ended(&mut self, end: ListEnd) {
        self.ended.push(end);
    }
}

/// Most bytes of raw datagrams that are kept for one list: some ten times what the longest takes.
const LOG_ROOM: usize = 64 << 20;
/// A day, which no list takes.
const LONGEST_LIST: Duration = Duration::from_hours(24);

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use crossbeam_channel::bounded;

    use super::*;
    use crate::engine::testing::{List as Source, protocol, settings, start};
    use crate::engine::{Plan, Settings};
    use crate::farm::link::{Link, LinkSettings};
    use crate::farm::{Farm, FarmSettings, Masters, Servers, Share};
    use crate::input::{Arrivals, Lists, Stream};
    use crate::ledger::{Input, Ledger, Rows};
    use crate::protocol::{Replies, Style, of_lists};
    use crate::target::{Dedup, Exclusions, Order, Tally, TargetSetBuilder};

    /// What a scan of a list did, in virtual time.
    struct Scan {
        /// Servers that were asked, with when each was asked first.
        asked: HashMap<SocketAddr, Instant>,
        /// When each request left for the list server.
        requests: Vec<Instant>,
        /// When the last target had ended.
        ended: Instant,
        end: ListEnd,
        ledger: Ledger,
    }

    /// A list server of a farm, and how it is asked.
    #[derive(Clone, Copy)]
    struct Case {
        kind: &'static str,
        style: Style,
        servers: u32,
        link: LinkSettings,
        list_gap: Duration,
        /// Requests that it answers; it is silent to the others.
        answers: usize,
    }

    const CASE: Case = Case {
        kind: "valve-master",
        style: Style::Paged,
        servers: 2_000,
        link: LinkSettings {
            loss: Share::percent(0.0),
            duplicate: Share::percent(0.0),
            reorder: Share::percent(0.0),
            delay: Duration::ZERO,
        },
        list_gap: Duration::ZERO,
        answers: usize::MAX,
    };

    /// Scans the servers that the list server names.
    fn scan(Case { kind, style, servers, link, list_gap, answers }: Case) -> Scan {
        let farm = Farm::new(FarmSettings { servers, ..FarmSettings::default() }, 27_015, 27_016);
        let masters = Masters::new(&of_lists().collect::<Vec<_>>(), style, &farm);
        let number = of_lists().position(|list| list == protocol(kind)).unwrap();
        let list = Target { address: SocketAddr::from(([127, 0, 0, 1], 27_911)), plan: 1, origin: 0 };
        let lists = Lists { plans: HashMap::from([(1, 0)]), known: [list].into(), open: 1, ..Lists::default() };
        let (_, items) = bounded(1);
        let (set, tally) =
            TargetSetBuilder::new(Exclusions::new(false).into_zones()).build(Order::Shuffled, 1).unwrap();
        let tally = Arc::new(Mutex::new(tally));
        let stream = Stream::new(
            Dedup::new(set, 1),
            vec![Arrivals::Sent(items)],
            lists,
            Exclusions::new(false).into_zones(),
            Arc::clone(&tally),
            Order::Shuffled,
            1,
        );
        let plans = [Plan::of(protocol("a2s")), Plan::of(protocol(kind))].into();
        let mut now = start();
        let mut engine = Engine::new(Settings { list_gap, ..settings() }, plans, Box::new(stream), now);

        let mut there = Link::new(link, 3);
        let mut back = Link::new(link, 4);
        let mut arrivals = BinaryHeap::new();
        let (mut asked, mut requests, mut replies, mut rows) =
            (HashMap::new(), Vec::new(), Replies::default(), Rows::default());
        let mut buffer = Vec::new();
        for serial in 0_u64.. {
            engine.handle_timeout(now);
            while let Some(transmit) = engine.poll_transmit(now, &mut buffer) {
                let SocketAddr::V4(to) = transmit.to else { panic!("IPv4") };
                if let Some(index) = farm.index_of(*to.ip()) {
                    asked.entry(transmit.to).or_insert(now);
                    farm.answer(index, list.address, &buffer, &mut replies);
                    arrivals.extend(replies.iter().map(|reply| Reverse((now, 0, transmit.to, reply.to_vec()))));
                } else {
                    requests.push(now);
                    let heard = requests.len() <= answers;
                    for _ in there.fate().into_iter().flatten().filter(|_| heard) {
                        masters.answer(number as u32, list.address, &buffer, &mut replies);
                    }
                    for reply in replies.iter() {
                        let copies = back.fate().into_iter().flatten();
                        arrivals
                            .extend(copies.map(|delay| Reverse((now + delay, serial, transmit.to, reply.to_vec()))));
                    }
                }
                replies.clear();
                buffer.clear();
            }
            while arrivals.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
                let Reverse((at, _, from, data)) = arrivals.pop().unwrap();
                let _ = engine.handle_datagram(now, at, from, &data);
            }
            while let Some(batch) = engine.poll_finished(now) {
                for finished in batch.iter() {
                    rows.status.add(finished.status);
                    rows.written += 1;
                    rows.sent += u64::from(finished.sent);
                    rows.received += u64::from(finished.received);
                }
            }
            if engine.is_done() {
                break;
            }
            let next = arrivals.peek().map(|Reverse((at, ..))| *at);
            now = [engine.poll_timeout(now), next].into_iter().flatten().min().expect("it goes on").max(now);
        }
        let snapshot = engine.snapshot();
        let Tally { read, invalid, duplicate, .. } = *tally.lock().unwrap();
        let [end] = engine.lists() else { panic!("one list: {:?}", engine.lists()) };
        let ledger = Ledger {
            input: Input { read, invalid, duplicate, ..Input::default() },
            targets: snapshot.targets,
            datagrams: snapshot.datagrams,
            rows,
            lists: ListEnd::datagrams(engine.lists()),
            names: crate::ledger::Names::default(),
        };
        assert_eq!(ledger.check(), [], "the ledger adds up");
        let distinct: HashSet<_> = asked.keys().collect();
        assert_eq!(distinct.len() as u64, snapshot.targets.scheduled, "nobody is asked twice");
        Scan { asked, requests, ended: now, end: *end, ledger }
    }

    #[test]
    fn every_kind_of_list_is_had_in_every_style_and_its_servers_are_asked() {
        for kind in of_lists().map(|list| list.spec().name) {
            for style in [Style::Paged, Style::AtOnce, Style::Loop] {
                let scan = scan(Case { kind, style, ..CASE });
                assert_eq!((scan.end.word(), scan.end.servers), ("complete", 2_000), "{kind}, {style:?}");
                assert_eq!((scan.asked.len(), scan.ledger.rows.written), (2_000, 2_000), "{kind}, {style:?}");
            }
        }
    }

    #[test]
    fn a_lost_page_is_asked_for_again_and_what_comes_twice_or_late_ends_nothing() {
        let link = LinkSettings {
            loss: Share::percent(10.0),
            duplicate: Share::percent(10.0),
            reorder: Share::percent(20.0),
            delay: Duration::from_millis(30),
        };
        for kind in of_lists().map(|list| list.spec().name) {
            let scan = scan(Case { kind, servers: 20_000, link, ..CASE });
            assert_eq!((scan.end.word(), scan.end.servers), ("complete", 20_000), "{kind}");
        }
    }

    #[test]
    fn servers_are_asked_while_pages_come_in_at_the_pace_of_the_list() {
        let list_gap = Duration::from_secs(2);
        let scan = scan(Case { servers: 1_000, list_gap, ..CASE });
        assert_eq!(scan.requests.len(), 5, "1,000 servers are four pages of 231 and a rest");
        assert!(scan.requests.windows(2).all(|pair| pair[1] - pair[0] >= list_gap));
        let before_the_last = scan.asked.values().filter(|at| **at < scan.requests[4]).count();
        assert!(before_the_last >= 4 * 231, "only {before_the_last} were asked before the last page was");
    }

    #[test]
    fn a_list_server_that_never_answers_is_given_up_soon_and_one_that_stops_later() {
        let silent = scan(Case { answers: 0, ..CASE });
        assert_eq!((silent.end.word(), silent.requests.len()), ("timeout", 3));
        assert!(silent.ended - silent.requests[0] < Duration::from_secs(8));

        let broken = scan(Case { answers: 5, ..CASE });
        assert_eq!((broken.end.word(), broken.end.servers), ("list_incomplete", 5 * 231));
        assert_eq!(broken.asked.len(), 5 * 231, "what was had is asked");
        assert!(broken.ended - broken.requests[5] > Duration::from_secs(110), "it outlasts a minute of silence");
    }

    #[test]
    fn who_goes_on_sending_what_is_known_keeps_no_list_open() {
        let list = Target { address: SocketAddr::from(([127, 0, 0, 1], 27_911)), plan: 0, origin: 0 };
        let page: &[u8] = b"\xFF\xFF\xFF\xFFf\n\x7F\0\0\x02\x69\x87";
        let end = [page, &[0; 6]].concat();
        // A list that is over and comes again and again; and a first page, behind which an empty one comes again and again.
        for (first, others) in [(&end[..], &end[..]), (page, &page[..6])] {
            let plans = [Plan::of(protocol("valve-master"))].into();
            let mut now = start();
            let mut engine = Engine::new(settings(), plans, Box::new(Source::of([list.address])), now);
            let mut buffer = Vec::new();
            assert!(engine.poll_transmit(now, &mut buffer).is_some());
            let _ = engine.handle_datagram(now, now, list.address, first);
            while !engine.is_done() {
                now += Duration::from_millis(900);
                engine.handle_timeout(now);
                while engine.poll_transmit(now, &mut buffer).is_some() {}
                let _ = engine.handle_datagram(now, now, list.address, others);
                assert!(now - start() < Duration::from_secs(150), "it goes on");
            }
            assert_eq!(engine.lists().iter().map(ListEnd::word).collect::<Vec<_>>(), ["complete"]);
        }
    }

    #[test]
    fn a_list_that_waits_for_another_of_its_address_is_no_target_and_is_accounted_for() {
        let address = SocketAddr::from(([127, 0, 0, 1], 27_911));
        let lists: Vec<_> = [0, 1].map(|number| Target { address, plan: number, origin: u32::from(number) }).into();
        let plans: Arc<[_]> = [Plan::of(protocol("valve-master")), Plan::of(protocol("valve-master"))].into();
        let mut now = start();
        let mut engine = Engine::new(settings(), plans, Box::new(Source(lists.into_iter())), now);
        let mut buffer = Vec::new();
        while engine.poll_transmit(now, &mut buffer).is_some() {}
        assert_eq!(engine.snapshot().not_started, 0);
        engine.stop(now);
        while !engine.is_done() {
            now = engine.poll_timeout(now).expect("it ends").max(now);
            engine.handle_timeout(now);
        }
        assert_eq!(engine.snapshot().not_started, 0);
        let ends = ListEnd::with_unasked(engine.lists().to_vec(), &[0, 1]);
        assert_eq!(
            ends.iter().map(|end| (end.origin, end.sent, end.word())).collect::<Vec<_>>(),
            [(0, 1, "aborted"), (1, 0, "aborted")]
        );
    }

    #[test]
    fn a_list_that_has_waited_for_its_address_does_not_wait_for_its_host_too() {
        let address = SocketAddr::from(([127, 0, 0, 1], 27_911));
        let lists: Vec<_> = [0, 1].map(|number| Target { address, plan: number, origin: u32::from(number) }).into();
        let plans: Arc<[_]> = [Plan::of(protocol("valve-master")), Plan::of(protocol("valve-master"))].into();
        // The tries of the first list use up the burst that its host is allowed.
        let settings = Settings { host_gap: Duration::from_hours(1), ..settings() };
        let mut now = start();
        let mut engine = Engine::new(settings, plans, Box::new(Source(lists.into_iter())), now);
        let mut buffer = Vec::new();
        while !engine.is_done() {
            engine.handle_timeout(now);
            while engine.poll_transmit(now, &mut buffer).is_some() {}
            now = engine.poll_timeout(now).unwrap_or(now).max(now);
        }
        assert_eq!(engine.lists().iter().map(|end| (end.origin, end.sent)).collect::<Vec<_>>(), [(0, 3), (1, 3)]);
        assert!(now - start() < Duration::from_mins(1), "each is given up after 7 s");
    }

    #[test]
    fn datagrams_that_are_not_kept_as_they_came_are_counted() {
        for (kind, kept_all) in [("valve-master", true), ("a2s", false)] {
            let address = SocketAddr::from(([127, 0, 0, 1], 27_911));
            let settings = Settings { keep_datagrams: true, ..settings() };
            let plans = [Plan::of(protocol(kind))].into();
            let now = start();
            let mut engine = Engine::new(settings, plans, Box::new(Source::of([address])), now);
            let mut buffer = Vec::new();
            assert!(engine.poll_transmit(now, &mut buffer).is_some());
            // Nothing that either of them understands, ten times 60 KB.
            for _ in 0..10 {
                let _ = engine.handle_datagram(now, now, address, &vec![0; 60_000]);
            }
            // The request has its place too: eight fit into 512 KiB.
            assert_eq!(engine.snapshot().unlogged, if kept_all { 0 } else { 2 }, "{kind}");
        }
    }
}
