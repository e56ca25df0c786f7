//! Replies in pieces: put together, told apart, and kept within bounds.

use super::*;

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

/// A message of the test protocol's server.
fn message(kind: u8, nonce: &[u8], body: &[u8]) -> Vec<u8> {
    [&[kind], nonce, body].concat()
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
