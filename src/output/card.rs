//! One server for a person to read: everything that is known about it, a line each.

use super::{RowFormat, value};
use crate::output::table::harmless;
use crate::record::{COLUMNS, Dlc, Mod, Players, Rules, ServerRecord, Text, Value};

/// Writes cards into memory.
#[derive(Default)]
pub(crate) struct Card {
    text: Vec<u8>,
    began: bool,
}

impl Card {
    fn players(&mut self, players: &Players) {
        if players.is_empty() {
            return;
        }
        let mut text = Text::default();
        // No protocol sends both.
        let pings = players.iter().any(|player| player.ping_ms.is_some());
        let heading = if pings { "ping" } else { "time" };
        self.text.extend_from_slice(format!("\n  score      {heading}  player\n").as_bytes());
        for player in players.iter() {
            text.set(player.name);
            let score = player.score.map_or_else(String::new, |score| score.to_string());
            let ping = player.ping_ms.map(|ping| format!("{ping} ms"));
            let time = player.duration_s.map(clock).or(ping).unwrap_or_default();
            let name = harmless(text.as_str().unwrap_or_default());
            self.text.extend_from_slice(format!("{score:>7}  {time:>8}  {name}\n").as_bytes());
        }
    }

    fn rules(&mut self, rules: &Rules) {
        if rules.is_empty() {
            return;
        }
        let (mut name, mut value) = (Text::default(), Text::default());
        self.text.extend_from_slice(b"\nrules\n");
        for (rule, setting) in rules.iter() {
            name.set(rule);
            value.set(setting);
            let [name, value] = [&name, &value].map(|text| harmless(text.as_str().unwrap_or_default()));
            self.text.extend_from_slice(format!("  {name} = {value}\n").as_bytes());
        }
    }

    fn mods(&mut self, mods: &[Mod]) {
        if mods.is_empty() {
            return;
        }
        let mut name = Text::default();
        self.text.extend_from_slice(b"\nmods (number in the Steam Workshop)\n");
        for entry in mods {
            name.set(entry.name.as_deref().unwrap_or_default());
            let name = harmless(name.as_str().unwrap_or_default());
            let id = entry.workshop_id.map_or_else(|| "-".into(), |id| id.to_string());
            self.text.extend_from_slice(format!("  {id:>10}  {name}\n").as_bytes());
        }
    }

    fn dlc(&mut self, dlc: &[Dlc]) {
        if dlc.is_empty() {
            return;
        }
        let name = |dlc: &Dlc| match (dlc.name, dlc.app_id) {
            (Some(name), _) => name.to_owned(),
            (None, Some(id)) => format!("app {id}"),
            (None, None) => "unknown".to_owned(),
        };
        let names: Vec<String> = dlc.iter().map(name).collect();
        self.text.extend_from_slice(format!("\ndlc\n  {}\n", names.join(", ")).as_bytes());
    }
}

/// Nobody plays for a hundred years.
const MOST_SECONDS: f32 = 3.2e9;

/// Seconds as hours, minutes and seconds; bots have a time before zero.
fn clock(seconds: f32) -> String {
    if !(0.0..MOST_SECONDS).contains(&seconds) {
        return "-".into();
    }
    let whole = seconds as u64;
    format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
}

impl RowFormat for Card {
    fn row(&mut self, record: &ServerRecord) {
        if std::mem::replace(&mut self.began, true) {
            self.text.push(b'\n');
        }
        let width = COLUMNS.iter().map(|column| column.name.len()).max().unwrap_or(0);
        let mut cell = Vec::new();
        for column in COLUMNS {
            let value = (column.value)(record);
            cell.clear();
            value::put(&value, &mut cell);
            // What is absent is left out, and so are the queries that were not asked.
            if cell.is_empty() || matches!(value, Value::Word("none")) {
                continue;
            }
            let text = harmless(&String::from_utf8_lossy(&cell));
            self.text.extend_from_slice(format!("{:width$}  {text}\n", column.name).as_bytes());
        }
        self.players(&record.player_list);
        self.rules(&record.rules);
        self.mods(record.mods.as_deref().unwrap_or_default());
        self.dlc(record.dlc.as_deref().unwrap_or_default());
    }

    fn len(&self) -> usize {
        self.text.len()
    }

    fn take(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        std::mem::swap(buffer, &mut self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Query, QueryStatus, Status};

    #[test]
    fn what_is_known_is_shown_and_what_is_not_is_left_out() {
        let mut record = ServerRecord::new();
        record.address = "192.0.2.1:27015".parse().unwrap();
        record.status = Status::Ok;
        record.set_query(Query::Info, QueryStatus::Ok);
        record.rtt_us = Some(12_345);
        record.flags |= record.name.set("a\u{9B}31m\x1Bb".as_bytes());
        let mut card = Card::default();
        card.row(&record);
        card.row(&record);
        let mut bytes = Vec::new();
        card.take(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let cards: Vec<_> = text.split("\n\n").collect();
        assert_eq!(cards.len(), 2);
        assert!(text.contains("rtt_ms            12.345\n"), "{text}");
        assert!(text.contains("name              a\u{FFFD}31m\u{241B}b\n"), "{text}");
        assert!(text.contains("info_status       ok\n"), "{text}");
        assert!(!text.contains("players_status") && !text.contains("map"), "{text}");
    }

    #[test]
    fn mods_and_dlc_are_listed_and_harmless() {
        let mut record = ServerRecord::new();
        let entry = |name: &[u8], workshop_id| Mod { name: Some(name.into()), workshop_id, hash: [0; 4] };
        record.mods = Some(vec![entry(b"CBA\x1B[0m", Some(450_814_997)), entry(b"mine", None)]);
        let dlc = |name, app_id| Dlc { name, app_id, hash: None };
        record.dlc = Some(vec![dlc(Some("Zeus"), None), dlc(None, Some(70)), dlc(None, None)]);
        let mut card = Card::default();
        card.row(&record);
        let text = String::from_utf8(card.text).unwrap();
        assert!(text.contains("   450814997  CBA\u{241B}[0m\n           -  mine\n"), "{text}");
        assert!(text.ends_with("\ndlc\n  Zeus, app 70, unknown\n"), "{text}");
    }
}
