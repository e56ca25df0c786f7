//! The resolver over sockets, against a name server on loopback.

use std::net::{Ipv4Addr, UdpSocket};

use crossbeam_channel::unbounded;

use super::testing::serve;
use super::*;
use crate::dns::testing::address;
use crate::dns::{Answer, Config, Hosts, Wanted};
use crate::target::NameError;

/// Passes answers on.
struct Sent(Sender<Answered>);
impl Answers for Sent {
    fn count(&mut self, _: NameQueries) {}

    fn take(&mut self, answered: Answered) -> bool {
        self.0.send(answered).is_ok()
    }
}

/// What becomes of `names` at `servers`, by number.
fn look_up(servers: &[SocketAddr], names: &[&str]) -> Vec<Answer> {
    let (sender, answers) = unbounded();
    let wait = Duration::from_millis(100);
    let config = Config::asking(servers);
    let resolver = Resolver::new(config, Hosts::default(), Wanted::default(), wait, random());
    let lookups = start(resolver, Local::default(), Sent(sender)).unwrap();
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
