//! What becomes of a target and of a datagram: statuses and the ledger.

use std::collections::BTreeMap;

use super::*;
use crate::ledger::StatusCounts;

#[test]
fn servers_of_every_kind_end_as_what_they_are() {
    let farm = FarmSettings { servers: 3_000, ..FarmSettings::of_every_kind() };
    let mut scan = Simulation::new(Settings { queries: QuerySet::ALL, ..patient() }, a2s(), farm);
    scan.run();
    assert_eq!(scan.records.len(), 3_000);
    let mut seen = BTreeMap::new();
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
        assert_eq!(record.flags.contains(Flags::GOLDSOURCE_DUAL), persona.engine == GameEngine::GoldSourceDual);
        assert!(!record.flags.contains(Flags::MALFORMED) && !record.flags.contains(Flags::COUNT_MISMATCH));
        assert_eq!(record.player_list.len(), usize::from(persona.players()));
        let deaths = record.player_list.iter().all(|player| player.deaths.is_some());
        assert!(record.player_list.is_empty() || deaths == (persona.engine == GameEngine::TheShip));
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
    ledger.rows.status = StatusCounts::default();
    (0..9).for_each(|_| ledger.rows.status.add(Status::Ok));
    let broken: Vec<_> = ledger.check().iter().map(ToString::to_string).collect();
    assert!(broken.contains(&"finished = sum of all statuses: 10 is not 9".to_owned()), "{broken:?}");
}
