//! From the bytes of an answer to a record: what the writer thread does for each server that answered.
//!
//! The answer is one as Counter-Strike servers send it, with all extra fields but those of a spectator server. The
//! record is used again and again, as in a scan, so that what is measured holds no allocation.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};

use fragscan::protocol::a2s::Info;
use fragscan::protocol::{self, Ask};
use fragscan::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord};
use fragscan::rng::AddressHasher;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    info(&mut criterion);
    criterion.final_summary();
}

fn info(criterion: &mut Criterion) {
    let answer = answer();
    let protocol = protocol::by_name("a2s").expect("it is in the registry");
    let ask = Ask {
        queries: QuerySet::of(Query::Info),
        address: "192.0.2.1:27015".parse().expect("it is an address"),
        parameters: "",
        key: AddressHasher::new(1),
    };
    let mut record = ServerRecord::new();
    protocol.decode(&[&answer], &ask, &mut record);
    assert_eq!((record.query(Query::Info), record.flags), (QueryStatus::Ok, Flags::NONE));
    assert_eq!((record.name.as_str(), record.game_id), (Some(NAME), Some(730)));

    let mut group = criterion.benchmark_group("a2s info");
    group.throughput(Throughput::Elements(1));
    group.bench_function("parse", |bencher| {
        let body = &answer[HEADER.len()..];
        bencher.iter(|| Info::parse(black_box(body)));
    });
    group.bench_function("decode", |bencher| {
        bencher.iter(|| {
            record.clear();
            protocol.decode(&[black_box(&answer)], &ask, &mut record);
            black_box(&record);
        });
    });
    group.finish();
}

/// 200 bytes, which is what many servers send.
fn answer() -> Vec<u8> {
    let answer = [
        HEADER,
        &[17],
        NAME.as_bytes(),
        b"\0de_inferno\0csgo\0Counter-Strike: Global Offensive\0",
        &730_u16.to_le_bytes(),
        &[18, 32, 2], // players, slots, bots
        b"dl\0\x01",  // dedicated, Linux, no password, VAC
        b"1.38.8.1\0",
        &[0xB1], // port, Steam id, keywords, game id
        &27_015_u16.to_le_bytes(),
        &85_568_392_923_441_372_u64.to_le_bytes(),
        b"128tick,community,competitive,empty,eu,retake,secure,valve_ds\0",
        &730_u64.to_le_bytes(),
    ]
    .concat();
    assert_eq!(answer.len(), 200);
    answer
}

const HEADER: &[u8] = b"\xFF\xFF\xFF\xFFI";
const NAME: &str = "[EU] Community Retakes | 128 tick | no lag #7";
