//! Solutions at given populations, and the largest population within a latency target.

use crate::classes::{Class, ClassNetwork, ClassStation};
use crate::exact::ExactMva;
use crate::network::{Algorithm, Network, Solution, StationLoad};
use crate::solve_classes::solve_classes_by;

// Limit: multiplications of an exact capacity model | the Linearizer; a caution
/// Multiplications an exact solution may take, about a quarter of a second; beyond, the Linearizer answers.
pub const WORK_MAX: f64 = 2.5e8;

/// The solution at a population: exact when that takes at most `work_max` multiplications, else the Linearizer's.
pub fn solve(network: &Network, clients: u64, work_max: f64) -> Solution {
    if is_exact(network, clients as f64, work_max) {
        return ExactMva::new(network).advance_to(clients).clone();
    }
    approximate(network, clients)
}

/// The solution at a mean population that is no whole number: between the neighbors, in proportion.
///
/// # Panics
/// If `clients` is negative or not a number.
pub fn solve_fractional(network: &Network, clients: f64, work_max: f64) -> Solution {
    assert!(clients >= 0.0, "{clients} clients");
    let below = clients.floor();
    let low = solve(network, below as u64, work_max);
    if clients == below {
        return low;
    }
    between(&low, &solve(network, below as u64 + 1, work_max), clients - below)
}

fn between(low: &Solution, high: &Solution, weight: f64) -> Solution {
    let mix = |low: f64, high: f64| low + weight * (high - low);
    let stations = low.stations.iter().zip(&high.stations).map(|(low, high)| StationLoad {
        residence_s: mix(low.residence_s, high.residence_s),
        clients: mix(low.clients, high.clients),
        utilization: mix(low.utilization, high.utilization),
    });
    Solution {
        clients: mix(low.clients, high.clients),
        throughput: mix(low.throughput, high.throughput),
        response_s: mix(low.response_s, high.response_s),
        stations: stations.collect(),
        algorithm: high.algorithm,
    }
}

/// Solutions at several populations, which must not decrease: one pass for all of them.
pub fn curve(network: &Network, clients: &[u64], work_max: f64) -> Vec<Solution> {
    let last = clients.last().copied().unwrap_or(0);
    if is_exact(network, last as f64, work_max) {
        let mut exact = ExactMva::new(network);
        return clients.iter().map(|clients| exact.advance_to(*clients).clone()).collect();
    }
    clients.iter().map(|clients| approximate(network, *clients)).collect()
}

fn is_exact(network: &Network, clients: f64, work_max: f64) -> bool {
    clients * ExactMva::step_cost(network) <= work_max
}

fn approximate(network: &Network, clients: u64) -> Solution {
    let class_station = |station: &crate::Station| ClassStation {
        demands_s: vec![station.demand_s],
        replicas: station.replicas,
        service: station.service,
    };
    let stations = network.stations().iter().map(class_station).collect();
    let class = Class { clients, think_s: network.think_s() };
    let classes = ClassNetwork::new(vec![class], stations).expect("a network of one class was checked");
    let solution = solve_classes_by(&classes, Algorithm::Linearizer);
    let stations: Vec<StationLoad> = solution.stations.iter().map(|classes| classes[0]).collect();
    Solution {
        clients: clients as f64,
        throughput: solution.throughput[0],
        response_s: network.response_s(&stations),
        stations,
        algorithm: solution.algorithm,
    }
}

/// How many clients a network can take.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// Most clients whose mean response time is within the target; 0 when even one waits too long.
    pub clients: u64,
    /// The solution at that population.
    pub solution: Solution,
    /// Whether the search ended at its limit, with the target still met.
    pub at_limit: bool,
}

/// The largest population of at most `clients_max` whose mean response time is at most `target_s` seconds; think
/// time is not part of it. Response time grows with the population, so this is one well-defined number.
pub fn most_clients(network: &Network, target_s: f64, clients_max: u64, work_max: f64) -> Capacity {
    let steps = ((work_max / ExactMva::step_cost(network)) as u64).min(clients_max);
    let mut exact = ExactMva::new(network);
    let mut solution = exact.solution().clone();
    for clients in 1..=steps {
        let next = exact.step();
        if next.response_s > target_s {
            return Capacity { clients: clients - 1, solution, at_limit: false };
        }
        solution.clone_from(next);
    }
    match steps == clients_max {
        true => Capacity { clients: clients_max, solution, at_limit: true },
        false => beyond(network, target_s, clients_max, (steps, solution)),
    }
}

/// Goes on where exact steps take too long: doubles, then halves the distance.
fn beyond(network: &Network, target_s: f64, clients_max: u64, known: (u64, Solution)) -> Capacity {
    let (mut good, mut solution) = known;
    let mut bad = clients_max.saturating_add(1);
    let mut step = good.max(1);
    while bad - good > 1 {
        let clients =
            if bad > clients_max { (good + step).min(clients_max) } else { good + (bad - good) / 2 };
        let next = approximate(network, clients);
        match next.response_s <= target_s {
            true => (good, solution) = (clients, next),
            false => bad = clients,
        }
        step = step.saturating_mul(2);
    }
    Capacity { clients: good, solution, at_limit: good == clients_max }
}
