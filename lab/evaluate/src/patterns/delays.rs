//! Causes injected into requests that nothing hit, as the authors of DeLag inject theirs: each delays two operations.

use super::RequestMatrix;
use laggard_numeric::median_of;
use laggard_simulate::{Random, Stream};

/// Natural variation of the causes' operations without a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NaturalModes {
    /// The values as measured.
    AsMeasured,
    /// Half of them, and another one, take much longer in a fifth to half of the requests, which are no slower for it.
    Unrelated,
    /// The same in two to three fifths of the requests, and these are slower.
    Slow,
}

impl NaturalModes {
    pub(crate) const ALL: [NaturalModes; 3] =
        [NaturalModes::AsMeasured, NaturalModes::Unrelated, NaturalModes::Slow];

    /// The suffix of the group of such matrices for the name of the system.
    pub(crate) fn name(self) -> &'static str {
        match self {
            NaturalModes::AsMeasured => "delays injected",
            NaturalModes::Unrelated => "delays injected, modes by nature",
            NaturalModes::Slow => "delays injected, slow modes by nature",
        }
    }

    /// The least share of requests in a mode by nature, and how much it varies.
    fn shares(self) -> (f64, f64) {
        if self == NaturalModes::Slow { (0.38, 0.22) } else { (0.2, 0.35) }
    }
}

/// The share of requests that each cause hits.
const HIT_SHARE: f64 = 0.1;

impl RequestMatrix {
    /// The requests that nothing hit, with two causes. Each hits a tenth of the requests and delays two operations, so that the
    /// median latency would grow to 1.3 to 1.45 times; in half of the matrices the causes share an operation.
    ///
    /// `None` with fewer than five columns.
    pub(crate) fn with_delays(&self, seed: u64, modes: NaturalModes) -> Option<RequestMatrix> {
        let mut matrix = self.only_normal();
        let mut random = Random::new(seed, Stream::Injection, &[modes as u64]);
        let mut columns: Vec<usize> = (0..matrix.columns.len()).collect();
        (1..columns.len()).rev().for_each(|last| columns.swap(last, random.index(last + 1)));
        let &[first, second, third, fourth, other, ..] = &columns[..] else { return None };
        let is_shared = random.chance(0.5);
        let pairs = [[first, second], if is_shared { [first, third] } else { [third, fourth] }];
        let delay_ms = random.between(0.3, 0.45) * median_of(&matrix.latency_ms);
        if modes != NaturalModes::AsMeasured {
            for column in [first, pairs[1][1], other] {
                matrix.add_mode(column, delay_ms / 2.0, modes, &mut random);
            }
        }
        let parts_ms = pairs.map(|_| (delay_ms * random.between(0.4, 0.6)).round());
        for row in 0..matrix.cause.len() {
            let cause = (random.unit() / HIT_SHARE) as usize;
            if let Some(pair) = pairs.get(cause) {
                matrix.cause[row] = cause as u32 + 1;
                matrix.times_ms[pair[0]][row] += parts_ms[cause];
                matrix.times_ms[pair[1]][row] += delay_ms.round() - parts_ms[cause];
                matrix.latency_ms[row] += delay_ms.round();
            }
        }
        Some(matrix)
    }

    fn add_mode(&mut self, column: usize, delay_ms: f64, modes: NaturalModes, random: &mut Random) {
        let factor = [0.5, 1.0, 1.0, 2.0][random.index(4)] * random.between(0.9, 1.1);
        let (least, more) = modes.shares();
        let share = random.between(least, least + more);
        for row in 0..self.cause.len() {
            if random.chance(share) {
                self.times_ms[column][row] += (factor * delay_ms).round();
                if modes == NaturalModes::Slow {
                    self.latency_ms[row] += (factor * delay_ms).round();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_requests_is_slow_by_each_cause() {
        let matrix = RequestMatrix {
            latency_ms: vec![100.0; 4000],
            columns: (0..5).map(|index| index.to_string()).collect(),
            times_ms: vec![vec![10.0; 4000]; 5],
            cause: vec![0; 4000],
            ..RequestMatrix::default()
        };
        for modes in NaturalModes::ALL {
            let delayed = matrix.with_delays(1, modes).unwrap();
            for cause in [1, 2] {
                let hit = (0..4000).filter(|&row| delayed.cause[row] == cause).count();
                assert!((320..480).contains(&hit), "{hit}");
            }
            let added = |row: usize| delayed.times_ms.iter().map(|times| times[row] - 10.0).sum::<f64>();
            let slower = |row: usize| delayed.latency_ms[row] - 100.0;
            if modes != NaturalModes::Unrelated {
                assert!((0..4000).all(|row| added(row) == slower(row)));
            }
            let is_slow_if_hit = |row: usize| (delayed.cause[row] > 0) == (slower(row) > 0.0);
            assert!(modes == NaturalModes::Slow || (0..4000).all(is_slow_if_hit));
        }
        let narrow = RequestMatrix { columns: vec![String::new()], ..matrix };
        assert_eq!(narrow.with_delays(1, NaturalModes::AsMeasured), None);
    }
}
