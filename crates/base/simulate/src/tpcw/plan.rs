//! Settings as a schedule: what holds in each window.

use super::load::PopulationStep;
use super::settings::{ChangedPart, Foreign, Phase, TpcwSettings};
use crate::random::{Random, Stream};

/// The schedule of a run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    /// In order of time.
    pub(crate) population: Vec<PopulationStep>,
    /// Foreign share of the front CPUs, by window.
    pub(crate) foreign: Vec<f64>,
    /// Share of the front CPUs that transactions do not get, by window: foreign load and overhead.
    pub(crate) background: Vec<f64>,
    /// Index of the phase, by window.
    pub(crate) phase: Vec<usize>,
    /// Costs of each phase.
    pub(crate) costs: Vec<PhaseCosts>,
    /// Most clients of each mix at a time.
    pub(crate) clients_max: Vec<u32>,
}

/// Mean work of transactions in a phase, by type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PhaseCosts {
    /// CPU seconds of the main page.
    pub(crate) main_s: Vec<f64>,
    /// CPU seconds of the embedded objects.
    pub(crate) objects_s: Vec<f64>,
    /// Seconds of a call at the database.
    pub(crate) call_s: Vec<f64>,
}

impl Plan {
    pub(crate) fn new(settings: &TpcwSettings) -> Plan {
        let window_s = f64::from(settings.window_s);
        let (mut population, mut foreign, mut phases) = (Vec::new(), Vec::new(), Vec::new());
        for (index, phase) in settings.phases.iter().enumerate() {
            let start_s = phases.len() as f64 * window_s;
            let mut random = Random::new(settings.seed, Stream::Population, &[index as u64]);
            population.extend(phase.workload.steps(start_s, phase.windows, window_s, &mut random));
            let mut random = Random::new(settings.seed, Stream::Foreign, &[index as u64]);
            foreign.extend(foreign_shares(phase, &mut random));
            phases.extend(std::iter::repeat_n(index, phase.windows as usize));
        }
        let background = foreign.iter().zip(&phases).map(|(share, &phase): (&f64, &usize)| {
            let overhead = settings.idle_overhead + settings.phases[phase].overhead_drift;
            share + overhead.max(0.0)
        });
        let background = background.collect();
        let most = |mix: usize| {
            population.iter().filter(|step: &&PopulationStep| step.mix == mix).map(|step| step.clients).max()
        };
        let clients_max = (0..super::catalog::MIXES).map(|mix| most(mix).unwrap_or(0)).collect();
        let costs = settings.phases.iter().map(|phase| PhaseCosts::new(settings, phase)).collect();
        Plan { population, foreign, background, phase: phases, costs, clients_max }
    }
}

impl PhaseCosts {
    fn new(settings: &TpcwSettings, phase: &Phase) -> PhaseCosts {
        let cost = |part: ChangedPart| -> Vec<f64> {
            settings.transactions.iter().map(|transaction| phase.cost_s(transaction, part)).collect()
        };
        let calls =
            settings.transactions.iter().map(|transaction| transaction.call_s * phase.database_factor);
        PhaseCosts {
            main_s: cost(ChangedPart::MainPage),
            objects_s: cost(ChangedPart::Objects),
            call_s: calls.collect(),
        }
    }
}

fn foreign_shares(phase: &Phase, random: &mut Random) -> Vec<f64> {
    let windows = phase.windows as usize;
    match phase.foreign {
        Foreign::None => vec![0.0; windows],
        Foreign::Constant { share } => vec![share; windows],
        Foreign::Recurring { share, every_windows, runs_windows } => {
            let every = every_windows.max(1) as usize;
            let is_running = |window: usize| (window + every / 2) % every < runs_windows as usize;
            (0..windows).map(|window| if is_running(window) { share } else { 0.0 }).collect()
        }
        Foreign::Random { low, high, hold_windows } => {
            let mut shares = Vec::with_capacity(windows);
            while shares.len() < windows {
                let hold = 1 + random.below(u64::from(hold_windows)) as usize;
                let share = libm::round(random.between(low, high) * 1e4) / 1e4;
                shares.extend(std::iter::repeat_n(share, hold));
            }
            shares.truncate(windows);
            shares
        }
    }
}
