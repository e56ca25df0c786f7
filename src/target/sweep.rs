//! A sweep over overlapping spans: the axis is cut wherever a span begins or ends.
//!
//! Between two cuts the same spans are active, so whatever holds for one place there holds for all of them. Both the
//! exclusions and the claims on addresses are worked out this way, in n log n.

/// What the sweep comes upon next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The span with this index begins.
    Enter(usize),
    /// From the first place to the last, both included, the active spans stay the same; at least one is active.
    Interval(u128, u128),
    /// The span with this index has ended.
    Leave(usize),
}

/// Visits the steps of `count` spans from left to right; `span` gives one as (first, last), both included.
pub(super) fn sweep(count: usize, span: impl Fn(usize) -> (u128, u128), mut visit: impl FnMut(Step)) {
    let mut entering: Vec<u32> = (0..u32::try_from(count).expect("fewer than 2^32 spans")).collect();
    let mut leaving = entering.clone();
    entering.sort_unstable_by_key(|&index| span(index as usize).0);
    leaving.sort_unstable_by_key(|&index| span(index as usize).1);
    let first = |place: usize| entering.get(place).map(|&index| span(index as usize).0);
    let last = |place: usize| leaving.get(place).map(|&index| span(index as usize).1);

    let (mut entered, mut left, mut at) = (0, 0, 0);
    // Each turn enters or leaves at least one span, so there are at most 2 * count turns.
    while let Some(end) = last(left) {
        if entered == left {
            at = first(entered).expect("a span that has not ended, while none is active, is yet to begin");
        }
        while first(entered) == Some(at) {
            visit(Step::Enter(entering[entered] as usize));
            entered += 1;
        }
        // Whatever begins later begins past `at`. The span that ends first may itself begin later: then its beginning
        // comes before its end.
        let until = first(entered).map_or(end, |next| end.min(next - 1));
        visit(Step::Interval(at, until));
        while last(left) == Some(until) {
            visit(Step::Leave(leaving[left] as usize));
            left += 1;
        }
        at = until.wrapping_add(1); // wraps only when every span has ended
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Enter, Interval, Leave};
    use super::*;

    fn steps(spans: &[(u128, u128)]) -> Vec<Step> {
        let mut steps = Vec::new();
        sweep(spans.len(), |index| spans[index], |step| steps.push(step));
        steps
    }

    #[test]
    fn spans_are_cut_where_another_begins_or_ends() {
        assert_eq!(
            steps(&[(2, 9), (5, 6), (6, 20)]),
            [
                Enter(0),
                Interval(2, 4),
                Enter(1),
                Interval(5, 5),
                Enter(2),
                Interval(6, 6),
                Leave(1),
                Interval(7, 9),
                Leave(0),
                Interval(10, 20),
                Leave(2)
            ]
        );
    }

    #[test]
    fn gaps_are_skipped_and_the_ends_of_the_axis_are_reached() {
        assert_eq!(steps(&[]), []);
        assert_eq!(
            steps(&[(u128::MAX, u128::MAX), (0, 0)]),
            [Enter(1), Interval(0, 0), Leave(1), Enter(0), Interval(u128::MAX, u128::MAX), Leave(0)]
        );
    }
}
