//! Takes a question apart until Steam answers every part in full.
//!
//! ```text
//!              \appid\10                      10,000 rows: there are more
//!     ┌────────────┴─────────────┐
//!  \appid\10\secure\1   \appid\10\nor\1\secure\1
//!    3,120 rows: all       10,000 rows: there are more …
//! ```
//!
//! An answer has at most so many rows, and there are no pages. One that is full is a sample of its part: it says by which
//! condition the part falls into the most even pieces. Those are the most frequent values and, under one `\nor`, all
//! the rest, whatever it may hold: no server falls between, also none with a value that cannot be written or that no
//! sample had. Where pieces overlap a server is seen twice and given once.
//!
//! Must stay true: a part's pieces cover it however Steam reads a condition, and each has one condition more than the part
//! (or a longer beginning of names); filters have a greatest length, so that this ends.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt::{Display, Write};
use std::net::SocketAddr;

use super::condition::{Condition, Dimension, fold};
use super::server::{Rows, Server};

/// A question that is taken apart as far as its answers ask for it.
pub(super) struct Partition {
    /// What all parts have in common.
    filter: String,
    /// What it says nothing about: of a key that a filter has twice, Steam might take one.
    dimensions: Vec<Dimension>,
    /// Rows of an answer that is full.
    most_rows: usize,
    /// Parts that are not answered yet; the last one is next.
    parts: Vec<Part>,
    given: HashSet<SocketAddr>,
    /// Parts that are too big and have nothing left by which to take them apart.
    too_big: Vec<String>,
}

/// What is to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// A filter; empty for everything.
    pub filter: String,
    /// Rows that are wanted.
    pub limit: usize,
    /// A server is known that belongs into the answer.
    pub witnessed: bool,
}

/// The servers for which all of some conditions hold, and none of some others.
#[derive(Debug, Clone, Default)]
struct Part {
    all: Vec<Condition>,
    none: Vec<Condition>,
    witnessed: bool,
    /// How many full answers it is guessed to fill.
    size: f64,
}

impl Partition {
    /// The servers that `filter` describes, where an answer has at most `most_rows`.
    pub(super) fn new(filter: &str, most_rows: usize) -> Self {
        let said = |dimension: &Dimension| filter.split('\\').any(|word| word == dimension.key());
        Self {
            filter: filter.into(),
            dimensions: Dimension::ALL.into_iter().filter(|dimension| !said(dimension)).collect(),
            most_rows,
            parts: vec![Part::default()],
            given: HashSet::new(),
            too_big: Vec::new(),
        }
    }

    /// The question that is to be asked next: the same one until it is answered; none at the end.
    #[must_use]
    pub(super) fn poll_question(&self) -> Option<Question> {
        let part = self.parts.last()?;
        Some(Question { filter: self.filter_of(part), limit: self.most_rows, witnessed: part.witnessed })
    }

    /// Takes the answer to that question and returns the servers that are new.
    pub(super) fn handle_answer(&mut self, rows: Rows) -> Vec<Server> {
        let Some(part) = self.parts.pop() else { return Vec::new() };
        if rows.len() >= self.most_rows {
            match self.split(&part, &rows.servers) {
                Some(pieces) => self.parts.extend(pieces),
                None => self.too_big.push(self.filter_of(&part)),
            }
        }
        rows.servers.into_iter().filter(|server| self.given.insert(server.addr)).collect()
    }

    /// How many servers were given.
    pub(super) fn given(&self) -> usize {
        self.given.len()
    }

    /// How many parts wait for an answer.
    pub(super) fn waiting(&self) -> usize {
        self.parts.len()
    }

    /// Filters of the parts of which some servers are missing.
    pub(super) fn too_big(&self) -> &[String] {
        &self.too_big
    }

    /// The pieces into which to take `part`, going by a `sample` of it; the first to be asked stands last.
    fn split(&self, part: &Part, sample: &[Server]) -> Option<Vec<Part>> {
        let room = LONGEST_FILTER.checked_sub(self.filter.len() * 3 + part.cost())?;
        let cuts = self.dimensions.iter().filter_map(|&dimension| part.cut(dimension, sample, room));
        // Of equals the first.
        let best = cuts.min_by(|a, b| a.blind.cmp(&b.blind).then(a.price.total_cmp(&b.price)))?;
        Some(part.pieces(best, sample.len()))
    }

    fn filter_of(&self, part: &Part) -> String {
        let mut filter = self.filter.clone();
        // Writing to a string cannot fail.
        let mut put = |condition: &dyn Display| write!(filter, "{condition}").expect("a string takes everything");
        part.all.iter().for_each(|condition| put(condition));
        if !part.none.is_empty() {
            put(&format_args!("\\nor\\{}", part.none.len()));
            part.none.iter().for_each(|condition| put(condition));
        }
        filter
    }
}

/// A way to take a part apart.
struct Cut {
    dimension: Dimension,
    /// Values that become pieces of their own, with how often the sample has them.
    values: Vec<(Box<str>, usize)>,
    /// How much of the sample has none of them.
    rest: usize,
    /// The sample has only one of the pieces.
    blind: bool,
    /// Questions that it is guessed to take until everything is known.
    price: f64,
}

impl Part {
    /// The best cut along `dimension`, whose conditions have `room` bytes in the filter of the rest.
    fn cut(&self, dimension: Dimension, sample: &[Server], room: usize) -> Option<Cut> {
        let fixed = self.all.iter().find(|condition| condition.dimension == dimension);
        let prefix = fixed.map_or("", |condition| &*condition.value);
        let known = |value: &str| self.none.iter().any(|other| other.dimension == dimension && *other.value == *value);
        if fixed.is_some() && dimension != Dimension::Name || dimension.only_value().is_some_and(known) {
            return None;
        }
        let mut counts = HashMap::new();
        for value in sample.iter().filter_map(|server| dimension.value_of(server, prefix)) {
            *counts.entry(value).or_insert(0) += 1;
        }
        counts.retain(|value, _| !known(value));
        let mut values = most_frequent_spellings(counts);
        if let (Some(only), []) = (dimension.only_value(), &*values) {
            values.push((only.into(), 0));
        }
        values.sort_unstable_by(|(a, n), (b, m)| (Reverse(n), a).cmp(&(Reverse(m), b)));
        let (pieces, price) = self.cheapest(dimension, &values, sample.len(), room)?;
        values.truncate(pieces);
        let rest = sample.len() - values.iter().map(|(_, n)| n).sum::<usize>();
        let price = if dimension.is_volatile() { price * MARKUP_OF_VOLATILE } else { price };
        Some(Cut { dimension, blind: rest == 0 || rest == sample.len(), values, rest, price })
    }

    /// How many of the `values`, most frequent first, to make pieces of, and the price: a question for each piece and for
    /// the rest, and more for those that will not fit into an answer, if `sample` shows what they share.
    fn cheapest(
        &self,
        dimension: Dimension,
        values: &[(Box<str>, usize)],
        sample: usize,
        mut room: usize,
    ) -> Option<(usize, f64)> {
        let more = |count: usize| {
            let size = self.size_of(count, sample);
            if size > 1.0 { size * PRICE_OF_SIZE } else { 0.0 }
        };
        let mut best = None;
        let (mut rest, mut price) = (sample, 1.0);
        for (index, (value, count)) in values.iter().take(MOST_PIECES).enumerate() {
            room = match room.checked_sub(Condition { dimension, value: value.clone() }.cost()) {
                Some(room) => room,
                None => break,
            };
            rest -= count;
            // Better a rest of which a server is known: if that brings nothing it need not be doubted for long.
            if rest == 0 && index > 0 {
                break;
            }
            price += 1.0 + more(*count);
            let price = price + more(rest);
            if best.is_none_or(|(_, other)| price < other) {
                best = Some((index + 1, price));
            }
        }
        best
    }

    /// How many full answers a piece is guessed to fill that has `count` of the `sample` of this part.
    fn size_of(&self, count: usize, sample: usize) -> f64 {
        self.size.max(LEAST_SIZE) * count as f64 / sample.max(1) as f64
    }

    fn pieces(&self, cut: Cut, sample: usize) -> Vec<Part> {
        // What answers do not show, a sample does not either.
        let shown = cut.dimension != Dimension::Open;
        let mut rest = Self { witnessed: shown && cut.rest > 0, size: self.size_of(cut.rest, sample), ..self.clone() };
        let mut pieces: Vec<Part> = Vec::with_capacity(cut.values.len() + 1);
        for (value, count) in cut.values {
            let condition = Condition { dimension: cut.dimension, value };
            let mut piece = Self { witnessed: count > 0, size: self.size_of(count, sample), ..self.clone() };
            // What holds makes superfluous what was said along the same dimension before.
            let other = |old: &Condition| old.dimension != condition.dimension;
            piece.all.retain(other);
            piece.none.retain(other);
            piece.all.push(condition.clone());
            pieces.push(piece);
            rest.none.push(condition);
        }
        pieces.push(rest);
        // The biggest first: what it brings is on its way while the others are asked.
        pieces.reverse();
        pieces
    }

    /// Most bytes that its conditions take in a URL.
    fn cost(&self) -> usize {
        self.all.iter().chain(&self.none).map(Condition::cost).sum()
    }
}

/// Of values that differ in upper and lower case only, the most frequent one with the count of them all. If Steam tells
/// them apart the others are in the rest, and have their turn later; if not they are with the first, and the rest must not
/// be taken to have them.
fn most_frequent_spellings(counts: HashMap<Cow<'_, str>, usize>) -> Vec<(Box<str>, usize)> {
    let mut spellings: Vec<_> = counts.into_iter().collect();
    spellings.sort_unstable_by(|(a, n), (b, m)| (Reverse(n), a).cmp(&(Reverse(m), b)));
    let mut places = HashMap::new();
    let mut values: Vec<(Box<str>, usize)> = Vec::new();
    for (spelling, count) in spellings {
        let place = *places.entry(fold(&spelling)).or_insert(values.len());
        match values.get_mut(place) {
            Some((_, total)) => *total += count,
            None => values.push((spelling.into(), count)),
        }
    }
    values
}

/// Values of one cut that become pieces of their own.
const MOST_PIECES: usize = 24;
/// What a cut costs more along which servers wander than one along which they stay.
const MARKUP_OF_VOLATILE: f64 = 1.5;
/// Full answers that a part fills of which it is only known that it does not fit into one.
const LEAST_SIZE: f64 = 2.0;
/// Further questions for each full answer that a piece fills which does not fit into one.
const PRICE_OF_SIZE: f64 = 4.0;
/// Bytes of a filter in a URL: servers commonly take 8 KiB of request line.
const LONGEST_FILTER: usize = 6000;
