//! The account of a run for a person, on standard error.

use std::fmt;

use serde::Serialize;

use crate::engine::{Adapted, LimitHistory};
use crate::ledger::{Datagrams, Input, Ledger, NameQueries, Names};
use crate::output::count;
use crate::output::metadata::Metadata;

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Servers are asked.
    Scan,
    /// Servers of lists are printed and not asked.
    List,
}

/// What a run did, in a few lines.
pub(super) struct Summary<'a, I, S> {
    pub metadata: &'a Metadata<I, S>,
    pub manner: Manner,
}

impl<I: Serialize, S: Serialize> fmt::Display for Summary<'_, I, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metadata { ledger, seconds, rtt_ms, outputs, raw, stop, seed, lists, .. } = self.metadata;
        if self.manner == Manner::List {
            listed(f, ledger)?;
        } else {
            let scheduled = ledger.targets.scheduled;
            let speed = scheduled as f64 / seconds.max(1e-6);
            write!(f, "asked {} in {seconds:.2} s ({speed:.0}/s)", count(scheduled, "target"))?;
            if scheduled > 0 {
                write!(f, ": {}", ledger.rows.status)?;
            }
            targets(f, &ledger.input, scheduled)?;
            write!(f, "; seed {seed}")?;
        }
        for list in lists {
            write!(f, "\n{list}")?;
        }
        names(f, &ledger.names)?;
        if self.manner == Manner::Scan {
            datagrams(f, &ledger.datagrams, ledger.lists.sent)?;
        }
        let quantiles = (rtt_ms.quantile_ms(0.5), rtt_ms.quantile_ms(0.9), rtt_ms.quantile_ms(0.99));
        if let (Some(p50), Some(p90), Some(p99)) = quantiles {
            write!(f, "\nround-trip time: median {p50:.1} ms, 90 % within {p90:.1} ms, 99 % within {p99:.1} ms")?;
        }
        if let Some(adapted) = &self.metadata.adapted {
            adaptation(f, adapted)?;
        }
        if ledger.input.excluded_private > 0 {
            write!(f, "\nprivate addresses that files and lists name are left out without --include-private")?;
        }
        for output in outputs {
            write!(f, "\n{} in {}", count(output.rows, "row"), output.name)?;
        }
        if let Some(raw) = raw {
            write!(f, "\n{} in {}", count(raw.datagrams, "datagram"), raw.name)?;
            if raw.left_out > 0 {
                write!(f, ", without {} of servers that sent too much", raw.left_out)?;
            }
        }
        if stop != "done" {
            write!(f, "\nstopped early: {stop}")?;
        }
        Ok(())
    }
}

fn targets(f: &mut fmt::Formatter<'_>, input: &Input, scheduled: u64) -> fmt::Result {
    let Input { read, invalid, duplicate, not_started, .. } = input;
    write!(f, "\ntargets: {read} read = {scheduled} asked + {invalid} invalid + {duplicate} duplicate + ")?;
    excluded(f, input)?;
    write!(f, " + {not_started} not started")
}

fn names(f: &mut fmt::Formatter<'_>, names: &Names) -> fmt::Result {
    let Names { looked_up, found, nxdomain, no_address, blocked, server_failure, silence, no_server, .. } = names;
    if *looked_up == 0 {
        return Ok(());
    }
    write!(f, "\nnames: {looked_up} looked up = {found} with an address + {nxdomain} NXDOMAIN + ")?;
    write!(f, "{} without an address + {server_failure} server failure + ", no_address + blocked)?;
    write!(f, "{silence} silence + {no_server} no name server + {} unfinished", names.unfinished)?;
    let NameQueries { sent, sent_retry, sent_tcp, received, .. } = names.queries;
    write!(f, "; {} to name servers ({sent_retry} retries, {sent_tcp} over TCP), ", count(sent, "question"))?;
    write!(f, "{}", count(received, "answer"))?;
    if *no_server > 0 {
        write!(
            f,
            "\nno name server answered: {no_server} names were given up; --input-where status=unresolved asks their rows again"
        )?;
    }
    Ok(())
}

fn listed(f: &mut fmt::Formatter<'_>, Ledger { input, rows, .. }: &Ledger) -> fmt::Result {
    let Input { read, invalid, duplicate, not_started, .. } = input;
    write!(f, "servers: {read} named = {} printed + {invalid} invalid + {duplicate} named again + ", rows.written)?;
    excluded(f, input)?;
    write!(f, " + {} not printed", not_started + rows.unwritten)
}

fn excluded(f: &mut fmt::Formatter<'_>, input: &Input) -> fmt::Result {
    let Input { excluded_reserved, excluded_private, excluded_listed, .. } = input;
    write!(f, "{} excluded", excluded_reserved + excluded_private + excluded_listed)?;
    if excluded_reserved + excluded_private + excluded_listed > 0 {
        write!(f, " ({excluded_reserved} reserved, {excluded_private} private, {excluded_listed} listed)")?;
    }
    Ok(())
}

fn datagrams(f: &mut fmt::Formatter<'_>, d: &Datagrams, to_lists: u64) -> fmt::Result {
    let Datagrams { sent, sent_first, sent_retry, sent_follow_up, send_errors, .. } = d;
    write!(f, "\nsent: {} = {sent_first} first + ", count(*sent, "datagram"))?;
    write!(f, "{sent_retry} retries + {sent_follow_up} follow-ups")?;
    if to_lists > 0 {
        write!(f, ", {to_lists} of them to list servers")?;
    }
    write!(f, "; {send_errors} not taken by the system")?;
    if d.over_limit > 0 {
        write!(
            f,
            ", {} answers not kept because those in flight hold too much memory (a smaller --window needs less)",
            d.over_limit
        )?;
    }
    if d.congested > 0 {
        write!(f, ", {} delayed because it had no room", d.congested)?;
    }
    let Datagrams { received, matched, late, duplicate, unsolicited, undecodable, dropped_by_kernel, .. } = d;
    write!(f, "\nreceived: {} = {matched} matched + {late} late + ", count(*received, "datagram"))?;
    write!(f, "{duplicate} duplicate + {unsolicited} unsolicited + {undecodable} undecodable; ")?;
    write!(f, "{dropped_by_kernel} dropped by the kernel, {}", count(d.icmp_matched + d.icmp_stray, "ICMP error"))
}

fn adaptation(f: &mut fmt::Formatter<'_>, adapted: &Adapted) -> fmt::Result {
    let limits = [("window", &adapted.window, ""), ("rate", &adapted.rate, "/s")];
    for (name, history, unit) in limits {
        let Some(LimitHistory { start, end, least, greatest, increases, decreases, .. }) = history else { continue };
        write!(
            f,
            "\n{name}: {start}{unit} at the beginning, {end}{unit} at the end, between {least} and {greatest}; "
        )?;
        write!(f, "grown {}, halved {}", count(*increases, "time"), count(*decreases, "time"))?;
    }
    Ok(())
}
