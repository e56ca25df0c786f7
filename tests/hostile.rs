//! What hostile servers may send: every prefix of every kind of reply, and thousands of seeded mutations of them, through
//! everything that reads bytes from the network. Nothing panics, nothing loops, and nothing takes more memory than it may.
//!
//! `FRAGSCAN_MUTATIONS` sets how many mutations there are.

use std::collections::BTreeMap;
use std::env;
use std::net::SocketAddr;

use fragscan::internals::{GameEngine, Manner, Persona, Replies, Rng, mix, replay, serve};
use fragscan::protocol::{self, AnyProtocol, AnySession, Ask, Dissection, Found, Join, Next, Step};
use fragscan::record::{QuerySet, ServerRecord};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

#[test]
fn no_bytes_from_the_network_panic_or_take_more_memory_than_they_may() {
    let replies = replies();
    let mut kinds: BTreeMap<_, Vec<(AnyProtocol, &Vec<u8>)>> = BTreeMap::new();
    for (protocol, reply) in &replies {
        let mut notes = Dissection::default();
        let _ = protocol.dissect(reply, &[], &mut notes);
        kinds.entry((protocol.spec().name, notes.title)).or_default().push((*protocol, reply));
    }
    assert!(kinds.len() >= 12, "not every kind of reply is there: {:?}", kinds.keys());
    let mut worst = 0;
    // The shortest two of each kind: longer ones hold more of the same.
    for (protocol, reply) in kinds.values_mut().flat_map(|all| {
        all.sort_by_key(|(_, reply)| reply.len());
        all.iter().filter(|(_, reply)| reply.len() > 8).take(2)
    }) {
        for length in 0..=reply.len() {
            worst = worst.max(read(*protocol, &reply[..length], reply));
        }
    }
    let wanted = env::var("FRAGSCAN_MUTATIONS").map_or(20_000, |text| text.parse().expect("a number"));
    for seed in 0..wanted {
        let mut rng = Rng::new(seed);
        let (protocol, reply) = &replies[rng.below(replies.len() as u64) as usize];
        let other = &replies[rng.below(replies.len() as u64) as usize].1;
        let mutant = mutate(reply, other, &mut rng);
        let peak = read(*protocol, &mutant, reply);
        assert!(
            peak <= MOST_BYTES,
            "{peak} bytes for mutation {seed}, a {} message: {mutant:x?}",
            protocol.spec().name
        );
        worst = worst.max(peak);
    }
    assert!(worst <= MOST_BYTES, "a prefix took {worst} bytes");
    // One MiB joined, copied once into a record; the decompressor has four of its own.
    assert!(worst > 1 << 10, "nothing was measured");
}

/// Puts `data` to everything that reads bytes of `protocol`, alone and beside a sound `reply`, and says how many bytes
/// that took at once.
fn read(protocol: AnyProtocol, data: &[u8], reply: &[u8]) -> usize {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let ask = Ask::offline();
    let mut session = AnySession::default();
    let mut found = Found::default();
    for parts in [&[data][..], &[reply, data], &[data, reply]] {
        if protocol.receive(&mut session, &ask, data, &mut found) == Ok(Step::Part) {
            let mut whole = Vec::new();
            if protocol.join(&mut session, parts, &mut whole) == Join::Whole {
                let _ = protocol.receive(&mut session, &ask, &whole, &mut found);
                protocol.decode(&[&whole], &ask, &mut ServerRecord::new());
            }
        }
        let mut record = ServerRecord::new();
        protocol.decode(parts, &ask, &mut record);
        let listed = record.player_list.iter().count() + record.rules.iter().count();
        assert!(listed <= parts.iter().map(|part| part.len()).sum(), "more entries than bytes");
    }
    let mut notes = Dissection::default();
    let _ = protocol.dissect(data, &[reply], &mut notes);
    drop(notes);
    let mut served = Replies::default();
    serve(protocol, &Persona::default(), data, &mut served);
    replay(protocol, data, &[reply, data], &mut served);
    replay(protocol, reply, &[reply, data], &mut served);
    ALLOCATOR.peak_usage().saturating_sub(before)
}

/// `reply` with one to four things wrong.
fn mutate(reply: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = reply.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let count = rng.below(9) as usize;
        match rng.below(8) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            2 if at < bytes.len() => bytes[at] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][rng.below(6) as usize],
            3 => bytes.splice(at..at, rng.next_u64().to_le_bytes().into_iter().take(count)).for_each(drop),
            4 => {
                let end = (at + count).min(bytes.len());
                bytes.drain(at..end).for_each(drop);
            }
            5 => bytes.extend_from_slice(&other[..at.min(other.len())]),
            6 => {
                let again = bytes[at..(at + count).min(bytes.len())].to_vec();
                bytes.splice(at..at, again).for_each(drop);
            }
            _ if at + 4 <= bytes.len() => {
                let number = [0, 1, u32::MAX, i32::MAX as u32, 0x8000_0000, 1 << 20][rng.below(6) as usize];
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            _ => {}
        }
    }
    bytes
}

/// Replies of every kind, as simulated servers send them, and what their pieces make.
fn replies() -> Vec<(AnyProtocol, Vec<u8>)> {
    // No simulated server hides mods in its rules.
    let a2s = protocol::by_name("a2s").expect("it is there");
    let mut all = vec![(a2s, HIDDEN_MODS.to_vec()); 8];
    for protocol in protocol::all() {
        for index in 0..40_u32 {
            let persona = Persona {
                seed: mix(u64::from(index)),
                index,
                port: 27_015,
                challenge: (index % 2 == 0).then_some([1, 2, 3, 4]),
                manner: if index % 9 == 8 { Manner::Banned } else { Manner::Sound },
                engine: GameEngine::ALL[index as usize % GameEngine::ALL.len()],
                split: index % 3 == 0,
                bzip2: index % 4 == 0,
                alone: true,
            };
            all.extend(talk(protocol, &persona).into_iter().map(|reply| (protocol, reply)));
        }
    }
    all
}

/// Everything that a server sends to somebody who asks it everything.
fn talk(protocol: AnyProtocol, persona: &Persona) -> Vec<Vec<u8>> {
    let queries = protocol.asked(QuerySet::ALL);
    let ask = Ask { queries, address: SocketAddr::from(([192, 0, 2, 1], 27_015)), ..Ask::offline() };
    let mut session = AnySession::default();
    let mut said = Vec::new();
    let mut next = Next::Send;
    for _ in 0..16 {
        if let Next::Finish | Next::Fail(_) = next {
            break;
        }
        let mut request = Vec::new();
        protocol.request(&session, &ask, &mut request);
        let mut replies = Replies::default();
        serve(protocol, persona, &request, &mut replies);
        let all: Vec<&[u8]> = replies.iter().collect();
        let mut answered = None;
        for (number, reply) in all.iter().enumerate() {
            said.push(reply.to_vec());
            let mut step = protocol.receive(&mut session, &ask, reply, &mut Found::default());
            let mut whole = Vec::new();
            if step == Ok(Step::Part) && protocol.join(&mut session, &all[..=number], &mut whole) == Join::Whole {
                step = protocol.receive(&mut session, &ask, &whole, &mut Found::default());
                said.push(whole);
            }
            if let Ok(Step::Answer(then) | Step::Move(then)) = step {
                answered = Some(then);
            }
        }
        next = match answered {
            Some(Next::Listen(_) | Next::Stay | Next::Skip(_)) | None => protocol.silence(&mut session, &ask),
            Some(then) => then,
        };
    }
    said
}

/// Most that one datagram and what comes of it may take: a reply of the greatest size, as it was joined and as it is kept,
/// and the tables of the decompressor.
const MOST_BYTES: usize = 12 << 20;
/// Rules of Arma 3 in two pages: two DLC, a mod from the Workshop, a DLC of another maker, a local mod and a signature.
const HIDDEN_MODS: &[u8] = b"\xFF\xFF\xFF\xFFE\x02\0\
    \x01\x02\0\x03\x01\x02\x03\x01\x02\x9b\x01\x02aaaabbbb\x03cccc\x04\xCE\xB4\xC5\x93\x0DCom\0\
    \x02\x02\0munityBasedddd\x13\x2C\xE7\x0F\x01\x02eeee\x01\x01\x01\x02\x04mine\x01\x01\x02a3\0";
