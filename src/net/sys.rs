//! Raw system calls that socket2 lacks: the error queue, packet information, forced buffers, drop counters.
//!
//! This is the only file with `unsafe` code. Every function takes a borrowed descriptor and buffers that it outlives,
//! and returns owned, checked values.
#![expect(unsafe_code, reason = "socket2 has no safe form of these calls")]

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use socket2::SockAddr;

use crate::engine::Icmp;

/// An entry of a socket's error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueuedError {
    /// Where the datagram went that the error is about.
    pub to: SocketAddr,
    /// What it is.
    pub cause: Cause,
    /// The host that sent the ICMP message; none for an error of this machine.
    pub offender: Option<IpAddr>,
}

/// Where a queued error comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An ICMP message.
    Icmp(Icmp),
    /// This machine, with its error number.
    Local(i32),
}

/// Asks for ICMP errors, with the address of the datagram they are about (`IP_RECVERR`, `IPV6_RECVERR`). It also makes
/// the kernel report a full device queue (ENOBUFS) instead of hiding it.
pub(crate) fn enable_error_queue(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)
    } else {
        set_option(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1)
    }
}

/// Never fragments what an IPv4 socket sends (`IP_MTU_DISCOVER`): requests are far smaller than any path's MTU. A datagram
/// that is no fragment needs no identification (RFC 6864), and the kernel spends a twelfth of a send on making one.
pub(crate) fn never_fragment(socket: &impl AsFd) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
}

/// Takes one entry of the error queue; `WouldBlock` when it is empty.
pub(crate) fn receive_error(socket: &impl AsFd) -> io::Result<Option<QueuedError>> {
    let mut payload = [0_u8; 64];
    let mut control = ControlBuffer::new();
    let mut message = Message::new(&mut payload, &mut control);
    let (_, to) = message.receive(socket, libc::MSG_ERRQUEUE)?;
    let found = message.control.messages(message.control_length).find_map(|(level, kind, data)| {
        let v4 = level == libc::IPPROTO_IP && kind == libc::IP_RECVERR;
        let v6 = level == libc::IPPROTO_IPV6 && kind == libc::IPV6_RECVERR;
        if v4 || v6 { queued_error(data) } else { None }
    });
    Ok(to.zip(found).map(|(to, (cause, offender))| QueuedError { to, cause, offender }))
}

/// Asks for the local address of every datagram (`IP_PKTINFO`).
pub(crate) fn enable_packet_info(socket: &impl AsFd) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)
}

/// Sets the receive buffer beyond the system's limit, which only a privileged process may (`SO_RCVBUFFORCE`).
pub(crate) fn force_receive_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes as libc::c_int)
}

/// Sets the send buffer beyond the system's limit, which only a privileged process may (`SO_SNDBUFFORCE`).
pub(crate) fn force_send_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes as libc::c_int)
}

/// Datagrams that the kernel dropped because this socket's receive buffer was full (`SO_MEMINFO`).
pub(crate) fn dropped(socket: &impl AsFd) -> io::Result<u32> {
    const SO_MEMINFO: libc::c_int = 55;
    const DROPS: usize = 8; // SK_MEMINFO_DROPS of linux/sock_diag.h
    let mut words = [0_u32; 9];
    let mut length = size_of_val(&words) as libc::socklen_t;
    // SAFETY: getsockopt writes at most `length` bytes to `words` and the number written to `length`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            words.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(words[DROPS]) }
}

/// True if `signal` is ignored, as `nohup` and shells in the background arrange it for the programs they start.
#[must_use]
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action, sigaction only writes the present one to `action`, for which zeros are valid too.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Processor time that this thread, or the whole process, has used (`getrusage`: in user mode and in the kernel).
pub(crate) fn cpu_time(whole_process: bool) -> io::Result<Duration> {
    let whose = if whole_process { libc::RUSAGE_SELF } else { libc::RUSAGE_THREAD };
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage only writes to `usage`, a structure of integers for which zeros are valid too.
    let usage = unsafe {
        if libc::getrusage(whose, usage.as_mut_ptr()) < 0 {
            return Err(io::Error::last_os_error());
        }
        usage.assume_init()
    };
    let time = |part: libc::timeval| Duration::new(part.tv_sec as u64, part.tv_usec as u32 * 1000);
    Ok(time(usage.ru_utime) + time(usage.ru_stime))
}

/// What takes a received datagram: its sender, the local address that it was sent to, and its bytes.
pub(crate) type Take<'a> = &'a mut dyn FnMut(SocketAddr, Option<Ipv4Addr>, &[u8]);

/// Datagrams that are sent in one system call (`sendmmsg`).
pub(crate) struct SendBatch {
    names: Box<[Name]>,
    slices: Box<[libc::iovec]>,
    control: Box<[ControlBuffer]>,
    headers: Box<[libc::mmsghdr]>,
}

/// Datagrams that are received in one system call (`recvmmsg`), each into a slot of its own.
pub(crate) struct ReceiveBatch {
    slots: Box<[u8]>,
    slot_size: usize,
    names: Box<[Name]>,
    /// Empty if nobody asked for the local addresses.
    control: Box<[ControlBuffer]>,
    /// Point into `slots`; read by the kernel through `headers`.
    _slices: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
}

// SAFETY: the pointers in both lead into memory that the same value owns, on the heap, where it does not move.
unsafe impl Send for SendBatch {}
// SAFETY: as above.
unsafe impl Send for ReceiveBatch {}

impl SendBatch {
    /// Room for `count` datagrams.
    #[must_use]
    pub(crate) fn new(count: usize) -> Self {
        let mut names = boxed(count, Name::unspecified);
        let mut slices = boxed(count, || libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 });
        let mut control = boxed(count, ControlBuffer::new);
        let headers = (0..count).map(|i| header(&mut names[i], &mut slices[i], Some(&mut control[i]))).collect();
        Self { names, slices, control, headers }
    }

    /// Sends the first of `datagrams`, as many as there is room for, each to an address and from a local one if that is
    /// said. Says how many left; an error is about the first one, and means that none left.
    pub(crate) fn send<'a>(
        &mut self,
        socket: &impl AsFd,
        datagrams: impl Iterator<Item = (SocketAddr, Option<Ipv4Addr>, &'a [u8])>,
    ) -> io::Result<usize> {
        let mut count = 0;
        let places = self.names.iter_mut().zip(&mut self.slices).zip(&mut self.control).zip(&mut self.headers);
        for ((((name, slice), control), header), (to, local, data)) in places.zip(datagrams) {
            header.msg_hdr.msg_namelen = name.set(to);
            header.msg_hdr.msg_controllen = local.map_or(0, |local| control.put_local(local)) as _;
            *slice = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        // SAFETY: the first `count` headers point to names, slices and control messages of this value, with their sizes,
        // and the slices to data that is borrowed until the call returns; sendmmsg reads all of it and writes the lengths
        // in the headers.
        let sent =
            unsafe { libc::sendmmsg(socket.as_fd().as_raw_fd(), self.headers.as_mut_ptr(), count as libc::c_uint, 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }
}

impl ReceiveBatch {
    /// `count` slots of `slot_size` bytes; `with_local` if the local addresses are wanted, which [`enable_packet_info`] has
    /// the kernel give.
    #[must_use]
    pub(crate) fn new(count: usize, slot_size: usize, with_local: bool) -> Self {
        let mut slots = vec![0; count * slot_size].into_boxed_slice();
        let mut names = boxed(count, Name::unspecified);
        let mut slices: Box<[_]> = slots
            .chunks_exact_mut(slot_size)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() })
            .collect();
        let mut control = boxed(if with_local { count } else { 0 }, ControlBuffer::new);
        let headers = (0..count).map(|i| header(&mut names[i], &mut slices[i], control.get_mut(i))).collect();
        Self { slots, slot_size, names, control, _slices: slices, headers }
    }

    /// Receives what waits, at least one datagram, and gives each to `take`, with the local address that it was sent to if
    /// that is wanted and known. Says how many.
    pub(crate) fn receive(&mut self, socket: &impl AsFd, take: Take<'_>) -> io::Result<usize> {
        let control = if self.control.is_empty() { 0 } else { size_of::<ControlBuffer>() };
        for header in &mut self.headers {
            header.msg_hdr.msg_namelen = size_of::<Name>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = control as _;
        }
        // SAFETY: every header points to a name, a slot and, if its length is not zero, a control buffer of this value, with
        // their sizes; recvmmsg writes no more than that and stores the lengths in the headers.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                0,
                ptr::null_mut(),
            )
        };
        if received < 0 {
            return Err(io::Error::last_os_error());
        }
        let received = received as usize;
        let slots = self.slots.chunks_exact(self.slot_size);
        for (number, ((header, name), slot)) in
            self.headers.iter().zip(&self.names).zip(slots).take(received).enumerate()
        {
            let control = self.control.get(number);
            let local = control.and_then(|control| control.local(header.msg_hdr.msg_controllen));
            if let (Some(from), Some(data)) = (name.get(), slot.get(..header.msg_len as usize)) {
                take(from, local, data);
            }
        }
        Ok(received)
    }
}

fn boxed<T>(count: usize, make: impl FnMut() -> T) -> Box<[T]> {
    std::iter::repeat_with(make).take(count).collect()
}

/// The header of one message, for the lifetime of the boxes that the places lie in.
fn header(name: &mut Name, slice: &mut libc::iovec, control: Option<&mut ControlBuffer>) -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is plain data for which all zeros is valid.
    let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
    message.msg_hdr.msg_name = ptr::from_mut(name).cast();
    message.msg_hdr.msg_namelen = size_of::<Name>() as libc::socklen_t;
    message.msg_hdr.msg_iov = slice;
    message.msg_hdr.msg_iovlen = 1;
    if let Some(control) = control {
        message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
    }
    message
}

/// An address as the kernel reads and writes it.
#[derive(Clone, Copy)]
#[repr(C)]
union Name {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Name {
    fn unspecified() -> Self {
        // SAFETY: all zeros is a valid value of each member: an address of no family.
        unsafe { mem::zeroed() }
    }

    /// Makes it `address`, and says how many bytes of it count.
    fn set(&mut self, address: SocketAddr) -> libc::socklen_t {
        match address {
            SocketAddr::V4(address) => {
                self.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: address.ip().to_bits().to_be() },
                    sin_zero: [0; 8],
                };
                size_of::<libc::sockaddr_in>() as libc::socklen_t
            }
            SocketAddr::V6(address) => {
                self.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                };
                size_of::<libc::sockaddr_in6>() as libc::socklen_t
            }
        }
    }

    fn get(&self) -> Option<SocketAddr> {
        // SAFETY: every member begins with the family, which is an integer; it says which member the kernel wrote, and
        // these are structures of integers, for which every pattern of bits is valid.
        unsafe {
            match libc::c_int::from(self.family) {
                libc::AF_INET => {
                    let ip = Ipv4Addr::from_bits(u32::from_be(self.v4.sin_addr.s_addr));
                    Some(SocketAddr::from((ip, u16::from_be(self.v4.sin_port))))
                }
                libc::AF_INET6 => {
                    let (ip, port) = (Ipv6Addr::from(self.v6.sin6_addr.s6_addr), u16::from_be(self.v6.sin6_port));
                    Some(canonical(SocketAddrV6::new(ip, port, 0, self.v6.sin6_scope_id).into()))
                }
                _ => None,
            }
        }
    }
}

/// Reads what an entry of the error queue says: a `sock_extended_err`, followed by the address of the offender
/// (`SO_EE_OFFENDER`), which has no family if there is none.
fn queued_error(data: &[u8]) -> Option<(Cause, Option<IpAddr>)> {
    let error: libc::sock_extended_err = read(data)?;
    let cause = cause(&error);
    let offender = data.get(size_of::<libc::sock_extended_err>()..).and_then(host);
    Some((cause, offender.filter(|_| matches!(cause, Cause::Icmp(_)))))
}

/// The host of a socket address as the kernel writes it.
fn host(address: &[u8]) -> Option<IpAddr> {
    match libc::c_int::from(read::<libc::sa_family_t>(address)?) {
        libc::AF_INET => {
            let address: libc::sockaddr_in = read(address)?;
            Some(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            let address: libc::sockaddr_in6 = read(address)?;
            Some(IpAddr::from(address.sin6_addr.s6_addr).to_canonical())
        }
        _ => None,
    }
}

fn cause(error: &libc::sock_extended_err) -> Cause {
    const V4_UNREACHABLE: u8 = 3;
    const V6_UNREACHABLE: u8 = 1;
    let icmp = match (error.ee_origin, error.ee_type, error.ee_code) {
        (libc::SO_EE_ORIGIN_ICMP, V4_UNREACHABLE, 3) | (libc::SO_EE_ORIGIN_ICMP6, V6_UNREACHABLE, 4) => {
            Icmp::PortUnreachable
        }
        (libc::SO_EE_ORIGIN_ICMP, V4_UNREACHABLE, 0 | 6 | 11) | (libc::SO_EE_ORIGIN_ICMP6, V6_UNREACHABLE, 0) => {
            Icmp::NetUnreachable
        }
        (libc::SO_EE_ORIGIN_ICMP, V4_UNREACHABLE, 1 | 5 | 7 | 8 | 12)
        | (libc::SO_EE_ORIGIN_ICMP6, V6_UNREACHABLE, 2 | 3) => Icmp::HostUnreachable,
        (libc::SO_EE_ORIGIN_ICMP, V4_UNREACHABLE, 9 | 10 | 13)
        | (libc::SO_EE_ORIGIN_ICMP6, V6_UNREACHABLE, 1 | 5 | 6) => Icmp::Prohibited,
        (libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6, ..) => Icmp::Other,
        _ => return Cause::Local(error.ee_errno as i32),
    };
    Cause::Icmp(icmp)
}

fn set_option(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: setsockopt reads one `c_int`, which lives until it returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Room for the control messages of one datagram, aligned as `cmsghdr` needs it.
#[repr(align(8))]
struct ControlBuffer([u8; 256]);

impl ControlBuffer {
    const fn new() -> Self {
        Self([0; 256])
    }

    /// Makes it one message that says from which local address to send, and says how long that is.
    fn put_local(&mut self, local: Ipv4Addr) -> usize {
        let info = libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: libc::in_addr { s_addr: local.to_bits().to_be() },
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        // SAFETY: CMSG_SPACE, CMSG_LEN and CMSG_DATA only compute. The buffer is aligned for `cmsghdr` and far larger than
        // one message with an `in_pktinfo`, so that header and data lie inside it.
        unsafe {
            let message: *mut libc::cmsghdr = self.0.as_mut_ptr().cast();
            (*message).cmsg_level = libc::IPPROTO_IP;
            (*message).cmsg_type = libc::IP_PKTINFO;
            (*message).cmsg_len = libc::CMSG_LEN(size_of::<libc::in_pktinfo>() as u32) as _;
            ptr::write_unaligned(libc::CMSG_DATA(message).cast(), info);
            libc::CMSG_SPACE(size_of::<libc::in_pktinfo>() as u32) as usize
        }
    }

    /// The local address that a message in the first `length` bytes names.
    fn local(&self, length: usize) -> Option<Ipv4Addr> {
        self.messages(length).find_map(|(level, kind, data)| {
            if level != libc::IPPROTO_IP || kind != libc::IP_PKTINFO {
                return None;
            }
            read::<libc::in_pktinfo>(data).map(|info| Ipv4Addr::from_bits(u32::from_be(info.ipi_addr.s_addr)))
        })
    }

    /// The messages in the first `length` bytes: level, type and data of each.
    fn messages(&self, length: usize) -> impl Iterator<Item = (libc::c_int, libc::c_int, &[u8])> {
        let bytes = &self.0[..length.min(self.0.len())];
        let mut at = 0;
        std::iter::from_fn(move || {
            let header: libc::cmsghdr = read(bytes.get(at..)?)?;
            // SAFETY: these two only compute.
            let (head, space) = unsafe {
                let head = libc::CMSG_LEN(0) as usize;
                (head, libc::CMSG_SPACE(header.cmsg_len.checked_sub(head)? as u32) as usize)
            };
            let data = bytes.get(at + head..at + header.cmsg_len)?;
            at += space;
            Some((header.cmsg_level, header.cmsg_type, data))
        })
    }
}

/// A message to receive into borrowed buffers.
struct Message<'a> {
    data: &'a mut [u8],
    control: &'a mut ControlBuffer,
    control_length: usize,
}

impl<'a> Message<'a> {
    fn new(data: &'a mut [u8], control: &'a mut ControlBuffer) -> Self {
        Self { data, control, control_length: 0 }
    }

    /// Receives one message: how many bytes of data, and the address that came with it.
    fn receive(&mut self, socket: &impl AsFd, flags: libc::c_int) -> io::Result<(usize, Option<SocketAddr>)> {
        let descriptor = socket.as_fd().as_raw_fd();
        let mut slice = libc::iovec { iov_base: self.data.as_mut_ptr().cast(), iov_len: self.data.len() };
        let control: *mut libc::c_void = self.control.0.as_mut_ptr().cast();
        let mut control_length = 0;
        // SAFETY: `try_init` hands out storage for any address and its size. recvmsg writes at most that many bytes of
        // address, `iov_len` bytes of data and `msg_controllen` bytes of control messages, each into a buffer of that
        // size that lives until it returns; it stores the length of the address, which `try_init` needs to know.
        let (size, from) = unsafe {
            SockAddr::try_init(|storage, length| {
                let mut header: libc::msghdr = MaybeUninit::zeroed().assume_init();
                header.msg_name = storage.cast();
                header.msg_namelen = *length;
                header.msg_iov = &raw mut slice;
                header.msg_iovlen = 1;
                header.msg_control = control;
                header.msg_controllen = size_of::<ControlBuffer>() as _;
                let size = libc::recvmsg(descriptor, &raw mut header, flags);
                if size < 0 {
                    return Err(io::Error::last_os_error());
                }
                *length = header.msg_namelen;
                control_length = header.msg_controllen;
                Ok(size as usize)
            })?
        };
        self.control_length = control_length;
        Ok((size.min(self.data.len()), from.as_socket().map(canonical)))
    }
}

/// Reads a plain C structure from the start of `bytes`.
fn read<T: Copy>(bytes: &[u8]) -> Option<T> {
    if bytes.len() < size_of::<T>() {
        return None;
    }
    // SAFETY: there are enough bytes, the read needs no alignment, and the callers' types (`cmsghdr`, `in_pktinfo`,
    // `sock_extended_err`, `sa_family_t`, `sockaddr_in`, `sockaddr_in6`) are integers and C structures of integers, for
    // which every pattern of bits is valid.
    Some(unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) })
}

/// Removes the flow label, the IPv6 form of an IPv4 address, and the scope of every address that is not link-local.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => {
            SocketAddrV6::new(*v6.ip(), v6.port(), 0, v6.scope_id()).into()
        }
        _ => SocketAddr::new(address.ip().to_canonical(), address.port()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn only_a_link_local_address_keeps_its_scope() {
        let canonical =
            |ip: &str, scope| canonical(SocketAddrV6::new(ip.parse().unwrap(), 9, 7, scope).into()).to_string();
        assert_eq!(canonical("fe80::1", 3), "[fe80::1%3]:9");
        assert_eq!(canonical("2001:db8::1", 3), "[2001:db8::1]:9");
        assert_eq!(canonical("::ffff:192.0.2.1", 3), "192.0.2.1:9");
        let mut name = Name::unspecified();
        name.set("[fe80::1%3]:9".parse().unwrap());
        assert_eq!(name.get(), "[fe80::1%3]:9".parse().ok());
    }

    fn wait_for_error(socket: &UdpSocket) -> Option<QueuedError> {
        // Bounded: loopback queues the error before the send returns, so the first look already finds it.
        (0..1_000).find_map(|_| receive_error(socket).ok().flatten())
    }

    #[test]
    fn a_closed_port_is_reported_with_the_address_that_was_asked_and_by_whom() {
        for (local, asked, ipv6) in [("127.0.0.1:0", "127.3.2.1", false), ("[::1]:0", "::1", true)] {
            let Ok(socket) = UdpSocket::bind(local) else {
                assert!(ipv6, "{local} cannot be bound; only IPv6 may be missing");
                continue;
            };
            socket.set_nonblocking(true).unwrap();
            enable_error_queue(&socket, ipv6).unwrap();
            let asked: IpAddr = asked.parse().unwrap();
            let closed = UdpSocket::bind((asked, 0)).unwrap();
            let to = closed.local_addr().unwrap();
            drop(closed);
            socket.send_to(b"x", to).unwrap();
            let error = wait_for_error(&socket);
            let cause = Cause::Icmp(Icmp::PortUnreachable);
            assert_eq!(error, Some(QueuedError { to, cause, offender: Some(asked) }));
        }
    }

    #[test]
    fn the_offender_is_read_from_behind_the_error_and_only_if_an_icmp_message_has_come() {
        let entry = |origin: u8, family: i32, address: &[u8]| {
            // sock_extended_err: errno, origin, type, code, padding, info, data.
            let mut data = [&113_u32.to_ne_bytes()[..], &[origin, 3, 1, 0], &[0; 8]].concat();
            data.extend((family as libc::sa_family_t).to_ne_bytes());
            data.extend_from_slice(address);
            data
        };
        // Port (and flow label), address, and what follows it.
        let v4 = [&[0; 2][..], &[10, 1, 2, 3], &[0; 8]].concat();
        let v6 = [&[0; 6][..], &[0xFD; 16], &[0; 4]].concat();
        let icmp = |offender: Option<&str>| {
            Some((Cause::Icmp(Icmp::HostUnreachable), offender.map(|text| text.parse().unwrap())))
        };
        let (inet, inet6, unspecified) = (libc::AF_INET, libc::AF_INET6, libc::AF_UNSPEC);
        let from_icmp = libc::SO_EE_ORIGIN_ICMP;
        assert_eq!(queued_error(&entry(from_icmp, inet, &v4)), icmp(Some("10.1.2.3")));
        let fd = "fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd";
        assert_eq!(queued_error(&entry(from_icmp, inet6, &v6)), icmp(Some(fd)));
        assert_eq!(queued_error(&entry(from_icmp, unspecified, &v6)), icmp(None));
        assert_eq!(queued_error(&entry(libc::SO_EE_ORIGIN_LOCAL, inet, &v4)), Some((Cause::Local(113), None)));
        // Whatever is cut off is not read.
        let whole = entry(from_icmp, inet6, &v6);
        for length in 0..whole.len() {
            let expected = if length < 16 { None } else { icmp(None) };
            assert_eq!(queued_error(&whole[..length]), expected, "{length}");
        }
    }

    #[test]
    fn a_signal_is_not_ignored_unless_somebody_said_so() {
        assert!(!is_ignored(libc::SIGUSR2));
        assert!(is_ignored(libc::SIGPIPE), "the standard library ignores it");
    }

    #[test]
    fn an_empty_error_queue_would_block() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        enable_error_queue(&socket, false).unwrap();
        assert_eq!(receive_error(&socket).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn one_socket_answers_from_the_addresses_that_were_asked() {
        let server = UdpSocket::bind("0.0.0.0:0").unwrap();
        enable_packet_info(&server).unwrap();
        let port = server.local_addr().unwrap().port();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let asked = [SocketAddr::from(([127, 3, 2, 1], port)), SocketAddr::from(([127, 3, 2, 9], port))];
        for to in asked {
            client.send_to(b"ping", to).unwrap();
        }
        server.set_nonblocking(true).unwrap();
        let mut came = Vec::new();
        let mut take = |from, local: Option<Ipv4Addr>, data: &[u8]| came.push((from, local, data.to_vec()));
        assert_eq!(ReceiveBatch::new(4, 16, true).receive(&server, &mut take).unwrap(), 2);
        let from = client.local_addr().unwrap();
        let locals = [Ipv4Addr::new(127, 3, 2, 1), Ipv4Addr::new(127, 3, 2, 9)];
        assert_eq!(came, locals.map(|local| (from, Some(local), b"ping".to_vec())));
        let answers = locals.into_iter().map(|local| (from, Some(local), &b"pong"[..]));
        assert_eq!(SendBatch::new(4).send(&server, answers).unwrap(), 2);
        let mut buffer = [0; 16];
        for to in asked {
            let (size, from) = client.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..size], from), (&b"pong"[..], to));
        }
    }

    #[test]
    fn datagrams_of_a_batch_keep_their_order_and_their_addresses() {
        for (local, ipv6) in [("127.0.0.1:0", false), ("[::1]:0", true)] {
            let (Ok(one), Ok(two)) = (UdpSocket::bind(local), UdpSocket::bind(local)) else {
                assert!(ipv6, "{local} cannot be bound; only IPv6 may be missing");
                continue;
            };
            let to = two.local_addr().unwrap();
            let datagrams: Vec<Vec<u8>> = (0..9).map(|n| vec![n; usize::from(n) * 3]).collect();
            let mut batch = SendBatch::new(5);
            let waiting = |from: usize| datagrams[from..].iter().map(|data| (to, None, data.as_slice()));
            assert_eq!(batch.send(&one, waiting(0)).unwrap(), 5);
            assert_eq!(batch.send(&one, waiting(5)).unwrap(), 4);
            let mut came = Vec::new();
            let mut take = |from, local: Option<Ipv4Addr>, data: &[u8]| came.push((from, local, data.to_vec()));
            // Loopback delivers before a send returns; a blocking socket would wait for a full batch.
            two.set_nonblocking(true).unwrap();
            assert_eq!(ReceiveBatch::new(64, 100, false).receive(&two, &mut take).unwrap(), 9);
            let from = one.local_addr().unwrap();
            assert_eq!(came, datagrams.iter().map(|data| (from, None, data.clone())).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_full_receive_buffer_counts_what_it_drops() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap();
        socket2::SockRef::from(&server).set_recv_buffer_size(4096).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        (0..1_000).for_each(|_| assert_eq!(client.send_to(&[0; 100], to).unwrap(), 100));
        server.set_nonblocking(true).unwrap();
        let mut buffer = [0; 128];
        let received = std::iter::from_fn(|| server.recv_from(&mut buffer).ok()).count();
        assert_eq!(received as u32 + dropped(&server).unwrap(), 1_000);
    }
}
