//! Socket buffers: can what arrives while the scanner does not look wait for it?

use super::{Finding, Level, Machine, Workload};
use crate::net::BATCH;
use crate::net::socket::BUFFER;

/// The receive buffer, against the answers of a stall and of a whole window.
///
/// Answers come as fast as questions go. A process that is not run for a second finds those of a second, and of no more
/// targets than were in flight. Less room than that loses datagrams; less than the window needs is worth a note.
pub(super) fn receive(machine: &Machine, workload: &Workload) -> Finding {
    const NAME: &str = "receive buffer";
    let (second, all) = (workload.datagrams(1.0), workload.datagrams(TARGET_SECONDS));
    let better = if all > second { format!(", better for all {all} that can be on their way") } else { String::new() };
    let need = format!("room for the {second} answers of one second{better}");
    let Some(granted) = machine.granted.map(|granted| granted.receive_buffer as u64) else {
        return Finding::not_looked_at(NAME, "no UDP socket could be opened", need);
    };
    let room = granted / SMALL;
    let seen = format!(
        "{granted} bytes{}: {room} small answers, or {} of 8 KB",
        source(granted, machine.rmem_max),
        granted / LARGE
    );
    let level = match room {
        _ if room < second => Level::Loss,
        _ if room < all => Level::Note,
        _ => return Finding::new(NAME, Level::Ok, seen, need),
    };
    // What is asked for is half of what is granted: the kernel doubles it, for its bookkeeping.
    let ask = (all * SMALL / 2).next_power_of_two().clamp(BUFFER as u64, MOST_BYTES);
    let mut mend = Vec::new();
    // A privileged scan is past the limit already; and a limit that is high enough is not what stands in the way.
    let is_forced = machine.rmem_max.is_some_and(|max| granted > 2 * max);
    if !is_forced && machine.rmem_max.is_none_or(|max| max < ask) {
        mend.push(format!("sysctl -w net.core.rmem_max={ask}"));
    }
    if ask > BUFFER as u64 {
        // Past the largest buffer only a smaller window helps.
        let most = 2 * MOST_BYTES / SMALL;
        let window = if all > most { format!(" --window {most}") } else { String::new() };
        let size = ask >> 20;
        mend.push(format!(
            "# the scan has to ask for it:\nfragscan scan --rcvbuf {size}M{window} -i servers.txt -o servers.csv"
        ));
    }
    let finding = Finding::new(NAME, level, seen, need);
    if mend.is_empty() { finding } else { finding.mended_by(mend.join("\n")) }
}

/// The send buffer, against a batch. What finds no room in it waits, and nothing is lost.
pub(super) fn send(machine: &Machine) -> Finding {
    const NAME: &str = "send buffer";
    let batch = BATCH as u64 * SMALL;
    let need = format!("{batch} bytes for a batch of {BATCH}");
    let Some(granted) = machine.granted.map(|granted| granted.send_buffer as u64) else {
        return Finding::not_looked_at(NAME, "no UDP socket could be opened", need);
    };
    let seen = format!("{granted} bytes{}", source(granted, machine.wmem_max));
    if granted >= batch {
        return Finding::new(NAME, Level::Ok, seen, need);
    }
    let seen = format!("{seen}: a scan sends fewer at a time");
    Finding::new(NAME, Level::Note, seen, need).mended_by(format!("sysctl -w net.core.wmem_max={BUFFER}"))
}

/// What was dropped so far, by any program.
pub(super) fn dropped(machine: &Machine) -> Finding {
    const NAME: &str = "dropped before";
    let need = "none; the drops of a scan stand in its summary";
    let (Some(full), Some(all)) = (machine.receive_buffer_errors, machine.receive_errors) else {
        return Finding::not_looked_at(NAME, "/proc/net/snmp has no counters of UDP", need);
    };
    let seen =
        format!("{all} UDP datagrams since the system started, {full} of them because a receive buffer was full");
    Finding::new(NAME, if all > 0 { Level::Note } else { Level::Ok }, seen, need)
}

/// How a buffer came to its size.
fn source(granted: u64, limit: Option<u64>) -> String {
    match limit {
        Some(limit) if granted > 2 * limit => {
            format!(" (past the system's limit of {limit}, as only a privileged process may)")
        }
        Some(limit) if (limit as usize) < BUFFER => format!(" (twice the system's limit of {limit})"),
        _ => String::new(),
    }
}

/// Bytes of a buffer that a datagram in one packet takes, with the kernel's bookkeeping (`truesize` of Linux 6 for the
/// buffers that drivers of network cards receive into).
const SMALL: u64 = 2_304;
/// The same for 8 KB, which come in six pieces.
const LARGE: u64 = 6 * SMALL;
/// Seconds that a target is in flight at most, with the defaults of a scan.
const TARGET_SECONDS: f64 = 10.0;
/// The largest buffer that a scan can ask for.
const MOST_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::socket::Granted;

    fn machine(receive_buffer: usize, send_buffer: usize, limit: Option<u64>) -> Machine {
        let granted = Some(Granted { receive_buffer, send_buffer });
        Machine { granted, rmem_max: limit, wmem_max: limit, ..Machine::default() }
    }

    fn workload(rate: f64) -> Workload {
        Workload { rate: Some(rate), window: 10_000 }
    }

    #[test]
    fn a_stock_limit_loses_at_the_default_rate_and_the_command_lifts_it() {
        let finding = receive(&machine(425_984, 425_984, Some(212_992)), &workload(2_000.0));
        assert_eq!(finding.level, Level::Loss);
        assert_eq!(finding.mend.as_deref(), Some("sysctl -w net.core.rmem_max=16777216"));
        assert!(finding.seen.contains("twice the system's limit of 212992"), "{}", finding.seen);
        assert!(finding.seen.contains("184 small answers, or 30 of 8 KB"), "{}", finding.seen);
        assert!(finding.need.contains("2000 answers of one second, better for all 10000"), "{}", finding.need);
    }

    #[test]
    fn a_slow_scan_needs_less() {
        let finding = receive(&machine(425_984, 425_984, Some(212_992)), &workload(100.0));
        assert_eq!(finding.level, Level::Note, "a second's fit, those of ten do not");
        assert_eq!(receive(&machine(425_984, 425_984, Some(212_992)), &workload(10.0)).level, Level::Ok);
    }

    #[test]
    fn a_forced_buffer_holds_the_default_window_and_says_that_it_was_forced() {
        let machine = machine(2 * BUFFER, 2 * BUFFER, Some(212_992));
        let finding = receive(&machine, &Workload { rate: None, window: 10_000 });
        assert_eq!((finding.level, finding.mend), (Level::Ok, None));
        assert!(finding.seen.contains("as only a privileged process may"), "{}", finding.seen);
    }

    #[test]
    fn a_window_beyond_the_default_buffer_needs_a_flag_and_the_limit_only_where_it_binds() {
        let wide = Workload { rate: None, window: 40_000 };
        let forced = receive(&machine(2 * BUFFER, 0, Some(212_992)), &wide);
        assert_eq!(forced.level, Level::Loss);
        let flag = "# the scan has to ask for it:\nfragscan scan --rcvbuf 64M -i servers.txt -o servers.csv";
        assert_eq!(forced.mend.as_deref(), Some(flag));
        let bound = receive(&machine(2 * BUFFER, 0, Some(BUFFER as u64)), &wide);
        assert_eq!(bound.mend, Some(format!("sysctl -w net.core.rmem_max=67108864\n{flag}")));
        let unbound = receive(&machine(2 * BUFFER, 0, Some(1 << 30)), &wide);
        assert_eq!(unbound.mend.as_deref(), Some(flag));
    }

    #[test]
    fn the_largest_window_asks_for_no_more_than_a_scan_takes() {
        let finding = receive(&machine(2 * BUFFER, 0, None), &Workload { rate: None, window: 4_000_000 });
        assert!(finding.mend.unwrap().contains("--rcvbuf 1024M --window 932067 "));
    }

    #[test]
    fn a_send_buffer_holds_a_batch_or_slows_a_scan_down() {
        assert_eq!(send(&machine(0, 425_984, Some(212_992))).level, Level::Ok);
        let finding = send(&machine(0, 131_072, Some(65_536)));
        assert_eq!(finding.level, Level::Note);
        assert_eq!(finding.mend.as_deref(), Some("sysctl -w net.core.wmem_max=16777216"));
    }

    #[test]
    fn earlier_drops_are_a_note_with_their_number() {
        let dropped =
            |full, all| dropped(&Machine { receive_buffer_errors: full, receive_errors: all, ..Machine::default() });
        let finding = dropped(Some(41), Some(42));
        assert_eq!((finding.level, finding.mend), (Level::Note, None));
        assert!(finding.seen.starts_with("42 ") && finding.seen.contains(" 41 of them"), "{}", finding.seen);
        assert_eq!(dropped(Some(0), Some(0)).level, Level::Ok);
        assert_eq!(dropped(None, Some(0)).level, Level::Unknown);
    }
}
