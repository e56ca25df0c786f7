//! The highest rate without loss, by bisection.

use super::round::Round;

/// What the search has found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SearchResult {
    /// Number of the round with the highest rate at which every query was answered in time, if there is one.
    pub best: Option<usize>,
    /// Answers a second beyond which a higher rate brought no more.
    pub plateau: Option<Plateau>,
}

/// A likely limit of the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plateau {
    /// Answers a second, in the middle of what was seen.
    pub answers_per_second: f64,
    /// Datagrams a second that were sent: the least and the most at which there were no more answers than that.
    pub sent_per_second: (f64, f64),
}

/// Looks for the highest rate without loss; `run` runs a round at a rate (`None` is as fast as possible), and no further
/// one is run once it gives none. The rounds, in the order in which they were run.
///
/// The first round finds out what "as fast as possible" is. If that loses nothing, it is the answer; else it is looked
/// for between a hundredth of it and it, in steps that halve the ratio.
pub(crate) fn find_max<E>(
    mut run: impl FnMut(Option<f64>) -> Result<Option<Round>, E>,
) -> Result<(Vec<Round>, SearchResult), E> {
    let mut rounds = Vec::new();
    if let Some(first) = run(None)? {
        let (mut high, lossless) = (first.sent_per_second(), first.is_lossless());
        rounds.push(first);
        let mut low = high / LEAST_SHARE;
        let mut rate = low;
        // Bounded by MOST_ROUNDS; each one halves the ratio.
        while !lossless && high > low * PRECISION && rounds.len() < MOST_ROUNDS {
            let Some(round) = run(Some(rate))? else { break };
            let well = round.is_lossless();
            rounds.push(round);
            match well {
                true => low = rate,
                // Not even a hundredth is answered.
                false if rate <= low => break,
                false => high = rate,
            }
            rate = (low * high).sqrt();
        }
    }
    let best = (0..rounds.len())
        .filter(|&number| rounds[number].is_lossless())
        .max_by(|&a, &b| rounds[a].sent_per_second().total_cmp(&rounds[b].sent_per_second()));
    let plateau = plateau(&rounds);
    Ok((rounds, SearchResult { best, plateau }))
}

/// Rounds of quite different rates with as many answers, while nothing was dropped here: somebody there counts. Of all
/// ranges of rates for which that is so, the widest; beyond it a server may answer less, since it has to discard more.
fn plateau(rounds: &[Round]) -> Option<Plateau> {
    let mut lossy: Vec<&Round> =
        rounds.iter().filter(|round| round.lost_there > 0 && round.lost_here == 0 && round.answered > 0).collect();
    lossy.sort_unstable_by(|a, b| a.sent_per_second().total_cmp(&b.sent_per_second()));
    let mut widest: Option<Plateau> = None;
    for (first, lowest) in lossy.iter().enumerate() {
        let (mut least, mut most) = (f64::MAX, 0.0_f64);
        for highest in &lossy[first..] {
            (least, most) = (least.min(highest.answers_per_second()), most.max(highest.answers_per_second()));
            let candidate = Plateau {
                answers_per_second: f64::midpoint(least, most),
                sent_per_second: (lowest.sent_per_second(), highest.sent_per_second()),
            };
            if most <= least * FLAT && candidate.width() >= widest.map_or(RISE, |widest| widest.width()) {
                widest = Some(candidate);
            }
        }
    }
    widest
}

impl Plateau {
    fn width(&self) -> f64 {
        self.sent_per_second.1 / self.sent_per_second.0
    }
}

/// The lowest rate that is tried is this part of the highest.
const LEAST_SHARE: f64 = 100.0;
/// The rate that is found is known to this ratio.
const PRECISION: f64 = 1.03;
/// Ten would do for the ratio.
const MOST_ROUNDS: usize = 16;
/// Answers are as many if they differ by no more than this ratio.
const FLAT: f64 = 1.1;
/// Rates are quite different from this ratio on.
const RISE: f64 = 1.3;

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::bench::tests::round;

    /// Rounds of one second with servers that answer at most `limit` queries, of which `ours` at most can be sent.
    fn search(limit: f64, ours: f64) -> (Vec<Round>, SearchResult) {
        let result = find_max(|rate| {
            let sent = rate.unwrap_or(ours).min(ours);
            Ok::<_, Infallible>(Some(round(sent as u64, sent.min(limit) as u64)))
        });
        result.unwrap_or_else(|never| match never {})
    }

    #[test]
    fn the_limit_of_a_server_is_found_and_named() {
        for limit in [700.0, 1_234.0, 20_000.0] {
            let (rounds, found) = search(limit, 50_000.0);
            let best = rounds[found.best.unwrap()].sent_per_second();
            assert!((limit / 1.04..=limit).contains(&best), "{best} for {limit}");
            assert!(rounds.len() <= 12, "{} rounds", rounds.len());
            let plateau = found.plateau.unwrap();
            assert!((plateau.answers_per_second - limit).abs() <= 1.0, "{plateau:?}");
        }
    }

    #[test]
    fn a_server_that_answers_all_that_can_be_sent_has_no_limit() {
        let (rounds, found) = search(1e9, 50_000.0);
        assert_eq!((rounds.len(), found.best, found.plateau), (1, Some(0), None));
    }

    #[test]
    fn a_server_that_does_not_answer_a_hundredth_is_asked_no_further() {
        let (rounds, found) = search(100.0, 50_000.0);
        assert_eq!((rounds.len(), found.best), (2, None));
        assert!((found.plateau.unwrap().answers_per_second - 100.0).abs() < 1.0);
        let (rounds, found) = search(0.0, 50_000.0);
        assert_eq!((rounds.len(), found.best, found.plateau), (2, None, None));
    }

    #[test]
    fn a_server_that_answers_less_when_it_is_flooded_has_a_limit_all_the_same() {
        let result = find_max(|rate| {
            let sent = rate.unwrap_or(2_000.0);
            let answered = if sent > 1_500.0 { 100.0 } else { sent.min(400.0) };
            Ok::<_, Infallible>(Some(round(sent as u64, answered as u64)))
        });
        let Ok((_, found)) = result;
        let plateau = found.plateau.unwrap();
        assert!((plateau.answers_per_second - 400.0).abs() < 1.0, "{plateau:?}");
        assert!(plateau.sent_per_second.1 < 1_500.0, "{plateau:?}");
    }

    #[test]
    fn what_is_dropped_here_is_no_limit_of_theirs() {
        let result = find_max(|rate| {
            let mut round = round(rate.unwrap_or(50_000.0) as u64, 300);
            (round.lost_here, round.lost_there) = (round.lost_there, 0);
            Ok::<_, Infallible>(Some(round))
        });
        assert_eq!(result.map(|(_, found)| found.plateau), Ok(None));
    }

    #[test]
    fn a_search_that_is_stopped_keeps_what_it_has() {
        let mut left = 2;
        let result = find_max(|rate| {
            left -= 1;
            Ok::<_, Infallible>((left >= 0).then(|| round(rate.unwrap_or(10_000.0) as u64, 100)))
        });
        assert_eq!(result.map(|(rounds, found)| (rounds.len(), found.best)), Ok((2, Some(1))));
    }
}
