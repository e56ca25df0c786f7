//! Each target once, wherever and however often it is named: random mixtures of arguments, files, ranges, names, standard
//! input and lists, in random interleavings, against a twin that expands everything.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crossbeam_channel::{Sender, unbounded};
use proptest::prelude::*;

use super::*;
use crate::dns::Answer;
use crate::engine::testing::start;
use crate::input::{Arrivals, Fetched, FetchedEnds, Item, Lists, Mention, Stream};
use crate::list;
use crate::rng::Rng;
use crate::target::{
    Dedup, ExclusionReason, Exclusions, IpRange, NameError, Order, Origins, Ports, Ruling, Tally, TargetSetBuilder,
};

/// Something that names targets.
#[derive(Debug, Clone)]
enum Named {
    /// An address, or several of them, on one port or several.
    Hosts { hosts: IpRange, ports: Ports, plan: u16 },
    /// One of the [`NAMES`].
    Name { name: usize, ports: Ports, plan: u16 },
    /// A line that says nothing.
    Bad,
}

/// Everything that names targets in one run.
#[derive(Debug, Clone)]
struct Case {
    arguments: Vec<Named>,
    file: Vec<Named>,
    stdin: Vec<Named>,
    /// What is named by a list server on loopback, and by one that is not.
    lists: [Vec<SocketAddr>; 2],
    /// What a thread fetches.
    fetched: Vec<SocketAddr>,
    /// What an iterator of the program's gives.
    given: Vec<SocketAddr>,
    order: Order,
    window: usize,
    host_gap: Duration,
    /// Seed of the order and of the interleaving.
    seed: u64,
}

/// Where names lead: to addresses that others name as well, to one that is private, and nowhere.
const NAMES: [Option<[u8; 4]>; 4] = [Some([127, 0, 0, 3]), Some([10, 0, 0, 1]), None, None];
/// Plans of list servers follow those of servers.
const SERVER_PLANS: u16 = 2;
const LIST_SERVERS: [[u8; 4]; 2] = [[127, 0, 0, 1], [8, 8, 8, 8]];
const LIST_PORT: u16 = 27_911;

fn some_hosts() -> impl Strategy<Value = IpRange> {
    let anchors = ["127.0.0.2", "127.0.0.2", "8.0.0.0", "10.0.0.0", "192.0.2.0", "127.255.255.252", "2a00::1"];
    let anchor = prop::sample::select(anchors.to_vec());
    (anchor, 0_u8..4, prop_oneof![3 => Just(0_u8), 2 => 0_u8..6]).prop_map(|(anchor, from, more)| {
        let ip = |offset: u8| match anchor.parse().expect("an address") {
            IpAddr::V4(ip) => IpAddr::from(std::net::Ipv4Addr::from_bits(ip.to_bits().saturating_add(offset.into()))),
            IpAddr::V6(ip) => IpAddr::from(std::net::Ipv6Addr::from_bits(ip.to_bits() + u128::from(offset))),
        };
        IpRange::new(ip(from), ip(from + more)).expect("it runs upwards")
    })
}

fn some_ports() -> impl Strategy<Value = Ports> {
    prop_oneof![3 => (1_u16..4).prop_map(Ports::one), 1 => Just(Ports::from_ranges([(2, 3)]))]
}

fn some_names() -> impl Strategy<Value = Vec<Named>> {
    let hosts = (some_hosts(), some_ports(), 0..SERVER_PLANS);
    let name = (0..NAMES.len(), some_ports(), 0..SERVER_PLANS);
    let one = prop_oneof![
        6 => hosts.prop_map(|(hosts, ports, plan)| Named::Hosts { hosts, ports, plan }),
        2 => name.prop_map(|(name, ports, plan)| Named::Name { name, ports, plan }),
        1 => Just(Named::Bad),
    ];
    prop::collection::vec(one, 0..8)
}

fn some_servers() -> impl Strategy<Value = Vec<SocketAddr>> {
    let server = (some_hosts(), 1_u16..4).prop_filter("lists of IPv4", |(hosts, _)| hosts.is_ipv4());
    prop::collection::vec(server.prop_map(|(hosts, port)| SocketAddr::new(hosts.first(), port)), 0..10)
}

fn some_case() -> impl Strategy<Value = Case> {
    let named = (some_names(), some_names(), some_names());
    let lists = (some_servers(), some_servers(), some_servers(), some_servers());
    let pace = (any::<bool>(), 1_usize..6, prop::sample::select(vec![Duration::ZERO, 40 * MS]), any::<u64>());
    (named, lists, pace).prop_map(
        |((arguments, file, stdin), (here, there, fetched, given), (input, window, host_gap, seed))| {
            let order = if input { Order::Input } else { Order::Shuffled };
            // A user who types an invalid line is told so before anything runs.
            let arguments = arguments.into_iter().filter(|named| !matches!(named, Named::Bad)).collect();
            Case { arguments, file, stdin, lists: [here, there], fetched, given, order, window, host_gap, seed }
        },
    )
}

/// What must come of a case.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    /// Rows by plan and address, with how often each came.
    rows: HashMap<(u16, SocketAddr), u64>,
    /// Rows of names that lead nowhere.
    unresolved: u64,
    tally: Tally,
}

/// The twin, which looks at every target by itself. Whether one is asked depends on nothing but who names it.
fn twin(case: &Case) -> Account {
    let zones = Exclusions::new(false).into_zones();
    let mut account = Account::default();
    let mut nowhere = HashSet::new();
    let mut take = |address: SocketAddr, plan: u16, ruling: Option<Ruling>| {
        account.tally.read += 1;
        match ruling {
            Some(Ruling::Invalid) => account.tally.invalid += 1,
            Some(Ruling::Excluded(reason)) => account.tally.excluded[reason] += 1,
            None if account.rows.insert((plan, address), 1).is_some() => account.tally.duplicate += 1,
            None => {}
        }
    };
    let (mut bad, mut leading_nowhere) = (0, 0);
    for (named, typed) in [(&case.arguments, true), (&case.file, false), (&case.stdin, false)] {
        for named in named {
            let (hosts, ports, plan) = match named {
                Named::Hosts { hosts, ports, plan } => (*hosts, ports, *plan),
                Named::Name { name, ports, plan } => {
                    let Some(ip) = NAMES[*name] else {
                        leading_nowhere += 1;
                        nowhere.insert((name, ports, plan));
                        continue;
                    };
                    (IpAddr::from(ip).into(), ports, *plan)
                }
                Named::Bad => {
                    bad += 1;
                    continue;
                }
            };
            for ip in addresses(hosts) {
                for port in ports.iter() {
                    let address = SocketAddr::new(ip, port);
                    take(address, plan, zones.ruling(&address, typed));
                }
            }
        }
    }
    for server in &case.given {
        take(*server, 0, zones.ruling(server, false));
    }
    let here: HashSet<_> = case.lists[0].iter().collect();
    let there: HashSet<_> = case.lists[1].iter().collect();
    let listed = here.into_iter().map(|server| (server, true)).chain(there.into_iter().map(|server| (server, false)));
    for (server, on_loopback) in listed.chain(case.fetched.iter().map(|server| (server, false))) {
        let ruling = match zones.ruling(server, false) {
            Some(Ruling::Invalid) => Some(Ruling::Excluded(ExclusionReason::Reserved)),
            None if server.ip().is_loopback() && !on_loopback => Some(Ruling::Excluded(ExclusionReason::Reserved)),
            ruling => ruling,
        };
        take(*server, 0, ruling);
    }
    account.tally.read += bad + leading_nowhere;
    account.tally.invalid += bad;
    account.tally.duplicate += leading_nowhere - nowhere.len() as u64;
    account.unresolved = nowhere.len() as u64;
    account
}

fn addresses(hosts: IpRange) -> Vec<IpAddr> {
    let all = |first: u128, last: u128| first..=last;
    match (hosts.first(), hosts.last()) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            (first.to_bits()..=last.to_bits()).map(|bits| std::net::Ipv4Addr::from_bits(bits).into()).collect()
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            all(first.to_bits(), last.to_bits()).map(|bits| std::net::Ipv6Addr::from_bits(bits).into()).collect()
        }
        mixed => panic!("{mixed:?}"),
    }
}

/// What is still to come, from outside the engine.
struct Outside {
    stdin: Option<Sender<Item>>,
    lines: std::vec::IntoIter<Named>,
    /// Names that are being looked up.
    lookups: Vec<u32>,
    mentioned: HashSet<u32>,
    fetched: Option<Sender<list::Item>>,
    servers: std::vec::IntoIter<SocketAddr>,
    /// Requests of list servers that are not answered yet.
    pages: Vec<usize>,
}

impl Outside {
    /// A name is mentioned, and looked up from its first mention on.
    fn mention(&mut self, name: usize, mention: Mention) {
        let number = name as u32;
        self.send(Item::Name(number, mention));
        if self.mentioned.insert(number) {
            self.lookups.push(number);
        }
    }

    fn send(&self, item: Item) {
        self.stdin.as_ref().expect("it is open").send(item).expect("somebody reads");
    }

    /// Standard input and the resolver share a channel, which is open as long as one of them needs it.
    fn is_over(&self) -> bool {
        self.stdin.is_none() && self.fetched.is_none() && self.pages.is_empty()
    }

    /// Makes something happen, which `rng` chooses: a line is written, a name resolved, a server named.
    fn happen(&mut self, rng: &mut Rng, case: &Case, engine: &mut Engine, now: Instant) {
        match rng.below(5) {
            0 | 1 => match self.lines.next() {
                Some(Named::Hosts { hosts, ports, plan }) => {
                    let single = ports.single().filter(|_| hosts.is_single());
                    self.send(match single {
                        Some(port) => {
                            let address = SocketAddr::new(hosts.first(), port);
                            Item::Target(Target { address, plan, origin: 0 })
                        }
                        None => Item::Range { hosts, ports, plan, origin: 0 },
                    });
                }
                Some(Named::Name { name, ports, plan }) => {
                    self.mention(name, Mention { ports, plan, origin: 0, typed: false });
                }
                Some(Named::Bad) => self.send(Item::Bad),
                None if self.lookups.is_empty() => self.stdin = None,
                None => {}
            },
            2 if !self.lookups.is_empty() => {
                let number = self.lookups.swap_remove(rng.below(self.lookups.len() as u64) as usize);
                let answer = NAMES[number as usize]
                    .map_or(Answer::Failed(NameError::NxDomain), |ip| Answer::Addresses([ip.into()].into(), None));
                self.send(Item::Resolved(number, answer));
            }
            3 => match (self.servers.next(), &self.fetched) {
                (Some(address), Some(sender)) => {
                    sender.send(list::Item::Entry(list::Entry { address, facts: None })).expect("somebody reads");
                }
                (None, Some(sender)) => {
                    sender.send(list::Item::Complete).expect("somebody reads");
                    self.fetched = None;
                }
                (_, None) => {}
            },
            4 if !self.pages.is_empty() => {
                let list = self.pages.swap_remove(rng.below(self.pages.len() as u64) as usize);
                let from = SocketAddr::from((LIST_SERVERS[list], LIST_PORT));
                let _ = engine.handle_datagram(now, now, from, &page(&case.lists[list]));
            }
            _ => {}
        }
    }
}

/// A page of a list server, which is its last.
fn page(servers: &[SocketAddr]) -> Vec<u8> {
    let mut page = b"\xFF\xFF\xFF\xFFf\n".to_vec();
    for server in servers {
        let IpAddr::V4(ip) = server.ip() else { panic!("lists are of IPv4") };
        page.extend(ip.octets());
        page.extend(server.port().to_be_bytes());
    }
    page.extend([0; 6]);
    page
}

/// Runs a case through stream and engine, to its end or until it is stopped. Nobody answers but the list servers.
fn run(case: &Case, stop_in_turn: Option<u64>) -> Account {
    let (items_sender, items) = unbounded();
    let (fetched_sender, to_take) = unbounded();
    let origins = Origins::default();
    let fetched = Fetched::new(to_take, "fetched".into(), 0, &origins, &FetchedEnds::default());
    let mut outside = Outside {
        stdin: Some(items_sender),
        lines: case.stdin.clone().into_iter(),
        lookups: Vec::new(),
        mentioned: HashSet::new(),
        fetched: Some(fetched_sender),
        servers: case.fetched.clone().into_iter(),
        pages: Vec::new(),
    };
    let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
    for (named, typed) in [(&case.arguments, true), (&case.file, false)] {
        for named in named.iter().cloned() {
            match named {
                Named::Hosts { hosts, ports, plan } => builder.add(hosts, &ports, plan, 0, typed),
                Named::Name { name, ports, plan } => outside.mention(name, Mention { ports, plan, origin: 0, typed }),
                Named::Bad => builder.invalid(),
            }
        }
    }
    let zones = builder.zones().clone();
    let (set, tally) = builder.build(case.order, case.seed).expect("few enough");
    let tally = Arc::new(Mutex::new(tally));
    let known = LIST_SERVERS.map(|ip| Target { address: (ip, LIST_PORT).into(), plan: SERVER_PLANS, origin: 0 });
    let lists = Lists {
        plans: HashMap::from([(SERVER_PLANS, 0)]),
        known: known.into(),
        open: LIST_SERVERS.len(),
        fetched: vec![fetched],
    };
    let known = Dedup::new(set, case.seed);
    let given = case.given.clone().into_iter().map(|address| Item::Target(Target { address, plan: 0, origin: 0 }));
    let arrivals = vec![Arrivals::Given(Box::new(given)), Arrivals::Sent(items)];
    let stream = Stream::new(known, arrivals, lists, zones, Arc::clone(&tally), case.order, case.seed);
    let settings = Settings {
        window: case.window,
        host_gap: case.host_gap,
        timeout: 200 * MS,
        budget: Duration::from_secs(2),
        ..settings()
    };
    let plans = ["a2s", "quake3", "valve-master"].map(|name| Plan::of(protocol(name)));
    let mut now = start();
    let mut engine = Engine::new(settings, plans.into(), Box::new(stream), now);
    let mut rng = Rng::new(case.seed);
    let mut account = Account::default();
    let mut buffer = Vec::new();
    for turn in 0_u64.. {
        if stop_in_turn == Some(turn) {
            engine.stop(now);
        }
        for _ in 0..rng.below(6) {
            if stop_in_turn.is_some_and(|stop| stop <= turn) {
                break;
            }
            outside.happen(&mut rng, case, &mut engine, now);
        }
        engine.handle_timeout(now);
        while let Some(transmit) = engine.poll_transmit(now, &mut buffer) {
            let list = LIST_SERVERS.iter().position(|ip| transmit.to == SocketAddr::from((*ip, LIST_PORT)));
            outside.pages.extend(list);
            buffer.clear();
        }
        while let Some(batch) = engine.poll_finished(now) {
            for finished in batch.iter() {
                if finished.status == Status::Unresolved {
                    account.unresolved += 1;
                } else {
                    *account.rows.entry((finished.plan, finished.address)).or_default() += 1;
                }
            }
            engine.recycle(batch);
        }
        let snapshot = engine.snapshot();
        let Tally { read, invalid, duplicate, excluded } = *tally.lock().unwrap();
        let classes = invalid + duplicate + excluded.total() + snapshot.not_started + snapshot.targets.scheduled;
        assert_eq!(read, classes, "the account adds up at every moment: {snapshot:?}");
        if engine.is_done() {
            break;
        }
        // A stream that waits only for the outside is not asked again before something happens there.
        let next = engine.poll_timeout(now).unwrap_or(now + MS);
        let soon = if outside.is_over() { next } else { next.min(now + rng.below(20) as u32 * MS) };
        now = soon.max(now);
    }
    account.tally = *tally.lock().unwrap();
    account
}

/// Cases of the property test.
const CASES: u32 = 1_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn every_target_has_one_row_however_its_sources_interleave(case in some_case()) {
        prop_assert_eq!(run(&case, None), twin(&case));
    }

    #[test]
    fn a_run_that_is_stopped_at_any_time_accounts_for_what_it_was_told(case in some_case(), turn in 0_u64..60) {
        // That the account adds up is asserted in each turn.
        let (stopped, whole) = (run(&case, Some(turn)), twin(&case));
        for (target, times) in &stopped.rows {
            prop_assert_eq!(Some(times), whole.rows.get(target), "{:?}", target);
        }
        prop_assert!(stopped.unresolved <= whole.unresolved);
        prop_assert!(stopped.tally.read <= whole.tally.read);
    }
}

/// Memory does not grow by an entry for each target of a range, wherever the range comes from.
#[test]
fn ranges_are_never_remembered_target_by_target() {
    let (sender, items) = unbounded();
    let block = |text: &str| -> IpRange { text.parse::<ipnet::IpNet>().unwrap().into() };
    let ports = Ports::one(27_015);
    let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
    builder.add(block("8.0.0.0/10"), &ports, 0, 0, true);
    let zones = builder.zones().clone();
    let (set, tally) = builder.build(Order::Shuffled, 1).unwrap();
    for hosts in ["8.0.0.0/9", "8.32.0.0/11", "8.0.0.0/9"].map(block) {
        sender.send(Item::Range { hosts, ports: ports.clone(), plan: 0, origin: 0 }).unwrap();
    }
    drop(sender);
    let tally = Arc::new(Mutex::new(tally));
    let known = Dedup::new(set, 1);
    let mut stream = Stream::new(
        known,
        vec![Arrivals::Sent(items)],
        Lists::default(),
        zones,
        Arc::clone(&tally),
        Order::Shuffled,
        1,
    );
    let mut given = vec![0_u64; (1 << 23) / 64];
    let info = allocation_counter::measure(|| {
        while let std::task::Poll::Ready(Some(target)) = stream.poll_target() {
            let IpAddr::V4(ip) = target.address.ip() else { panic!("IPv4") };
            let place = ip.to_bits() as usize & 0x7F_FFFF;
            assert_eq!(given[place / 64] >> (place % 64) & 1, 0, "{ip} came before");
            given[place / 64] |= 1 << (place % 64);
        }
    });
    assert!(given.iter().all(|bits| *bits == u64::MAX), "the whole of 8.0.0.0/9");
    assert!(info.bytes_max < 64 << 10, "{} bytes for 8 million targets", info.bytes_max);
    let Tally { read, duplicate, .. } = *tally.lock().unwrap();
    assert_eq!((read, duplicate), ((4 + 8 + 2 + 8) << 20, (4 + 2 + 8) << 20));
}
