//! Faults in executions.

use super::draw::{Origin, SimulatedStep};
use super::step_state::{FUTEX, PREEMPTED};
use super::template::{RUNS, WAITS};
use laggard_simulate::Random;

/// A fault and the executions that it hits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepFault {
    /// The kind of fault.
    pub what: StepFaultKind,
    /// The kind of executions that it hits; `None`: all.
    pub kind: Option<usize>,
    /// Probability that such an execution is hit.
    pub share: f64,
}

/// A kind of fault in an execution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StepFaultKind {
    /// Extra waits for a lock at random steps.
    ShortWaits {
        /// How many.
        count: usize,
        /// Median time of one in microseconds; lognormal with sigma 0.3.
        median_us: f64,
    },
    /// One wait of the template, the same in every execution, lasts longer.
    LongWait {
        /// Times as long.
        factor: f64,
    },
    /// Preempted periodically, as by a CPU time limit.
    CpuLimit {
        /// Number of running steps between preemptions.
        every: usize,
        /// Median time of one preemption in microseconds; lognormal with sigma 0.3.
        median_us: f64,
    },
}

/// Spread of the times of injected steps: sigma of the logarithm.
const SIGMA: f64 = 0.3;

/// Does it to an execution. `target` is the template's step that a long wait is about.
pub(super) fn inject(
    steps: &mut Vec<SimulatedStep>,
    what: StepFaultKind,
    target: usize,
    random: &mut Random,
) {
    match what {
        StepFaultKind::ShortWaits { count, median_us } => {
            for _ in 0..count {
                insert_wait(steps, median_us, random);
            }
        }
        StepFaultKind::LongWait { factor } => {
            if let Some(step) = steps.iter_mut().find(|step| step.origin == Origin::Template(target)) {
                step.extra_us += step.time_us * (factor - 1.0);
                step.time_us *= factor;
            }
        }
        StepFaultKind::CpuLimit { every, median_us } => limit_cpu(steps, every, median_us, random),
    }
}

/// Which wait of a template lasts longer: one whose time is at least the median of its waits.
pub(super) fn long_wait(template: &[super::template::TemplateStep], random: &mut Random) -> usize {
    let is_wait = |index: &usize| WAITS.contains(&template[*index].state);
    let mut waits: Vec<usize> = (0..template.len()).filter(is_wait).collect();
    waits.sort_by(|&a, &b| template[a].median_us.total_cmp(&template[b].median_us).then(a.cmp(&b)));
    let longer = &waits[waits.len() / 2..];
    longer[random.index(longer.len())]
}

fn insert_wait(steps: &mut Vec<SimulatedStep>, median_us: f64, random: &mut Random) {
    let is_free = |index: &usize| {
        let before = index.checked_sub(1).map(|before| steps[before].state);
        before != Some(FUTEX) && steps.get(*index).map(|step| step.state) != Some(FUTEX)
    };
    let free: Vec<usize> = (0..=steps.len()).filter(is_free).collect();
    if !free.is_empty() {
        let position = free[random.index(free.len())];
        steps.insert(position, injected(FUTEX, median_us, random));
    }
}

fn limit_cpu(steps: &mut Vec<SimulatedStep>, every: usize, median_us: f64, random: &mut Random) {
    let mut runs = 0;
    let mut limited = Vec::with_capacity(2 * steps.len());
    for (index, step) in steps.iter().enumerate() {
        limited.push(*step);
        runs += usize::from(RUNS.contains(&step.state));
        let is_next_preempted = steps.get(index + 1).is_some_and(|next| next.state == PREEMPTED);
        if RUNS.contains(&step.state) && runs % every == 0 && !is_next_preempted {
            limited.push(injected(PREEMPTED, median_us, random));
        }
    }
    *steps = limited;
}

fn injected(state: u8, median_us: f64, random: &mut Random) -> SimulatedStep {
    let time_us = median_us * libm::exp(SIGMA * random.normal());
    SimulatedStep { state, time_us, extra_us: time_us, origin: Origin::Injected }
}
