//! How much is in flight, and how fast it leaves: in all, to one host, in one protocol.

use std::collections::HashMap;

use super::*;

/// Most datagrams that left in any window of `length`.
fn busiest(sent: &[(Duration, SocketAddr)], length: Duration) -> usize {
    (0..sent.len()).map(|i| sent[i..].partition_point(|(at, _)| *at < sent[i].0 + length)).max().unwrap_or(0)
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
