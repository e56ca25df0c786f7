//! What the system says: ICMP errors, and sends that are refused or find no room.

use super::*;

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
