//! The residuals of a large number of row intervals.

use pulp::Arch;

use super::NnlsSolver;
use super::lanes::{Check, LANES, LaneGuesses, Lanes};
use crate::PrefixSums;
use crate::normal_equations::packed_len;

/// How many starts [`interval_residuals`] takes at a time.
pub const INTERVAL_LANES: usize = LANES;

/// Rounding of a prefix sum, as a share of it.
const ROUNDING: f64 = 1e-15;

/// Guesses checked together before the rest is solved one by one.
const CHECKS_MAX: usize = 5;

/// Columns up to which several fits are done at once; beyond, one by one.
const LANE_COLUMNS_MAX: usize = 48;

/// The least sum of squared residuals over non-negative coefficients, for the rows from each of `starts` to each
/// of `ends` after it: `visit(index of the start, sum ≥ 0)`, by end, then by start.
///
/// It is [`nnls`](crate::nnls) of each interval, but starts from the columns that were positive at the end
/// before; most of the time that guess only needs to be confirmed, which takes a tenth of the time. Sums below
/// 1e-15 of `Σ y²` of all rows before the end are rounding errors of its prefix sum, and returned as 0.
///
/// # Panics
/// If there are more than [`INTERVAL_LANES`] starts, or an end is beyond the rows.
pub fn interval_residuals(
    sums: &PrefixSums,
    starts: &[usize],
    ends: &[usize],
    visit: impl FnMut(usize, f64),
) {
    assert!(starts.len() <= LANES, "{} starts are more than {LANES}", starts.len());
    if sums.columns() <= LANE_COLUMNS_MAX {
        by_lanes(sums, starts, ends, visit);
    } else {
        one_by_one(sums, starts, ends, visit);
    }
}

/// [`interval_residuals`] for any number of `starts` (increasing) and one end: what a window appended to a series costs.
/// Each fit starts from the columns that were positive for starts nearby.
///
/// # Panics
/// If the end is beyond the rows.
pub fn residuals_upto(sums: &PrefixSums, starts: &[usize], end: usize, mut visit: impl FnMut(usize, f64)) {
    if sums.columns() > LANE_COLUMNS_MAX {
        one_by_one(sums, starts, &[end], visit);
        return;
    }
    let mut fits = LaneFits::new(sums.columns());
    for (block, starts) in starts.chunks(LANES).enumerate() {
        fits.fit(sums, &origins(sums, starts), starts, end, |lane, sse| visit(block * LANES + lane, sse));
    }
}

fn by_lanes(sums: &PrefixSums, starts: &[usize], ends: &[usize], mut visit: impl FnMut(usize, f64)) {
    let mut fits = LaneFits::new(sums.columns());
    let origins = origins(sums, starts);
    for &end in ends {
        fits.fit(sums, &origins, starts, end, &mut visit);
    }
}

/// Fits eight intervals at a time, each starting from its own or its neighbor's previous active set.
struct LaneFits {
    arch: Arch,
    problems: LaneGuesses,
    single: Single,
    /// Lanes not yet confirmed.
    open: Vec<usize>,
}

impl LaneFits {
    fn new(columns: usize) -> LaneFits {
        LaneFits {
            arch: Arch::new(),
            problems: LaneGuesses::new(columns),
            single: Single::new(columns),
            open: Vec::with_capacity(LANES),
        }
    }

    fn fit(
        &mut self,
        sums: &PrefixSums,
        origins: &[Lanes],
        starts: &[usize],
        end: usize,
        mut visit: impl FnMut(usize, f64),
    ) {
        let upto = sums.prefix(end);
        let valid = |lane: &usize| starts[*lane] < end;
        self.open.extend((0..starts.len()).filter(valid));
        let sse = self.solve(upto, origins);
        for lane in (0..starts.len()).filter(valid) {
            visit(lane, above_rounding(sse.0[lane], upto));
        }
    }

    /// Solves the open lanes, and leaves none open.
    fn solve(&mut self, upto: &[f64], origins: &[Lanes]) -> Lanes {
        let LaneFits { arch, problems, single, open } = self;
        let mut sse = Lanes::ZERO;
        let mut fresh = Some((upto, origins));
        for _ in 0..CHECKS_MAX {
            let refuted = arch.dispatch(Check { problems, sums: fresh.take() });
            open.retain(|&lane| {
                // Written so that NaN is refuted, too.
                let confirmed = refuted.0[lane] == 0.0 && problems.sse.0[lane].is_finite();
                sse.0[lane] = problems.sse.0[lane];
                !confirmed
            });
            let improved = open.iter().filter(|&&lane| problems.improve(lane).is_some()).count();
            if improved == 0 {
                break;
            }
        }
        open.drain(..).for_each(|lane| sse.0[lane] = single.solve(problems, lane));
        sse
    }
}

/// `sse`, or 0 when it is within the rounding error of the difference of prefix sums.
fn above_rounding(sse: f64, upto: &[f64]) -> f64 {
    let rounding = ROUNDING * upto.last().copied().unwrap_or(0.0);
    if sse > rounding { sse } else { 0.0 }
}

/// The sums before each start, lane by lane; lanes without a start repeat the first.
fn origins(sums: &PrefixSums, starts: &[usize]) -> Vec<Lanes> {
    let mut origins = vec![Lanes::ZERO; packed_len(sums.columns())];
    for lane in 0..LANES {
        let Some(&start) = starts.get(lane).or(starts.first()) else { continue };
        origins.iter_mut().zip(sums.prefix(start)).for_each(|(out, &value)| out.0[lane] = value);
    }
    origins
}

/// Solves the problems whose guess was wrong.
struct Single {
    solver: NnlsSolver,
    packed: Vec<f64>,
}

impl Single {
    fn new(columns: usize) -> Single {
        Single { solver: NnlsSolver::new(columns), packed: vec![0.0; packed_len(columns)] }
    }

    /// The residual of `lane`; its guess becomes the columns found.
    fn solve(&mut self, problems: &mut LaneGuesses, lane: usize) -> f64 {
        self.packed.iter_mut().zip(&problems.packed).for_each(|(out, all)| *out = all.0[lane]);
        let mask = problems.mask(lane);
        self.solver.guess((0..u64::BITS as usize).filter(|column| mask >> column & 1 == 1));
        let sse = self.solver.resume_packed(&self.packed);
        problems.set_mask(lane, self.solver.active().iter().fold(0, |mask, column| mask | 1 << column));
        sse
    }
}

fn one_by_one(sums: &PrefixSums, starts: &[usize], ends: &[usize], mut visit: impl FnMut(usize, f64)) {
    let mut solvers = vec![NnlsSolver::new(sums.columns()); starts.len()];
    let mut packed = vec![0.0; packed_len(sums.columns())];
    for &end in ends {
        for (index, (&start, solver)) in starts.iter().zip(&mut solvers).enumerate() {
            if start >= end {
                continue;
            }
            let (upto, from) = (sums.prefix(end), sums.prefix(start));
            packed.iter_mut().zip(upto.iter().zip(from)).for_each(|(out, (upto, from))| *out = upto - from);
            visit(index, above_rounding(solver.resume_packed(&packed), upto));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Matrix, nnls};
    use proptest::prelude::*;

    fn agree(sums: &PrefixSums, starts: &[usize], found: &[(usize, usize, f64)]) {
        for &(start, end, sse) in found {
            let equations = sums.between(starts[start], end);
            let expected = nnls(&equations).sse;
            let allowed =
                1e-9 * (equations.response_square() + 1e-3 * sums.prefix(sums.rows()).last().unwrap());
            assert!((sse - expected).abs() <= allowed, "{start}..{end}: {sse}, not {expected}");
        }
    }

    proptest! {
        /// Counts with correlated and with empty columns, of which all intervals agree with a fit without a starting point.
        #[test]
        fn every_interval_is_fitted_as_alone(
            cols in 1_usize..7,
            cells in prop::collection::vec((0_u8..30, 0.5_f64..60.0), 24),
            starts in prop::collection::btree_set(0_usize..20, 1..=8),
        ) {
            let rows = cells.len();
            let mut x = Matrix::zeros(rows, cols);
            for i in 0..rows {
                for j in 0..cols {
                    let shift = if j == 3 { 0 } else { j };
                    x.set(i, j, f64::from(cells[(i * 7 + shift * 5) % rows].0) * f64::from(u8::from(j != 4)));
                }
            }
            let y: Vec<f64> = cells.iter().map(|cell| cell.1).collect();
            let sums = PrefixSums::with_intercept(&x, &y);
            let (starts, ends): (Vec<usize>, Vec<usize>) = (starts.into_iter().collect(), (1..=rows).collect());
            for lanes in [true, false] {
                let mut found = vec![];
                let mut last = vec![0; starts.len()];
                let visit = |lane: usize, sse| {
                    last[lane] = (last[lane] + 1).max(starts[lane] + 1);
                    found.push((lane, last[lane], sse));
                };
                if lanes { by_lanes(&sums, &starts, &ends, visit) } else { one_by_one(&sums, &starts, &ends, visit) }
                prop_assert_eq!(found.len(), starts.iter().map(|start| rows - start).sum::<usize>());
                agree(&sums, &starts, &found);
            }
        }
    }

    #[test]
    fn fits_to_one_end_are_those_of_all_ends() {
        let cell = |i: usize, j: usize| ((i * 7 + j * 13 + i * i * (j + 1)) % 29) as f64;
        for cols in [4, LANE_COLUMNS_MAX] {
            let data = (0..40 * cols).map(|index| cell(index / cols, index % cols)).collect();
            let y: Vec<f64> = (0..40).map(|i| 3.0 * cell(i, 1) + 0.5 * cell(i, 2) + cell(i, 99)).collect();
            let sums = PrefixSums::with_intercept(&Matrix::from_row_major(40, cols, data), &y);
            let starts: Vec<usize> = (0..39).collect();
            let mut found = vec![];
            residuals_upto(&sums, &starts, 37, |start, sse| found.push((start, 37, sse)));
            assert_eq!(found.len(), 37);
            agree(&sums, &starts, &found);
        }
    }

    #[test]
    fn no_starts_or_ends_give_nothing() {
        let sums = PrefixSums::with_intercept(&Matrix::zeros(3, 2), &[1.0; 3]);
        interval_residuals(&sums, &[], &[1, 2], |_, _| panic!("nothing to visit"));
        interval_residuals(&sums, &[2], &[0, 1, 2], |_, _| panic!("nothing to visit"));
    }
}
