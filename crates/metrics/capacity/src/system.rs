//! A system of tiers that transactions of several types use: what a mix of them makes of it is a [`Network`].

use crate::network::{Network, NetworkError, Service, Solution, Station};

/// Share of a tier's capacity that something else may use at most; more would leave nothing.
pub const BACKGROUND_MAX: f64 = 0.95;

/// A tier, and what each transaction type demands of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Tier {
    /// Seconds a transaction of each type takes here in all its visits, ≥ 0, length `n`.
    pub demands_s: Vec<f64>,
    /// Share 0..1 of each demand that passes before the client has its answer, length `n`.
    pub answered: Vec<f64>,
    /// Load-balanced servers, ≥ 1.
    pub replicas: u32,
    /// How each of them serves.
    pub service: Service,
    /// Share 0..[`BACKGROUND_MAX`] of each server's capacity that is used beside the transactions.
    pub background: f64,
}

impl Tier {
    /// Mean demand of a mix in seconds; `shares` need not sum to 1.
    pub fn mean_demand_s(&self, shares: &[f64]) -> f64 {
        crate::front_demand(shares, &self.demands_s)
    }

    /// The same of stations visited before the response.
    fn mean_answered_s(&self, shares: &[f64]) -> f64 {
        let answered_s: Vec<f64> =
            self.demands_s.iter().zip(&self.answered).map(|(demand_s, share)| demand_s * share).collect();
        crate::front_demand(shares, &answered_s)
    }

    /// Utilization 0..1 of all cores at a throughput of a mix, with what runs beside; 0 for a delay.
    pub fn utilization(&self, shares: &[f64], throughput: f64) -> f64 {
        match self.service {
            Service::Delay => 0.0,
            Service::Queue { cores } => {
                let capacity = cores * f64::from(self.replicas);
                self.background + throughput * self.mean_demand_s(shares) / capacity
            }
        }
    }

    /// How it serves transactions: what runs beside takes its share of the cores.
    pub(crate) fn service_left(&self) -> Service {
        let available = 1.0 - self.background.clamp(0.0, BACKGROUND_MAX);
        match self.service {
            Service::Delay => Service::Delay,
            Service::Queue { cores } => Service::Queue { cores: cores * available },
        }
    }

    /// Share 0..1 of the demand of a mix that passes before the response.
    pub(crate) fn answered_share(&self, shares: &[f64]) -> f64 {
        let demand_s = self.mean_demand_s(shares);
        if demand_s > 0.0 { (self.mean_answered_s(shares) / demand_s).clamp(0.0, 1.0) } else { 1.0 }
    }

    fn station(&self, shares: &[f64]) -> Station {
        Station {
            demand_s: self.mean_demand_s(shares),
            replicas: self.replicas,
            service: self.service_left(),
            answered: self.answered_share(shares),
        }
    }
}

/// Tiers and the think time of their clients.
#[derive(Clone, PartialEq, Debug)]
pub struct System {
    /// The tiers.
    pub tiers: Vec<Tier>,
    /// Mean think time in seconds; 0 when it is unknown and only rates are of interest.
    pub think_s: f64,
}

impl System {
    /// The network that a mix makes of it.
    ///
    /// # Errors
    /// Those of [`Network::new`]; a mix without transactions has no demands.
    ///
    /// # Panics
    /// If there is not a share for each transaction type.
    pub fn network(&self, shares: &[f64]) -> Result<Network, NetworkError> {
        Network::new(self.tiers.iter().map(|tier| tier.station(shares)).collect(), self.think_s)
    }

    /// Mean response time of a transaction type in seconds, in a solution of this system's network with
    /// `shares`: under processor sharing all transactions at a tier are stretched by the same factor.
    pub fn response_s(&self, transaction: usize, shares: &[f64], solution: &Solution) -> f64 {
        let tiers = self.tiers.iter().zip(&solution.stations);
        tiers
            .map(|(tier, load)| {
                let answered_s = tier.demands_s[transaction] * tier.answered[transaction];
                answered_s * tier.stretch(shares, load.residence_s)
            })
            .sum()
    }
}

impl Tier {
    /// Residence time over demand, ≥ 1.
    pub fn stretch(&self, shares: &[f64], residence_s: f64) -> f64 {
        let demand_s = self.mean_demand_s(shares);
        if demand_s > 0.0 { residence_s / demand_s } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve;

    fn system() -> System {
        let cpu = |demands_s: [f64; 2], cores, background| Tier {
            demands_s: demands_s.to_vec(),
            answered: vec![0.5, 1.0],
            replicas: 1,
            service: Service::Queue { cores },
            background,
        };
        System { tiers: vec![cpu([0.01, 0.03], 1.0, 0.2), cpu([0.004, 0.0], 2.0, 0.0)], think_s: 1.0 }
    }

    /// Shares 3 : 1. Front demand (3·10 + 30)/4 = 15 ms on the 0.8 cores that are left, of which (3·5 + 30)/4 before the
    /// answer; behind it 3 ms, all of the type of which half passes before the answer.
    #[test]
    fn a_mix_makes_a_network() {
        let network = system().network(&[3.0, 1.0]).unwrap();
        assert_eq!(network.stations()[0], Station::cores(0.015, 0.8).answered(0.75));
        assert_eq!(network.stations()[1], Station::cores(0.003, 2.0).answered(0.5));
        assert!(system().network(&[0.0, 0.0]).is_err());
    }

    #[test]
    fn responses_by_type_average_to_that_of_the_mix() {
        let shares = [3.0, 1.0];
        let solution = solve(&system().network(&shares).unwrap(), 30, 1e9);
        let by_type = [0, 1].map(|index| system().response_s(index, &shares, &solution));
        let mean = (3.0 * by_type[0] + by_type[1]) / 4.0;
        assert!((mean / solution.response_s - 1.0).abs() < 1e-12);
        assert!(by_type[1] > by_type[0]);
    }

    #[test]
    fn utilization_includes_background_load() {
        // 20 % beside, and 20 a second of 15 ms.
        let used = system().tiers[0].utilization(&[3.0, 1.0], 20.0);
        assert!((used - 0.5).abs() < 1e-12);
    }
}
