//! The lists of a record: who plays, the server's rules, and what it wants installed, in the order and with the bytes in
//! which they were sent.
//!
//! Players and rules hold their texts in one buffer each, since a server may have hundreds of rules and a scan hundreds of thousands
//! of servers. Mods are rare and few. Texts stay bytes until they are written: only the outputs that have lists pay for making them presentable.

/// The players of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Players {
    names: Vec<u8>,
    entries: Vec<(u32, Player<()>)>,
    present: bool,
}

/// One player; `N` is the name.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Player<N> {
    /// Name as sent; blank names are common.
    pub name: N,
    /// Number that the server gave the entry: 0 for all (Source), or counting from 1, with gaps (GoldSource).
    pub index: Option<u8>,
    /// Score; it may be negative.
    pub score: Option<i32>,
    /// Seconds since the player came; negative for some bots. Not always a finite number.
    pub duration_s: Option<f32>,
    /// Milliseconds to the server and back (Quake 3 and its kin); some send odd numbers for bots and for who connects.
    pub ping_ms: Option<i32>,
    /// Deaths (The Ship, Unreal Tournament 3).
    pub deaths: Option<u32>,
    /// Money (The Ship).
    pub money: Option<u32>,
}

/// The rules of a server: names and values, with whatever came twice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    texts: Vec<u8>,
    /// Where a name ends in `texts`, and where its value does.
    ends: Vec<[u32; 2]>,
    present: bool,
}

/// A mod that players need.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mod {
    /// Name as sent; absent where the list ends before it.
    pub name: Option<Box<[u8]>>,
    /// Number in the Steam Workshop; absent for mods that are not from there.
    pub workshop_id: Option<u64>,
    /// Short hash of its files, as sent.
    pub hash: [u8; 4],
}

/// A DLC that players need.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dlc {
    /// Name; absent where nobody has said what the bit or the number stands for.
    pub name: Option<&'static str>,
    /// Steam application id, where the server names it.
    pub app_id: Option<u32>,
    /// Short hash of its files, as sent; absent where the list ends before it.
    pub hash: Option<[u8; 4]>,
}

impl Players {
    /// Makes the list present, if empty.
    pub fn begin(&mut self) {
        self.clear();
        self.present = true;
    }

    /// Adds a player.
    pub fn push(&mut self, player: Player<&[u8]>) {
        self.names.extend_from_slice(player.name);
        self.entries.push((self.names.len() as u32, player.with_name(())));
    }

    /// The players without their names, for what is sent after the list.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Player<()>> {
        self.entries.iter_mut().map(|(_, player)| player)
    }

    /// Player `number` (from 0) without the name.
    pub(crate) fn entry_mut(&mut self, number: usize) -> Option<&mut Player<()>> {
        self.entries.get_mut(number).map(|(_, player)| player)
    }

    /// The players, in the order in which they were sent.
    pub fn iter(&self) -> impl Iterator<Item = Player<&[u8]>> {
        let starts = std::iter::once(0).chain(self.entries.iter().map(|(end, _)| *end));
        starts
            .zip(&self.entries)
            .map(|(start, (end, player))| player.with_name(&self.names[start as usize..*end as usize]))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True when a list was sent, be it empty.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.present
    }

    /// Makes it absent; capacity stays.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
        self.present = false;
    }

    /// Bytes that it holds on to.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.names.capacity() + self.entries.capacity() * size_of::<(u32, Player<()>)>()
    }
}

impl<N> Player<N> {
    /// The same player with another name.
    pub(crate) fn with_name<M>(&self, name: M) -> Player<M> {
        let Self { index, score, duration_s, ping_ms, deaths, money, name: _ } = *self;
        Player { name, index, score, duration_s, ping_ms, deaths, money }
    }
}

impl Rules {
    /// Makes the list present, if empty.
    pub fn begin(&mut self) {
        self.clear();
        self.present = true;
    }

    /// Adds a rule.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.texts.extend_from_slice(name);
        let between = self.texts.len() as u32;
        self.texts.extend_from_slice(value);
        self.ends.push([between, self.texts.len() as u32]);
    }

    /// Names and values, in the order in which they were sent.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|[_, end]| *end));
        starts.zip(&self.ends).map(|(start, &[between, end])| {
            let (start, between, end) = (start as usize, between as usize, end as usize);
            (&self.texts[start..between], &self.texts[between..end])
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// True when a list was sent, be it empty.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.present
    }

    /// Makes it absent; capacity stays.
    pub(crate) fn clear(&mut self) {
        self.texts.clear();
        self.ends.clear();
        self.present = false;
    }

    /// Bytes that it holds on to.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.texts.capacity() + self.ends.capacity() * size_of::<[u32; 2]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_come_out_as_they_went_in() {
        let mut players = Players::default();
        assert!(!players.is_present());
        players.begin();
        assert!(players.is_present() && players.is_empty());
        let all = [
            Player { name: &b"one"[..], score: Some(-3), ..Player::default() },
            Player { name: b"", index: Some(2), ..Player::default() },
            Player { name: b"\xFF", duration_s: Some(-1.0), ping_ms: Some(48), ..Player::default() },
        ];
        for player in all {
            players.push(player);
        }
        assert_eq!(players.iter().collect::<Vec<_>>(), all);
        assert_eq!(players.len(), 3);
        players.clear();
        assert_eq!(players, Players::default());
    }

    #[test]
    fn rules_keep_their_order_and_what_came_twice() {
        let mut rules = Rules::default();
        rules.begin();
        let all: [(&[u8], &[u8]); 4] = [(b"b", b"2"), (b"a", b""), (b"", b"x"), (b"b", b"3")];
        for (name, value) in all {
            rules.push(name, value);
        }
        assert_eq!(rules.iter().collect::<Vec<_>>(), all);
        rules.clear();
        assert!(!rules.is_present() && rules.is_empty());
    }
}
