//! Cuts found on a grid, moved to where they are best.

use laggard_numeric::interval_residuals;

use super::penalty_search::{ErrorBudget, SegmentErrors, Segmentation, WindowCut, assess};
use super::{WindowRegression, entropy_share};

/// Moves every cut by up to `step` windows so that the cost of all together is least: exact for the given number
/// of cuts within these bounds, by dynamic programming over the cuts. `O(K · step²)` fits for `K` cuts.
pub(crate) fn refine_cuts(
    regression: &WindowRegression,
    found: Segmentation,
    step: usize,
    budget: ErrorBudget,
) -> Segmentation {
    let windows = regression.windows();
    let inner = found.cuts.len() - 1;
    let places = |at: usize| -> Vec<usize> {
        let cut = found.cuts[at];
        if at == 0 || at == inner {
            vec![cut]
        } else {
            (cut.saturating_sub(step)..=(cut + step).min(windows)).collect()
        }
    };
    let mut stages = vec![RefinementStage { places: places(0), cost: vec![0.0], from: vec![0] }];
    for at in 1..=inner {
        let stage = next_stage(regression, &stages[at - 1], places(at), found.lambda);
        stages.push(stage);
    }
    let cut = WindowCut { cuts: walk_back(&stages), lambda: found.lambda, cost: stages[inner].cost[0] };
    assess(regression, budget, &mut SegmentErrors::default(), cut)
}

/// The places that one cut may take, the least cost up to each, and the place of the cut before.
struct RefinementStage {
    places: Vec<usize>,
    cost: Vec<f64>,
    from: Vec<usize>,
}

fn next_stage(
    regression: &WindowRegression,
    before: &RefinementStage,
    places: Vec<usize>,
    lambda: f64,
) -> RefinementStage {
    let windows = regression.windows();
    let mut stage =
        RefinementStage { cost: vec![f64::INFINITY; places.len()], from: vec![0; places.len()], places };
    let unit = regression.residual_unit();
    for (block, starts) in before.places.chunks(laggard_numeric::INTERVAL_LANES).enumerate() {
        let first = block * laggard_numeric::INTERVAL_LANES;
        let mut seen = vec![0; starts.len()];
        let ends = &stage.places;
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
    let mut at = 0;
    let mut cuts: Vec<usize> = Vec::with_capacity(stages.len());
    for stage in stages.iter().rev() {
        cuts.push(stage.places[at]);
        at = stage.from[at];
    }
    cuts.reverse();
    cuts
}
