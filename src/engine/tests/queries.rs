//! Several queries to one server: what is asked after what, and what one that fails leaves of the others.

use super::*;

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
    // Info once, players three times, rules once; after them a challenge alone is asked for, once.
    assert_eq!(record.sent, 6);
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
