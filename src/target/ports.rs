//! Sets of ports: `27015-27030,28000`.
//!
//! A set is kept as ascending runs that neither touch nor overlap, so equal sets are equal values and can be hashed.
//! Each run knows how many ports lie in the runs before it, which makes [`Ports::nth`] a binary search.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::parse_error::{ParseError, excerpt};

/// A set of ports out of 1 to 65535.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ports {
    runs: Vec<Run>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Run {
    first: u16,
    last: u16,
    /// How many ports lie in the runs before this one.
    before: u16,
}

impl Ports {
    /// Every port.
    #[must_use]
    pub fn all() -> Self {
        Self::from_ranges([(1, u16::MAX)])
    }

    /// This port alone; the empty set for 0, on which nobody can be asked.
    #[must_use]
    pub fn one(port: u16) -> Self {
        Self::from_ranges([(port, port)])
    }

    /// The ports of all ranges (first, last), both included, in any order and overlapping at will; 0 is left out, and
    /// a range that runs backwards is empty.
    #[must_use]
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u16, u16)>) -> Self {
        let mut ranges: Vec<_> = ranges
            .into_iter()
            .map(|(first, last)| (first.max(1), last))
            .filter(|(first, last)| first <= last)
            .collect();
        ranges.sort_unstable();
        let mut ports = Self { runs: Vec::with_capacity(ranges.len()) };
        for (first, last) in ranges {
            ports.push(first, last);
        }
        ports
    }

    /// How many ports.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.runs.last().map_or(0, |run| u32::from(run.before) + run.len())
    }

    /// The port, if it is only one.
    #[must_use]
    pub(crate) fn single(&self) -> Option<u16> {
        self.nth(0).filter(|_| self.len() == 1)
    }

    /// Whether there is no port in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The port with `index` smaller ones in the set.
    #[must_use]
    pub(crate) fn nth(&self, index: u32) -> Option<u16> {
        let place = self.runs.partition_point(|run| u32::from(run.before) <= index);
        let run = self.runs.get(place.checked_sub(1)?)?;
        let port = u32::from(run.first) + (index - u32::from(run.before));
        u16::try_from(port).ok().filter(|&port| port <= run.last)
    }

    /// Whether `port` is in the set.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        let place = self.runs.partition_point(|run| run.last < port);
        self.runs.get(place).is_some_and(|run| run.first <= port)
    }

    /// The ports, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        self.ranges().flat_map(|(first, last)| first..=last)
    }

    /// The runs as (first, last), both included, ascending, with gaps between them.
    pub fn ranges(&self) -> impl Iterator<Item = (u16, u16)> {
        self.runs.iter().map(|run| (run.first, run.last))
    }

    /// The ports that are in either set.
    #[must_use]
    pub(crate) fn union(&self, other: &Self) -> Self {
        Self::from_ranges(self.ranges().chain(other.ranges()))
    }

    /// The ports of this set that are not in the other.
    #[must_use]
    pub(crate) fn subtract(&self, other: &Self) -> Self {
        let mut left = Self { runs: Vec::with_capacity(self.runs.len()) };
        for run in &self.runs {
            let mut first = u32::from(run.first);
            let cuts = other.runs.partition_point(|cut| cut.last < run.first);
            for cut in other.runs.iter().skip(cuts).take_while(|cut| cut.first <= run.last) {
                if first < u32::from(cut.first) {
                    left.push(first as u16, cut.first - 1);
                }
                first = u32::from(cut.last) + 1;
            }
            if first <= u32::from(run.last) {
                left.push(first as u16, run.last);
            }
        }
        left
    }

    /// Adds a range that begins at or after the beginning of the last run.
    fn push(&mut self, first: u16, last: u16) {
        match self.runs.last_mut() {
            Some(run) if first <= run.last.saturating_add(1) => run.last = run.last.max(last),
            _ => {
                let before = self.len() as u16;
                self.runs.push(Run { first, last, before });
            }
        }
    }
}

impl Run {
    const fn len(self) -> u32 {
        (self.last - self.first) as u32 + 1
    }
}

impl FromStr for Ports {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let range = |item: &str| -> Result<(u16, u16), ParseError> {
            if item.is_empty() {
                return Err(ParseError::EmptyPort(excerpt(text)));
            }
            let Some((first, last)) = item.split_once('-') else {
                return port(item).map(|port| (port, port));
            };
            match (port(first)?, port(last)?) {
                (first, last) if first <= last => Ok((first, last)),
                (first, last) => Err(ParseError::PortsBackwards { first, last }),
            }
        };
        Ok(Self::from_ranges(text.split(',').map(range).collect::<Result<Vec<_>, _>>()?))
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.ranges().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{first}")?;
            if first < last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

/// Shares equal sets: a million blocks with the same ports hold them once, and pointers tell whether sets differ.
#[derive(Debug, Default)]
pub(super) struct PortSets(HashSet<Arc<Ports>>);

impl PortSets {
    /// The shared copy of `ports`.
    pub(super) fn share(&mut self, ports: &Ports) -> Arc<Ports> {
        if let Some(shared) = self.0.get(ports) {
            return Arc::clone(shared);
        }
        let shared = Arc::new(ports.clone());
        self.0.insert(Arc::clone(&shared));
        shared
    }
}

fn port(word: &str) -> Result<u16, ParseError> {
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError::NotAPort(excerpt(word)));
    }
    match word.parse::<u16>() {
        Ok(0) => Err(ParseError::PortZero),
        Ok(port) => Ok(port),
        Err(_) => Err(ParseError::PortTooLarge(excerpt(word))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ports(text: &str) -> Ports {
        text.parse().expect("ports")
    }

    fn refusal(text: &str) -> String {
        text.parse::<Ports>().expect_err("no ports").to_string()
    }

    #[test]
    fn port_lists_are_normalised() {
        assert_eq!(ports("28000,27020-27030,27015-27019,27016").to_string(), "27015-27030,28000");
        assert_eq!(ports("1-65535"), Ports::all());
        assert_eq!(Ports::all().len(), 65_535);
        assert_eq!(ports("65535,1-65534,65535"), Ports::all());
        assert_eq!(Ports::one(0), Ports::default());
    }

    #[test]
    fn port_mistakes_are_answered_with_what_to_write() {
        assert_eq!(refusal("0"), "port 0 cannot be asked: ports are 1 to 65535");
        assert_eq!(refusal("70000"), "port 70000 is not in 1 to 65535");
        assert_eq!(refusal("99999999999999999999"), "port 99999999999999999999 is not in 1 to 65535");
        assert_eq!(refusal("http"), "\"http\" is not a port: write numbers and ranges, as in 27015-27030,28000");
        assert_eq!(refusal("+5"), "\"+5\" is not a port: write numbers and ranges, as in 27015-27030,28000");
        assert_eq!(refusal("1,,2"), "a port is missing in \"1,,2\": write numbers and ranges, as in 27015-27030,28000");
        assert_eq!(refusal("5-"), "\"\" is not a port: write numbers and ranges, as in 27015-27030,28000");
        assert_eq!(refusal("30-20"), "the port range 30-20 runs backwards: write 20-30");
    }

    #[test]
    fn equal_sets_are_shared() {
        let mut sets = PortSets::default();
        let one = sets.share(&ports("1-3"));
        assert!(Arc::ptr_eq(&one, &sets.share(&ports("3,2,1"))));
        assert!(!Arc::ptr_eq(&one, &sets.share(&ports("3,2"))));
    }

    /// Ranges that crowd at both ends of the numbers, so that they touch and overlap.
    fn ranges() -> impl Strategy<Value = Vec<(u16, u16)>> {
        let range = (any::<bool>(), 0_u16..60, 0_u16..12).prop_map(|(high, first, more)| {
            let first = if high { u16::MAX - first } else { first };
            (first, first.saturating_add(more))
        });
        prop::collection::vec(range, 0..8)
    }

    fn naive(ranges: &[(u16, u16)]) -> HashSet<u16> {
        ranges.iter().flat_map(|&(first, last)| first..=last).filter(|&port| port != 0).collect()
    }

    fn sorted(set: impl IntoIterator<Item = u16>) -> Vec<u16> {
        let mut ports: Vec<_> = set.into_iter().collect();
        ports.sort_unstable();
        ports
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn sets_do_what_a_hash_set_does(one in ranges(), two in ranges()) {
            let (a, b) = (Ports::from_ranges(one.clone()), Ports::from_ranges(two.clone()));
            let (x, y) = (naive(&one), naive(&two));
            prop_assert_eq!(a.len() as usize, x.len());
            prop_assert_eq!(a.iter().collect::<Vec<_>>(), sorted(x.iter().copied()));
            let union = a.union(&b);
            prop_assert_eq!(union.iter().collect::<Vec<_>>(), sorted(x.union(&y).copied()));
            let difference = a.subtract(&b);
            prop_assert_eq!(difference.iter().collect::<Vec<_>>(), sorted(x.difference(&y).copied()));
            // The same set is the same value, whichever way it was made.
            prop_assert_eq!(&Ports::from_ranges(difference.iter().map(|port| (port, port))), &difference);
            for (index, port) in difference.iter().enumerate() {
                prop_assert_eq!(difference.nth(index as u32), Some(port));
            }
            prop_assert_eq!(difference.nth(difference.len()), None);
            for port in (0..80).chain(u16::MAX - 80..=u16::MAX) {
                prop_assert_eq!(difference.contains(port), x.contains(&port) && !y.contains(&port));
            }
            if !a.is_empty() {
                prop_assert_eq!(&ports(&a.to_string()), &a);
            }
        }
    }
}
