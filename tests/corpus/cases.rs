//! Servers for a scan over real sockets: those whose point is what is asked, and how often.

use std::collections::HashMap;
use std::path::Path;

use super::descriptions;
use super::expected::Expected;
use super::files::{self, CAPTURED, Fixture};
use super::peers;
use super::servers::{self, Reply};
use super::text::bytes;

/// A server to be.
pub(crate) struct Case {
    pub(crate) group: Group,
    pub(crate) name: String,
    /// What one or more witnesses say.
    pub(crate) expected: Vec<Expected>,
    pub(crate) reply: Reply,
}

/// What a server is there to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Challenge,
    Stray,
    Banned,
    Garbage,
    Recovered,
    Captured,
}

/// The servers that are asked for info alone.
pub(crate) fn asked_for_info(folder: &Path) -> Vec<Case> {
    let fixtures: HashMap<String, Fixture> =
        files::fixtures(folder).into_iter().map(|fixture| (fixture.name.clone(), fixture)).collect();
    let named = |name: &str| fixtures.get(name).unwrap_or_else(|| panic!("the corpus has no fixture {name}"));
    let info = &named(SOUND).datagrams[0];
    let mut cases = Vec::new();
    for fixture in fixtures.values().filter(|fixture| fixture.is_challenge()) {
        let challenge = fixture.entry("A").and_then(|entry| entry["challenge"].as_str()).expect("a challenge");
        cases.push(Case {
            group: Group::Challenge,
            name: fixture.name.clone(),
            expected: vec![asked(named(SOUND), 2)],
            reply: servers::challenging(fixture.datagrams.clone(), &bytes(challenge), info.clone()),
        });
    }
    for fixture in fixtures.values().filter(|fixture| ["I", "A"].iter().all(|kind| fixture.entry(kind).is_some())) {
        cases.push(Case {
            group: Group::Stray,
            name: fixture.name.clone(),
            expected: vec![asked(fixture, 1)],
            reply: servers::always(fixture.datagrams.clone()),
        });
    }
    for name in GARBAGE {
        let garbage = named(name).datagrams.clone();
        cases.push(Case {
            group: Group::Garbage,
            name: (*name).to_owned(),
            expected: vec![asked(named(name), 3)],
            reply: servers::always(garbage.clone()),
        });
        cases.push(Case {
            group: Group::Recovered,
            name: format!("{name}, then {SOUND}"),
            expected: vec![asked(named(SOUND), 2).with("attempts", 2)],
            reply: servers::in_turn(garbage, vec![info.clone()]),
        });
    }
    cases.push(Case {
        group: Group::Banned,
        name: BANNED.to_owned(),
        expected: vec![asked(named(BANNED), 1)],
        reply: servers::always(named(BANNED).datagrams.clone()),
    });
    cases
}

/// The captured servers, which are asked for everything.
pub(crate) fn asked_for_everything(folder: &Path) -> Vec<Case> {
    let case = |name: &&str| {
        let printed = files::peers(folder, name);
        let queries = ["A2S_INFO", "A2S_PLAYER", "A2S_RULES", "A2A_PING"];
        let exchanges = queries.iter().flat_map(|query| files::exchanges(folder, name, query)).collect();
        let mut expected = Vec::from(peers::info(&printed));
        // A challenge that is sent back is answered with silence, not with a challenge.
        expected.extend(peers::players(&printed, "timeout"));
        expected.push(peers::rules(&printed));
        Case { group: Group::Captured, name: (*name).to_owned(), expected, reply: servers::recorded(exchanges) }
    };
    CAPTURED.iter().map(case).collect()
}

/// What the row of `fixture` should be, if it is asked `times` times over sockets.
fn asked(fixture: &Fixture, times: u32) -> Expected {
    let mut expected = descriptions::expected(fixture);
    for column in ["address", "ip", "port", "target", "source", "sent_at", "rtt_ms", "attempts"] {
        expected.forget(column);
    }
    expected.with("sent", times)
}

/// A fixture whose only datagram is a sound info reply.
const SOUND: &str = "info_tf2_edf_f1_sourcetv";
const BANNED: &str = "banned_reply_l";
const GARBAGE: &[&str] = &["garbage_64_zero_bytes", "garbage_single_ff"];
