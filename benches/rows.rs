//! From a record to a line: what the writer thread does for each server once it is decoded, and which game it is.
//!
//! The record is full, so that this is the dearest row; its texts need quotes, as many names do. Lines are taken
//! whenever 64 KiB wait, as an output does, without writing them anywhere.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};

use fragscan::internals::identify;
use fragscan::output::{Format, Look};
use fragscan::record::{COLUMNS, Flags, Letter, Query, QueryStatus, ServerRecord, Status, Value};

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let full = full_record();
    let mut silent = ServerRecord::new();
    (silent.attempts, silent.sent) = (3, 3);
    rows(&mut criterion, "csv row", Format::Csv, &[("full", &full), ("timeout", &silent)]);
    rows(&mut criterion, "ndjson row", Format::Ndjson, &[("full", &full), ("timeout", &silent)]);
    game_keys(&mut criterion, &[("full", &full), ("timeout", &silent)]);
    criterion.final_summary();
}

fn game_keys(criterion: &mut Criterion, records: &[(&str, &ServerRecord)]) {
    let mut group = criterion.benchmark_group("game key");
    group.throughput(Throughput::Elements(1));
    for (name, record) in records {
        group.bench_function(*name, |bencher| bencher.iter(|| black_box(identify(black_box(record)))));
    }
    group.finish();
}

fn rows(criterion: &mut Criterion, name: &str, format: Format, records: &[(&str, &ServerRecord)]) {
    let mut writer = format.writer(None, Look::default());
    let mut buffer = Vec::new();
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    for (name, record) in records {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                writer.row(black_box(record));
                if writer.len() >= ENOUGH {
                    writer.take(&mut buffer);
                    black_box(&buffer);
                }
            });
        });
    }
    group.finish();
}

/// A record with a value in every column.
fn full_record() -> ServerRecord {
    let mut record = ServerRecord::new();
    record.address = "203.0.113.207:27015".parse().expect("it is an address");
    record.protocol = "a2s";
    record.target = Some("203.0.113.0/24:27015-27030".into());
    record.source = Some("servers.txt".into());
    record.status = Status::Ok;
    record.icmp = Some("host_unreachable");
    record.queries = [QueryStatus::Ok; Query::COUNT];
    record.sent_at_us = Some(1_795_991_646_088_609);
    record.rtt_us = Some(23_417);
    record.ping_us = Some(23_001);
    record.attempts = 2;
    record.sent = 9;
    record.received = 11;
    record.fragments = 4;
    record.game_key = Some("cs2");
    record.app_id = Some(730);
    record.game_id = Some(730);
    record.players = Some(18);
    record.max_players = Some(32);
    record.bots = Some(2);
    record.players_best = Some(18);
    record.max_players_best = Some(32);
    record.players_basis = Some("reported");
    record.server_type = Some(Letter::Known("dedicated"));
    record.os = Some(Letter::Known("linux"));
    record.password = Some(false);
    record.vac = Some(true);
    record.protocol_version = Some(17);
    record.game_port = Some(27_015);
    record.steam_id = Some(85_568_392_923_441_372);
    record.spectator_port = Some(27_020);
    record.players_declared = Some(18);
    record.rules_declared = Some(213);
    record.flags = Flags::RTT_AMBIGUOUS;
    for (text, bytes) in [
        (&mut record.name, "[EU] \u{412}\u{44B}\u{436}\u{438}\u{432}\u{430}\u{43D}\u{438}\u{435} \"PRO\", 128 tick #7"),
        (&mut record.map, "de_inferno"),
        (&mut record.game, "Counter-Strike: Global Offensive"),
        (&mut record.folder, "csgo"),
        (&mut record.version, "1.38.8.1"),
        (&mut record.spectator_name, "SourceTV"),
        (&mut record.keywords, "128tick,community,competitive,empty,eu,retake,secure"),
        (&mut record.mod_url, "https://example.com/mod"),
        (&mut record.error, "none"),
    ] {
        text.set(bytes.as_bytes());
    }
    for column in COLUMNS {
        assert!(!matches!((column.value)(&record), Value::Absent), "{} is absent", column.name);
    }
    record
}

/// Bytes that are worth a write.
const ENOUGH: usize = 64 << 10;
