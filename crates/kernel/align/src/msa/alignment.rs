//! The alignment of many sequences, from words to refinement.

use super::group::{Distinct, Group};
use super::pairs::sum_of_pairs;
use super::profile::{Background, Profile, ProfileRow};
use super::progressive::{AlignmentContext, SubtreeCache, progressive};
use super::refine::{Refinement, refine};
use super::settings::MsaSettings;
use super::tree::{Tree, upgma};
use super::word_distances::{Distances, word_distances};
use crate::StateId;
use std::collections::HashMap;

/// Aligned sequences, one per row.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct MultipleAlignment {
    /// For each input sequence the column of each of its steps, strictly ascending.
    pub rows: Vec<Vec<u32>>,
    /// Number of columns; every one is filled by some row.
    pub len: usize,
    /// The first sequence equal to each; leaves of the trees are the first ones, in order.
    pub first_equal: Vec<usize>,
    /// The tree of distances by words.
    pub first_tree: Tree,
    /// The tree of distances in the first alignment.
    pub second_tree: Tree,
    /// The sum-of-pairs score, all sequences counted.
    pub sum_of_pairs: f64,
    /// The score before refinement.
    pub sum_of_pairs_before: f64,
    /// Result of the refinement.
    pub refinement: Refinement,
}

impl MultipleAlignment {
    /// One row: a state or a gap for each column.
    ///
    /// # Panics
    /// When `states` is not the sequence of that row.
    pub fn cells(&self, row: usize, states: &[StateId]) -> Vec<Option<StateId>> {
        assert_eq!(states.len(), self.rows[row].len(), "the row's own sequence");
        let mut cells = vec![None; self.len];
        for (&state, &column) in states.iter().zip(&self.rows[row]) {
            cells[column as usize] = Some(state);
        }
        cells
    }

    /// The profile of all rows.
    ///
    /// # Panics
    /// When `sequences` are not those that were aligned.
    pub fn profile(&self, sequences: &[&[StateId]]) -> Profile {
        let rows: Vec<ProfileRow<'_>> = sequences
            .iter()
            .zip(&self.rows)
            .map(|(states, columns)| ProfileRow { states, columns, weight: 1 })
            .collect();
        Profile::new(&rows, self.len)
    }
}

/// Aligns sequences with the algorithm of MUSCLE: words, tree, alignment along the tree, second tree from the first
/// alignment, alignment along that, the better of both, refinement. States are below `alphabet_len` (a larger one
/// enlarges the alphabet). Equal sequences are aligned once and counted as often as they occur; empty ones are rows of
/// gaps.
///
/// Memory: `8 n^2` bytes for `n` distinct sequences, four bytes a step and a level of the tree, and for each thread what
/// one table needs (see `table.rs`: about 16 MiB plus rows). Time: a table is `columns * band` cells; refinement is
/// limited by [`MsaSettings::refinement_work_max`].
pub fn align(sequences: &[&[StateId]], alphabet_len: usize, settings: &MsaSettings) -> MultipleAlignment {
    let (distinct, leaf_of) = find_distinct(sequences);
    if distinct.sequences.is_empty() {
        return MultipleAlignment::default();
    }
    let weighted = distinct.sequences.iter().copied().zip(distinct.weights.iter().copied());
    let background = Background::new(weighted, alphabet_len);
    let context = AlignmentContext { distinct: &distinct, background: &background, settings };
    let first_tree = upgma(&word_distances(&distinct.sequences, settings.word_length, settings.threads));
    let mut leaf_by_sequence = SubtreeCache::default();
    let first = progressive(&first_tree, &mut leaf_by_sequence, &context).sorted();
    let second_tree = upgma(&identity_distances(&first, &distinct, settings));
    let second = progressive(&second_tree, &mut leaf_by_sequence, &context).sorted();
    drop(leaf_by_sequence);
    let score = |group: &Group| sum_of_pairs(&group.rows(&distinct), group.len, settings.threads);
    let (first_score, second_score) = (score(&first), score(&second));
    let (begun, before) =
        if second_score >= first_score { (second, second_score) } else { (first, first_score) };
    let (group, refinement) = refine(begun, before, &second_tree, &context);
    let first_equal = first_equal(&leaf_of);
    MultipleAlignment {
        sum_of_pairs: score(&group),
        sum_of_pairs_before: before,
        rows: leaf_of.iter().map(|&leaf| group.columns[leaf].clone()).collect(),
        len: group.len,
        first_equal,
        first_tree,
        second_tree,
        refinement,
    }
}

/// The distinct sequences in order of appearance, and the index of each sequence among them.
fn find_distinct<'a>(sequences: &[&'a [StateId]]) -> (Distinct<'a>, Vec<usize>) {
    let mut leaf_by_sequence: HashMap<&[StateId], usize> = HashMap::new();
    let mut distinct = Distinct { sequences: Vec::new(), weights: Vec::new() };
    let mut leaf_of = Vec::with_capacity(sequences.len());
    for &sequence in sequences {
        let leaf = *leaf_by_sequence.entry(sequence).or_insert(distinct.sequences.len());
        if leaf == distinct.sequences.len() {
            distinct.sequences.push(sequence);
            distinct.weights.push(0);
        }
        distinct.weights[leaf] += 1;
        leaf_of.push(leaf);
    }
    (distinct, leaf_of)
}

fn first_equal(leaf_of: &[usize]) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::new();
    leaf_of
        .iter()
        .enumerate()
        .map(|(index, &leaf)| {
            if leaf == first.len() {
                first.push(index);
            }
            first[leaf]
        })
        .collect()
}

/// `1 - identity` over the columns where both have a state; 1 if there is no such column.
fn identity_distances(group: &Group, distinct: &Distinct<'_>, settings: &MsaSettings) -> Distances {
    let rows = group.rows(distinct);
    Distances::from_pairs(rows.len(), settings.threads, |i, j| {
        let (x, y) = (&rows[i], &rows[j]);
        let (mut first, mut second, mut shared, mut equal) = (0, 0, 0_usize, 0_usize);
        while first < x.columns.len() && second < y.columns.len() {
            match x.columns[first].cmp(&y.columns[second]) {
                std::cmp::Ordering::Less => first += 1,
                std::cmp::Ordering::Greater => second += 1,
                std::cmp::Ordering::Equal => {
                    equal += usize::from(x.states[first] == y.states[second]);
                    (first, second, shared) = (first + 1, second + 1, shared + 1);
                }
            }
        }
        if shared == 0 { 1.0 } else { 1.0 - equal as f64 / shared as f64 }
    })
}
