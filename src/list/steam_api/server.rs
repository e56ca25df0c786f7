//! What the Steam Web API says about a server, as JSON.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::MOST_ROWS;
use crate::record::{ListFact, ListFacts};

/// One server of an answer. Everything but the address may be missing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
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
    /// What is worth keeping of it, under the names that Steam gives it; the beginning of texts that are too long.
    pub(super) fn facts(self) -> ListFacts {
        let text = |text: Option<String>| text.map(|text| ListFact::Text(Arc::from(beginning(&text, LONGEST_TEXT))));
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

/// As much of `text` as fits into `most` bytes.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The servers of an answer, and how many of its rows are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub servers: Vec<Server>,
    pub odd: usize,
}

impl Rows {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.servers.len() + self.odd
    }
}

/// Reads the body of an answer: `{"response":{"servers":[…]}}`, where both the object and the list may be missing. Rows
/// beyond `limit` are passed over: who sends more than was asked for does not say which they are.
pub(super) fn read(body: &[u8], limit: usize) -> serde_json::Result<Rows> {
    // One name in another encoding must not cost all the others.
    let body = String::from_utf8_lossy(body);
    let answer: Answer<'_> = serde_json::from_str(&body)?;
    let mut rows = answer.response.servers.unwrap_or_default().0;
    rows.truncate(limit);
    let servers: Vec<Server> = rows.iter().filter_map(|row| serde_json::from_str(row.get()).ok()).collect();
    Ok(Rows { odd: rows.len() - servers.len(), servers })
}

#[derive(serde::Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    response: Response<'a>,
}

#[derive(Default, serde::Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    servers: Option<RawRows<'a>>,
}

/// Rows that are not read yet, so that one that is odd does not cost the others; no more than Steam ever sends.
#[derive(Default)]
struct RawRows<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for RawRows<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Taken;

        impl<'de> Visitor<'de> for Taken {
            type Value = RawRows<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of servers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawRows<'de>, A::Error> {
                let mut rows = Vec::new();
                while rows.len() < MOST_ROWS {
                    match seq.next_element()? {
                        Some(row) => rows.push(row),
                        None => return Ok(RawRows(rows)),
                    }
                }
                // Bounded by the body.
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(RawRows(rows))
            }
        }

        deserializer.deserialize_seq(Taken)
    }
}

/// Bytes of a text that are kept: some times what Steam lets a server say anywhere, and little enough for a million servers.
const LONGEST_TEXT: usize = 1024;

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
        let rows = read(body, 10).unwrap();
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

    /// The addresses that are read from a list of `rows`, and how many rows are odd.
    fn addresses(rows: &[&str], limit: usize) -> (Vec<String>, usize) {
        let body = format!(r#"{{"response":{{"servers":[{}]}}}}"#, rows.join(","));
        let rows = read(body.as_bytes(), limit).unwrap();
        (rows.servers.iter().map(|server| server.addr.to_string()).collect(), rows.odd)
    }

    #[test]
    fn whatever_stands_in_an_odd_row_the_others_are_read() {
        let deep = format!(r#"{{"addr":{0}{1}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let ignored = format!(r#"{{"addr":"192.0.2.2:1","new":{0}{1}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        for odd in [
            r#"{"addr":"192.0.2.3:1","players":1e400}"#,
            r#"{"addr":"192.0.2.3:1","players":1.5}"#,
            r#"{"addr":"192.0.2.3:1","name":"\ud800"}"#,
            r#"{"addr":"192.0.2.3:1","addr":"192.0.2.4:1"}"#,
            r#"{"addr":"192.0.2.3"}"#,
            r#"{"addr":"example.com:1"}"#,
            r#"{"addr":"192.0.2.3:65536"}"#,
            &deep,
        ] {
            let (read, count) = addresses(&[r#"{"addr":"192.0.2.1:1"}"#, odd, &ignored], 10);
            assert_eq!((read, count), (vec!["192.0.2.1:1".into(), "192.0.2.2:1".into()], 1), "{odd:.80}");
        }
        let latin1 = b"{\"response\":{\"servers\":[{\"addr\":\"192.0.2.1:1\",\"name\":\"Caf\xE9\"}]}}";
        assert_eq!(read(latin1, 10).unwrap().servers[0].name.as_deref(), Some("Caf\u{FFFD}"));
    }

    #[test]
    fn no_more_rows_are_taken_than_were_asked_for() {
        let rows = [r#"{"addr":"192.0.2.1:1"}"#, "7", r#"{"addr":"192.0.2.2:1"}"#];
        assert_eq!(addresses(&rows, 2), (vec!["192.0.2.1:1".into()], 1));
        let (read, odd) = addresses(&vec!["7"; 2 * MOST_ROWS], usize::MAX);
        assert_eq!((read.len(), odd), (0, MOST_ROWS));
    }

    #[test]
    fn of_long_texts_the_beginning_is_kept() {
        let long =
            format!(r#"{{"response":{{"servers":[{{"addr":"192.0.2.1:1","name":"a{}"}}]}}}}"#, "é".repeat(50_000));
        let [server] = <[Server; 1]>::try_from(read(long.as_bytes(), 10).unwrap().servers).unwrap();
        let expected = format!("a{}", "é".repeat(511));
        assert_eq!(*server.facts().0, [("name", ListFact::Text(expected.into()))]);
    }

    #[test]
    fn nothing_is_told_from_what_is_no_answer() {
        for nothing in
            ["{}", r#"{"response":{}}"#, r#"{"response":{"servers":[]}}"#, r#"{"response":{"servers":null}}"#]
        {
            assert_eq!(read(nothing.as_bytes(), 10).unwrap(), Rows::default(), "{nothing}");
        }
        for wrong in ["", "<html>", "[]x", r#"{"response":{"servers":[{"addr":"#, r#"{"response":7}"#] {
            assert!(read(wrong.as_bytes(), 10).is_err(), "{wrong}");
        }
    }
}
