//! Core distances: the radius at which each point's neighborhood is dense.

use super::blocks::Blocks;
use super::rounded;
use laggard_numeric::Matrix;
use laggard_parallel::parallel_map;
use pulp::Arch;
use std::num::NonZeroUsize;
use std::ops::Range;

/// Number of points that a thread processes at a time.
const STRIPE: usize = 256;

/// By point, the distance to the `nearest`-th nearest, itself included; `nearest` is at most the number of points.
pub(super) fn core_distances(points: &Matrix, nearest: usize, threads: NonZeroUsize) -> Vec<f64> {
    let n = points.rows();
    let all: Vec<usize> = (0..n).collect();
    let blocks = Blocks::gather(points, &all);
    let stripes: Vec<Range<usize>> =
        (0..n).step_by(STRIPE).map(|position| position..(position + STRIPE).min(n)).collect();
    let arch = Arch::new();
    let distances = parallel_map(&stripes, threads, |stripe| {
        arch.dispatch(|| {
            let core_distance = |point| rounded(nearest_squared(&blocks, points.row(point), nearest).sqrt());
            stripe.clone().map(core_distance).collect::<Vec<f64>>()
        })
    });
    distances.concat()
}

/// The `nearest`-th smallest squared distance.
#[inline(always)]
fn nearest_squared(blocks: &Blocks, from: &[f64], nearest: usize) -> f64 {
    // The smallest values so far, ascending, padded with infinity.
    let mut smallest = vec![f64::INFINITY; nearest];
    for block in 0..blocks.count() {
        let squares = blocks.squared_distances(block, from);
        let limit = smallest[nearest - 1];
        if squares.iter().fold(f64::INFINITY, |least, &square| if square < least { square } else { least })
            >= limit
        {
            continue;
        }
        for square in squares {
            insert(&mut smallest, square);
        }
    }
    smallest[nearest - 1]
}

/// Inserts a value into ascending values, dropping the largest.
fn insert(smallest: &mut [f64], value: f64) {
    let Some(mut position) = smallest.len().checked_sub(1) else { return };
    // A NaN is no distance.
    if value.is_nan() || value >= smallest[position] {
        return;
    }
    while position > 0 && smallest[position - 1] > value {
        smallest[position] = smallest[position - 1];
        position -= 1;
    }
    smallest[position] = value;
}
