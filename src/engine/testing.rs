//! A point in time for tests that run in virtual time.
#![expect(clippy::disallowed_methods, reason = "virtual time has to begin somewhere; no test looks at the clock again")]

use std::time::{Duration, Instant};

/// Some instant, far enough from the clock's zero that a test may also look back.
pub(crate) fn start() -> Instant {
    Instant::now() + Duration::from_secs(1_000)
}
