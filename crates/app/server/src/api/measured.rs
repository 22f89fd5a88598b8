//! Times of many calls, of which a bounded number is retained.

use laggard_numeric::spread_evenly;
use std::iter::Peekable;

/// Values of a known number of calls, at most so many of them, chosen evenly.
pub(crate) struct MeasuredCalls<T> {
    retained: Peekable<Box<dyn Iterator<Item = usize>>>,
    seen: usize,
    values: Vec<T>,
}

impl<T> MeasuredCalls<T> {
    /// Of so many calls at most `most` are retained.
    pub(crate) fn new(calls: usize, most: usize) -> MeasuredCalls<T> {
        let retained: Box<dyn Iterator<Item = usize>> = Box::new(spread_evenly(calls, most));
        MeasuredCalls { retained: retained.peekable(), seen: 0, values: Vec::new() }
    }

    /// Adds the next call.
    pub(crate) fn add(&mut self, value: T) {
        if self.retained.next_if_eq(&self.seen).is_some() {
            self.values.push(value);
        }
        self.seen += 1;
    }

    /// Calls that were added.
    pub(crate) fn calls(&self) -> u64 {
        self.seen as u64
    }

    /// The values that were retained.
    pub(crate) fn into_values(self) -> Vec<T> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_all_retained_and_many_are_thinned() {
        for (calls, retained) in [(3, 3), (10, 10), (1_000, 10)] {
            let mut measured = MeasuredCalls::new(calls, 10);
            (0..calls).for_each(|call| measured.add(call));
            assert_eq!(measured.calls(), calls as u64);
            let values = measured.into_values();
            assert_eq!(values.len(), retained);
            assert!(values.is_sorted());
        }
    }
}
