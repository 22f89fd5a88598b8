//! What goes wrong in practice, by hand: executions of `RUNNING DISK RUNNING NET ...` with small deterministic spreads.

use laggard_align::localize::{
    ClusterProfile, DeviationKind, LocalizeSettings, LocalizedExecution, align_cluster, localize,
};
use laggard_align::{StateId, StateSequence};

const RUN: StateId = 0;
const PREEMPTED: StateId = 2;
const DISK: StateId = 3;
const NET: StateId = 4;

/// Times within 10 % of the usual, differently for every execution and step.
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

fn excess(found: &LocalizedExecution) -> f64 {
    found.deviations.iter().map(|deviation| deviation.excess_us).sum()
}

#[test]
fn an_execution_like_the_others_has_no_finding() {
    assert_eq!(localized(&reference(|_| 8), &looped(8)).deviations, []);
}

#[test]
fn as_many_rounds_as_others_have_are_no_finding() {
    let reference = reference(|index| 10 + index % 5);
    for rounds in 10..=14 {
        assert_eq!(localized(&reference, &looped(rounds)).deviations, [], "{rounds} rounds");
    }
}

#[test]
fn rounds_beyond_all_others_are_told_with_their_time() {
    let found = localized(&reference(|index| 10 + index % 3), &looped(18));
    assert!(!found.deviations.is_empty());
    // Six rounds of 600 us more than the most that is usual; the reported value may be off by a ninth.
    assert!((excess(&found) / 3600.0 - 1.0).abs() < 0.15, "{}", excess(&found));
}

#[test]
fn a_long_wait_is_slow_at_its_step() {
    let mut steps = looped(8);
    steps[9].1 *= 10.0;
    let found = localized(&reference(|_| 8), &steps);
    let reported: Vec<(DeviationKind, u32)> =
        found.deviations.iter().map(|reported| (reported.kind, reported.step)).collect();
    assert_eq!(reported, [(DeviationKind::Slow, 9)]);
    assert!((excess(&found) / 4500.0 - 1.0).abs() < 0.1, "{}", excess(&found));
}

#[test]
fn a_long_wait_in_a_loop_of_varying_length_is_told_with_its_time() {
    let reference = reference(|index| 10 + index % 5);
    for at in [5, 9, 15, 23] {
        let mut steps = looped(12);
        steps[at].1 *= 10.0;
        let found = localized(&reference, &steps);
        assert_eq!(found.findings.first().map(|finding| finding.steps.clone()), Some(at..at + 1));
        assert!((excess(&found) / 4500.0 - 1.0).abs() < 0.1, "{at}: {}", excess(&found));
    }
}

/// After every third running state it is preempted, and goes on for the rest of its time.
fn preempted(steps: &[(StateId, f64)]) -> (Vec<(StateId, f64)>, Vec<u32>) {
    let (mut limited, mut at, mut running) = (Vec::new(), Vec::new(), 0);
    for &(state, time) in steps {
        running += usize::from(state == RUN);
        if state == RUN && running % 3 == 0 {
            at.push(limited.len() as u32 + 1);
            limited.extend([(RUN, time * 0.6), (PREEMPTED, 700.0), (RUN, time * 0.4)]);
        } else {
            limited.push((state, time));
        }
    }
    (limited, at)
}

#[test]
fn preemptions_are_told_and_the_running_they_interrupt_is_not() {
    let (steps, at) = preempted(&looped(8));
    let found = localized(&reference(|_| 8), &steps);
    let reported: Vec<u32> = found.deviations.iter().map(|reported| reported.step).collect();
    assert_eq!(reported, at);
    assert_eq!(found.sums.len(), 1);
    let sum = found.sums[0];
    assert_eq!((sum.kind, sum.state, sum.count), (DeviationKind::Unexpected, PREEMPTED, at.len()));
    assert!((sum.excess_us / (700.0 * at.len() as f64) - 1.0).abs() < 0.1);
}

#[test]
fn a_moved_wait_has_no_excess() {
    let mut steps = looped(8);
    let wait = steps.remove(3);
    steps.insert(steps.len() - 4, wait);
    let found = localized(&reference(|_| 8), &steps);
    assert!(excess(&found) < 60.0, "{:?}", found.deviations);
    assert!(
        found
            .deviations
            .iter()
            .any(|reported| reported.kind == DeviationKind::Unexpected && reported.state == 5)
    );
}

#[test]
fn whichever_of_equal_blocks_is_inserted_the_excess_is_right() {
    let reference = reference(|_| 8);
    for round in 0..8 {
        let mut steps = looped(8);
        let at = 4 + 2 * round;
        steps.splice(at..at, [(RUN, 100.0), (DISK, 5000.0)]);
        let found = localized(&reference, &steps);
        assert!((excess(&found) / 5100.0 - 1.0).abs() < 0.15, "{round}: {}", excess(&found));
        assert_eq!(
            found.findings.first().map(|finding| finding.steps.contains(&(at + 1))),
            Some(true),
            "{round}"
        );
    }
}

#[test]
fn nothing_to_compare_with_is_no_trouble() {
    let reference = align_cluster(&[], 8, &LocalizeSettings::default());
    assert!(reference.columns().is_empty());
    let strange = localized(&reference, &looped(2));
    assert_eq!(strange.cells.len(), looped(2).len());
    let empty = localize(&reference, &StateSequence::new(), &LocalizeSettings::default());
    assert!(empty.cells.is_empty() && empty.deviations.is_empty());
}
