//! A column of durations at four bytes each.

use laggard_model::Nanos;
use std::ops::Range;

/// Durations. One below 2³² − 1 ns (4.29 s) takes 4 bytes, as nearly all of a slice do; a longer one takes 20, and where there are
/// many of these all take 8. There are fewer than 2³².
#[derive(Clone, Debug)]
pub struct DurationColumn(Durations);

#[derive(Clone, Debug)]
enum Durations {
    Short {
        /// Nanoseconds; [`LONG`] where the duration is in `long`.
        ns: Vec<u32>,
        /// The others with their indices, in the order of these.
        long: Vec<(u32, Nanos)>,
    },
    Wide(Vec<Nanos>),
}

/// Marks a duration that does not fit.
const LONG: u32 = u32::MAX;
/// Long durations that a column may have however short it is.
const LONG_ALWAYS: usize = 64;
/// One duration in how many may be long: with more, 8 bytes for each are fewer.
const LONG_ONE_IN: usize = 4;

impl Default for DurationColumn {
    fn default() -> DurationColumn {
        DurationColumn::with_capacity(0)
    }
}

impl DurationColumn {
    /// No durations yet, with room for so many.
    pub fn with_capacity(durations: usize) -> DurationColumn {
        DurationColumn(Durations::Short { ns: Vec::with_capacity(durations), long: Vec::new() })
    }

    /// Number of durations.
    pub fn len(&self) -> usize {
        match &self.0 {
            Durations::Short { ns, .. } => ns.len(),
            Durations::Wide(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The duration at an index.
    ///
    /// # Panics
    /// When the column is shorter.
    #[inline]
    pub fn get(&self, index: usize) -> Nanos {
        match &self.0 {
            Durations::Short { ns, long } => match ns[index] {
                LONG => long_at(long, index),
                short => Nanos::from_ns(u64::from(short)),
            },
            Durations::Wide(all) => all[index],
        }
    }

    /// The durations in a range.
    ///
    /// # Panics
    /// When the column ends before the range.
    pub fn range(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Nanos> + '_ {
        range.map(|index| self.get(index))
    }

    /// Adds a duration.
    ///
    /// # Panics
    /// With 2³² durations.
    #[inline]
    pub fn push(&mut self, duration: Nanos) {
        match &mut self.0 {
            Durations::Short { ns, long } => match u32::try_from(duration.ns()) {
                Ok(short) if short != LONG => ns.push(short),
                _ => {
                    let index = u32::try_from(ns.len()).expect("a column has fewer than 2^32 durations");
                    long.push((index, duration));
                    ns.push(LONG);
                    if long.len() > LONG_ALWAYS + ns.len() / LONG_ONE_IN {
                        self.widen();
                    }
                }
            },
            Durations::Wide(all) => all.push(duration),
        }
    }

    #[cold]
    fn widen(&mut self) {
        let mut all = Vec::with_capacity(self.len());
        all.extend(self.range(0..self.len()));
        self.0 = Durations::Wide(all);
    }

    pub(crate) fn reserve(&mut self, durations: usize) {
        match &mut self.0 {
            Durations::Short { ns, .. } => ns.reserve(durations),
            Durations::Wide(all) => all.reserve(durations),
        }
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        match &mut self.0 {
            Durations::Short { ns, long } => {
                ns.shrink_to_fit();
                long.shrink_to_fit();
            }
            Durations::Wide(all) => all.shrink_to_fit(),
        }
    }

    /// Bytes of memory, without what is allocated ahead.
    pub(crate) fn bytes(&self) -> usize {
        match &self.0 {
            Durations::Short { ns, long } => size_of_val(&ns[..]) + size_of_val(&long[..]),
            Durations::Wide(all) => size_of_val(&all[..]),
        }
    }
}

#[cold]
fn long_at(long: &[(u32, Nanos)], index: usize) -> Nanos {
    let found = long.binary_search_by_key(&index, |(index, _)| *index as usize);
    long[found.expect("a long duration is listed")].1
}

/// By their durations, however these are held.
impl PartialEq for DurationColumn {
    fn eq(&self, other: &DurationColumn) -> bool {
        self.range(0..self.len()).eq(other.range(0..other.len()))
    }
}

impl Eq for DurationColumn {}

impl Extend<Nanos> for DurationColumn {
    fn extend<I: IntoIterator<Item = Nanos>>(&mut self, durations: I) {
        let durations = durations.into_iter();
        self.reserve(durations.size_hint().0);
        durations.for_each(|duration| self.push(duration));
    }
}

impl FromIterator<Nanos> for DurationColumn {
    fn from_iter<I: IntoIterator<Item = Nanos>>(durations: I) -> DurationColumn {
        let mut column = DurationColumn::default();
        column.extend(durations);
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Durations at the limit of four bytes are frequent.
    fn durations() -> impl Strategy<Value = Vec<u64>> {
        let limit = u64::from(LONG);
        let duration = prop_oneof![8 => 0..limit, 1 => limit - 2..limit + 3, 1 => any::<u64>()];
        let long = prop_oneof![1 => 0..limit, 3 => limit..u64::MAX];
        prop_oneof![prop::collection::vec(duration, 0..500), prop::collection::vec(long, 0..500)]
    }

    proptest! {
        #[test]
        fn a_column_returns_the_durations_it_was_made_of(all in durations()) {
            let column: DurationColumn = all.iter().copied().map(Nanos::from_ns).collect();
            prop_assert_eq!(column.len(), all.len());
            for (index, &ns) in all.iter().enumerate() {
                prop_assert_eq!(column.get(index).ns(), ns);
            }
            let from = all.len() / 3;
            prop_assert!(column.range(from..all.len()).map(Nanos::ns).eq(all[from..].iter().copied()));
        }

        #[test]
        fn no_duration_takes_more_than_eight_bytes_where_many_are_long(all in durations()) {
            let column: DurationColumn = all.iter().copied().map(Nanos::from_ns).collect();
            prop_assert!(column.bytes() <= 8 * all.len() + 16 * LONG_ALWAYS);
        }
    }

    #[test]
    fn short_durations_take_four_bytes() {
        let column: DurationColumn = (0..10_000).map(Nanos::from_ns).collect();
        assert_eq!(column.bytes(), 40_000);
    }

    #[test]
    fn columns_are_equal_by_their_durations() {
        let long = Nanos::from_ns(u64::MAX);
        let mut wide: DurationColumn = std::iter::repeat_n(long, 1_000).collect();
        assert!(matches!(wide.0, Durations::Wide(_)));
        let mut short: DurationColumn = (0..5_000).map(Nanos::from_ns).collect();
        short.push(long);
        assert!(matches!(short.0, Durations::Short { .. }));
        assert_ne!(short, wide);
        wide = DurationColumn(Durations::Wide(short.range(0..short.len()).collect()));
        assert_eq!(short, wide);
    }
}
