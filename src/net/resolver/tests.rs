//! The resolver over sockets, against a name server on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::Mutex;

use crossbeam_channel::unbounded;

use super::*;
use crate::dns::testing::{NameServer, address};
use crate::dns::{Answer, Config, Hosts, Wanted};
use crate::target::NameError;

/// Starts a name server on loopback, over UDP and TCP. It runs as long as the test.
fn serve() -> SocketAddr {
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

/// What becomes of `names` at `servers`, by number.
fn look_up(servers: &[SocketAddr], names: &[&str]) -> Vec<Answer> {
    let (sender, answers) = unbounded();
    struct Sent(Sender<Answered>);
    impl Answers for Sent {
        fn take(&mut self, answered: Answered, _: NameQueries) -> bool {
            self.0.send(answered).is_ok()
        }
    }
    let wait = Duration::from_millis(100);
    let config = Config::asking(servers);
    let resolver = Resolver::new(config, Hosts::default(), Wanted::default(), wait, random());
    let lookups = start(resolver, Sent(sender)).unwrap();
    for (number, name) in names.iter().enumerate() {
        assert!(lookups.look_up(number as u32, (*name).into(), None));
    }
    drop(lookups);
    // It ends with the thread.
    let mut answers: Vec<_> = answers.iter().collect();
    answers.sort_unstable_by_key(|answered| answered.number);
    answers.into_iter().map(|answered| answered.answer).collect()
}

fn at(name: &str) -> Answer {
    Answer::Addresses([address(name).into()].into(), None)
}

#[test]
fn names_are_looked_up_over_udp_and_what_does_not_fit_over_tcp() {
    let answers =
        look_up(&[serve()], &["good1.example", "cut1.example", "dead.example", "silent.example", "localhost"]);
    let failed = Answer::Failed;
    let localhost = Answer::Addresses([Ipv4Addr::LOCALHOST.into()].into(), None);
    let expected =
        [at("good1.example"), at("cut1.example"), failed(NameError::NxDomain), failed(NameError::Silence), localhost];
    assert_eq!(answers, expected);
}

#[test]
fn a_server_where_nobody_listens_is_followed_by_the_next_or_said_to_be_down() {
    let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    assert_eq!(
        look_up(&[gone, serve()], &["good1.example"; 3]),
        [at("good1.example"), at("good1.example"), at("good1.example")]
    );
    assert_eq!(look_up(&[gone], &["good1.example"]), [Answer::Failed(NameError::NoServer)]);
}
