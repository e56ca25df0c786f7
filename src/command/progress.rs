//! How a run stands, while it runs: a bar on a terminal, plain lines where there is none and they were asked for.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::say;
use crate::engine::Snapshot;
use crate::net::driver::Watch;

/// Shows a run on standard error.
pub(super) struct Progress {
    display: Display,
    began: Instant,
    last: Option<(Instant, u64)>,
}

enum Display {
    Nothing,
    Bar(ProgressBar),
    Lines,
}

impl Progress {
    /// Shows nothing but that the run is being stopped.
    pub(super) fn quiet(began: Instant) -> Self {
        Self { display: Display::Nothing, began, last: None }
    }

    /// Shows a bar.
    pub(super) fn bar(began: Instant) -> Self {
        let style = ProgressStyle::with_template("{bar:24} {percent}% {wide_msg}").ok();
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        Self { display: Display::Bar(style.into_iter().fold(bar, ProgressBar::with_style)), began, last: None }
    }

    /// Prints a line every few seconds.
    pub(super) fn lines(began: Instant) -> Self {
        Self { display: Display::Lines, began, last: None }
    }
}

impl Watch for Progress {
    fn interval(&self) -> Option<Duration> {
        match self.display {
            Display::Nothing => None,
            Display::Bar(_) => Some(Duration::from_millis(250)),
            Display::Lines => Some(Duration::from_secs(5)),
        }
    }

    fn look(&mut self, now: Instant, snapshot: &Snapshot) {
        let sent = snapshot.datagrams.sent;
        let (then, sent_then) = self.last.replace((now, sent)).unwrap_or((self.began, 0));
        let rate = (sent - sent_then) as f64 / now.saturating_duration_since(then).as_secs_f64().max(1e-3);
        let text = describe(snapshot, rate, now.saturating_duration_since(self.began));
        match &self.display {
            Display::Nothing => {}
            Display::Bar(bar) => {
                bar.set_length(total(snapshot).max(1));
                bar.set_position(snapshot.targets.finished);
                bar.set_message(text);
            }
            Display::Lines => say(&text),
        }
    }

    fn stopping(&mut self, snapshot: &Snapshot, grace: Duration) {
        let text = format!(
            "stopping: {} targets in flight get up to {:.1} s to answer; once more to stop at once",
            snapshot.in_flight,
            grace.as_secs_f64()
        );
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| say(&text)),
            _ => say(&text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

/// Targets that are or will be asked, as far as they are known.
fn total(snapshot: &Snapshot) -> u64 {
    snapshot.targets.scheduled + snapshot.not_started
}

fn describe(snapshot: &Snapshot, rate: f64, elapsed: Duration) -> String {
    let (finished, total) = (snapshot.targets.finished, total(snapshot));
    let dropped = snapshot.datagrams.dropped_by_kernel + snapshot.datagrams.send_errors;
    let done = format!(
        "{finished} of {total} done, {} answered, {rate:.0} datagrams/s, {} in flight, {dropped} lost here",
        snapshot.answered, snapshot.in_flight
    );
    if finished == 0 || finished >= total {
        return done;
    }
    let left = elapsed.mul_f64((total - finished) as f64 / finished as f64);
    format!("{done}, {} left", clock(left))
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
            in_flight: 20,
            not_started: 40,
        }
    }

    #[test]
    fn the_time_left_follows_from_the_share_done_and_is_never_negative() {
        let text = describe(&snapshot(40), 12.3, Duration::from_secs(80));
        assert_eq!(text, "40 of 100 done, 30 answered, 12 datagrams/s, 20 in flight, 2 lost here, 2:00 left");
        assert!(!describe(&snapshot(0), 0.0, Duration::ZERO).contains("left"));
        assert!(!describe(&snapshot(100), 0.0, Duration::from_secs(9)).contains("left"));
    }

    #[test]
    fn times_are_shown_as_a_clock_shows_them() {
        assert_eq!(clock(Duration::from_secs(59)), "0:59");
        assert_eq!(clock(Duration::from_secs(3_723)), "1:02:03");
    }
}
