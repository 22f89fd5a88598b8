//! Properties of edit distances, histogram distances, and principal components for any input.

use laggard_numeric::{
    Matrix, dissimilarities, jensen_shannon_distance, levenshtein_matches, levenshtein_within,
    principal_components,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The textbook recurrence over the full table.
fn plain_distance(a: &[u8], b: &[u8]) -> usize {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => (table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]))
                    .min(table[i - 1][j] + 1)
                    .min(table[i][j - 1] + 1),
            };
        }
    }
    table[a.len()][b.len()]
}

fn words() -> impl Strategy<Value = Vec<u8>> {
    vec(0..4_u8, 0..24)
}

fn distributions() -> impl Strategy<Value = Vec<Vec<f64>>> {
    vec(vec(0..20_u32, 5), 1..6).prop_map(|counts| {
        let shares = |counts: Vec<u32>| {
            let total = f64::from(counts.iter().sum::<u32>().max(1));
            counts.iter().map(|&count| f64::from(count) / total).collect()
        };
        counts.into_iter().map(shares).collect()
    })
}

proptest! {
    #[test]
    fn banded_and_full_edit_distance_agree(a in words(), b in words(), limit in 0..30_usize) {
        let expected = plain_distance(&a, &b);
        prop_assert_eq!(levenshtein_within(&a, &b, limit), (expected <= limit).then_some(expected));
        prop_assert_eq!(levenshtein_within(&b, &a, limit), (expected <= limit).then_some(expected));
    }

    #[test]
    fn matches_are_equal_ordered_and_as_many_as_the_distance_allows(a in words(), b in words()) {
        let matches = levenshtein_matches(&a, &b);
        prop_assert_eq!(matches.len(), b.len());
        let pairs: Vec<(usize, usize)> =
            matches.iter().enumerate().filter_map(|(j, i)| i.map(|i| (i, j))).collect();
        prop_assert!(pairs.iter().all(|&(i, j)| a[i] == b[j]));
        prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0));
        // Between two pairs of a cheapest alignment the cost is that of the longer gap.
        let (mut cost, mut from) = (0, (0, 0));
        for &(i, j) in pairs.iter().chain([&(a.len(), b.len())]) {
            cost += (i - from.0).max(j - from.1);
            from = (i + 1, j + 1);
        }
        prop_assert_eq!(cost, plain_distance(&a, &b));
    }

    #[test]
    fn the_jensen_shannon_distance_is_a_bounded_metric(d in distributions()) {
        let distance = |j: usize, k: usize| jensen_shannon_distance(&d[j % d.len()], &d[k % d.len()]);
        prop_assert!((0.0..=2.0_f64.ln().sqrt() + 1e-12).contains(&distance(0, 1)));
        prop_assert_eq!(distance(0, 1), distance(1, 0));
        prop_assert!(distance(0, 2) <= distance(0, 1) + distance(1, 2) + 1e-12);
        prop_assert!((dissimilarities(&d).iter().map(|found| found.ratio).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn components_explain_the_rows(
        rows in 2..12_usize, cols in 1..8_usize, numbers in vec(-100.0..100.0_f64, 96)
    ) {
        let matrix = Matrix::from_row_major(rows, cols, numbers[..rows * cols].to_vec());
        let found = principal_components(&matrix);
        let total: f64 = found.variances.iter().sum();
        for j in 0..found.loadings.rows() {
            for k in 0..=j {
                let product: f64 =
                    found.loadings.row(j).iter().zip(found.loadings.row(k)).map(|(a, b)| a * b).sum();
                prop_assert!((product - f64::from(u8::from(j == k))).abs() < 1e-8);
            }
            // The residual after the first components is the rest of the variance, over all rows.
            let residual: f64 = found.squared_prediction_errors(&matrix, j).iter().sum();
            let expected: f64 = found.variances[j..].iter().sum::<f64>() * (rows - 1) as f64;
            prop_assert!((residual - expected).abs() <= 1e-9 * total * rows as f64);
        }
        let components = found.components_holding(0.95);
        prop_assert!(components == 0 || found.cumulative_shares()[components - 1] >= 0.95 - 1e-9);
        let mut columns = found.principal_columns(components);
        columns.sort_unstable();
        columns.dedup();
        prop_assert_eq!(columns.len(), components);
    }
}
