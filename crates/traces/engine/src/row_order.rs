//! Sorting of rows by trace: a row is large, so the traces are sorted with the rows' numbers, and each row is moved once.

use laggard_model::TraceId;

/// Sorts rows by a key that begins with their trace; rows of equal keys stay in their order. `O(R log R)` for `R` rows, fewer than 2³².
pub(crate) fn sort_rows<T: Copy, K: Ord>(
    rows: &mut Vec<T>,
    trace_of: impl Fn(&T) -> TraceId,
    key: impl Fn(&T) -> K,
) {
    if rows.is_sorted_by_key(&key) {
        return;
    }
    // Ids of 64 bits have nothing in the upper half.
    let is_long = rows.iter().any(|row| upper_half(trace_of(row)) != 0);
    let half = |row: &T| if is_long { upper_half(trace_of(row)) } else { trace_of(row).value() as u64 };
    let mut order: Vec<(u64, u32)> = rows.iter().map(half).zip(0..).collect();
    order.sort_unstable();
    for alike in order.chunk_by_mut(|a, b| a.0 == b.0) {
        let key_at = |&(_, index): &(u64, u32)| key(&rows[index as usize]);
        if !alike.is_sorted_by_key(key_at) {
            alike.sort_by_key(key_at);
        }
    }
    *rows = order.iter().map(|&(_, index)| rows[index as usize]).collect();
}

fn upper_half(trace: TraceId) -> u64 {
    (trace.value() >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same as a stable sort, for ids of 64 and of 128 bits, and where only the lower halves differ.
        #[test]
        fn rows_are_sorted_stably(
            drawn in prop::collection::vec((0..4_u128, 0..4_u128, 0..4_u8), 0..60),
            is_long: bool,
        ) {
            let trace = |upper: u128, lower: u128| TraceId::from_value(lower | if is_long { upper << 64 } else { 0 });
            let mut rows: Vec<(TraceId, u8, usize)> =
                drawn.iter().enumerate().map(|(number, &(upper, lower, start))| (trace(upper, lower), start, number)).collect();
            let mut expected = rows.clone();
            expected.sort_by_key(|&(trace, start, _)| (trace, start));
            sort_rows(&mut rows, |row| row.0, |row| (row.0, row.1));
            prop_assert_eq!(rows, expected);
        }
    }
}
