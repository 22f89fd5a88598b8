use std::num::NonZeroUsize;

use laggard_numeric::Matrix;
use laggard_testkit::golden;
use serde_json::Value;

use super::reconcile::ReconcileOutcome;
use super::*;
use crate::{ChangeKind, SegmentKind};

mod degenerate;
mod online;
mod verdicts;

const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("two");

fn items(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn matrix(value: &Value) -> Matrix {
    let rows = items(value);
    let data = rows.iter().flat_map(|row| items(row).iter().map(number)).collect();
    Matrix::from_row_major(rows.len(), items(&rows[0]).len(), data)
}

fn workload() -> (Value, Observations) {
    let golden = golden("segmentation/tpcw_small");
    let input = &golden["input"];
    let counts = matrix(&input["n"]);
    let data = Observations {
        window_s: 60.0,
        windows: (0..counts.rows()).collect(),
        counts,
        utilization: items(&input["u"]).iter().map(number).collect(),
        response_s: matrix(&input["r_front_s"]),
        cores: 1.0,
    };
    (golden, data)
}

/// Regions, groups and every step of the reconciliation as in the reference.
#[test]
fn the_small_workload_is_grouped_as_in_the_reference() {
    let (golden, data) = workload();
    let settings = CherkasovaSettings::default();
    let regression = WindowRegression::new(&data);
    let segmentation = segment(&regression, &settings, TWO);
    let segments = fit_segments(&regression, &settings, segmentation.segments());
    let reconciled = reconcile(&regression, &settings, &segments);
    let log = items(&golden["pipeline"]["reconcile_log"]);
    assert_eq!(reconciled.steps.len(), log.len() + 1);
    for (step, expected) in reconciled.steps[1..].iter().zip(log) {
        let rows = &segments[step.segment].rows;
        assert!(rows.start.abs_diff(number(&expected[1]) as usize) <= 1, "{expected} {rows:?}");
        assert!((step.joint_error - number(&expected[3])).abs() < 0.006, "{expected} {step:?}");
        assert!((step.ratio - number(&expected[4])).abs() < 0.006, "{expected} {step:?}");
        assert_eq!(Some(step.outcome == ReconcileOutcome::Same), expected[5].as_bool(), "{expected}");
    }
    for (group, expected) in reconciled.groups.iter().zip(items(&golden["pipeline"]["groups"])) {
        let windows: usize = group.rows.iter().map(ExactSizeIterator::len).sum();
        assert_eq!(group.rows[0].start as f64, number(&expected[0]));
        assert_eq!(windows as f64, number(&expected[2]));
    }
}

#[test]
fn the_small_workload_has_an_anomaly_and_two_alarms() {
    let (_, data) = workload();
    for mode in [CherkasovaMode::Paper, CherkasovaMode::Robust] {
        let analysis = cherkasova(&data, &CherkasovaSettings::new(mode), TWO).expect("enough data");
        let changes: Vec<_> = analysis.changes.iter().map(|change| (change.kind, change.onset.row)).collect();
        let expected = [
            (ChangeKind::AnomalyStart, 60),
            (ChangeKind::AnomalyEnd, 90),
            (ChangeKind::ApplicationChange, 245),
            (ChangeKind::ApplicationChange, 290),
        ];
        assert_eq!(changes, expected, "{mode:?}");
        assert_eq!(analysis.groups.len(), 3);
        assert!(matches!(analysis.segments[0].kind, SegmentKind::Normal { group: 0 }));
    }
}

/// The example of docs/manual/methods/cherkasova.md.
#[test]
fn the_worked_example_matches_the_manual() {
    let count = |t: usize| if t.is_multiple_of(2) { 1000.0 } else { 2000.0 };
    let each = |t: usize| if t < 12 { 0.10 } else { 0.12 };
    let data = Observations {
        window_s: 60.0,
        windows: (0..24).collect(),
        counts: Matrix::from_row_major(24, 1, (0..24).map(count).collect()),
        utilization: (0..24).map(|t| 0.01 + each(t) * count(t) / 1000.0).collect(),
        response_s: Matrix::zeros(0, 0),
        cores: 1.0,
    };
    let segmentation = segment(&WindowRegression::new(&data), &CherkasovaSettings::default(), TWO);
    assert_eq!(segmentation.cuts, [0, 12, 24]);
    assert!((segmentation.lambda - 11.1748).abs() < 5e-4, "{}", segmentation.lambda);
    for mode in [CherkasovaMode::Paper, CherkasovaMode::Robust] {
        let analysis = cherkasova(&data, &CherkasovaSettings::new(mode), TWO).expect("enough data");
        let [change] = &analysis.changes[..] else { panic!("one change: {:?}", analysis.changes) };
        assert_eq!((change.kind, change.onset.row), (ChangeKind::ApplicationChange, 12));
        assert!((change.error_ratio - 85.7).abs() < 0.05, "{}", change.error_ratio);
        let demands: Vec<f64> = analysis.groups.iter().map(|group| group.model.demand_s[0]).collect();
        assert!((demands[0] - 0.006).abs() < 1e-9 && (demands[1] - 0.0072).abs() < 1e-9, "{demands:?}");
    }
}
