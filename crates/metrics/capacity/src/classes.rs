//! Several classes of clients, each with its own number, think time and demands.

use crate::network::{Algorithm, NetworkError, Service, StationLoad, check_servers};

/// Clients of one kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// Number of clients.
    pub clients: u64,
    /// Their think time in seconds.
    pub think_s: f64,
}

/// A station that classes use differently. Queues are shared fairly among those present (processor sharing).
#[derive(Clone, PartialEq, Debug)]
pub struct ClassStation {
    /// Demand of a transaction of each class in seconds, over all replicas.
    pub demands_s: Vec<f64>,
    /// Load-balanced replicas, ≥ 1.
    pub replicas: u32,
    /// How each of them serves.
    pub service: Service,
}

/// A closed network with several classes.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassNetwork {
    classes: Vec<Class>,
    stations: Vec<ClassStation>,
}

impl ClassNetwork {
    /// A network.
    ///
    /// # Errors
    /// Numbers out of range, or a class for which nothing takes any time.
    pub fn new(classes: Vec<Class>, stations: Vec<ClassStation>) -> Result<ClassNetwork, NetworkError> {
        let mut cycles_s = Vec::new();
        for class in &classes {
            if !(class.think_s >= 0.0 && class.think_s.is_finite()) {
                return Err(NetworkError::Think(class.think_s));
            }
            cycles_s.push(class.think_s);
        }
        for station in &stations {
            station.check(classes.len())?;
            cycles_s.iter_mut().zip(&station.demands_s).for_each(|(cycle_s, demand_s)| *cycle_s += demand_s);
        }
        match cycles_s.iter().find(|cycle_s| !(**cycle_s > 0.0 && cycle_s.is_finite())) {
            Some(&cycle_s) => Err(NetworkError::Cycle(cycle_s)),
            None => Ok(ClassNetwork { classes, stations }),
        }
    }

    /// The classes, in the order given.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The stations, in the order given.
    pub fn stations(&self) -> &[ClassStation] {
        &self.stations
    }
}

impl ClassStation {
    fn check(&self, classes: usize) -> Result<(), NetworkError> {
        if self.demands_s.len() != classes {
            return Err(NetworkError::Classes);
        }
        match self.demands_s.iter().find(|demand_s| !(**demand_s >= 0.0 && demand_s.is_finite())) {
            Some(&demand_s) => Err(NetworkError::Demand(demand_s)),
            None => check_servers(self.replicas, self.service),
        }
    }

    /// Demand of a class at one replica.
    pub(crate) fn demand_per_replica_s(&self, class: usize) -> f64 {
        self.demands_s[class] / f64::from(self.replicas)
    }

    pub(crate) fn cores(&self) -> Option<f64> {
        match self.service {
            Service::Delay => None,
            Service::Queue { cores } => Some(cores),
        }
    }
}

/// The long-run behavior of a network with classes.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassSolution {
    /// Transactions a second by class.
    pub throughput: Vec<f64>,
    /// Mean response time in seconds by class; for a class without clients, that of a first one.
    pub response_s: Vec<f64>,
    /// By station, then by class. The utilization is the class's part.
    pub stations: Vec<Vec<StationLoad>>,
    /// How it was computed.
    pub algorithm: Algorithm,
}

impl ClassSolution {
    /// From the residence times by station and class: Little's law gives the rest.
    pub(crate) fn from_residences(
        network: &ClassNetwork,
        residence_s: &[Vec<f64>],
        algorithm: Algorithm,
    ) -> ClassSolution {
        let classes = network.classes.len();
        let response_s: Vec<f64> =
            (0..classes).map(|class| residence_s.iter().map(|station| station[class]).sum()).collect();
        let throughput: Vec<f64> = network
            .classes
            .iter()
            .zip(&response_s)
            .map(|(class, response_s)| class.clients as f64 / (class.think_s + response_s))
            .collect();
        let stations = network
            .stations
            .iter()
            .zip(residence_s)
            .map(|(station, residence_s)| station.loads(&throughput, residence_s))
            .collect();
        ClassSolution { throughput, response_s, stations, algorithm }
    }
}

impl ClassStation {
    fn loads(&self, throughput: &[f64], residence_s: &[f64]) -> Vec<StationLoad> {
        let capacity = self.cores().map(|cores| cores * f64::from(self.replicas));
        let load = |class: usize| StationLoad {
            residence_s: residence_s[class],
            clients: throughput[class] * residence_s[class],
            utilization: capacity.map_or(0.0, |cores| throughput[class] * self.demands_s[class] / cores),
        };
        (0..throughput.len()).map(load).collect()
    }
}
