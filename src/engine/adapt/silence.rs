//! How much of what is sent stays unanswered, and whether that is more than usual.
//!
//! A timeout rate by itself says nothing: in a typical list, a third of the hosts do not exist. A significant rise
//! does. Each sample is compared with a moving average of the earlier ones.

/// Datagrams that were sent, and those of them that stayed unanswered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) sent: u32,
    pub(super) silent: u32,
}

/// How much of what is sent stays unanswered: lately, and usually.
#[derive(Debug, Default)]
pub(super) struct Silence {
    lately: Count,
    usual: Option<f64>,
}

/// What a sample shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No more than usual was unanswered.
    Usual,
    /// More than usual was.
    Risen,
}

impl Silence {
    /// Adds what a cohort had of it; a verdict, once there are enough for one.
    pub(super) fn weigh(&mut self, count: Count) -> Option<Verdict> {
        self.lately.sent += count.sent;
        self.lately.silent += count.silent;
        if self.lately.sent < ENOUGH {
            return None;
        }
        let Count { sent, silent } = std::mem::take(&mut self.lately);
        let share = f64::from(silent) / f64::from(sent);
        let usual = self.usual.unwrap_or(share);
        // Two samples of about this size from one population seldom differ by so many standard errors.
        let of_both = f64::midpoint(share, usual);
        let error = (2.0 * of_both * (1.0 - of_both) / f64::from(sent)).max(0.0).sqrt();
        let risen = share > usual + LEAST_RISE.max(SURE * error);
        // What stays so after some decreases does not come from the pace, and becomes usual.
        let weight = if risen || share < usual { QUICK } else { SLOW };
        self.usual = Some(usual + weight * (share - usual));
        Some(if risen { Verdict::Risen } else { Verdict::Usual })
    }

    /// True if so much is usually unanswered that some of it may be loss that never ended; `None` if nothing is known.
    pub(super) fn may_be_loss(&self) -> Option<bool> {
        self.usual.map(|usual| usual > LEAST_RISE)
    }

    /// Begins a new sample and keeps the average.
    pub(super) fn forget(&mut self) {
        self.lately = Count::default();
    }
}

/// Datagrams that make a verdict.
const ENOUGH: u32 = 400;
/// Standard errors that are no accident: with some ten verdicts a second, one in an hour or two is.
const SURE: f64 = 3.5;
/// A rise in the share that justifies halving the pace.
const LEAST_RISE: f64 = 0.02;
/// How much a verdict moves what is usual: one of less silence or of a rise, and one of a little more silence. A pace that
/// grows must not drag it along, or nothing would ever be a rise.
const QUICK: f64 = 1.0 / 8.0;
const SLOW: f64 = 1.0 / 64.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_rise_that_is_sure_is_a_rise() {
        let count = |sent, silent| Count { sent, silent };
        let mut silence = Silence::default();
        assert_eq!(silence.weigh(count(399, 399)), None, "too few");
        let mut silence = Silence::default();
        assert_eq!(silence.weigh(count(400, 120)), Some(Verdict::Usual));
        // Two samples of 400 with a share of a third differ by 3.3 % usually, and by 11.6 % at 3.5 times that.
        assert_eq!(silence.weigh(count(400, 160)), Some(Verdict::Usual));
        assert_eq!(silence.weigh(count(400, 172)), Some(Verdict::Risen));
        let mut silence = Silence::default();
        assert_eq!(silence.weigh(count(100_000, 30_000)), Some(Verdict::Usual));
        assert_eq!(silence.weigh(count(100_000, 31_900)), Some(Verdict::Usual), "sure, and not worth it");
        assert_eq!(silence.weigh(count(100_000, 32_100)), Some(Verdict::Risen));
        // What does not end becomes usual.
        let rises = (0..50).take_while(|_| silence.weigh(count(1_000, 900)) == Some(Verdict::Risen)).count();
        assert!((5..20).contains(&rises), "{rises}");
    }
}
