use std::num::NonZeroUsize;

use laggard_numeric::Matrix;
use proptest::prelude::*;

use super::*;
use crate::Observations;
use crate::segmentation::WindowRegression;

/// Exhaustive search over all pairs.
fn unpruned(table: &CostTable, lambda: f64) -> CheapestPath {
    let points = table.points();
    let last = points.len() - 1;
    let mut best = vec![(f64::INFINITY, 0); last + 1];
    best[0].0 = 0.0;
    for end in 1..=last {
        for start in 0..end {
            let len = points[end] - points[start];
            let w1 = f64::from(table.row(start)[end - start - 1]);
            let cost = best[start].0 + w1 + lambda * entropy_share(len, points[last]);
            if cost < best[end].0 {
                best[end] = (cost, start);
            }
        }
    }
    let mut cuts = vec![last];
    while cuts[cuts.len() - 1] > 0 {
        cuts.push(best[cuts[cuts.len() - 1]].1);
    }
    cuts.reverse();
    CheapestPath { points: cuts, cost: best[last].0 }
}

/// Two types; the demand of the first changes halfway, and another process runs in some windows.
fn windows(cells: &[(u8, u8, u8)]) -> Observations {
    let mut counts = Matrix::zeros(cells.len(), 2);
    let mut utilization = Vec::new();
    for (t, &(a, b, noise)) in cells.iter().enumerate() {
        counts.row_mut(t).copy_from_slice(&[f64::from(a), f64::from(b)]);
        let changed = if t > cells.len() / 2 { 0.003 } else { 0.001 };
        let foreign = if t % 50 < 10 { f64::from(noise) / 500.0 } else { 0.0 };
        utilization.push(f64::from(a) * changed + f64::from(b) * 0.0005 + f64::from(noise) * 1e-5 + foreign);
    }
    Observations {
        window_s: 60.0,
        windows: (0..cells.len()).collect(),
        counts,
        utilization,
        response_s: Matrix::zeros(0, 0),
        cores: 1.0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn pruning_does_not_change_the_cheapest_path(
        cells in prop::collection::vec((0_u8..200, 0_u8..200, 0_u8..100), 1..220),
        step in 1_usize..4,
        lambda in prop::sample::select(vec![0.0, 0.01, 0.3, 1.0, 4.0, 20.0, 100.0, 1e6]),
    ) {
        let regression = WindowRegression::new(&windows(&cells));
        let table = CostTable::new(&regression, step, NonZeroUsize::MIN);
        prop_assert_eq!(PathSearch::new(&table).cheapest(lambda), unpruned(&table, lambda));
    }
}

#[test]
fn of_equal_costs_the_longest_last_segment_wins() {
    let cells = [(0, 0, 0); 70];
    let table = CostTable::new(&WindowRegression::new(&windows(&cells)), 1, NonZeroUsize::MIN);
    assert_eq!(PathSearch::new(&table).cheapest(0.0).points, [0, 70]);
}

/// `1/2 · ln 2`, twice, is the entropy of two halves.
#[test]
fn the_entropy_of_halves_is_ln_2() {
    assert!((2.0 * entropy_share(5, 10) - std::f64::consts::LN_2).abs() < 1e-15);
    assert_eq!((entropy_share(0, 10), entropy_share(10, 10)), (0.0, 0.0));
}
