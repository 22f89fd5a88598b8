//! Exact solution of several classes with queues before several cores: normalizing constants over population
//! vectors, as logarithms.
//!
//! With `y = Σ d(c)·z(c)` the generating function of a queue before `c` cores is `F(y) = Σ yʲ / Π min(i, c)`, and
//! the constants of a network are the coefficients of the product over its stations. Multiplication with `y` and
//! division by `1 − y/c` are sweeps over the vectors; every term is positive, nothing cancels. A class's mean
//! number at a station comes from `z ∂F/∂z = d·z·F′(y)`.

use crate::classes::{ClassNetwork, ClassSolution, ClassStation};
use crate::lattice::PopulationVectors;
use crate::network::{Algorithm, Service};

/// Maximum number of stored population vectors: a few arrays of 16 MB.
const VECTORS_MAX: f64 = 2e6;

/// One logarithm and exponential, in multiplications.
const LOGARITHM_COST: f64 = 12.0;

/// Operations it takes; infinite when it would not fit into memory.
pub(crate) fn log_lattice_cost(network: &ClassNetwork) -> f64 {
    let vectors = PopulationVectors::count_of(network);
    if vectors > VECTORS_MAX {
        return f64::INFINITY;
    }
    let cores = |station: &ClassStation| station.cores().map_or(0.0, f64::ceil) * f64::from(station.replicas);
    let all: f64 = network.stations().iter().map(cores).sum();
    let several =
        network.stations().iter().filter(|station| station.cores().is_some_and(|cores| cores > 1.0));
    let sweeps: f64 = all + several.map(|station| all + 3.0 * station.cores().unwrap_or(0.0)).sum::<f64>();
    LOGARITHM_COST * vectors * (network.classes().len() as f64 + 1.0) * sweeps
}

/// Solves it.
pub(crate) fn log_lattice(network: &ClassNetwork) -> ClassSolution {
    let sweep =
        ConvolutionSweep { vectors: PopulationVectors::new(network), classes: network.classes().len() };
    let everything = sweep.constants(network, None);
    let mut residence_s = Vec::new();
    for (index, station) in network.stations().iter().enumerate() {
        residence_s.push(sweep.residences(network, station, index, &everything));
    }
    ClassSolution::from_residences(network, &residence_s, Algorithm::ExactConvolution)
}

struct ConvolutionSweep {
    vectors: PopulationVectors,
    classes: usize,
}

/// Logarithms, one a population vector; `-∞` is zero.
type LogConstants = Vec<f64>;

impl ConvolutionSweep {
    /// Constants of the network without one replica of station `left_out`.
    fn constants(&self, network: &ClassNetwork, left_out: Option<usize>) -> LogConstants {
        let mut logs = self.delays(network);
        for (index, station) in network.stations().iter().enumerate() {
            let Some(cores) = station.cores() else { continue };
            let demand = demand_logs(station);
            let replicas = station.replicas - u32::from(left_out == Some(index));
            for _ in 0..replicas {
                logs = self.polynomial(&logs, &demand, &entry_weights(cores));
                self.divide(&mut logs, &demand, cores);
            }
        }
        logs
    }

    /// Constants of think times and delays alone, `Π T(c)ⁿ / n!`.
    fn delays(&self, network: &ClassNetwork) -> LogConstants {
        let delay_s = |class: usize| {
            let stations = network.stations().iter().filter(|station| station.service == Service::Delay);
            network.classes()[class].think_s + stations.map(|station| station.demands_s[class]).sum::<f64>()
        };
        let logs_s: Vec<f64> = (0..self.classes).map(|class| delay_s(class).ln()).collect();
        let mut logs = vec![0.0; self.vectors.count];
        let mut clients = vec![0; self.classes];
        for index in 1..self.vectors.count {
            self.vectors.advance(&mut clients);
            let class = clients.iter().position(|count| *count > 0).expect("only vector 0 is empty");
            logs[index] =
                logs[index - self.vectors.step[class]] + logs_s[class] - (clients[class] as f64).ln();
        }
        logs
    }

    /// Divides by `1 − y/cores`, in place.
    fn divide(&self, logs: &mut LogConstants, demand: &[f64], cores: f64) {
        let weights: Vec<f64> = demand.iter().map(|log| log - cores.ln()).collect();
        let mut clients = vec![0; self.classes];
        for index in 1..self.vectors.count {
            self.vectors.advance(&mut clients);
            logs[index] = self.log_sum(logs[index], logs, &weights, &clients, index);
        }
    }

    /// Multiplies by `Σ weights(j)·yʲ`, by Horner's rule.
    fn polynomial(&self, logs: &LogConstants, demand: &[f64], weights: &[f64]) -> LogConstants {
        let (last, others) = weights.split_last().expect("a polynomial has a constant");
        let mut sum: LogConstants = logs.iter().map(|log| log + last.ln()).collect();
        for weight in others.iter().rev() {
            let mut next = vec![0.0; sum.len()];
            let mut clients = vec![0; self.classes];
            for index in 0..sum.len() {
                if index > 0 {
                    self.vectors.advance(&mut clients);
                }
                next[index] = self.log_sum(logs[index] + weight.ln(), &sum, demand, &clients, index);
            }
            sum = next;
        }
        sum
    }

    /// Logarithm of `e^first + Σ e^(weight(c) + logs(n − 1_c))`.
    fn log_sum(
        &self,
        first: f64,
        logs: &LogConstants,
        weights: &[f64],
        clients: &[usize],
        index: usize,
    ) -> f64 {
        let term = |class: usize| match clients[class] {
            0 => f64::NEG_INFINITY,
            _ => weights[class] + logs[index - self.vectors.step[class]],
        };
        let largest = (0..self.classes).map(term).fold(first, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        let sum: f64 = (first - largest).exp()
            + (0..self.classes).map(|class| (term(class) - largest).exp()).sum::<f64>();
        largest + sum.ln()
    }

    /// Residence time of each class at a station, all replicas: `d·[F′(y)·G⁻](n) / G(n)` at what it finds.
    fn residences(
        &self,
        network: &ClassNetwork,
        station: &ClassStation,
        index: usize,
        everything: &LogConstants,
    ) -> Vec<f64> {
        let Some(cores) = station.cores() else { return station.demands_s.clone() };
        let demand = demand_logs(station);
        let numerator = if cores <= 1.0 {
            // F′ = (1/c)/(1 − y/c)², and everything has one division already.
            let mut logs = everything.iter().map(|log| log - cores.ln()).collect();
            self.divide(&mut logs, &demand, cores);
            logs
        } else {
            self.derivative(&self.constants(network, Some(index)), &demand, cores)
        };
        let residence_s = |class: usize| {
            let all = self.vectors.count - 1;
            let vector = if self.vectors.most[class] > 0 { all - self.vectors.step[class] } else { all };
            station.demands_s[class] * (numerator[vector] - everything[vector]).exp()
        };
        (0..self.classes).map(residence_s).collect()
    }

    /// Multiplies by `F′(y) = [Σ_{j<l} f(j)(1 − j/c) yʲ + f(l)/c · yˡ/(1 − y/c)] / (1 − y/c)` with `l = ⌊c⌋`.
    fn derivative(&self, others: &LogConstants, demand: &[f64], cores: f64) -> LogConstants {
        let full_cores = cores.floor() as usize;
        let mut factor = 1.0;
        let mut weights = Vec::new();
        for j in 0..full_cores {
            weights.push(factor * (1.0 - j as f64 / cores));
            factor /= ((j + 1) as f64).min(cores);
        }
        let mut tail = vec![0.0; full_cores];
        tail.push(factor / cores);
        let mut sum = self.polynomial(others, demand, &tail);
        self.divide(&mut sum, demand, cores);
        let first = self.polynomial(others, demand, &weights);
        sum.iter_mut().zip(&first).for_each(|(sum, first)| *sum = log_add(*sum, *first));
        self.divide(&mut sum, demand, cores);
        sum
    }
}

fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Logarithms of the demands at one replica, by class.
fn demand_logs(station: &ClassStation) -> Vec<f64> {
    (0..station.demands_s.len()).map(|class| station.demand_per_replica_s(class).ln()).collect()
}

/// `a(j) = f(j) − f(j−1)/c`, for j below ⌈c⌉; see [`crate::constants`].
fn entry_weights(cores: f64) -> Vec<f64> {
    let mut weights = vec![1.0];
    let mut factor = 1.0;
    for j in 1..cores.ceil() as usize {
        weights.push(factor * (1.0 / j as f64 - 1.0 / cores));
        factor /= j as f64;
    }
    weights
}
