//! Plans of several legs: ports and protocols that are tried in turn.

use super::*;

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
fn two_plans_of_one_address_have_their_turns_one_after_the_other() {
    // Nobody listens there, so every turn takes all its tries, of 1, 2 and 4 s.
    let silent = [27_020, 27_021].map(|port| SocketAddr::from(([192, 0, 2, 1], port)));
    let plans = ["a2s", "quake3", "hl1"].map(|name| Plan::of(protocol(name)));
    let targets = silent.into_iter().flat_map(|address| (0..3).map(move |plan| Target { address, plan, origin: 0 }));
    for (host_gap, window) in [(0, 10_000), (350, 10_000), (350, 1), (5_000, 2)] {
        let settings = Settings { host_gap: Duration::from_millis(host_gap), window, ..settings() };
        let targets = List(targets.clone().collect::<Vec<_>>().into_iter());
        let farm = Farm::new(servers(1), 27_015, 27_016);
        let mut scan = Simulation::with_targets(settings, plans.to_vec(), farm, targets);
        scan.run();
        assert_eq!((scan.records.len(), scan.count(Status::Timeout)), (6, 6), "{host_gap} ms, {window}");
        let mut rows: Vec<_> = scan.records.iter().map(|record| (record.address, record.protocol)).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 6, "{host_gap} ms, {window}");
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
fn a_plan_whose_legs_all_fail_ends_in_one_row() {
    let plan = legs(&[("a2s", None), ("probe", None)]);
    let mut scan = Simulation::new(settings(), plan, FarmSettings { silent: Share::percent(100.0), ..servers(5) });
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Timeout)), (5, 5));
    assert!(scan.records.iter().all(|record| record.protocol.is_empty() && record.sent == 6));
}

#[test]
fn a_plan_without_a_port_for_a_target_asks_its_own() {
    let legs = vec![Leg { protocol: protocol("a2s"), port: PortRule::Offset(60_000) }];
    let mut scan = Simulation::new(settings(), Plan::new(legs), servers(3));
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Ok)), (3, 3));
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
