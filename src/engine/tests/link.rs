//! Loss, repetition, reordering and silence: what is sent again, and when it is given up.

use std::collections::HashSet;

use super::*;

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
