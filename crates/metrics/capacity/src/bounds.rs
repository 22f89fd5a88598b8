//! Asymptotic bounds of throughput and response time.

use crate::network::{Network, Service, Station};

/// Asymptotes of throughput and response time (Denning and Buzen 1978).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Station that saturates first; `None` when nothing queues.
    pub bottleneck: Option<usize>,
    /// Most transactions a second, `1 / max(D/c)`; infinite when nothing queues.
    pub throughput_max: f64,
    /// Least response time in seconds, `ΣD` of stations visited before the response.
    pub response_min_s: f64,
    /// Clients at which the asymptotes cross, `N* = (Z + ΣD) / max(D/c)`: with more clients, some always wait. Infinite
    /// when nothing queues.
    pub knee_clients: f64,
}

/// The bounds of a network.
pub fn bounds(network: &Network) -> Bounds {
    let bottleneck = network.bottleneck();
    let throughput_max = bottleneck.map_or(f64::INFINITY, |station| network.stations()[station].saturation());
    let response_min_s = network.unqueued_s();
    Bounds {
        bottleneck,
        throughput_max,
        response_min_s,
        knee_clients: throughput_max * network.unqueued_cycle_s(),
    }
}

impl Bounds {
    /// Most throughput at a number of clients, `min(N/(Z + ΣD), 1/max(D/c))`.
    pub fn throughput_at_most(&self, network: &Network, clients: f64) -> f64 {
        (clients / network.unqueued_cycle_s()).min(self.throughput_max)
    }

    /// Least time inside in seconds at a number of clients, `max(ΣD, N·max(D/c) − Z)`: the response time, if all of it
    /// passes before the response.
    pub fn inside_at_least_s(&self, network: &Network, clients: f64) -> f64 {
        let unqueued_s = network.unqueued_cycle_s() - network.think_s();
        unqueued_s.max(clients / self.throughput_max - network.think_s())
    }

    /// Most clients that a mean response time of `target_s` can allow if all time inside passes before the response,
    /// `(target + Z) / max(D/c)`; infinite when nothing queues.
    pub fn clients_at_most(&self, network: &Network, target_s: f64) -> f64 {
        self.throughput_max * (target_s + network.think_s())
    }

    /// Least throughput at a number of clients: every other client is always ahead at every queue,
    /// `N / (Z + N·ΣD_queues + ΣD_delays)`.
    pub fn throughput_at_least(&self, network: &Network, clients: f64) -> f64 {
        let queued_s: f64 = network
            .stations()
            .iter()
            .filter(|station| matches!(station.service, Service::Queue { .. }))
            .map(Station::unqueued_s)
            .sum();
        clients / (network.unqueued_cycle_s() - queued_s + clients * queued_s)
    }
}
