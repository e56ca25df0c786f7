//! From a finished flight to a record: what the engine knows, what the protocol decodes, and the final status.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::Clones;
use crate::engine::{Batch, Finished, Plan, Reasons, Settings};
use crate::games;
use crate::record::{Flags, Query, QuerySet, QueryStatus, ServerRecord, Status};
use crate::target::{Origins, Target};

/// An instant and what the wall clock showed then: times are measured on the one and written on the other, so that a
/// clock that is set during a run moves no row.
#[derive(Debug, Clone, Copy)]
pub struct Epoch {
    /// The instant.
    pub instant: Instant,
    /// Microseconds since the Unix epoch at that instant.
    pub unix_us: i64,
}

impl Epoch {
    /// Microseconds since the Unix epoch at `instant`.
    #[must_use]
    pub fn unix_us(&self, instant: Instant) -> i64 {
        let since = instant.saturating_duration_since(self.instant).as_micros() as i64;
        let before = self.instant.saturating_duration_since(instant).as_micros() as i64;
        self.unix_us + since - before
    }
}

/// What it takes to make records of finished flights.
pub struct Assembler {
    /// The plans of the run.
    pub(crate) plans: Arc<[Plan]>,
    /// The origins of the run's targets.
    pub(crate) origins: Origins,
    /// The settings of the run.
    pub(crate) settings: Settings,
    /// When the run began.
    pub(crate) epoch: Epoch,
    /// What finds servers that are one server, if that is wanted.
    pub(crate) clones: Option<Clones>,
}

impl Assembler {
    /// Makes records of a run with these `settings` that follows `plans`, whose targets were named by `origins`.
    #[must_use]
    pub const fn new(plans: Arc<[Plan]>, origins: Origins, settings: Settings, epoch: Epoch) -> Self {
        Self { plans, origins, settings, epoch, clones: None }
    }

    /// Fills `record` with everything that is known about `finished`, which is one of `batch`. `answers` is scratch.
    pub fn assemble<'a>(
        &mut self,
        batch: &'a Batch,
        finished: &Finished,
        answers: &mut Vec<&'a [u8]>,
        record: &mut ServerRecord,
    ) {
        record.clear();
        self.fill(finished, record);
        batch.answers(finished, answers);
        let Some(plan) = self.plans.get(usize::from(finished.plan)) else { return };
        let Some(leg) = plan.leg(finished.leg) else { return };
        // Of several that stayed unanswered none is the server's.
        let is_known = !answers.is_empty() || plan.speaks_only(leg.protocol);
        record.protocol = if is_known { leg.protocol.spec().name } else { "" };
        let ask = plan.ask(leg.protocol, &self.settings, finished.address);
        leg.protocol.decode(answers, &ask, record);
        settle(ask.queries, finished.status, finished.reasons, record);
        record.game_key = games::identify(record);
        if let Some(clones) = &mut self.clones {
            clones.flag(record);
        }
    }

    /// Fills `record` with what is known about a target that is not asked.
    pub fn name(&self, target: Target, record: &mut ServerRecord) {
        record.clear();
        record.address = target.address;
        record.protocol = self.plans.get(usize::from(target.plan)).map_or("", |plan| plan.legs[0].protocol.spec().name);
        self.attribute(target.origin, record);
    }

    fn attribute(&self, origin: u32, record: &mut ServerRecord) {
        if let Some(origin) = self.origins.take(origin) {
            record.target = origin.text;
            record.source = origin.source;
            record.list_facts = origin.facts;
        }
    }

    fn fill(&self, finished: &Finished, record: &mut ServerRecord) {
        record.address = finished.address;
        self.attribute(finished.origin, record);
        if record.target.is_none() && finished.target_port != finished.address.port() {
            let mut named = finished.address;
            named.set_port(finished.target_port);
            record.target = Some(named.to_string().into());
        }
        record.icmp = finished.icmp.map(crate::engine::Icmp::as_str);
        record.sent_at_us = finished.first_sent.map(|sent| self.epoch.unix_us(sent));
        record.rtt_us = finished.rtt_us;
        record.ping_us = finished.ping_us;
        record.attempts = finished.attempts;
        record.sent = finished.sent;
        record.received = finished.received;
        record.fragments = finished.fragments;
        if finished.rtt_ambiguous {
            record.flags |= Flags::RTT_AMBIGUOUS;
        }
        if let Some(error) = finished.name_error {
            record.flags |= record.error.set(error.as_str().as_bytes());
        }
        if let Some(number) = finished.os_error {
            record.flags |= record.error.set(io::Error::from_raw_os_error(number).to_string().as_bytes());
        }
    }
}

/// Says in `record` how each of the `queries` that were asked has ended, and the target with them. `ended` is how the
/// engine saw it end, `reasons` what it noted on the way; what is answered, decoding has said already. An unanswered ping
/// alone does not make a target partial.
fn settle(queries: QuerySet, ended: Status, reasons: Reasons, record: &mut ServerRecord) {
    // What was answered, and is not in the record, could not be decoded.
    let rest = if ended == Status::Ok { Status::Malformed } else { ended };
    let (mut any, mut all, mut strongest) = (false, true, Status::Timeout);
    for query in queries.iter() {
        if record.query(query) == QueryStatus::Ok {
            any = true;
            continue;
        }
        let reason = match reasons.of(query) {
            // The host itself has said that the port is closed, whatever hosts on the way had said before.
            Some(Status::Unreachable) if ended == Status::Refused => ended,
            reason => reason.unwrap_or(rest),
        };
        record.set_query(query, QueryStatus::Failed(reason));
        all &= query == Query::Ping;
        if reason.strength() > strongest.strength() {
            strongest = reason;
        }
    }
    record.status = match (any, all) {
        (true, true) => Status::Ok,
        (true, false) => Status::Partial,
        (false, _) if ended == Status::Ok => strongest,
        (false, _) => ended,
    };
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::testing::start;

    #[test]
    fn times_are_converted_in_both_directions() {
        let epoch = Epoch { instant: start(), unix_us: 1_000_000 };
        assert_eq!(epoch.unix_us(epoch.instant + Duration::from_micros(5)), 1_000_005);
        assert_eq!(epoch.unix_us(epoch.instant.checked_sub(Duration::from_micros(5)).unwrap()), 999_995);
    }
}
