//! Properties of the alignment of any sequences.

use laggard_align::StateId;
use laggard_align::msa::{
    Background, Move, MsaSettings, Profile, ProfileRow, align, align_to_profile, sum_of_pairs,
};
use proptest::prelude::*;
use std::num::NonZeroUsize;

const STATES: usize = 4;

fn sequences(count: usize, len: usize) -> impl Strategy<Value = Vec<Vec<StateId>>> {
    prop::collection::vec(prop::collection::vec(0..STATES as StateId, 0..=len), 1..=count)
}

fn slices(sequences: &[Vec<StateId>]) -> Vec<&[StateId]> {
    sequences.iter().map(Vec::as_slice).collect()
}

fn settings(threads: usize) -> MsaSettings {
    MsaSettings { threads: NonZeroUsize::new(threads).expect("not zero"), ..MsaSettings::default() }
}

/// The score of two rows, cell by cell.
fn pair_score(x: &[Option<StateId>], y: &[Option<StateId>]) -> f64 {
    let (mut score, mut gap) = (0.0, None);
    for (x, y) in x.iter().zip(y) {
        let side = match (x, y) {
            (None, None) => continue,
            (Some(x), Some(y)) => {
                score += if x == y { 1.0 } else { -1.0 };
                None
            }
            (None, Some(_)) => Some(0),
            (Some(_), None) => Some(1),
        };
        if side.is_some() {
            score -= if side == gap { 0.5 } else { 2.0 };
        }
        gap = side;
    }
    score
}

/// The best score of two sequences, by dynamic programming over positions and the open gap.
fn best_score(x: &[StateId], y: &[StateId]) -> f64 {
    let mut best = vec![vec![[f64::NEG_INFINITY; 3]; y.len() + 1]; x.len() + 1];
    best[0][0][0] = 0.0;
    for i in 0..=x.len() {
        for j in 0..=y.len() {
            for state in 0..3 {
                let score = best[i][j][state];
                let mut reach = |i: usize, j: usize, to: usize, cost: f64| {
                    best[i][j][to] = best[i][j][to].max(score + cost);
                };
                if i < x.len() && j < y.len() {
                    reach(i + 1, j + 1, 0, if x[i] == y[j] { 1.0 } else { -1.0 });
                }
                if i < x.len() {
                    reach(i + 1, j, 1, if state == 1 { -0.5 } else { -2.0 });
                }
                if j < y.len() {
                    reach(i, j + 1, 2, if state == 2 { -0.5 } else { -2.0 });
                }
            }
        }
    }
    best[x.len()][y.len()].into_iter().fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_have_all_their_steps_and_no_column_is_empty(sequences in sequences(8, 30)) {
        let alignment = align(&slices(&sequences), STATES, &settings(1));
        let mut filled = vec![false; alignment.len];
        for (row, sequence) in alignment.rows.iter().zip(&sequences) {
            prop_assert_eq!(row.len(), sequence.len());
            prop_assert!(row.windows(2).all(|pair| pair[0] < pair[1]));
            row.iter().for_each(|&column| filled[column as usize] = true);
        }
        prop_assert!(filled.into_iter().all(|filled| filled));
        prop_assert!(alignment.sum_of_pairs >= alignment.sum_of_pairs_before);
    }

    #[test]
    fn the_result_does_not_depend_on_threads(sequences in sequences(10, 30)) {
        prop_assert_eq!(align(&slices(&sequences), STATES, &settings(1)), align(&slices(&sequences), STATES, &settings(3)));
    }

    #[test]
    fn the_score_is_the_sum_over_all_pairs(sequences in sequences(7, 90)) {
        let alignment = align(&slices(&sequences), STATES, &settings(1));
        let rows: Vec<Vec<Option<StateId>>> =
            sequences.iter().enumerate().map(|(row, states)| alignment.cells(row, states)).collect();
        let pairs = (0..rows.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
        let expected: f64 = pairs.map(|(i, j)| pair_score(&rows[i], &rows[j])).sum();
        prop_assert!((alignment.sum_of_pairs - expected).abs() < 1e-9, "{} is not {}", alignment.sum_of_pairs, expected);
    }

    #[test]
    fn two_sequences_reach_the_optimum(x in prop::collection::vec(0..3_u8, 0..12), y in prop::collection::vec(0..3_u8, 0..12)) {
        let alignment = align(&[&x, &y], 3, &settings(1));
        prop_assert!((alignment.sum_of_pairs - best_score(&x, &y)).abs() < 1e-9, "{} < {}", alignment.sum_of_pairs, best_score(&x, &y));
    }

    #[test]
    fn a_sequence_matches_its_own_profile(states in prop::collection::vec(0..4_u8, 1..60)) {
        let columns: Vec<u32> = (0..states.len() as u32).collect();
        let profile = Profile::new(&[ProfileRow { states: &states, columns: &columns, weight: 3 }], states.len());
        let background = Background::new([(states.as_slice(), 3)].into_iter(), 4);
        let moves = align_to_profile(&profile, &background, &states, &settings(1));
        prop_assert!(moves.into_iter().all(|step| step == Move::Both));
    }
}

#[test]
fn weights_count_as_copies() {
    let (states, columns): ([StateId; 3], [u32; 3]) = ([0, 1, 2], [0, 1, 3]);
    let (other, other_columns): ([StateId; 3], [u32; 3]) = ([0, 2, 2], [0, 2, 3]);
    let row = |weight| ProfileRow { states: &states, columns: &columns, weight };
    let other = ProfileRow { states: &other, columns: &other_columns, weight: 1 };
    let weighted = sum_of_pairs(&[row(3), other], 4, NonZeroUsize::MIN);
    let copied = sum_of_pairs(&[row(1), row(1), row(1), other], 4, NonZeroUsize::MIN);
    assert!((weighted - copied).abs() < 1e-12);
    // Three pairs of copies have three matches each; a copy and the other row have match, gap, gap, match.
    assert!((weighted - (9.0 + 3.0 * (1.0 - 2.0 - 2.0 + 1.0))).abs() < 1e-12);
}

#[test]
fn empty_input_gives_an_empty_alignment() {
    assert_eq!(align(&[], 4, &settings(1)).len, 0);
    let alignment = align(&[&[], &[]], 4, &settings(1));
    assert_eq!((alignment.len, alignment.rows.len()), (0, 2));
    assert_eq!(align(&[&[], &[1, 2]], 4, &settings(1)).len, 2);
    // A state beyond the alphabet enlarges it.
    assert_eq!(align(&[&[255], &[255]], 4, &settings(1)).len, 1);
}

#[test]
fn long_sequences_are_aligned_near_their_anchors() {
    // 3000 pseudo-random states; the second lacks 400 of them early and repeats 300 late.
    let mut seed = 1_u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as StateId % 8
    };
    let first: Vec<StateId> = (0..3000).map(|_| next()).collect();
    let second = [&first[..500], &first[900..2500], &first[2200..]].concat();
    let alignment = align(&[&first, &second], 8, &settings(1));
    assert_eq!(alignment.len, 3300);
    // All but the missing ones are equal, one gap in each: 2600 - (2 + 399 / 2) - (2 + 299 / 2).
    assert!((alignment.sum_of_pairs - (2600.0 - 201.5 - 151.5)).abs() < 1e-9, "{}", alignment.sum_of_pairs);
}
