//! Reads a [`Machine`]: files of /proc and /sys, what `tc` prints, and what a socket is granted. None of it needs root, and
//! what is not there, as in a container, is `None`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::{Machine, Qdisc, Tracking};
use crate::net::options::Local;
use crate::net::socket;

/// Looks at this machine; datagrams leave through `interface`, or else through that of the default route.
#[must_use]
pub(crate) fn look(interface: Option<&str>) -> Machine {
    let interface = interface.map(str::to_owned).or_else(default_interface);
    let of_interface = |file| number(&format!("{INTERFACES}/{}/{file}", interface.as_deref()?));
    let counters = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    Machine {
        granted: socket::open(&Local::default(), false).ok().map(|(_, granted)| granted),
        rmem_max: number("/proc/sys/net/core/rmem_max"),
        wmem_max: number("/proc/sys/net/core/wmem_max"),
        receive_buffer_errors: udp_counter(&counters, "RcvbufErrors"),
        receive_errors: udp_counter(&counters, "InErrors"),
        tracking: tracking(),
        qdiscs: interface.as_deref().and_then(qdiscs),
        tx_queue: of_interface("tx_queue_len"),
        open_files: fs::read_to_string("/proc/self/limits").ok().and_then(|limits| open_files(&limits)),
        governors: governors(),
        cpus: thread::available_parallelism().ok().map(usize::from),
        mtu: of_interface("mtu"),
        loopback_mtu: number(&format!("{INTERFACES}/lo/mtu")),
        fragments: number("/proc/sys/net/ipv4/ipfrag_high_thresh"),
        interface,
    }
}

/// Names of the network interfaces; none if they cannot be listed.
#[must_use]
pub(crate) fn interfaces() -> Option<Vec<String>> {
    // Two lines of headings, then `NAME: COUNTERS`. (The folder in /sys may be that of another network namespace.)
    let devices = fs::read_to_string("/proc/net/dev").ok()?;
    Some(devices.lines().skip(2).filter_map(|line| Some(line.rsplit_once(':')?.0.trim().to_owned())).collect())
}

/// The one number that a file holds.
fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The interface of the default route, of IPv4 or else of IPv6.
fn default_interface() -> Option<String> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    ipv4_default(&read("/proc/net/route")).or_else(|| ipv6_default(&read("/proc/net/ipv6_route")))
}

/// Of `Iface Destination Gateway Flags RefCnt Use Metric Mask …`, in hexadecimal but for the metric: the cheapest that is
/// up and goes everywhere.
fn ipv4_default(routes: &str) -> Option<String> {
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, "00000000", _, flags, _, _, metric, "00000000", ..] = words[..] else { return None };
        is_usable(flags).then_some((metric.parse::<u32>().ok()?, name.to_owned()))
    };
    routes.lines().filter_map(route).min_by_key(|(metric, _)| *metric).map(|(_, name)| name)
}

/// The same of `destination length source length next-hop metric references use flags name`.
fn ipv6_default(routes: &str) -> Option<String> {
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [destination, "00", _, _, _, metric, _, _, flags, name] = words[..] else { return None };
        let is_default = destination.bytes().all(|digit| digit == b'0') && is_usable(flags);
        is_default.then_some((u32::from_str_radix(metric, 16).ok()?, name.to_owned()))
    };
    routes.lines().filter_map(route).min_by_key(|(metric, _)| *metric).map(|(_, name)| name)
}

/// True if a route is up and does not say that there is none (`RTF_UP`, `RTF_REJECT`).
fn is_usable(flags: &str) -> bool {
    u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & 0x0001 != 0 && flags & 0x0200 == 0)
}

/// A counter in the two lines `Udp: NAME NAME …` and `Udp: NUMBER NUMBER …`.
fn udp_counter(counters: &str, name: &str) -> Option<u64> {
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let place = lines.next()?.split_whitespace().position(|other| other == name)?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

/// The two numbers of `Max open files SOFT HARD files`.
fn open_files(limits: &str) -> Option<(u64, u64)> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let limit = |word: &str| if word == "unlimited" { Some(u64::MAX) } else { word.parse().ok() };
    let mut words = line.split_whitespace();
    Some((limit(words.next()?)?, limit(words.next()?)?))
}

fn governors() -> Option<Vec<String>> {
    let entries = fs::read_dir("/sys/devices/system/cpu").ok()?;
    let of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("cpufreq/scaling_governor")).ok();
    let mut governors: Vec<_> = entries.flatten().filter_map(of).map(|governor| governor.trim().to_owned()).collect();
    governors.sort();
    governors.dedup();
    Some(governors)
}

fn qdiscs(interface: &str) -> Option<Vec<Qdisc>> {
    // It lies where the PATH of a plain user does not always lead.
    let tc = ["/usr/sbin/tc", "/sbin/tc", "/usr/bin/tc"].into_iter().find(|path| Path::new(path).exists());
    let mut command = Command::new(tc.unwrap_or("tc"));
    command.args(["-s", "qdisc", "show", "dev", interface]).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(Qdisc::read(&String::from_utf8_lossy(&output.stdout)))
}

fn tracking() -> Option<Tracking> {
    let read = |name: &str| number(&format!("/proc/sys/net/netfilter/nf_conntrack_{name}"));
    let count = || read("count");
    let (max, before) = (read("max")?, count()?);
    // The table is there whenever its module is loaded, also where no rule uses it or a rule leaves UDP out. Whether
    // new flows leave entries says which, by the majority because entries of others come and go in the meantime.
    let grows = || {
        let before = count()?;
        socket::make_flows(FLOWS).ok()?;
        Some(count()? >= before + u64::from(FLOWS) / 2)
    };
    let tries: Option<Vec<bool>> = (0..TRIES).map(|_| grows()).collect();
    let sees_udp = tries.map(|tries| tries.iter().filter(|grew| **grew).count() > TRIES / 2);
    Some(Tracking { max, count: before, udp_timeout: read("udp_timeout").unwrap_or(UDP_TIMEOUT), sees_udp })
}

const INTERFACES: &str = "/sys/class/net";
/// Flows of one try: more than come by chance, and few enough to matter to no table.
const FLOWS: u8 = 64;
const TRIES: usize = 3;
/// Seconds that the kernel keeps an entry unless told otherwise.
const UDP_TIMEOUT: u64 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_is_the_cheapest_that_is_up() {
        let routes = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth1\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
down0\t00000000\t0100A8C0\t0002\t0\t0\t1\t00000000\t0\t0\t0
half0\t00000000\t0100A8C0\t0003\t0\t0\t1\t00000080\t0\t0\t0
eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
";
        assert_eq!(ipv4_default(routes).as_deref(), Some("eth1"));
        assert_eq!(ipv4_default(""), None);
    }

    #[test]
    fn routes_of_ipv6_that_refuse_are_none() {
        let zero = "0".repeat(32);
        let route =
            |metric, flags, name| format!("{zero} 00 {zero} 00 {zero} {metric} 00000003 00000000 {flags}     {name}\n");
        let refusing = route("ffffffff", "00200200", "lo");
        assert_eq!(ipv6_default(&refusing), None);
        let routes = [route("00000400", "00000003", "eth0"), route("00000100", "00000003", "eth1"), refusing].concat();
        assert_eq!(ipv6_default(&routes).as_deref(), Some("eth1"));
    }

    #[test]
    fn counters_are_found_by_name() {
        let counters = "\
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors
Udp: 10 20 42 30 41 0
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors
UdpLite: 1 2 3 4 5 6
";
        assert_eq!((udp_counter(counters, "InErrors"), udp_counter(counters, "RcvbufErrors")), (Some(42), Some(41)));
        assert_eq!(udp_counter(counters, "MemErrors"), None);
        assert_eq!(udp_counter("", "InErrors"), None);
    }

    #[test]
    fn limits_are_numbers_or_none() {
        let limits = "Max processes             96365   96365   processes \nMax open files            1024    unlimited  files     \n";
        assert_eq!(open_files(limits), Some((1_024, u64::MAX)));
        assert_eq!(open_files("Max open files"), None);
    }

    #[test]
    fn an_interface_that_is_not_there_leaves_its_values_open() {
        let machine = look(Some("no such one"));
        assert_eq!((machine.mtu, machine.tx_queue), (None, None));
        assert_eq!(machine.interface.as_deref(), Some("no such one"));
    }
}
