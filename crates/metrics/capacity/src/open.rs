//! The open model: requests arrive at random at a given rate, whatever the response time. For systems whose
//! number of clients and think time are unknown.

use crate::idle::RandomArrivals;
use crate::network::{Algorithm, Network, Service, Solution, Station, StationLoad};

/// The solution at `rate` transactions a second; `None` from saturation on. Think time plays no part;
/// `clients` are those inside.
pub fn open_solution(network: &Network, rate: f64) -> Option<Solution> {
    let mut stations = Vec::new();
    for station in network.stations() {
        stations.push(open_load(station, rate)?);
    }
    let response_s = network.response_s(&stations);
    let clients = stations.iter().map(|load| load.clients).sum();
    Some(Solution { clients, throughput: rate, response_s, stations, algorithm: Algorithm::Open })
}

fn open_load(station: &Station, rate: f64) -> Option<StationLoad> {
    let utilization = station.utilization(rate);
    let Service::Queue { cores } = station.service else {
        let residence_s = station.demand_s;
        return Some(StationLoad { residence_s, clients: rate * residence_s, utilization });
    };
    if utilization >= 1.0 {
        return None;
    }
    let busy = rate * station.demand_per_replica_s();
    if busy <= 0.0 {
        return Some(StationLoad { residence_s: station.unqueued_s(), clients: 0.0, utilization });
    }
    let clients = f64::from(station.replicas) * RandomArrivals::new(busy, cores).clients;
    Some(StationLoad { residence_s: clients / rate, clients, utilization })
}

/// The largest rate at which the mean response time is at most `target_s`, with its solution; `None` when even a
/// request alone takes longer. `None` also without any queue, because the rate would be infinite.
pub fn most_throughput(network: &Network, target_s: f64) -> Option<Solution> {
    let saturation = network.stations().iter().map(Station::saturation).fold(f64::INFINITY, f64::min);
    if network.unqueued_s() > target_s || !saturation.is_finite() {
        return None;
    }
    let (mut good, mut bad) = (0.0, saturation);
    // 60 halvings are as fine as the numbers are.
    for _ in 0..60 {
        let rate = 0.5 * (good + bad);
        match open_solution(network, rate) {
            Some(solution) if solution.response_s <= target_s => good = rate,
            _ => bad = rate,
        }
    }
    open_solution(network, good)
}

/// Erlang's C: the chance that a request has to wait before `cores` cores of which `busy` are busy on average;
/// 1 from saturation on.
pub fn erlang_c(cores: u32, busy: f64) -> f64 {
    if cores == 0 {
        return 1.0;
    }
    RandomArrivals::new(busy, f64::from(cores)).wait
}
