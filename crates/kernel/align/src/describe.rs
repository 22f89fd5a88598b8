//! Builds the descriptions of kinds and states for the diagnosis.

use crate::kinds::Kinds;
use crate::silhouette::distance;
use crate::vectors::StateVectors;
use crate::{Kind, StateComparison, StateSequence, TimeComparison};
use laggard_numeric::{Matrix, mean, median, principal_components};

/// Maximum number of medoid candidates; of larger kinds, evenly spaced members are tried.
const MEDOID_MAX: usize = 500;

/// A kind from its members (not empty).
pub(crate) fn kind(
    points: &Matrix,
    set: &[&StateSequence],
    members: Vec<usize>,
    origin: crate::KindOrigin,
) -> Kind {
    let step = members.len().div_ceil(MEDOID_MAX);
    let candidates: Vec<usize> = members.iter().copied().step_by(step).collect();
    let sum =
        |from: usize| candidates.iter().map(|&to| distance(points.row(from), points.row(to))).sum::<f64>();
    let sums: Vec<f64> = candidates.iter().map(|&from| sum(from)).collect();
    let least = (0..sums.len()).fold(0, |best, index| if sums[index] < sums[best] { index } else { best });
    let medoid = candidates[least];
    let mut totals: Vec<f64> = members.iter().map(|&index| set[index].total_us()).collect();
    Kind { medoid, origin, median_total_us: median(&mut totals), members }
}

/// All kinds of a set.
pub(crate) fn kinds(points: &Matrix, set: &[&StateSequence], kinds: &Kinds) -> Vec<Kind> {
    let described = |(number, &origin)| kind(points, set, kinds.members(number), origin);
    kinds.origins.iter().enumerate().map(described).collect()
}

/// Coordinates of both sets' points along their first two principal components; 0 for a missing component.
pub(crate) fn projections(points: &[Matrix; 2]) -> [Vec<[f64; 2]>; 2] {
    let (rows, columns) = (points[0].rows() + points[1].rows(), points[0].cols());
    let data = [points[0].data(), points[1].data()].concat();
    let components = principal_components(&Matrix::from_row_major(rows, columns, data));
    let onto = |row: &[f64], component: usize| {
        if component >= components.loadings.rows() {
            return 0.0;
        }
        let loading = components.loadings.row(component);
        let centered = row.iter().zip(&components.means).map(|(value, mean)| value - mean);
        centered.zip(loading).map(|(value, loading)| value * loading).sum()
    };
    let project = |set: &Matrix| {
        (0..set.rows()).map(|index| [onto(set.row(index), 0), onto(set.row(index), 1)]).collect()
    };
    [project(&points[0]), project(&points[1])]
}

/// Coarse comparison of the state in a column.
pub(crate) fn state(
    state: crate::StateId,
    index: usize,
    vectors: [&StateVectors; 2],
    time: TimeComparison,
) -> StateComparison {
    let count = |set: &StateVectors| mean(&set.counts.column(index).collect::<Vec<f64>>());
    StateComparison {
        state,
        normal_mean_count: count(vectors[0]),
        sample_mean_count: count(vectors[1]),
        time,
    }
}
