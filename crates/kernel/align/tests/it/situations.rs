//! Typical faults in handmade executions of `RUNNING DISK RUNNING NET ...` with small deterministic jitter.

use laggard_align::localize::{
    ClusterProfile, DeviationKind, LocalizeSettings, LocalizedExecution, align_cluster, localize,
};
use laggard_align::{StateId, StateSequence};

const RUN: StateId = 0;
const PREEMPTED: StateId = 2;
const DISK: StateId = 3;
const NET: StateId = 4;

/// A factor from 0.9 to 1.1 that depends on the execution and step.
fn spread(execution: usize, step: usize) -> f64 {
    0.9 + 0.2 * (((execution * 31 + step * 17) % 23) as f64 / 22.0)
}

fn execution(index: usize, steps: &[(StateId, f64)]) -> StateSequence {
    let mut sequence = StateSequence::new();
    for (step, &(state, time)) in steps.iter().enumerate() {
        sequence.push(state, time * spread(index, step));
    }
    sequence
}

/// A few different steps, and a loop of `rounds` times running and disk in between.
fn looped(rounds: usize) -> Vec<(StateId, f64)> {
    let mut steps = vec![(RUN, 300.0), (NET, 900.0), (RUN, 200.0), (5, 400.0)];
    (0..rounds).for_each(|_| steps.extend([(RUN, 100.0), (DISK, 500.0)]));
    steps.extend([(RUN, 250.0), (6, 700.0), (RUN, 150.0), (NET, 800.0), (RUN, 100.0)]);
    steps
}

fn reference(rounds: impl Fn(usize) -> usize) -> ClusterProfile {
    let normals: Vec<StateSequence> = (0..25).map(|index| execution(index, &looped(rounds(index)))).collect();
    let normals: Vec<&StateSequence> = normals.iter().collect();
    align_cluster(&normals, 8, &LocalizeSettings::default())
}

fn localized(reference: &ClusterProfile, steps: &[(StateId, f64)]) -> LocalizedExecution {
    localize(reference, &execution(99, steps), &LocalizeSettings::default())
}

fn excess(localized: &LocalizedExecution) -> f64 {
    localized.deviations.iter().map(|deviation| deviation.excess_us).sum()
}

#[test]
fn an_execution_like_the_others_has_no_finding() {
    assert_eq!(localized(&reference(|_| 8), &looped(8)).deviations, []);
}

#[test]
fn a_usual_number_of_rounds_is_not_reported() {
    let reference = reference(|index| 10 + index % 5);
    for rounds in 10..=14 {
        assert_eq!(localized(&reference, &looped(rounds)).deviations, [], "{rounds} rounds");
    }
}

#[test]
fn additional_rounds_are_reported_with_their_time() {
    let localized = localized(&reference(|index| 10 + index % 3), &looped(18));
    assert!(!localized.deviations.is_empty());
    // Six rounds of 600 us more than the largest usual number.
    assert!((excess(&localized) / 3600.0 - 1.0).abs() < 0.15, "{}", excess(&localized));
}

#[test]
fn a_long_wait_is_slow_at_its_step() {
    let mut steps = looped(8);
    steps[9].1 *= 10.0;
    let localized = localized(&reference(|_| 8), &steps);
    let reported: Vec<(DeviationKind, u32)> =
        localized.deviations.iter().map(|reported| (reported.kind, reported.step)).collect();
    assert_eq!(reported, [(DeviationKind::Slow, 9)]);
    assert!((excess(&localized) / 4500.0 - 1.0).abs() < 0.1, "{}", excess(&localized));
}

#[test]
fn a_long_wait_in_a_loop_of_varying_length_is_reported_with_its_time() {
    let reference = reference(|index| 10 + index % 5);
    for step in [5, 9, 15, 23] {
        let mut steps = looped(12);
        steps[step].1 *= 10.0;
        let localized = localized(&reference, &steps);
        assert_eq!(localized.findings.first().map(|finding| finding.steps.clone()), Some(step..step + 1));
        assert!((excess(&localized) / 4500.0 - 1.0).abs() < 0.1, "{step}: {}", excess(&localized));
    }
}

/// Splits every third running state by a preemption; also returns the steps of the preemptions.
fn preempted(steps: &[(StateId, f64)]) -> (Vec<(StateId, f64)>, Vec<u32>) {
    let (mut limited, mut step, mut running) = (Vec::new(), Vec::new(), 0);
    for &(state, time) in steps {
        running += usize::from(state == RUN);
        if state == RUN && running % 3 == 0 {
            step.push(limited.len() as u32 + 1);
            limited.extend([(RUN, time * 0.6), (PREEMPTED, 700.0), (RUN, time * 0.4)]);
        } else {
            limited.push((state, time));
        }
    }
    (limited, step)
}

#[test]
fn preemptions_are_reported_but_not_the_running_state_they_interrupt() {
    let (steps, step) = preempted(&looped(8));
    let localized = localized(&reference(|_| 8), &steps);
    let reported: Vec<u32> = localized.deviations.iter().map(|reported| reported.step).collect();
    assert_eq!(reported, step);
    assert_eq!(localized.sums.len(), 1);
    let sum = localized.sums[0];
    assert_eq!((sum.kind, sum.state, sum.count), (DeviationKind::Unexpected, PREEMPTED, step.len()));
    assert!((sum.excess_us / (700.0 * step.len() as f64) - 1.0).abs() < 0.1);
}

#[test]
fn a_moved_wait_has_no_excess() {
    let mut steps = looped(8);
    let wait = steps.remove(3);
    steps.insert(steps.len() - 4, wait);
    let localized = localized(&reference(|_| 8), &steps);
    assert!(excess(&localized) < 60.0, "{:?}", localized.deviations);
    assert!(
        localized
            .deviations
            .iter()
            .any(|reported| reported.kind == DeviationKind::Unexpected && reported.state == 5)
    );
}

#[test]
fn an_inserted_block_equal_to_others_has_the_right_excess() {
    let reference = reference(|_| 8);
    for round in 0..8 {
        let mut steps = looped(8);
        let step = 4 + 2 * round;
        steps.splice(step..step, [(RUN, 100.0), (DISK, 5000.0)]);
        let localized = localized(&reference, &steps);
        assert!((excess(&localized) / 5100.0 - 1.0).abs() < 0.15, "{round}: {}", excess(&localized));
        assert_eq!(
            localized.findings.first().map(|finding| finding.steps.contains(&(step + 1))),
            Some(true),
            "{round}"
        );
    }
}

#[test]
fn without_normal_executions_there_are_no_columns() {
    let reference = align_cluster(&[], 8, &LocalizeSettings::default());
    assert!(reference.columns().is_empty());
    let strange = localized(&reference, &looped(2));
    assert_eq!(strange.cells.len(), looped(2).len());
    let empty = localize(&reference, &StateSequence::new(), &LocalizeSettings::default());
    assert!(empty.cells.is_empty() && empty.deviations.is_empty());
}
