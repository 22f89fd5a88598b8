//! Step 2: finds all steps of a regression by binary segmentation over seeded intervals (Fryzlewicz 2014; Kovács, Li,
//! Bühlmann, Munk 2020), which also finds steps that are masked by others over the full range.

use std::num::NonZeroUsize;
use std::ops::Range;

use laggard_parallel::parallel_map;

use super::regression::Regression;
use super::step_search::{CoefficientStep, StepSearch, strongest_step};

/// Lengths of the intervals fall by this factor (`1/√2`; Kovács et al. 2020).
const DECAY: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// The steps of a coefficient with a score of at least `score_min`, by row ascending.
pub(super) fn cuts(
    regression: &Regression,
    search: StepSearch,
    score_min: f64,
    threads: NonZeroUsize,
) -> Vec<CoefficientStep> {
    let rows = regression.rows();
    let shortest = (2 * regression.columns()).max(4 * search.side_min).max(20);
    let seeds = seeded_intervals(rows, shortest);
    let steps = parallel_map(&seeds, threads, |seed| strongest_step(regression, seed.clone(), search));
    let mut strong: Vec<(Range<usize>, CoefficientStep)> = seeds
        .into_iter()
        .zip(steps)
        .filter_map(|(seed, step)| Some((seed, step?)))
        .filter(|(_, step)| step.score >= score_min)
        .collect();
    // Strongest first; ties by the earlier row, then the earlier interval.
    strong.sort_by(|a, b| {
        b.1.score.total_cmp(&a.1.score).then(a.1.row.cmp(&b.1.row)).then(a.0.start.cmp(&b.0.start))
    });
    let mut cuts = Vec::new();
    let mut open = Vec::from([Range { start: 0, end: rows }]);
    while let Some(range) = open.pop() {
        let inside = |seed: &Range<usize>| seed.start >= range.start && seed.end <= range.end;
        let known = strong.iter().find(|(seed, _)| inside(seed)).map(|(_, step)| *step);
        let in_range = || strongest_step(regression, range.clone(), search).filter(|s| s.score >= score_min);
        let Some(step) = known.or_else(in_range) else { continue };
        cuts.push(step);
        open.push(range.start..step.row);
        open.push(step.row..range.end);
    }
    cuts.sort_by_key(|step| step.row);
    cuts
}

/// Overlapping intervals of all scales, each length covering the rows twice.
fn seeded_intervals(rows: usize, shortest: usize) -> Vec<Range<usize>> {
    let mut seeds = Vec::new();
    let mut length = rows as f64;
    while length >= shortest as f64 {
        let count = (2.0 * (rows as f64 - length) / length).ceil() as usize + 1;
        let shift = (rows as f64 - length) / count.saturating_sub(1).max(1) as f64;
        for i in 0..count {
            let start = (i as f64 * shift).round() as usize;
            seeds.push(start..((i as f64 * shift + length).round() as usize).min(rows));
        }
        length *= DECAY;
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_numeric::Matrix;

    #[test]
    fn intervals_cover_every_row_at_every_length() {
        let seeds = seeded_intervals(100, 20);
        assert_eq!(seeds[0], 0..100);
        assert!(seeds.iter().all(|seed| seed.end <= 100 && seed.len() >= 19));
        for row in 0..99 {
            let short = seeds.iter().filter(|seed| seed.len() < 30 && seed.contains(&row)).count();
            assert!(short >= 1, "row {row}");
        }
    }

    #[test]
    fn a_bump_has_two_edges() {
        let noise = |t: usize| 0.1 * (((t * 13) % 7) as f64 - 3.0);
        let response = (0..300).map(|t| noise(t) + if (140..160).contains(&t) { 1.0 } else { 0.0 }).collect();
        let design = Matrix::from_row_major(300, 1, vec![1.0; 300]);
        let regression = Regression { design, response, weight: vec![25.0; 300] };
        let search = StepSearch { directions: 1, side_min: 3, effect_min: 0.2 };
        let steps = cuts(&regression, search, 5.0, NonZeroUsize::MIN);
        assert_eq!(steps.iter().map(|step| step.row).collect::<Vec<_>>(), [140, 160]);
    }
}
