//! What other clients printed about the captured servers, as rows.

use serde_json::{Map, Value};

use super::descriptions::{player, rule};
use super::expected::{Expected, List};
use super::fields::{OPENGSQ, PYTHON_A2S};
use super::python;

/// What python-a2s and opengsq say about the info of a server, each for itself.
pub(crate) fn info(peers: &str) -> [Expected; 2] {
    let source_info = python_value(peers, "SourceInfo(").expect("the peers' file has python-a2s's line");
    let object = |line| serde_json::from_str::<Map<String, Value>>(line).ok();
    let is_info = |object: &Map<_, _>| object.contains_key("server_type") && object.contains_key("environment");
    let opengsq = peers.lines().filter_map(object).find(is_info).expect("the peers' file has opengsq's line");
    let both = [(PYTHON_A2S, source_info.as_object().expect("fields")), (OPENGSQ, &opengsq)];
    both.map(|(fields, object)| {
        let mut expected = Expected::default();
        expected.all_fields(fields, object);
        expected.answered("info_status");
        expected
    })
}

/// What they say about its players. One that gave nothing but a challenge made both of them wait in vain; that is called
/// `in_vain`.
pub(crate) fn players(peers: &str, in_vain: &str) -> Vec<Expected> {
    let Some(players) = python_value(peers, "[Player(") else {
        assert!(peers.contains("opengsq: error: timed out"), "one client has players and the other has none");
        let nothing = Expected::default().with("players_status", in_vain).with("player_list", Value::Null);
        return vec![nothing.with("players_declared", Value::Null)];
    };
    let list = |line| serde_json::from_str::<Vec<Value>>(line).ok();
    let is_players = |list: &Vec<Value>| list.iter().any(|player| player.get("deaths").is_some());
    let opengsq = peers.lines().filter_map(list).find(is_players).expect("the peers' file has opengsq's line");
    let with_index: Vec<Value> = players.as_array().expect("a list").iter().map(player).collect();
    let without = opengsq.iter().map(player).map(|mut player| {
        player.as_object_mut().expect("fields").remove("index");
        player
    });
    [with_index, without.collect()].into_iter().map(|list| expect_list("players", "player_list", list)).collect()
}

/// What python-a2s says about its rules.
pub(crate) fn rules(peers: &str) -> Expected {
    let rules = python_value(peers, "{'").expect("the peers' file has python-a2s's line");
    expect_list("rules", "rules", rules.as_array().expect("pairs").iter().map(rule).collect())
}

fn expect_list(query: &str, key: &'static str, list: Vec<Value>) -> Expected {
    let mut expected = Expected::default();
    expected.answered_with_list(query, list.len(), list.len());
    expected.set_list(key, List::whole(list));
    expected
}

/// The value of Python that begins with `begin`.
fn python_value(peers: &str, begin: &str) -> Option<Value> {
    peers.lines().find(|line| line.starts_with(begin)).map(python::parse)
}
