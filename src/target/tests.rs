//! The set against a naive twin that expands everything, and what only the whole module can show.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::Poll;

use proptest::prelude::*;

use super::ranges::TooManyTargets;
use super::*;

fn hosts(text: &str) -> IpRange {
    match TargetSpec::parse_exclusion(text).expect("a target").hosts {
        Hosts::Range(range) => range,
        other => panic!("{other:?}"),
    }
}

fn ports(text: &str) -> Ports {
    text.parse().expect("ports")
}

fn walk(mut set: TargetSet) -> Vec<Target> {
    let mut targets = Vec::new();
    while let Poll::Ready(Some(target)) = set.poll_target() {
        targets.push(target);
        assert_eq!(set.remaining(), Some(set.len() - targets.len() as u64));
    }
    targets
}

fn build(builder: TargetSetBuilder, order: Order) -> (TargetSet, Tally) {
    builder.build(order, 1).expect("few enough")
}

fn shown(targets: &[Target]) -> Vec<(String, u32)> {
    targets.iter().map(|target| (target.address.to_string(), target.origin)).collect()
}

#[test]
fn the_first_mention_wins_and_later_ones_are_duplicates() {
    let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
    builder.add(hosts("8.0.0.2"), &ports("7"), 0, 10, false);
    builder.add(hosts("8.0.0.0/30"), &ports("7,8"), 0, 11, false);
    builder.add(hosts("8.0.0.2-8.0.0.4"), &ports("8"), 0, 12, false);
    builder.add(hosts("8.0.0.2"), &ports("7"), 1, 13, false);
    builder.add(hosts("8.0.0.2"), &ports("7"), 0, 14, false);
    let (set, tally) = build(builder, Order::Input);
    let expected = [
        ("8.0.0.2:7", 10),
        ("8.0.0.0:7", 11),
        ("8.0.0.0:8", 11),
        ("8.0.0.1:7", 11),
        ("8.0.0.1:8", 11),
        ("8.0.0.2:8", 11),
        ("8.0.0.3:7", 11),
        ("8.0.0.3:8", 11),
        ("8.0.0.4:8", 12),
        ("8.0.0.2:7", 13),
    ];
    assert_eq!(shown(&walk(set)), expected.map(|(address, origin)| (address.to_owned(), origin)));
    assert_eq!(tally, Tally { read: 14, duplicate: 4, ..Tally::default() });
}

#[test]
fn a_mention_that_has_ended_does_not_win_over_one_that_goes_on() {
    let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
    builder.add(hosts("8.0.0.0-8.0.0.1"), &ports("7"), 0, 10, false);
    builder.add(hosts("8.0.0.0-8.0.0.3"), &ports("7"), 0, 11, false);
    let (set, tally) = build(builder, Order::Input);
    let expected = [("8.0.0.0:7", 10), ("8.0.0.1:7", 10), ("8.0.0.2:7", 11), ("8.0.0.3:7", 11)];
    assert_eq!(shown(&walk(set)), expected.map(|(address, origin)| (address.to_owned(), origin)));
    assert_eq!(tally, Tally { read: 6, duplicate: 2, ..Tally::default() });
}

#[test]
fn all_of_ipv4_on_all_ports_is_counted_exactly() {
    let mut exclusions = Exclusions::new(false);
    exclusions.exclude(hosts("8.0.0.0/8"), None);
    exclusions.exclude(hosts("9.0.0.0/8"), Some(&ports("80")));
    let mut builder = TargetSetBuilder::new(exclusions.into_zones());
    builder.add(hosts("0.0.0.0/0"), &Ports::all(), 0, 0, true);
    let (set, tally) = build(builder, Order::Shuffled);
    assert_eq!(tally.read, 65_535 << 32);
    assert_eq!(tally.invalid, 2 * 65_535); // 0.0.0.0 and 127.255.255.255
    assert_eq!(tally.excluded[ExclusionReason::Listed], (65_535 << 24) + (1 << 24));
    assert_eq!(tally.excluded[ExclusionReason::Private], 0);
    assert_eq!(tally.read, tally.invalid + tally.excluded.total() + set.len());
    assert!(set.nth(set.len() - 1).is_some() && set.nth(set.len()).is_none());
    assert!(set.has_ipv4() && !set.has_ipv6() && !set.all_loopback());
}

#[test]
fn too_many_targets_are_refused_rather_than_miscounted() {
    let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
    builder.add(hosts("::/0"), &Ports::all(), 0, 0, true);
    assert_eq!(builder.build(Order::Shuffled, 1).map(|(_, tally)| tally), Err(TooManyTargets));
    let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
    for plan in 0..=u16::MAX {
        builder.add(hosts("0.0.0.0/0"), &Ports::all(), plan, 0, true);
    }
    assert_eq!(builder.build(Order::Shuffled, 1).map(|(_, tally)| tally), Err(TooManyTargets));
}

#[test]
fn bad_lines_are_read_and_invalid() {
    let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
    builder.invalid();
    builder.invalid();
    builder.add(hosts("8.8.8.8"), &Ports::default(), 0, 0, false);
    let (set, tally) = build(builder, Order::Shuffled);
    assert!(set.is_empty() && set.nth(0).is_none() && !set.all_loopback());
    assert_eq!(tally, Tally { read: 2, invalid: 2, ..Tally::default() });
}

#[test]
fn a_set_knows_its_families_and_whether_it_stays_at_home() {
    for (texts, loopback, ipv4, ipv6) in [
        (&["127.0.0.2-127.255.255.254", "127.0.0.1", "::1"][..], true, true, true),
        (&["127.0.0.0/8", "8.8.8.8"], false, true, false),
        (&["126.255.255.255-127.0.0.1"], false, true, false),
        (&["2a00::1"], false, false, true),
    ] {
        let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
        for text in texts {
            builder.add(hosts(text), &ports("7"), 0, 0, false);
        }
        let (set, _) = build(builder, Order::Shuffled);
        assert_eq!((set.all_loopback(), set.has_ipv4(), set.has_ipv6()), (loopback, ipv4, ipv6), "{texts:?}");
    }
}

#[test]
fn a_seed_fixes_the_order() {
    let order = |seed| {
        let mut builder = TargetSetBuilder::new(Exclusions::new(false).into_zones());
        builder.add(hosts("8.0.0.0/24"), &ports("7"), 0, 0, true);
        walk(builder.build(Order::Shuffled, seed).expect("few enough").0)
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

/// One call of the builder.
#[derive(Debug, Clone)]
enum Call {
    Add { hosts: IpRange, ports: Ports, plan: u16, typed: bool },
    Exclude { hosts: IpRange, ports: Option<Ports> },
    Invalid,
}

/// The naive twin: every target one by one, in the order of mention.
fn expand(include_private: bool, calls: &[Call]) -> (Vec<Target>, Tally) {
    let listed = |ip: IpAddr, port: u16| {
        calls.iter().any(|call| match call {
            Call::Exclude { hosts, ports } => hosts.contains(ip) && ports.as_ref().is_none_or(|p| p.contains(port)),
            _ => false,
        })
    };
    let (mut kept, mut seen, mut tally) = (Vec::new(), HashSet::new(), Tally::default());
    for (origin, call) in calls.iter().enumerate() {
        match call {
            Call::Exclude { .. } => {}
            Call::Invalid => {
                tally.read += 1;
                tally.invalid += 1;
            }
            Call::Add { hosts, ports, plan, typed } => {
                let mut ip = hosts.first();
                loop {
                    for port in ports.iter() {
                        let address = SocketAddr::new(ip, port);
                        let class = blocklist::lookup(ip).map_or(blocklist::Class::Ordinary, |network| network.class);
                        tally.read += 1;
                        if class == blocklist::Class::Invalid {
                            tally.invalid += 1;
                        } else if listed(ip, port) {
                            tally.excluded[ExclusionReason::Listed] += 1;
                        } else if class == blocklist::Class::Reserved {
                            tally.excluded[ExclusionReason::Reserved] += 1;
                        } else if class == blocklist::Class::Private && !typed && !include_private {
                            tally.excluded[ExclusionReason::Private] += 1;
                        } else if seen.insert((*plan, address)) {
                            kept.push(Target { address, plan: *plan, origin: origin as u32 });
                        } else {
                            tally.duplicate += 1;
                        }
                    }
                    if ip == hosts.last() {
                        break;
                    }
                    ip = match ip {
                        IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits() + 1).into(),
                        IpAddr::V6(ip) => std::net::Ipv6Addr::from_bits(ip.to_bits() + 1).into(),
                    };
                }
            }
        }
    }
    (kept, tally)
}

/// Short ranges around the places where something changes, so that they overlap each other and the blocklist.
fn some_hosts() -> impl Strategy<Value = IpRange> {
    let places = prop::sample::select(vec![
        "8.0.0.0",
        "8.0.0.8",
        "10.0.0.0",
        "127.255.255.250",
        "192.0.1.252",
        "0.0.0.0",
        "255.255.255.240",
        "::",
        "2a00::1",
        "64:ff9a:ffff:ffff:ffff:ffff:ffff:fffc",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0",
    ]);
    let anchors = prop_oneof![Just("8.0.0.0"), places];
    (anchors, 0_u128..10, prop_oneof![Just(0_u128), 0_u128..7]).prop_map(|(anchor, from, more)| {
        let anchor: IpAddr = anchor.parse().expect("an address");
        let ip = |offset| match anchor {
            IpAddr::V4(ip) => IpAddr::from(Ipv4Addr::from_bits(ip.to_bits().saturating_add(offset as u32))),
            IpAddr::V6(ip) => IpAddr::from(std::net::Ipv6Addr::from_bits(ip.to_bits().saturating_add(offset))),
        };
        IpRange::new(ip(from), ip(from + more)).expect("it runs upwards")
    })
}

fn some_ports() -> impl Strategy<Value = Ports> {
    let range = (1_u16..6, 0_u16..3).prop_map(|(first, more)| (first, first + more));
    prop_oneof![(1_u16..4).prop_map(Ports::one), prop::collection::vec(range, 1..3).prop_map(Ports::from_ranges)]
}

fn some_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        12 => (some_hosts(), some_ports(), 0_u16..2, any::<bool>())
            .prop_map(|(hosts, ports, plan, typed)| Call::Add { hosts, ports, plan, typed }),
        2 => (some_hosts(), prop::option::of(some_ports())).prop_map(|(hosts, ports)| Call::Exclude { hosts, ports }),
        1 => Just(Call::Invalid),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_set_is_what_expanding_everything_gives(
        include_private: bool,
        calls in prop::collection::vec(some_call(), 0..24),
        seed: u64,
    ) {
        let (expected, expected_tally) = expand(include_private, &calls);
        for order in [Order::Input, Order::Shuffled] {
            let mut exclusions = Exclusions::new(include_private);
            for call in &calls {
                if let Call::Exclude { hosts, ports } = call {
                    exclusions.exclude(*hosts, ports.as_ref());
                }
            }
            let mut builder = TargetSetBuilder::new(exclusions.into_zones());
            for (origin, call) in calls.iter().enumerate() {
                match call {
                    Call::Add { hosts, ports, plan, typed } => builder.add(*hosts, ports, *plan, origin as u32, *typed),
                    Call::Exclude { .. } => {}
                    Call::Invalid => builder.invalid(),
                }
            }
            let zones = builder.zones().clone();
            let (set, tally) = builder.build(order, seed).expect("few enough");
            prop_assert_eq!(tally, expected_tally);
            prop_assert_eq!(tally.read, tally.invalid + tally.duplicate + tally.excluded.total() + set.len());
            let (mut targets, mut expected) = (walk(set), expected.clone());
            prop_assert!(targets.iter().all(|target| zones.ruling(&target.address, true).is_none()));
            if order == Order::Shuffled {
                targets.sort_unstable_by_key(|target| (target.plan, target.address));
                expected.sort_unstable_by_key(|target| (target.plan, target.address));
            }
            prop_assert_eq!(targets, expected);
        }
    }

    #[test]
    fn the_same_set_has_the_same_order_however_it_was_written(
        calls in prop::collection::vec(some_call(), 0..24),
        seed: u64,
        mix: u64,
    ) {
        let zones = || Exclusions::new(true).into_zones();
        let mut builder = TargetSetBuilder::new(zones());
        for call in &calls {
            if let Call::Add { hosts, ports, plan, .. } = call {
                builder.add(*hosts, ports, *plan, 0, false);
            }
        }
        let expected = walk(builder.build(Order::Shuffled, seed).expect("few enough").0);
        // Target by target, in any order, some of them as arguments, some twice.
        let mut singles = expected.clone();
        singles.sort_unstable();
        let order = Permutation::new(singles.len() as u64, mix);
        let mut builder = TargetSetBuilder::new(zones());
        for index in 0..singles.len() as u64 {
            let Target { address, plan, .. } = singles[order.apply(index) as usize];
            for _ in 0..=mix.wrapping_add(index) % 2 {
                builder.add(address.ip().into(), &Ports::one(address.port()), plan, 0, index % 3 == 0);
            }
        }
        prop_assert_eq!(walk(builder.build(Order::Shuffled, seed).expect("few enough").0), expected);
    }
}
