//! Writing datagrams as pcapng, the format of Wireshark and tcpdump: what `scan --raw` does.
//!
//! ```text
//! header     section header block   0A0D0D0A length 1A2B3C4D version 1.0 …
//!            interface block        00000001 length link type 101 (IP alone), no snap length, times in µs
//! datagram   enhanced packet block  00000006 length interface time captured original │ IP │ UDP │ payload │ 0…3 zeros
//! ```
//!
//! Source: draft-ietf-opsawg-pcapng sections 4.1 to 4.3. Everything is little-endian. Whole blocks are appended to a buffer
//! of the caller's, so a file that ends behind any of them is complete. The headers of IP and UDP are made up from the
//! addresses (by `etherparse`, with checksums): what the network did to a datagram on its way is not known here.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use etherparse::{PacketBuilder, PacketBuilderStep, UdpHeader};

use super::layers::link;

/// Appends what a file begins with. `comment` is for whoever reads it: [`Capture::comment`](super::Capture::comment).
pub(crate) fn put_header(out: &mut Vec<u8>, comment: &str) {
    put_block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER.to_le_bytes());
        out.extend(1_u16.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        // The length of the section is not given.
        out.extend((-1_i64).to_le_bytes());
        put_option(out, COMMENT, comment.as_bytes());
        put_option(out, USER_APPLICATION, PROGRAM.as_bytes());
        put_option(out, END_OF_OPTIONS, &[]);
    });
    put_block(out, INTERFACE, |out| {
        out.extend(u32::from(link::RAW).to_le_bytes());
        out.extend(0_u32.to_le_bytes());
    });
}

/// Appends a datagram that went from `from` to `to`, `at_us` µs after the start of 1970 (earlier times become that).
///
/// Where one address is IPv4 and the other is not, both are written as IPv6 (`::ffff:192.0.2.1`). Of a payload that
/// is longer than UDP can carry (65,507 bytes in IPv4, 65,527 in IPv6; no socket gives one) only that much is written,
/// beside a length that tells.
pub(crate) fn put_datagram(out: &mut Vec<u8>, at_us: i64, from: SocketAddr, to: SocketAddr, data: &[u8]) {
    let at_us = u64::try_from(at_us).unwrap_or_default();
    let (headers, most) = headers(from, to);
    let original = headers.size(data.len());
    let data = data.get(..most).unwrap_or(data);
    put_block(out, ENHANCED_PACKET, |out| {
        out.extend(0_u32.to_le_bytes());
        out.extend(((at_us >> 32) as u32).to_le_bytes());
        out.extend((at_us as u32).to_le_bytes());
        out.extend((headers.size(data.len()) as u32).to_le_bytes());
        out.extend(u32::try_from(original).unwrap_or(u32::MAX).to_le_bytes());
        headers.write(out, data).expect("a vector takes everything, and the payload fits into UDP");
    });
}

/// The headers of a datagram without payload, and the longest payload that fits after them.
fn headers(from: SocketAddr, to: SocketAddr) -> (PacketBuilderStep<UdpHeader>, usize) {
    let (ip, most) = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => (PacketBuilder::ipv4(from.octets(), to.octets(), TTL), MOST_IN_IPV4),
        (from, to) => (PacketBuilder::ipv6(as_ipv6(from).octets(), as_ipv6(to).octets(), TTL), MOST_IN_IPV6),
    };
    (ip.udp(from.port(), to.port()), most)
}

fn as_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Appends a block with the body that `put_body` appends, padded to whole words.
fn put_block(out: &mut Vec<u8>, kind: u32, put_body: impl FnOnce(&mut Vec<u8>)) {
    out.extend(kind.to_le_bytes());
    let length = out.len();
    out.extend([0; 4]);
    let body = out.len();
    put_body(out);
    out.resize(body + (out.len() - body).next_multiple_of(4), 0);
    let size = ((out.len() - body + BLOCK_OVERHEAD) as u32).to_le_bytes();
    if let Some(length) = out.get_mut(length..body) {
        length.copy_from_slice(&size);
    }
    out.extend(size);
}

/// Appends an option, padded to whole words.
fn put_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    out.extend(std::iter::repeat_n(0, value.len().next_multiple_of(4) - value.len()));
}

const PROGRAM: &str = concat!("fragscan ", env!("CARGO_PKG_VERSION"));
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
/// Type, length, and the length again.
const BLOCK_OVERHEAD: usize = 12;
/// What hosts send with; how many hops were taken is not known.
const TTL: u8 = 64;
/// What 16 bits of length leave beside the headers of IPv4 and UDP.
const MOST_IN_IPV4: usize = 65_507;
/// IPv6 does not count its header.
const MOST_IN_IPV6: usize = 65_527;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Datagram, Direction, Skipped, read};
    use super::*;

    fn datagram(at_us: i64, from: SocketAddr, to: SocketAddr, data: Vec<u8>) -> Datagram {
        Datagram { from: Some(from), to: Some(to), at_us: Some(at_us), direction: Direction::Unknown, line: None, data }
    }

    fn written(datagrams: &[Datagram]) -> Vec<u8> {
        let mut out = Vec::new();
        put_header(&mut out, "info,rules");
        for datagram in datagrams {
            let (from, to) = (datagram.from.unwrap(), datagram.to.unwrap());
            put_datagram(&mut out, datagram.at_us.unwrap(), from, to, &datagram.data);
        }
        out
    }

    fn any_datagram() -> impl Strategy<Value = Datagram> {
        let address = prop_oneof![
            any::<([u8; 4], [u8; 4])>().prop_map(|(from, to)| (IpAddr::from(from), IpAddr::from(to))),
            any::<([u8; 16], [u8; 16])>().prop_map(|(from, to)| (IpAddr::from(from), IpAddr::from(to))),
        ];
        let data = prop_oneof![
            8 => proptest::collection::vec(any::<u8>(), 0..100),
            1 => any::<u8>().prop_map(|byte| vec![byte; MOST_IN_IPV4]),
        ];
        (address, any::<(u16, u16)>(), 0..i64::MAX, data).prop_map(|((from, to), ports, at_us, data)| {
            datagram(at_us, SocketAddr::new(from, ports.0), SocketAddr::new(to, ports.1), data)
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(datagrams in proptest::collection::vec(any_datagram(), 0..8)) {
            let reading = read("raw", &written(&datagrams)[..]).unwrap();
            prop_assert_eq!(reading.datagrams, datagrams);
            prop_assert_eq!(reading.skipped, Skipped::default());
        }
    }

    #[test]
    fn checksums_and_lengths_are_right() {
        for (from, to) in [("192.0.2.1:27015", "198.51.100.9:5000"), ("[2001:db8::1]:27015", "[2001:db8::2]:5000")] {
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            for data in [&b""[..], b"odd", &vec![0xAB; 65_507]] {
                let mut out = Vec::new();
                put_datagram(&mut out, 0, from, to, data);
                assert_eq!(out.len() % 4, 0);
                // Strict about lengths.
                let packet = etherparse::SlicedPacket::from_ip(
                    out.get(28..).unwrap().get(..headers(from, to).0.size(data.len())).unwrap(),
                )
                .unwrap();
                let udp = match packet.transport {
                    Some(etherparse::TransportSlice::Udp(udp)) => udp,
                    other => panic!("{other:?}"),
                };
                let right = match packet.net.unwrap() {
                    etherparse::NetSlice::Ipv4(ip) => {
                        let header = ip.header().to_header();
                        assert_eq!(header.header_checksum, header.calc_header_checksum());
                        udp.to_header().calc_checksum_ipv4(&header, data).unwrap()
                    }
                    etherparse::NetSlice::Ipv6(ip) => {
                        udp.to_header().calc_checksum_ipv6(&ip.header().to_header(), data).unwrap()
                    }
                    etherparse::NetSlice::Arp(_) => unreachable!(),
                };
                assert_eq!((udp.checksum(), udp.payload()), (right, data));
            }
        }
    }

    #[test]
    fn of_what_udp_cannot_carry_the_length_is_written() {
        for (address, most) in [("192.0.2.1:1", MOST_IN_IPV4), ("[::1]:1", MOST_IN_IPV6)] {
            let address = address.parse().unwrap();
            let mut out = Vec::new();
            put_header(&mut out, "info,rules");
            put_datagram(&mut out, 1, address, address, &vec![1; most]);
            let block = out.len();
            put_datagram(&mut out, 1, address, address, &vec![1; most + 1]);
            let lengths = out[block..].get(20..28).unwrap();
            let captured = u32::from_le_bytes(*lengths.first_chunk().unwrap());
            assert_eq!(u32::from_le_bytes(*lengths.last_chunk().unwrap()), captured + 1);
            let datagrams = read("raw", &out[..]).unwrap().datagrams;
            assert_eq!(datagrams.iter().map(|datagram| datagram.data.len()).collect::<Vec<_>>(), [most, most]);
        }
    }

    #[test]
    fn mixed_addresses_and_times_before_1970_are_written_as_they_can_be() {
        let mut out = Vec::new();
        put_header(&mut out, "info,rules");
        put_datagram(&mut out, -5, "192.0.2.1:27015".parse().unwrap(), "[::]:5000".parse().unwrap(), b"data");
        let read = read("raw", &out[..]).unwrap().datagrams;
        let expected =
            datagram(0, "[::ffff:192.0.2.1]:27015".parse().unwrap(), "[::]:5000".parse().unwrap(), b"data".to_vec());
        assert_eq!(read, [expected]);
    }
}
