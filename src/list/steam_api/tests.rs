use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::crawl::{Answer, Ending, Patience, Surroundings, crawl};
use super::partition::{Partition, Question};
use super::server::{Rows, Server};
use super::testing::{Directory, matches};

/// Everything that a partition gives of `directory`, the filters that it could not take apart, and how often it asked.
fn listed(directory: &Directory, filter: &str) -> (Vec<SocketAddr>, Vec<String>, usize) {
    let servers = read(directory);
    let mut partition = Partition::new(filter, directory.cap);
    let (mut found, mut requests) = (Vec::new(), 0);
    while let Some(question) = partition.poll_question() {
        requests += 1;
        assert!(requests < 100_000, "it does not end");
        let rows = answer(directory, &servers, &question);
        assert!(!question.witnessed || !rows.servers.is_empty(), "{question:?} was to have an answer");
        found.extend(partition.handle_answer(rows).into_iter().map(|server| server.addr));
    }
    (found, partition.too_big().to_vec(), requests)
}

/// The servers of `directory` as they are read.
fn read(directory: &Directory) -> Vec<Server> {
    directory.servers.iter().map(|server| Server::deserialize(server).unwrap()).collect()
}

fn answer(directory: &Directory, servers: &[Server], question: &Question) -> Rows {
    let picked = directory.picked(&question.filter, question.limit);
    Rows { servers: picked.into_iter().map(|n| servers[n].clone()).collect(), odd: 0 }
}

fn address(server: &Value) -> SocketAddr {
    server["addr"].as_str().unwrap().parse().unwrap()
}

#[test]
#[expect(clippy::disallowed_macros, reason = "the number is worth knowing, and tests may print")]
fn many_more_servers_than_an_answer_holds_are_all_found_and_none_twice() {
    let directory = Directory::of(87_000, 10_000);
    let (found, too_big, requests) = listed(&directory, "");
    println!("87,000 servers behind answers of 10,000 rows: {requests} requests");
    assert_eq!(too_big, [""; 0]);
    assert_eq!(found.len(), 87_000);
    let all: HashSet<_> = directory.servers.iter().map(address).collect();
    assert_eq!(found.into_iter().collect::<HashSet<_>>(), all);
    // Nine answers hold them, if all parts are full and there is nothing to find out.
    assert!(requests <= 40, "{requests} requests");
}

#[test]
fn what_the_user_asked_for_stays_asked_in_every_part() {
    let directory = Directory::of(3000, 50);
    let filter = r"\appid\730\nor\2\map\map_0\map\map_1";
    let (found, too_big, _) = listed(&directory, filter);
    assert_eq!(too_big, [""; 0]);
    let wanted: HashSet<_> =
        directory.servers.iter().filter(|server| matches(server, filter, false)).map(address).collect();
    assert!(wanted.len() > 500, "{}", wanted.len());
    assert_eq!(found.len(), wanted.len());
    assert_eq!(found.into_iter().collect::<HashSet<_>>(), wanted);
}

#[test]
fn what_cannot_be_told_apart_is_named_and_the_others_are_found() {
    let mut directory = Directory::of(500, 20);
    let twin = json!({
        "name": "twin", "appid": 10, "gamedir": "cstrike", "version": "1", "region": 255, "players": 0,
        "max_players": 8, "map": "m", "secure": true, "dedicated": true, "os": "l", "_password": false
    });
    for port in 1..=30 {
        let mut server = twin.clone();
        server["addr"] = json!(format!("192.0.2.1:{port}"));
        directory.servers.push(server);
    }
    let (found, too_big, _) = listed(&directory, "");
    let [filter] = &*too_big else { panic!("{too_big:?}") };
    assert!(directory.servers[500..].iter().all(|server| matches(server, filter, false)), "{filter}");
    assert_eq!(found.len(), 520);
}

#[test]
fn servers_that_differ_only_in_the_last_letters_of_long_names_are_told_apart_before_steam_is_given_up() {
    let mut directory = Directory::of(0, 100);
    for n in 0..400 {
        directory.servers.push(json!({
            "addr": format!("192.0.2.1:{}", n + 1), "name": format!("{:-<60}{n:03}", "Community server "), "appid": 10,
            "gamedir": "", "version": "1", "region": 255, "players": 0, "max_players": 8, "map": "m", "secure": true,
            "dedicated": true, "os": "l", "_password": false
        }));
    }
    let mut steam = Scripted::new(directory, Vec::new());
    let patience = Patience { first_wait: Duration::ZERO, longest_wait: Duration::ZERO, ..Patience::default() };
    assert_eq!(crawl(Partition::new("", 100), &patience, &mut steam), Ending::Complete);
    assert_eq!(steam.found, 400);
    assert!(steam.asked.len() > 60, "{}", steam.asked.len());
}

/// Servers of few kinds, with texts that the filter language cannot say.
fn kinds() -> impl Strategy<Value = Vec<Value>> {
    let text =
        || prop::sample::select(vec!["", "a", "A", "ab", "abc", "a*", "*", "b\\c", " b", "é", "éa", "\u{1}", "z?"]);
    let kind = (
        (text(), text(), text(), text()),
        (0..3u32, -1..2i32, 0..3i64, 0..3i64),
        any::<[bool; 3]>(),
        prop::sample::select(vec!["l", "w"]),
        0..3u8,
    );
    prop::collection::vec(kind, 0..150).prop_map(|kinds| {
        let server = |(n, kind)| {
            let ((name, map, gamedir, version), (appid, region, players, max_players), flags, os, host) = kind;
            let [secure, dedicated, password]: [bool; 3] = flags;
            json!({
                "addr": format!("192.0.2.{host}:{}", 1000 + n),
                "name": name, "map": map, "gamedir": gamedir, "version": version, "appid": appid, "region": region,
                "players": players, "max_players": max_players, "secure": secure, "dedicated": dedicated, "os": os,
                "_password": password
            })
        };
        kinds.into_iter().enumerate().map(server).collect()
    })
}

proptest! {
    #[test]
    fn no_server_is_lost_or_given_twice_and_what_is_missing_is_in_a_part_that_is_named(
        servers in kinds(),
        cap in 1..20usize,
        folds in any::<bool>(),
    ) {
        let directory = Directory { servers, cap, folds };
        let (found, too_big, _) = listed(&directory, "");
        let given: HashSet<_> = found.iter().copied().collect();
        prop_assert_eq!(given.len(), found.len());
        for server in &directory.servers {
            prop_assert!(
                given.contains(&address(server)) || too_big.iter().any(|filter| matches(server, filter, folds)),
                "{} is lost; too big are {:?}", server, too_big
            );
        }
        for filter in &too_big {
            prop_assert!(directory.servers.iter().filter(|server| matches(server, filter, folds)).count() >= cap);
        }
    }
}

/// A Steam that answers from a script first, and a clock that only adds up.
struct Scripted {
    directory: Directory,
    script: Vec<Answer>,
    asked: Vec<Question>,
    waited: Vec<u64>,
    found: usize,
    wanted: usize,
    said: Vec<String>,
}

impl Scripted {
    fn new(directory: Directory, mut script: Vec<Answer>) -> Self {
        script.reverse();
        let (asked, waited, said) = (Vec::new(), Vec::new(), Vec::new());
        Self { directory, script, asked, waited, found: 0, wanted: usize::MAX, said }
    }

    fn crawl(&mut self) -> Ending {
        crawl(Partition::new("", self.directory.cap), &Patience::default(), self)
    }
}

impl Surroundings for Scripted {
    fn ask(&mut self, question: &Question) -> Answer {
        self.asked.push(question.clone());
        self.script.pop().unwrap_or_else(|| Answer::Rows(answer(&self.directory, &read(&self.directory), question)))
    }

    fn wait(&mut self, time: Duration) {
        self.waited.push(time.as_secs());
    }

    fn found(&mut self, _: Server) -> bool {
        self.found += 1;
        self.found <= self.wanted
    }

    fn say(&mut self, message: &str) {
        self.said.push(message.into());
    }
}

/// The answer to the first question.
fn first(directory: &Directory) -> Answer {
    let question = Partition::new("", directory.cap).poll_question().unwrap();
    Answer::Rows(answer(directory, &read(directory), &question))
}

fn nothing() -> Answer {
    Answer::Rows(Rows::default())
}

fn later(seconds: Option<u64>) -> Answer {
    Answer::Later("it is busy".into(), seconds.map(Duration::from_secs))
}

#[test]
fn an_empty_answer_is_asked_again_after_waits_that_double() {
    let mut steam = Scripted::new(Directory::of(5, 10), vec![nothing(), nothing()]);
    assert_eq!(steam.crawl(), Ending::Complete);
    assert_eq!((steam.found, steam.asked.len()), (5, 3));
    assert_eq!(steam.waited, [30, 60]);
    assert!(steam.said[0].contains("asked too often; asking again in 30s"), "{:?}", steam.said);
}

#[test]
fn nothing_is_believed_where_nothing_is_known_and_doubted_where_servers_are_known() {
    let mut steam = Scripted::new(Directory::of(0, 10), Vec::new());
    assert_eq!(steam.crawl(), Ending::Complete);
    assert_eq!(steam.waited, [30, 60]);

    let directory = Directory::of(60, 40);
    let first = first(&directory);
    let mut steam = Scripted::new(directory, vec![first, nothing(), nothing(), nothing(), nothing()]);
    assert_eq!(steam.crawl(), Ending::Complete);
    assert_eq!(steam.found, 60);
    assert_eq!(steam.waited[..5], [2, 30, 60, 120, 240]);
}

#[test]
fn how_long_steam_wants_to_be_left_alone_is_kept_to() {
    let mut steam = Scripted::new(Directory::of(5, 10), vec![later(Some(7)), later(None), later(Some(1))]);
    assert_eq!(steam.crawl(), Ending::Complete);
    assert_eq!(steam.waited, [30, 60, 30], "no sooner than usual");
    let mut steam = Scripted::new(Directory::of(5, 10), vec![later(Some(45)), later(Some(0))]);
    let patience = Patience { gap: Duration::from_mins(1), ..Patience::default() };
    assert_eq!(crawl(Partition::new("", 10), &patience, &mut steam), Ending::Complete);
    assert_eq!(steam.waited, [60, 60], "no sooner than any other question");
    let mut steam = Scripted::new(Directory::of(5, 10), vec![later(Some(86_400))]);
    let Ending::Refused(why, _) = steam.crawl() else { panic!("it is not complete") };
    assert!(steam.waited.is_empty() && why.contains("86400 s"), "{why}");
    // Also where it is not asked again.
    let directory = Directory::of(60, 40);
    let script = [first(&directory), later(None), later(None), later(None), later(None), later(Some(600))];
    let mut steam = Scripted::new(directory, script.into());
    assert!(matches!(steam.crawl(), Ending::Incomplete(_)));
    assert_eq!(steam.waited[..7], [2, 30, 60, 120, 240, 600, 2]);
}

#[test]
fn one_question_without_an_answer_is_gone_without_and_two_in_a_row_end_it() {
    let directory = Directory::of(60, 40);
    let script = |asked: usize| (0..asked).map(|_| later(None));
    let mut steam = Scripted::new(directory.clone(), [first(&directory)].into_iter().chain(script(5)).collect());
    let Ending::Incomplete(why) = steam.crawl() else { panic!("it is not complete") };
    assert!(why.contains("1 question without an answer: it is busy; asked 5 times"), "{why}");
    assert!(steam.asked.len() > 6);

    let mut steam = Scripted::new(directory.clone(), [first(&directory)].into_iter().chain(script(10)).collect());
    assert!(matches!(steam.crawl(), Ending::Incomplete(_)));
    assert_eq!(steam.asked.len(), 11);
    assert_eq!(steam.found, 40);
}

#[test]
fn a_refusal_ends_it_at_once() {
    let mut steam = Scripted::new(Directory::of(5, 10), vec![Answer::Never("it is not there".into())]);
    let Ending::Incomplete(why) = steam.crawl() else { panic!("it is not complete") };
    assert_eq!(why, "1 question without an answer: it is not there");
    assert_eq!(steam.asked.len(), 1);
    let mut steam = Scripted::new(Directory::of(5, 10), vec![Answer::Refused("the key was refused".into())]);
    let why = "the key was refused";
    assert_eq!(steam.crawl(), Ending::Refused(format!("1 question without an answer: {why}"), why.into()));
}

#[test]
fn it_ends_when_nobody_wants_servers_any_more() {
    let mut steam = Scripted::new(Directory::of(60, 40), Vec::new());
    steam.wanted = 3;
    assert_eq!(steam.crawl(), Ending::Unwanted);
    assert_eq!((steam.found, steam.asked.len()), (4, 1));
}

#[test]
fn odd_rows_are_missed_only_where_there_is_nothing_else() {
    let directory = Directory::of(5, 10);
    let Answer::Rows(rows) = first(&directory) else { panic!("no rows") };
    let mut steam = Scripted::new(directory.clone(), vec![Answer::Rows(Rows { odd: 2, ..rows })]);
    assert_eq!((steam.crawl(), steam.found), (Ending::Complete, 5));
    let rows = Rows { odd: 2, ..Rows::default() };
    let mut steam = Scripted::new(directory, vec![Answer::Rows(rows)]);
    assert_eq!(steam.crawl(), Ending::Incomplete("not one row can be read".into()));
}

/// A Steam that answers with rows from 0 on, or from where its last answer ended, whatever it is asked.
struct Deaf {
    new: bool,
    asked: u32,
    found: usize,
}

impl Surroundings for Deaf {
    fn ask(&mut self, question: &Question) -> Answer {
        let first = if self.new { self.asked * question.limit as u32 } else { 0 };
        self.asked += 1;
        let server = |n: u32| {
            let addr = SocketAddr::from(((0x0800_0000 + n).to_be_bytes(), 27_015));
            Server::deserialize(&json!({"addr": addr, "map": format!("m{}", n % 50)})).unwrap()
        };
        Answer::Rows(Rows { servers: (first..first + question.limit as u32).map(server).collect(), odd: 0 })
    }

    fn wait(&mut self, _: Duration) {}

    fn found(&mut self, _: Server) -> bool {
        self.found += 1;
        true
    }

    fn say(&mut self, _: &str) {}
}

#[test]
fn who_names_servers_without_end_is_given_up() {
    let mut steam = Deaf { new: true, asked: 0, found: 0 };
    let ending = crawl(Partition::new("", 10_000), &Patience::default(), &mut steam);
    let Ending::Incomplete(why) = ending else { panic!("{ending:?}") };
    assert!(why.contains("without an answer: it names more servers than there can be"), "{why}");
    assert_eq!((steam.asked, steam.found), (105, 1_050_000), "so many answers hold 2^20 servers");
}

#[test]
fn who_gives_the_same_answer_to_every_question_is_given_up() {
    let mut steam = Deaf { new: false, asked: 0, found: 0 };
    let ending = crawl(Partition::new("", 100), &Patience::default(), &mut steam);
    let Ending::Incomplete(why) = ending else { panic!("{ending:?}") };
    assert!(why.contains("its answers do not follow the questions"), "{why}");
    assert_eq!((steam.asked, steam.found), (101, 100));
}

#[test]
fn long_filters_are_shortened_for_a_person() {
    let mut steam = Scripted::new(Directory::of(5, 10), vec![later(None)]);
    let filter = format!("\\map\\{}", "é".repeat(500));
    let _ = crawl(Partition::new(&filter, 10), &Patience::default(), &mut steam);
    assert_eq!(steam.asked[0].filter, filter);
    let expected = format!("steam-api \\map\\{}…: it is busy; asking again in 30s", "é".repeat(97));
    assert_eq!(steam.said[0], expected);
}
