//! Found groups of requests against those that were hit.

use super::RequestMatrix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How well groups of requests match the requests that were hit; each number 0..1.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PatternScore {
    /// Of the requests in any reported group, the share that any cause hit.
    pub precision: f64,
    /// Of the requests that any cause hit, the share in some reported group.
    pub recall: f64,
    /// Harmonic mean of the two.
    pub f1: f64,
    /// Mean over the causes of the F1 of the group assigned to it: groups are assigned to causes one to one so
    /// that the sum is largest; a cause without a group has 0 (as in DeLag's evaluation, Traini and Cortellessa,
    /// IEEE TSE 49(6), 2023).
    pub f1_causes: f64,
}

/// Scores groups of rows.
pub fn score_patterns(matrix: &RequestMatrix, groups: &[Vec<usize>]) -> PatternScore {
    let hit: BTreeSet<usize> = rows(matrix, |cause| cause > 0);
    let union: BTreeSet<usize> = groups.iter().flatten().copied().collect();
    let shared = hit.intersection(&union).count() as f64;
    let share = |total: usize| if total == 0 { 0.0 } else { shared / total as f64 };
    PatternScore {
        precision: share(union.len()),
        recall: share(hit.len()),
        f1: f1(&union, &hit),
        f1_causes: mean_over_causes(matrix, groups),
    }
}

fn rows(matrix: &RequestMatrix, wants: impl Fn(u32) -> bool) -> BTreeSet<usize> {
    matrix.cause.iter().enumerate().filter(|&(_, &cause)| wants(cause)).map(|(row, _)| row).collect()
}

/// `2 · |A ∩ B| / (|A| + |B|)`.
fn f1(group: &BTreeSet<usize>, truth: &BTreeSet<usize>) -> f64 {
    let common = group.intersection(truth).count() as f64;
    if common == 0.0 { 0.0 } else { 2.0 * common / (group.len() + truth.len()) as f64 }
}

fn mean_over_causes(matrix: &RequestMatrix, groups: &[Vec<usize>]) -> f64 {
    let causes: BTreeSet<u32> = matrix.cause.iter().copied().filter(|&cause| cause > 0).collect();
    let groups: Vec<BTreeSet<usize>> = groups.iter().map(|group| group.iter().copied().collect()).collect();
    let table: Vec<Vec<f64>> = (causes.iter())
        .map(|&cause| rows(matrix, |other| other == cause))
        .map(|truth| groups.iter().map(|group| f1(group, &truth)).collect())
        .collect();
    best_assignment(&table, &mut vec![false; groups.len()]) / causes.len().max(1) as f64
}

/// The largest sum with each row (cause) assigned to at most one free column (group). Causes are two in the data; the
/// search is exponential in them only.
fn best_assignment(table: &[Vec<f64>], is_assigned: &mut Vec<bool>) -> f64 {
    let Some((row, rest)) = table.split_first() else { return 0.0 };
    let mut best = best_assignment(rest, is_assigned);
    for column in 0..row.len() {
        if is_assigned[column] || row[column] == 0.0 {
            continue;
        }
        is_assigned[column] = true;
        best = best.max(row[column] + best_assignment(rest, is_assigned));
        is_assigned[column] = false;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(cause: &[u32]) -> RequestMatrix {
        RequestMatrix { cause: cause.to_vec(), ..RequestMatrix::default() }
    }

    #[test]
    fn all_causes_as_one_group_are_named_but_not_distinguished() {
        let score = score_patterns(&matrix(&[0, 0, 1, 1, 2, 2]), &[vec![2, 3, 4, 5]]);
        assert_eq!((score.precision, score.recall, score.f1), (1.0, 1.0, 1.0));
        // One group for one cause: 2 · 2 / (4 + 2) = 2/3; the other has none.
        assert!((score.f1_causes - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn groups_are_assigned_to_their_best_total() {
        // Group 0 fits both causes somewhat, group 1 only the first perfectly.
        let score = score_patterns(&matrix(&[1, 1, 2, 2, 0]), &[vec![0, 2, 3], vec![0, 1]]);
        // Cause 2 with group 0: 2 · 2 / 5 = 0.8; cause 1 with group 1: 1.
        assert!((score.f1_causes - 0.9).abs() < 1e-12);
        assert_eq!(score.f1, 1.0);
    }

    #[test]
    fn no_findings_score_zero() {
        assert_eq!(score_patterns(&matrix(&[0, 1]), &[]), PatternScore::default());
    }

    #[test]
    fn wrong_requests_lower_the_precision() {
        let score = score_patterns(&matrix(&[0, 0, 1, 1]), &[vec![0, 2]]);
        assert_eq!((score.precision, score.recall, score.f1), (0.5, 0.5, 0.5));
    }
}
