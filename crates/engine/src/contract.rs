//! The laws of [`Fold`], as a suite that every fold runs in its tests.

use crate::{Fold, Traces};
use laggard_model::SpanRow;
use std::fmt::Debug;

/// Checks a fold on some traces.
///
/// # Panics
/// When merging a fresh partial on either side, splitting the traces after any of them, or grouping merges
/// to the right changes the output.
pub fn check<F: Fold>(fold: &F, traces: &Traces)
where
    F::Output: PartialEq + Debug,
{
    let all: Vec<&[SpanRow]> =
        traces.buckets().iter().flat_map(|bucket| bucket.chunk_by(|a, b| a.trace == b.trace)).collect();
    let whole = fold.finish(part(fold, &all));
    let with_fresh = |fresh_first: bool| {
        let (mut left, right) =
            if fresh_first { (fold.start(), part(fold, &all)) } else { (part(fold, &all), fold.start()) };
        fold.merge(&mut left, right);
        fold.finish(left)
    };
    assert_eq!(with_fresh(true), whole, "merging into a fresh partial changed the answer");
    assert_eq!(with_fresh(false), whole, "merging a fresh partial changed the answer");
    let step = all.len().div_ceil(16).max(1);
    for cut in (0..=all.len()).step_by(step) {
        let mut left = part(fold, &all[..cut]);
        fold.merge(&mut left, part(fold, &all[cut..]));
        assert_eq!(fold.finish(left), whole, "splitting after {cut} traces changed the answer");
    }
    let (third, two_thirds) = (all.len() / 3, 2 * all.len() / 3);
    let mut right = part(fold, &all[third..two_thirds]);
    fold.merge(&mut right, part(fold, &all[two_thirds..]));
    let mut left = part(fold, &all[..third]);
    fold.merge(&mut left, right);
    assert_eq!(fold.finish(left), whole, "merging is not associative");
}

fn part<F: Fold>(fold: &F, traces: &[&[SpanRow]]) -> F::Partial {
    let mut partial = fold.start();
    for trace in traces {
        fold.add(&mut partial, trace);
    }
    partial
}
