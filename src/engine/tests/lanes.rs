//! Lanes on which the system takes no more for a while.

use std::io;

use super::*;

/// Nothing leaves on lane 1 before `until`.
fn blocking(scan: &mut Simulation, lanes: usize, until: Duration) {
    scan.network().set_lanes(lanes);
    scan.world().system =
        Box::new(
            move |at, lane, _| {
                if lane == lanes - 1 && at < until { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            },
        );
}

/// When datagrams left, by lane.
fn times(scan: &mut Simulation) -> [Vec<Duration>; 2] {
    let sent = std::mem::take(&mut scan.sent);
    [0, 1].map(|lane| sent.iter().filter(|(_, to)| scan.world().lane(*to) == lane).map(|(at, _)| *at).collect())
}

fn count(times: &[Duration], range: std::ops::Range<Duration>) -> usize {
    times.iter().filter(|at| range.contains(at)).count()
}

#[test]
fn a_lane_that_blocks_holds_up_no_other_and_its_end_is_no_burst() {
    let rate = Rate { packets: Some(1_000.0), bits: None };
    let farm = FarmSettings {
        challenge: Share::default(),
        link: LinkSettings { delay: 10 * MS, ..lossy(0.0) },
        ..servers(2_000)
    };
    let mut scan = Simulation::new(Settings { rate, ..settings() }, a2s(), farm);
    blocking(&mut scan, 2, 500 * MS);
    scan.run();
    assert_eq!(scan.count(Status::Ok), 2_000);
    let datagrams = scan.ledger().datagrams;
    assert_eq!((datagrams.sent_retry, datagrams.send_errors), (0, 0), "it costs no try");
    assert!(scan.records.iter().all(|record| record.sent == 1));
    let [flowing, blocked] = times(&mut scan);
    // Half of the datagrams that may leave belong to each.
    let meanwhile = count(&flowing, Duration::ZERO..500 * MS);
    assert!((230..=270).contains(&meanwhile), "{meanwhile}");
    assert_eq!(count(&blocked, Duration::ZERO..500 * MS), 0);
    // A batch had been charged before; everything else keeps to the pace.
    let at_once = count(&blocked, 500 * MS..502 * MS);
    assert!((64..=67).contains(&at_once), "{at_once}");
    let both = [&flowing[..], &blocked].concat();
    let (first, then) = (count(&both, 500 * MS..600 * MS), count(&both, 600 * MS..1_600 * MS));
    assert!(first <= 106 + 64 && (990..=1_010).contains(&then), "{first} and {then}");
    // It is tried again each millisecond.
    assert!((400..=501).contains(&datagrams.blocked), "{}", datagrams.blocked);
    assert_eq!(datagrams.congested, 0, "a datagram without room is asked for once");
}

#[test]
fn a_lane_that_blocks_holds_up_no_other_of_a_scan_without_a_limit() {
    let farm = FarmSettings { challenge: Share::default(), ..servers(4_000) };
    let mut scan = Simulation::new(settings(), a2s(), farm);
    blocking(&mut scan, 2, 200 * MS);
    scan.run();
    assert_eq!((scan.count(Status::Ok), scan.ledger().datagrams.sent_retry), (4_000, 0));
    let datagrams = scan.ledger().datagrams;
    assert!((190..=201).contains(&datagrams.blocked), "{}", datagrams.blocked);
    let [flowing, blocked] = times(&mut scan);
    assert_eq!(count(&flowing, Duration::ZERO..200 * MS), 2_000);
    assert_eq!(count(&blocked, 200 * MS..203 * MS), 2_000, "all at once, when it may");
}

#[test]
fn while_the_only_lane_blocks_nothing_is_begun_beyond_a_batch() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { challenge: Share::default(), ..servers(1_000) });
    blocking(&mut scan, 1, 300 * MS);
    scan.run_until(299 * MS);
    let snapshot = scan.engine.snapshot();
    assert_eq!((snapshot.targets.scheduled, snapshot.datagrams.congested, scan.sent.len()), (64, 0, 0));
    scan.run();
    assert_eq!((scan.count(Status::Ok), scan.ledger().datagrams.sent_retry), (1_000, 0));
    assert!(scan.sent.iter().all(|(at, _)| (300 * MS..310 * MS).contains(at)));
}

#[test]
fn datagrams_that_are_taken_one_by_one_leave_in_order() {
    let mut scan = Simulation::new(settings(), a2s(), FarmSettings { challenge: Share::default(), ..servers(500) });
    let mut last = None;
    // One in each millisecond.
    scan.world().system = Box::new(move |at, _, _| {
        let now = Some(at);
        if last.replace(at) == now { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    scan.run();
    assert_eq!((scan.count(Status::Ok), scan.ledger().datagrams.sent_retry), (500, 0));
    let times: Vec<_> = scan.sent.iter().map(|(at, _)| at.as_millis()).collect();
    assert!(times.iter().copied().eq(0..500), "{times:?}");
}
