//! A histogram of times whose bins grow with the time and respect the grid the times were recorded on.

/// Most bins; beyond it bins are made wider.
const BINS_MAX: usize = 4096;

/// The unit of which all times are multiples, counted from the smallest time: 1 for whole milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Grid {
    Step(f64),
    Continuous,
}

impl Grid {
    /// The grid of ascending times. A grid finer than a ten-millionth of their range does not count.
    pub(super) fn of(sorted: &[f64]) -> Grid {
        const STEPS_MAX: f64 = 1e7;
        const OFF_GRID_MAX: f64 = 1e-3;
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return Grid::Continuous };
        let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0);
        let step = gaps.fold(f64::INFINITY, f64::min);
        if !step.is_finite() || (last - first) / step > STEPS_MAX {
            return Grid::Continuous;
        }
        let is_on_grid = |time: &f64| {
            let steps = (time - first) / step;
            (steps - steps.round()).abs() <= OFF_GRID_MAX
        };
        if sorted.iter().all(is_on_grid) { Grid::Step(step) } else { Grid::Continuous }
    }
}

/// Counts of times in adjacent bins.
pub(super) struct Bins {
    /// Ends of all bins: one more than there are bins.
    edges: Vec<f64>,
    counts: Vec<u64>,
    /// Width of each bin in the unit in which densities are compared: grid steps, or logarithms.
    exposures: Vec<f64>,
}

impl Bins {
    /// Bins whose width is about `width` times their lower edge, on the grid; `None` when there would be only one.
    ///
    /// `sorted` are ascending times above 0.
    pub(super) fn of(sorted: &[f64], grid: Grid, width: f64) -> Option<Bins> {
        let (&first, &last) = (sorted.first()?, sorted.last()?);
        let width = width.max((last.ln() - first.ln()) / (BINS_MAX / 2) as f64);
        let (edges, exposures) = match grid {
            Grid::Step(step) => stepped(first, last, step, width),
            Grid::Continuous => logarithmic(first, last, width),
        };
        if exposures.len() < 2 {
            return None;
        }
        let mut counts = vec![0_u64; exposures.len()];
        let mut bin = 0;
        for &time in sorted {
            while bin + 1 < counts.len() && time >= edges[bin + 1] {
                bin += 1;
            }
            counts[bin] += 1;
        }
        Some(Bins { edges, counts, exposures })
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn count(&self, bin: usize) -> u64 {
        self.counts[bin]
    }

    pub(super) fn exposure(&self, bin: usize) -> f64 {
        self.exposures[bin]
    }

    pub(super) fn density(&self, bin: usize) -> f64 {
        self.counts[bin] as f64 / self.exposures[bin]
    }

    pub(super) fn middle(&self, bin: usize) -> f64 {
        f64::midpoint(self.edges[bin], self.edges[bin + 1])
    }
}

/// Edges half a step beside grid points, so that no recorded time lies on one. Every bin holds the same
/// whole number of grid points: neighbors with one and two of them in turn would look like modes.
fn stepped(first: f64, last: f64, step: f64, width: f64) -> (Vec<f64>, Vec<f64>) {
    let mut edges = vec![first - step / 2.0];
    let mut exposures = Vec::new();
    let mut points = 0.0;
    while edges[edges.len() - 1] <= last && exposures.len() < BINS_MAX {
        let steps = (width * (first + points * step) / step).round().max(1.0);
        points += steps;
        edges.push(first + (points - 0.5) * step);
        exposures.push(steps);
    }
    (edges, exposures)
}

fn logarithmic(first: f64, last: f64, width: f64) -> (Vec<f64>, Vec<f64>) {
    let count = ((last.ln() - first.ln()) / width).ceil() as usize + 1;
    let edges = (0..=count).map(|edge| first * (width * edge as f64).exp()).collect();
    (edges, vec![1.0; count])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_recognized() {
        assert_eq!(Grid::of(&[2.0, 3.0, 3.0, 7.0]), Grid::Step(1.0));
        assert_eq!(Grid::of(&[0.25, 1.0, 1.5]), Grid::Continuous);
        assert_eq!(Grid::of(&[0.25, 1.0, 1.75]), Grid::Step(0.75));
        assert_eq!(Grid::of(&[1.0, 1.0 + 1e-9, 2.0]), Grid::Continuous);
        assert_eq!(Grid::of(&[5.0, 5.0]), Grid::Continuous);
        assert_eq!(Grid::of(&[]), Grid::Continuous);
    }

    #[test]
    fn bins_on_a_grid_hold_a_whole_number_of_steps() {
        // Bins of a tenth: one step up to 14, two from 15 on.
        let times: Vec<f64> = (10..=20).map(f64::from).collect();
        let bins = Bins::of(&times, Grid::Step(1.0), 0.1).unwrap();
        assert_eq!(bins.exposures, [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
        assert_eq!(bins.counts, [1, 1, 1, 1, 1, 2, 2, 2]);
        assert_eq!(bins.middle(0), 10.0);
    }

    #[test]
    fn bins_of_a_continuum_grow() {
        let bins = Bins::of(&[1.0, 1.5, 2.5, 8.0], Grid::Continuous, 2.0_f64.ln()).unwrap();
        assert_eq!(bins.counts[..3], [2, 1, 0]);
        assert_eq!(bins.counts.iter().sum::<u64>(), 4);
        assert!(Bins::of(&[1.0, 1.0], Grid::Continuous, 0.1).is_none());
    }
}
