//! Alignment against the reference results.

use laggard_align::StateId;
use laggard_align::msa::{
    Distances, MsaSettings, MultipleAlignment, ProfileRow, align, sum_of_pairs, upgma, word_distance,
};
use laggard_testkit::golden;
use serde_json::Value;
use std::num::NonZeroUsize;

fn states(value: &Value) -> Vec<StateId> {
    let states = value.as_array().expect("a list of states").iter();
    states.map(|state| StateId::try_from(state.as_u64().expect("a state")).expect("a small state")).collect()
}

fn sequences(case: &Value) -> Vec<Vec<StateId>> {
    case["sequences"].as_array().expect("sequences").iter().map(states).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn aligned(sequences: &[Vec<StateId>]) -> MultipleAlignment {
    let slices: Vec<&[StateId]> = sequences.iter().map(Vec::as_slice).collect();
    let states =
        slices.iter().flat_map(|states| states.iter()).max().map_or(0, |&state| usize::from(state) + 1);
    align(&slices, states, &MsaSettings::default())
}

/// The score of a reference alignment under Laggard's scoring.
fn score_of(reference: &Value) -> f64 {
    let rows: Vec<Vec<Option<StateId>>> = reference
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            row.as_array()
                .expect("a row")
                .iter()
                .map(|cell| StateId::try_from(cell.as_i64().expect("a cell")).ok())
                .collect()
        })
        .collect();
    let columns_of_rows: Vec<(Vec<StateId>, Vec<u32>)> = rows
        .iter()
        .map(|row| {
            row.iter()
                .enumerate()
                .filter_map(|(column, cell)| cell.map(|state| (state, column as u32)))
                .unzip()
        })
        .collect();
    let profile_rows: Vec<ProfileRow<'_>> =
        columns_of_rows.iter().map(|(states, columns)| ProfileRow { states, columns, weight: 1 }).collect();
    sum_of_pairs(&profile_rows, rows[0].len(), NonZeroUsize::MIN)
}

#[test]
fn every_case_reaches_the_required_score() {
    let golden = golden("msa/cases");
    for case in golden["cases"].as_array().expect("cases") {
        let alignment = aligned(&sequences(case));
        let required = number(&case["sp_required"]);
        assert!(
            alignment.sum_of_pairs >= required - 1e-9,
            "{}: {} < {required}",
            case["name"],
            alignment.sum_of_pairs
        );
        assert!((score_of(&case["reference_alignment"]) - number(&case["sp_reference_le"])).abs() < 1e-9);
    }
}

#[test]
fn pairs_reach_the_optimum() {
    let golden = golden("msa/cases");
    for case in golden["pairwise"].as_array().expect("cases") {
        let alignment = aligned(&[states(&case["a"]), states(&case["b"])]);
        let optimum = number(&case["optimum"]);
        assert!((alignment.sum_of_pairs - optimum).abs() < 1e-9, "{case}: {}", alignment.sum_of_pairs);
    }
    for case in golden["triples"].as_array().expect("cases") {
        let alignment = aligned(&sequences(case));
        assert!(alignment.sum_of_pairs >= number(&case["sp_reference"]) - 1e-9);
        assert!(alignment.sum_of_pairs <= number(&case["sp_optimum"]) + 1e-9);
    }
}

#[test]
fn trees_merge_in_the_reference_order() {
    let golden = golden("msa/cases");
    let matrix = &golden["upgma"]["D"];
    let distances = Distances::from_pairs(4, NonZeroUsize::MIN, |i, j| number(&matrix[i][j]));
    let tree = upgma(&distances);
    for (merge, reference) in tree.merges().iter().zip(golden["upgma"]["merges"].as_array().expect("merges"))
    {
        let nodes = [merge.left as f64, merge.right as f64, merge.height];
        assert_eq!(
            nodes.as_slice(),
            reference.as_array().expect("a merge").iter().map(number).collect::<Vec<_>>()
        );
    }
    assert_eq!(tree.merges().len(), 3);
}

#[test]
fn word_distances_equal_the_reference() {
    let golden = golden("msa/cases");
    let symbols = |value: &Value| -> Vec<StateId> {
        value
            .as_array()
            .expect("letters")
            .iter()
            .map(|symbol| symbol.as_str().expect("a letter").as_bytes()[0])
            .collect()
    };
    for case in golden["kmer"].as_array().expect("cases") {
        let k = case["k"].as_u64().expect("k") as usize;
        let distance = word_distance(&symbols(&case["a"]), &symbols(&case["b"]), k);
        assert!((distance - number(&case["distance"])).abs() < 1e-12, "{case}: {distance}");
    }
}
