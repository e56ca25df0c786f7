//! UDP sockets tuned for a scan: nonblocking, large buffers, the error queue on.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Error, sys};

/// Buffer sizes that the kernel granted, in bytes as it counts them (its bookkeeping included).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Granted {
    /// Receive buffer.
    pub receive_buffer: usize,
    /// Send buffer.
    pub send_buffer: usize,
}

/// Opens a socket to scan from, bound to any address and port of its family.
pub fn open(ipv6: bool, buffer: usize) -> Result<(std::net::UdpSocket, Granted), Error> {
    let local =
        if ipv6 { SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)) } else { SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)) };
    let open = || {
        let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        if ipv6 {
            socket.set_only_v6(true)?;
        }
        let granted = tune(&socket, buffer)?;
        sys::enable_error_queue(&socket, ipv6)?;
        socket.bind(&local.into())?;
        Ok((socket.into(), granted))
    };
    open().map_err(|source| Error::new("opening a UDP socket on", local, source))
}

/// Makes `socket` nonblocking and its buffers as large as `buffer` bytes, or as large as the system allows.
pub fn tune(socket: &Socket, buffer: usize) -> io::Result<Granted> {
    socket.set_nonblocking(true)?;
    // Only a privileged process may go past the system's limit; the others take what they can get.
    if sys::force_receive_buffer(socket, buffer).is_err() {
        socket.set_recv_buffer_size(buffer)?;
    }
    if sys::force_send_buffer(socket, buffer).is_err() {
        socket.set_send_buffer_size(buffer)?;
    }
    Ok(Granted { receive_buffer: socket.recv_buffer_size()?, send_buffer: socket.send_buffer_size()? })
}

/// Size of the buffers that a scan asks for.
pub const BUFFER: usize = 16 << 20;
