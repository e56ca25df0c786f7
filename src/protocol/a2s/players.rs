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

/// Reads the body behind the type byte into `record`'s list: what came is kept, and an error says where it ended early.
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

/// Reads the body behind the type byte, which ends with the message, and flags what is odd about it.
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
    /// The layout of `body`, which lies behind the count.
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
