//! How far each point has to reach for a dense neighborhood.

use super::blocks::Blocks;
use super::rounded;
use laggard_numeric::{Matrix, parallel_map};
use pulp::Arch;
use std::num::NonZeroUsize;
use std::ops::Range;

/// Points that one thread takes at a time.
const STRIPE: usize = 256;

/// By point, the distance to the `nearest`-th nearest, itself included; `nearest` is at most the number of points.
pub(super) fn core_distances(points: &Matrix, nearest: usize, threads: NonZeroUsize) -> Vec<f64> {
    let n = points.rows();
    let all: Vec<usize> = (0..n).collect();
    let blocks = Blocks::gather(points, &all);
    let stripes: Vec<Range<usize>> = (0..n).step_by(STRIPE).map(|at| at..(at + STRIPE).min(n)).collect();
    let arch = Arch::new();
    let distances = parallel_map(&stripes, threads, |stripe| {
        arch.dispatch(|| {
            let one = |point| rounded(nearest_squared(&blocks, points.row(point), nearest).sqrt());
            stripe.clone().map(one).collect::<Vec<f64>>()
        })
    });
    distances.concat()
}

/// The `nearest`-th smallest squared distance.
#[inline(always)]
fn nearest_squared(blocks: &Blocks, from: &[f64], nearest: usize) -> f64 {
    // The smallest so far, ascending; far away until as many are known.
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

/// Puts a value into its place among ascending ones, and lets the largest go.
fn insert(smallest: &mut [f64], value: f64) {
    let Some(mut at) = smallest.len().checked_sub(1) else { return };
    // Not `>=`: a NaN is no distance.
    if value.is_nan() || value >= smallest[at] {
        return;
    }
    while at > 0 && smallest[at - 1] > value {
        smallest[at] = smallest[at - 1];
        at -= 1;
    }
    smallest[at] = value;
}
