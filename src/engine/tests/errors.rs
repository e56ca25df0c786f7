//! What the system says: ICMP errors, and sends that are refused or find no room.

use std::io;

use super::*;

#[test]
fn a_storm_of_icmp_errors_ends_only_those_that_it_is_about() {
    let farm = FarmSettings { refused: Share::percent(50.0), ..servers(4_000) };
    let mut scan = Simulation::new(settings(), a2s(), farm);
    scan.turn();
    for n in 0..10_000_u32 {
        let stranger = SocketAddr::from(((0xC000_0200 + n).to_be_bytes(), 27_015));
        scan.world().report_after(Duration::ZERO, stranger, stranger.ip(), Icmp::PortUnreachable);
        scan.world().report_after(Duration::ZERO, stranger, stranger.ip(), Icmp::HostUnreachable);
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
fn a_host_that_a_router_cannot_reach_is_given_its_tries_and_then_named_so() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { silent: Share::percent(100.0), ..servers(2) });
    scan.turn();
    let to = scan.sent[0].1;
    scan.world().report_after(20 * MS, to, IpAddr::from([192, 0, 2, 1]), Icmp::HostUnreachable);
    scan.run();
    let record = scan.records.iter().find(|record| record.address == to).unwrap();
    assert_eq!((record.status, record.icmp, record.sent), (Status::Unreachable, Some("host_unreachable"), 3));
    assert_eq!(scan.count(Status::Timeout), 1);
}

#[test]
fn a_refused_send_ends_its_target_with_the_systems_reason() {
    let mut scan = Simulation::new(settings(), a2s(), servers(3));
    let refused = scan.farm().address(1);
    scan.world().system = Box::new(move |_, _, to| if to == refused { errno(libc::EPERM) } else { Ok(()) });
    scan.run();
    let record = scan.records.iter().find(|record| record.address == refused).unwrap();
    assert_eq!(
        (record.status, record.error.as_str()),
        (Status::SendError, Some("Operation not permitted (os error 1)"))
    );
    assert_eq!((scan.count(Status::Ok), scan.ledger().datagrams.send_errors), (2, 1));
    // What never left is in no count of what was sent.
    let left: u32 = scan.records.iter().map(|record| record.sent).sum();
    assert_eq!((record.sent, u64::from(left)), (0, scan.ledger().datagrams.sent));
}

#[test]
fn a_closed_port_is_closed_if_the_host_itself_says_so() {
    let silent = || FarmSettings { silent: Share::percent(100.0), ..servers(2) };
    let mut scan = Simulation::new(settings(), a2s(), silent());
    scan.turn();
    let [one, two] = [scan.sent[0].1, scan.sent[1].1];
    let router = IpAddr::from([192, 0, 2, 1]);
    // A host on the way may say anything of a port that it does not have.
    scan.world().report_after(20 * MS, one, router, Icmp::PortUnreachable);
    scan.world().report_after(20 * MS, two, router, Icmp::HostUnreachable);
    scan.world().report_after(30 * MS, two, two.ip(), Icmp::PortUnreachable);
    scan.run();
    let of = |address| {
        let record = scan.records.iter().find(|record| record.address == address).unwrap();
        (record.status, record.query(Query::Info), record.icmp, record.sent)
    };
    let noted = (Status::Unreachable, QueryStatus::Failed(Status::Unreachable), Some("port_unreachable"), 3);
    assert_eq!(of(one), noted);
    let ended = (Status::Refused, QueryStatus::Failed(Status::Refused), Some("port_unreachable"), 1);
    assert_eq!(of(two), ended);
}

#[test]
fn a_closed_port_of_one_leg_is_not_in_the_row_of_another() {
    let legs = [PortRule::Fixed(27_020), PortRule::Own].map(|port| Leg { protocol: protocol("a2s"), port }).into();
    let mut scan =
        Simulation::new(settings(), Plan::new(legs), FarmSettings { silent: Share::percent(100.0), ..servers(1) });
    scan.turn();
    let first = scan.sent[0].1;
    scan.world().report_after(20 * MS, first, first.ip(), Icmp::PortUnreachable);
    scan.run();
    let record = &scan.records[0];
    assert_eq!((record.address.port(), record.status, record.icmp), (27_015, Status::Timeout, None));
}

#[test]
fn a_target_for_whose_address_there_is_no_lane_ends_with_the_systems_reason() {
    let farm = Farm::new(servers(1), 27_015, 27_016);
    let nowhere = (1..=1_000).map(|port| SocketAddr::from(([0xFD, 0, 0, 0, 0, 0, 0, 1], port)));
    let targets = List::of(nowhere.chain([farm.address(0)]));
    let mut scan = Simulation::with_targets(settings(), vec![a2s()], farm, targets);
    scan.run();
    assert_eq!((scan.count(Status::SendError), scan.count(Status::Ok)), (1_000, 1));
    assert!(scan.finished.iter().all(|end| end.status == Status::Ok || end.os_error == Some(libc::EAFNOSUPPORT)));
}

#[test]
fn an_error_of_an_old_datagram_does_not_hit_the_next_flight_to_its_address() {
    let address = SocketAddr::from(([192, 0, 2, 1], 27_015));
    let targets = List((0..2).map(|plan| Target { address, plan, origin: 0 }).collect::<Vec<_>>().into_iter());
    let farm = Farm::new(servers(1), 27_015, 27_016);
    let mut scan = Simulation::with_targets(settings(), vec![a2s(), a2s()], farm, targets);
    let next = |scan: &mut Simulation| scan.engine.poll_transmit(scan.now, &mut Vec::new());
    let old = next(&mut scan).unwrap();
    assert_eq!(next(&mut scan), None, "the second waits for the first");
    scan.engine.handle_icmp(scan.now, address, None, Icmp::PortUnreachable);
    scan.now += 1_000 * MS;
    let new = next(&mut scan).unwrap();
    assert_eq!((old.to, new.to), (address, address));
    scan.engine.handle_congestion(scan.now, old.slot, old.to, libc::ENOBUFS);
    scan.engine.handle_send_error(scan.now, Some(old.slot), old.to, libc::EPERM);
    let snapshot = scan.engine.snapshot();
    assert_eq!((snapshot.targets.finished, snapshot.in_flight, snapshot.datagrams.sent), (1, 1, 2));
    scan.engine.handle_send_error(scan.now, Some(new.slot), new.to, libc::EPERM);
    scan.run();
    assert_eq!((scan.count(Status::Refused), scan.count(Status::SendError)), (1, 1));
}

#[test]
fn a_send_for_which_there_was_no_room_is_repeated_and_costs_no_try() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { silent: Share::percent(100.0), ..servers(1) });
    let mut tries = 0;
    scan.world().system = Box::new(move |_, _, _| {
        tries += 1;
        if tries <= 5 { errno(libc::ENOBUFS) } else { Ok(()) }
    });
    scan.run();
    let times: Vec<_> = scan.sent.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(times, [50, 1_050, 3_050], "not at once");
    let record = &scan.records[0];
    assert_eq!((record.status, record.sent, record.attempts), (Status::Timeout, 3, 3));
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.congested, datagrams.sent, datagrams.sent_first, datagrams.sent_retry), (5, 3, 1, 2));
}

#[test]
fn a_target_for_which_there_is_never_room_ends_with_the_systems_reason() {
    let mut scan = Simulation::new(settings(), a2s(), servers(1));
    scan.world().system = Box::new(|_, _, _| errno(libc::ENOBUFS));
    scan.run();
    assert_eq!((scan.records[0].status, scan.records[0].sent), (Status::SendError, 0));
    assert_eq!(scan.finished[0].os_error, Some(libc::ENOBUFS));
    assert_eq!(scan.ledger().datagrams.sent, 0, "nothing has left");
    let congested = scan.ledger().datagrams.congested;
    assert!(congested > 100 && (scan.now - scan.began).as_secs() == 10, "{congested}");
}

fn errno(number: i32) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(number))
}
