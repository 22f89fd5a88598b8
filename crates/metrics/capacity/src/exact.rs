//! Exact mean value analysis of one class (Reiser and Lavenberg 1980), with queues before several cores.

use crate::constants::Constants;
use crate::network::{Algorithm, Network, Service, Solution, StationLoad};

/// Solutions at 1, 2, 3 … clients, each from the one before.
///
/// A step costs a few operations a station and, for every station with several cores, as many as there are cores
/// in the whole network. See [`ExactMva::step_cost`].
#[derive(Clone, Debug)]
pub struct ExactMva<'a> {
    network: &'a Network,
    states: Vec<StationState>,
    solution: Solution,
}

/// State of a station in the recursion.
#[derive(Clone, Debug)]
enum StationState {
    /// Nothing queues.
    Delay,
    /// One core (or a fraction): the mean queue suffices.
    Single { cores: f64 },
    /// Several cores: the probabilities of 0, 1, … clients while a core is idle for the next arrival.
    Several { cores: f64, idle: Vec<f64>, others: Constants },
}

impl<'a> ExactMva<'a> {
    /// Before the first client.
    pub fn new(network: &'a Network) -> ExactMva<'a> {
        let stations = network.stations();
        let states: Vec<StationState> =
            (0..stations.len()).map(|index| StationState::new(network, index)).collect();
        let algorithm = match states.iter().any(|state| matches!(state, StationState::Several { .. })) {
            true => Algorithm::ExactLoadDependent,
            false => Algorithm::Exact,
        };
        let solution = Solution {
            clients: 0.0,
            throughput: 0.0,
            response_s: network.unqueued_s(),
            stations: vec![StationLoad::default(); stations.len()],
            algorithm,
        };
        ExactMva { network, states, solution }
    }

    /// Multiplications a step takes, roughly.
    pub fn step_cost(network: &Network) -> f64 {
        let single = network.stations().len() as f64;
        let (mut all, mut several) = (0.0, 0.0);
        for station in network.stations() {
            if let Service::Queue { cores } = station.service {
                all += f64::from(station.replicas) * cores.ceil();
                several += f64::from(u8::from(cores > 1.0));
            }
        }
        8.0 * single + 2.0 * several * all
    }

    /// The solution with one client more.
    pub fn step(&mut self) -> &Solution {
        let clients = self.solution.clients + 1.0;
        let mut inside_s = 0.0;
        for (index, state) in self.states.iter().enumerate() {
            let station = &self.network.stations()[index];
            let load = &mut self.solution.stations[index];
            let replicas = f64::from(station.replicas);
            let queue = load.clients / replicas;
            load.residence_s = replicas * state.residence_s(station.demand_per_replica_s(), queue);
            inside_s += load.residence_s;
        }
        let throughput = clients / (self.network.think_s() + inside_s);
        for (index, state) in self.states.iter_mut().enumerate() {
            let station = &self.network.stations()[index];
            let load = &mut self.solution.stations[index];
            load.clients = throughput * load.residence_s;
            load.utilization = station.utilization(throughput);
            state.advance(station.demand_per_replica_s() * throughput, throughput);
        }
        self.solution.clients = clients;
        self.solution.throughput = throughput;
        self.solution.response_s = self.network.response_s(&self.solution.stations);
        &self.solution
    }

    /// The solution at a population, which must be at least the present one.
    pub fn advance_to(&mut self, clients: u64) -> &Solution {
        while self.solution.clients < clients as f64 {
            self.step();
        }
        &self.solution
    }

    /// The current solution; at 0 clients, the response time of a first one.
    pub fn solution(&self) -> &Solution {
        &self.solution
    }
}

impl StationState {
    fn new(network: &Network, index: usize) -> StationState {
        let station = &network.stations()[index];
        match station.service {
            Service::Delay => StationState::Delay,
            Service::Queue { cores } if cores <= 1.0 || station.demand_s == 0.0 => {
                StationState::Single { cores }
            }
            Service::Queue { cores } => {
                let mut idle = vec![0.0; cores.ceil() as usize - 1];
                idle[0] = 1.0;
                StationState::Several { cores, idle, others: Constants::without_replica(network, index) }
            }
        }
    }

    /// Residence time at one replica of demand `demand_s`, whose queue was `queue` with one client less.
    fn residence_s(&self, demand_s: f64, queue: f64) -> f64 {
        match self {
            StationState::Delay => demand_s,
            StationState::Single { cores } => demand_s / cores * (1.0 + queue),
            StationState::Several { cores, idle, .. } => {
                // Σ_j (j/min(j, c)) p(j−1), including idle cores, for which a client does not wait.
                let spare: f64 =
                    (0..).zip(idle).map(|(j, chance)| (cores - 1.0 - f64::from(j)) * chance).sum();
                demand_s / cores * (1.0 + queue + spare)
            }
        }
    }

    /// Updates the probabilities of idle cores for one more client; `busy` is the mean number of busy cores of a
    /// replica.
    fn advance(&mut self, busy: f64, throughput: f64) {
        let StationState::Several { idle, others, .. } = self else { return };
        for j in (1..idle.len()).rev() {
            idle[j] = idle[j - 1] * busy / j as f64;
        }
        // p(0|N) = p(0|N−1)·X(N)/X⁻(N) with X⁻ of the network without this replica (Reiser 1981): a product,
        // where 1 − Σ p(j|N) cancels.
        idle[0] *= (throughput / others.next_throughput()).min(1.0);
    }
}
