//! Workloads as steps of the client populations.

use super::catalog::MIXES;
use super::settings::Workload;
use crate::random::Random;

/// From a time on, a mix has this many clients.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PopulationStep {
    /// Seconds since the start of the run.
    pub(crate) at_s: f64,
    pub(crate) mix: usize,
    pub(crate) clients: u32,
}

impl Workload {
    /// Its steps in order of time; every mix is set at `start_s`.
    pub(crate) fn steps(
        &self,
        start_s: f64,
        windows: u32,
        window_s: f64,
        random: &mut Random,
    ) -> Vec<PopulationStep> {
        let length_s = f64::from(windows) * window_s;
        match self {
            Workload::Steps { mix, clients } => {
                let mut steps = all_at(start_s, [0; MIXES]);
                for (index, &clients) in clients.iter().enumerate() {
                    let at_s = start_s + length_s * index as f64 / self.step_count();
                    steps.push(PopulationStep { at_s, mix: *mix, clients });
                }
                steps
            }
            Workload::Bursts { constant, burst_clients, burst_min, pause_min } => {
                let mut steps = all_at(start_s, *constant);
                let (shopping, mut at_s) = (1, start_s);
                while at_s < start_s + length_s {
                    let [least, most] = burst_clients.map(u64::from);
                    let more = (least + random.below(most - least + 1)) as u32;
                    steps.push(PopulationStep { at_s, mix: shopping, clients: constant[shopping] + more });
                    at_s += 60.0 * random.between(burst_min[0], burst_min[1]);
                    steps.push(PopulationStep { at_s, mix: shopping, clients: constant[shopping] });
                    at_s += 60.0 * random.between(pause_min[0], pause_min[1]);
                }
                steps.retain(|step| step.at_s < start_s + length_s);
                steps
            }
            Workload::Diurnal { low, high, day_windows } => (0..windows)
                .flat_map(|window| {
                    let turn = f64::from(window) / f64::from(*day_windows) * std::f64::consts::TAU;
                    let height = 0.5 - 0.5 * libm::cos(turn);
                    let clients = |mix: usize| {
                        let (low, high) = (f64::from(low[mix]), f64::from(high[mix]));
                        libm::round(low + (high - low) * height) as u32
                    };
                    all_at(start_s + f64::from(window) * window_s, std::array::from_fn(clients))
                })
                .collect(),
        }
    }

    fn step_count(&self) -> f64 {
        match self {
            Workload::Steps { clients, .. } => clients.len() as f64,
            _ => 1.0,
        }
    }
}

fn all_at(at_s: f64, clients: [u32; MIXES]) -> Vec<PopulationStep> {
    let step = |(mix, clients)| PopulationStep { at_s, mix, clients };
    clients.into_iter().enumerate().map(step).collect()
}
