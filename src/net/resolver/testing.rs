//! A name server on loopback.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::dns::testing::NameServer;

/// Starts a name server on loopback, over UDP and TCP. It runs as long as the test.
pub(crate) fn serve() -> SocketAddr {
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    let place = udp.local_addr().expect("it is bound");
    let tcp = TcpListener::bind(place).expect("its port is free for TCP too");
    let server = Arc::new(Mutex::new(NameServer::new(0.0, 1)));
    let also = Arc::clone(&server);
    thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((size, client)) = udp.recv_from(&mut query) {
            if let Some(reply) = server.lock().unwrap().reply(&query[..size], false) {
                udp.send_to(&reply, client).unwrap();
            }
        }
    });
    thread::spawn(move || {
        for mut stream in tcp.incoming().flatten() {
            let mut length = [0; 2];
            stream.read_exact(&mut length).unwrap();
            let mut query = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut query).unwrap();
            let reply = also.lock().unwrap().reply(&query, true).unwrap();
            // In two pieces.
            let whole = [&(reply.len() as u16).to_be_bytes()[..], &reply].concat();
            stream.write_all(&whole[..5]).unwrap();
            stream.flush().unwrap();
            stream.write_all(&whole[5..]).unwrap();
        }
    });
    place
}
