//! Everything around the way of a datagram: packet sizes, reassembly, open files, CPUs.

use super::{Finding, Level, Machine, Workload};

/// Packet sizes, against the largest replies that are sent in one piece.
pub(super) fn mtu(machine: &Machine) -> Finding {
    const NAME: &str = "packet size";
    let need = format!("{FULL} bytes");
    let name = machine.interface.as_deref().unwrap_or("the interface");
    let interfaces = [(name, machine.mtu), ("lo", machine.loopback_mtu)];
    let mut known: Vec<_> = interfaces.into_iter().filter_map(|(name, mtu)| Some((name, mtu?))).collect();
    known.dedup();
    if known.is_empty() {
        return Finding::not_looked_at(NAME, "there is no MTU in /sys/class/net", need);
    }
    let seen: Vec<_> = known.iter().map(|(name, mtu)| format!("{mtu} on {name}")).collect();
    let mut seen = seen.join(", ");
    let level = if known.iter().any(|(_, mtu)| *mtu < FULL) { Level::Note } else { Level::Ok };
    if level == Level::Note {
        seen.push_str(": replies of 1400 bytes come in fragments, and are lost where a firewall drops those");
    }
    // A tunnel or an overlay has its MTU for a reason: there is no command that would be right everywhere.
    Finding::new(NAME, level, seen, need)
}

/// Room for fragments of IPv4 packets.
pub(super) fn fragments(machine: &Machine) -> Finding {
    const NAME: &str = "reassembly";
    let need = format!("{REASSEMBLY} bytes, as the kernel has by itself");
    let Some(room) = machine.fragments else {
        return Finding::not_looked_at(NAME, "/proc/sys/net/ipv4/ipfrag_high_thresh is not there", need);
    };
    let seen = format!("{room} bytes for fragments that wait for others");
    if room >= REASSEMBLY {
        return Finding::new(NAME, Level::Ok, seen, need);
    }
    Finding::new(NAME, Level::Note, seen, need).mended_by(format!("sysctl -w net.ipv4.ipfrag_high_thresh={REASSEMBLY}"))
}

/// Files and sockets that may be open.
pub(super) fn open_files(machine: &Machine) -> Finding {
    const NAME: &str = "open files";
    let need = format!("{FILES} for sockets, files and look-ups of names");
    let Some((soft, hard)) = machine.open_files else {
        return Finding::not_looked_at(NAME, "/proc/self/limits does not say", need);
    };
    let limit = |limit: u64| if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() };
    let seen = format!("{}, and {} at most", limit(soft), limit(hard));
    if soft >= FILES {
        return Finding::new(NAME, Level::Ok, seen, need);
    }
    let mend = if hard >= FILES {
        format!("ulimit -n {}", hard.min(1_024))
    } else {
        // Only root may lift the upper one, and `$$` is the shell that the scan is started from.
        "prlimit --pid $$ --nofile=1024:1024".to_owned()
    };
    Finding::new(NAME, Level::Loss, format!("{seen}: names and outputs fail"), need).mended_by(mend)
}

/// CPUs. A scan has one thread for the network and one for the rows.
pub(super) fn cpus(machine: &Machine) -> Finding {
    const NAME: &str = "cpus";
    let need = "2: one for the network, one for the rows";
    match machine.cpus {
        None => Finding::not_looked_at(NAME, "the system does not say how many there are", need),
        Some(1) => Finding::new(NAME, Level::Note, "1: what arrives waits while rows are written", need),
        Some(cpus) => Finding::new(NAME, Level::Ok, cpus.to_string(), need),
    }
}

/// How the CPUs' frequency is governed, which matters at high rates only.
pub(super) fn governor(machine: &Machine, workload: &Workload) -> Finding {
    const NAME: &str = "cpu frequency";
    let need = format!("anything but powersave from {HIGH_RATE}/s on");
    let Some(first) = machine.governors.as_ref().and_then(|governors| governors.first()) else {
        return Finding::not_looked_at(NAME, "there is no governor in /sys/devices/system/cpu", need);
    };
    let saves = machine.governors.iter().flatten().any(|governor| governor == "powersave");
    let seen = if saves { "powersave" } else { first };
    if !saves || workload.rate.is_some_and(|rate| rate < HIGH_RATE) {
        return Finding::new(NAME, Level::Ok, seen, need);
    }
    let mend = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    Finding::new(NAME, Level::Note, format!("{seen}: slow to wake up for a burst"), need).mended_by(mend)
}

/// Bytes of a packet with 1400 bytes of payload, as Valve's servers cut their replies, and headers of IPv4 and UDP.
const FULL: u64 = 1_428;
/// The kernel's own default of `net.ipv4.ipfrag_high_thresh`.
const REASSEMBLY: u64 = 4 << 20;
/// Descriptors of a scan: some ten of its own, those of sixteen threads that look up names, and some to spare.
const FILES: u64 = 128;
/// Datagrams a second from which on a CPU that has to be woken up is late.
const HIGH_RATE: f64 = 10_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_are_a_note() {
        let mtu = |eth, lo| {
            let interface = Some("wg0".to_owned());
            mtu(&Machine { interface, mtu: eth, loopback_mtu: lo, ..Machine::default() })
        };
        assert_eq!(mtu(Some(1_500), Some(65_536)).seen, "1500 on wg0, 65536 on lo");
        for (eth, lo, level) in [
            (Some(1_500), Some(65_536), Level::Ok),
            (Some(1_428), None, Level::Ok),
            (Some(1_420), Some(65_536), Level::Note),
            (None, Some(1_280), Level::Note),
            (None, None, Level::Unknown),
        ] {
            assert_eq!(mtu(eth, lo).level, level, "{eth:?} {lo:?}");
        }
    }

    #[test]
    fn less_room_for_fragments_than_usual_is_a_note() {
        let fragments = |room| fragments(&Machine { fragments: Some(room), ..Machine::default() });
        assert_eq!(fragments(4_194_304).level, Level::Ok);
        let finding = fragments(262_144);
        assert_eq!(finding.level, Level::Note);
        assert_eq!(finding.mend.as_deref(), Some("sysctl -w net.ipv4.ipfrag_high_thresh=4194304"));
    }

    #[test]
    fn too_few_files_are_lifted_as_far_as_it_goes() {
        let files = |soft, hard| open_files(&Machine { open_files: Some((soft, hard)), ..Machine::default() });
        assert_eq!(files(1_024, u64::MAX).level, Level::Ok);
        assert_eq!(files(1_024, u64::MAX).seen, "1024, and unlimited at most");
        for (soft, hard, mend) in
            [(64, 4_096, "ulimit -n 1024"), (64, 512, "ulimit -n 512"), (64, 64, "prlimit --pid $$ --nofile=1024:1024")]
        {
            let finding = files(soft, hard);
            assert_eq!((finding.level, finding.mend.as_deref()), (Level::Loss, Some(mend)));
        }
    }

    #[test]
    fn one_cpu_is_a_note() {
        let level = |cpus| cpus_level(Some(cpus));
        assert_eq!((level(1), level(2), cpus_level(None)), (Level::Note, Level::Ok, Level::Unknown));
    }

    fn cpus_level(count: Option<usize>) -> Level {
        cpus(&Machine { cpus: count, ..Machine::default() }).level
    }

    #[test]
    fn saving_power_matters_at_high_rates() {
        let level = |governors: &[&str], rate| {
            let governors = Some(governors.iter().map(|&name| name.to_owned()).collect());
            governor(&Machine { governors, ..Machine::default() }, &Workload { rate, window: 1 }).level
        };
        assert_eq!(level(&["powersave"], Some(2_000.0)), Level::Ok);
        assert_eq!(level(&["performance", "powersave"], Some(50_000.0)), Level::Note);
        assert_eq!(level(&["powersave"], None), Level::Note);
        assert_eq!(level(&["schedutil"], None), Level::Ok);
        assert_eq!(level(&[], None), Level::Unknown);
    }
}
