//! Recorded datagrams to the records that a scan would have written: the same engine asks, in virtual time, and the file
//! answers.
//!
//! A recorded server is asked like a real one and answers with its recorded datagrams ([`Protocol::replay`]), so that
//! every rule about what a datagram means is in one place. Only two things are decided here: which datagrams of a capture
//! are questions, and which protocol a server speaks.
//!
//! [`Protocol::replay`]: crate::protocol::Protocol::replay

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::capture::{Datagram, Direction};
use crate::engine::{Auto, Batch, Engine, Plan, Rate, Settings};
use crate::output::{Assembler, Epoch};
use crate::protocol::{self, AnyProtocol, AnySession, Ask, Found, Ignored, Manner, Persona, Replies, Step};
use crate::record::{Query, QuerySet, QueryStatus, ServerRecord, Status};
use crate::target::{Origins, Target};
use crate::wire::DecodeError;

/// What a server once was asked and sent.
#[derive(Debug, Default, Clone)]
pub(crate) struct Recording {
    /// Its address, if the file says so.
    pub address: Option<SocketAddr>,
    /// What it was asked.
    pub requests: Vec<Vec<u8>>,
    /// When it was asked first, in µs since 1970, if the file says so.
    pub asked_at_us: Option<i64>,
    /// What it sent, in order of arrival.
    pub replies: Vec<Vec<u8>>,
}

/// Sorts the datagrams of a file by server, in the order in which they appear. Without addresses it is one server.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    recordings: Vec<Recording>,
    places: HashMap<Option<SocketAddr>, usize>,
    left_out: u64,
}

/// What a [`Sorter`] made of a file.
#[derive(Debug)]
pub(crate) struct Sorted {
    /// What was recorded of each server.
    pub recordings: Vec<Recording>,
    /// Addresses that were left out because nothing that they sent or were sent is of any protocol here.
    pub strangers: usize,
    /// Datagrams that were left out because their server sent thousands of others before.
    pub left_out: u64,
}

impl Sorter {
    /// Adds the next datagram.
    pub(crate) fn push(&mut self, datagram: Datagram) {
        let Datagram { from, to, at_us, data, .. } = datagram;
        let is_request = is_request(datagram.direction, &data);
        let server = if is_request { to } else { from };
        let place = *self.places.entry(server).or_insert_with(|| {
            self.recordings.push(Recording { address: server, ..Recording::default() });
            self.recordings.len() - 1
        });
        let recording = &mut self.recordings[place];
        if is_request {
            recording.asked_at_us = recording.asked_at_us.or(at_us);
            recording.requests.push(data);
        } else if recording.replies.len() < MOST_REPLIES {
            recording.replies.push(data);
        } else {
            self.left_out += 1;
        }
    }

    /// What has no address from here on was sent by another server.
    pub(crate) fn next_file(&mut self) {
        self.places.remove(&None);
    }

    /// Everything that was pushed, sorted.
    #[must_use]
    pub(crate) fn finish(self) -> Sorted {
        let all = self.recordings.len();
        let recordings: Vec<_> = self.recordings.into_iter().filter(Recording::is_known).collect();
        Sorted { strangers: all - recordings.len(), recordings, left_out: self.left_out }
    }
}

impl Recording {
    /// What it answers when it is asked in `protocol` once more. Where nobody wrote down the questions, it is not known how
    /// often it was asked, and it gives its challenge again when that is sent back.
    #[must_use]
    pub(crate) fn answers(&self, protocol: AnyProtocol) -> Vec<&[u8]> {
        let is_challenge = |reply: &&Vec<u8>| matches!(alone(protocol, reply), Ok(Step::Move(_)));
        let again = self.replies.iter().filter(|reply| self.requests.is_empty() && is_challenge(reply));
        self.replies.iter().chain(again).map(Vec::as_slice).collect()
    }

    /// True if it was asked something, or sent something that belongs to a protocol; and always in a file that names no
    /// addresses, because there it is what the user means.
    fn is_known(&self) -> bool {
        self.address.is_none()
            || !self.requests.is_empty()
            || protocol::all().any(|protocol| self.replies.iter().any(|reply| belongs_to(protocol, reply)))
    }
}

/// Makes a record of each of `recordings`, in their order, and shows it to `row`. If no protocol is given each server
/// speaks the one that it seems to; if no queries are given those were asked that any server answered. Virtual time
/// begins at `now`.
pub(crate) fn records(
    recordings: &[Recording],
    protocol: Option<AnyProtocol>,
    queries: Option<QuerySet>,
    now: Instant,
    mut row: impl FnMut(&ServerRecord),
) {
    let replay = Replay::new(recordings, protocol);
    let batches = replay.run(queries.unwrap_or(QuerySet::ALL), now);
    let assembler = |queries| Assembler {
        plans: Arc::clone(&replay.plans),
        origins: Origins::default(),
        settings: settings(queries),
        epoch: Epoch { instant: now, unix_us: 0 },
        clones: None,
    };
    let queries = queries.unwrap_or_else(|| answered(&batches, assembler(QuerySet::ALL)));
    let mut assembler = assembler(queries);
    let mut ended: Vec<_> =
        batches.iter().flat_map(|batch| batch.iter().map(move |finished| (batch, finished))).collect();
    ended.sort_by_key(|(_, finished)| index_of(finished.address));
    let mut record = ServerRecord::new();
    let mut answers = Vec::new();
    for (recording, (batch, finished)) in recordings.iter().zip(ended) {
        assembler.assemble(batch, finished, &mut answers, &mut record);
        record.address = recording.address.unwrap_or(Ask::offline().address);
        record.sent_at_us = recording.asked_at_us;
        record.sent = recording.requests.len() as u32;
        record.attempts = u32::from(record.sent > 0);
        // Virtual time is nobody's round-trip time.
        record.rtt_us = None;
        record.ping_us = None;
        row(&record);
    }
}

/// The protocol that a server speaks, as far as what was recorded tells.
#[must_use]
pub(crate) fn recognise(recording: &Recording) -> AnyProtocol {
    recognise_among(protocol::of_servers(), recording)
}

/// The one of `protocols` that most of the recorded replies belong to, and then most of the requests, which may have been
/// tries in several; or the first one of these.
pub(crate) fn recognise_among(protocols: impl Iterator<Item = AnyProtocol>, recording: &Recording) -> AnyProtocol {
    let score = |protocol: &AnyProtocol| {
        let asks = recording.requests.iter().filter(|request| is_request_of(*protocol, request)).count();
        let answers = recording.replies.iter().filter(|reply| belongs_to(*protocol, reply)).count();
        (answers, asks)
    };
    let mut best: Option<((usize, usize), AnyProtocol)> = None;
    for protocol in protocols {
        let score = score(&protocol);
        if best.as_ref().is_none_or(|(most, _)| score > *most) {
            best = Some((score, protocol));
        }
    }
    best.map(|(_, protocol)| protocol).expect("there is a protocol")
}

/// True if `reply` can be a message of `protocol`, or a piece of one. It may carry the token of whoever asked then.
fn belongs_to(protocol: AnyProtocol, reply: &[u8]) -> bool {
    let step = alone(protocol, reply);
    matches!(step, Ok(Step::Answer(_) | Step::Move(_) | Step::Part | Step::Ignore(Ignored::Spoofed)))
}

/// What `reply` means to somebody who has just asked everything in `protocol`.
fn alone(protocol: AnyProtocol, reply: &[u8]) -> Result<Step, DecodeError> {
    protocol.receive(&mut AnySession::default(), &Ask::offline(), reply, &mut Found::default())
}

/// True if `data` is a question, as far as its direction or its bytes tell.
#[must_use]
pub(crate) fn is_request(direction: Direction, data: &[u8]) -> bool {
    match direction {
        Direction::Request => true,
        Direction::Reply => false,
        Direction::Unknown => protocol::all().any(|protocol| is_request_of(protocol, data)),
    }
}

/// The protocol in which `request` was asked of a server that speaks `spoken`: that one, unless only another knows it.
#[must_use]
pub(crate) fn asked_in(spoken: AnyProtocol, request: &[u8]) -> AnyProtocol {
    let mut known = std::iter::once(spoken).chain(protocol::all());
    known.find(|protocol| is_request_of(*protocol, request)).unwrap_or(spoken)
}

/// True if a server would answer `data`; one that answers nonsense answers every request.
fn is_request_of(protocol: AnyProtocol, data: &[u8]) -> bool {
    let mut replies = Replies::default();
    protocol.serve(&Persona { manner: Manner::Malformed, ..Persona::default() }, data, &mut replies);
    !replies.is_empty()
}

/// The queries that any server answered, be it with pieces that make no whole; info, if none did.
fn answered(batches: &[Batch], mut assembler: Assembler) -> QuerySet {
    let mut record = ServerRecord::new();
    let mut answers = Vec::new();
    let mut all = QuerySet::NONE;
    for batch in batches {
        for finished in batch.iter() {
            assembler.assemble(batch, finished, &mut answers, &mut record);
            let came = |query: &Query| {
                matches!(
                    record.query(*query),
                    QueryStatus::Ok | QueryStatus::Failed(Status::SplitIncomplete | Status::SplitCorrupt)
                )
            };
            all = QuerySet::ALL.iter().filter(came).fold(all, QuerySet::with);
        }
        answers.clear();
    }
    if all.is_empty() { QuerySet::of(Query::Info) } else { all }
}

/// Recorded servers, each at an address of its own that stands in for its real one: files name one twice, or none.
struct Replay<'a> {
    recordings: &'a [Recording],
    protocols: Vec<AnyProtocol>,
    plans: Arc<[Plan]>,
}

impl<'a> Replay<'a> {
    fn new(recordings: &'a [Recording], protocol: Option<AnyProtocol>) -> Self {
        let protocols = recordings.iter().map(|recording| protocol.unwrap_or_else(|| recognise(recording)));
        Self { recordings, protocols: protocols.collect(), plans: protocol::all().map(Plan::of).collect() }
    }

    /// Scans them all.
    fn run(&self, queries: QuerySet, mut now: Instant) -> Vec<Batch> {
        let mut engine =
            Engine::new(settings(queries), Arc::clone(&self.plans), Box::new(self.targets().into_iter()), now);
        let mut batches = Vec::new();
        let mut request = Vec::new();
        // Bounded like any scan: each target ends within its budget, and time goes on in each turn without datagrams.
        loop {
            engine.handle_timeout(now);
            while let Some(transmit) = engine.poll_transmit(now, &mut request) {
                self.answer(transmit.to, &request, |reply| {
                    let _ = engine.handle_datagram(now, now, transmit.to, reply);
                });
                request.clear();
            }
            batches.extend(std::iter::from_fn(|| engine.poll_finished(now)));
            if engine.is_done() {
                return batches;
            }
            now = engine.poll_timeout(now).expect("a scan that is not done waits for something").max(now);
        }
    }

    fn answer(&self, to: SocketAddr, request: &[u8], mut send: impl FnMut(&[u8])) {
        let index = index_of(to);
        let protocol = self.protocols[index];
        let recorded = self.recordings[index].answers(protocol);
        let mut replies = Replies::default();
        protocol.replay(request, &recorded, &mut replies);
        replies.iter().for_each(&mut send);
    }

    fn targets(&self) -> Vec<Target> {
        let plan_of = |wanted| self.plans.iter().position(|plan| plan.legs[0].protocol == wanted);
        self.protocols
            .iter()
            .enumerate()
            .map(|(index, protocol)| Target {
                address: stand_in(index),
                plan: plan_of(*protocol).expect("there is a plan for each protocol") as u16,
                origin: 0,
            })
            .collect()
    }
}

/// Nothing is lost on the way, so nothing is asked twice.
fn settings(queries: QuerySet) -> Settings {
    Settings {
        timeout: Duration::from_secs(1),
        retries: 0,
        budget: Duration::from_mins(1),
        window: 1024,
        rate: Rate::default(),
        auto: Auto::default(),
        host_gap: Duration::ZERO,
        list_gap: Duration::ZERO,
        queries,
        lists_only: false,
        keep_datagrams: false,
        key: Ask::offline().key,
    }
}

/// Replies of one server that are kept; a scan uses a few dozen.
const MOST_REPLIES: usize = 4096;

fn stand_in(index: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(index as u32)), 1)
}

/// The inverse of [`stand_in`].
fn index_of(address: SocketAddr) -> usize {
    match address.ip() {
        IpAddr::V4(ip) => ip.to_bits() as usize,
        IpAddr::V6(_) => usize::MAX,
    }
}
