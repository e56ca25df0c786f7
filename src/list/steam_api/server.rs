//! What the Steam Web API says about a server, as JSON.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::record::{ListFact, ListFacts};

/// One server of an answer. Everything but the address may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Server {
    /// Address for queries.
    pub addr: SocketAddr,
    /// Port for players.
    pub gameport: Option<u16>,
    /// Port of `SourceTV`.
    pub specport: Option<u16>,
    /// 64 bits, in decimal.
    pub steamid: Option<String>,
    pub name: Option<String>,
    pub appid: Option<u32>,
    pub gamedir: Option<String>,
    pub version: Option<String>,
    pub product: Option<String>,
    /// As in a master server's question; -1 and 255 are the whole world.
    pub region: Option<i32>,
    pub players: Option<i64>,
    pub max_players: Option<i64>,
    pub bots: Option<i64>,
    pub map: Option<String>,
    /// Protected by VAC.
    pub secure: Option<bool>,
    pub dedicated: Option<bool>,
    /// `l`, `w` or `m`.
    pub os: Option<String>,
    /// Tags, with commas between them.
    pub gametype: Option<String>,
}

impl Server {
    /// What is worth keeping of it, under the names that Steam gives it.
    pub(super) fn facts(self) -> ListFacts {
        let text = |text: Option<String>| text.map(|text| ListFact::Text(Arc::from(text)));
        let number = |number: Option<i64>| number.map(ListFact::Number);
        let all = [
            ("gameport", number(self.gameport.map(i64::from))),
            ("specport", number(self.specport.map(i64::from))),
            ("steamid", text(self.steamid)),
            ("name", text(self.name)),
            ("appid", number(self.appid.map(i64::from))),
            ("gamedir", text(self.gamedir)),
            ("version", text(self.version)),
            ("product", text(self.product)),
            ("region", number(self.region.map(i64::from))),
            ("players", number(self.players)),
            ("max_players", number(self.max_players)),
            ("bots", number(self.bots)),
            ("map", text(self.map)),
            ("secure", self.secure.map(ListFact::Flag)),
            ("dedicated", self.dedicated.map(ListFact::Flag)),
            ("os", text(self.os)),
            ("gametype", text(self.gametype)),
        ];
        ListFacts(all.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect())
    }
}

/// The servers of an answer, and how many of its rows are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub servers: Vec<Server>,
    pub odd: usize,
}

/// Reads the body of an answer: `{"response":{"servers":[…]}}`, where both the object and the list may be missing.
pub(super) fn read(body: &[u8]) -> Result<Rows, serde_json::Error> {
    let answer: Answer = serde_json::from_slice(body)?;
    let rows = answer.response.servers.unwrap_or_default();
    let all = rows.len();
    let servers: Vec<Server> = rows.into_iter().filter_map(Row::server).collect();
    Ok(Rows { odd: all - servers.len(), servers })
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    response: Response,
}

#[derive(Default, Deserialize)]
struct Response {
    servers: Option<Vec<Row>>,
}

/// A row that is odd must not cost the others.
#[derive(Deserialize)]
#[serde(untagged)]
enum Row {
    Server(Box<Server>),
    Odd(IgnoredAny),
}

impl Row {
    fn server(self) -> Option<Server> {
        match self {
            Self::Server(server) => Some(*server),
            Self::Odd(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_becomes_a_fact_and_an_odd_row_costs_no_other() {
        let body = br#"{"response":{"servers":[
            {"addr":"192.0.2.7:27015","gameport":27016,"specport":27020,"steamid":"90000000000000001","name":"A \u00e9",
             "appid":730,"gamedir":"csgo","version":"1.40","product":"csgo","region":-1,"players":3,"max_players":10,
             "bots":1,"map":"de_dust2","secure":true,"dedicated":false,"os":"l","gametype":"a,b","new":[1]},
            {"addr":"no address"}, 7, {"name":"none"}, {"addr":"[2001:db8::1]:1","appid":"seven"},
            {"addr":"198.51.100.1:1","name":null}]}}"#;
        let rows = read(body).unwrap();
        assert_eq!(rows.odd, 4);
        let [first, second] = <[Server; 2]>::try_from(rows.servers).unwrap();
        assert_eq!(first.addr, "192.0.2.7:27015".parse().unwrap());
        let facts = first.facts().0;
        let text = |name| ListFact::Text(Arc::from(name));
        assert_eq!(facts.len(), 17);
        assert_eq!(facts[0], ("gameport", ListFact::Number(27_016)));
        assert_eq!(facts[2], ("steamid", text("90000000000000001")));
        assert_eq!(facts[3], ("name", text("A é")));
        assert_eq!(facts[8], ("region", ListFact::Number(-1)));
        assert_eq!(facts[13..15], [("secure", ListFact::Flag(true)), ("dedicated", ListFact::Flag(false))]);
        assert_eq!(facts[16], ("gametype", text("a,b")));
        assert_eq!(second.facts(), ListFacts::default());
    }

    #[test]
    fn nothing_is_told_from_what_is_no_answer() {
        for nothing in
            ["{}", r#"{"response":{}}"#, r#"{"response":{"servers":[]}}"#, r#"{"response":{"servers":null}}"#]
        {
            assert_eq!(read(nothing.as_bytes()).unwrap(), Rows::default(), "{nothing}");
        }
        for wrong in ["", "<html>", "[]x", r#"{"response":{"servers":[{"addr":"#, r#"{"response":7}"#] {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
