//! Servers on loopback that answer as it is recorded, and remember what was said.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::files::Exchanges;

/// The datagrams that answer a request.
pub(crate) type Reply = Box<dyn FnMut(&[u8]) -> Vec<Vec<u8>> + Send>;

/// A server, not yet answering.
pub(crate) struct Server {
    socket: UdpSocket,
    reply: Reply,
}

/// Answers every request for info with `datagrams`.
pub(crate) fn always(datagrams: Vec<Vec<u8>>) -> Reply {
    in_turn(datagrams.clone(), datagrams)
}

/// Answers the first request for info with `first`, and every other with `then`.
pub(crate) fn in_turn(first: Vec<Vec<u8>>, then: Vec<Vec<u8>>) -> Reply {
    let mut first = Some(first);
    Box::new(move |request| {
        if request.starts_with(b"\xFF\xFF\xFF\xFFT") { first.take().unwrap_or_else(|| then.clone()) } else { vec![] }
    })
}

/// Answers a request without a challenge with `datagrams`, one with `challenge` with `info`, and nothing else.
pub(crate) fn challenging(datagrams: Vec<Vec<u8>>, challenge: &[u8], info: Vec<u8>) -> Reply {
    let challenged = [INFO_REQUEST, challenge].concat();
    recorded(vec![(INFO_REQUEST.to_vec(), datagrams), (challenged, vec![info])])
}

/// Answers as in `exchanges`: a challenge that is not in them as the first request of its kind, and nothing else.
pub(crate) fn recorded(exchanges: Exchanges) -> Reply {
    Box::new(move |request| {
        let same = exchanges.iter().find(|(recorded, _)| recorded == request);
        let of_kind = |(recorded, _): &&(Vec<u8>, _)| {
            let begin = |bytes: &[u8]| bytes.get(..5).map(<[u8]>::to_vec);
            begin(recorded) == begin(request) && recorded.len() == request.len() && request.len() == 9
        };
        let exchange = same.or_else(|| exchanges.iter().find(of_kind));
        exchange.map_or_else(Vec::new, |(_, replies)| replies.clone())
    })
}

/// Has `servers` answer, a thread each, until `run` returns; each gives what it was asked and what it answered.
pub(crate) fn serve_while<T>(servers: Vec<Server>, run: impl FnOnce() -> T) -> (T, Vec<Exchanges>) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving: Vec<_> = servers.into_iter().map(|server| scope.spawn(|| server.serve_until(&done))).collect();
        let result = run();
        done.store(true, Ordering::Relaxed);
        (result, serving.into_iter().map(|thread| thread.join().expect("a server does not panic")).collect())
    })
}

impl Server {
    /// The server number `host` of `network`, at an address of its own.
    pub(crate) fn bind(network: u8, host: u8, reply: Reply) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::new(127, 77, network, host), 0)).expect("loopback addresses are free");
        socket.set_read_timeout(Some(PATIENCE)).expect("the time is not zero");
        Self { socket, reply }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("a bound socket has an address")
    }

    /// Answers until `done`, and until there is nothing left to answer.
    fn serve_until(mut self, done: &AtomicBool) -> Exchanges {
        let mut exchanges = Exchanges::new();
        let mut buffer = [0; 2048];
        loop {
            match self.socket.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    let request = &buffer[..len];
                    let replies = (self.reply)(request);
                    for datagram in &replies {
                        self.socket.send_to(datagram, from).expect("loopback takes the datagram");
                    }
                    exchanges.push((request.to_vec(), replies));
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if done.load(Ordering::Relaxed) {
                        return exchanges;
                    }
                }
                Err(error) => panic!("receiving: {error}"),
            }
        }
    }
}

/// A request for info without a challenge.
pub(crate) const INFO_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
/// How often a server looks whether it is still needed.
const PATIENCE: Duration = Duration::from_millis(50);
