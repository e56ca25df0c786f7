//! What every protocol of the registry must do, checked for each that is listed.

use std::collections::HashSet;
use std::net::SocketAddr;

use super::{
    AnyProtocol, AnySession, Ask, Dissection, Found, GameEngine, Join, Manner, Next, Persona, Replies, Step, all,
    by_name, master, of_lists, of_servers,
};
use crate::record::{COLUMNS, Flags, Query, QuerySet, QueryStatus, ServerRecord, Value};
use crate::rng::{AddressHasher, Rng, mix};

fn ask(protocol: AnyProtocol) -> Ask<'static> {
    Ask {
        queries: protocol.asked(QuerySet::ALL),
        address: SocketAddr::from(([192, 0, 2, 1], 27_015)),
        parameters: "",
        key: AddressHasher::new(5),
    }
}

fn personas() -> impl Iterator<Item = Persona> {
    (0..64).map(|index| Persona {
        seed: mix(u64::from(index)),
        index,
        port: 27_015,
        challenge: (index % 2 == 0).then(|| index.to_le_bytes()),
        manner: match index % 16 {
            5 => Manner::Banned,
            7 => Manner::Malformed,
            9 => Manner::ChallengeLoop,
            11 => Manner::ChallengeOnly,
            _ => Manner::Sound,
        },
        engine: GameEngine::ALL[index as usize % GameEngine::ALL.len()],
        split: index % 3 == 0,
        bzip2: index % 4 == 0,
        alone: index % 5 == 0,
    })
}

/// What was said in one query.
#[derive(Default)]
struct Conversation {
    requests: Vec<Vec<u8>>,
    replies: Vec<Vec<u8>>,
    answers: Vec<Vec<u8>>,
    end: Option<Next>,
    found: Found,
}

/// Plays both sides, over a link that loses nothing.
fn converse(protocol: AnyProtocol, persona: &Persona) -> Conversation {
    let ask = ask(protocol);
    let mut session = AnySession::default();
    let mut talk = Conversation::default();
    let mut next = Next::Send;
    for _ in 0..32 {
        match next {
            Next::Finish | Next::Fail(_) => {
                talk.end = Some(next);
                return talk;
            }
            Next::Listen(_) | Next::Skip(_) | Next::Stay => {
                next = protocol.silence(&mut session, &ask);
                continue;
            }
            Next::Send | Next::SendOnce | Next::SendAfter(_) => {}
        }
        let mut request = Vec::new();
        protocol.request(&session, &ask, &mut request);
        let mut replies = Replies::default();
        protocol.serve(persona, &request, &mut replies);
        talk.requests.push(request);
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut answered = None;
        for reply in replies.iter() {
            talk.replies.push(reply.to_vec());
            let mut whole = reply.to_vec();
            let mut step = protocol.receive(&mut session, &ask, reply, &mut talk.found);
            if step == Ok(Step::Part) {
                parts.push(reply);
                whole.clear();
                if protocol.join(&mut session, &parts, &mut whole) == Join::Whole {
                    step = protocol.receive(&mut session, &ask, &whole, &mut talk.found);
                }
            }
            match step {
                Ok(Step::Answer(then)) => {
                    talk.answers.push(whole);
                    answered = Some(then).filter(|then| *then != Next::Stay).or(answered);
                }
                Ok(Step::Move(then)) => answered = Some(then),
                _ => {}
            }
        }
        next = answered.unwrap_or_else(|| protocol.silence(&mut session, &ask));
    }
    talk
}

fn decode(protocol: AnyProtocol, answers: &[Vec<u8>]) -> ServerRecord {
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let mut record = ServerRecord::new();
    protocol.decode(&answers, &ask(protocol), &mut record);
    record
}

#[test]
fn names_are_unique_words_and_every_alias_finds_its_protocol() {
    let mut seen = HashSet::new();
    for protocol in all() {
        let spec = protocol.spec();
        assert!(spec.default_port > 0);
        for name in [spec.name].iter().chain(spec.aliases) {
            assert!(seen.insert(*name), "{name} is used twice");
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
            assert_eq!(by_name(name), Some(protocol));
        }
    }
    assert_eq!(by_name("no-such-protocol"), None);
}

#[test]
fn every_protocol_understands_its_own_servers() {
    for protocol in of_servers() {
        let (mut asked, mut without_lists) = (0, 0);
        for persona in personas().filter(|persona| persona.manner == Manner::Sound) {
            let talk = converse(protocol, &persona);
            assert_eq!(talk.end, Some(Next::Finish), "{protocol:?}, server {}", persona.index);
            let record = decode(protocol, &talk.answers);
            assert_eq!(record.query(Query::Info), QueryStatus::Ok, "{protocol:?}");
            let name = persona.name();
            assert_eq!(record.name.as_str().map(str::as_bytes), Some(name.as_bytes()), "{protocol:?}");
            let may_be = Flags::GOLDSOURCE_DUAL | Flags::BOTS_FILL | Flags::MAX_PLAYERS_FAKE;
            assert!(may_be.contains(record.flags), "{protocol:?}: {}", record.flags);
            asked += 1;
            // Lists may be switched off, as they are on some servers of FiveM; then both are.
            let lists = QuerySet::of(Query::Players).with(Query::Rules).intersection(protocol.queries());
            let is_ok = |query: &Query| record.query(*query) == QueryStatus::Ok;
            let answered: QuerySet = Query::ALL.into_iter().filter(is_ok).fold(QuerySet::NONE, QuerySet::with);
            if answered.intersection(lists).is_empty() {
                without_lists += u32::from(!lists.is_empty());
            } else {
                assert_eq!(answered.intersection(lists), lists, "{protocol:?}, server {}", persona.index);
            }
            if record.player_list.is_present() {
                assert_eq!(record.player_list.len(), usize::from(persona.players()), "{protocol:?}");
            }
            // Protocols add rules of their own, and some have room for ours in a value only.
            for (name, value) in
                (0..persona.rules()).map(|number| persona.rule(number)).filter(|_| record.rules.is_present())
            {
                let (name, value) = (name.as_bytes(), value.as_bytes());
                let text = [name, b" ", value].concat();
                let is_there =
                    |(n, v): (&[u8], &[u8])| (n, v) == (name, value) || memchr::memmem::find(v, &text).is_some();
                assert!(record.rules.iter().any(is_there), "{protocol:?}, server {}: no {name:?}", persona.index);
            }
        }
        assert!(without_lists <= asked / 2, "{protocol:?}: {without_lists} of {asked} without lists");
    }
}

#[test]
fn every_list_is_had_as_a_whole_from_its_own_list_server() {
    for protocol in of_lists() {
        assert!(by_name(protocol.lists().unwrap()).is_some_and(|listed| listed.lists().is_none()), "{protocol:?}");
        assert_eq!(protocol.check_parameters(""), Ok(()), "{protocol:?}");
        assert!(protocol.check_parameters("no-such=parameter").is_err(), "{protocol:?}");
        for persona in personas().filter(|persona| persona.manner != Manner::Malformed) {
            let talk = converse(protocol, &persona);
            assert_eq!(talk.end, Some(Next::Finish), "{protocol:?}");
            let mut found: Vec<_> = std::iter::from_fn({
                let mut found = talk.found;
                move || found.pop()
            })
            .collect();
            found.sort_unstable();
            let listed = master::neighbours(&persona).into_iter().map(SocketAddr::from);
            assert!(found.into_iter().eq(listed), "{protocol:?}: other servers");
        }
    }
}

#[test]
fn a_server_that_answers_nonsense_is_never_taken_for_a_good_one() {
    for protocol in of_servers() {
        for persona in personas().filter(|persona| persona.manner == Manner::Malformed) {
            let talk = converse(protocol, &persona);
            assert!(talk.end.is_some(), "{protocol:?} does not end");
            assert_ne!(decode(protocol, &talk.answers).query(Query::Info), QueryStatus::Ok, "{protocol:?}");
        }
    }
}

#[test]
fn only_declared_columns_are_filled() {
    let engine_columns = ["info_status", "players_status", "rules_status", "ping_status"];
    let shown = |value: Value<'_>| format!("{value:?}");
    for protocol in of_servers() {
        let mut filled = HashSet::new();
        for persona in personas() {
            let record = decode(protocol, &converse(protocol, &persona).answers);
            // A variant may find that the server is one of another.
            let blank = ServerRecord { protocol: record.protocol, ..ServerRecord::new() };
            filled.extend(
                COLUMNS
                    .iter()
                    .filter(|c| shown((c.value)(&record)) != shown((c.value)(&blank)))
                    .map(|c| c.name)
                    .filter(|name| !engine_columns.contains(name)),
            );
        }
        let declared: HashSet<_> = protocol.spec().columns.iter().copied().collect();
        assert!(filled.is_subset(&declared), "{protocol:?} fills {:?}", filled.difference(&declared));
        assert!(declared.iter().all(|name| COLUMNS.iter().any(|c| c.name == *name)), "{protocol:?}: no such column");
        assert!(!filled.is_empty());
    }
}

#[test]
fn every_prefix_and_thousands_of_bit_flips_are_survived_within_bounds() {
    for protocol in all() {
        let seed = 0xF1F0;
        let mut rng = Rng::new(seed);
        for persona in personas().take(16) {
            let talk = converse(protocol, &persona);
            // Lists talk much, and say the same in each message.
            let of_each = |messages| <[Vec<u8>]>::iter(messages).take(8);
            for whole in of_each(&talk.replies).chain(of_each(&talk.answers)).chain(of_each(&talk.requests)) {
                // Every prefix of short messages; `tests/hostile.rs` takes the time for every one of long ones.
                for length in (0..=whole.len()).step_by(whole.len() / 300 + 1) {
                    attack(protocol, &persona, &whole[..length]);
                }
                for _ in 0..100 {
                    let mut bent = whole.clone();
                    for _ in 0..=rng.below(3) {
                        let bit = rng.below(bent.len() as u64 * 8);
                        bent[(bit / 8) as usize] ^= 1 << (bit % 8);
                    }
                    attack(protocol, &persona, &bent);
                }
            }
        }
    }
}

/// Puts `data` to everything that takes bytes from the network, in a fresh session and in one that got a reply before.
fn attack(protocol: AnyProtocol, persona: &Persona, data: &[u8]) {
    let ask = ask(protocol);
    let mut found = Found::default();
    let mut session = AnySession::default();
    for _ in 0..2 {
        let _ = protocol.receive(&mut session, &ask, data, &mut found);
        let mut whole = Vec::new();
        let _ = protocol.join(&mut session, &[data, data], &mut whole);
        assert!(whole.capacity() <= MOST_JOINED, "{protocol:?} joined {} bytes into {}", data.len(), whole.capacity());
        let _ = protocol.silence(&mut session, &ask);
        let mut request = Vec::new();
        protocol.request(&session, &ask, &mut request);
        assert!(request.len() <= 1400, "{protocol:?} asks with {} bytes", request.len());
    }
    let mut notes = Dissection::default();
    let _ = protocol.dissect(data, &[data], &mut notes);
    assert!(
        notes.fields.iter().all(|field| field.at + field.size <= data.len()),
        "{protocol:?} dissects what is not there"
    );
    let record = decode(protocol, &[data.to_vec(), data.to_vec()]);
    assert!(record.player_list.capacity() <= data.len() * 12 + 4096, "{protocol:?}: players of more than came");
    assert!(record.rules.capacity() <= data.len() * 12 + 4096, "{protocol:?}: rules of more than came");
    let texts = COLUMNS.iter().filter_map(|c| match (c.value)(&record) {
        Value::Text(text) => Some(text.capacity()),
        _ => None,
    });
    // A control character takes three bytes, and so does an invalid one; capacities double.
    assert!(texts.sum::<usize>() <= data.len() * 6 + 512, "{protocol:?} kept more than came");
    let mut replies = Replies::default();
    protocol.serve(persona, data, &mut replies);
}

#[test]
fn silence_ends_every_query_soon() {
    for protocol in all() {
        let mut session = AnySession::default();
        let steps = (0..100)
            .take_while(|_| !matches!(protocol.silence(&mut session, &ask(protocol)), Next::Finish | Next::Fail(_)));
        assert!(steps.count() < 20, "{protocol:?}");
    }
}

#[test]
fn a_server_that_says_something_new_each_time_is_left_soon() {
    for protocol in of_servers() {
        let talk = converse(protocol, &personas().next().unwrap());
        for template in &talk.replies {
            let mut session = AnySession::default();
            let mut rng = Rng::new(11);
            let sends = (0..1_000)
                .filter(|_| {
                    let mut reply = template.clone();
                    let last = reply.len().saturating_sub(4);
                    reply[last..].copy_from_slice(&rng.next_u64().to_le_bytes()[..template.len() - last]);
                    matches!(
                        protocol.receive(&mut session, &ask(protocol), &reply, &mut Found::default()),
                        Ok(Step::Move(Next::Send) | Step::Answer(Next::Send))
                    )
                })
                .count();
            assert!(sends < 64, "{protocol:?} would send {sends} datagrams");
        }
    }
}

#[test]
fn requests_of_other_protocols_are_not_answered() {
    for one in all() {
        let persona = personas().next().unwrap();
        for request in &converse(one, &persona).requests {
            for other in all().filter(|other| std::mem::discriminant(&other.0) != std::mem::discriminant(&one.0)) {
                let mut replies = Replies::default();
                other.serve(&persona, request, &mut replies);
                assert!(replies.is_empty(), "{other:?} answers a request of {one:?}");
            }
        }
    }
}

const MOST_JOINED: usize = 16 << 20;
