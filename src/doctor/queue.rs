//! The queue of the network interface: does a burst of one socket fit into it?

use super::{Finding, Level, Machine, Workload};
use crate::net::BATCH;

/// A queueing discipline, as `tc -s qdisc show` prints it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Qdisc {
    /// Its name, such as `fq`.
    pub kind: String,
    /// Packets that it holds.
    pub limit: Option<u64>,
    /// Packets of one flow that it holds; to `fq` a flow is a socket.
    pub flow_limit: Option<u64>,
    /// Packets that it has dropped.
    pub dropped: u64,
}

impl Qdisc {
    /// Reads what `tc -s qdisc show dev NAME` printed; disciplines of arriving packets are left out.
    pub(super) fn read(text: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut is_of_arrivals = false;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["qdisc", kind, ..] = words[..] {
                is_of_arrivals = matches!(kind, "ingress" | "clsact");
                if !is_of_arrivals {
                    let packets = |name| after(&words, name)?.strip_suffix('p')?.parse().ok();
                    let (limit, flow_limit) = (packets("limit"), packets("flow_limit"));
                    found.push(Self { kind: kind.to_owned(), limit, flow_limit, dropped: 0 });
                }
            } else if let Some(last) = found.last_mut().filter(|_| !is_of_arrivals)
                && let Some(dropped) =
                    after(&words, "(dropped").and_then(|number| number.trim_end_matches(',').parse().ok())
            {
                last.dropped = dropped;
            }
        }
        found
    }

    /// How many packets of one socket fit into it.
    fn room(&self, tx_queue: Option<u64>) -> Room {
        let room = match self.kind.as_str() {
            // `mq` is made of others, which are in the list too; the others have no bound that a scan could meet.
            "mq" | "noqueue" | "cake" => return Room::Enough,
            "fq" => Some(self.flow_limit.unwrap_or(FQ_FLOW_LIMIT).min(self.limit.unwrap_or(u64::MAX))),
            "pfifo_fast" => tx_queue,
            "pfifo" | "pfifo_head_drop" | "fq_codel" | "codel" | "fq_pie" | "pie" | "sfq" => self.limit,
            _ => None,
        };
        room.map_or(Room::Unknown, Room::Packets)
    }
}

/// How much fits into a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// So many packets.
    Packets(u64),
    /// It could not be learned.
    Unknown,
    /// There is no bound, or no queue.
    Enough,
}

fn after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().skip_while(|word| **word != name).nth(1).copied()
}

/// The queues of the interface, against a burst.
///
/// What finds no room is dropped, and the kernel tells the scan, which sends it again a little later. So what is lost is
/// the pace; but only for programs that ask for such errors, as this one does.
pub(super) fn check(machine: &Machine, workload: &Workload) -> Finding {
    const NAME: &str = "interface queue";
    let burst = burst(workload);
    let need = format!("room for {burst} datagrams, which is a batch or 10 ms at {}", workload.pace());
    let Some(interface) = &machine.interface else {
        return Finding::not_looked_at(NAME, "there is no default route; name an interface with --interface", need);
    };
    let Some(qdiscs) = machine.qdiscs.as_ref().filter(|qdiscs| !qdiscs.is_empty()) else {
        return Finding::not_looked_at(NAME, "the program `tc`, of iproute2, is missing or says nothing", need);
    };
    let tightest = qdiscs.iter().min_by_key(|qdisc| qdisc.room(machine.tx_queue));
    let Some((kind, room)) = tightest.map(|qdisc| (&qdisc.kind, qdisc.room(machine.tx_queue))) else {
        return Finding::not_looked_at(NAME, "there is no queue", need);
    };
    let dropped = qdiscs.iter().map(|qdisc| qdisc.dropped).max().unwrap_or(0);
    let drops = if dropped > 0 { format!("; it has dropped {dropped} so far") } else { String::new() };
    let fits = match room {
        Room::Packets(room) if kind == "fq" => format!("room for {room} datagrams of one socket"),
        Room::Packets(room) => format!("room for {room} datagrams"),
        Room::Unknown => "no bound that this check knows".to_owned(),
        Room::Enough => "no bound that a scan meets".to_owned(),
    };
    let level = match room {
        Room::Packets(room) if room < burst => Level::Loss,
        _ if dropped > 0 => Level::Note,
        Room::Unknown => Level::Unknown,
        _ => Level::Ok,
    };
    let finding = Finding::new(NAME, level, format!("{kind} on {interface}: {fits}{drops}"), need);
    if level == Level::Loss {
        finding.mended_by(mend(&quoted(interface), kind, burst, machine.tx_queue))
    } else {
        finding
    }
}

/// Datagrams that may have to wait in the queue at once: a driver that is not served for a moment, or a batch.
fn burst(workload: &Workload) -> u64 {
    let of_a_moment = workload.rate.map_or(FASTEST, |rate| (rate * MOMENT).ceil() as u64);
    of_a_moment.clamp(BATCH as u64, MOST)
}

fn mend(interface: &str, kind: &str, burst: u64, tx_queue: Option<u64>) -> String {
    let room = burst.next_power_of_two().max(1_000);
    let mut mend = Vec::new();
    if tx_queue.is_none_or(|length| length < burst) {
        mend.push(format!("ip link set dev {interface} txqueuelen {room}"));
    }
    if kind != "pfifo_fast" {
        mend.push(format!("tc qdisc replace dev {interface} root pfifo_fast"));
    }
    if kind == "fq" {
        let all = room.max(10_000);
        mend.push(format!("# or, to keep fq:\ntc qdisc replace dev {interface} root fq limit {all} flow_limit {room}"));
    }
    mend.join("\n")
}

/// `name` as a shell takes it for one word: the kernel lets it be nearly anything.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

/// What `fq` holds of a flow unless told otherwise.
const FQ_FLOW_LIMIT: u64 = 100;
/// Seconds for which a driver may not be served.
const MOMENT: f64 = 0.01;
/// Datagrams of a moment where the pace has no limit: those of 100,000 a second.
const FASTEST: u64 = 1_000;
/// No queue needs to hold more.
const MOST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const FQ: &str = "\
qdisc mq 8001: root 
 Sent 52 bytes 1 pkt (dropped 7, overlimits 0 requeues 0) 
 backlog 0b 0p requeues 0
qdisc fq 0: parent 8001:1 limit 10000p flow_limit 100p buckets 1024 orphan_mask 1023 quantum 3028b initial_quantum 15140b
 Sent 52 bytes 1 pkt (dropped 7, overlimits 0 requeues 0) 
 backlog 0b 0p requeues 0
  flows 3 (inactive 1 throttled 0)
qdisc clsact ffff: parent ffff:fff1 
 Sent 0 bytes 0 pkt (dropped 9, overlimits 0 requeues 0) 
";

    fn finding(qdiscs: Vec<Qdisc>, rate: Option<f64>) -> Finding {
        let interface = Some("eth0".to_owned());
        let machine = Machine { interface, qdiscs: Some(qdiscs), tx_queue: Some(1_000), ..Machine::default() };
        check(&machine, &Workload { rate, window: 10_000 })
    }

    fn qdisc(kind: &str, limit: Option<u64>) -> Qdisc {
        Qdisc { kind: kind.to_owned(), limit, ..Qdisc::default() }
    }

    #[test]
    fn what_tc_prints_is_read_without_the_queues_of_arrivals() {
        let fq = Qdisc { kind: "fq".to_owned(), limit: Some(10_000), flow_limit: Some(100), dropped: 7 };
        assert_eq!(Qdisc::read(FQ), [Qdisc { dropped: 7, ..qdisc("mq", None) }, fq]);
        let text = "qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms ecn";
        assert_eq!(Qdisc::read(text), [qdisc("fq_codel", Some(10_240))]);
        assert_eq!(Qdisc::read("qdisc bfifo 8003: root refcnt 2 limit 10000b"), [qdisc("bfifo", None)]);
        assert!(Qdisc::read("Cannot find device").is_empty());
        assert!(Qdisc::read(" Sent 0 bytes 0 pkt (dropped 9, overlimits 0").is_empty());
    }

    #[test]
    fn fq_drops_the_bursts_of_one_socket_once_they_are_longer_than_its_flows() {
        let finding = |rate| finding(Qdisc::read(FQ), rate);
        assert_eq!(finding(Some(2_000.0)).level, Level::Note, "64 fit; but it has dropped some");
        assert_eq!(finding(Some(10_000.0)).level, Level::Note);
        for (rate, mend) in [
            (
                Some(50_000.0),
                "tc qdisc replace dev eth0 root pfifo_fast\n# or, to keep fq:\ntc qdisc replace dev eth0 root fq limit 10000 flow_limit 1000",
            ),
            (
                Some(1e6),
                "ip link set dev eth0 txqueuelen 16384\ntc qdisc replace dev eth0 root pfifo_fast\n# or, to keep fq:\ntc qdisc replace dev eth0 root fq limit 16384 flow_limit 16384",
            ),
        ] {
            let finding = finding(rate);
            assert_eq!((finding.level, finding.mend.as_deref()), (Level::Loss, Some(mend)));
            assert!(finding.seen.starts_with("fq on eth0: room for 100 datagrams of one socket; it has dropped 7"));
        }
        assert_eq!(finding(None).level, Level::Loss);
    }

    #[test]
    fn common_queues_hold_what_a_scan_sends() {
        for qdisc in [qdisc("pfifo_fast", None), qdisc("noqueue", None), qdisc("fq_codel", Some(10_240))] {
            let finding = finding(vec![qdisc], None);
            assert_eq!((finding.level, finding.mend), (Level::Ok, None), "{}", finding.seen);
        }
    }

    #[test]
    fn a_short_queue_is_mended_by_its_length_and_another_by_a_plain_one() {
        let interface = Some("a b'c".to_owned());
        let machine = Machine { interface, tx_queue: Some(10), ..Machine::default() };
        let short = Machine { qdiscs: Some(vec![qdisc("pfifo_fast", None)]), ..machine };
        let finding = check(&short, &Workload { rate: Some(1.0), window: 10_000 });
        assert_eq!(finding.level, Level::Loss);
        assert_eq!(finding.mend.as_deref(), Some(r"ip link set dev 'a b'\''c' txqueuelen 1000"));
        let sfq = self::finding(vec![qdisc("sfq", Some(127))], Some(20_000.0));
        assert_eq!(sfq.mend.as_deref(), Some("tc qdisc replace dev eth0 root pfifo_fast"));
    }

    #[test]
    fn a_queue_that_is_not_known_is_not_judged() {
        assert_eq!(finding(vec![qdisc("htb", None)], None).level, Level::Unknown);
        let tight = finding(vec![qdisc("htb", None), qdisc("pfifo", Some(50))], None);
        assert_eq!(tight.level, Level::Loss, "what is known inside of it is");
        assert_eq!(finding(Vec::new(), None).level, Level::Unknown);
    }
}
