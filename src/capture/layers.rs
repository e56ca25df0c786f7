//! From a packet to the UDP datagram in it: link layer, VLAN tags, IP with its extensions and fragments, UDP.
//!
//! The headers are read by `etherparse`. Checksums are not verified: a machine that captures its own packets sees them
//! before the network card has put checksums in.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket, UdpHeaderSlice, ip_number};

use super::fragments::{Fragment, Fragments, Key};
use super::packets::Packet;
use super::skipped::{SkipReason, Skipped};
use super::{Datagram, Direction};

/// Takes packets, gives datagrams, and counts what is none.
#[derive(Debug, Default)]
pub(super) struct Layers {
    fragments: Fragments,
    skipped: Skipped,
}

impl Layers {
    /// Puts a packet in, and gives the datagram that is in it or that it completes.
    pub(super) fn handle_packet(&mut self, packet: &Packet<'_>) -> Option<Datagram> {
        self.datagram(packet).unwrap_or_else(|reason| {
            // Headers that end early are no contradiction if the end was not captured.
            let cut = packet.cut && reason == SkipReason::Malformed;
            self.skipped.count(if cut { SkipReason::Cut } else { reason });
            None
        })
    }

    /// What gave no datagram so far.
    pub(super) fn skipped(&self) -> Skipped {
        Skipped { fragments: self.fragments.unused(), ..self.skipped.clone() }
    }

    fn datagram(&mut self, packet: &Packet<'_>) -> Result<Option<Datagram>, SkipReason> {
        let ip = Ip::in_packet(packet.link, packet.bytes)?;
        let udp = match ip.fragment {
            None => Cow::Borrowed(ip.payload),
            Some((id, fragment)) => {
                let key = Key { from: ip.from, to: ip.to, id, interface: packet.interface };
                match self.fragments.handle_fragment(key, packet.at_us, fragment) {
                    None => return Ok(None),
                    Some(whole) => Cow::Owned(whole),
                }
            }
        };
        ip.datagram(&udp).map(|datagram| Some(Datagram { at_us: packet.at_us, ..datagram }))
    }
}

/// The datagram in `bytes`, if they are one whole IP packet with one whole UDP datagram.
pub(super) fn in_ip_packet(bytes: &[u8]) -> Option<Datagram> {
    let ip = Ip::in_packet(link::RAW, bytes).ok()?;
    if ip.fragment.is_some() { None } else { ip.datagram(ip.payload).ok() }
}

/// An IP packet that carries UDP, or a part of it.
struct Ip<'a> {
    from: IpAddr,
    to: IpAddr,
    payload: &'a [u8],
    /// The payload is a part of the datagram with this number.
    fragment: Option<(u32, Fragment<'a>)>,
}

impl<'a> Ip<'a> {
    fn in_packet(link: u16, bytes: &'a [u8]) -> Result<Self, SkipReason> {
        let sliced = sliced(link, bytes)?;
        let Some(net) = sliced.net else {
            return Err(if sliced.stop_err.is_some() { SkipReason::Malformed } else { SkipReason::NotUdp });
        };
        let payload = net.ip_payload_ref().ok_or(SkipReason::NotUdp)?;
        if payload.ip_number != ip_number::UDP {
            return Err(SkipReason::NotUdp);
        }
        if payload.incomplete {
            return Err(SkipReason::Cut);
        }
        let (fragmented, payload) = (payload.fragmented, payload.payload);
        match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let part =
                    Fragment { offset: header.fragments_offset(), more: header.more_fragments(), bytes: payload };
                Ok(Self {
                    from: header.source_addr().into(),
                    to: header.destination_addr().into(),
                    payload,
                    fragment: fragmented.then(|| (header.identification().into(), part)),
                })
            }
            LaxNetSlice::Ipv6(ip) => {
                let part = ip.extensions().clone().into_iter().find_map(|extension| match extension {
                    Ipv6ExtensionSlice::Fragment(part) => Some(part),
                    _ => None,
                });
                let part = part.map(|part| {
                    let (offset, more) = (part.fragment_offset(), part.more_fragments());
                    (part.identification(), Fragment { offset, more, bytes: payload })
                });
                Ok(Self {
                    from: ip.header().source_addr().into(),
                    to: ip.header().destination_addr().into(),
                    payload,
                    fragment: part.filter(|_| fragmented),
                })
            }
            LaxNetSlice::Arp(_) => Err(SkipReason::NotUdp),
        }
    }

    /// The datagram in `udp`, which begins with the header of UDP.
    fn datagram(&self, udp: &[u8]) -> Result<Datagram, SkipReason> {
        let header = UdpHeaderSlice::from_slice(udp).map_err(|_| SkipReason::Malformed)?;
        let data = udp.get(header.slice().len()..header.length().into()).ok_or(SkipReason::Malformed)?;
        Ok(Datagram {
            from: Some(SocketAddr::new(self.from, header.source_port())),
            to: Some(SocketAddr::new(self.to, header.destination_port())),
            at_us: None,
            direction: Direction::Unknown,
            line: None,
            data: data.to_vec(),
        })
    }
}

/// The headers of a packet, up to the first that cannot be read.
fn sliced(link: u16, bytes: &[u8]) -> Result<LaxSlicedPacket<'_>, SkipReason> {
    match link {
        link::ETHERNET => LaxSlicedPacket::from_ethernet(bytes).map_err(|_| SkipReason::Malformed),
        link::RAW | link::RAW_BSD | link::RAW_OPENBSD | link::IPV4 | link::IPV6 => ip(bytes),
        link::NULL | link::LOOP => {
            let (family, packet) = bytes.split_first_chunk::<4>().ok_or(SkipReason::Malformed)?;
            // In the byte order of the machine that captured, whichever that was. Every system has its own for IPv6.
            let family = u32::from_le_bytes(*family).min(u32::from_be_bytes(*family));
            if matches!(family, 2 | 10 | 24 | 28 | 30) { ip(packet) } else { Err(SkipReason::NotUdp) }
        }
        link::LINUX_SLL => ether_payload(bytes, 14, 16),
        link::LINUX_SLL2 => ether_payload(bytes, 0, 20),
        other => Err(SkipReason::UnknownLink(other)),
    }
}

fn ip(bytes: &[u8]) -> Result<LaxSlicedPacket<'_>, SkipReason> {
    LaxSlicedPacket::from_ip(bytes).map_err(|_| SkipReason::Malformed)
}

/// The packet behind a header of `size` bytes, which has an ether type at byte `at`.
fn ether_payload(bytes: &[u8], at: usize, size: usize) -> Result<LaxSlicedPacket<'_>, SkipReason> {
    let (header, payload) = bytes.split_at_checked(size).ok_or(SkipReason::Malformed)?;
    let kind = header.get(at..).and_then(|rest| rest.first_chunk::<2>()).copied().unwrap_or_default();
    Ok(LaxSlicedPacket::from_ether_type(EtherType(u16::from_be_bytes(kind)), payload))
}

/// Link types (<https://www.tcpdump.org/linktypes.html>).
pub(super) mod link {
    /// A loopback interface of a BSD.
    pub(in crate::capture) const NULL: u16 = 0;
    /// Ethernet.
    pub(in crate::capture) const ETHERNET: u16 = 1;
    /// IP alone, as BSDs number it.
    pub(in crate::capture) const RAW_BSD: u16 = 12;
    /// IP alone, as OpenBSD numbers it.
    pub(in crate::capture) const RAW_OPENBSD: u16 = 14;
    /// IP alone: its first four bits say which.
    pub(in crate::capture) const RAW: u16 = 101;
    /// A loopback interface of OpenBSD.
    pub(in crate::capture) const LOOP: u16 = 108;
    /// All interfaces of Linux at once.
    pub(in crate::capture) const LINUX_SLL: u16 = 113;
    /// IPv4 alone.
    pub(in crate::capture) const IPV4: u16 = 228;
    /// IPv6 alone.
    pub(in crate::capture) const IPV6: u16 = 229;
    /// All interfaces of Linux at once, with the interface's number.
    pub(in crate::capture) const LINUX_SLL2: u16 = 276;
}
