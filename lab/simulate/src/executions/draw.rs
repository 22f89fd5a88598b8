//! Random executions from templates.

use super::faults::{inject, long_wait};
use super::scenario::{ExecutionSettings, Mix};
use super::step_state::PREEMPTED;
use super::template::{RUNS, TemplateStep, WAITS, median_us, template};
use laggard_simulate::{Random, Stream};

/// Two sets of executions and the truth about the second.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulatedExecutions {
    /// Nothing is wrong with these.
    pub normal: Vec<SimulatedExecution>,
    /// Faults are here, if anywhere.
    pub sample: Vec<SimulatedExecution>,
}

/// An execution; neighboring states differ.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SimulatedExecution {
    /// Its kind, the number of the template.
    pub kind: usize,
    /// Whether normal executions of its kind exist.
    pub is_new_kind: bool,
    /// States in order.
    pub states: Vec<u8>,
    /// Time of each step in microseconds.
    pub times_us: Vec<f64>,
    /// Steps that a fault touched, in order.
    pub injected: Vec<InjectedStep>,
}

/// A step that a fault touched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InjectedStep {
    /// Which.
    pub step: usize,
    /// The part of its time caused by the fault.
    pub extra_us: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedStep {
    pub(super) state: u8,
    pub(super) time_us: f64,
    pub(super) extra_us: f64,
    pub(super) origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    Template(usize),
    Inserted,
    Injected,
}

/// Which set an execution is drawn for: a step of the random path.
#[derive(Clone, Copy)]
enum Set {
    Normal,
    Sample,
}

/// Draws both sets. The same settings give the same executions everywhere.
pub fn draw_executions(settings: &ExecutionSettings) -> SimulatedExecutions {
    let templates: Vec<Vec<TemplateStep>> =
        (0..=settings.kinds).map(|kind| template(settings.seed, kind)).collect();
    let set = |set, count: usize, mix: &Mix| {
        (0..count).map(|position| execution(settings, &templates, set, position, mix)).collect()
    };
    SimulatedExecutions {
        normal: set(Set::Normal, settings.normal, &settings.normal_mix),
        sample: set(Set::Sample, settings.sample, &settings.sample_mix),
    }
}

fn execution(
    settings: &ExecutionSettings,
    templates: &[Vec<TemplateStep>],
    set: Set,
    position: usize,
    mix: &Mix,
) -> SimulatedExecution {
    let path = [set as u64, position as u64];
    let mut random = Random::new(settings.seed, Stream::Execution, &path);
    let is_new_kind = matches!(set, Set::Sample) && random.chance(settings.new_kind_share);
    let kind = if is_new_kind { settings.kinds } else { mix.kind(settings.kinds, position, &mut random) };
    let mut steps = jittered(&templates[kind], settings, &mut random);
    if matches!(set, Set::Sample) && !is_new_kind {
        let mut faults = Random::new(settings.seed, Stream::ExecutionFault, &path);
        for (number, fault) in settings.faults.iter().enumerate() {
            let is_hit = faults.chance(fault.share) && fault.kind.is_none_or(|only| only == kind);
            if is_hit {
                let path = [Stream::Templates as u64, number as u64, kind as u64];
                let mut choice = Random::new(settings.seed, Stream::ExecutionFault, &path);
                inject(&mut steps, fault.what, long_wait(&templates[kind], &mut choice), &mut faults);
            }
        }
    }
    finish(kind, is_new_kind, &steps)
}

fn jittered(
    template: &[TemplateStep],
    settings: &ExecutionSettings,
    random: &mut Random,
) -> Vec<SimulatedStep> {
    let [low, high] = settings.jitter;
    let (insertion, deletion) = (random.between(low, high), random.between(low, high));
    let mut steps = Vec::with_capacity(2 * template.len());
    for (position, step) in template.iter().enumerate() {
        if random.chance(insertion) {
            let (state, median) = (any_state(random), median_us(random));
            steps.push(drawn(state, median, Origin::Inserted, settings, random));
        }
        if random.chance(deletion) {
            continue;
        }
        let state = if random.chance(settings.substitution) { any_state(random) } else { step.state };
        steps.push(drawn(state, step.median_us, Origin::Template(position), settings, random));
        if random.chance(settings.preemption) {
            // Pareto with index 1.5: rare long ones, as on a busy machine.
            let time_us = 50.0 * libm::pow(1.0 - random.unit(), -1.0 / 1.5);
            steps.push(SimulatedStep { state: PREEMPTED, time_us, extra_us: 0.0, origin: Origin::Inserted });
        }
    }
    if steps.is_empty() {
        steps.push(drawn(template[0].state, template[0].median_us, Origin::Template(0), settings, random));
    }
    merged(steps)
}

fn drawn(
    state: u8,
    median_us: f64,
    origin: Origin,
    settings: &ExecutionSettings,
    random: &mut Random,
) -> SimulatedStep {
    let time_us = median_us * libm::exp(settings.sigma * random.normal());
    SimulatedStep { state, time_us, extra_us: 0.0, origin }
}

fn any_state(random: &mut Random) -> u8 {
    let position = random.index(WAITS.len() + RUNS.len());
    WAITS.get(position).copied().unwrap_or_else(|| RUNS[position - WAITS.len()])
}

/// Equal neighbors as one step.
fn merged(steps: Vec<SimulatedStep>) -> Vec<SimulatedStep> {
    let mut out: Vec<SimulatedStep> = Vec::with_capacity(steps.len());
    for step in steps {
        match out.last_mut() {
            Some(last) if last.state == step.state => last.time_us += step.time_us,
            _ => out.push(step),
        }
    }
    out
}

fn finish(kind: usize, is_new_kind: bool, steps: &[SimulatedStep]) -> SimulatedExecution {
    let injected = steps.iter().enumerate().filter(|(_, step)| step.extra_us > 0.0);
    SimulatedExecution {
        kind,
        is_new_kind,
        states: steps.iter().map(|step| step.state).collect(),
        times_us: steps.iter().map(|step| step.time_us).collect(),
        injected: injected
            .map(|(position, step)| InjectedStep { step: position, extra_us: step.extra_us })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ALPHABET_LEN, ExecutionScenario, StepFaultKind};
    use super::*;

    fn drawn(scenario: ExecutionScenario) -> SimulatedExecutions {
        draw_executions(&ExecutionSettings::scenario(scenario, 1))
    }

    #[test]
    fn neighbors_differ_and_times_are_positive() {
        for scenario in ExecutionScenario::ALL {
            let drawn = drawn(scenario);
            for execution in drawn.normal.iter().chain(&drawn.sample) {
                assert!(execution.states.windows(2).all(|pair| pair[0] != pair[1]), "{}", scenario.name());
                assert!(execution.states.iter().all(|&state| usize::from(state) < ALPHABET_LEN));
                assert!(execution.times_us.iter().all(|&time| time > 0.0 && time.is_finite()));
                assert_eq!(execution.states.len(), execution.times_us.len());
            }
            assert!(
                drawn.normal.iter().all(|execution| execution.injected.is_empty() && !execution.is_new_kind)
            );
        }
    }

    #[test]
    fn a_long_wait_is_at_the_same_step_of_the_template() {
        let drawn = drawn(ExecutionScenario::LongWait);
        let hit: Vec<&SimulatedExecution> =
            drawn.sample.iter().filter(|execution| !execution.injected.is_empty()).collect();
        assert!(!hit.is_empty());
        for execution in hit {
            let [step] = execution.injected[..] else { panic!("{execution:?}") };
            assert!((step.extra_us / execution.times_us[step.step] - 0.9).abs() < 1e-9);
        }
    }

    #[test]
    fn a_cpu_limit_preempts_after_every_third_run() {
        let settings = ExecutionSettings::scenario(ExecutionScenario::CpuLimit, 3);
        assert!(matches!(settings.faults[0].what, StepFaultKind::CpuLimit { every: 3, .. }));
        let drawn = draw_executions(&settings);
        for execution in &drawn.sample {
            let runs = execution.states.iter().filter(|state| RUNS.contains(state)).count();
            assert_eq!(execution.injected.len(), runs / 3);
            assert!(execution.injected.iter().all(|step| execution.states[step.step] == PREEMPTED));
        }
    }

    #[test]
    fn runs_are_determined_by_their_seed() {
        assert_eq!(drawn(ExecutionScenario::ShortWaits), drawn(ExecutionScenario::ShortWaits));
        let other = draw_executions(&ExecutionSettings::scenario(ExecutionScenario::ShortWaits, 2));
        assert_ne!(drawn(ExecutionScenario::ShortWaits), other);
    }
}
