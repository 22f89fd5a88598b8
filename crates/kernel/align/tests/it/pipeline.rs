//! The complete pipeline on generated executions.

use laggard_align::{
    AlignMode, AlignSettings, Caution, Diagnosis, ExecutionVerdict, StateSequence, Verdict, diagnose,
};
use laggard_simulate_kernel::{
    ALPHABET_LEN, ExecutionScenario, ExecutionSettings, SimulatedExecution, SimulatedExecutions,
    draw_executions, step_state,
};
use proptest::prelude::*;
use std::num::NonZeroUsize;

fn sequences(set: &[SimulatedExecution]) -> Vec<StateSequence> {
    let execution = |generated: &SimulatedExecution| {
        let mut sequence = StateSequence::new();
        generated
            .states
            .iter()
            .zip(&generated.times_us)
            .for_each(|(&state, &time)| sequence.push(state, time));
        sequence
    };
    set.iter().map(execution).collect()
}

fn generated(scenario: ExecutionScenario, seed: u64) -> SimulatedExecutions {
    draw_executions(&ExecutionSettings::scenario(scenario, seed))
}

fn diagnosed(generated: &SimulatedExecutions, settings: &AlignSettings) -> Diagnosis {
    diagnose(&sequences(&generated.normal), &sequences(&generated.sample), ALPHABET_LEN, settings)
}

fn in_mode(mode: AlignMode) -> AlignSettings {
    AlignSettings { mode, ..AlignSettings::default() }
}

#[test]
fn a_cpu_limit_is_detected_in_every_execution() {
    let generated = generated(ExecutionScenario::CpuLimit, 1);
    let diagnosis = diagnosed(&generated, &AlignSettings::default());
    assert_eq!(diagnosis.verdict, Verdict::ExecutionsStandOut);
    for execution in &diagnosis.sample {
        assert_eq!(execution.verdict, ExecutionVerdict::Anomalous);
        assert_eq!(execution.states[0].state, step_state::PREEMPTED);
    }
    let preempted = diagnosis.states.iter().find(|state| state.state == step_state::PREEMPTED).unwrap();
    assert!(preempted.time.is_raised && preempted.normal_mean_count == 0.0);
    assert_eq!(diagnosis.findings[0].state, step_state::PREEMPTED);
    assert!(diagnosis.findings.is_sorted_by(|a, b| a.excess_us >= b.excess_us));
}

#[test]
fn a_sample_like_the_normal_set_has_no_findings() {
    for seed in 1..4 {
        let diagnosis = diagnosed(&generated(ExecutionScenario::Quiet, seed), &AlignSettings::default());
        assert_eq!(diagnosis.verdict, Verdict::NothingFound);
        assert!(diagnosis.findings.is_empty() && diagnosis.alignments.is_empty());
        assert!(diagnosis.sample.iter().all(|execution| execution.verdict == ExecutionVerdict::Normal));
    }
}

/// One normal execution was disturbed by what disturbs all of the sample: that does not make it usual.
#[test]
fn a_sample_is_not_usual_because_one_normal_execution_is_like_it() {
    let usual = |index: u32| {
        let mut sequence = StateSequence::new();
        [0, 1, 0].iter().for_each(|&state| sequence.push(state, 4000.0 + f64::from(index)));
        sequence
    };
    let disturbed = |index: u32| {
        let mut sequence = usual(index);
        for turn in 0..8 {
            sequence.push(2, 1500.0 + f64::from(index + turn));
            sequence.push(0, 10.0);
        }
        sequence
    };
    let normal: Vec<StateSequence> =
        (0..15).map(|index| if index == 9 { disturbed(index) } else { usual(index) }).collect();
    let sample: Vec<StateSequence> = (0..15).map(disturbed).collect();
    let diagnosis = diagnose(&normal, &sample, 3, &AlignSettings::default());
    assert_eq!(diagnosis.verdict, Verdict::ExecutionsStandOut);
    assert!(diagnosis.sample.iter().all(|execution| execution.stands_out()));
    let unchanged = diagnose(&normal, &normal, 3, &AlignSettings::default());
    assert_eq!(unchanged.verdict, Verdict::NothingFound);
}

#[test]
fn kinds_agree_with_their_members() {
    for mode in AlignMode::ALL {
        let diagnosis = diagnosed(&generated(ExecutionScenario::LongWait, 2), &in_mode(mode));
        for (number, kind) in diagnosis.normal_kinds.iter().enumerate() {
            assert!(kind.members.contains(&kind.medoid));
            assert!(kind.members.iter().all(|&index| diagnosis.normal[index].kind == Some(number)));
        }
        for pair in &diagnosis.pairs {
            let kind = &diagnosis.sample_kinds[pair.sample_kind];
            assert!(
                kind.members
                    .iter()
                    .all(|&index| diagnosis.sample[index].summary.kind == Some(pair.sample_kind))
            );
        }
        let members: usize = diagnosis.sample_kinds.iter().map(|kind| kind.members.len()).sum();
        assert_eq!(members, diagnosis.sample.len());
    }
}

#[test]
fn the_diagnosis_does_not_depend_on_threads() {
    let generated = generated(ExecutionScenario::ManyKinds, 1);
    let with_threads = |threads| {
        diagnosed(
            &generated,
            &AlignSettings { threads: NonZeroUsize::new(threads).unwrap(), ..AlignSettings::default() },
        )
    };
    assert_eq!(with_threads(1), with_threads(3));
}

#[test]
fn too_few_executions_give_no_verdict() {
    let normal = sequences(&generated(ExecutionScenario::QuietSmall, 1).normal);
    let empty = StateSequence::new();
    for mode in AlignMode::ALL {
        let diagnosis = diagnose(&[], &normal, ALPHABET_LEN, &in_mode(mode));
        assert_eq!(diagnosis.verdict, Verdict::TooFew);
        assert_eq!(diagnosis.cautions, [Caution::NoNormalExecution]);
        assert!(diagnosis.sample.iter().all(|execution| execution.verdict == ExecutionVerdict::NotEvaluated));
        let diagnosis = diagnose(&normal, std::slice::from_ref(&empty), ALPHABET_LEN, &in_mode(mode));
        let cautions = [Caution::NoSampleExecution, Caution::EmptyExecutions { normal: 0, sample: 1 }];
        assert_eq!(diagnosis.cautions, cautions);
        assert_eq!(diagnosis.sample.len(), 1);
    }
    let few = diagnose(&normal[..3], &normal[3..], ALPHABET_LEN, &AlignSettings::default());
    assert_eq!(few.verdict, Verdict::TooFew);
    assert!(few.cautions.contains(&Caution::NormalNotClustered { available: 3 }));
}

#[test]
fn executions_without_steps_keep_their_index() {
    let mut generated = generated(ExecutionScenario::CpuLimit, 1);
    generated.sample.insert(0, SimulatedExecution::default());
    generated.normal.insert(5, SimulatedExecution::default());
    let diagnosis = diagnosed(&generated, &AlignSettings::default());
    assert_eq!((diagnosis.normal.len(), diagnosis.sample.len()), (101, 11));
    assert_eq!(diagnosis.sample[0].verdict, ExecutionVerdict::NotEvaluated);
    assert!(diagnosis.sample[1..].iter().all(|execution| execution.verdict == ExecutionVerdict::Anomalous));
    assert!(
        diagnosis
            .findings
            .iter()
            .flat_map(|finding| &finding.occurrences)
            .all(|execution| execution.execution > 0)
    );
    assert!(diagnosis.normal_kinds.iter().all(|kind| !kind.members.contains(&5)));
}

fn any_set(most: usize) -> impl Strategy<Value = Vec<StateSequence>> {
    let step = (0_u8..4, 0.0_f64..1e6);
    let sequence = prop::collection::vec(step, 0..8).prop_map(|steps| {
        let mut sequence = StateSequence::new();
        steps.into_iter().for_each(|(state, time_us)| sequence.push(state, time_us));
        sequence
    });
    prop::collection::vec(sequence, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_input_has_a_consistent_diagnosis(normal in any_set(14), sample in any_set(10)) {
        for mode in AlignMode::ALL {
            let diagnosis = diagnose(&normal, &sample, 4, &in_mode(mode));
            prop_assert_eq!((diagnosis.normal.len(), diagnosis.sample.len()), (normal.len(), sample.len()));
            for occurrence in diagnosis.findings.iter().flat_map(|finding| &finding.occurrences) {
                prop_assert!(occurrence.steps.end <= sample[occurrence.execution].len());
                prop_assert_eq!(diagnosis.sample[occurrence.execution].verdict, ExecutionVerdict::Anomalous);
            }
            let is_finite = |execution: &laggard_align::ExecutionSummary| execution.projection.iter().all(|x| x.is_finite());
            prop_assert!(diagnosis.normal.iter().all(is_finite));
        }
    }
}
