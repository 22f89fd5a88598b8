//! The complete pipeline on generated executions.

use laggard_align::{
    AlignMode, AlignSettings, Caution, Diagnosis, ExecutionVerdict, StateSequence, Verdict, diagnose,
};
use laggard_simulate::{
    ALPHABET_LEN, ExecutionScenario, ExecutionSettings, SimulatedExecution, SimulatedExecutions,
    draw_executions, step_state,
};
use proptest::prelude::*;
use std::num::NonZeroUsize;

fn sequences(set: &[SimulatedExecution]) -> Vec<StateSequence> {
    let one = |generated: &SimulatedExecution| {
        let mut sequence = StateSequence::new();
        generated
            .states
            .iter()
            .zip(&generated.times_us)
            .for_each(|(&state, &time)| sequence.push(state, time));
        sequence
    };
    set.iter().map(one).collect()
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
fn a_limit_of_cpu_time_is_found_in_every_execution() {
    let generated = generated(ExecutionScenario::CpuLimit, 1);
    let found = diagnosed(&generated, &AlignSettings::default());
    assert_eq!(found.verdict, Verdict::ExecutionsStandOut);
    for one in &found.sample {
        assert_eq!(one.verdict, ExecutionVerdict::Anomalous);
        assert_eq!(one.states[0].state, step_state::PREEMPTED);
    }
    let preempted = found.states.iter().find(|state| state.state == step_state::PREEMPTED).unwrap();
    assert!(preempted.time.is_raised && preempted.normal_mean_count == 0.0);
    assert_eq!(found.findings[0].state, step_state::PREEMPTED);
    assert!(found.findings.is_sorted_by(|a, b| a.excess_us >= b.excess_us));
}

#[test]
fn more_of_the_same_is_nothing() {
    for seed in 1..4 {
        let found = diagnosed(&generated(ExecutionScenario::Quiet, seed), &AlignSettings::default());
        assert_eq!(found.verdict, Verdict::NothingFound);
        assert!(found.findings.is_empty() && found.alignments.is_empty());
        assert!(found.sample.iter().all(|one| one.verdict == ExecutionVerdict::Normal));
    }
}

#[test]
fn kinds_and_places_agree() {
    for mode in AlignMode::ALL {
        let found = diagnosed(&generated(ExecutionScenario::LongWait, 2), &in_mode(mode));
        for (number, kind) in found.normal_kinds.iter().enumerate() {
            assert!(kind.members.contains(&kind.medoid));
            assert!(kind.members.iter().all(|&at| found.normal[at].kind == Some(number)));
        }
        for pair in &found.pairs {
            let kind = &found.sample_kinds[pair.sample_kind];
            assert!(kind.members.iter().all(|&at| found.sample[at].place.kind == Some(pair.sample_kind)));
        }
        let placed: usize = found.sample_kinds.iter().map(|kind| kind.members.len()).sum();
        assert_eq!(placed, found.sample.len());
    }
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let generated = generated(ExecutionScenario::ManyKinds, 1);
    let of = |threads| {
        diagnosed(
            &generated,
            &AlignSettings { threads: NonZeroUsize::new(threads).unwrap(), ..AlignSettings::default() },
        )
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn without_executions_nothing_is_said() {
    let some = sequences(&generated(ExecutionScenario::QuietSmall, 1).normal);
    let empty = StateSequence::new();
    for mode in AlignMode::ALL {
        let found = diagnose(&[], &some, ALPHABET_LEN, &in_mode(mode));
        assert_eq!(found.verdict, Verdict::TooFew);
        assert_eq!(found.cautions, [Caution::NoNormalExecution]);
        assert!(found.sample.iter().all(|one| one.verdict == ExecutionVerdict::NotJudged));
        let found = diagnose(&some, std::slice::from_ref(&empty), ALPHABET_LEN, &in_mode(mode));
        let cautions = [Caution::NoSampleExecution, Caution::EmptyExecutions { normal: 0, sample: 1 }];
        assert_eq!(found.cautions, cautions);
        assert_eq!(found.sample.len(), 1);
    }
    let few = diagnose(&some[..3], &some[3..], ALPHABET_LEN, &AlignSettings::default());
    assert_eq!(few.verdict, Verdict::TooFew);
    assert!(few.cautions.contains(&Caution::NormalNotClustered { given: 3 }));
}

#[test]
fn executions_without_steps_keep_their_place() {
    let mut generated = generated(ExecutionScenario::CpuLimit, 1);
    generated.sample.insert(0, SimulatedExecution::default());
    generated.normal.insert(5, SimulatedExecution::default());
    let found = diagnosed(&generated, &AlignSettings::default());
    assert_eq!((found.normal.len(), found.sample.len()), (101, 11));
    assert_eq!(found.sample[0].verdict, ExecutionVerdict::NotJudged);
    assert!(found.sample[1..].iter().all(|one| one.verdict == ExecutionVerdict::Anomalous));
    assert!(found.findings.iter().flat_map(|finding| &finding.occurrences).all(|one| one.execution > 0));
    assert!(found.normal_kinds.iter().all(|kind| !kind.members.contains(&5)));
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
    fn whatever_comes_has_an_answer(normal in any_set(14), sample in any_set(10)) {
        for mode in AlignMode::ALL {
            let found = diagnose(&normal, &sample, 4, &in_mode(mode));
            prop_assert_eq!((found.normal.len(), found.sample.len()), (normal.len(), sample.len()));
            for occurrence in found.findings.iter().flat_map(|finding| &finding.occurrences) {
                prop_assert!(occurrence.steps.end <= sample[occurrence.execution].len());
                prop_assert_eq!(found.sample[occurrence.execution].verdict, ExecutionVerdict::Anomalous);
            }
            let is_finite = |one: &laggard_align::ExecutionSummary| one.projection.iter().all(|x| x.is_finite());
            prop_assert!(found.normal.iter().all(is_finite));
        }
    }
}
