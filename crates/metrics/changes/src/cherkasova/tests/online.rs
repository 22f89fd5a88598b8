use super::*;
use crate::{OnlineShape, OnlineUpdate, OnlineWindow};

/// Two types; the CPU cost of the first increases at window 60; small noise in every window.
fn window(t: usize) -> (Vec<f64>, f64) {
    let counts = vec![(500 + t * 37 % 211) as f64, (300 + t * 53 % 167) as f64];
    let slower = if t >= 60 { 0.012 } else { 0.0 };
    let noise = 1e-3 * ((t * 7919 % 13) as f64 - 6.0) / 6.0;
    let utilization = 0.02 + (counts[0] * (0.024 + slower) + counts[1] * 0.012) / 60.0 + noise;
    (counts, utilization)
}

fn shape(windows_max: usize) -> OnlineShape {
    OnlineShape { window_s: 60.0, types: 2, cores: 1.0, windows_max }
}

fn settings() -> CherkasovaSettings {
    CherkasovaSettings::new(CherkasovaMode::Robust)
}

fn push(online: &mut OnlineCherkasova, t: usize) -> Result<OnlineUpdate, TooLittleDataError> {
    let (counts, utilization) = window(t);
    online.push(&OnlineWindow { number: t, counts: &counts, utilization, response_s: &[] })
}

/// Cuts, kinds and onsets: they do not depend on the rounding of sums.
fn outline(analysis: &Analysis) -> String {
    let segments: Vec<_> = analysis.segments.iter().map(|segment| (&segment.rows, &segment.kind)).collect();
    let changes: Vec<_> = analysis.changes.iter().map(|change| (change.kind, change.onset)).collect();
    format!("{segments:?} {changes:?}")
}

#[test]
fn after_each_window_the_result_is_that_of_the_batch_analysis() {
    let mut online = OnlineCherkasova::new(settings(), &shape(70));
    for t in 0..160 {
        let update = push(&mut online, t);
        if t % 9 != 0 {
            continue;
        }
        let batch = cherkasova(online.observations(), &settings(), NonZeroUsize::MIN);
        match (update, batch) {
            (Ok(_), Ok(batch)) => {
                let own = online.analysis().expect("there is a result");
                assert_eq!(outline(&own), outline(&batch), "after window {t}");
            }
            (update, batch) => assert_eq!(update.err(), batch.err(), "after window {t}"),
        }
    }
    assert_eq!(online.observations().windows.len(), 70);
}

#[test]
fn a_change_is_reported_once_and_dropped_with_its_windows() {
    let mut online = OnlineCherkasova::new(settings(), &shape(70));
    let mut update = Vec::new();
    for t in 0..160 {
        let Ok(step) = push(&mut online, t) else { continue };
        update.extend(step.appeared.into_iter().map(|each| (t, each.change.kind, each.window)));
        assert!(step.withdrawn.is_empty(), "after window {t}: {:?}", step.withdrawn);
    }
    let alarms: Vec<_> = update.iter().filter(|each| each.1 == ChangeKind::ApplicationChange).collect();
    assert_eq!(alarms.len(), 1, "{update:?}");
    assert!(alarms[0].2.abs_diff(60) <= 1 && alarms[0].0 < 80, "{update:?}");
    assert!(online.analysis().is_some_and(|analysis| analysis.changes.is_empty()));
}

#[test]
fn unusable_windows_are_rejected() {
    let mut online = OnlineCherkasova::new(settings(), &shape(70));
    assert_eq!(push(&mut online, 5), Err(TooLittleDataError::Windows { available: 1, needed: 10 }));
    let rejected = Err(TooLittleDataError::Unusable { row: 1 });
    assert_eq!(push(&mut online, 5), rejected);
    let valid = OnlineWindow { number: 9, counts: &[1.0, 2.0], utilization: 0.5, response_s: &[] };
    assert_eq!(online.push(&OnlineWindow { utilization: f64::NAN, ..valid }), rejected);
    assert_eq!(online.push(&OnlineWindow { counts: &[1.0, -2.0], ..valid }), rejected);
    assert_eq!(online.push(&OnlineWindow { counts: &[1.0], ..valid }), rejected);
    assert_eq!(online.push(&OnlineWindow { response_s: &[1.0], ..valid }), rejected);
    assert_eq!(online.observations().windows, [5]);
}

/// The scale of counts and utilization may change by any factor.
#[test]
fn a_huge_window_does_not_affect_later_results() {
    let mut online = OnlineCherkasova::new(settings(), &shape(30));
    for t in 0..80 {
        let (mut counts, mut utilization) = window(t);
        if t == 20 {
            (counts[0], utilization) = (9e15, 1e6);
        }
        let _ = online.push(&OnlineWindow { number: t, counts: &counts, utilization, response_s: &[] });
    }
    let analysis = online.analysis().expect("there is a result");
    assert!(analysis.segments.last().is_some_and(|last| last.model.error < 0.02), "{:?}", analysis.segments);
}
