//! Scans that are held or stopped.

use super::*;

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
fn a_scan_that_is_stopped_says_so_of_targets_with_legs_left() {
    let silent = FarmSettings { silent: Share::percent(100.0), ..servers(20) };
    let mut scan = Simulation::new(settings(), whatever(), silent);
    scan.run_until(1_500 * MS);
    scan.engine.stop(scan.now);
    scan.run();
    assert_eq!((scan.records.len(), scan.count(Status::Aborted)), (20, 20));
}
