//! When each flight must be looked at again.
//!
//! Nearly all deadlines are "now plus the time-out of the n-th try": within one such lane they come in the order in
//! which they are set, so a linked list through the slots is an exact priority queue, and both setting and cancelling
//! take constant time. Everything else (pauses, listening, a budget that ends early) goes to a heap, where a cancelled
//! entry stays until it comes up and is recognised as stale by its stamp.
//!
//! What must stay true: a slot is in one lane or has one live heap entry, never both; a lane's times never decrease
//! from head to tail (a time that would break this goes to the heap).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Deadlines of slots, at most one each.
#[derive(Debug, Default)]
pub struct Deadlines {
    nodes: Vec<Node>,
    lanes: Vec<Lane>,
    heap: BinaryHeap<Reverse<(Instant, u32, u32)>>,
}

impl Deadlines {
    /// Sets the deadline of `slot` to `at`, among others of `lane` that were set with the same delay.
    pub fn set_in_lane(&mut self, slot: u32, lane: u8, at: Instant) {
        let lanes_needed = usize::from(lane) + 1;
        if self.lanes.len() < lanes_needed {
            self.lanes.resize(lanes_needed, Lane { head: NONE, tail: NONE });
        }
        let tail = self.lanes[usize::from(lane)].tail;
        if tail != NONE && tail != slot && self.nodes[tail as usize].at.is_some_and(|last| last > at) {
            return self.set(slot, at);
        }
        self.cancel(slot);
        let list = &mut self.lanes[usize::from(lane)];
        let tail = std::mem::replace(&mut list.tail, slot);
        match tail {
            NONE => list.head = slot,
            tail => self.nodes[tail as usize].next = slot,
        }
        let node = &mut self.nodes[slot as usize];
        *node = Node { previous: tail, next: NONE, lane: Some(lane), at: Some(at), stamp: node.stamp };
    }

    /// Sets the deadline of `slot` to `at`, whenever that is.
    pub fn set(&mut self, slot: u32, at: Instant) {
        self.cancel(slot);
        let node = &mut self.nodes[slot as usize];
        node.at = Some(at);
        self.heap.push(Reverse((at, slot, node.stamp)));
    }

    /// Removes the deadline of `slot`, if it has one.
    pub fn cancel(&mut self, slot: u32) {
        let nodes_needed = slot as usize + 1;
        if self.nodes.len() < nodes_needed {
            self.nodes.resize(nodes_needed, Node::default());
        }
        let node = &mut self.nodes[slot as usize];
        let Node { previous, next, lane, .. } = *node;
        *node = Node { stamp: node.stamp.wrapping_add(1), ..Node::default() };
        let Some(lane) = lane else { return };
        match previous {
            NONE => self.lanes[usize::from(lane)].head = next,
            previous => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => self.lanes[usize::from(lane)].tail = previous,
            next => self.nodes[next as usize].previous = previous,
        }
    }

    /// The earliest deadline.
    #[must_use]
    pub fn earliest(&mut self) -> Option<Instant> {
        self.first().map(|(at, _)| at)
    }

    /// Takes a slot whose deadline is at or before `now`, earliest first; call until `None`.
    #[must_use]
    pub fn pop_due(&mut self, now: Instant) -> Option<u32> {
        let (at, slot) = self.first()?;
        if at > now {
            return None;
        }
        self.cancel(slot);
        Some(slot)
    }

    fn first(&mut self) -> Option<(Instant, u32)> {
        // Bounded by the stale entries, each of which was pushed by one `set`.
        while let Some(Reverse((_, slot, stamp))) = self.heap.peek() {
            if self.nodes[*slot as usize].stamp == *stamp {
                break;
            }
            self.heap.pop();
        }
        let heap = self.heap.peek().map(|Reverse((at, slot, _))| (*at, *slot));
        let heads = self.lanes.iter().filter(|lane| lane.head != NONE).map(|lane| lane.head);
        heads.filter_map(|slot| self.nodes[slot as usize].at.map(|at| (at, slot))).chain(heap).min()
    }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    previous: u32,
    next: u32,
    lane: Option<u8>,
    at: Option<Instant>,
    /// Counts settings and cancellations, so that a heap entry knows whether it is still meant.
    stamp: u32,
}

impl Default for Node {
    fn default() -> Self {
        Self { previous: NONE, next: NONE, lane: None, at: None, stamp: 0 }
    }
}

#[derive(Debug, Clone, Copy)]
struct Lane {
    head: u32,
    tail: u32,
}

const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::testing::start;

    proptest! {
        /// Against a map from slot to deadline that is searched in full each time.
        #[test]
        fn deadlines_do_what_a_searched_map_does(
            steps in prop::collection::vec((0_u8..5, 0_u32..16, 0_u64..500), 1..300)
        ) {
            let mut now = start();
            let mut deadlines = Deadlines::default();
            let mut twin: HashMap<u32, Instant> = HashMap::new();
            for (verb, slot, ms) in steps {
                match verb {
                    0 | 1 => {
                        let at = now + Duration::from_millis(100 << verb);
                        deadlines.set_in_lane(slot, verb, at);
                        twin.insert(slot, at);
                    }
                    2 => {
                        let at = now + Duration::from_millis(ms);
                        deadlines.set(slot, at);
                        twin.insert(slot, at);
                    }
                    3 => {
                        deadlines.cancel(slot);
                        twin.remove(&slot);
                    }
                    _ => {
                        now += Duration::from_millis(ms / 4);
                        let mut last = None;
                        while let Some(slot) = deadlines.pop_due(now) {
                            let at = twin.remove(&slot);
                            prop_assert!(at.is_some_and(|at| at <= now), "slot {slot} was not due");
                            prop_assert!(at >= last, "out of order");
                            last = at;
                        }
                        prop_assert!(twin.values().all(|at| *at > now), "a due slot was not given");
                    }
                }
                prop_assert_eq!(deadlines.earliest(), twin.values().min().copied());
            }
        }
    }

    #[test]
    fn a_time_that_would_break_a_lane_is_still_in_order() {
        let now = start();
        let mut deadlines = Deadlines::default();
        deadlines.set_in_lane(0, 0, now + Duration::from_secs(2));
        deadlines.set_in_lane(1, 0, now + Duration::from_secs(1));
        assert_eq!(deadlines.pop_due(now + Duration::from_secs(9)), Some(1));
        assert_eq!(deadlines.pop_due(now + Duration::from_secs(9)), Some(0));
        assert_eq!(deadlines.pop_due(now + Duration::from_secs(9)), None);
    }
}
