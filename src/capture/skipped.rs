//! What a capture holds besides whole UDP datagrams: counted by reason, so that nothing is left out silently.

use std::collections::BTreeMap;
use std::fmt;

/// How many packets of a capture gave no datagram, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Packets of other protocols.
    pub not_udp: u64,
    /// Packets that were captured in part only (the snap length of the capture).
    pub cut: u64,
    /// Fragments of datagrams of which other fragments are missing, or contradict each other.
    pub fragments: u64,
    /// Packets whose headers contradict themselves.
    pub malformed: u64,
    /// Packets of link types that cannot be read here, by their number (<https://www.tcpdump.org/linktypes.html>).
    pub unknown_link: BTreeMap<u16, u64>,
}

impl Skipped {
    /// How many packets that is.
    #[must_use]
    pub(crate) fn total(&self) -> u64 {
        self.not_udp + self.cut + self.fragments + self.malformed + self.unknown_link.values().sum::<u64>()
    }

    /// Counts a packet.
    pub(super) fn count(&mut self, reason: SkipReason) {
        *match reason {
            SkipReason::NotUdp => &mut self.not_udp,
            SkipReason::Cut => &mut self.cut,
            SkipReason::Malformed => &mut self.malformed,
            SkipReason::UnknownLink(link) => self.unknown_link.entry(link).or_default(),
        } += 1;
    }
}

impl fmt::Display for Skipped {
    /// The reasons that occurred, for a message: `3 not UDP, 1 cut by the snap length`; empty if there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = [
            (self.not_udp, "not UDP"),
            (self.cut, "cut by the snap length"),
            (self.fragments, "fragments of incomplete datagrams"),
            (self.malformed, "malformed"),
        ];
        let mut separator = "";
        for (count, reason) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{separator}{count} {reason}")?;
            separator = ", ";
        }
        for (link, count) in &self.unknown_link {
            write!(f, "{separator}{count} of the unknown link type {link}")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Why a packet gives no datagram. (Fragments are counted by [`super::fragments`].)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// Another protocol.
    NotUdp,
    /// Captured in part only.
    Cut,
    /// Its headers contradict themselves.
    Malformed,
    /// A link type that is not known.
    UnknownLink(u16),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reasons_that_occurred_are_named() {
        let mut skipped = Skipped::default();
        assert_eq!((skipped.to_string(), skipped.total()), (String::new(), 0));
        for reason in [SkipReason::NotUdp, SkipReason::Cut, SkipReason::NotUdp, SkipReason::UnknownLink(127)] {
            skipped.count(reason);
        }
        assert_eq!(skipped.to_string(), "2 not UDP, 1 cut by the snap length, 1 of the unknown link type 127");
        assert_eq!(skipped.total(), 4);
    }
}
