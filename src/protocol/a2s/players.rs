//! The body of `S2A_PLAYER`: who plays.
//!
//! ```text
//! declared:1 (index:1 name 00 score:4 duration:4)* [(deaths:4 money:4)*]     the last part by The Ship only
//! ```
//!
//! The count is a byte and wraps at 256 players, so records are read to the end of the message. The Ship appends a block
//! for as many players as there are, which may be fewer than it declares; where the records end follows from the size
//! of what is left.

use crate::protocol::{Fields, Scribe};
use crate::record::{Flags, Player, ServerRecord};
use crate::wire::{DecodeError, Problem, Reader, put_cstr};

/// Reads the body after the type byte into `record`'s list: what came is kept, and an error says where it ended early.
pub(in crate::protocol) fn read<S: Scribe>(
    fields: &mut Fields<'_, S>,
    record: &mut ServerRecord,
) -> Result<(), DecodeError> {
    record.player_list.begin();
    let declared = fields.u8("declared")?;
    record.players_declared = Some(declared.into());
    let Layout { records, block } = Layout::of(fields.reader().rest(), declared);
    for number in 0..records {
        fields.entry("player", number);
        let player = read_player(fields)?;
        if player.duration_s.is_some_and(|seconds| !seconds.is_finite()) {
            record.flags |= Flags::NOT_FINITE;
        }
        record.player_list.push(player);
    }
    if block {
        for (number, player) in record.player_list.entries_mut().enumerate() {
            fields.entry("player", number);
            player.deaths = Some(fields.u32_le("deaths")?);
            player.money = Some(fields.u32_le("money")?);
        }
    } else if !fields.reader().is_empty() {
        return read_cut_player(fields, records, record);
    }
    Ok(())
}

/// Reads the body after the type byte, which ends with the message, and flags what is odd about it.
pub(in crate::protocol) fn fill(body: Reader<'_>, record: &mut ServerRecord) {
    if read(&mut Fields::silent(body), record).is_err() {
        record.flags |= Flags::TRUNCATED;
    }
    let (declared, found) = (record.players_declared.unwrap_or(0), record.player_list.len());
    if declared != (found & 0xFF) as u32 {
        record.flags |= Flags::COUNT_MISMATCH;
    }
    let mut players = record.player_list.iter();
    if let (Some(only), None) = (players.next(), players.next())
        && only.name == b"Max Players"
        && only.score.is_some_and(|score| i64::from(score) == record.max_players.map_or(score.into(), i64::from))
    {
        record.flags |= Flags::PLAYERS_HIDDEN;
    }
}

/// Writes the body of `players`; with the block of The Ship if they have deaths.
pub(in crate::protocol) fn emit<'a>(players: impl Iterator<Item = Player<&'a [u8]>>, out: &mut Vec<u8>) {
    let at = out.len();
    let mut block = Vec::new();
    let mut count = 0_u8;
    out.push(0);
    for player in players {
        count = count.wrapping_add(1);
        out.push(player.index.unwrap_or(0));
        put_cstr(out, player.name);
        out.extend_from_slice(&player.score.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&player.duration_s.unwrap_or(0.0).to_le_bytes());
        if let (Some(deaths), Some(money)) = (player.deaths, player.money) {
            block.extend(deaths.to_le_bytes().into_iter().chain(money.to_le_bytes()));
        }
    }
    out[at] = count;
    out.extend_from_slice(&block);
}

fn read_player<'a, S: Scribe>(fields: &mut Fields<'a, S>) -> Result<Player<&'a [u8]>, DecodeError> {
    let index = fields.u8("index")?;
    let mut name = None;
    fields.text("name", &mut name)?;
    Ok(Player {
        name: name.unwrap_or_default(),
        index: Some(index),
        score: Some(fields.i32_le("score")?),
        duration_s: Some(fields.f32_le("duration")?),
        ..Player::default()
    })
}

/// Keeps what there is of a record that ends early: a player with a name is one.
fn read_cut_player<S: Scribe>(
    fields: &mut Fields<'_, S>,
    number: usize,
    record: &mut ServerRecord,
) -> Result<(), DecodeError> {
    fields.entry("player", number);
    let mut player: Player<()> = Player { index: Some(fields.u8("index")?), ..Player::default() };
    let mut name = None;
    let mut result = fields.text("name", &mut name);
    if result.is_ok() {
        match fields.i32_le("score") {
            Ok(score) => player.score = Some(score),
            Err(error) => result = Err(error),
        }
    }
    let Some(name) = name.filter(|name| !name.is_empty()) else { return result };
    record.player_list.push(player.with_name(name));
    result.and_then(|()| Err(fields.reader().error(Problem::Cut)))
}

/// How many whole records there are, and whether The Ship's block follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    records: usize,
    block: bool,
}

impl Layout {
    /// The layout of `body`, which lies after the count.
    ///
    /// A body that is just as long as its count says is what it says. The block is believed in where the rest is eight
    /// bytes a player, since its numbers could be read as more players.
    fn of(body: &[u8], declared: u8) -> Self {
        let mut fields = Fields::silent(Reader::new(body));
        let (mut records, mut whole) = (0, true);
        let mut block_after = None;
        while !fields.reader().is_empty() {
            let rest = fields.reader().rest();
            // This can be so after one number of records only: what is left shrinks.
            if records > 0 && rest.len() == records * 8 && is_block(rest) {
                block_after = Some(records);
            }
            if read_player(&mut fields).is_err() {
                whole = false;
                break;
            }
            records += 1;
        }
        match block_after {
            Some(before) if before == usize::from(declared) => Self { records: before, block: true },
            Some(before) if !whole || records & 0xFF != usize::from(declared) => Self { records: before, block: true },
            _ => Self { records, block: false },
        }
    }
}

/// True if `block` can be deaths and money of players.
fn is_block(block: &[u8]) -> bool {
    block.chunks_exact(4).all(|number| number[3] == 0 && number[2] < 0x10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(body: &[u8]) -> ServerRecord {
        let mut record = ServerRecord::new();
        fill(Reader::new(body), &mut record);
        record
    }

    fn names(record: &ServerRecord) -> Vec<&[u8]> {
        record.player_list.iter().map(|player| player.name).collect()
    }

    fn body(declared: u8, names: &[&str], rest: &[u8]) -> Vec<u8> {
        let mut body = vec![declared];
        for (index, name) in (0_u8..).zip(names) {
            body.push(index);
            put_cstr(&mut body, name.as_bytes());
            body.extend((i32::from(index) - 1).to_le_bytes());
            body.extend((f32::from(index) - 1.5).to_le_bytes());
        }
        [&body[..], rest].concat()
    }

    /// Deaths and money.
    fn block(count: u32) -> Vec<u8> {
        (0..count).flat_map(|n| [n, 2_500 + n]).flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn scores_and_times_may_be_negative_and_names_blank() {
        let record = record(&body(3, &["Gordon", "", "a b"], b""));
        let all: Vec<_> = record.player_list.iter().collect();
        let player = |index, name, score, duration_s| Player {
            name,
            index: Some(index),
            score: Some(score),
            duration_s: Some(duration_s),
            ..Player::default()
        };
        assert_eq!(all, [player(0, &b"Gordon"[..], -1, -1.5), player(1, b"", 0, -0.5), player(2, b"a b", 1, 0.5)]);
        assert_eq!((record.players_declared, record.flags), (Some(3), Flags::NONE));
    }

    #[test]
    fn the_ship_appends_a_block_for_as_many_as_there_are() {
        for (declared, names) in [(2, &["a", "b"][..]), (19, &["Shipmate1", "Shipmate2", "x"]), (0, &["y"])] {
            let record = record(&body(declared, names, &block(names.len() as u32)));
            assert_eq!(record.player_list.len(), names.len(), "{declared} declared");
            let money: Vec<_> = record.player_list.iter().filter_map(|player| player.money).collect();
            assert_eq!(money, (0..names.len() as u32).map(|n| 2_500 + n).collect::<Vec<_>>());
            let mismatch = usize::from(declared) != names.len();
            assert_eq!(record.flags.contains(Flags::COUNT_MISMATCH), mismatch);
        }
    }

    #[test]
    fn a_list_that_is_as_long_as_it_says_has_no_block() {
        // Nine blank players without a score who have just come: behind five of them 40 zeros are left, eight a player.
        let record = record(&[&[9][..], &[0; 90]].concat());
        assert_eq!(record.player_list.len(), 9);
        assert!(record.player_list.iter().all(|player| player.money.is_none()));
        assert_eq!(record.flags, Flags::NONE);
    }

    #[test]
    fn more_than_255_players_are_read_to_the_end() {
        let names: Vec<String> = (0..300).map(|n| format!("player {n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut whole = vec![44];
        for name in &names {
            whole.push(0);
            put_cstr(&mut whole, name.as_bytes());
            whole.extend([0; 8]);
        }
        let record = record(&whole);
        assert_eq!((record.player_list.len(), record.flags), (300, Flags::NONE));
        assert_eq!(record.players_declared, Some(44));
    }

    #[test]
    fn a_cut_list_is_kept_as_far_as_it_goes() {
        let whole = body(2, &["Gordon", "Barney"], b"");
        let second = 1 + 1 + 7 + 8;
        for length in 1..whole.len() {
            let record = record(&whole[..length]);
            let whole_ones = usize::from(length >= second);
            let begun = match length {
                // Index and at least a letter of the name.
                0..=2 => 0,
                _ if length < second => 1,
                _ if length <= second + 1 => 1,
                _ => 2,
            };
            assert_eq!(record.player_list.len(), begun.max(whole_ones), "{length} bytes");
            let flags = Flags::TRUNCATED | Flags::COUNT_MISMATCH;
            let at_an_edge = length == 1 || length == second;
            let expected = match (at_an_edge, begun) {
                (true, _) => Flags::COUNT_MISMATCH,
                (false, 2) => Flags::TRUNCATED,
                (false, _) => flags,
            };
            assert_eq!(record.flags, expected, "{length} bytes");
        }
        let cut = record(&whole[..second + 5]);
        assert_eq!(names(&cut), [&b"Gordon"[..], b"Barn"]);
    }

    #[test]
    fn odd_numbers_and_hidden_players_are_flagged() {
        let mut odd = body(1, &["x"], b"");
        let at = odd.len() - 4;
        odd[at..].copy_from_slice(&f32::INFINITY.to_le_bytes());
        assert_eq!(record(&odd).flags, Flags::NOT_FINITE);

        let mut hidden = ServerRecord::new();
        hidden.max_players = Some(24);
        let mut body = vec![1, 0];
        put_cstr(&mut body, b"Max Players");
        body.extend([24, 0, 0, 0, 0, 0, 0, 0]);
        fill(Reader::new(&body), &mut hidden);
        assert_eq!(hidden.flags, Flags::PLAYERS_HIDDEN);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for ship in [false, true] {
            let names: Vec<String> = (0..40).map(|n| format!("player {n}")).collect();
            let all: Vec<_> = (0_u8..)
                .zip(&names)
                .map(|(index, name)| Player {
                    name: name.as_bytes(),
                    index: Some(index),
                    score: Some(-i32::from(index)),
                    duration_s: Some(f32::from(index) * 1.25),
                    deaths: ship.then_some(u32::from(index)),
                    money: ship.then_some(70_000),
                    ..Player::default()
                })
                .collect();
            let mut body = Vec::new();
            emit(all.iter().copied(), &mut body);
            assert_eq!(record(&body).player_list.iter().collect::<Vec<_>>(), all);
        }
    }
}
