//! Captured servers, against what other clients printed when they asked the same servers.

use super::expected::{Expected, assert_none};
use super::files::{CAPTURED, capture, corpus, exchanges, peers};
use super::peers;
use super::program::decode;

#[test]
fn captured_servers_decode_to_what_other_clients_printed() {
    let Some(folder) = corpus() else { return };
    let mut differences = Vec::new();
    let mut compared = 0;
    for server in CAPTURED {
        let printed = peers(folder, server);
        let mut check = |message: &str, query: &str, witnesses: Vec<Expected>| {
            let row = decode(&capture(folder, server, message), &["--queries", query]);
            let requests = exchanges(folder, server, message).len();
            for witness in witnesses {
                let witness = witness.with("sent", requests).with("attempts", 1);
                let found = witness.differences(&row);
                differences.extend(found.into_iter().map(|difference| format!("{server} {message}: {difference}")));
                compared += 1;
            }
        };
        check("A2S_INFO", "info", peers::info(&printed).into());
        check("A2S_PLAYER", "players", peers::players(&printed, "timeout"));
        check("A2S_RULES", "rules", vec![peers::rules(&printed)]);
        check("A2A_PING", "ping", vec![ping(&exchanges(folder, server, "A2A_PING"))]);
    }
    assert!(compared >= 23, "only {compared} comparisons");
    assert_none(&differences);
}

/// The other clients do not ask for this one: whether there was an answer is seen from its first bytes.
fn ping(exchanges: &[(Vec<u8>, Vec<Vec<u8>>)]) -> Expected {
    let answered =
        exchanges.iter().flat_map(|(_, replies)| replies).any(|reply| reply.starts_with(b"\xFF\xFF\xFF\xFFj"));
    Expected::default().with("ping_status", if answered { "ok" } else { "timeout" })
}
