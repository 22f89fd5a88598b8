//! A closed system of stations with one class of clients, and its solution.

use std::fmt;

/// Largest number of cores a station may have.
pub const CORES_MAX: f64 = 4096.0;

/// Largest number of load-balanced replicas a station may have.
pub const REPLICAS_MAX: u32 = 100_000;

/// How a station serves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Service {
    /// Without queueing: every client is served at once.
    Delay,
    /// One queue before so many cores. A CPU quota is a fraction: with 1.5 cores one client is served at full
    /// speed, two or more share 1.5.
    Queue {
        /// Cores, > 0.
        cores: f64,
    },
}

/// A station where clients spend time: a tier.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Station {
    /// Service demand of a transaction in seconds, visits times service time, summed over the replicas; ≥ 0.
    pub demand_s: f64,
    /// Replicas among which calls are balanced evenly, each with a queue of its own; ≥ 1.
    pub replicas: u32,
    /// How each of them serves.
    pub service: Service,
    /// Share 0..1 of the time spent here that passes before the client has its answer. The rest (objects that a
    /// page embeds, work after the answer) takes part in the competition, but not in the response time.
    pub answered: f64,
}

impl Station {
    /// One queue with one server.
    pub const fn queue(demand_s: f64) -> Station {
        Station::cores(demand_s, 1.0)
    }

    /// One queue before several cores.
    pub const fn cores(demand_s: f64, cores: f64) -> Station {
        Station { demand_s, replicas: 1, service: Service::Queue { cores }, answered: 1.0 }
    }

    /// A delay without queueing.
    pub const fn delay(demand_s: f64) -> Station {
        Station { demand_s, replicas: 1, service: Service::Delay, answered: 1.0 }
    }

    /// The same station as a number of load-balanced replicas.
    pub const fn replicated(self, replicas: u32) -> Station {
        Station { replicas, ..self }
    }

    /// The same station, of whose time only a share passes before the answer.
    pub const fn answered(self, answered: f64) -> Station {
        Station { answered, ..self }
    }

    /// Demand at one replica: a visit goes to each with the same chance.
    pub(crate) fn demand_per_replica_s(&self) -> f64 {
        self.demand_s / f64::from(self.replicas)
    }

    /// Transactions a second at which it saturates; infinite for a delay or without demand.
    pub fn saturation(&self) -> f64 {
        match self.service {
            Service::Queue { cores } if self.demand_s > 0.0 => {
                f64::from(self.replicas) * cores / self.demand_s
            }
            _ => f64::INFINITY,
        }
    }

    /// Time of a transaction that never waits, in seconds: its demand, longer where less than one core serves.
    pub fn unqueued_s(&self) -> f64 {
        match self.service {
            Service::Queue { cores } => self.demand_s / cores.min(1.0),
            Service::Delay => self.demand_s,
        }
    }

    /// Utilization 0..1 of all its cores at a throughput; 0 for a delay.
    pub fn utilization(&self, throughput: f64) -> f64 {
        match self.service {
            Service::Delay => 0.0,
            Service::Queue { cores } => throughput * self.demand_s / (cores * f64::from(self.replicas)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), NetworkError> {
        if !(self.demand_s >= 0.0 && self.demand_s.is_finite()) {
            return Err(NetworkError::Demand(self.demand_s));
        }
        if !(0.0..=1.0).contains(&self.answered) {
            return Err(NetworkError::Answered(self.answered));
        }
        check_servers(self.replicas, self.service)
    }
}

pub(crate) fn check_servers(replicas: u32, service: Service) -> Result<(), NetworkError> {
    if replicas == 0 || replicas > REPLICAS_MAX {
        return Err(NetworkError::Replicas(replicas));
    }
    match service {
        Service::Queue { cores } if !(cores > 0.0 && cores <= CORES_MAX) => Err(NetworkError::Cores(cores)),
        _ => Ok(()),
    }
}

/// Stations that a fixed number of clients go round, thinking in between.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    stations: Vec<Station>,
    think_s: f64,
}

impl Network {
    /// A network.
    ///
    /// # Errors
    /// Numbers out of range, or nothing that takes any time.
    pub fn new(stations: Vec<Station>, think_s: f64) -> Result<Network, NetworkError> {
        stations.iter().try_for_each(Station::check)?;
        if !(think_s >= 0.0 && think_s.is_finite()) {
            return Err(NetworkError::Think(think_s));
        }
        let cycle_s = think_s + stations.iter().map(|station| station.demand_s).sum::<f64>();
        if !(cycle_s > 0.0 && cycle_s.is_finite()) {
            return Err(NetworkError::Cycle(cycle_s));
        }
        Ok(Network { stations, think_s })
    }

    /// The stations, in the order given.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// Think time in seconds.
    pub fn think_s(&self) -> f64 {
        self.think_s
    }

    /// Response time in seconds without any queueing: the sum of the demands, as far as they pass before the
    /// answer.
    pub fn unqueued_s(&self) -> f64 {
        self.stations.iter().map(|station| station.answered * station.unqueued_s()).sum()
    }

    /// Time of a cycle in seconds without any queueing, think time included.
    pub fn unqueued_cycle_s(&self) -> f64 {
        self.think_s + self.stations.iter().map(Station::unqueued_s).sum::<f64>()
    }

    /// Response time: residence times as far as they pass before the answer.
    pub(crate) fn response_s(&self, loads: &[StationLoad]) -> f64 {
        self.stations.iter().zip(loads).map(|(station, load)| station.answered * load.residence_s).sum()
    }

    /// The station that saturates first (the first of equal ones), `argmax D/c`; `None` when none queues.
    pub fn bottleneck(&self) -> Option<usize> {
        let mut bottleneck = None;
        let mut lowest = f64::INFINITY;
        for (index, station) in self.stations.iter().enumerate() {
            if station.saturation() < lowest {
                lowest = station.saturation();
                bottleneck = Some(index);
            }
        }
        bottleneck
    }
}

/// Why a network is invalid.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NetworkError {
    /// A demand is negative or not finite.
    Demand(f64),
    /// The think time is negative or not finite.
    Think(f64),
    /// Cores are not above 0 and at most [`CORES_MAX`].
    Cores(f64),
    /// Replicas are not 1 to [`REPLICAS_MAX`].
    Replicas(u32),
    /// The share before the answer is not 0..1.
    Answered(f64),
    /// Think time and demands together are 0 or not finite.
    Cycle(f64),
    /// A station does not have one demand for each class.
    Classes,
}

impl fmt::Display for NetworkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::Demand(got) => write!(out, "a demand of {got} s; demands are 0 or more"),
            NetworkError::Think(got) => write!(out, "a think time of {got} s; it is 0 or more"),
            NetworkError::Cores(got) => write!(out, "{got} cores; they are above 0 and at most {CORES_MAX}"),
            NetworkError::Replicas(got) => write!(out, "{got} servers; there are 1 to {REPLICAS_MAX}"),
            NetworkError::Answered(got) => write!(out, "a share of {got} before the answer; it is 0 to 1"),
            NetworkError::Cycle(got) => {
                write!(out, "think time and demands sum to {got} s; something has to take time")
            }
            NetworkError::Classes => write!(out, "every station needs one demand for each class"),
        }
    }
}

impl std::error::Error for NetworkError {}

/// How a solution was computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Exact mean value analysis (Reiser and Lavenberg 1980): queues with one server, and delays.
    Exact,
    /// Exact mean value analysis with queues before several cores; the chance of an idle queue comes from
    /// normalizing constants (Reiser 1981), which does not cancel near saturation.
    ExactLoadDependent,
    /// Exact, by normalizing constants over population vectors.
    ExactConvolution,
    /// The Linearizer (Chandy and Neuse 1982), with Erlang's shape for queues before several cores; within 4 % of
    /// exact response times wherever it was compared, mostly within 1 %.
    Linearizer,
    /// Schweitzer's and Bard's fixed point (1979); response times can be 25 % off near the knee.
    Schweitzer,
    /// Open model: requests arrive at random at a given rate, whatever the response time.
    Open,
}

impl Algorithm {
    /// The name to print.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Exact => "exact mean value analysis",
            Algorithm::ExactLoadDependent => "exact mean value analysis, load-dependent",
            Algorithm::ExactConvolution => "exact, normalizing constants",
            Algorithm::Linearizer => "Linearizer (approximate)",
            Algorithm::Schweitzer => "Schweitzer (approximate)",
            Algorithm::Open => "open model",
        }
    }

    /// Whether it is exact for the model.
    pub const fn is_exact(self) -> bool {
        matches!(self, Algorithm::Exact | Algorithm::ExactLoadDependent | Algorithm::ExactConvolution)
    }
}

/// Steady state of a network with a number of clients: throughput, response times, and queues.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    /// Clients `N`.
    pub clients: f64,
    /// Transactions a second `X`.
    pub throughput: f64,
    /// Mean response time `R` in seconds, think time not included.
    pub response_s: f64,
    /// By station, in the network's order.
    pub stations: Vec<StationLoad>,
    /// How it was computed.
    pub algorithm: Algorithm,
}

/// One station of a solution, all replicas together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StationLoad {
    /// Time a transaction spends here in all its visits, waiting included, in seconds.
    pub residence_s: f64,
    /// Mean number of clients here.
    pub clients: f64,
    /// Utilization 0..1 of its cores; 0 for a delay.
    pub utilization: f64,
}
