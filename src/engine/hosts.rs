//! Pacing by host: many servers share one address, and firewalls count by address.
//!
//! Each address has a budget of a few datagrams that refills over time. A target whose host has none left is parked
//! here, outside the window, in a list of its host; a heap holds one entry for each host that has parked targets. A
//! parked target takes 20 bytes, and there is room for a fixed number of them. A target whose address is being asked
//! already, for another target, is postponed: it waits for itself, so that others of its host need not.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::{Duration, Instant};

use slab::Slab;

use crate::target::{Target, scope};

/// Budgets and parked targets by address.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// Time in which one datagram's worth of budget comes back; zero for no limit.
    gap: Duration,
    budgets: HashMap<IpAddr, Budget>,
    parked: Slab<Parked>,
    ready: BinaryHeap<Reverse<(Instant, IpAddr)>>,
    /// Targets that are postponed, and until when.
    postponed: BinaryHeap<Reverse<(Instant, Target)>>,
    /// Number of budgets at which spent ones are looked for again.
    sweep_at: usize,
}

impl Hosts {
    /// Pacing with `gap` between two datagrams to one address, after a burst of [`BURST`].
    #[must_use]
    pub(crate) fn new(gap: Duration) -> Self {
        Self {
            gap,
            budgets: HashMap::new(),
            parked: Slab::new(),
            ready: BinaryHeap::new(),
            postponed: BinaryHeap::new(),
            sweep_at: SWEEP_FROM,
        }
    }

    /// Decides about a new target: true if it may be asked now. Otherwise it was parked, behind others of its host.
    ///
    /// Ask [`Hosts::is_full`] first; `least` is the protocol's own gap.
    pub(crate) fn admit(&mut self, target: Target, least: Duration, now: Instant) -> bool {
        if self.gap.max(least).is_zero() {
            return true;
        }
        let Some(budget) = self.budgets.get(&target.address.ip()) else { return true };
        let at = budget.ready_at(now);
        if budget.head == NONE && at == now {
            return true;
        }
        self.park(target, at);
        false
    }

    /// Keeps `target` until `at`, which must lie in the future, whatever its host's budget.
    pub(crate) fn postpone(&mut self, target: Target, at: Instant) {
        self.postponed.push(Reverse((at, target)));
    }

    /// Parks `target` until `at`, behind others of its host.
    fn park(&mut self, target: Target, at: Instant) {
        let ip = target.address.ip();
        let Target { address, plan, origin } = target;
        let new = self.parked.insert(Parked { origin, next: NONE, port: address.port(), plan, scope: scope(&address) })
            as u32;
        let budget = self.budgets.entry(ip).or_insert(Budget::new(at));
        let tail = std::mem::replace(&mut budget.tail, new);
        if tail == NONE {
            budget.head = new;
            self.ready.push(Reverse((at, ip)));
        } else {
            self.parked[tail as usize].next = new;
        }
    }

    /// Takes a target whose time has come; call until `None`.
    #[must_use]
    pub(crate) fn poll_ready(&mut self, now: Instant) -> Option<Target> {
        // Bounded by the targets that are postponed: none comes back before later.
        while let Some(Reverse((at, ..))) = self.postponed.peek()
            && *at <= now
        {
            let Reverse((_, target)) = self.postponed.pop()?;
            // Its protocol's own gap is in its host's budget, if it was asked.
            if self.admit(target, Duration::ZERO, now) {
                return Some(target);
            }
        }
        // Bounded by the hosts with parked targets: an entry that is put back lies in the future.
        loop {
            let Reverse((at, ip)) = *self.ready.peek()?;
            if at > now {
                return None;
            }
            self.ready.pop();
            let Some(budget) = self.budgets.get_mut(&ip) else { continue };
            // Retries and follow-ups may have spent more since.
            let due = budget.ready_at(now);
            if due > now {
                self.ready.push(Reverse((due, ip)));
                continue;
            }
            let Some(Parked { origin, next, port, plan, scope }) = self.parked.try_remove(budget.head as usize) else {
                continue;
            };
            budget.head = next;
            if next == NONE {
                budget.tail = NONE;
            } else {
                self.ready.push(Reverse((now, ip)));
            }
            let address = match ip {
                IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, scope).into(),
                ip @ IpAddr::V4(_) => SocketAddr::new(ip, port),
            };
            return Some(Target { address, plan, origin });
        }
    }

    /// When a follow-up or a retry may leave for `ip`, `now` at the earliest: only the protocol's own gap holds it up.
    #[must_use]
    pub(crate) fn ready_at(&self, ip: IpAddr, least: Duration, now: Instant) -> Instant {
        let budget = if least.is_zero() { None } else { self.budgets.get(&ip) };
        budget.map_or(now, |budget| budget.ready_at(now))
    }

    /// Counts a datagram that leaves for `ip` now. A protocol's own gap, `least`, knows no burst.
    pub(crate) fn charge(&mut self, ip: IpAddr, least: Duration, now: Instant) {
        let gap = self.gap.max(least);
        if gap.is_zero() {
            return;
        }
        if self.budgets.len() >= self.sweep_at {
            self.budgets.retain(|_, budget| budget.spent_until > now || budget.head != NONE);
            self.sweep_at = (self.budgets.len() * 2).max(SWEEP_FROM);
        }
        let budget = self.budgets.entry(ip).or_insert(Budget::new(now));
        budget.spent_until = budget.spent_until.max(now) + gap;
        budget.slack = if least.is_zero() { gap * (BURST - 1) } else { Duration::ZERO };
    }

    /// When the next target is ready.
    #[must_use]
    pub(crate) fn earliest(&self) -> Option<Instant> {
        let parked = self.ready.peek().map(|Reverse((at, _))| *at);
        let postponed = self.postponed.peek().map(|Reverse((at, ..))| *at);
        [parked, postponed].into_iter().flatten().min()
    }

    /// Targets that are kept here.
    #[must_use]
    pub(crate) fn waiting(&self) -> usize {
        self.parked.len() + self.postponed.len()
    }

    /// True when no further target can be kept.
    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        self.waiting() >= MOST_PARKED
    }
}

#[derive(Debug)]
struct Budget {
    /// When everything that was charged is paid for.
    spent_until: Instant,
    /// How long before that the next datagram may leave.
    slack: Duration,
    /// First and last parked target.
    head: u32,
    tail: u32,
}

impl Budget {
    const fn new(spent_until: Instant) -> Self {
        Self { spent_until, slack: Duration::ZERO, head: NONE, tail: NONE }
    }

    /// When a datagram may leave, `now` at the earliest.
    fn ready_at(&self, now: Instant) -> Instant {
        self.spent_until.checked_sub(self.slack).unwrap_or(now).max(now)
    }
}

#[derive(Debug)]
struct Parked {
    origin: u32,
    next: u32,
    port: u16,
    plan: u16,
    scope: u32,
}

/// Datagrams that may go to one address at once.
pub(crate) const BURST: u32 = 3;
/// Most parked targets: with 20 bytes each, 5 MiB.
pub(crate) const MOST_PARKED: usize = 1 << 18;
const SWEEP_FROM: usize = 4096;
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::start;

    const GAP: Duration = Duration::from_millis(350);

    fn target(host: u8, port: u16) -> Target {
        Target { address: SocketAddr::from(([192, 0, 2, host], port)), plan: 0, origin: 7 }
    }

    #[test]
    fn a_parked_target_keeps_its_interface() {
        let (mut hosts, begin) = (Hosts::new(GAP), start());
        let target = |port, scope| {
            let address = SocketAddrV6::new("fe80::1".parse().unwrap(), port, 0, scope);
            Target { address: address.into(), plan: 1, origin: 2 }
        };
        for _ in 0..BURST {
            hosts.charge(target(1, 3).address.ip(), Duration::ZERO, begin);
        }
        for parked in [target(1, 3), target(1, 4)] {
            assert!(!hosts.admit(parked, Duration::ZERO, begin));
        }
        assert_eq!(hosts.poll_ready(begin + GAP), Some(target(1, 3)));
        assert_eq!(hosts.poll_ready(begin + GAP), Some(target(1, 4)));
    }

    /// Runs `targets` of one datagram each and returns when each left, in ms.
    fn run(hosts: &mut Hosts, targets: &[Target]) -> Vec<(u16, u128)> {
        let begin = start();
        let mut left = Vec::new();
        let mut go = |hosts: &mut Hosts, target: Target, now: Instant| {
            hosts.charge(target.address.ip(), Duration::ZERO, now);
            left.push((target.address.port(), (now - begin).as_millis()));
        };
        for &target in targets {
            if hosts.admit(target, Duration::ZERO, begin) {
                go(hosts, target, begin);
            }
        }
        while let Some(now) = hosts.earliest() {
            // A host that has spent more in the meantime is put back, to a later time.
            if let Some(target) = hosts.poll_ready(now) {
                go(hosts, target, now);
            }
        }
        left
    }

    #[test]
    fn one_host_gets_a_burst_of_three_and_then_one_datagram_a_gap_in_order() {
        let mut hosts = Hosts::new(GAP);
        let targets: Vec<_> = (1..=6).map(|port| target(1, port)).collect();
        assert_eq!(run(&mut hosts, &targets), [(1, 0), (2, 0), (3, 0), (4, 350), (5, 700), (6, 1050)]);
        assert_eq!(hosts.waiting(), 0);
    }

    #[test]
    fn hosts_do_not_wait_for_each_other() {
        let mut hosts = Hosts::new(GAP);
        let targets: Vec<_> = (0..100).map(|host| target(host, 1)).collect();
        assert!(run(&mut hosts, &targets).iter().all(|&(_, ms)| ms == 0));
    }

    #[test]
    fn without_a_gap_nothing_is_kept() {
        let mut hosts = Hosts::new(Duration::ZERO);
        let targets: Vec<_> = (1..=50).map(|port| target(1, port)).collect();
        assert!(run(&mut hosts, &targets).iter().all(|&(_, ms)| ms == 0));
        assert!(hosts.budgets.is_empty());
    }

    #[test]
    fn budgets_that_are_paid_for_are_forgotten() {
        let mut hosts = Hosts::new(GAP);
        let mut now = start();
        for n in 0..200_000_u32 {
            hosts.charge(IpAddr::from(n.to_be_bytes()), Duration::ZERO, now);
            now += Duration::from_micros(500);
        }
        assert!(hosts.budgets.len() <= 2 * SWEEP_FROM, "{}", hosts.budgets.len());
    }

    #[test]
    fn a_protocol_may_ask_for_a_wider_gap() {
        let mut hosts = Hosts::new(GAP);
        let now = start();
        let second = Duration::from_secs(1);
        let ip = target(1, 1).address.ip();
        assert!(hosts.admit(target(1, 1), second, now));
        assert_eq!(hosts.ready_at(ip, second, now), now);
        hosts.charge(ip, second, now);
        assert!(!hosts.admit(target(1, 2), second, now), "there is no burst");
        assert_eq!(hosts.earliest(), Some(now + second));
        assert_eq!(hosts.ready_at(ip, second, now), now + second);
        assert_eq!(hosts.ready_at(ip, Duration::ZERO, now), now, "other protocols' follow-ups do not wait");
    }

    #[test]
    fn a_parked_target_takes_twenty_bytes() {
        // Sixteen, and four by which the slab tells taken places from free ones.
        assert_eq!(size_of::<Parked>(), 16);
        assert_eq!(align_of::<Parked>(), 4);
    }
}
