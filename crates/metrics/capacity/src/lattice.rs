//! Exact mean value analysis over all population vectors (Reiser and Lavenberg 1980): several classes, queues with
//! one server.

use crate::classes::{ClassNetwork, ClassSolution};
use crate::network::{Algorithm, Service};

/// Maximum number of stored values: 80 MB.
const NUMBERS_MAX: f64 = 1e7;

/// Population vectors `0 ≤ n ≤ N`, numbered so that every vector comes after those below it.
#[derive(Clone, Debug)]
pub(crate) struct PopulationVectors {
    /// Most clients of each class.
    pub(crate) most: Vec<usize>,
    /// Difference of index for one more client of a class.
    pub(crate) step: Vec<usize>,
    /// Number of clients.
    pub(crate) count: usize,
}

impl PopulationVectors {
    pub(crate) fn new(network: &ClassNetwork) -> PopulationVectors {
        let most: Vec<usize> = network.classes().iter().map(|class| class.clients as usize).collect();
        let mut step = Vec::new();
        let mut count = 1;
        for clients in &most {
            step.push(count);
            count *= clients + 1;
        }
        PopulationVectors { most, step, count }
    }

    /// How many there would be, in a number that cannot overflow.
    pub(crate) fn count_of(network: &ClassNetwork) -> f64 {
        network.classes().iter().map(|class| class.clients as f64 + 1.0).product()
    }

    /// The next vector in order; `clients` is the present one.
    pub(crate) fn advance(&self, clients: &mut [usize]) {
        for (count, most) in clients.iter_mut().zip(&self.most) {
            if *count < *most {
                *count += 1;
                return;
            }
            *count = 0;
        }
    }
}

/// Operations it takes; infinite when it would not fit into memory.
pub(crate) fn lattice_cost(network: &ClassNetwork) -> f64 {
    let stored_numbers = PopulationVectors::count_of(network) * network.stations().len() as f64;
    if stored_numbers > NUMBERS_MAX {
        f64::INFINITY
    } else {
        4.0 * stored_numbers * network.classes().len() as f64
    }
}

/// Solves it. Every queue has at most one core.
pub(crate) fn lattice(network: &ClassNetwork) -> ClassSolution {
    let vectors = PopulationVectors::new(network);
    let stations = network.stations().len();
    // Mean clients at each station, by population vector.
    let mut queues = vec![0.0; vectors.count * stations];
    let mut clients = vec![0; vectors.most.len()];
    let mut residence_s = vec![vec![0.0; clients.len()]; stations];
    for vector in 1..vectors.count {
        vectors.advance(&mut clients);
        for class in (0..clients.len()).filter(|class| clients[*class] > 0) {
            let first_queue = (vector - vectors.step[class]) * stations;
            let response_s =
                residences(network, class, &queues[first_queue..first_queue + stations], &mut residence_s);
            let throughput = clients[class] as f64 / (network.classes()[class].think_s + response_s);
            for (station, residence_s) in residence_s.iter().enumerate() {
                queues[vector * stations + station] += throughput * residence_s[class];
            }
        }
    }
    // A class without clients gets the values of its first client, which finds all others.
    let all = &queues[(vectors.count - 1) * stations..];
    for class in (0..clients.len()).filter(|class| vectors.most[*class] == 0) {
        residences(network, class, all, &mut residence_s);
    }
    ClassSolution::from_residences(network, &residence_s, Algorithm::Exact)
}

/// Residence times of a class that finds `queues`; returns their sum, the response time in seconds.
fn residences(network: &ClassNetwork, class: usize, queues: &[f64], residence_s: &mut [Vec<f64>]) -> f64 {
    let mut response_s = 0.0;
    for ((station, queue), residence_s) in network.stations().iter().zip(queues).zip(residence_s) {
        residence_s[class] = match station.service {
            Service::Delay => station.demands_s[class],
            Service::Queue { cores } => {
                station.demands_s[class] / cores * (1.0 + queue / f64::from(station.replicas))
            }
        };
        response_s += residence_s[class];
    }
    response_s
}
