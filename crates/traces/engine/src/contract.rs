//! The laws of [`Fold`] and [`UnitFold`], as suites that every fold runs in its tests.

use crate::{
    Fold, Gathering, GatheringError, PartError, RequestRange, RequestSlice, UnitFold, UnitId, encode_part,
};
use laggard_wire::PackedReader;
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

/// Checks a fold over units: `described` shows everything about a partial result that matters.
///
/// # Panics
/// When merging a fresh partial, grouping the units, encoding, or the order of arrival changes the result; when a unit that arrives
/// twice or not at all is not noticed; and when damaged bytes are accepted.
pub fn check_units<F: UnitFold, T: PartialEq + Debug>(
    fold: &F,
    slices: &[RequestSlice],
    described: impl Fn(&F::Partial) -> T,
) {
    let ids: Vec<UnitId> = (0..slices.len() as u64).map(UnitId::Segment).collect();
    let sent = sent(fold);
    let merged = |slices: &[RequestSlice]| {
        let mut partial = fold.start();
        slices.iter().for_each(|slice| fold.merge(&mut partial, sent.unit(slice)));
        partial
    };
    let direct = described(&merged(slices));
    let mut before_fresh = merged(slices);
    fold.merge(&mut before_fresh, fold.start());
    assert_eq!(described(&before_fresh), direct, "merging a fresh partial changed the result");
    let part = |from: usize, to: usize| encode_part(&sent, &ids[from..to], &merged(&slices[from..to]));
    let gathered = |parts: &[Vec<u8>]| -> Result<T, GatheringError> {
        let mut gathering = Gathering::new(fold, ids.iter().rev().copied());
        parts.iter().try_for_each(|part| gathering.deliver(part))?;
        Ok(described(&gathering.finish()?))
    };
    for cut in 0..=slices.len() {
        let mut parts: Vec<Vec<u8>> = (cut..slices.len()).map(|index| part(index, index + 1)).collect();
        if cut > 0 {
            parts.push(part(0, cut));
        }
        assert_eq!(
            gathered(&parts).as_ref(),
            Ok(&direct),
            "the first {cut} units in one part, which comes last"
        );
        parts.reverse();
        assert_eq!(gathered(&parts).as_ref(), Ok(&direct), "units in reverse");
    }
    for (index, &id) in ids.iter().enumerate() {
        let all = || (0..slices.len()).map(|index| part(index, index + 1));
        let twice: Vec<Vec<u8>> = all().chain([part(index, index + 1)]).collect();
        assert_eq!(gathered(&twice), Err(GatheringError::Twice(id)));
        let lost: Vec<Vec<u8>> =
            all().enumerate().filter(|&(other, _)| other != index).map(|(_, part)| part).collect();
        assert_eq!(gathered(&lost), Err(GatheringError::Lost(id, 1)));
        check_damage(fold, &ids, &part(index, index + 1));
    }
}

/// The fold as another process receives it.
fn sent<F: UnitFold>(fold: &F) -> F {
    let mut bytes = Vec::new();
    fold.encode_fold(&mut bytes);
    let mut from = PackedReader::new(&bytes);
    let sent = F::decode_fold(&mut from).expect("a fold that was encoded can be decoded");
    assert!(from.is_empty(), "bytes remain behind the fold");
    let mut again = Vec::new();
    sent.encode_fold(&mut again);
    assert_eq!(again, bytes, "the fold changed when it was sent");
    sent
}

/// Checks that no part is accepted after a byte was changed, or bytes at its end were lost.
fn check_damage<F: UnitFold>(fold: &F, ids: &[UnitId], part: &[u8]) {
    let refused = |damaged: &[u8]| {
        let found = Gathering::new(fold, ids.iter().copied()).deliver(damaged);
        assert_eq!(found, Err(GatheringError::Part(PartError::Damaged)));
    };
    let step = part.len().div_ceil(200);
    for position in (0..part.len()).step_by(step) {
        refused(&part[..position]);
        let mut damaged = part.to_vec();
        damaged[position] ^= 1 << (position % 8);
        refused(&damaged);
    }
}
