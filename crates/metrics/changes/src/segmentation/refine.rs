//! Refines the cuts of a grid to single windows.

use laggard_numeric::interval_residuals;

use super::penalty_search::{ErrorBudget, SegmentErrors, Segmentation, WindowCut, assess};
use super::{WindowRegression, entropy_share};

/// Moves every cut by up to `step` windows to minimize the total cost: exact for the given number
/// of cuts within these bounds, by dynamic programming over the cuts. `O(K · step²)` fits for `K` cuts.
pub(crate) fn refine_cuts(
    regression: &WindowRegression,
    coarse: Segmentation,
    step: usize,
    budget: ErrorBudget,
) -> Segmentation {
    let windows = regression.windows();
    let inner = coarse.cuts.len() - 1;
    let positions = |index: usize| -> Vec<usize> {
        let cut = coarse.cuts[index];
        if index == 0 || index == inner {
            vec![cut]
        } else {
            (cut.saturating_sub(step)..=(cut + step).min(windows)).collect()
        }
    };
    let mut stages = vec![RefinementStage { positions: positions(0), cost: vec![0.0], from: vec![0] }];
    for index in 1..=inner {
        let stage = next_stage(regression, &stages[index - 1], positions(index), coarse.lambda);
        stages.push(stage);
    }
    let cut = WindowCut { cuts: walk_back(&stages), lambda: coarse.lambda, cost: stages[inner].cost[0] };
    assess(regression, budget, &mut SegmentErrors::default(), cut)
}

/// The possible positions of one cut, the least cost up to each, and the position of the cut before, as an index.
struct RefinementStage {
    positions: Vec<usize>,
    cost: Vec<f64>,
    from: Vec<usize>,
}

fn next_stage(
    regression: &WindowRegression,
    before: &RefinementStage,
    positions: Vec<usize>,
    lambda: f64,
) -> RefinementStage {
    let windows = regression.windows();
    let mut stage = RefinementStage {
        cost: vec![f64::INFINITY; positions.len()],
        from: vec![0; positions.len()],
        positions,
    };
    let unit = regression.residual_unit();
    for (block, starts) in before.positions.chunks(laggard_numeric::INTERVAL_LANES).enumerate() {
        let first = block * laggard_numeric::INTERVAL_LANES;
        let mut seen = vec![0; starts.len()];
        let ends = &stage.positions;
        let (cost, from) = (&mut stage.cost, &mut stage.from);
        interval_residuals(regression.sums(), starts, ends, |lane, sse| {
            let skipped = ends.partition_point(|&end| end <= starts[lane]);
            let end = skipped + seen[lane];
            seen[lane] += 1;
            let len = ends[end] - starts[lane];
            let total = before.cost[first + lane] + sse.sqrt() * unit + lambda * entropy_share(len, windows);
            if total < cost[end] {
                (cost[end], from[end]) = (total, first + lane);
            }
        });
    }
    stage
}

fn walk_back(stages: &[RefinementStage]) -> Vec<usize> {
    let mut index = 0;
    let mut cuts: Vec<usize> = Vec::with_capacity(stages.len());
    for stage in stages.iter().rev() {
        cuts.push(stage.positions[index]);
        index = stage.from[index];
    }
    cuts.reverse();
    cuts
}
