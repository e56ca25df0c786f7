//! A link that loses, delays, repeats and reorders datagrams, the same way for the same seed.

use std::time::Duration;

use super::share::Share;
use crate::rng::{Rng, unit};

/// How bad a link is, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LinkSettings {
    /// Datagrams that are lost.
    pub loss: Share,
    /// Datagrams that arrive twice.
    pub duplicate: Share,
    /// Datagrams that are overtaken by later ones.
    pub reorder: Share,
    /// Time that each datagram takes; it varies by a fifth in both directions.
    pub delay: Duration,
}

impl LinkSettings {
    /// True when every datagram arrives at once and in order.
    #[must_use]
    pub(crate) fn is_perfect(&self) -> bool {
        *self == Self::default()
    }
}

/// One direction of a link.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    settings: LinkSettings,
    rng: Rng,
}

impl Link {
    /// A link whose fates follow from `seed`.
    #[must_use]
    pub(crate) fn new(settings: LinkSettings, seed: u64) -> Self {
        Self { settings, rng: Rng::new(seed) }
    }

    /// What becomes of the next datagram: after which delay it arrives, and its second copy.
    pub(crate) fn fate(&mut self) -> [Option<Duration>; 2] {
        let LinkSettings { duplicate, .. } = self.settings;
        let twice = self.rng.chance(duplicate.fraction());
        [self.copy(), if twice { self.copy() } else { None }]
    }

    fn copy(&mut self) -> Option<Duration> {
        let LinkSettings { loss, reorder, delay, .. } = self.settings;
        if self.rng.chance(loss.fraction()) {
            return None;
        }
        let varied = delay.mul_f64(0.8 + 0.4 * unit(self.rng.next_u64()));
        let overtaken = self.rng.chance(reorder.fraction());
        Some(if overtaken { varied + delay + OVERTAKEN } else { varied })
    }
}

/// How long a datagram is held back so that others overtake it.
const OVERTAKEN: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_as_bad_as_it_says() {
        let settings = LinkSettings {
            loss: Share::percent(10.0),
            duplicate: Share::percent(20.0),
            reorder: Share::percent(30.0),
            delay: Duration::from_millis(100),
        };
        let mut link = Link::new(settings, 3);
        let fates: Vec<_> = (0..100_000).map(|_| link.fate()).collect();
        let share = |count: usize, of: usize| count as f64 / of as f64;
        let lost = fates.iter().filter(|fate| fate[0].is_none()).count();
        assert!((0.095..0.105).contains(&share(lost, fates.len())));
        let twice = fates.iter().filter(|fate| fate[1].is_some()).count();
        assert!((0.175..0.185).contains(&share(twice, fates.len())), "20 % repeated, of which 10 % lost");
        let times: Vec<_> = fates.iter().filter_map(|fate| fate[0]).collect();
        let late = times.iter().filter(|time| **time > Duration::from_millis(120)).count();
        assert!((0.29..0.31).contains(&share(late, times.len())));
        assert!(times.iter().all(|time| *time >= Duration::from_millis(80)));
    }

    #[test]
    fn a_perfect_link_delivers_everything_once_and_at_once() {
        let mut link = Link::new(LinkSettings::default(), 3);
        assert!(LinkSettings::default().is_perfect());
        assert!((0..1_000).all(|_| link.fate() == [Some(Duration::ZERO), None]));
    }

    #[test]
    fn the_same_seed_gives_the_same_fates() {
        let settings = LinkSettings { loss: Share::percent(50.0), ..LinkSettings::default() };
        let run = |seed| {
            let mut link = Link::new(settings, seed);
            (0..64).map(|_| link.fate()).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
