//! UDP sockets tuned for a scan: nonblocking, large buffers, the error queue on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};

use super::options::Local;
use super::{Error, sys};

/// Buffer sizes that the kernel granted, in bytes as it counts them (its bookkeeping included).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Granted {
    /// Receive buffer.
    pub receive_buffer: usize,
    /// Send buffer.
    pub send_buffer: usize,
}

/// Opens a socket to scan from, bound as `local` says.
pub(crate) fn open(local: &Local, ipv6: bool) -> Result<(std::net::UdpSocket, Granted), Error> {
    let ip: IpAddr = if ipv6 {
        local.ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED).into()
    } else {
        local.ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED).into()
    };
    let (first, last) = local.ports.unwrap_or((0, 0));
    let open = || {
        let socket = Socket::new(Domain::for_address(SocketAddr::new(ip, 0)), Type::DGRAM, Some(Protocol::UDP))?;
        if ipv6 {
            socket.set_only_v6(true)?;
        } else {
            sys::never_fragment(&socket)?;
        }
        let granted = tune(&socket, local.receive_buffer.unwrap_or(BUFFER))?;
        sys::enable_error_queue(&socket, ipv6)?;
        if let Some(interface) = &local.interface {
            socket.bind_device(Some(interface.as_bytes()))?;
        }
        // Bounded by the ports; another error than a port that is taken is that of all.
        let mut bound = Err(io::Error::from(io::ErrorKind::AddrInUse));
        for port in first..=last {
            bound = socket.bind(&SocketAddr::new(ip, port).into());
            if !bound.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse) {
                break;
            }
        }
        bound.map(|()| (socket.into(), granted))
    };
    open().map_err(|source| Error::new("opening a UDP socket on", SocketAddr::new(ip, first), source))
}

/// Opens a nonblocking socket of type `kind` to `server`, which sends from the address and through the interface that
/// `local` names. Neither applies on loopback.
pub(super) fn connect(local: &Local, server: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(server), kind, None)?;
    socket.set_nonblocking(true)?;
    if !server.ip().is_loopback() {
        if let Some(interface) = &local.interface {
            socket.bind_device(Some(interface.as_bytes()))?;
        }
        let ip = if server.is_ipv4() { local.ipv4.map(IpAddr::from) } else { local.ipv6.map(IpAddr::from) };
        if let Some(ip) = ip {
            socket.bind(&SocketAddr::new(ip, 0).into())?;
        }
    }
    match socket.connect(&server.into()) {
        // A stream is connected later.
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}

/// Says why datagrams cannot be sent from `ip`, if they cannot.
pub(crate) fn claim(ip: IpAddr) -> io::Result<()> {
    std::net::UdpSocket::bind((ip, 0)).map(drop)
}

/// Makes so many new flows over loopback, for whoever keeps account of flows: an empty datagram each, from a socket to
/// itself under as many addresses.
pub(crate) fn make_flows(count: u8) -> io::Result<()> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_nonblocking(true)?;
    let port = socket.local_addr()?.port();
    // The source is 127.0.0.1; more than 253 are never made.
    (2..=254)
        .take(count.into())
        .try_for_each(|last| socket.send_to(&[], (Ipv4Addr::new(127, 0, 0, last), port)).map(drop))
}

/// Makes `socket` nonblocking, its receive buffer as large as `receive` bytes and its send buffer as [`BUFFER`], or as large
/// as the system allows.
pub(crate) fn tune(socket: &Socket, receive: usize) -> io::Result<Granted> {
    socket.set_nonblocking(true)?;
    // Only a privileged process may go past the system's limit; the others take what they can get.
    if sys::force_receive_buffer(socket, receive).is_err() {
        socket.set_recv_buffer_size(receive)?;
    }
    if sys::force_send_buffer(socket, BUFFER).is_err() {
        socket.set_send_buffer_size(BUFFER)?;
    }
    Ok(Granted { receive_buffer: socket.recv_buffer_size()?, send_buffer: socket.send_buffer_size()? })
}

/// Size of the buffers that a scan asks for.
pub(crate) const BUFFER: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_made_without_anybody_to_receive_them() {
        make_flows(0).unwrap();
        make_flows(u8::MAX).unwrap();
    }
}
