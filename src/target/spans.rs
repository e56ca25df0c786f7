//! Which addresses are covered, on which ports: disjoint spans of the address axis that grow as ranges are added.
//!
//! Memory grows with the number of ranges, whatever their size: a range that is added cuts the spans it overlaps at its
//! ends, and neighbours with equal ports become one span again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ports::{PortSets, Ports};

/// Covered addresses of each plan.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// Disjoint, by plan and first address.
    spans: BTreeMap<(u16, u128), Span>,
    /// Equal port sets are shared, so the pointer tells them apart.
    sets: PortSets,
}

#[derive(Debug, Clone)]
struct Span {
    last: u128,
    ports: Arc<Ports>,
}

/// Addresses from `first` to `last`, both included, each on `ports`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) first: u128,
    pub(super) last: u128,
    pub(super) ports: Arc<Ports>,
}

impl Spans {
    /// Whether `port` is covered at the address with this key.
    pub(super) fn contains(&self, plan: u16, key: u128, port: u16) -> bool {
        let before = self.spans.range(..=(plan, key)).next_back();
        before.is_some_and(|(&(of, _), span)| of == plan && key <= span.last && span.ports.contains(port))
    }

    /// Covers the addresses from `first` to `last` on `ports`, and returns what was not covered before: disjoint and
    /// ascending.
    pub(super) fn insert(&mut self, plan: u16, first: u128, last: u128, ports: &Ports) -> Vec<Gap> {
        let ports = self.sets.share(ports);
        self.cut(plan, first);
        if let Some(next) = last.checked_add(1) {
            self.cut(plan, next);
        }
        let mut gaps = Vec::new();
        let mut at = Some(first);
        let overlapped: Vec<_> = self.spans.range((plan, first)..=(plan, last)).map(|(&(_, from), _)| from).collect();
        for from in overlapped {
            if let Some(at) = at.filter(|&at| at < from) {
                gaps.push(Gap { first: at, last: from - 1, ports: Arc::clone(&ports) });
            }
            let Some(span) = self.spans.get_mut(&(plan, from)) else { continue };
            at = span.last.checked_add(1);
            let new = ports.subtract(&span.ports);
            if !new.is_empty() {
                span.ports = self.sets.share(&span.ports.union(&ports));
                gaps.push(Gap { first: from, last: span.last, ports: self.sets.share(&new) });
            }
        }
        if let Some(at) = at.filter(|&at| at <= last) {
            gaps.push(Gap { first: at, last, ports: Arc::clone(&ports) });
        }
        for gap in gaps.iter().filter(|gap| Arc::ptr_eq(&gap.ports, &ports)) {
            // Where there was a span already, it has the union of the ports by now.
            let span = Span { last: gap.last, ports: Arc::clone(&gap.ports) };
            self.spans.entry((plan, gap.first)).or_insert(span);
        }
        self.join(plan, first, last);
        gaps
    }

    /// Makes a span begin at `key`, if one reaches across it.
    fn cut(&mut self, plan: u16, key: u128) {
        let across = self.spans.range_mut(..(plan, key)).next_back();
        if let Some((_, span)) = across.filter(|((of, _), span)| *of == plan && key <= span.last) {
            let behind = span.clone();
            span.last = key - 1;
            self.spans.insert((plan, key), behind);
        }
    }

    /// Makes one span of neighbours with equal ports, between `first` and `last` and at both ends.
    fn join(&mut self, plan: u16, first: u128, last: u128) {
        let before = self.spans.range(..(plan, first)).next_back().map(|(&(of, from), _)| (of, from));
        let from = before.filter(|(of, _)| *of == plan).unwrap_or((plan, first));
        let until = (plan, last.saturating_add(1));
        let near: Vec<_> = self.spans.range(from..=until).map(|(&key, span)| (key, span.clone())).collect();
        let mut kept: Option<((u16, u128), Span)> = None;
        for (key, span) in near {
            match &mut kept {
                Some((at, of)) if of.last.checked_add(1) == Some(key.1) && Arc::ptr_eq(&of.ports, &span.ports) => {
                    of.last = span.last;
                    self.spans.remove(&key);
                    if let Some(longer) = self.spans.get_mut(at) {
                        longer.last = span.last;
                    }
                }
                _ => kept = Some((key, span)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_with_equal_ports_are_one_span_and_the_ends_of_the_axis_are_reached() {
        let mut spans = Spans::default();
        let ports = Ports::one(7);
        for first in [4, 0, 8, 2, 6] {
            assert_eq!(spans.insert(0, first, first + 1, &ports).len(), 1);
        }
        assert_eq!(spans.spans.len(), 1);
        assert_eq!(spans.insert(0, 0, u128::MAX, &ports).len(), 1);
        assert_eq!(spans.spans.len(), 1);
        assert!(spans.contains(0, u128::MAX, 7) && !spans.contains(1, 0, 7));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn spans_do_what_a_set_of_places_does(
            ranges in prop::collection::vec((0_u16..2, 0_u128..30, 0_u128..9, 1_u16..4, 0_u16..3), 1..20),
        ) {
            let mut spans = Spans::default();
            let mut twin = HashSet::new();
            for (plan, first, more, port, ports) in ranges {
                let (last, ports) = (first + more, Ports::from_ranges([(port, port + ports)]));
                let mut new = Vec::new();
                for gap in spans.insert(plan, first, last, &ports) {
                    prop_assert!(first <= gap.first && gap.last <= last && !gap.ports.is_empty());
                    for key in gap.first..=gap.last {
                        new.extend(gap.ports.iter().map(|port| (plan, key, port)));
                    }
                }
                let expected: Vec<_> = (first..=last)
                    .flat_map(|key| ports.iter().map(move |port| (plan, key, port)))
                    .filter(|place| twin.insert(*place))
                    .collect();
                new.sort_unstable();
                prop_assert_eq!(new, expected);
                for (key, port) in (0..40).flat_map(|key| (0..7).map(move |port| (key, port))) {
                    prop_assert_eq!(spans.contains(plan, key, port), twin.contains(&(plan, key, port)));
                }
            }
            let all: Vec<_> = spans.spans.iter().collect();
            for pair in all.windows(2) {
                let (((plan, _), span), ((next_plan, next), next_span)) = (pair[0], pair[1]);
                if plan == next_plan {
                    prop_assert!(span.last < *next, "disjoint");
                    prop_assert!(span.last + 1 < *next || span.ports != next_span.ports, "joined");
                }
            }
        }
    }
}
