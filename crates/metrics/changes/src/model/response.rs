//! Demands from response times.

use super::design::Design;
use laggard_numeric::Matrix;
use std::ops::Range;

/// Maximum number of blocks of the jackknife.
const BLOCKS_MAX: usize = 20;

/// How the server shares its CPU among the transactions in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Discipline {
    /// Transactions share the CPU: each slows down by the same factor, `R_i = g · D_i`.
    ProcessorSharing,
    /// Transactions run one after the other: each waits equally long, `R_i = D_i + W`.
    FirstComeFirstServed,
}

/// Sums over windows.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    windows: f64,
    work: f64,
    counts: Vec<f64>,
    /// Number of transactions with a known response time, and the sum of these times.
    timed: Vec<f64>,
    response_s: Vec<f64>,
}

impl Totals {
    /// Over all windows of `design`.
    pub(crate) fn from_design(design: &Design) -> Totals {
        Totals::over(design, 0..design.rows())
    }

    fn over(design: &Design, rows: Range<usize>) -> Totals {
        let types = design.types();
        let mut totals = Totals {
            windows: rows.len() as f64,
            work: design.work[rows.clone()].iter().sum(),
            counts: vec![0.0; types],
            timed: vec![0.0; types],
            response_s: vec![0.0; types],
        };
        for t in rows {
            for j in 0..types {
                let count = design.counts.get(t, j);
                let response_s = if design.has_responses() { design.response_s.get(t, j) } else { f64::NAN };
                totals.counts[j] += count;
                if response_s.is_finite() && response_s >= 0.0 {
                    totals.timed[j] += count;
                    totals.response_s[j] += count * response_s;
                }
            }
        }
        totals
    }

    /// The sums without those of `block`.
    fn without(&self, block: &Totals) -> Totals {
        let less = |all: &[f64], part: &[f64]| all.iter().zip(part).map(|(all, part)| all - part).collect();
        Totals {
            windows: self.windows - block.windows,
            work: self.work - block.work,
            counts: less(&self.counts, &block.counts),
            timed: less(&self.timed, &block.timed),
            response_s: less(&self.response_s, &block.response_s),
        }
    }

    /// Mean response times by type; NaN for types without any. `None` if none has any.
    pub(crate) fn mean_response_s(&self) -> Option<Vec<f64>> {
        let known = self.timed.iter().any(|&timed| timed > 0.0);
        known.then(|| self.response_s.iter().zip(&self.timed).map(|(sum, count)| sum / count).collect())
    }

    /// Demands in seconds that account for all of the work and agree with the mean response times; None when a type
    /// has no response times, or a demand would not be positive.
    ///
    /// With throughputs `X_i` a window, mean response times `R_i` and work `W` a window, `Σ X_i R_i` is the mean
    /// number of transactions in the server times the window (Little's law). Processor sharing:
    /// `D_i = W · R_i / Σ X_j R_j`. First come, first served: `D_i = R_i − (Σ X_j R_j − W) / Σ X_j`.
    pub(crate) fn demands(&self, discipline: Discipline) -> Option<Vec<f64>> {
        if self.timed.iter().any(|&timed| timed <= 0.0) || self.windows <= 0.0 {
            return None;
        }
        let mean = self.mean_response_s()?;
        let resident: f64 = self.counts.iter().zip(&mean).map(|(count, response)| count * response).sum();
        let demand: Vec<f64> = match discipline {
            Discipline::ProcessorSharing => mean.iter().map(|r| self.work * r / resident).collect(),
            Discipline::FirstComeFirstServed => {
                let waiting = (resident - self.work) / self.counts.iter().sum::<f64>();
                mean.iter().map(|r| r - waiting).collect()
            }
        };
        demand.iter().all(|d| d.is_finite() && *d > 0.0).then_some(demand)
    }
}

/// Relative covariance of the demands by a block jackknife (Künsch 1989), which preserves the dependence between neighboring
/// windows; `None` if too few windows remain without a block.
pub(crate) fn relative_covariance(design: &Design, discipline: Discipline) -> Option<Matrix> {
    let all = Totals::from_design(design);
    let demand = all.demands(discipline)?;
    jackknife(design.rows(), demand.len(), |block| {
        let remaining = all.without(&Totals::over(design, block)).demands(discipline)?;
        Some(remaining.iter().zip(&demand).map(|(remaining, all)| remaining / all).collect())
    })
}

/// Standard error of mean work over mean count, in seconds, which is the demand if there is one type.
pub(crate) fn ratio_error(design: &Design) -> Option<f64> {
    let all = Totals::from_design(design);
    let ratio = |totals: &Totals| (totals.counts[0] > 0.0).then(|| vec![totals.work / totals.counts[0]]);
    let covariance = jackknife(design.rows(), 1, |block| ratio(&all.without(&Totals::over(design, block))))?;
    Some(covariance.get(0, 0).max(0.0).sqrt())
}

/// The jackknife covariance of a statistic of length `len` over successive blocks of `rows` rows; `without` computes the
/// statistic without a block.
pub(crate) fn jackknife(
    rows: usize,
    len: usize,
    without: impl Fn(Range<usize>) -> Option<Vec<f64>>,
) -> Option<Matrix> {
    jackknife_of_blocks(rows, len, BLOCKS_MAX, without)
}

/// The same with up to `blocks_max` blocks: with more, the covariance itself is more precise, but neighboring windows that
/// depend on each other are apart more often.
pub(crate) fn jackknife_of_blocks(
    rows: usize,
    len: usize,
    blocks_max: usize,
    without: impl Fn(Range<usize>) -> Option<Vec<f64>>,
) -> Option<Matrix> {
    let blocks = blocks_max.min(rows / 2);
    if blocks < 2 {
        return None;
    }
    let values: Vec<Vec<f64>> =
        (0..blocks).map(|index| without(block(rows, blocks, index))).collect::<Option<_>>()?;
    let mean: Vec<f64> = (0..len).map(|j| values.iter().map(|v| v[j]).sum::<f64>() / blocks as f64).collect();
    let mut covariance = Matrix::zeros(len, len);
    for i in 0..len {
        for j in 0..len {
            let sum: f64 = values.iter().map(|v| (v[i] - mean[i]) * (v[j] - mean[j])).sum();
            covariance.set(i, j, sum * (blocks - 1) as f64 / blocks as f64);
        }
    }
    Some(covariance)
}

/// The rows of block `index` of `blocks` nearly equal blocks.
pub(crate) fn block(rows: usize, blocks: usize, index: usize) -> Range<usize> {
    rows * index / blocks..rows * (index + 1) / blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two windows of 10 s. 100 and 50 transactions of 0.04 s and 0.2 s response: 14 transaction-seconds. Work 7 s.
    fn two_types() -> Design {
        Design {
            window_s: 10.0,
            capacity_s: 10.0,
            windows: vec![0, 1],
            counts: Matrix::from_row_major(2, 2, vec![40.0, 30.0, 60.0, 20.0]),
            work: vec![3.0, 4.0],
            response_s: Matrix::from_row_major(2, 2, vec![0.04, 0.2, 0.04, 0.2]),
        }
    }

    /// Half of the time in the server is service, so demands are half of the response times.
    #[test]
    fn processor_sharing_by_hand() {
        let demand =
            Totals::from_design(&two_types()).demands(Discipline::ProcessorSharing).expect("response times");
        assert!((demand[0] - 0.02).abs() < 1e-15 && (demand[1] - 0.1).abs() < 1e-15);
    }

    /// 7 of 14 transaction-seconds are waiting, shared by 150 transactions: 46.7 ms each, more than the fast type's response time.
    #[test]
    fn first_come_first_served_by_hand() {
        let mut design = two_types();
        assert_eq!(Totals::from_design(&design).demands(Discipline::FirstComeFirstServed), None);
        // With 11 s of work 3 s are waiting: 20 ms each.
        design.work = vec![5.0, 6.0];
        let demand =
            Totals::from_design(&design).demands(Discipline::FirstComeFirstServed).expect("positive");
        assert!((demand[0] - 0.02).abs() < 1e-15 && (demand[1] - 0.18).abs() < 1e-15);
    }

    #[test]
    fn every_type_needs_response_times() {
        let mut design = two_types();
        design.response_s.set(0, 1, f64::NAN);
        assert!(Totals::from_design(&design).demands(Discipline::ProcessorSharing).is_some());
        design.response_s.set(1, 1, f64::NAN);
        assert_eq!(Totals::from_design(&design).demands(Discipline::ProcessorSharing), None);
    }

    /// The mean of 0, 1, 2, 3 in four blocks of one: the jackknife gives s²/4 with s² = 5/3.
    #[test]
    fn the_jackknife_of_a_mean_is_its_variance() {
        let rows = 4;
        let covariance = jackknife(rows, 1, |block| {
            let remaining: f64 = (0..rows).filter(|row| !block.contains(row)).map(|row| row as f64).sum();
            Some(vec![remaining / (rows - block.len()) as f64])
        });
        // Two blocks of two rows: means 2.5 and 0.5, variance (2 − 1)/2 · (1 + 1).
        assert_eq!(covariance.expect("enough rows").get(0, 0), 1.0);
        assert!(jackknife(3, 1, |_| Some(vec![0.0])).is_none());
    }
}
