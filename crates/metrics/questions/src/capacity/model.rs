//! The model of a system: tiers with names, clients, think time.

use super::loads::Load;
use laggard_capacity::{Network, Solution, System, Tier, WORK_MAX, open_solution, solve_fractional};
use laggard_report::{CapacityModel, ClientsBasis, ThinkTime, TierLoad, TierModel};

/// The model of a system.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Transaction types.
    pub(super) transactions: Vec<String>,
    /// The tiers, for solving.
    pub(super) system: System,
    /// The same tiers, for the report.
    pub(super) tiers: Vec<TierModel>,
    /// How the number of clients is known.
    pub(super) clients: ClientsBasis,
    /// The think time, if known.
    pub(super) think: Option<ThinkTime>,
    /// Transactions by type in all data: the mix.
    pub(super) mix: Vec<f64>,
    /// The tier that transactions enter.
    pub(super) front: usize,
}

impl Model {
    pub(super) fn add(&mut self, (tier, shown): (Tier, TierModel)) {
        self.system.tiers.push(tier);
        self.tiers.push(shown);
    }

    /// Whether the number of clients is known.
    pub(super) fn is_closed(&self) -> bool {
        self.clients != ClientsBasis::Unknown
    }

    pub(super) const fn front(&self) -> usize {
        self.front
    }

    /// The model for the report.
    pub(super) fn described(&self) -> CapacityModel {
        let mut tiers = self.tiers.clone();
        for (tier, shown) in self.system.tiers.iter().zip(&mut tiers) {
            shown.mean_s = tier.mean_demand_s(&self.mix);
        }
        CapacityModel {
            transactions: self.transactions.clone(),
            mix: shares(&self.mix),
            tiers,
            clients: self.clients,
            think: self.think.clone(),
        }
    }

    pub(super) fn network(&self, mix: &[f64]) -> Option<Network> {
        self.system.network(mix).ok()
    }

    /// The solution for a load: for its clients, or for its throughput if those are unknown. `None` beyond saturation.
    pub(super) fn solve(&self, load: &Load, work_max: f64) -> Option<Solution> {
        let network = self.network(&load.counts)?;
        match self.is_closed() {
            true if load.clients.is_finite() && load.clients >= 0.0 => {
                Some(solve_fractional(&network, load.clients, work_max))
            }
            true => None,
            false => open_solution(&network, load.throughput()),
        }
    }

    pub(super) fn tier_loads(&self, mix: &[f64], solution: &Solution) -> Vec<TierLoad> {
        let used = self.utilization(mix, solution.throughput);
        let tiers = self.tiers.iter().zip(&solution.stations).zip(used);
        tiers
            .map(|((tier, load), utilization)| TierLoad {
                tier: tier.tier.clone(),
                utilization,
                residence_s: load.residence_s,
            })
            .collect()
    }

    /// Utilization by tier, including background load; `None` for delays.
    pub(super) fn utilization(&self, mix: &[f64], throughput: f64) -> Vec<Option<f64>> {
        let tiers = self.system.tiers.iter().zip(&self.tiers);
        tiers.map(|(tier, shown)| shown.cores.map(|_| tier.utilization(mix, throughput))).collect()
    }
}

/// Counts as shares, 0..1.
pub(super) fn shares(counts: &[f64]) -> Vec<f64> {
    let all: f64 = counts.iter().sum();
    counts.iter().map(|count| if all > 0.0 { count / all } else { 0.0 }).collect()
}

/// Maximum work per exact solution, for a number of solutions.
pub(super) fn work_per_solution(solutions: usize) -> f64 {
    (4.0 * WORK_MAX / solutions.max(1) as f64).min(WORK_MAX)
}
