//! Connection tracking: every target of a scan becomes an entry of a table, and a full table takes no more.

use super::{Finding, Level, Machine, Workload};

/// The table, against the entries that a scan makes.
pub(super) fn check(machine: &Machine, workload: &Workload) -> Finding {
    const NAME: &str = "connection tracking";
    let Some(table) = machine.tracking else {
        let what = "/proc/sys/net/netfilter/nf_conntrack_max is not there, as where nothing tracks connections";
        return Finding::not_looked_at(NAME, what, "a table that holds a scan, or none");
    };
    let timeout = table.udp_timeout;
    let seen = format!("{} of {} entries are taken, and one of UDP is kept for {timeout} s", table.count, table.max);
    // Each datagram makes one entry at most, and a later one to the same target keeps it for as long again.
    let entries = workload.rate.map(|rate| (rate * timeout as f64).ceil() as u64);
    let need = match entries {
        Some(entries) => format!("{entries} entries at {}", workload.pace()),
        None => "more entries than a table has, at --rate max".to_owned(),
    };
    if table.sees_udp == Some(false) {
        let seen = format!("{seen}; but UDP is not tracked, as datagrams over loopback showed");
        return Finding::new(NAME, Level::Ok, seen, need);
    }
    let all = entries.and_then(|entries| entries.checked_add(table.count)).filter(|all| *all <= MOST_ENTRIES);
    if all.is_some_and(|all| all <= table.max) {
        return Finding::new(NAME, Level::Ok, seen, need);
    }
    let mut mend = String::new();
    if let Some(all) = all {
        let max = all.next_power_of_two();
        let memory = (max * ENTRY).div_ceil(1 << 20);
        mend =
            format!("# a larger table, of up to {memory} MiB:\nsysctl -w net.netfilter.nf_conntrack_max={max}\n# or ");
    } else {
        mend.push_str("# ");
    }
    mend.push_str(UNTRACKED);
    Finding::new(NAME, Level::Loss, seen, need).mended_by(mend)
}

/// Rules that leave UDP out of the table, in the two languages there are.
const UNTRACKED: &str = "\
no tracking of UDP (not where this machine forwards for others, such as containers; a firewall then has to let \
answers in by `ct state untracked` or by port), with nft (undone by `nft delete table inet fragscan`):
nft 'add table inet fragscan; \
add chain inet fragscan output { type filter hook output priority raw; }; \
add chain inet fragscan prerouting { type filter hook prerouting priority raw; }; \
add rule inet fragscan output meta l4proto udp notrack; \
add rule inet fragscan prerouting meta l4proto udp notrack'
# or the same with iptables (ip6tables for IPv6):
iptables -t raw -A OUTPUT -p udp -j CT --notrack && iptables -t raw -A PREROUTING -p udp -j CT --notrack";
/// A table of more entries than this (5 GiB) is no way out.
const MOST_ENTRIES: u64 = 1 << 24;
/// Bytes of an entry (`nf_conntrack` in /proc/slabinfo: 256 to 320).
const ENTRY: u64 = 320;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Tracking;

    fn finding(max: u64, count: u64, sees_udp: Option<bool>, rate: Option<f64>) -> Finding {
        let tracking = Some(Tracking { max, count, udp_timeout: 30, sees_udp });
        check(&Machine { tracking, ..Machine::default() }, &Workload { rate, window: 10_000 })
    }

    #[test]
    fn a_table_is_full_when_rate_times_timeout_exceeds_it() {
        let level = |max, count, rate| finding(max, count, Some(true), Some(rate)).level;
        assert_eq!(level(262_144, 0, 2_000.0), Level::Ok);
        assert_eq!(level(65_536, 0, 2_000.0), Level::Ok, "60,000 fit");
        assert_eq!(level(60_000, 0, 2_000.0), Level::Ok);
        assert_eq!(level(60_000, 1, 2_000.0), Level::Loss, "others' entries count");
        assert_eq!(level(262_144, 0, 10_000.0), Level::Loss);
    }

    #[test]
    fn the_mend_is_a_table_that_fits_or_none() {
        let finding = finding(65_536, 6_000, Some(true), Some(2_000.0));
        assert_eq!(finding.need, "60000 entries at 2000/s");
        let mend = finding.mend.unwrap();
        let commands: Vec<_> = mend.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(commands[0], "sysctl -w net.netfilter.nf_conntrack_max=131072");
        assert!(commands[1].starts_with("nft 'add table inet fragscan; "), "{mend}");
        assert!(commands[2].starts_with("iptables -t raw -A OUTPUT -p udp "), "{mend}");
        assert_eq!(commands.len(), 3);
    }

    #[test]
    fn no_table_is_large_enough_for_no_limit() {
        for rate in [None, Some(1e12)] {
            let finding = finding(1 << 24, 0, None, rate);
            assert_eq!(finding.level, Level::Loss);
            assert!(!finding.mend.unwrap().contains("sysctl"), "{rate:?}");
        }
    }

    #[test]
    fn a_table_that_does_not_see_udp_does_not_matter() {
        let finding = finding(1_000, 0, Some(false), None);
        assert_eq!((finding.level, finding.mend), (Level::Ok, None));
        assert!(finding.seen.contains("not tracked"), "{}", finding.seen);
    }
}
