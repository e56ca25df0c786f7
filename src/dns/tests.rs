//! The resolver against simulated name servers, in virtual time.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::testing::{IPV6, NameServer, address};
use super::{Answer, Answered, Config, Hosts, Resolver, SOURCE_PORTS, Wanted, Way};
use crate::engine::testing::start;
use crate::rng::Rng;
use crate::target::NameError;

/// A resolver, its servers, and what is under way between them.
struct World {
    resolver: Resolver,
    /// No server: nobody listens there.
    servers: Vec<Option<NameServer>>,
    delay: Duration,
    now: Instant,
    under_way: BTreeMap<(Instant, u64), Arrival>,
    count: u64,
    answers: HashMap<u32, Answer>,
    /// Most questions that were in flight.
    most: usize,
    ways: HashMap<Way, u64>,
    /// Tells when each answer came.
    answered_at: HashMap<u32, Duration>,
}

enum Arrival {
    Datagram(Way, Vec<u8>),
    Stream(u64, Option<Vec<u8>>),
    Refusal(u8),
}

impl World {
    fn new(servers: Vec<Option<NameServer>>, config: Config, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let addresses = (0..servers.len()).map(|n| SocketAddr::from(([192, 0, 2, n as u8], 53)));
        let config = Config { servers: addresses.collect(), ..config };
        let random = move || rng.next_u64();
        Self {
            resolver: Resolver::new(config, Hosts::default(), Wanted::default(), Duration::from_secs(1), random),
            servers,
            delay: Duration::from_millis(20),
            now: start(),
            under_way: BTreeMap::new(),
            count: 0,
            answers: HashMap::new(),
            most: 0,
            ways: HashMap::new(),
            answered_at: HashMap::new(),
        }
    }

    fn one(loss: f64) -> Self {
        Self::new(vec![Some(NameServer::new(loss, 1))], Config::default(), 2)
    }

    /// Looks all of `names` up, and returns how long it took.
    fn look_up(&mut self, names: impl IntoIterator<Item = String>) -> Duration {
        let began = self.now;
        let mut names = names.into_iter().enumerate().peekable();
        loop {
            while self.resolver.has_room() {
                let Some((number, name)) = names.next() else { break };
                let service = name.starts_with("srv").then_some("_game._udp");
                self.resolver.look_up(number as u32, name.into(), service);
            }
            self.resolver.handle_timeout(self.now);
            self.send();
            while let Some(Answered { number, answer, .. }) = self.resolver.poll_answer() {
                assert_eq!(self.answers.insert(number, answer), None, "each name has one answer");
                self.answered_at.insert(number, self.now - began);
            }
            if names.peek().is_some() && self.resolver.has_room() {
                continue;
            }
            if self.resolver.is_idle() {
                return self.now - began;
            }
            let arrival = self.under_way.first_key_value().map(|((at, _), _)| *at);
            let next = arrival.into_iter().chain(self.resolver.poll_timeout()).min().expect("something happens");
            assert!(next - began < Duration::from_hours(1), "it comes to an end");
            self.now = self.now.max(next);
            while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
                match entry.remove() {
                    Arrival::Datagram(way, data) => self.resolver.handle_datagram(self.now, way, &data),
                    Arrival::Stream(stream, data) => self.resolver.handle_stream(self.now, stream, data.as_deref()),
                    Arrival::Refusal(server) => self.resolver.handle_refusal(self.now, server),
                }
            }
        }
    }

    fn send(&mut self) {
        let mut buffer = Vec::new();
        let before = self.resolver.queries();
        while let Some(way) = self.resolver.poll_transmit(self.now, &mut buffer) {
            *self.ways.entry(way).or_default() += 1;
            let arrival = match &mut self.servers[usize::from(way.server)] {
                None => Some(Arrival::Refusal(way.server)),
                Some(server) => server.reply(&buffer, false).map(|reply| Arrival::Datagram(way, reply)),
            };
            if let Some(arrival) = arrival {
                self.arrive(arrival);
            }
        }
        self.most = self.most.max((self.resolver.queries().sent - before.sent) as usize);
        while let Some(connect) = self.resolver.poll_connect(self.now) {
            let number = self.resolver.servers().position(|server| server == connect.to).unwrap();
            let reply = self.servers[number].as_mut().and_then(|server| server.reply(&connect.message, true));
            self.arrive(Arrival::Stream(connect.stream, reply));
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        self.count += 1;
        self.under_way.insert((self.now + self.delay, self.count), arrival);
    }

    fn answer(&self, number: u32) -> &Answer {
        &self.answers[&number]
    }
}

fn numbered(word: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |n| format!("{word}{n}.example"))
}

fn at(name: &str) -> Answer {
    Answer::Addresses([address(name).into()].into(), None)
}

#[test]
fn every_kind_of_reply_has_its_answer() {
    let mut world = World::one(0.0);
    let failed = Answer::Failed;
    let cases = [
        ("good1.example", at("good1.example"), 1),
        ("GOOD1.example.", at("good1.example"), 1),
        ("six.example", Answer::Addresses([IPV6.into()].into(), None), 2),
        ("both.example", at("both.example"), 1),
        ("alias.example", at("alias.example"), 1),
        ("other.example", at("good.example"), 2),
        ("cut.example", at("cut.example"), 2),
        ("flaky.example", at("flaky.example"), 3),
        ("dead.example", failed(NameError::NxDomain), 1),
        ("none.example", failed(NameError::NoAddress), 2),
        ("zero.example", failed(NameError::Blocked), 2),
        ("fail.example", failed(NameError::ServerFailure), 3),
        ("silent.example", failed(NameError::Silence), 5),
        ("srv.example", Answer::Addresses([address("good.example").into()].into(), Some(25_570)), 2),
        ("no-such.invalid", failed(NameError::NxDomain), 0),
    ];
    for (name, expected, questions) in cases {
        let mut world = World::one(0.0);
        world.look_up([name.to_owned()]);
        assert_eq!(*world.answer(0), expected, "{name}");
        let queries = world.resolver.queries();
        assert_eq!(queries.sent - queries.sent_probe, questions, "{name}");
    }
    world.look_up(["silent.example".to_owned()]);
    let asked = &world.servers[0].as_ref().unwrap().asked;
    assert!(asked.iter().any(|question| question == "SOA "), "whether the server is there is asked: {asked:?}");
}

#[test]
fn good_names_wait_for_no_dead_ones() {
    let mut world = World::one(0.1);
    let silent = numbered("silent", 300);
    let good = numbered("good", 1_000);
    world.look_up(silent.chain(good));
    for number in 300..1_300 {
        let name = format!("good{}.example", number - 300);
        assert_eq!(*world.answer(number), at(&name));
    }
    let mut last: Vec<_> = (300..1_300).map(|number| world.answered_at[&number]).collect();
    last.sort_unstable();
    assert!(last[850] < Duration::from_millis(2_500), "300 silent ones take up the room once: {:?}", last[850]);
    assert!((0..300).all(|number| *world.answer(number) == Answer::Failed(NameError::Silence)));
}

#[test]
fn as_many_questions_are_in_flight_as_are_allowed_and_no_more() {
    let mut world = World::one(0.0);
    let time = world.look_up(numbered("good", 25_600));
    assert_eq!(world.most, super::resolver::IN_FLIGHT);
    assert_eq!(world.resolver.queries().sent, 25_600, "each name once");
    // A hundred round trips of 20 ms.
    assert!(time < Duration::from_millis(2_100), "{time:?}");
    assert_eq!(world.ways.len(), usize::from(SOURCE_PORTS));
    assert!(world.ways.values().all(|count| (2_800..3_600).contains(count)), "{:?}", world.ways);
}

#[test]
fn lost_datagrams_are_asked_for_again() {
    for seed in 0..5 {
        let servers = vec![Some(NameServer::new(0.2, seed))];
        let mut world = World::new(servers, Config::default(), seed);
        world.look_up(numbered("good", 500).chain(numbered("dead", 500)).chain(numbered("cut", 100)));
        let silent = world.answers.values().filter(|answer| **answer == Answer::Failed(NameError::Silence)).count();
        // One in 3,125 is lost five times.
        assert!(silent <= 3, "seed {seed}: {silent}");
        let found = world.answers.values().filter(|answer| matches!(answer, Answer::Addresses(..))).count();
        let dead = world.answers.values().filter(|answer| **answer == Answer::Failed(NameError::NxDomain)).count();
        assert_eq!((found + dead + silent, world.answers.len()), (1_100, 1_100), "seed {seed}");
        let queries = world.resolver.queries();
        assert_eq!(
            queries.received - queries.stray,
            queries.sent - queries.sent_retry - queries.sent_probe - silent as u64,
            "seed {seed}"
        );
    }
}

#[test]
fn a_server_that_is_silent_is_left_aside_and_tried_now_and_then() {
    let silent = || NameServer::new(1.0, 1);
    let servers = vec![Some(silent()), Some(NameServer::new(0.0, 1))];
    let mut world = World::new(servers, Config::default(), 3);
    let time = world.look_up(numbered("good", 5_000));
    assert!(world.answers.values().all(|answer| matches!(answer, Answer::Addresses(..))));
    assert!(time < Duration::from_secs(5), "{time:?}");
    let asked = world.servers[0].as_ref().unwrap().asked.len();
    assert!(asked < 800, "{asked} questions to a server that is down");
    // It comes back, and is preferred again.
    world.servers[0] = Some(NameServer::new(0.0, 1));
    for _ in 0..3 {
        world.now += Duration::from_secs(10);
        world.answers.clear();
        world.look_up(numbered("good", 1_000));
    }
    assert!(world.servers[0].as_ref().unwrap().asked.len() > 900);
}

#[test]
fn if_no_server_answers_names_are_given_up_soon_and_for_another_reason() {
    for (server, most) in [(Some(NameServer::new(1.0, 1)), 13), (None, 4)] {
        let mut world = World::new(vec![server], Config::default(), 5);
        let time = world.look_up(numbered("good", 20_000));
        assert!(world.answers.values().all(|answer| *answer == Answer::Failed(NameError::NoServer)));
        assert!(time <= Duration::from_secs(most), "{time:?}");
        assert!(world.resolver.queries().sent < 1_100, "{:?}", world.resolver.queries());
    }
    // A single name tells it too.
    let mut world = World::new(vec![Some(NameServer::new(1.0, 1))], Config::default(), 5);
    world.look_up(["good.example".to_owned()]);
    assert_eq!(*world.answer(0), Answer::Failed(NameError::NoServer));
}

#[test]
fn an_outage_that_is_short_costs_no_name() {
    let mut world = World::one(0.0);
    world.look_up(numbered("good", 100));
    world.answers.clear();
    world.servers[0] = None;
    for (number, name) in numbered("good", 2_000).enumerate() {
        if world.resolver.has_room() {
            world.resolver.look_up(number as u32, name.into(), None);
        }
    }
    world.send();
    let refused = world.now + Duration::from_millis(20);
    world.now = refused;
    world.under_way.clear();
    world.resolver.handle_refusal(refused, 0);
    world.servers[0] = Some(NameServer::new(0.0, 1));
    world.look_up([]);
    assert!(world.answers.len() >= 256);
    assert!(world.answers.values().all(|answer| matches!(answer, Answer::Addresses(..))));
}

#[test]
fn what_does_not_fit_the_question_is_no_answer() {
    let mut resolver = World::one(0.0).resolver;
    let (now, mut query) = (start(), Vec::new());
    resolver.look_up(0, "good.example".into(), None);
    let way = resolver.poll_transmit(now, &mut query).unwrap();
    assert_eq!(resolver.poll_transmit(now, &mut Vec::new()), None);
    let right = NameServer::new(0.0, 1).reply(&query, false).unwrap();
    let mut wrong_id = right.clone();
    wrong_id[0] ^= 1;
    let mut wrong_name = right.clone();
    wrong_name[13] = b'f';
    let mut wrong_kind = right.clone();
    wrong_kind[26 + 1] = 28;
    let mut is_query = right.clone();
    is_query[2] &= 0x7F;
    let strays = [&wrong_id, &wrong_name, &wrong_kind, &is_query];
    for stray in strays {
        resolver.handle_datagram(now, way, stray);
    }
    for other in [Way { socket: way.socket ^ 1, ..way }, Way { server: 1, ..way }] {
        resolver.handle_datagram(now, other, &right);
    }
    for length in 0..12 {
        resolver.handle_datagram(now, way, &right[..length]);
    }
    assert_eq!(resolver.poll_answer(), None);
    assert_eq!(resolver.queries().stray, 18);
    resolver.handle_datagram(now, way, &right);
    assert_eq!(resolver.poll_answer().unwrap().answer, at("good.example"));
    resolver.handle_datagram(now, way, &right);
    assert_eq!(resolver.queries().stray, 19, "the same again");
}

#[test]
fn broken_replies_neither_panic_nor_lead_anywhere_else() {
    let mut rng = Rng::new(11);
    for name in ["good.example", "alias.example", "srv.example", "six.example"] {
        for round in 0..3_000 {
            let mut resolver = World::one(0.0).resolver;
            let (now, mut query) = (start(), Vec::new());
            resolver.look_up(0, name.into(), name.starts_with("srv").then_some("_game._udp"));
            let way = resolver.poll_transmit(now, &mut query).unwrap();
            let mut reply = NameServer::new(0.0, 1).reply(&query, false).unwrap();
            for _ in 0..=rng.below(3) {
                let place = rng.below(reply.len() as u64) as usize;
                reply[place] ^= 1 << rng.below(8);
            }
            reply.truncate(reply.len() - rng.below(4).saturating_sub(2) as usize * rng.below(20) as usize);
            resolver.handle_datagram(now, way, &reply);
            if let Some(Answered { answer: Answer::Addresses(ips, _), .. }) = resolver.poll_answer() {
                assert_eq!(ips.len(), 1, "{name}, round {round}");
            }
        }
    }
}
