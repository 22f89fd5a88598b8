//! The root of a round: takes the partial result of every unit exactly once, in any order.

use super::part::{PartError, decode_part};
use super::{UnitFold, UnitId};
use std::collections::BTreeMap;
use std::fmt;

/// Partial results that arrive until those of all units have.
///
/// ```text
/// units      0   1   2   3   4   5
///           └── merged ──┘ gap └ waiting ┘
/// ```
pub struct Gathering<'a, F: UnitFold> {
    fold: &'a F,
    /// In the order in which they are merged.
    units: Vec<UnitId>,
    /// The partial of the units before `next`.
    merged: F::Partial,
    next: usize,
    /// Partials of later units: by the index of their first unit, with the index after the last.
    waiting: BTreeMap<usize, (usize, F::Partial)>,
}

/// Why the units cannot be gathered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GatheringError {
    /// What arrived is no partial result of this round.
    Part(PartError),
    /// A unit that is not part of the round.
    Unknown(UnitId),
    /// A unit that does not follow the one before it in the same partial result.
    OutOfOrder(UnitId),
    /// A unit whose partial result had arrived before.
    Twice(UnitId),
    /// The first unit of which nothing arrived, and how many there are.
    Lost(UnitId, usize),
}

impl fmt::Display for GatheringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GatheringError::Part(error) => error.fmt(f),
            GatheringError::Unknown(unit) => {
                write!(f, "there is a result of {unit}, which was not asked for")
            }
            GatheringError::OutOfOrder(unit) => {
                write!(f, "a result has {unit} after a unit that it does not follow")
            }
            GatheringError::Twice(unit) => write!(f, "there are two results of {unit}"),
            GatheringError::Lost(unit, 1) => write!(f, "there is no result of {unit}"),
            GatheringError::Lost(unit, lost) => {
                write!(f, "there is no result of {lost} units, the first of which is {unit}")
            }
        }
    }
}

impl std::error::Error for GatheringError {}

impl From<PartError> for GatheringError {
    fn from(error: PartError) -> GatheringError {
        GatheringError::Part(error)
    }
}

impl<'a, F: UnitFold> Gathering<'a, F> {
    /// Waits for the partial results of some units. They are merged in the order of the units' ids.
    pub fn new(fold: &'a F, units: impl IntoIterator<Item = UnitId>) -> Gathering<'a, F> {
        let mut units: Vec<UnitId> = units.into_iter().collect();
        units.sort_unstable();
        units.dedup();
        Gathering { fold, units, merged: fold.start(), next: 0, waiting: BTreeMap::new() }
    }

    /// Takes the encoded partial result of one unit, or of several that follow each other.
    ///
    /// # Errors
    /// When it is damaged, of no unit of this round, or of one that has arrived before. Then nothing of it is taken.
    pub fn deliver(&mut self, part: &[u8]) -> Result<(), GatheringError> {
        let (units, partial) = decode_part(self.fold, part)?;
        let Some(&first) = units.first() else { return Err(PartError::Damaged.into()) };
        let from = self.units.binary_search(&first).map_err(|_| GatheringError::Unknown(first))?;
        for (index, unit) in (from..).zip(&units) {
            if self.units.get(index) != Some(unit) {
                return Err(match self.units.binary_search(unit) {
                    Ok(_) => GatheringError::OutOfOrder(*unit),
                    Err(_) => GatheringError::Unknown(*unit),
                });
            }
            if self.has(index) {
                return Err(GatheringError::Twice(*unit));
            }
        }
        self.waiting.insert(from, (from + units.len(), partial));
        while let Some((after, partial)) = self.waiting.remove(&self.next) {
            self.fold.merge(&mut self.merged, partial);
            self.next = after;
        }
        Ok(())
    }

    /// Whether the unit at an index has arrived.
    fn has(&self, index: usize) -> bool {
        let waiting = self.waiting.range(..=index).next_back();
        index < self.next || waiting.is_some_and(|(_, &(after, _))| index < after)
    }

    /// Everything merged.
    ///
    /// # Errors
    /// When units are missing.
    pub fn finish(self) -> Result<F::Partial, GatheringError> {
        let lost = || (self.next..self.units.len()).filter(|&index| !self.has(index));
        match lost().next() {
            Some(first) => Err(GatheringError::Lost(self.units[first], lost().count())),
            None => Ok(self.merged),
        }
    }
}
