//! Collects targets and exclusions and makes one exact set of them.
//!
//! A file may hold ten million lines `ip:port`, so a single IPv4 target from elsewhere than the arguments takes 16
//! bytes: these *singles* are sorted and thinned where they lie. Everything else is a block, whatever its size, and
//! blocks are divided by `claim`. Singles that fall inside a block of their plan take part in that as blocks of one
//! address; no others do.

use thiserror::Error;

use super::claim::{Block, claim};
use super::exclude::Zones;
use super::ip_range::IpRange;
use super::ports::{PortSets, Ports};
use super::set::TargetSet;
use super::singles::{Single, take_covered, thin};
use super::{Order, Tally};

/// Builds a [`TargetSet`].
#[derive(Debug)]
pub(crate) struct TargetSetBuilder {
    zones: Zones,
    singles: Vec<Single>,
    blocks: Vec<Block>,
    sets: PortSets,
    /// Expanded targets; saturating, and past `MOST_TARGETS` nothing is built.
    expanded: u128,
    bad_lines: u64,
    mentions: u64,
}

/// More targets than can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the targets named are 2^63 or more, with every repetition counted: name fewer addresses or ports")]
pub(crate) struct TooManyTargets;

impl TargetSetBuilder {
    /// Starts without targets; what `zones` say is left out.
    #[must_use]
    pub(crate) fn new(zones: Zones) -> Self {
        Self {
            zones,
            singles: Vec::new(),
            blocks: Vec::new(),
            sets: PortSets::default(),
            expanded: 0,
            bad_lines: 0,
            mentions: 0,
        }
    }

    /// Adds each of `hosts` on each of `ports`, to be asked by `plan` and attributed to `origin`; `typed` when they came
    /// as an argument. The order of calls is the order of mention.
    pub(crate) fn add(&mut self, hosts: IpRange, ports: &Ports, plan: u16, origin: u32, typed: bool) {
        if ports.is_empty() {
            return;
        }
        self.expanded = self.expanded.saturating_add(hosts.count().saturating_mul(u128::from(ports.len())));
        let mention = self.mentions as u32; // `build` refuses 2^32 mentions
        self.mentions += 1;
        if !typed && hosts.is_ipv4() && hosts.is_single() && ports.len() == 1 {
            let port = ports.nth(0).unwrap_or_default();
            let ip = hosts.pieces().next().map_or(0, |(first, _)| first as u32); // the low half of the key
            self.singles.push(Single { ip, port, plan, mention, origin });
            return;
        }
        let ports = self.sets.share(ports);
        for (first, last) in hosts.pieces() {
            self.blocks.push(Block { first, last, ports: ports.clone(), mention, origin, plan, typed });
        }
    }

    /// Counts a line that could not be read.
    pub(crate) const fn invalid(&mut self) {
        self.bad_lines += 1;
    }

    /// What is left out, also of targets that only become known later (streams, lists, names).
    #[must_use]
    pub(crate) const fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Makes the set; takes n log n in the number of calls, whatever the size of ranges. The same calls with the same
    /// order and seed give the same walk.
    pub(crate) fn build(mut self, order: Order, seed: u64) -> Result<(TargetSet, Tally), TooManyTargets> {
        let read = self.expanded.saturating_add(u128::from(self.bad_lines));
        if read >= MOST_TARGETS || self.mentions > u64::from(u32::MAX) {
            return Err(TooManyTargets);
        }
        let mut tally = Tally { read: read as u64, invalid: self.bad_lines, ..Tally::default() };
        let zones = self.zones;

        self.singles.sort_unstable_by_key(Single::sort_key);
        thin(&mut self.singles, &zones, &mut tally);
        let inside = take_covered(&mut self.singles, &self.blocks);
        self.singles.shrink_to_fit();
        self.blocks.extend(inside.into_iter().map(|single| single.into_block(&mut self.sets)));
        let segments = claim(self.blocks, &zones, &mut self.sets, &mut tally);
        Ok((TargetSet::new(self.singles, segments, order, seed), tally))
    }
}

/// Places in the order are `u64`, and sums of two must not overflow.
const MOST_TARGETS: u128 = 1 << 63;
