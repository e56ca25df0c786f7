//! Targets that are asked over and over: a queue of those that nobody is asking at the moment.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use crate::target::{Source, Target};

/// Ends a round: no target is given out once it has rung.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bell(Arc<AtomicBool>);

impl Bell {
    /// Ends the round.
    pub(crate) fn ring(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_rung(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Goes round through the targets; one that is in flight waits for its turn.
#[derive(Debug)]
pub(crate) struct Circle {
    idle: VecDeque<Target>,
    /// Queries that are left.
    left: u64,
    bell: Bell,
}

impl Circle {
    /// Asks `targets` until `bell` rings, or `count` queries were begun.
    #[must_use]
    pub(crate) fn new(targets: &[Target], count: Option<u64>, bell: Bell) -> Self {
        Self { idle: targets.iter().copied().collect(), left: count.unwrap_or(u64::MAX), bell }
    }
}

impl Source for Circle {
    fn poll_target(&mut self) -> Poll<Option<Target>> {
        if self.left == 0 || self.bell.has_rung() {
            return Poll::Ready(None);
        }
        match self.idle.pop_front() {
            Some(target) => {
                self.left -= 1;
                Poll::Ready(Some(target))
            }
            None => Poll::Pending,
        }
    }

    fn handle_ended(&mut self, target: Target) {
        self.idle.push_back(target);
    }

    fn remaining(&self) -> Option<u64> {
        (self.left == 0 || self.bell.has_rung()).then_some(0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn target(port: u16) -> Target {
        Target { address: SocketAddr::from(([127, 0, 0, 1], port)), plan: 0, origin: 0 }
    }

    #[test]
    fn an_address_in_flight_waits_for_its_turn() {
        let mut circle = Circle::new(&[target(1), target(2)], Some(4), Bell::default());
        assert_eq!(circle.poll_target(), Poll::Ready(Some(target(1))));
        assert_eq!(circle.poll_target(), Poll::Ready(Some(target(2))));
        assert_eq!(circle.poll_target(), Poll::Pending);
        circle.handle_ended(target(2));
        circle.handle_ended(target(1));
        assert_eq!(circle.poll_target(), Poll::Ready(Some(target(2))));
        assert_eq!(circle.poll_target(), Poll::Ready(Some(target(1))));
        assert_eq!(circle.poll_target(), Poll::Ready(None), "four were begun");
        assert!(circle.is_exhausted());
    }

    #[test]
    fn nothing_is_begun_once_the_bell_has_rung() {
        let bell = Bell::default();
        let mut circle = Circle::new(&[target(1)], None, bell.clone());
        assert!(!circle.is_exhausted());
        bell.ring();
        assert_eq!(circle.poll_target(), Poll::Ready(None));
        assert!(circle.is_exhausted());
    }
}
