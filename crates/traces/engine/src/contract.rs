//! The laws of [`Fold`], as a suite that every fold runs in its tests.

use crate::{Fold, RequestRange};
use std::fmt::Debug;

/// Checks a fold on some requests.
///
/// # Panics
/// When merging a fresh partial on either side, splitting the requests after any of them, or grouping merges
/// to the right changes the output.
pub fn check<F: Fold>(fold: &F, all: RequestRange<'_>)
where
    F::Output: PartialEq + Debug,
{
    let unsplit = fold.finish(part(fold, all));
    let with_fresh = |fresh_first: bool| {
        let (mut left, right) =
            if fresh_first { (fold.start(), part(fold, all)) } else { (part(fold, all), fold.start()) };
        fold.merge(&mut left, right);
        fold.finish(left)
    };
    assert_eq!(with_fresh(true), unsplit, "merging into a fresh partial changed the answer");
    assert_eq!(with_fresh(false), unsplit, "merging a fresh partial changed the answer");
    let step = all.len().div_ceil(16).max(1);
    for cut in (0..=all.len()).step_by(step) {
        let mut left = part(fold, all.part(0, cut));
        fold.merge(&mut left, part(fold, all.part(cut, all.len())));
        assert_eq!(fold.finish(left), unsplit, "splitting after {cut} requests changed the answer");
    }
    let (third, two_thirds) = (all.len() / 3, 2 * all.len() / 3);
    let mut right = part(fold, all.part(third, two_thirds));
    fold.merge(&mut right, part(fold, all.part(two_thirds, all.len())));
    let mut left = part(fold, all.part(0, third));
    fold.merge(&mut left, right);
    assert_eq!(fold.finish(left), unsplit, "merging is not associative");
}

fn part<F: Fold>(fold: &F, requests: RequestRange<'_>) -> F::Partial {
    let mut partial = fold.start();
    requests.iter().for_each(|request| fold.add(&mut partial, &request));
    partial
}
