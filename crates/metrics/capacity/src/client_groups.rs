//! Groups of clients with a mix and a think time of their own, that share the tiers of a system.

use crate::classes::{Class, ClassNetwork, ClassSolution, ClassStation};
use crate::network::{Algorithm, NetworkError, Service};
use crate::solve_classes::solve_classes_within;
use crate::system::System;

/// Maximum number of operations of one exact solution (about a tenth of a second); beyond, the Linearizer is used.
const EXACT_WORK_MAX: f64 = 2e7;

/// Clients with one mix and one think time.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientGroup {
    /// Number of clients.
    pub clients: u64,
    /// Their mean think time in seconds, ≥ 0.
    pub think_s: f64,
    /// Their mix: shares of the transaction types, ≥ 0, which need not sum to 1; length `n`.
    pub shares: Vec<f64>,
}

/// A group of clients at some load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GroupLoad {
    /// Number of clients.
    pub clients: u64,
    /// Transactions a second.
    pub throughput: f64,
    /// Mean response time in seconds; of a group without clients that of a first one.
    pub response_s: f64,
}

/// All groups together.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupsSolution {
    /// By group, in the order given.
    pub groups: Vec<GroupLoad>,
    /// Utilization 0..1 by tier with what runs beside; 0 for a delay.
    pub utilization: Vec<f64>,
    /// How it was computed.
    pub algorithm: Algorithm,
}

impl GroupsSolution {
    /// Whether every group with clients is within a mean response time.
    pub fn is_within(&self, response_s_max: f64) -> bool {
        self.groups.iter().all(|group| group.clients == 0 || group.response_s <= response_s_max)
    }
}

/// The most clients within a target, in the proportions of the groups.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupsCapacity {
    /// The groups there.
    pub solution: GroupsSolution,
    /// Whether the search ended at its limit: more are possible.
    pub at_limit: bool,
}

impl System {
    /// Throughput and response times of the groups, by multi-class mean value analysis (Reiser and Lavenberg 1980): exact where
    /// that takes little time, else by the Linearizer.
    ///
    /// # Errors
    /// A number out of range, or a group whose transactions take no time at all.
    ///
    /// # Panics
    /// If a group has not a share for each transaction type.
    pub fn solve_groups(&self, groups: &[ClientGroup]) -> Result<GroupsSolution, NetworkError> {
        let classes = groups.iter().map(|group| Class { clients: group.clients, think_s: group.think_s });
        let stations = self.tiers.iter().map(|tier| ClassStation {
            demands_s: groups.iter().map(|group| tier.mean_demand_s(&group.shares)).collect(),
            replicas: tier.replicas,
            service: tier.service_left(),
        });
        let network = ClassNetwork::new(classes.collect(), stations.collect())?;
        Ok(self.groups_solution(groups, &solve_classes_within(&network, EXACT_WORK_MAX)))
    }

    fn groups_solution(&self, groups: &[ClientGroup], solution: &ClassSolution) -> GroupsSolution {
        let load = |(index, group): (usize, &ClientGroup)| GroupLoad {
            clients: group.clients,
            throughput: solution.throughput[index],
            response_s: self
                .tiers
                .iter()
                .zip(&solution.stations)
                .map(|(tier, station)| tier.answered_share(&group.shares) * station[index].residence_s)
                .sum(),
        };
        let utilization = self.tiers.iter().map(|tier| match tier.service {
            Service::Delay => 0.0,
            Service::Queue { cores } => {
                let rates = groups.iter().zip(&solution.throughput);
                let used: f64 =
                    rates.map(|(group, throughput)| throughput * tier.mean_demand_s(&group.shares)).sum();
                tier.background + used / (cores * f64::from(tier.replicas))
            }
        });
        GroupsSolution {
            groups: groups.iter().enumerate().map(load).collect(),
            utilization: utilization.collect(),
            algorithm: solution.algorithm,
        }
    }

    /// The most clients with which every group stays within a mean response time, in the proportions of the groups, each rounded
    /// to whole clients. Response times grow with clients, so the number is found by doubling and halving.
    ///
    /// # Errors
    /// Those of [`System::solve_groups`].
    pub fn most_groups(
        &self,
        groups: &[ClientGroup],
        response_s_max: f64,
        clients_max: u64,
    ) -> Result<GroupsCapacity, NetworkError> {
        let all: u64 = groups.iter().map(|group| group.clients).sum();
        let scaled = |clients: u64| {
            let part = |group: &ClientGroup| {
                let share = group.clients as f64 / all.max(1) as f64;
                ClientGroup { clients: (share * clients as f64).round() as u64, ..group.clone() }
            };
            self.solve_groups(&groups.iter().map(part).collect::<Vec<_>>())
        };
        let (mut most, mut too_many) = (0, None);
        let mut best = scaled(0)?;
        let mut step = all.max(1);
        loop {
            let next = match too_many {
                None => (most + step).min(clients_max),
                Some(too_many) => most + (too_many - most) / 2,
            };
            if next == most {
                return Ok(GroupsCapacity { solution: best, at_limit: too_many.is_none() });
            }
            let solution = scaled(next)?;
            if solution.is_within(response_s_max) {
                (most, best) = (next, solution);
                step = step.saturating_mul(2);
            } else {
                too_many = Some(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tier, WORK_MAX, most_clients, solve};

    fn system() -> System {
        let cpu = |demands_s: [f64; 2], cores, background| Tier {
            demands_s: demands_s.to_vec(),
            answered: vec![1.0, 0.5],
            replicas: 1,
            service: Service::Queue { cores },
            background,
        };
        System { tiers: vec![cpu([0.01, 0.03], 1.0, 0.2), cpu([0.004, 0.001], 2.0, 0.0)], think_s: 1.0 }
    }

    fn group(clients: u64, shares: [f64; 2]) -> ClientGroup {
        ClientGroup { clients, think_s: 1.0, shares: shares.to_vec() }
    }

    /// Two groups with one mix are one group; exact values agree to rounding.
    #[test]
    fn groups_of_one_mix_are_one_group() {
        let shares = [3.0, 1.0];
        let single = solve(&system().network(&shares).unwrap(), 30, WORK_MAX);
        let two = system().solve_groups(&[group(20, shares), group(10, shares)]).unwrap();
        let throughput: f64 = two.groups.iter().map(|group| group.throughput).sum();
        assert!((throughput / single.throughput - 1.0).abs() < 0.02, "{throughput} {}", single.throughput);
        for group in &two.groups {
            assert!(
                (group.response_s / single.response_s - 1.0).abs() < 0.02,
                "{group:?} {}",
                single.response_s
            );
        }
        assert!((two.utilization[0] - system().tiers[0].utilization(&shares, throughput)).abs() < 1e-12);
        let most = system().most_groups(&[group(20, shares), group(10, shares)], 0.05, 10_000).unwrap();
        let clients: u64 = most.solution.groups.iter().map(|group| group.clients).sum();
        let alone = most_clients(&system().network(&shares).unwrap(), 0.05, 10_000, WORK_MAX).clients;
        assert!(clients.abs_diff(alone) <= 1, "{clients} {alone}");
    }

    /// 10 clients of 10 ms and 5 of 30 ms: alone each takes its own demand; together the expensive ones wait longest.
    #[test]
    fn each_group_has_its_own_response_time() {
        let first = system().solve_groups(&[group(1, [1.0, 0.0]), group(0, [0.0, 1.0])]).unwrap();
        // 10 ms on 0.8 of a core and 4 ms on two.
        assert!((first.groups[0].response_s - (0.01 / 0.8 + 0.004)).abs() < 1e-9, "{first:?}");
        let both = system().solve_groups(&[group(10, [1.0, 0.0]), group(5, [0.0, 1.0])]).unwrap();
        assert!(both.groups[0].response_s > first.groups[0].response_s);
        assert!(both.groups[1].response_s > both.groups[0].response_s);
    }

    #[test]
    fn the_slowest_group_decides_how_many_fit() {
        let groups = [group(30, [1.0, 0.0]), group(10, [0.0, 1.0])];
        let found = system().most_groups(&groups, 0.05, 10_000).unwrap();
        assert!(found.solution.is_within(0.05) && !found.at_limit);
        let clients: Vec<u64> = found.solution.groups.iter().map(|group| group.clients).collect();
        let share = clients[0] as f64 / (clients[0] + clients[1]) as f64;
        assert!((share - 0.75).abs() < 0.05, "{clients:?}");
        let more = [group(clients[0] + 3, [1.0, 0.0]), group(clients[1] + 1, [0.0, 1.0])];
        assert!(!system().solve_groups(&more).unwrap().is_within(0.05));
        assert!(system().most_groups(&groups, 0.05, 20).unwrap().at_limit);
        let none = system().most_groups(&groups, 0.001, 100).unwrap();
        assert!(none.solution.groups.iter().all(|group| group.clients == 0));
        assert!(system().solve_groups(&[ClientGroup { think_s: -1.0, ..groups[0].clone() }]).is_err());
    }
}
