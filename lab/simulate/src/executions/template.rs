//! Templates: the sequence of states that executions of a kind share, with median durations.

use super::step_state::{DISK, FUTEX, NETWORK, SYSTEM, TASK, TIMER, USER};
use laggard_simulate::{Random, Stream};

/// Steps of a template.
const LENGTHS: std::ops::RangeInclusive<u64> = 20..=60;

/// Median times of steps, log-uniform between these.
pub(super) const TIMES_US: [f64; 2] = [50.0, 3_000.0];

/// States in which an execution waits.
pub(super) const WAITS: [u8; 5] = [DISK, NETWORK, FUTEX, TIMER, TASK];

/// States in which it runs.
pub(super) const RUNS: [u8; 2] = [USER, SYSTEM];

/// A step as it usually is.
#[derive(Clone, Copy, Debug)]
pub(super) struct TemplateStep {
    pub(super) state: u8,
    pub(super) median_us: f64,
}

/// A kind of execution: running and waiting in turn. Each kind has waits that it prefers.
pub(super) fn template(seed: u64, kind: usize) -> Vec<TemplateStep> {
    let mut random = Random::new(seed, Stream::Templates, &[kind as u64]);
    let length = LENGTHS.start() + random.below(LENGTHS.end() - LENGTHS.start() + 1);
    let weights: Vec<f64> = WAITS.iter().map(|_| random.exponential(1.0)).collect();
    let system_share = random.between(0.2, 0.8);
    let mut steps = Vec::new();
    for index in 0..length {
        let state = match index % 2 {
            0 => RUNS[usize::from(random.chance(system_share))],
            _ => WAITS[weighted(&weights, &mut random)],
        };
        steps.push(TemplateStep { state, median_us: median_us(&mut random) });
    }
    steps
}

/// A median time.
pub(super) fn median_us(random: &mut Random) -> f64 {
    libm::exp(random.ln_log_uniform(TIMES_US[0], TIMES_US[1]))
}

fn weighted(weights: &[f64], random: &mut Random) -> usize {
    let mut remaining = random.unit() * weights.iter().sum::<f64>();
    for (index, weight) in weights.iter().enumerate() {
        remaining -= weight;
        if remaining < 0.0 {
            return index;
        }
    }
    weights.len() - 1
}
