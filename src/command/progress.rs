//! How a run stands, while it runs: a bar on a terminal, plain lines where there is none and they were asked for.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::say;
use super::summary::Manner;
use crate::engine::{Oddity, Snapshot};
use crate::net::driver::{Watch, read_clocks};
use crate::output::count;

/// Shows a run on standard error.
pub(super) struct Progress {
    display: Display,
    manner: Manner,
    /// Odd datagrams that are still shown.
    odd: usize,
    began: Instant,
    last: Option<(Instant, u64)>,
}

enum Display {
    Nothing,
    /// With whether it grows.
    Bar(ProgressBar, bool),
    Lines,
}

impl Progress {
    /// Shows nothing but that the run is being stopped.
    pub(super) fn quiet() -> Self {
        Self::new(Display::Nothing, Manner::Scan)
    }

    /// Shows a bar.
    pub(super) fn bar(manner: Manner) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        set_style(&bar, false);
        Self::new(Display::Bar(bar, false), manner)
    }

    /// Prints a line every few seconds.
    pub(super) fn lines(manner: Manner) -> Self {
        Self::new(Display::Lines, manner)
    }

    fn new(display: Display, manner: Manner) -> Self {
        Self { display, manner, odd: 0, began: read_clocks().0, last: None }
    }

    /// Explains each odd datagram too, up to a number.
    #[must_use]
    pub(super) fn with_oddities(mut self) -> Self {
        self.odd = MOST_ODD;
        self
    }

    fn print(&self, text: &str) {
        match &self.display {
            Display::Bar(bar, _) => bar.suspend(|| say(&text)),
            _ => say(&text),
        }
    }
}

impl Watch for Progress {
    fn interval(&self) -> Option<Duration> {
        match self.display {
            Display::Nothing => None,
            Display::Bar(..) => Some(Duration::from_millis(250)),
            Display::Lines => Some(Duration::from_secs(5)),
        }
    }

    fn look(&mut self, now: Instant, snapshot: &Snapshot) {
        let sent = snapshot.datagrams.sent;
        let (then, sent_then) = self.last.replace((now, sent)).unwrap_or((self.began, 0));
        let rate = (sent - sent_then) as f64 / now.saturating_duration_since(then).as_secs_f64().max(1e-3);
        let elapsed = now.saturating_duration_since(self.began);
        let text = match self.manner {
            Manner::Scan => describe(snapshot, rate, elapsed),
            Manner::List => describe_list(snapshot, elapsed),
        };
        match &mut self.display {
            Display::Nothing => {}
            Display::Bar(bar, growing) => {
                if std::mem::replace(growing, snapshot.growing) != snapshot.growing {
                    set_style(bar, snapshot.growing);
                }
                bar.set_length(total(snapshot).max(1));
                bar.set_position(snapshot.targets.finished);
                bar.set_message(text);
            }
            Display::Lines => say(&text),
        }
    }

    fn stopping(&mut self, snapshot: &Snapshot, grace: Duration) {
        if snapshot.in_flight == 0 {
            return;
        }
        let text = format!(
            "stopping: up to {1:.1} s for the answers of {0} in flight; once more to stop at once",
            count(snapshot.in_flight as u64, "target"),
            grace.as_secs_f64()
        );
        self.print(&text);
    }

    fn odd(&mut self, from: SocketAddr, oddity: &Oddity, data: &[u8]) {
        if self.odd == 0 {
            return;
        }
        self.odd -= 1;
        let head = data.get(..SHOWN).unwrap_or(data);
        let hex: String = head.chunks(16).map(hex_line).collect();
        self.print(&format!("{from}: {oddity}, {} bytes{hex}", data.len()));
        if self.odd == 0 {
            self.print("further odd datagrams are counted and not shown");
        }
    }
}

/// A line of a hex dump: bytes, then the letters that they are.
fn hex_line(bytes: &[u8]) -> String {
    let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let letter = |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' };
    let letters: String = bytes.iter().map(letter).collect();
    format!("\n    {:47}  {letters}", hex.join(" "))
}

/// Odd datagrams that are shown; whoever floods us shall not flood the terminal.
const MOST_ODD: usize = 1000;
/// Bytes of a datagram that are shown.
const SHOWN: usize = 48;

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Bar(bar, _) = &self.display {
            bar.finish_and_clear();
        }
    }
}

/// A share of what nobody knows the whole of says nothing: while targets become known there is no bar.
fn set_style(bar: &ProgressBar, growing: bool) {
    let template = if growing { "{wide_msg}" } else { "{bar:24} {percent}% {wide_msg}" };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Targets that are or will be asked, as far as they are known.
fn total(snapshot: &Snapshot) -> u64 {
    snapshot.targets.scheduled + snapshot.not_started
}

fn describe(snapshot: &Snapshot, rate: f64, elapsed: Duration) -> String {
    let (finished, total) = (snapshot.targets.finished, total(snapshot));
    let dropped = snapshot.datagrams.dropped_by_kernel + snapshot.datagrams.send_errors;
    let limit = snapshot.rate.map(|rate| format!(" of {rate:.0}")).unwrap_or_default();
    let window = snapshot.window.map(|window| format!(" of {window}")).unwrap_or_default();
    let share = if snapshot.growing { "done of" } else { "of" };
    let known = if snapshot.growing { "known by now" } else { "done" };
    let done = format!(
        "{finished} {share} {total} {known}, {} answered, {rate:.0}{limit} datagrams/s, {}{window} in flight, {dropped} lost here",
        snapshot.answered, snapshot.in_flight
    );
    if finished == 0 || finished >= total || snapshot.growing {
        return done;
    }
    let left = elapsed.mul_f64((total - finished) as f64 / finished as f64);
    format!("{done}, {} left", clock(left))
}

/// Describes the progress of lists whose servers are only printed; their length is not known in advance.
fn describe_list(snapshot: &Snapshot, elapsed: Duration) -> String {
    let requests = match snapshot.datagrams.sent {
        // Lists of the Steam Web API are not asked with datagrams.
        0 => String::new(),
        sent => format!(", {} to list servers", count(sent, "request")),
    };
    format!("{} so far{requests}, {}", count(snapshot.printed, "server"), clock(elapsed))
}

/// A time as `1:02:03` or `2:03`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Datagrams, Targets};

    fn snapshot(finished: u64) -> Snapshot {
        Snapshot {
            targets: Targets { scheduled: 60, finished },
            datagrams: Datagrams { sent: 100, dropped_by_kernel: 2, ..Datagrams::default() },
            answered: 30,
            printed: 0,
            in_flight: 20,
            not_started: 40,
            unlogged: 0,
            growing: false,
            exhausted: false,
            window: None,
            rate: None,
        }
    }

    #[test]
    fn the_time_left_follows_from_the_share_done_and_is_never_negative() {
        let text = describe(&snapshot(40), 12.3, Duration::from_secs(80));
        assert_eq!(text, "40 of 100 done, 30 answered, 12 datagrams/s, 20 in flight, 2 lost here, 2:00 left");
        let adapting = Snapshot { window: Some(64), rate: Some(99.7), ..snapshot(40) };
        let text = describe(&adapting, 12.3, Duration::from_secs(80));
        assert!(text.contains(" 12 of 100 datagrams/s, 20 of 64 in flight, "), "{text}");
        let growing = describe(&Snapshot { growing: true, ..snapshot(40) }, 12.3, Duration::from_secs(80));
        assert!(growing.starts_with("40 done of 100 known by now, ") && !growing.contains("left"), "{growing}");
        assert!(!describe(&snapshot(0), 0.0, Duration::ZERO).contains("left"));
        assert!(!describe(&snapshot(100), 0.0, Duration::from_secs(9)).contains("left"));
    }

    #[test]
    fn a_list_shows_how_far_it_has_come() {
        let listed = Snapshot { printed: 12_310, ..snapshot(0) };
        assert_eq!(
            describe_list(&listed, Duration::from_secs(80)),
            "12310 servers so far, 100 requests to list servers, 1:20"
        );
        let steam = Snapshot { datagrams: Datagrams::default(), printed: 1, ..listed };
        assert_eq!(describe_list(&steam, Duration::from_secs(9)), "1 server so far, 0:09");
    }

    #[test]
    fn a_line_of_hex_has_its_letters_beside_it() {
        assert_eq!(hex_line(b"\xFF\xFFI\x1B[0m"), format!("\n    {:47}  {}", "ff ff 49 1b 5b 30 6d", "..I.[0m"));
    }

    #[test]
    fn times_are_shown_as_a_clock_shows_them() {
        assert_eq!(clock(Duration::from_secs(59)), "0:59");
        assert_eq!(clock(Duration::from_secs(3_723)), "1:02:03");
    }
}
