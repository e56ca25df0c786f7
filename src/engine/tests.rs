//! Whole scans in virtual time: engine, farm and link.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::testing::{List, Simulation, protocol, settings};
use super::*;
use crate::farm::link::LinkSettings;
use crate::farm::{Behaviour, Farm, FarmSettings, Share, Speaks};
use crate::protocol::{Engine as Kind, Manner, in_auto, probe};
use crate::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord};
use crate::target::{PortRule, Target};

const MS: Duration = Duration::from_millis(1);

fn a2s() -> Plan {
    Plan::of(protocol("a2s"))
}

fn lossy(percent: f64) -> LinkSettings {
    LinkSettings { loss: Share::percent(percent), delay: 40 * MS, ..LinkSettings::default() }
}

fn servers(servers: u32) -> FarmSettings {
    FarmSettings { servers, ..FarmSettings::default() }
}

/// With time for every query of a target.
fn patient() -> Settings {
    Settings { budget: Duration::from_secs(40), ..settings() }
}

/// A plan that tries each protocol in turn, some at another port.
fn legs(legs: &[(&str, Option<u16>)]) -> Plan {
    let rule = |port: Option<u16>| port.map_or(PortRule::Own, PortRule::Fixed);
    let legs = legs.iter().map(|&(name, port)| Leg { protocol: protocol(name), port: rule(port) }).collect();
    Plan::new(legs)
}

/// Most datagrams that left in any window of `length`.
fn busiest(sent: &[(Duration, SocketAddr)], length: Duration) -> usize {
    (0..sent.len()).map(|i| sent[i..].partition_point(|(at, _)| *at < sent[i].0 + length)).max().unwrap_or(0)
}

/// A message of the test protocol's server.
fn message(kind: u8, nonce: &[u8], body: &[u8]) -> Vec<u8> {
    [&[kind], nonce, body].concat()
}

#[test]
fn ten_thousand_servers_are_found_through_ten_percent_loss_each_way() {
    let farm = FarmSettings { link: lossy(10.0), ..servers(10_000) };
    let mut scan = Simulation::new(settings(), a2s(), farm);
    scan.run();
    assert_eq!(scan.records.len(), 10_000);
    let addresses: HashSet<_> = scan.records.iter().map(|record| record.address).collect();
    assert_eq!(addresses.len(), 10_000);
    // One step fails three times in a row with (1 - 0.9²)³ = 0.7 %; four of five servers need two steps: 1.2 %.
    let found = scan.count(Status::Ok);
    assert!((9_800..=9_950).contains(&found), "{found}");
    assert_eq!(found + scan.count(Status::Timeout), 10_000);
    let datagrams = scan.ledger().datagrams;
    assert!(datagrams.sent_retry > 3_000 && datagrams.sent_first == 10_000, "{datagrams:?}");
}

#[test]
fn six_retries_find_nearly_all_servers_through_thirty_percent_loss_each_way() {
    let farm = FarmSettings { link: lossy(30.0), ..servers(10_000) };
    let mut settings = Settings { retries: 6, ..settings() };
    settings.budget = settings.patience();
    assert_eq!(settings.patience().as_secs(), 1 + 2 + 4 + 4 * 8);
    let mut scan = Simulation::new(settings, a2s(), farm);
    scan.run();
    // One step fails seven times in a row with (1 - 0.7²)⁷ = 0.9 %; four of five servers need two: 1.6 %.
    let found = scan.count(Status::Ok);
    assert!((9_750..=9_900).contains(&found), "{found}");
    assert_eq!(found + scan.count(Status::Timeout), 10_000);
}

#[test]
fn duplicates_and_reordering_change_nothing_but_the_counters() {
    let link = LinkSettings {
        duplicate: Share::percent(20.0),
        reorder: Share::percent(20.0),
        delay: 30 * MS,
        ..LinkSettings::default()
    };
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { link, ..servers(2_000) });
    scan.run();
    assert_eq!(scan.count(Status::Ok), 2_000);
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.sent_retry, datagrams.undecodable, datagrams.unsolicited), (0, 0, 0));
    assert!(datagrams.duplicate > 1_000, "{datagrams:?}");
}

#[test]
fn a_stall_of_three_seconds_makes_no_burst_and_no_time_outs() {
    let rate = Rate { packets: Some(2_000.0), bits: None };
    let link = LinkSettings { delay: 50 * MS, ..LinkSettings::default() };
    let farm = FarmSettings { link, ..servers(5_000) };
    let mut scan = Simulation::new(Settings { rate, ..settings() }, a2s(), farm);
    scan.stall = Some((1_000 * MS, 3_000 * MS));
    scan.run();
    assert_eq!(scan.count(Status::Ok), 5_000);
    assert_eq!(scan.ledger().datagrams.sent_retry, 0, "answers that waited were taken for silence");
    assert!(busiest(&scan.sent, 100 * MS) <= 211);
    let before = scan.sent.iter().filter(|(at, _)| *at < 1_000 * MS).count();
    assert!((1_990..=2_010).contains(&before), "{before}");
    let stalled = scan.sent.iter().filter(|(at, _)| (1_010 * MS..3_990 * MS).contains(at)).count();
    assert_eq!(stalled, 0, "the loop was away");
    let longest = scan.records.iter().filter_map(|record| record.rtt_us).max();
    assert!(longest.is_some_and(|us| us < 200_000), "times are those of the arrival: {longest:?}");
}

#[test]
fn a_storm_of_icmp_errors_ends_only_those_that_it_is_about() {
    let farm = FarmSettings { refused: Share::percent(50.0), ..servers(4_000) };
    let mut scan = Simulation::new(settings(), a2s(), farm);
    scan.turn();
    for n in 0..10_000_u32 {
        let stranger = SocketAddr::from(((0xC000_0200 + n).to_be_bytes(), 27_015));
        scan.engine.handle_icmp(scan.now, stranger, Icmp::PortUnreachable);
        scan.engine.handle_icmp(scan.now, stranger, Icmp::HostUnreachable);
    }
    scan.run();
    let refused = scan.count(Status::Refused);
    assert!((1_900..2_100).contains(&refused), "{refused}");
    assert_eq!(refused + scan.count(Status::Ok), 4_000);
    let closed = scan.records.iter().filter(|record| record.status == Status::Refused);
    assert!(closed.clone().all(|record| record.sent == 1 && record.icmp == Some("port_unreachable")));
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.icmp_matched as usize, datagrams.icmp_stray), (refused, 20_000));
    assert!(scan.now - scan.began < 500 * MS, "refused at once");
}

#[test]
fn an_unreachable_host_is_given_its_tries_and_then_named_so() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { silent: Share::percent(100.0), ..servers(2) });
    scan.turn();
    let to = scan.sent[0].1;
    scan.engine.handle_icmp(scan.now, to, Icmp::HostUnreachable);
    scan.run();
    let record = scan.records.iter().find(|record| record.address == to).unwrap();
    assert_eq!((record.status, record.icmp, record.sent), (Status::Unreachable, Some("host_unreachable"), 3));
    assert_eq!(scan.count(Status::Timeout), 1);
}

#[test]
fn silence_is_asked_three_times_with_doubling_waits() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { silent: Share::percent(100.0), ..servers(1) });
    scan.run();
    let times: Vec<_> = scan.sent.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(times, [0, 1_000, 3_000]);
    assert_eq!((scan.now - scan.began).as_millis(), 7_000);
    let record = &scan.records[0];
    assert_eq!((record.status, record.attempts, record.sent, record.rtt_us), (Status::Timeout, 3, 3, None));
    assert_eq!(record.query(Query::Info), QueryStatus::Failed(Status::Timeout));
}

#[test]
fn a_target_never_takes_longer_than_its_budget() {
    let settings = Settings { retries: 50, ..settings() };
    let mut scan = Simulation::new(settings, a2s(), FarmSettings { silent: Share::percent(100.0), ..servers(20) });
    scan.run();
    assert_eq!((scan.now - scan.began).as_millis(), 10_000);
    assert_eq!(scan.count(Status::Timeout), 20);
}

#[test]
fn odd_servers_end_in_the_status_that_says_why() {
    let all = Share::percent(100.0);
    let banned = FarmSettings { banned: all, ..servers(3) };
    let malformed = FarmSettings { malformed: all, ..servers(3) };
    for (farm, status, sent) in [(banned, Status::Banned, 1), (malformed, Status::Malformed, 3)] {
        let mut scan = Simulation::new(settings(), a2s(), farm);
        scan.run();
        assert_eq!(scan.count(status), 3, "{status}");
        assert!(scan.records.iter().all(|record| record.sent == sent), "{status}");
    }
}

#[test]
fn an_answer_to_a_retry_is_marked_as_ambiguous_and_one_to_the_first_try_is_not() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { link: lossy(30.0), ..servers(500) });
    scan.run();
    for record in scan.records.iter().filter(|record| record.rtt_us.is_some()) {
        let rtt = record.rtt_us.unwrap();
        if !record.flags.contains(Flags::RTT_AMBIGUOUS) {
            assert!((64_000..=96_000).contains(&rtt), "two delays of 40 ms, each a fifth more or less: {rtt}");
        }
        assert!(record.attempts > 1 || !record.flags.contains(Flags::RTT_AMBIGUOUS));
    }
    assert!(scan.records.iter().any(|record| record.flags.contains(Flags::RTT_AMBIGUOUS)));
}

#[test]
fn the_window_bounds_what_is_in_flight() {
    let settings = Settings { window: 7, ..settings() };
    let mut scan = Simulation::new(settings, a2s(), FarmSettings { silent: Share::percent(30.0), ..servers(100) });
    while scan.turn() {
        assert!(scan.engine.snapshot().in_flight <= 7);
    }
    assert_eq!(scan.records.len(), 100);
}

#[test]
fn one_host_gets_a_burst_of_three_and_then_its_gap_whatever_the_rate() {
    let farm = Farm::new(servers(2), 27_015, 27_016);
    let host = farm.address(0).ip();
    let targets = List::of((28_001..=28_020).map(|port| SocketAddr::new(host, port)));
    let settings = Settings { host_gap: 350 * MS, ..settings() };
    let mut scan = Simulation::with_targets(settings, vec![a2s()], farm, targets);
    scan.run();
    assert_eq!(scan.records.len(), 20);
    let times: Vec<_> = scan.sent.iter().map(|(at, _)| at.as_millis()).collect();
    for (n, at) in times.iter().enumerate() {
        assert!(*at >= n.saturating_sub(2) as u128 * 350, "{times:?}");
    }
}

#[test]
fn many_hosts_are_paced_each_for_itself() {
    let farm = Farm::new(servers(50), 27_015, 27_016);
    let addresses = (0..6)
        .flat_map(|port| (0..50).map(move |host| (host, port)))
        .map(|(host, port)| SocketAddr::new(farm.address(host).ip(), if port == 0 { 27_015 } else { 28_000 + port }));
    let settings = Settings { host_gap: 350 * MS, ..settings() };
    let mut scan = Simulation::with_targets(settings, vec![a2s()], farm, List::of(addresses));
    scan.run();
    assert_eq!((scan.count(Status::Ok), scan.count(Status::Refused)), (50, 250));
    let mut by_host: HashMap<IpAddr, Vec<Duration>> = HashMap::new();
    scan.sent.iter().for_each(|(at, to)| by_host.entry(to.ip()).or_default().push(*at));
    for times in by_host.values() {
        // New targets wait for the budget; only the one answer to a challenge may come on top.
        for (n, at) in times.iter().enumerate() {
            assert!(*at >= (350 * MS) * (n as u32).saturating_sub(3), "{times:?}");
        }
    }
    assert!(scan.now - scan.began < Duration::from_secs(3));
}

#[test]
fn stopping_lets_flights_finish_and_starts_no_new_ones() {
    let rate = Rate { packets: Some(1_000.0), bits: None };
    let farm = FarmSettings { silent: Share::percent(20.0), link: lossy(0.0), ..servers(5_000) };
    let mut scan = Simulation::new(Settings { rate, ..settings() }, a2s(), farm);
    scan.run_until(1_000 * MS);
    let scheduled = scan.engine.snapshot().targets.scheduled;
    scan.engine.stop(scan.now);
    let stopped = scan.now;
    scan.run();
    assert!(scan.now - stopped <= 1_000 * MS);
    let ledger = scan.ledger();
    assert_eq!(ledger.targets.scheduled, scheduled);
    assert_eq!(ledger.input.not_started, 5_000 - scheduled);
    assert!(scan.count(Status::Ok) > 350 && scan.count(Status::Aborted) > 50);
    assert_eq!(scan.count(Status::Ok) + scan.count(Status::Aborted) + scan.count(Status::Timeout), scheduled as usize);
}

#[test]
fn stopping_twice_ends_everything_at_once() {
    let farm = FarmSettings { silent: Share::percent(100.0), ..servers(100) };
    let mut scan = Simulation::new(Settings { window: 60, ..settings() }, a2s(), farm);
    scan.turn();
    scan.engine.stop(scan.now);
    assert!(!scan.engine.is_done());
    scan.engine.stop(scan.now);
    assert!(scan.engine.is_done());
    scan.run();
    assert_eq!((scan.count(Status::Aborted), scan.ledger().input.not_started), (60, 40));
}

#[test]
fn while_new_targets_are_held_those_in_flight_go_on() {
    let mut scan = Simulation::new(Settings { window: 10, ..settings() }, a2s(), servers(30));
    scan.engine.hold_new(true);
    assert_eq!(scan.engine.poll_transmit(scan.now, &mut Vec::new()), None);
    scan.engine.hold_new(false);
    scan.turn();
    scan.engine.hold_new(true);
    scan.run_until(50 * MS);
    assert_eq!(scan.engine.snapshot().targets.finished, 10);
    scan.engine.hold_new(false);
    scan.run();
    assert_eq!(scan.count(Status::Ok), 30);
}

#[test]
fn a_refused_send_ends_its_target_with_the_systems_reason() {
    let mut scan = Simulation::new(settings(), a2s(), servers(3));
    let mut buffer = Vec::new();
    let to = scan.engine.poll_transmit(scan.now, &mut buffer).unwrap().to;
    scan.engine.handle_send_error(scan.now, to, libc::EPERM);
    scan.run();
    let record = scan.records.iter().find(|record| record.address == to).unwrap();
    assert_eq!(
        (record.status, record.error.as_str()),
        (Status::SendError, Some("Operation not permitted (os error 1)"))
    );
    assert_eq!((scan.count(Status::Ok), scan.ledger().datagrams.send_errors), (2, 1));
}

#[test]
fn a_send_for_which_there_was_no_room_is_repeated_and_costs_no_try() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { silent: Share::percent(100.0), ..servers(1) });
    let mut buffer = Vec::new();
    for _ in 0..5 {
        let to = scan.engine.poll_transmit(scan.now, &mut buffer).unwrap().to;
        scan.engine.handle_congestion(scan.now, to, libc::ENOBUFS);
        assert_eq!(scan.engine.poll_transmit(scan.now, &mut buffer), None, "not at once");
        scan.now += 10 * MS;
        scan.engine.handle_timeout(scan.now);
    }
    scan.run();
    let record = &scan.records[0];
    assert_eq!((record.status, record.sent, record.attempts), (Status::Timeout, 3, 3));
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.congested, datagrams.sent, datagrams.sent_first, datagrams.sent_retry), (5, 3, 1, 2));
}

#[test]
fn a_target_for_which_there_is_never_room_ends_with_the_systems_reason() {
    let mut scan = Simulation::new(settings(), a2s(), servers(1));
    let mut buffer = Vec::new();
    let mut tries = 0;
    while scan.engine.snapshot().targets.finished == 0 {
        if let Some(transmit) = scan.engine.poll_transmit(scan.now, &mut buffer) {
            scan.engine.handle_congestion(scan.now, transmit.to, libc::ENOBUFS);
            tries += 1;
        }
        scan.now = scan.engine.poll_timeout(scan.now).unwrap().max(scan.now);
        scan.engine.handle_timeout(scan.now);
    }
    scan.run();
    assert_eq!((scan.records[0].status, scan.records[0].sent), (Status::SendError, 1));
    assert!(tries > 100 && (scan.now - scan.began).as_secs() == 10, "{tries}");
}

#[test]
fn strangers_and_latecomers_are_counted_and_change_nothing() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { silent: Share::percent(100.0), ..servers(1) });
    let target = SocketAddr::from(([127, 0, 0, 2], 27_015));
    scan.turn();
    scan.inject(SocketAddr::from(([192, 0, 2, 1], 1)), b"hello");
    scan.inject(SocketAddr::new(target.ip(), 1), b"hello");
    scan.inject(target, b"\xFF\xFF\xFF\xFFD\0");
    scan.run();
    scan.inject(target, b"\xFF\xFF\xFF\xFFI\x11too late\0");
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.received, datagrams.matched, datagrams.late), (4, 0, 1));
    assert_eq!((datagrams.unsolicited, datagrams.other_port), (3, 1));
    assert_eq!(scan.count(Status::Timeout), 1);
    assert_eq!(scan.ledger().check(), []);
}

#[test]
fn a_ledger_that_loses_a_target_is_noticed() {
    let mut scan = Simulation::new(settings(), a2s(), servers(10));
    scan.run();
    let mut ledger = scan.ledger();
    ledger.rows.status = crate::ledger::StatusCounts::default();
    (0..9).for_each(|_| ledger.rows.status.add(Status::Ok));
    let broken: Vec<_> = ledger.check().iter().map(ToString::to_string).collect();
    assert!(broken.contains(&"finished = sum of all statuses: 10 is not 9".to_owned()), "{broken:?}");
}

/// The test protocol through the engine: tokens, pieces, listening, pausing, lists.
#[test]
fn every_part_of_the_seam_is_used_by_one_query() {
    let queries = QuerySet::of(Query::Info).with(Query::Rules);
    let link = LinkSettings { delay: 10 * MS, ..LinkSettings::default() };
    let mut scan = Simulation::new(
        Settings { queries, ..settings() },
        Plan::of(protocol("probe")),
        FarmSettings { link, ..servers(50) },
    );
    scan.run();
    assert_eq!(scan.count(Status::Ok), 50);
    for record in &scan.records {
        assert_eq!((record.sent, record.received, record.fragments), (3, 5, 3), "token, three pieces, list");
        assert_eq!(record.rules_declared, Some(2));
        assert!(record.name.as_str().is_some());
        let times: Vec<_> = scan.sent.iter().filter(|(_, to)| *to == record.address).map(|(at, _)| *at).collect();
        assert!(times[2] - times[1] >= probe::LISTEN + probe::PAUSE, "it listened, then paused: {times:?}");
    }
}

#[test]
fn pieces_survive_loss_reordering_and_repetition() {
    let link = LinkSettings {
        loss: Share::percent(15.0),
        duplicate: Share::percent(20.0),
        reorder: Share::percent(30.0),
        delay: 20 * MS,
    };
    let settings = Settings { retries: 6, budget: Duration::from_mins(5), ..settings() };
    let mut scan = Simulation::new(settings, Plan::of(protocol("probe")), FarmSettings { link, ..servers(500) });
    scan.run();
    assert!(scan.count(Status::Ok) >= 495, "{}", scan.count(Status::Ok));
}

#[test]
fn pieces_that_never_complete_or_make_no_message_are_told_apart() {
    let malformed = FarmSettings { malformed: Share::percent(100.0), ..servers(5) };
    let mut scan = Simulation::new(settings(), Plan::of(protocol("probe")), malformed);
    scan.run();
    assert_eq!(scan.count(Status::SplitCorrupt), 5);

    // The server is silent; one of three pieces comes from the test.
    let mut scan = Simulation::new(
        settings(),
        Plan::of(protocol("probe")),
        FarmSettings { silent: Share::percent(100.0), ..servers(1) },
    );
    let mut request = Vec::new();
    let to = scan.engine.poll_transmit(scan.now, &mut request).unwrap().to;
    let nonce = &request[1..9];
    scan.inject(to, &message(b'T', nonce, &[1; 4]));
    scan.inject(to, &message(b'F', nonce, b"\0\x03piece"));
    scan.inject(to, &message(b'F', nonce, b"\0\x03piece"));
    scan.inject(to, &message(b'F', &[0; 8], b"\x01\x03piece"));
    scan.run();
    assert_eq!((scan.records[0].status, scan.records[0].fragments), (Status::SplitIncomplete, 1));
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.duplicate, datagrams.unsolicited, datagrams.spoofed), (1, 1, 1));
}

#[test]
fn silence_on_one_query_goes_on_to_the_next_and_loses_nothing() {
    // The server is silent; its info and its rules come from the test.
    let queries = QuerySet::of(Query::Info).with(Query::Players).with(Query::Rules);
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(1) };
    let mut scan = Simulation::new(Settings { queries, ..patient() }, a2s(), silent);
    let mut request = Vec::new();
    let to = scan.engine.poll_transmit(scan.now, &mut request).unwrap().to;
    scan.inject(to, b"\xFF\xFF\xFF\xFFI\x11name\0map\0folder\0game\0\x0A\0\x01\x02\0dl\0\x011.0\0");
    scan.inject_after(Duration::from_millis(7_500), to, b"\xFF\xFF\xFF\xFFE\x01\0sv_gravity\x00800\0");
    scan.run();
    let record = &scan.records[0];
    assert_eq!(record.status, Status::Partial);
    assert_eq!((record.name.as_str(), record.query(Query::Info)), (Some("name"), QueryStatus::Ok));
    assert_eq!(record.query(Query::Players), QueryStatus::Failed(Status::Timeout));
    assert_eq!(record.rules.iter().collect::<Vec<_>>(), [(&b"sv_gravity"[..], &b"800"[..])]);
    assert_eq!(record.query(Query::Ping), QueryStatus::NotAsked);
    // Info once, players three times, rules once; behind them a challenge alone is asked for, once.
    assert_eq!(record.sent, 6);
}

#[test]
fn one_challenge_serves_all_queries_with_eight_datagrams() {
    let queries = QuerySet::of(Query::Info).with(Query::Players).with(Query::Rules);
    let farm = FarmSettings {
        challenge: Share::percent(100.0),
        split: Share::default(),
        bzip2: Share::default(),
        ..servers(50)
    };
    let mut scan = Simulation::new(Settings { queries, ..settings() }, a2s(), farm);
    scan.run();
    assert_eq!(scan.count(Status::Ok), 50);
    // Two servers have more players than fit in one datagram.
    let whole: Vec<_> = scan.records.iter().filter(|record| record.fragments == 0).collect();
    assert!(whole.len() > 40);
    assert!(whole.iter().all(|record| (record.sent, record.received) == (4, 4)));
}

#[test]
fn servers_of_every_kind_end_as_what_they_are() {
    let farm = FarmSettings { servers: 3_000, ..FarmSettings::of_every_kind() };
    let mut scan = Simulation::new(Settings { queries: QuerySet::ALL, ..patient() }, a2s(), farm);
    scan.run();
    assert_eq!(scan.records.len(), 3_000);
    let mut seen = std::collections::BTreeMap::new();
    for record in &scan.records {
        let IpAddr::V4(ip) = record.address.ip() else { panic!("the farm is IPv4") };
        let index = scan.farm().index_of(ip).unwrap();
        let persona = scan.farm().persona(index, record.address);
        let manner = match scan.farm().behaviour(index) {
            Behaviour::Silent => Status::Timeout,
            Behaviour::Refused => Status::Refused,
            Behaviour::Answers(Manner::Sound) => Status::Ok,
            Behaviour::Answers(Manner::Banned) => Status::Banned,
            Behaviour::Answers(Manner::Malformed) => Status::Malformed,
            // Without a challenge, some servers repeat one that nobody gave.
            Behaviour::Answers(Manner::ChallengeOnly) => Status::ChallengeOnly,
            Behaviour::Answers(Manner::ChallengeLoop) => Status::ChallengeLoop,
        };
        assert_eq!(record.status, manner, "server {index}, {:?}", persona.engine);
        *seen.entry((manner.as_str(), format!("{:?}", persona.engine))).or_insert(0) += 1;
        if manner != Status::Ok {
            continue;
        }
        assert_eq!(record.name.as_str().map(str::as_bytes), Some(persona.name().as_bytes()));
        assert_eq!(record.flags.contains(Flags::GOLDSOURCE_DUAL), persona.engine == Kind::GoldSourceDual);
        assert!(!record.flags.contains(Flags::MALFORMED) && !record.flags.contains(Flags::COUNT_MISMATCH));
        assert_eq!(record.player_list.len(), usize::from(persona.players()));
        let deaths = record.player_list.iter().all(|player| player.deaths.is_some());
        assert!(record.player_list.is_empty() || deaths == (persona.engine == Kind::TheShip));
        assert_eq!(record.rules.len() as u32, persona.rules());
        let gold_source = persona.engine.is_gold_source();
        assert_eq!(record.query(Query::Ping) == QueryStatus::Ok, gold_source);
        assert_eq!(record.ping_us.is_some(), gold_source);
        if gold_source {
            let mut times: Vec<_> =
                scan.sent.iter().filter(|(_, to)| *to == record.address).map(|(at, _)| *at).collect();
            times.sort_unstable();
            let in_a_second =
                |at: Duration| times.iter().filter(|t| **t >= at && **t < at + Duration::from_secs(1)).count();
            assert!(times.iter().all(|at| in_a_second(*at) <= 3), "server {index} was asked at {times:?}");
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
}

#[test]
fn servers_of_every_kind_survive_a_bad_link() {
    let link = LinkSettings {
        loss: Share::percent(5.0),
        duplicate: Share::percent(5.0),
        reorder: Share::percent(20.0),
        delay: Duration::from_millis(20),
    };
    let faults = [Status::Banned, Status::Malformed, Status::ChallengeOnly, Status::ChallengeLoop, Status::Refused];
    let farm = FarmSettings { servers: 1_000, link, ..FarmSettings::of_every_kind() };
    let mut scan = Simulation::new(Settings { queries: QuerySet::ALL, retries: 4, ..patient() }, a2s(), farm);
    scan.run();
    for record in &scan.records {
        let IpAddr::V4(ip) = record.address.ip() else { panic!("the farm is IPv4") };
        let behaviour = scan.farm().behaviour(scan.farm().index_of(ip).unwrap());
        let sound = behaviour == Behaviour::Answers(Manner::Sound);
        assert!(!sound || !faults.contains(&record.status), "{behaviour:?} became {}", record.status);
        assert!(!sound || record.query(Query::Info) != QueryStatus::Failed(Status::SplitCorrupt));
    }
    assert!(scan.count(Status::Ok) > 880, "{} of 1000", scan.count(Status::Ok));
}

#[test]
fn a_flood_of_unfinished_split_replies_neither_takes_memory_nor_starves_honest_servers() {
    // Every other server sends pieces without end: new ones each time, of replies that are never whole.
    let queries = QuerySet::of(Query::Info).with(Query::Rules);
    let farm =
        FarmSettings { split: Share::percent(100.0), silent: Share::percent(50.0), link: lossy(0.0), ..servers(400) };
    let mut scan = Simulation::new(Settings { queries, ..settings() }, a2s(), farm);
    let hostile: Vec<SocketAddr> = (0..400)
        .filter(|index| scan.farm().behaviour(*index) == Behaviour::Silent)
        .map(|index| scan.farm().address(index))
        .collect();
    assert!(hostile.len() > 150);
    let mut peak = 0;
    let mut number = 0_u32;
    while scan.turn() {
        for from in hostile.iter().cycle().skip(number as usize % hostile.len()).take(20) {
            number += 1;
            let mut piece = b"\xFE\xFF\xFF\xFF".to_vec();
            piece.extend((number % 7).to_le_bytes());
            piece.extend([250, (number % 250) as u8]);
            piece.resize(60_000, number as u8);
            scan.inject(*from, &piece);
        }
        peak = peak.max(scan.engine.held());
    }
    assert!(number > 5_000, "only {number} pieces were sent");
    // What all share, and a little for each.
    assert!(peak <= (64 << 20) + 400 * (32 << 10), "{peak} bytes were held");
    assert!(peak > 32 << 20, "the flood was none: {peak} bytes");
    let honest = scan.records.iter().filter(|record| !hostile.contains(&record.address));
    assert!(honest.clone().count() > 150);
    assert!(
        honest.clone().all(|record| record.status == Status::Ok),
        "{:?}",
        honest.map(|r| r.status).collect::<Vec<_>>()
    );
    let ledger = scan.ledger();
    assert_eq!(ledger.check(), []);
    assert!(ledger.datagrams.over_limit > 0);
    assert_eq!(scan.engine.held(), 0);
}

#[test]
fn those_who_hoard_pieces_cost_the_honest_nothing() {
    // Half of the servers send as much as they may before the others have answered.
    let queries = QuerySet::of(Query::Info).with(Query::Rules);
    let farm = FarmSettings {
        split: Share::percent(100.0),
        silent: Share::percent(50.0),
        link: LinkSettings { delay: 100 * MS, ..LinkSettings::default() },
        ..servers(1_000)
    };
    let mut scan = Simulation::new(Settings { queries, ..settings() }, a2s(), farm);
    let _ = scan.turn();
    let hostile = |scan: &Simulation, index| scan.farm().behaviour(index) == Behaviour::Silent;
    for index in 0..1_000 {
        if !hostile(&scan, index) {
            continue;
        }
        let from = scan.farm().address(index);
        for number in 0..50 {
            let mut piece = b"\xFE\xFF\xFF\xFF\x01\0\0\0".to_vec();
            piece.extend([250, number]);
            piece.resize(60_000, number);
            scan.inject(from, &piece);
        }
    }
    assert!(scan.engine.held() > 60 << 20, "{} bytes are held", scan.engine.held());
    scan.run();
    for record in &scan.records {
        let IpAddr::V4(ip) = record.address.ip() else { panic!("the farm is IPv4") };
        let index = scan.farm().index_of(ip).unwrap();
        let expected = if hostile(&scan, index) { Status::SplitIncomplete } else { Status::Ok };
        assert_eq!(record.status, expected, "server {index}");
    }
}

#[test]
fn replies_that_take_long_to_put_together_are_soon_refused() {
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(1) };
    let mut scan = Simulation::new(settings(), a2s(), silent);
    let _ = scan.turn();
    let from = scan.farm().address(0);
    // Each is complete, and corrupt.
    for number in 0..1_000_u32 {
        let mut piece = b"\xFE\xFF\xFF\xFF".to_vec();
        piece.extend((number | 1 << 31).to_le_bytes());
        piece.extend(b"\x01\0\x10\0\0\0\0\0\0\0BZh9");
        scan.inject(from, &piece);
    }
    scan.run();
    assert_eq!(scan.records[0].status, Status::SplitCorrupt);
    assert_eq!(scan.records[0].fragments, 12, "three for each of four queries");
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.over_limit, datagrams.undecodable), (988, 988));
}

#[test]
fn a_challenge_between_two_pieces_loses_neither() {
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(1) };
    let mut scan = Simulation::new(settings(), a2s(), silent);
    let _ = scan.turn();
    let from = scan.farm().address(0);
    scan.inject(from, b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02\x00\x20\0\xFF\xFF\xFF\xFFI\x11name\0map\0folder\0ga");
    scan.inject(from, b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04");
    scan.inject(from, b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02\x01\x20\0me\0\x0A\0\x01\x02\0dl\0\x011.0\0");
    scan.run();
    assert_eq!((scan.records[0].status, scan.records[0].game.as_str()), (Status::Ok, Some("game")));
}

#[test]
fn a_server_may_use_one_id_for_all_its_split_replies() {
    let queries = QuerySet::of(Query::Players).with(Query::Rules);
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(1) };
    let mut scan = Simulation::new(Settings { queries, ..settings() }, a2s(), silent);
    let _ = scan.turn();
    let from = scan.farm().address(0);
    let pieces: [&[u8]; 4] = [
        b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02\x00\x20\0\xFF\xFF\xFF\xFFD\x01\0na",
        b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02\x01\x20\0me\0\0\0\0\0\0\0\0\0",
        b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02\x00\x20\0\xFF\xFF\xFF\xFFE\x01\0sv_",
        b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02\x01\x20\0gravity\x00800\0",
    ];
    for piece in [pieces[0], pieces[1], pieces[0], pieces[1], pieces[2], pieces[3]] {
        scan.inject(from, piece);
    }
    scan.run();
    let record = &scan.records[0];
    assert_eq!((record.status, record.player_list.len(), record.rules.len()), (Status::Ok, 1, 1));
    assert_eq!(scan.ledger().datagrams.duplicate, 2);
}

#[test]
fn a_protocol_that_wants_time_between_datagrams_gets_it() {
    let mut scan = Simulation::new(settings(), Plan::of(protocol("slow-probe")), servers(3));
    scan.run();
    assert_eq!(scan.count(Status::Ok), 3);
    for record in &scan.records {
        let times: Vec<_> = scan.sent.iter().filter(|(_, to)| *to == record.address).map(|(at, _)| *at).collect();
        assert_eq!(times.len(), 2);
        assert!(times[1] - times[0] >= 1_000 * MS, "{times:?}");
    }
}

#[test]
fn a_retry_waits_as_long_as_its_protocol_wants_and_the_last_one_no_longer_than_the_time_out() {
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(1) };
    let mut scan =
        Simulation::new(Settings { timeout: 50 * MS, ..settings() }, Plan::of(protocol("slow-probe")), silent);
    scan.run();
    let times: Vec<_> = scan.sent.iter().map(|(at, _)| at.as_millis()).collect();
    // The third try waits for 200 ms, twice as long as the second would.
    assert_eq!((times, scan.now - scan.began), (vec![0, 1_000, 2_000], 2_200 * MS));
}

#[test]
fn no_time_out_is_too_short_for_a_protocol_that_wants_time_between_datagrams() {
    let farm = FarmSettings { silent: Share::percent(50.0), ..servers(40) };
    let settings = Settings { timeout: 50 * MS, queries: QuerySet::ALL, ..settings() };
    let mut scan = Simulation::new(settings, Plan::of(protocol("quake3")), farm);
    scan.run();
    assert!(scan.count(Status::Ok) > 10 && scan.count(Status::Timeout) > 10);
    for record in &scan.records {
        let times: Vec<_> = scan.sent.iter().filter(|(_, to)| *to == record.address).map(|(at, _)| *at).collect();
        // Two requests that are answered; or three tries of the first, and one of the second.
        assert_eq!(times.len(), if record.status == Status::Ok { 2 } else { 4 });
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1_000 * MS), "{times:?}");
        // The ping is the info's round trip.
        assert_eq!(record.ping_us, record.rtt_us);
        for query in Query::ALL {
            let expected = QueryStatus::Failed(Status::Timeout);
            assert_eq!(record.query(query), if record.status == Status::Ok { QueryStatus::Ok } else { expected });
        }
    }
}

#[test]
fn a_protocol_that_wants_time_between_datagrams_gets_it_for_each_host() {
    let farm = Farm::new(servers(2), 27_015, 27_016);
    // Two servers that answer, 20 closed ports beside each, and a host that says nothing.
    let hosts = [farm.address(0).ip(), farm.address(1).ip(), IpAddr::from([192, 0, 2, 1])];
    let addresses = (27_015..=27_035).flat_map(|port| hosts.map(|host| SocketAddr::new(host, port)));
    let settings = Settings { queries: QuerySet::ALL, host_gap: 350 * MS, ..patient() };
    let plans = vec![Plan::of(protocol("quake3"))];
    let mut scan = Simulation::with_targets(settings, plans, farm, List::of(addresses));
    scan.run();
    assert_eq!((scan.count(Status::Ok), scan.count(Status::Refused), scan.count(Status::Timeout)), (2, 40, 21));
    for host in hosts {
        let times: Vec<_> = scan.sent.iter().filter(|(_, to)| to.ip() == host).map(|(at, _)| *at).collect();
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1_000 * MS), "{host}: {times:?}");
        // There is something to send nearly all the time.
        assert!(*times.last().unwrap() < (1_100 * MS) * (times.len() as u32 + 8), "{host}: {times:?}");
    }
    let silent = scan.records.iter().filter(|record| record.status == Status::Timeout);
    assert!(silent.into_iter().all(|record| record.sent == 4), "retries come before new targets, and none is left out");
}

#[test]
fn players_and_rules_that_are_asked_at_once_fail_at_once_and_the_info_stays() {
    let settings = Settings { queries: QuerySet::ALL, ..settings() };
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(2) };
    let mut scan = Simulation::new(settings, Plan::of(protocol("fivem")), silent);
    assert!(scan.turn());
    for index in [0, 1] {
        scan.inject(scan.farm().address(index), b"\xFF\xFF\xFF\xFFinfoResponse\n\\hostname\\x\\clients\\3");
    }
    scan.inject_after(1_500 * MS, scan.farm().address(1), b"\xFF\xFF\xFF\xFFnonsense");
    scan.run();
    assert_eq!(scan.count(Status::Partial), 2);
    for record in &scan.records {
        let reason = if record.address == scan.farm().address(0) { Status::Timeout } else { Status::Malformed };
        assert_eq!(record.query(Query::Info), QueryStatus::Ok);
        for query in [Query::Players, Query::Rules] {
            assert_eq!(record.query(query), QueryStatus::Failed(reason));
        }
        assert_eq!((record.name.as_str(), record.players_best), (Some("x"), Some(3)));
    }
}

#[test]
fn a_plan_goes_from_leg_to_leg_until_one_is_answered() {
    // Nobody listens on 27016; the second leg speaks the wrong protocol; the third is right.
    let plan = legs(&[("a2s", Some(27_016)), ("slow-probe", Some(27_020)), ("a2s", None)]);
    let mut scan = Simulation::new(settings(), plan, servers(20));
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Ok)), (20, 20));
    for record in &scan.records {
        assert_eq!((record.address.port(), record.protocol), (27_015, "a2s"));
        assert!(record.sent >= 3);
    }
    assert_eq!(scan.ledger().targets.scheduled, 20);
}

#[test]
fn a_plan_tries_the_ports_that_follow_from_the_targets_own() {
    let rules = [PortRule::Offset(51_800), PortRule::Offset(1), PortRule::Own, PortRule::Fixed(27_015)];
    let legs = rules.map(|port| Leg { protocol: protocol("a2s"), port }).into();
    let plan = Plan::new(legs);
    let farm = Farm::new(servers(4), 27_015, 27_016);
    // 27014 + 51800 is no port; then 27014 + 1. 20000 + 51800 is none either; 20001, 20000, and 27015 at last.
    let targets =
        [(0, 27_014), (1, 20_000), (2, 27_015)].map(|(index, port)| SocketAddr::new(farm.address(index).ip(), port));
    let mut scan = Simulation::with_targets(settings(), vec![plan], farm, List::of(targets));
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Ok)), (3, 3));
    let asked = |target: SocketAddr| {
        let ports = scan.sent.iter().filter(|(_, to)| to.ip() == target.ip()).map(|(_, to)| to.port());
        let mut ports: Vec<_> = ports.collect();
        ports.dedup();
        ports
    };
    assert_eq!(targets.map(asked), [vec![27_015], vec![20_001, 20_000, 27_015], vec![27_016, 27_015]]);
    for record in &scan.records {
        assert_eq!(record.address.port(), 27_015, "the port that answered");
        let own = targets.iter().find(|target| target.ip() == record.address.ip()).unwrap();
        let shown = (own.port() != 27_015).then(|| own.to_string());
        assert_eq!(record.target.as_deref(), shown.as_deref(), "the address that was named, where it is another");
    }
}

#[test]
fn a_silent_candidate_is_given_up_after_its_tries_and_the_next_is_asked() {
    let legs = [PortRule::Fixed(27_020), PortRule::Own].map(|port| Leg { protocol: protocol("a2s"), port }).into();
    let farm = Farm::new(servers(1), 27_015, 27_016);
    // The host answers nothing at all on any port, so both candidates take their three tries of 1, 2 and 4 s.
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 27_015));
    let plans = vec![Plan::new(legs)];
    let mut scan = Simulation::with_targets(settings(), plans, farm, List::of([elsewhere]));
    scan.run();
    let sent: Vec<_> = scan.sent.iter().map(|(at, to)| (at.as_millis(), to.port())).collect();
    let ports = [27_020, 27_020, 27_020, 27_015, 27_015, 27_015];
    assert_eq!(sent, [0, 1_000, 3_000, 7_000, 8_000, 10_000].into_iter().zip(ports).collect::<Vec<_>>());
    assert_eq!((scan.records.len(), scan.count(Status::Timeout)), (1, 1));
}

#[test]
fn an_address_that_another_target_is_asking_is_waited_for() {
    let rules = [PortRule::Offset(1), PortRule::Own];
    let legs = rules.map(|port| Leg { protocol: protocol("a2s"), port }).into();
    let link = LinkSettings { delay: 40 * MS, ..LinkSettings::default() };
    let farm = Farm::new(FarmSettings { link, ..servers(1) }, 27_015, 27_016);
    let ip = farm.address(0).ip();
    let targets = [27_014, 27_015].map(|port| SocketAddr::new(ip, port));
    let plans = vec![Plan::new(legs)];
    let mut scan = Simulation::with_targets(settings(), plans, farm, List::of(targets));
    scan.run();
    // The second is refused at 27016 while the first is asking 27015, which is its own.
    assert_eq!((scan.records.len(), scan.count(Status::Ok)), (2, 2));
    assert!(scan.records.iter().all(|record| record.address.port() == 27_015));
    assert_eq!(scan.sent.iter().filter(|(_, to)| to.port() == 27_016).count(), 1);
}

#[test]
fn two_targets_that_wait_for_each_others_address_both_end() {
    let plan = |ports: [u16; 2]| legs(&ports.map(|port| ("a2s", Some(port))));
    let target = |plan| Target { address: SocketAddr::from(([192, 0, 2, 1], 1)), plan, origin: 0 };
    let targets = List(vec![target(0), target(1)].into_iter());
    let farm = Farm::new(servers(1), 27_015, 27_016);
    let mut scan = Simulation::with_targets(settings(), vec![plan([5, 6]), plan([6, 5])], farm, targets);
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Timeout)), (2, 2));
    // 7 s of silence on the first leg, 10 s of waiting, and then one has gone: 7 s on the second leg of the other.
    assert!(scan.now - scan.began < 30_000 * MS, "{:?}", scan.now - scan.began);
}

#[test]
fn whoever_waits_for_an_address_when_the_scan_stops_is_aborted() {
    let plan = |ports: [u16; 2]| legs(&ports.map(|port| ("a2s", Some(port))));
    let target = |plan| Target { address: SocketAddr::from(([192, 0, 2, 1], 1)), plan, origin: 0 };
    let targets = List(vec![target(0), target(1)].into_iter());
    let farm = Farm::new(servers(1), 27_015, 27_016);
    let mut scan = Simulation::with_targets(settings(), vec![plan([5, 6]), plan([6, 5])], farm, targets);
    scan.run_until(8_000 * MS);
    scan.engine.stop(scan.now);
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Aborted)), (2, 2));
}

#[test]
fn a_plan_without_a_port_for_a_target_asks_its_own() {
    let legs = vec![Leg { protocol: protocol("a2s"), port: PortRule::Offset(60_000) }];
    let mut scan = Simulation::new(settings(), Plan::new(legs), servers(3));
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Ok)), (3, 3));
}

/// Every protocol that is looked for, each tried once in each of three rounds.
fn whatever() -> Plan {
    let legs = in_auto().map(|protocol| Leg { protocol, port: PortRule::Own }).collect();
    Plan { rounds: 3, ..Plan::new(legs) }
}

#[test]
fn servers_of_every_protocol_are_found_as_what_they_are() {
    for loss in [0.0, 5.0] {
        let link = LinkSettings { loss: Share::percent(loss), delay: 20 * MS, ..LinkSettings::default() };
        let farm = FarmSettings { speaks: Speaks::OneEach, link, ..servers(2_000) };
        let settings = Settings { queries: QuerySet::ALL, budget: 60_000 * MS, ..settings() };
        let mut scan = Simulation::new(settings, whatever(), farm);
        scan.run();
        let found = |record: &&ServerRecord| matches!(record.status, Status::Ok | Status::Partial);
        let found: Vec<_> = scan.records.iter().filter(found).collect();
        assert!(loss > 0.0 || found.len() == 2_000, "{}", found.len());
        assert!(found.len() > 1_980, "{} found at a loss of {loss} %", found.len());
        for record in &found {
            let IpAddr::V4(ip) = record.address.ip() else { panic!("IPv4") };
            let spoken = scan.farm().index_of(ip).and_then(|index| scan.farm().protocol(index));
            assert_eq!(Some(record.protocol), spoken.map(|protocol| protocol.spec().name));
        }
        assert!(scan.records.iter().all(found_or_nameless));
        assert_eq!((scan.records.len(), scan.ledger().check()), (2_000, vec![]));
    }
}

fn found_or_nameless(record: &ServerRecord) -> bool {
    record.protocol.is_empty() != matches!(record.status, Status::Ok | Status::Partial)
}

#[test]
fn a_reply_that_comes_while_another_protocol_is_tried_is_an_answer() {
    let link = LinkSettings { delay: 750 * MS, ..LinkSettings::default() };
    let farm = FarmSettings { link, speaks: Speaks::Only(protocol("a2s")), ..servers(50) };
    let settings = Settings { retries: 0, budget: 60_000 * MS, timeout: 1_400 * MS, ..settings() };
    let mut scan = Simulation::new(settings, Plan { rounds: 1, ..whatever() }, farm);
    scan.run();
    // The challenge is late; the answer to it is late again, and comes within the one try that is left.
    let found = scan.records.iter().filter(|record| record.protocol == "a2s").count();
    assert!(found >= 10 && found == scan.count(Status::Ok), "{found}: those that want no challenge, at the least");
    assert_eq!(scan.ledger().check(), vec![]);
}

#[test]
fn a_scan_that_is_stopped_says_so_of_targets_with_legs_left() {
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(20) };
    let mut scan = Simulation::new(settings(), whatever(), silent);
    scan.run_until(1_500 * MS);
    scan.engine.stop(scan.now);
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Aborted)), (20, 20));
}

#[test]
fn a_silent_host_is_asked_in_every_protocol_once_a_round_and_a_closed_port_once() {
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(1) };
    // Without the oldest, which has three forms of asking for the same.
    let mut plan = whatever();
    assert_eq!(plan.legs.pop().map(|leg| leg.protocol), Some(protocol("hl1")));
    let protocols = plan.legs.len() as u64;
    let mut scan = Simulation::new(settings(), plan, silent);
    scan.run();
    let waits = [1_000, 2_000, 4_000].map(|wait| wait * protocols);
    let rounds: Vec<u64> = scan.sent.iter().map(|(at, _)| at.as_millis() as u64).collect();
    let expected = |round: usize, number: u64| waits[..round].iter().sum::<u64>() + (1_000 << round) * number;
    let expected: Vec<u64> =
        (0..3).flat_map(|round| (0..protocols).map(move |number| expected(round, number))).collect();
    assert_eq!(rounds, expected);
    assert_eq!((scan.count(Status::Timeout), scan.records[0].protocol), (1, ""));
    assert_eq!(u64::from(scan.records[0].attempts), 1 + 2 * protocols);

    let refused = FarmSettings { refused: Share::percent(100.0), ..servers(1) };
    let mut scan = Simulation::new(settings(), whatever(), refused);
    scan.run();
    assert_eq!((scan.count(Status::Refused), scan.sent.len()), (1, 1));
}

#[test]
fn a_plan_whose_legs_all_fail_ends_in_one_row() {
    let plan = legs(&[("a2s", None), ("probe", None)]);
    let mut scan = Simulation::new(settings(), plan, FarmSettings { silent: Share::percent(100.0), ..servers(5) });
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Timeout)), (5, 5));
    assert!(scan.records.iter().all(|record| record.protocol.is_empty() && record.sent == 6));
}

#[test]
fn a_second_plan_for_an_address_in_flight_waits_for_its_turn() {
    let farm = Farm::new(servers(10), 27_015, 27_016);
    let both = (0..10).flat_map(|index| [0, 1].map(|plan| (index, plan)));
    let targets: Vec<_> = both.map(|(index, plan)| Target { address: farm.address(index), plan, origin: 0 }).collect();
    let plans = vec![a2s(), Plan::of(protocol("probe"))];
    let mut scan = Simulation::with_targets(settings(), plans, farm, List(targets.into_iter()));
    scan.run();
    assert_eq!(scan.count(Status::Ok), 20);
    let spoken = |name| scan.records.iter().filter(|record| record.protocol == name).count();
    assert_eq!((spoken("a2s"), spoken("probe")), (10, 10));
}
