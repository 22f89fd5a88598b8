//! Dents of the reachability plot: a steep way down, then a steep way up (Ankerst et al. 1999, 4.3).

use super::ordering::ReachabilityOrder;
use super::{Dent, OpticsSettings};

/// The reachability plot: positions are those of the ordering, with an infinite value after the last.
struct Plot<'a> {
    heights: Vec<f64>,
    /// `1 - steepness`.
    complement: f64,
    points_min: usize,
    ordered: &'a ReachabilityOrder,
    /// Position of each point in the ordering.
    position: Vec<usize>,
}

/// A steep region on the way down.
struct Descent {
    first: usize,
    last: usize,
    /// The highest value since its end.
    highest_since: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Down,
    Up,
}

/// All dents, those that end at one steep region from the smallest to the largest.
pub(super) fn clusters(ordered: &ReachabilityOrder, settings: &OpticsSettings) -> Vec<Dent> {
    let plot = Plot::new(ordered, settings);
    let mut descents: Vec<Descent> = Vec::new();
    let mut clusters = Vec::new();
    let (mut position, mut next, mut highest) = (0, 0, 0.0_f64);
    while position < ordered.ordering.len() {
        let Some(direction) = plot.steep(position) else {
            position += 1;
            continue;
        };
        highest = plot.heights[next..=position].iter().copied().fold(highest, f64::max);
        plot.drop_filled(&mut descents, highest);
        let last = plot.region_end(position, direction);
        match direction {
            Direction::Down => descents.push(Descent { first: position, last, highest_since: 0.0 }),
            Direction::Up => {
                let dents = descents.iter().filter_map(|descent| {
                    plot.dent(descent, position, last, settings.is_predecessor_corrected)
                });
                let dents: Vec<Dent> = dents.collect();
                clusters.extend(dents.into_iter().rev());
            }
        }
        next = last + 1;
        highest = plot.heights[next];
        position = next;
    }
    clusters
}

impl<'a> Plot<'a> {
    fn new(ordered: &'a ReachabilityOrder, settings: &OpticsSettings) -> Plot<'a> {
        let mut heights: Vec<f64> =
            ordered.ordering.iter().map(|&point| ordered.reachability[point]).collect();
        heights.push(f64::INFINITY);
        let mut positions = vec![0; ordered.ordering.len()];
        for (position, &point) in ordered.ordering.iter().enumerate() {
            positions[point] = position;
        }
        let complement = 1.0 - settings.steepness;
        Plot { heights, complement, points_min: settings.points_min.max(2), ordered, position: positions }
    }

    /// `r[i] / r[i + 1]`; NaN of two zeros or two infinities is neither up nor down.
    fn ratio(&self, position: usize) -> f64 {
        self.heights[position] / self.heights[position + 1]
    }

    fn steep(&self, position: usize) -> Option<Direction> {
        let ratio = self.ratio(position);
        if ratio <= self.complement {
            return Some(Direction::Up);
        }
        (ratio >= 1.0 / self.complement).then_some(Direction::Down)
    }

    /// Whether the plot goes in the other direction at all.
    fn is_against(&self, position: usize, direction: Direction) -> bool {
        let ratio = self.ratio(position);
        match direction {
            Direction::Down => ratio < 1.0,
            Direction::Up => ratio > 1.0,
        }
    }

    /// The last steep point of the region that starts here: over at most `points_min` points in a row that are not
    /// steep, and none that goes the other way.
    fn region_end(&self, first: usize, direction: Direction) -> usize {
        let (mut last, mut flat) = (first, 0);
        for position in first..self.ordered.ordering.len() {
            if self.steep(position) == Some(direction) {
                (last, flat) = (position, 0);
                continue;
            }
            flat += 1;
            if self.is_against(position, direction) || flat > self.points_min {
                break;
            }
        }
        last
    }

    /// Removes descents that the plot has risen above since: they cannot start a dent.
    fn drop_filled(&self, descents: &mut Vec<Descent>, highest: f64) {
        if highest.is_infinite() {
            descents.clear();
            return;
        }
        descents.retain(|descent| self.heights[descent.first] * self.complement >= highest);
        for descent in descents {
            descent.highest_since = descent.highest_since.max(highest);
        }
    }

    /// The dent between a descent and the rise `rise_first..=rise_last`, if there is one.
    fn dent(
        &self,
        descent: &Descent,
        rise_first: usize,
        rise_last: usize,
        is_corrected: bool,
    ) -> Option<Dent> {
        let heights = &self.heights;
        let (remaining, right) = (heights[descent.first], heights[rise_last + 1]);
        if right * self.complement < descent.highest_since {
            return None;
        }
        let (mut first, mut last) = (descent.first, rise_last);
        if remaining * self.complement >= right {
            while first < descent.last && heights[first + 1] > right {
                first += 1;
            }
        } else if right * self.complement >= remaining {
            while last > rise_first && heights[last - 1] > remaining {
                last -= 1;
            }
        }
        if is_corrected {
            last = self.corrected_end(first, last)?;
        }
        let is_large = last + 1 >= first + self.points_min;
        (is_large && first <= descent.last && last >= rise_first).then_some(Dent { first, last })
    }

    /// The last position that lies below the start, or was reached from within (Schubert and Gertz 2018).
    fn corrected_end(&self, first: usize, last: usize) -> Option<usize> {
        (first + 1..=last).rev().find(|&end| {
            let from = self.ordered.predecessor[self.ordered.ordering[end]].map(|point| self.position[point]);
            self.heights[first] > self.heights[end] || from.is_some_and(|from| (first..end).contains(&from))
        })
    }
}
