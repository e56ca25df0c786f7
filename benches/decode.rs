//! From the bytes of an answer to a record: what the writer thread does for each server that answered.
//!
//! The answer is one as Counter-Strike servers send it, with all extra fields but those of a spectator server. The
//! record is used again and again, as in a scan, so that what is measured holds no allocation.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};

use fragscan::internals::Info;
use fragscan::protocol::{self, AnySession, Ask, Join};
use fragscan::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord};
use fragscan::rng::AddressHasher;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    info(&mut criterion);
    lists(&mut criterion);
    split(&mut criterion);
    status(&mut criterion);
    full_stat(&mut criterion);
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

/// Players and rules, as large as they are on full servers.
fn lists(criterion: &mut Criterion) {
    let protocol = protocol::by_name("a2s").expect("it is in the registry");
    let ask = Ask::offline();
    let mut record = ServerRecord::new();
    let (players, rules) = (players(64), rules(200));
    protocol.decode(&[&players, &rules], &ask, &mut record);
    assert_eq!((record.player_list.len(), record.rules.len(), record.flags), (64, 200, Flags::NONE));

    let mut group = criterion.benchmark_group("a2s lists");
    for (name, answer) in [("64 players", &players), ("200 rules", &rules)] {
        group.throughput(Throughput::Bytes(answer.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                record.clear();
                protocol.decode(&[black_box(answer)], &ask, &mut record);
                black_box(&record);
            });
        });
    }
    group.finish();
}

/// Rules in pieces of 1,248 bytes, put together as the last one comes.
fn split(criterion: &mut Criterion) {
    let protocol = protocol::by_name("a2s").expect("it is in the registry");
    let rules = rules(200);
    let total = rules.len().div_ceil(1248) as u8;
    let pieces: Vec<Vec<u8>> = (0_u8..)
        .zip(rules.chunks(1248))
        .map(|(number, payload)| [b"\xFE\xFF\xFF\xFF\x01\0\0\0", &[total, number, 0xE0, 4][..], payload].concat())
        .collect();
    let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    let mut whole = Vec::new();
    assert_eq!(protocol.join(&mut AnySession::default(), &pieces, &mut whole), Join::Whole);
    assert_eq!(whole, rules);
    let mut group = criterion.benchmark_group("a2s split");
    group.throughput(Throughput::Bytes(rules.len() as u64));
    group.bench_function("join", |bencher| {
        bencher.iter(|| {
            whole.clear();
            protocol.join(&mut AnySession::default(), black_box(&pieces), &mut whole)
        });
    });
    group.finish();
}

/// Variables and players of a Quake III Arena server, 2 KB.
fn status(criterion: &mut Criterion) {
    let protocol = protocol::by_name("quake3").expect("it is in the registry");
    let ask = Ask::offline();
    let mut record = ServerRecord::new();
    let mut answer = b"\xFF\xFF\xFF\xFFstatusResponse\n".to_vec();
    for (key, value) in
        [("sv_hostname", "^1Real ^7Arena"), ("version", "ioq3 1.36 linux-x86_64"), ("mapname", "q3dm17")]
    {
        answer.extend_from_slice(format!("\\{key}\\{value}").as_bytes());
    }
    for number in 0..54 {
        answer.extend_from_slice(format!("\\g_some_setting{number}\\{number}").as_bytes());
    }
    for number in 0..32 {
        answer.extend_from_slice(
            format!("\n{number} {} \"^{}[clan] Player {number}\"", number * 7, number % 8).as_bytes(),
        );
    }
    protocol.decode(&[&answer], &ask, &mut record);
    assert_eq!((record.player_list.len(), record.rules.len(), record.flags), (32, 57, Flags::NONE));
    assert_eq!((record.name.as_str(), answer.len() / 100), (Some("Real Arena"), 20));

    let mut group = criterion.benchmark_group("quake3 status");
    group.throughput(Throughput::Bytes(answer.len() as u64));
    group.bench_function("decode", |bencher| {
        bencher.iter(|| {
            record.clear();
            protocol.decode(&[black_box(&answer)], &ask, &mut record);
            black_box(&record);
        });
    });
    group.finish();
}

/// Everything that a Minecraft server with 60 players says, in one datagram.
fn full_stat(criterion: &mut Criterion) {
    let protocol = protocol::by_name("minecraft").expect("it is in the registry");
    let ask = Ask { queries: protocol.asked(QuerySet::ALL), ..Ask::offline() };
    let mut answer = b"\0\x01\x02\x03\x04splitnum\0\x80\0hostname\0".to_vec();
    answer.extend_from_slice("§aA §lMinecraft§r §7Server".as_bytes());
    answer.extend_from_slice(
        b"\0gametype\0SMP\0game_id\0MINECRAFT\0version\x001.21.4\0plugins\0Paper on 1.21.4: WorldEdit 7.3.10; \
          LuckPerms 5.4.145; EssentialsX 2.20.1\0map\0world\0numplayers\x0060\0maxplayers\x00100\0hostport\x0025565\0\
          hostip\x00192.0.2.1\0\0\x01player_\0\0",
    );
    (0..60).for_each(|number| answer.extend_from_slice(format!("Player_number_{number}\0").as_bytes()));
    answer.push(0);
    let mut record = ServerRecord::new();
    protocol.decode(&[&answer], &ask, &mut record);
    assert_eq!((record.name.as_str(), record.flags), (Some("A Minecraft Server"), Flags::NONE));
    assert_eq!((record.player_list.len(), record.rules.len()), (60, 10));

    let mut group = criterion.benchmark_group("minecraft");
    group.throughput(Throughput::Bytes(answer.len() as u64));
    group.bench_function("full stat, 60 players", |bencher| {
        bencher.iter(|| {
            record.clear();
            protocol.decode(&[black_box(&answer)], &ask, &mut record);
            black_box(&record);
        });
    });
    group.finish();
}

fn players(count: u8) -> Vec<u8> {
    let mut answer = b"\xFF\xFF\xFF\xFFD".to_vec();
    answer.push(count);
    for number in 0..count {
        answer.push(0);
        answer.extend_from_slice(format!("[clan] Player {number}\0").as_bytes());
        answer.extend_from_slice(&i32::from(number).to_le_bytes());
        answer.extend_from_slice(&(f32::from(number) * 60.5).to_le_bytes());
    }
    answer
}

fn rules(count: u16) -> Vec<u8> {
    let mut answer = b"\xFF\xFF\xFF\xFFE".to_vec();
    answer.extend_from_slice(&count.to_le_bytes());
    for number in 0..count {
        answer.extend_from_slice(format!("sourcemod_plugin_{number}_version\0{number}.7.3\0").as_bytes());
    }
    answer
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
