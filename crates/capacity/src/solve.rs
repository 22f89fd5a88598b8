//! Solutions at given populations, and the largest population within a latency target.

use crate::bounds::bounds;
use crate::classes::{Class, ClassNetwork, ClassStation, solve_classes_by};
use crate::exact::ExactMva;
use crate::network::{Algorithm, Network, Solution, StationLoad};

/// Multiplications an exact solution may take, about a quarter of a second; beyond, the Linearizer answers.
pub const WORK_MAX: f64 = 2.5e8;

/// The solution at a population: exact when that takes at most `work_max` multiplications, else the Linearizer's.
pub fn solve(network: &Network, clients: u64, work_max: f64) -> Solution {
    if is_exact(network, clients as f64, work_max) {
        return ExactMva::new(network).advance_to(clients).clone();
    }
    approximate(network, clients)
}

/// The solution at a mean population that is no whole number: between the neighbours, in proportion.
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
    let one = |station: &crate::Station| ClassStation {
        demands_s: vec![station.demand_s],
        replicas: station.replicas,
        service: station.service,
    };
    let stations = network.stations().iter().map(one).collect();
    let class = Class { clients, think_s: network.think_s() };
    let classes = ClassNetwork::new(vec![class], stations).expect("a network of one class was checked");
    let solution = solve_classes_by(&classes, Algorithm::Linearizer);
    Solution {
        clients: clients as f64,
        throughput: solution.throughput[0],
        response_s: solution.response_s[0],
        stations: solution.stations.iter().map(|classes| classes[0]).collect(),
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
    let most = bounds(network).clients_at_most(network, target_s).min(clients_max as f64).max(1.0);
    match is_exact(network, most, work_max) {
        true => most_by_steps(network, target_s, clients_max),
        false => most_by_halving(network, target_s, clients_max, most.ceil() as u64 + 1),
    }
}

fn most_by_steps(network: &Network, target_s: f64, clients_max: u64) -> Capacity {
    let mut exact = ExactMva::new(network);
    let mut solution = exact.solution().clone();
    for clients in 1..=clients_max {
        let next = exact.step();
        if next.response_s > target_s {
            return Capacity { clients: clients - 1, solution, at_limit: false };
        }
        solution.clone_from(next);
    }
    Capacity { clients: clients_max, solution, at_limit: true }
}

fn most_by_halving(network: &Network, target_s: f64, clients_max: u64, above: u64) -> Capacity {
    let (mut good, mut bad) = (0, above.min(clients_max.saturating_add(1)));
    let mut solution = ExactMva::new(network).solution().clone();
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let next = approximate(network, middle);
        match next.response_s <= target_s {
            true => (good, solution) = (middle, next),
            false => bad = middle,
        }
    }
    Capacity { clients: good, solution, at_limit: good == clients_max }
}
