//! Localization against the reference results.

use laggard_align::localize::{
    AlignedPosition, DeviationKind, LocalizeRules, LocalizeSettings, align_cluster, localize,
};
use laggard_align::{StateId, StateSequence};
use laggard_testkit::golden;
use serde_json::Value;

fn sequence(row: &Value, times: &Value) -> StateSequence {
    let mut sequence = StateSequence::new();
    let states =
        row.as_array().expect("a row").iter().filter_map(|state| StateId::try_from(state.as_i64()?).ok());
    for (state, time) in states.zip(times.as_array().expect("times")) {
        sequence.push(state, time.as_f64().expect("a time"));
    }
    sequence
}

fn close(localized: f64, reference: &Value) {
    let reference = reference.as_f64().expect("a number");
    assert!((localized - reference).abs() < 1e-9, "{localized} is not {reference}");
}

#[test]
fn paper_rules_equal_the_reference() {
    let golden = golden("msa/cases");
    let case = &golden["localisation"];
    let rows = case["normal_alignment"].as_array().expect("rows").iter();
    let normals: Vec<StateSequence> = rows
        .zip(case["normal_durations"].as_array().expect("rows"))
        .map(|(row, times)| sequence(row, times))
        .collect();
    let normals: Vec<&StateSequence> = normals.iter().collect();
    let settings = LocalizeSettings { rules: LocalizeRules::Paper, ..LocalizeSettings::default() };
    let profile = align_cluster(&normals, 4, &settings);
    let anomalous = sequence(&case["anomalous_row"], &case["anomalous_durations"]);
    let localized = localize(&profile, &anomalous, &settings);

    let references = case["columns"].as_array().expect("columns");
    assert_eq!(localized.cells.len(), references.len());
    for (cell, reference) in localized.cells.iter().zip(references) {
        close(cell.share, &reference["probability"]);
        let state = anomalous.states()[cell.step.expect("no gaps here") as usize];
        assert_eq!(u64::from(state), reference["anomalous_state"].as_u64().expect("a state"));
        let kind = cell.deviation.map(|index| localized.deviations[index as usize].kind);
        let expects = |name: &str| reference[name].as_bool().expect("a flag");
        assert_eq!(kind == Some(DeviationKind::Unexpected), expects("unexpected_state"));
        assert_eq!(kind == Some(DeviationKind::Slow), expects("slow"));
        let AlignedPosition::Column(column) = cell.position else { continue };
        let summary = profile.columns()[column as usize].state(state).expect("normal executions have it");
        close(summary.mean_us, &reference["mean_duration"]);
        close(summary.std_us, &reference["std_duration"]);
    }
    // The unexpected state takes 9 us; the slow step after it 5 us more than usual.
    let kinds: Vec<DeviationKind> = localized.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [DeviationKind::Unexpected, DeviationKind::Slow]);
}
