//! The packets of a capture: `pcap` in its four forms and `pcapng`.
//!
//! ```text
//! pcap     header (24)  magic  version  …  snap length  link type
//!          record       seconds  µs or ns  captured length  original length  bytes
//! pcapng   block        type  length  body  length       (section header, interface, packet, …)
//! ```
//!
//! Sources: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Reading is done here, one record at a time, so that a
//! length is checked before anything is read and an error of the system stays what it was; the fields of a record are
//! `pcap_parser`'s. What is in a packet is left to [`super::layers`].

use std::io::{self, Read};

use pcap_parser::pcapng::{self, InterfaceDescriptionBlock, OptionCode};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

use super::Error;

/// A packet, and what the capture says of it.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    /// What it begins with: a number of <https://www.tcpdump.org/linktypes.html>.
    pub link: u16,
    /// The interface it was captured on, by its place in the file.
    pub interface: usize,
    /// µs since 1970.
    pub at_us: Option<i64>,
    /// There was more of it than was captured.
    pub cut: bool,
    /// The bytes that were captured.
    pub bytes: &'a [u8],
}

/// Reads packets one after the other.
pub(super) struct Packets<R> {
    name: String,
    input: R,
    /// The record or block at hand.
    block: Vec<u8>,
    /// Packets that were read.
    count: u64,
    /// What the first section header says to whoever reads it.
    comment: Option<String>,
    format: Format,
}

enum Format {
    Pcap(PcapHeader),
    Pcapng { big_endian: bool, interfaces: Vec<Interface> },
}

/// What an interface of a pcapng file says of its packets.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u16,
    /// Longest part of a packet that was captured; 0 for no limit.
    snap_length: u32,
    /// Units of time in a second; none if it says something absurd.
    units: Option<u128>,
    /// Seconds to add to each time.
    offset: i64,
}

/// True if a file that begins with `head` is a capture.
pub(super) fn is_capture(head: &[u8]) -> bool {
    head.starts_with(PCAPNG) || PCAP.iter().any(|magic| head.starts_with(magic))
}

impl<R: Read> Packets<R> {
    /// Reads a capture from its start, which is `head`.
    pub(super) fn open(name: &str, head: &[u8], input: R) -> Result<Self, Error> {
        let format = Format::Pcapng { big_endian: false, interfaces: Vec::new() };
        let mut packets = Self { name: name.into(), input, block: Vec::new(), count: 0, comment: None, format };
        if !head.starts_with(PCAPNG) {
            packets.need(PCAP_HEADER)?;
            let header = parse_pcap_header(&packets.block).map(|(_, header)| header);
            packets.format = Format::Pcap(header.map_err(|_| packets.damaged("its header cannot be read"))?);
        }
        Ok(packets)
    }

    /// What the first section header that was read says to whoever reads it.
    pub(super) fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }

    /// The next packet, or none at the end.
    pub(super) fn next_packet(&mut self) -> Result<Option<Packet<'_>>, Error> {
        match &self.format {
            Format::Pcap(header) => {
                let header = header.clone();
                self.next_record(&header)
            }
            Format::Pcapng { .. } => self.next_packet_block(),
        }
    }

    fn next_record(&mut self, header: &PcapHeader) -> Result<Option<Packet<'_>>, Error> {
        self.block.clear();
        if !self.fill(RECORD_HEADER)? {
            return Ok(None);
        }
        let big_endian = header.is_bigendian();
        let size = u32_at(&self.block, 8, big_endian) as usize;
        if size > MOST_BLOCK {
            return Err(self.damaged("a packet is longer than any can be"));
        }
        self.need(RECORD_HEADER + size)?;
        self.count += 1;
        let parse = if big_endian { parse_pcap_frame_be } else { parse_pcap_frame };
        let Ok((_, record)) = parse(&self.block) else {
            return Err(self.damaged("a packet cannot be read"));
        };
        let nanoseconds = header.is_nanosecond_precision();
        let fraction = if nanoseconds { record.ts_usec / 1000 } else { record.ts_usec };
        Ok(Some(Packet {
            // The upper half tells of checksums that trail the packets.
            link: header.network.0 as u16,
            interface: 0,
            at_us: Some(i64::from(record.ts_sec) * 1_000_000 + i64::from(fraction)),
            cut: record.caplen < record.origlen,
            bytes: record.data,
        }))
    }

    fn next_packet_block(&mut self) -> Result<Option<Packet<'_>>, Error> {
        // Bounded by the blocks of the input: each has twelve bytes at least.
        let kind = loop {
            match self.next_block()? {
                None => return Ok(None),
                Some(kind @ (pcapng::EPB_MAGIC | pcapng::SPB_MAGIC)) => break kind,
                Some(pcapng::IDB_MAGIC) => self.add_interface()?,
                // A new section, or a block that says nothing of packets.
                Some(_) => {}
            }
        };
        self.count += 1;
        let packet = if kind == pcapng::EPB_MAGIC { self.enhanced_packet() } else { self.simple_packet() };
        packet.map(Some).ok_or_else(|| self.damaged("a packet block cannot be read"))
    }

    fn enhanced_packet(&self) -> Option<Packet<'_>> {
        let Format::Pcapng { big_endian, interfaces } = &self.format else { return None };
        let parse =
            if *big_endian { pcapng::parse_enhancedpacketblock_be } else { pcapng::parse_enhancedpacketblock_le };
        let (_, block) = parse(&self.block).ok()?;
        let interface = interfaces.get(block.if_id as usize)?;
        Some(Packet {
            link: interface.link,
            interface: block.if_id as usize,
            at_us: interface.micros(u64::from(block.ts_high) << 32 | u64::from(block.ts_low)),
            cut: block.caplen < block.origlen,
            bytes: block.data.get(..block.caplen as usize)?,
        })
    }

    /// A simple packet belongs to the first interface, whose snap length says how much of it there is.
    fn simple_packet(&self) -> Option<Packet<'_>> {
        let Format::Pcapng { big_endian, interfaces } = &self.format else { return None };
        let parse = if *big_endian { pcapng::parse_simplepacketblock_be } else { pcapng::parse_simplepacketblock_le };
        let (_, block) = parse(&self.block).ok()?;
        let interface = interfaces.first()?;
        let limit = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let size = block.orig_len().min(limit);
        let bytes = block.data.get(..size as usize)?;
        Some(Packet { link: interface.link, interface: 0, at_us: None, cut: size < block.orig_len(), bytes })
    }

    /// Reads the next block and says what it is. The body of one that says nothing of packets is passed over.
    fn next_block(&mut self) -> Result<Option<u32>, Error> {
        self.block.clear();
        if !self.fill(BLOCK_HEADER)? {
            return Ok(None);
        }
        if self.block.starts_with(PCAPNG) {
            let order = self.block.get(8..).unwrap_or_default();
            if order != BYTE_ORDER && !order.iter().eq(BYTE_ORDER.iter().rev()) {
                return Err(self.damaged("a section does not say its byte order"));
            }
            self.format = Format::Pcapng { big_endian: order == BYTE_ORDER, interfaces: Vec::new() };
        }
        let big_endian = matches!(self.format, Format::Pcapng { big_endian: true, .. });
        let (kind, size) = (u32_at(&self.block, 0, big_endian), u32_at(&self.block, 4, big_endian) as usize);
        if size < BLOCK_HEADER {
            return Err(self.damaged("a block is shorter than any can be"));
        }
        let is_section = kind == pcapng::SHB_MAGIC && size <= MOST_SECTION_HEADER;
        if !is_section && !matches!(kind, pcapng::EPB_MAGIC | pcapng::SPB_MAGIC | pcapng::IDB_MAGIC) {
            let rest = (size - BLOCK_HEADER) as u64;
            let passed = io::copy(&mut self.input.by_ref().take(rest), &mut io::sink());
            if passed.map_err(|source| self.failed(source))? < rest {
                return Err(self.damaged(ENDS_EARLY));
            }
        } else if size > MOST_BLOCK {
            return Err(self.damaged("a packet is longer than any can be"));
        } else {
            self.need(size)?;
        }
        if is_section {
            self.keep_comment();
        }
        Ok(Some(kind))
    }

    /// Keeps the first comment that a section header has.
    fn keep_comment(&mut self) {
        let big_endian = matches!(self.format, Format::Pcapng { big_endian: true, .. });
        let parse = if big_endian { pcapng::parse_sectionheaderblock_be } else { pcapng::parse_sectionheaderblock_le };
        // A header that cannot be read has no comment; what it says besides is not needed.
        let Ok((_, header)) = parse(&self.block) else { return };
        let comment = header.options.iter().find(|option| option.code == OptionCode::Comment);
        if let (None, Some(comment)) = (&self.comment, comment) {
            self.comment = Some(String::from_utf8_lossy(comment.value()).into_owned());
        }
    }

    fn add_interface(&mut self) -> Result<(), Error> {
        let Format::Pcapng { big_endian, interfaces } = &mut self.format else { return Ok(()) };
        let parse = if *big_endian {
            pcapng::parse_interfacedescriptionblock_be
        } else {
            pcapng::parse_interfacedescriptionblock_le
        };
        match parse(&self.block) {
            Ok((_, block)) if interfaces.len() < MOST_INTERFACES => {
                interfaces.push(Interface::new(&block, *big_endian));
                Ok(())
            }
            _ => Err(self.damaged("an interface block cannot be read")),
        }
    }

    /// Reads until the block has `size` bytes; false if the input ends before its first.
    fn fill(&mut self, size: usize) -> Result<bool, Error> {
        let missing = size.saturating_sub(self.block.len()) as u64;
        let read = self.input.by_ref().take(missing).read_to_end(&mut self.block);
        read.map_err(|source| self.failed(source))?;
        if self.block.len() < size && !self.block.is_empty() {
            return Err(self.damaged(ENDS_EARLY));
        }
        Ok(self.block.len() >= size)
    }

    /// Reads until the block has `size` bytes, or fails.
    fn need(&mut self, size: usize) -> Result<(), Error> {
        if self.fill(size)? { Ok(()) } else { Err(self.damaged(ENDS_EARLY)) }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Io { name: self.name.clone(), source }
    }

    fn damaged(&self, problem: &'static str) -> Error {
        Error::Damaged { name: self.name.clone(), packets: self.count, problem }
    }
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        // `if_tsresol`: a power of ten, or with the highest bit set a power of two.
        let exponent = u32::from(block.if_tsresol & 0x7F);
        let base: u128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        // `if_tsoffset`, which the crate reads as little-endian whatever the file's byte order.
        let offset = block.options.iter().find(|option| option.code == OptionCode::IfTsoffset);
        let offset = offset.and_then(|option| option.value().first_chunk::<8>().copied()).unwrap_or_default();
        Self {
            link: block.linktype.0 as u16,
            snap_length: block.snaplen,
            units: base.checked_pow(exponent),
            offset: if big_endian { i64::from_be_bytes(offset) } else { i64::from_le_bytes(offset) },
        }
    }

    /// µs since 1970 of a time in this interface's units.
    fn micros(&self, time: u64) -> Option<i64> {
        let micros = u128::from(time) * 1_000_000 / self.units?;
        let micros = i128::try_from(micros).ok()? + i128::from(self.offset) * 1_000_000;
        i64::try_from(micros).ok()
    }
}

/// The number at byte `at` of a header that was read whole.
fn u32_at(block: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = block.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or_default();
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

const PCAPNG: &[u8] = b"\x0A\x0D\x0D\x0A";
/// µs and ns, each in both byte orders.
const PCAP: [&[u8]; 4] = [b"\xA1\xB2\xC3\xD4", b"\xD4\xC3\xB2\xA1", b"\xA1\xB2\x3C\x4D", b"\x4D\x3C\xB2\xA1"];
/// The byte-order magic of a big-endian section.
const BYTE_ORDER: &[u8] = b"\x1A\x2B\x3C\x4D";
const PCAP_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Longest section header whose options are looked at.
const MOST_SECTION_HEADER: usize = 64 << 10;
/// Type, length, and the length again at the end; of a section header, the byte order.
const BLOCK_HEADER: usize = 12;
/// Far longer than any packet of a network (libpcap captures 256 KiB at most).
const MOST_BLOCK: usize = 16 << 20;
/// Far more than any machine has.
const MOST_INTERFACES: usize = 1 << 16;
const ENDS_EARLY: &str = "the file ends within a packet";
