//! Thinning by a hash of each request: which share of each kind of request fits in a limit of calls.

use crate::{RequestSlice, SlicedRequest, TreeStructure};
use laggard_assembly::{ShapeRule, Shaper};
use laggard_model::{Fingerprint, FingerprintBuilder, OperationId, mix64};
use laggard_wire::{Malformed, PackedReader, Unpacked, put_varint};
use std::collections::BTreeMap;

/// Requests, and calls of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallCount {
    /// Requests.
    pub requests: u64,
    /// Their calls.
    pub calls: u64,
}

impl CallCount {
    pub(super) fn add(&mut self, other: CallCount) {
        self.requests = self.requests.saturating_add(other.requests);
        self.calls = self.calls.saturating_add(other.calls);
    }
}

/// The level of a request, 0 to 64: one request in 2^n is of level n or above. The same wherever it is read.
pub(crate) fn level(request: &SlicedRequest) -> u32 {
    let trace = request.trace.value();
    // Other constants than those by which traces are dropped when memory is short: what was left then is thinned evenly, too.
    let words = [trace as u64, (trace >> 64) as u64, request.start.unix_ns() as u64];
    words.into_iter().fold(0xD6E8_FEB8_6659_FD93, |hash, word| mix64(hash ^ word)).leading_zeros()
}

impl RequestSlice {
    /// A fair sample: one request in 2^`levels`, by a hash of each, the same wherever it is read; names are theirs, facts those of all.
    pub fn sample(&self, levels: u32) -> RequestSlice {
        self.retain_requests_with_their_names(|request| level(request) >= levels)
    }
}

/// Bits of the number of a kind. Kinds are numbered by a hash, which bounds how many there are; two frequent kinds rarely have one
/// number, and then they have one level.
const KIND_BITS: u32 = 20;

/// The numbers of the kinds of requests of each tree structure of a slice: by canonical shape; of incomplete ones, whose shape is
/// not known, by entry.
pub(super) struct StructureKinds {
    complete: Vec<u32>,
    incomplete: Vec<u32>,
}

impl StructureKinds {
    pub(super) fn new(slice: &RequestSlice) -> StructureKinds {
        let names = &slice.names;
        let operations: Vec<Fingerprint> =
            (0..names.operations()).map(|index| names.fingerprint(OperationId::from_index(index))).collect();
        let mut shaper = Shaper::new(ShapeRule::Canonical, &operations);
        let complete = |tree: &TreeStructure| number(shaper.shape_of(tree.columns()).fingerprint);
        StructureKinds {
            complete: slice.structures.iter().map(complete).collect(),
            incomplete: (slice.structures.iter())
                .map(|tree| number(incomplete_category(operations[tree.operation[0].index()])))
                .collect(),
        }
    }

    pub(super) fn kind(&self, request: &SlicedRequest) -> u32 {
        let kinds = if request.complete { &self.complete } else { &self.incomplete };
        kinds[request.structure as usize]
    }
}

/// The category of incomplete requests that enter at an operation.
pub fn incomplete_category(entry: Fingerprint) -> Fingerprint {
    let mut builder = FingerprintBuilder::new();
    builder.fingerprint(entry);
    builder.word(u64::MAX);
    builder.finish()
}

/// The number of the kind of requests of a category.
fn number(category: Fingerprint) -> u32 {
    category.value() as u32 & ((1 << KIND_BITS) - 1)
}

/// Requests of one kind, by their level; the last level has some.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct LevelCounts(Vec<CallCount>);

impl LevelCounts {
    pub(super) fn add(&mut self, level: u32, count: CallCount) {
        let level = level as usize;
        if level >= self.0.len() {
            self.0.resize(level + 1, CallCount::default());
        }
        self.0[level].add(count);
    }

    pub(super) fn merge(&mut self, other: &LevelCounts) {
        (0..).zip(&other.0).for_each(|(level, &count)| self.add(level, count));
    }

    /// Requests of a level.
    fn at(&self, level: u32) -> CallCount {
        self.0.get(level as usize).copied().unwrap_or_default()
    }

    /// Requests of a level and above.
    fn at_or_above(&self, level: u32) -> CallCount {
        let mut sum = CallCount::default();
        self.0.iter().skip(level as usize).for_each(|&count| sum.add(count));
        sum
    }

    /// The lowest level from which there are no more than so many calls.
    fn level_within(&self, calls_max: u64) -> u32 {
        let (mut level, mut calls) = (self.0.len(), 0_u64);
        while level > 0 {
            calls = calls.saturating_add(self.0[level - 1].calls);
            if calls > calls_max {
                break;
            }
            level -= 1;
        }
        level as u32
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0.len() as u64);
        for count in &self.0 {
            put_varint(out, count.requests);
            put_varint(out, count.calls);
        }
    }

    pub(super) fn decode(from: &mut PackedReader<'_>) -> Unpacked<LevelCounts> {
        let levels = from.index(u64::BITS as usize + 2)?;
        let count = |_| Ok(CallCount { requests: from.number()?, calls: from.number()? });
        let levels: Vec<CallCount> = (0..levels).map(count).collect::<Unpacked<_>>()?;
        match levels.last() {
            Some(CallCount { requests: 0, .. }) => Err(Malformed),
            _ => Ok(LevelCounts(levels)),
        }
    }
}

/// Requests by kind and level.
pub(super) type KindCounts = BTreeMap<u32, LevelCounts>;

/// From which level on the requests of each kind are taken. From level `n` on, one in 2^n is, so that each counts as 2^n.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// Levels above that of the others, by the number of the kind.
    kinds: BTreeMap<u32, u32>,
    /// The level of all others.
    others: u32,
}

/// Least bytes of the encoded level of a kind.
const LEVEL_BYTES_MIN: usize = 2;

/// Where not even this number of calls of every kind fits, all kinds are thinned alike.
const KIND_CALLS_MIN: u64 = 1000;

impl Levels {
    /// Every request.
    pub fn everything() -> Levels {
        Levels::default()
    }

    /// One request in 2^`level` of every kind: a fair sample.
    pub fn uniform(level: u32) -> Levels {
        Levels { kinds: BTreeMap::new(), others: level }
    }

    /// The levels at which there are at most `calls_max` calls: the most frequent kinds are thinned until all fit, and what is rare
    /// stays whole. With so many rare kinds that this does not suffice, all have one level.
    pub(super) fn within(counts: &KindCounts, calls_max: u64) -> Levels {
        let calls = |most: u64| {
            let retained = counts.values().map(|kind| kind.at_or_above(kind.level_within(most)).calls);
            retained.fold(0_u64, u64::saturating_add)
        };
        if calls(u64::MAX) <= calls_max {
            return Levels::everything();
        }
        let (mut fits, mut too_many) = (0, calls_max.saturating_add(1));
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if calls(middle) <= calls_max { fits = middle } else { too_many = middle }
        }
        if fits < KIND_CALLS_MIN {
            return Levels::alike(counts, calls_max);
        }
        Levels::with_the_rest(counts, fits, calls_max)
    }

    /// The level at which there are at most `calls_max` calls, the same of all kinds: what is taken is a fair sample without weights.
    pub(super) fn alike(counts: &KindCounts, calls_max: u64) -> Levels {
        let mut all = LevelCounts::default();
        counts.values().for_each(|kind| all.merge(kind));
        Levels::uniform(all.level_within(calls_max))
    }

    /// Kinds of at most `most` calls each; what is left of `calls_max` goes to the rarest first.
    fn with_the_rest(counts: &KindCounts, most: u64, calls_max: u64) -> Levels {
        let mut kinds: Vec<(u64, u32, u32)> = (counts.iter())
            .map(|(&number, kind)| (kind.at_or_above(0).calls, number, kind.level_within(most)))
            .collect();
        kinds.sort_unstable();
        let selected = kinds.iter().map(|&(_, number, level)| counts[&number].at_or_above(level).calls);
        let mut left = calls_max - selected.sum::<u64>();
        for (_, number, level) in &mut kinds {
            while let Some(below) = level.checked_sub(1)
                && counts[number].at(below).calls <= left
            {
                left -= counts[number].at(below).calls;
                *level = below;
            }
        }
        let thinned = kinds.into_iter().filter(|&(.., level)| level > 0);
        Levels { kinds: thinned.map(|(_, number, level)| (number, level)).collect(), others: 0 }
    }

    /// The level of a kind.
    pub(super) fn of(&self, kind: u32) -> u32 {
        self.kinds.get(&kind).copied().unwrap_or(self.others)
    }

    /// The level of complete requests of a category.
    pub(crate) fn of_category(&self, category: Fingerprint) -> u32 {
        self.of(number(category))
    }

    /// Whether no kind is thinned.
    pub fn is_everything(&self) -> bool {
        self.kinds.is_empty() && self.others == 0
    }

    /// Appends them.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.others));
        put_varint(out, self.kinds.len() as u64);
        for (&kind, &level) in &self.kinds {
            put_varint(out, u64::from(kind));
            put_varint(out, u64::from(level));
        }
    }

    /// Reads levels that were appended.
    pub(super) fn decode(from: &mut PackedReader<'_>) -> Unpacked<Levels> {
        let others = from.number_u32()?;
        let kinds = (0..from.count(LEVEL_BYTES_MIN)?).map(|_| Ok((from.number_u32()?, from.number_u32()?)));
        Ok(Levels { kinds: kinds.collect::<Unpacked<_>>()?, others })
    }

    /// The highest of all.
    pub fn highest(&self) -> u32 {
        self.kinds.values().copied().fold(self.others, u32::max)
    }

    /// What is taken of what was counted.
    pub(super) fn selected(&self, counts: &KindCounts) -> CallCount {
        let mut sum = CallCount::default();
        counts.iter().for_each(|(&kind, count)| sum.add(count.at_or_above(self.of(kind))));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Status, Timestamp, TraceId};

    /// Requests of ten calls each: of `requests`, half are of level 0, a quarter of level 1, and so on.
    fn kind(requests: u64) -> LevelCounts {
        let mut counts = LevelCounts::default();
        let mut left = requests;
        for level in 0.. {
            let here = left.div_ceil(2);
            counts.add(level, CallCount { requests: here, calls: 10 * here });
            left -= here;
            if left == 0 {
                return counts;
            }
        }
        unreachable!("levels end when nothing is left")
    }

    #[test]
    fn one_request_in_two_to_the_n_is_of_level_n_or_above() {
        let request = |trace: u128| SlicedRequest {
            start: Timestamp::from_unix_ns(trace as i64 / 3),
            trace: TraceId::from_value(trace),
            structure: 0,
            first_call: 0,
            status: Status::Unset,
            complete: true,
            adjusted_count: None,
            attributes: Default::default(),
        };
        for at_least in [1, 3, 6] {
            let found = (0..64_000).filter(|&trace| level(&request(trace)) >= at_least).count();
            let expected = 64_000 >> at_least;
            assert!(found.abs_diff(expected) < expected / 8, "level {at_least}: {found} of {expected}");
        }
    }

    #[test]
    fn frequent_kinds_are_thinned_and_rare_ones_stay_whole() {
        // 1,024,000 + 64,000 + 1,000 calls.
        let counts = KindCounts::from([(1, kind(102_400)), (2, kind(6_400)), (3, kind(100))]);
        let levels = |calls_max| {
            let levels = Levels::within(&counts, calls_max);
            assert!(levels.selected(&counts).calls <= calls_max);
            [1, 2, 3].map(|kind| levels.of(kind))
        };
        assert_eq!(levels(1_089_000), [0, 0, 0], "all fit");
        assert_eq!(levels(1_088_999), [1, 0, 0], "512,000 + 64,000 + 1,000");
        assert_eq!(levels(100_000), [5, 0, 0], "32,000 + 64,000 + 1,000");
        assert_eq!(levels(96_999), [5, 1, 0], "32,000 + 32,000 + 1,000");
        assert_eq!(levels(64_999), [6, 1, 0], "16,000 + 32,000 + 1,000");
        assert_eq!(levels(1), [17, 17, 17], "nothing fits");
    }

    #[test]
    fn more_rare_kinds_than_fit_are_thinned_alike() {
        let counts: KindCounts = (0..1_000).map(|number| (number, kind(64))).collect();
        let levels = Levels::within(&counts, 100_000);
        assert_eq!((levels.of(1), levels.of(999), levels.of(5_000)), (3, 3, 3), "80,000 of 640,000");
        assert_eq!(levels.selected(&counts), CallCount { requests: 8_000, calls: 80_000 });
        assert!(!levels.is_everything() && levels.highest() == 3);
    }

    #[test]
    fn a_fair_sample_has_as_much_of_rare_kinds_as_of_frequent_ones() {
        // 1,024,000 + 1,280 calls.
        let counts = KindCounts::from([(1, kind(102_400)), (2, kind(128))]);
        assert!(Levels::alike(&counts, 1_025_280).is_everything());
        let levels = Levels::alike(&counts, 1_025_279);
        assert_eq!((levels.of(1), levels.of(2)), (1, 1));
        let levels = Levels::alike(&counts, 130_000);
        assert_eq!((levels.of(1), levels.of(2)), (3, 3), "128,000 + 160 calls");
        assert_eq!(levels.selected(&counts), CallCount { requests: 12_816, calls: 128_160 });
    }
}
