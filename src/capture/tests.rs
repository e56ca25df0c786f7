//! Captures in every format and on every link type, whole, cut and damaged.

use std::io::Write;
use std::net::SocketAddr;

use etherparse::{
    IpFragOffset, IpNumber, Ipv4Header, Ipv6FragmentHeader, Ipv6Header, PacketBuilder, UdpHeader, VlanId, ip_number,
};

use super::*;
use crate::rng::Rng;

const REPLY: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A server\0";

fn server() -> SocketAddr {
    "192.0.2.1:27015".parse().unwrap()
}

fn client() -> SocketAddr {
    "198.51.100.9:50000".parse().unwrap()
}

fn server6() -> SocketAddr {
    "[2001:db8::1]:27015".parse().unwrap()
}

fn client6() -> SocketAddr {
    "[2001:db8::9]:50000".parse().unwrap()
}

fn ipv4(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([192, 0, 2, 1], [198, 51, 100, 9], 64).udp(27015, 50000);
    builder.write(&mut packet, payload).unwrap();
    packet
}

fn ipv6(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let (std::net::IpAddr::V6(from), std::net::IpAddr::V6(to)) = (server6().ip(), client6().ip()) else { panic!() };
    let builder = PacketBuilder::ipv6(from.octets(), to.octets(), 64).udp(27015, 50000);
    builder.write(&mut packet, payload).unwrap();
    packet
}

fn ethernet(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&[1; 6][..], &[2; 6], &kind.to_be_bytes(), packet].concat()
}

/// A fragment of a reply in IPv4 (`udp` has its header) with `id`.
fn fragment4(id: u16, udp: &[u8], start: usize, end: usize) -> Vec<u8> {
    let mut header =
        Ipv4Header::new((end - start) as u16, 64, ip_number::UDP, [192, 0, 2, 1], [198, 51, 100, 9]).unwrap();
    header.identification = id;
    header.dont_fragment = false;
    header.more_fragments = end < udp.len();
    header.fragment_offset = IpFragOffset::try_new((start / 8) as u16).unwrap();
    let mut packet = Vec::new();
    header.write(&mut packet).unwrap();
    packet.extend(&udp[start..end]);
    packet
}

fn fragment6(id: u32, udp: &[u8], start: usize, end: usize) -> Vec<u8> {
    let (std::net::IpAddr::V6(from), std::net::IpAddr::V6(to)) = (server6().ip(), client6().ip()) else { panic!() };
    let header = Ipv6Header {
        payload_length: (8 + end - start) as u16,
        next_header: IpNumber::IPV6_FRAGMENTATION_HEADER,
        hop_limit: 64,
        source: from.octets(),
        destination: to.octets(),
        ..Ipv6Header::default()
    };
    let offset = IpFragOffset::try_new((start / 8) as u16).unwrap();
    let fragment = Ipv6FragmentHeader::new(ip_number::UDP, offset, end < udp.len(), id);
    [&header.to_bytes()[..], &fragment.to_bytes(), &udp[start..end]].concat()
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let header = UdpHeader::without_ipv4_checksum(27015, 50000, payload.len()).unwrap();
    [&header.to_bytes()[..], payload].concat()
}

fn number(big_endian: bool, value: u32) -> [u8; 4] {
    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn short(big_endian: bool, value: u16) -> [u8; 2] {
    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
}

/// A pcap file whose packets were captured at 1,700,000,000.25 s; each with the bytes that were left out of it.
fn pcap_of(big_endian: bool, nanoseconds: bool, link: u32, packets: &[(&[u8], usize)]) -> Vec<u8> {
    let magic = if nanoseconds { 0xA1B2_3C4D } else { 0xA1B2_C3D4 };
    let put = |value| number(big_endian, value);
    let mut file = put(magic).to_vec();
    file.extend([short(big_endian, 2), short(big_endian, 4)].concat());
    file.extend([put(0), put(0), put(0x4_0000), put(link)].concat());
    for (packet, missing) in packets {
        let fraction = if nanoseconds { 250_000_999 } else { 250_000 };
        let sizes = [put(packet.len() as u32), put((packet.len() + missing) as u32)];
        file.extend([put(1_700_000_000), put(fraction)].concat());
        file.extend(sizes.concat());
        file.extend(*packet);
    }
    file
}

fn pcap(link: u32, packets: &[&[u8]]) -> Vec<u8> {
    let packets: Vec<_> = packets.iter().map(|packet| (*packet, 0)).collect();
    pcap_of(false, false, link, &packets)
}

fn block(big_endian: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let size = number(big_endian, (body.len() + padding + 12) as u32);
    [&number(big_endian, kind)[..], &size, body, &[0; 3][..padding], &size].concat()
}

fn section(big_endian: bool) -> Vec<u8> {
    let body = [&number(big_endian, 0x1A2B_3C4D)[..], &short(big_endian, 1), &[0; 2], &[0xFF; 8]].concat();
    block(big_endian, 0x0A0D_0D0A, &body)
}

fn interface(big_endian: bool, link: u16, snap_length: u32, options: &[u8]) -> Vec<u8> {
    let body = [&short(big_endian, link)[..], &[0; 2], &number(big_endian, snap_length), options].concat();
    block(big_endian, 1, &body)
}

fn option(big_endian: bool, code: u16, value: &[u8]) -> Vec<u8> {
    let padding = value.len().next_multiple_of(4) - value.len();
    [&short(big_endian, code)[..], &short(big_endian, value.len() as u16), value, &[0; 3][..padding]].concat()
}

fn enhanced(big_endian: bool, interface: u32, time: u64, packet: &[u8], missing: usize) -> Vec<u8> {
    let put = |value| number(big_endian, value);
    let sizes = [put(packet.len() as u32), put((packet.len() + missing) as u32)].concat();
    let mut body = [put(interface), put((time >> 32) as u32), put(time as u32)].concat();
    body.extend(sizes);
    body.extend(packet);
    body.resize(body.len().next_multiple_of(4), 0);
    // A comment that is no UTF-8, as some programs write them.
    body.extend(option(big_endian, 1, b"caf\xE9"));
    block(big_endian, 6, &body)
}

/// A pcapng file in which everything stands that this module reads, with seven packets and six datagrams.
fn pcapng(big_endian: bool) -> Vec<u8> {
    let nanoseconds = [option(big_endian, 9, &[9]), option(big_endian, 0, &[])].concat();
    let offset = if big_endian { 1_700_000_000_i64.to_be_bytes() } else { 1_700_000_000_i64.to_le_bytes() };
    let binary = [option(big_endian, 9, &[0x8A]), option(big_endian, 14, &offset)].concat();
    let reply = udp(&[7; 3000]);
    [
        section(big_endian),
        interface(big_endian, 1, 0, &nanoseconds),
        block(big_endian, 0x8000_0BAD, b"whatever"),
        interface(big_endian, 101, 0, &binary),
        enhanced(big_endian, 0, 1_700_000_000_250_000_999, &ethernet(0x0800, &ipv4(REPLY)), 0),
        enhanced(big_endian, 1, 256, &ipv6(REPLY), 0),
        enhanced(big_endian, 1, 256, &fragment4(7, &reply, 1480, 2960), 0),
        enhanced(big_endian, 1, 512, &fragment4(7, &reply, 2960, 3008), 0),
        enhanced(big_endian, 1, 768, &fragment4(7, &reply, 0, 1480), 0),
        block(big_endian, 5, &[0; 12]),
        section(big_endian),
        interface(big_endian, 228, 60, &[]),
        block(big_endian, 3, &[&number(big_endian, ipv4(REPLY).len() as u32)[..], &ipv4(REPLY)].concat()),
        block(big_endian, 3, &[&number(big_endian, 200)[..], &ipv4(&[0; 172])[..60]].concat()),
    ]
    .concat()
}

/// The one datagram of a file.
fn one(file: &[u8]) -> Datagram {
    let mut reading = read("file", file).unwrap();
    assert_eq!((reading.datagrams.len(), reading.skipped.total()), (1, 0), "{:?}", reading.skipped);
    reading.datagrams.remove(0)
}

#[test]
fn pcap_is_read_in_its_four_forms() {
    for (big_endian, nanoseconds) in [(false, false), (false, true), (true, false), (true, true)] {
        let found = one(&pcap_of(big_endian, nanoseconds, 101, &[(&ipv4(REPLY), 0)]));
        assert_eq!((found.from, found.to), (Some(server()), Some(client())));
        assert_eq!((found.at_us, &found.data[..]), (Some(1_700_000_000_250_000), REPLY));
        assert_eq!((found.direction, found.line), (Direction::Unknown, None));
    }
}

#[test]
fn pcapng_is_read_in_both_byte_orders_with_all_its_times() {
    for big_endian in [false, true] {
        let Reading { datagrams, skipped } = read("file", &pcapng(big_endian)[..]).unwrap();
        let found: Vec<_> = datagrams
            .iter()
            .map(|found| (found.from, found.at_us.map(|at| at - 1_700_000_000_000_000), found.data.len()))
            .collect();
        let expected = [
            (Some(server()), Some(250_000), REPLY.len()),
            (Some(server6()), Some(250_000), REPLY.len()),
            (Some(server()), Some(750_000), 3000),
            (Some(server()), None, REPLY.len()),
        ];
        assert_eq!(found, expected);
        assert_eq!(skipped, Skipped { cut: 1, ..Skipped::default() });
    }
}

#[test]
fn every_link_type_leads_to_the_same_datagram() {
    let (four, six) = (ipv4(REPLY), ipv6(REPLY));
    let tag = |kind: u16, packet: &[u8]| {
        [&VlanId::try_new(42).unwrap().value().to_be_bytes(), &kind.to_be_bytes(), packet].concat()
    };
    let sll = |kind: u16, packet: &[u8]| {
        [&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0][..], &kind.to_be_bytes(), packet].concat()
    };
    let sll2 =
        |kind: u16, packet: &[u8]| [&kind.to_be_bytes()[..], &[0, 0, 0, 0, 0, 3, 0, 1, 0, 6], &[0; 8], packet].concat();
    let family = |family: [u8; 4], packet: &[u8]| [&family[..], packet].concat();
    let padded = |packet: Vec<u8>| [&packet[..], &[0; 11]].concat();
    for (link, packet) in [
        (1, ethernet(0x0800, &four)),
        (1, padded(ethernet(0x0800, &four))),
        (0x1400_0001, padded(ethernet(0x0800, &four))),
        (1, ethernet(0x8100, &tag(0x0800, &four))),
        (1, ethernet(0x88A8, &tag(0x8100, &tag(0x86DD, &six)))),
        (101, four.clone()),
        (101, six.clone()),
        (12, four.clone()),
        (14, six.clone()),
        (228, four.clone()),
        (229, six.clone()),
        (113, sll(0x0800, &four)),
        (113, sll(0x8100, &tag(0x86DD, &six))),
        (276, sll2(0x0800, &four)),
        (276, sll2(0x86DD, &six)),
        (0, family([2, 0, 0, 0], &four)),
        (0, family([0, 0, 0, 30], &six)),
        (108, family([0, 0, 0, 2], &four)),
        (108, family([0, 0, 0, 24], &six)),
    ] {
        let found = one(&pcap(link, &[&packet]));
        assert_eq!(found.data, REPLY, "link type {link}");
        let ends = if found.from == Some(server()) { (server(), client()) } else { (server6(), client6()) };
        assert_eq!((found.from, found.to), (Some(ends.0), Some(ends.1)), "link type {link}");
    }
}

#[test]
fn large_replies_are_put_together_in_both_versions_of_ip() {
    let data: Vec<u8> = (0..65_507_u32).map(|byte| byte as u8).collect();
    let whole = udp(&data);
    let ends: Vec<usize> = (0..whole.len()).step_by(1448).chain([whole.len()]).collect();
    for six in [false, true] {
        let parts = ends
            .windows(2)
            .map(|at| if six { fragment6(9, &whole, at[0], at[1]) } else { fragment4(9, &whole, at[0], at[1]) });
        let mut parts: Vec<_> = parts.collect();
        parts.reverse();
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let found = one(&pcap(101, &parts));
        assert!(found.data == data);
        assert_eq!(found.from, Some(if six { server6() } else { server() }));
        let reading = read("file", &pcap(101, &parts[1..])[..]).unwrap();
        assert_eq!((reading.datagrams.len(), reading.skipped.fragments), (0, parts.len() as u64 - 1));
    }
}

#[test]
fn what_is_no_whole_datagram_is_counted_with_its_reason() {
    let mut tcp = Vec::new();
    PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64).tcp(1, 2, 3, 4).write(&mut tcp, b"data").unwrap();
    let whole = ipv4(REPLY);
    let mut longer = whole.clone();
    longer[25] += 1;
    let part = fragment4(3, &udp(&[0; 2000]), 0, 1480);
    let packets: [(&[u8], usize); 9] = [
        (&whole, 0),
        (&tcp, 0),
        (&whole[..30], 18),
        (&whole[..10], 38),
        (&[], 48),
        (&longer, 0),
        (&whole[..10], 0),
        (&[0x5F; 60], 0),
        (&part, 0),
    ];
    let reading = read("file", &pcap_of(false, false, 101, &packets)[..]).unwrap();
    assert_eq!(reading.datagrams.len(), 1);
    let expected = Skipped { not_udp: 1, cut: 3, fragments: 1, malformed: 3, ..Skipped::default() };
    assert_eq!(reading.skipped, expected);

    let arp = ethernet(0x0806, &[0, 1, 8, 0, 6, 4, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2]);
    let reading = read("file", &pcap(1, &[&arp, &ethernet(0x88CC, &[0; 50])])[..]).unwrap();
    assert_eq!(reading.skipped, Skipped { not_udp: 2, ..Skipped::default() });
    let reading = read("file", &pcap(127, &[&whole, &whole])[..]).unwrap();
    assert_eq!(reading.skipped.to_string(), "2 of the unknown link type 127");
}

#[test]
fn a_damaged_file_gives_what_stands_before_the_damage_and_says_where_it_is() {
    let file = pcap(101, &[&ipv4(REPLY), &ipv4(REPLY)]);
    let mut capture = open("some.pcap", &file[..file.len() - 1]).unwrap();
    assert_eq!(capture.next().unwrap().unwrap().data, REPLY);
    let error = capture.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "some.pcap is damaged after 1 packet: the file ends within a packet");
    assert!(capture.next().is_none());

    let mut huge = file.clone();
    huge[32..36].copy_from_slice(&[0xFF; 4]);
    let error = read("some.pcap", &huge[..]).unwrap_err();
    assert_eq!(error.to_string(), "some.pcap is damaged after 0 packets: a packet is longer than any can be");
    for (file, problem) in [
        ([section(false), enhanced(false, 0, 0, &ipv4(REPLY), 0)].concat(), "a packet block cannot be read"),
        ([section(false), vec![9, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]].concat(), "a block is shorter than any can be"),
        ([section(false), vec![9, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0]].concat(), "the file ends within a packet"),
        (b"\x0A\x0D\x0D\x0A\x1C\0\0\0abcd".to_vec(), "a section does not say its byte order"),
    ] {
        let error = read("some.pcapng", &file[..]).unwrap_err().to_string();
        assert!(error.ends_with(problem), "{error}: {problem}");
    }
}

#[test]
fn packed_captures_are_read_and_damaged_packing_is_an_error() {
    let file = pcapng(false);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&file).unwrap();
    let gzip = packer.finish().unwrap();
    for packed in [gzip, zstd::encode_all(&file[..], 1).unwrap()] {
        assert_eq!(read("file", &packed[..]).unwrap(), read("file", &file[..]).unwrap());
        let error = read("some.pcapng.gz", &packed[..packed.len() / 2]).unwrap_err();
        assert!(error.to_string().starts_with("reading some.pcapng.gz: "), "{error}");
    }
}

/// A few files of each format, to be damaged.
fn samples() -> Vec<Vec<u8>> {
    let hex = b"# comment\n> ffffffff54\n< FF:ff 0x41\n00000000: 4142 43  ABC\n00000003: 44  D\n\
        00000000  45 46  |EF|\n00000002\n\t0x0000:  4500 0021 0000  E..!..\n";
    vec![
        hex.to_vec(),
        pcap(1, &[&ethernet(0x0800, &ipv4(REPLY)), &ethernet(0x86DD, &ipv6(REPLY))]),
        pcap_of(true, true, 276, &[(&[&[8, 0][..], &[0; 18], &ipv4(REPLY)].concat(), 4)]),
        pcapng(false),
        pcapng(true),
    ]
}

#[test]
fn every_prefix_of_a_file_is_read_or_refused() {
    for (which, file) in samples().into_iter().enumerate() {
        let whole = open("file", &file[..]).unwrap().count();
        for size in 0..file.len() {
            let found = open("file", &file[..size]).into_iter().flatten().count();
            assert!(found <= whole + 1, "file {which}, {size} bytes");
        }
    }
}

#[test]
fn flipped_bits_do_no_harm() {
    for (which, file) in samples().into_iter().enumerate() {
        for seed in 0..4000 {
            let mut rng = Rng::new(seed);
            let mut flipped = file.clone();
            for _ in 0..=rng.below(4) {
                let at = rng.below(file.len() as u64) as usize;
                flipped[at] ^= 1 << rng.below(8);
            }
            let Ok(mut capture) = open("file", &flipped[..]) else { continue };
            let bytes: usize = capture.by_ref().flatten().map(|datagram| datagram.data.len()).sum();
            assert!(bytes <= file.len(), "file {which}, seed {seed}: {bytes} bytes");
            assert!(capture.skipped().total() <= file.len() as u64 / 12, "file {which}, seed {seed}");
        }
    }
}
