//! Simulated executions: which are anomalous, and at which step?

use super::{Group, SetKind};
use crate::executions::{ExecutionCase, ExecutionTruth};
use crate::run::Runner;
use laggard_align::StateSequence;
use laggard_simulate_kernel::{
    ALPHABET_LEN, ExecutionScenario, ExecutionSettings, SimulatedExecution, SimulatedExecutions,
    draw_executions,
};

pub(super) fn visit(runner: &mut Runner<'_>) {
    if !runner.wants_set(SetKind::Executions) || !runner.has_execution_finders() {
        return;
    }
    for scenario in ExecutionScenario::ALL {
        let group = Group::new(SetKind::Executions, scenario.name());
        if !runner.wants(&group) {
            continue;
        }
        // Twice as many seeds as elsewhere: a case takes a fraction of a second.
        let seeds = runner.seeds();
        for seed in seeds.start..seeds.end + (seeds.end - seeds.start) {
            let drawn = draw_executions(&ExecutionSettings::scenario(scenario, seed));
            runner.find_executions(&group, &case(&format!("seed {seed}"), &drawn));
        }
    }
}

fn case(name: &str, drawn: &SimulatedExecutions) -> ExecutionCase {
    let steps =
        |execution: &SimulatedExecution| execution.injected.iter().map(|injected| injected.step).collect();
    ExecutionCase {
        name: name.to_owned(),
        normal: drawn.normal.iter().map(sequence).collect(),
        sample: drawn.sample.iter().map(sequence).collect(),
        alphabet_len: ALPHABET_LEN,
        truth: ExecutionTruth {
            normal_kinds: drawn.normal.iter().map(|execution| execution.kind).collect(),
            sample_kinds: drawn
                .sample
                .iter()
                .map(|execution| (!execution.is_new_kind).then_some(execution.kind))
                .collect(),
            injected: drawn.sample.iter().map(steps).collect(),
        },
    }
}

fn sequence(drawn: &SimulatedExecution) -> StateSequence {
    let mut sequence = StateSequence::new();
    drawn.states.iter().zip(&drawn.times_us).for_each(|(&state, &time)| sequence.push(state, time));
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_executions_become_a_case_with_its_truth() {
        let drawn = draw_executions(&ExecutionSettings::scenario(ExecutionScenario::CpuLimit, 1));
        let case = case("one", &drawn);
        assert_eq!((case.normal.len(), case.sample.len()), (100, 10));
        for (execution, steps) in case.sample.iter().zip(&case.truth.injected) {
            assert!(!steps.is_empty());
            let preempted = laggard_simulate_kernel::step_state::PREEMPTED;
            assert!(steps.iter().all(|&step| execution.states()[step] == preempted));
        }
    }
}
