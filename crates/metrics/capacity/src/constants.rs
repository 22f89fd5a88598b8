//! Normalizing constants of a closed network with one class, population by population.
//!
//! With `f(j) = dʲ / Π min(i, c)` for a queue of demand `d` before `c` cores, the generating function
//! `Σ f(j) zʲ` is `(Σ_{j≤c} a(j) zʲ) / (1 − z·d/c)` with `a(j) = f(j) − f(j−1)·d/c ≥ 0`, so that adding the
//! station costs `c` multiplications a population, and nothing is ever subtracted:
//! `G_k(n) = G_k(n−1)·d/c + Σ a(j)·G_{k−1}(n−j)`. Throughput is `G(n−1)/G(n)`.

use crate::network::{Network, Service};

/// Throughputs at populations 1, 2, 3 … of a network.
#[derive(Clone, Debug)]
pub(crate) struct Constants {
    stages: Vec<QueueStage>,
    /// All delays together, in units of `1/unit`.
    delay: f64,
    delay_only: f64,
    clients: f64,
    /// Constant of the delays alone, relative to that of the network at the last population.
    delay_constant: f64,
    /// Times are measured in `1/unit`: the saturation throughput. Constants then shrink at most slowly.
    unit: f64,
}

/// One queue, with the constants of the network up to it.
#[derive(Clone, Debug)]
struct QueueStage {
    /// `d/c`.
    ratio: f64,
    /// `a(0) … a(⌈c⌉ − 1)`.
    entry: Vec<f64>,
    /// The last `⌈c⌉` constants of the network before this stage, newest at `newest`.
    before: Vec<f64>,
    newest: usize,
    /// The last constant with this stage.
    with: f64,
}

impl Constants {
    /// The network without one replica of station `left_out`.
    pub(crate) fn without_replica(network: &Network, left_out: usize) -> Constants {
        let mut queues = Vec::new();
        let mut delay_s = network.think_s();
        for (index, station) in network.stations().iter().enumerate() {
            let demand_s = station.demand_per_replica_s();
            match station.service {
                Service::Delay => delay_s += station.demand_s,
                Service::Queue { cores } if demand_s > 0.0 => {
                    let replicas = station.replicas as usize - usize::from(index == left_out);
                    queues.extend(std::iter::repeat_n((demand_s, cores), replicas));
                }
                Service::Queue { .. } => {}
            }
        }
        let saturation =
            queues.iter().map(|(demand_s, cores)| cores / demand_s).fold(f64::INFINITY, f64::min);
        let unit = if saturation.is_finite() { saturation } else { 1.0 };
        let stages =
            queues.iter().map(|&(demand_s, cores)| QueueStage::new(demand_s * unit, cores)).collect();
        Constants {
            stages,
            delay: delay_s * unit,
            delay_only: delay_s,
            clients: 0.0,
            delay_constant: 1.0,
            unit,
        }
    }

    /// Throughput with one client more; infinite when nothing takes time.
    pub(crate) fn next_throughput(&mut self) -> f64 {
        self.clients += 1.0;
        if self.stages.is_empty() {
            return self.clients / self.delay_only;
        }
        self.delay_constant *= self.delay / self.clients;
        let mut constant = self.delay_constant;
        for stage in &mut self.stages {
            constant = stage.push(constant);
        }
        let scale = 1.0 / constant;
        self.delay_constant *= scale;
        for stage in &mut self.stages {
            stage.rescale(scale);
        }
        self.unit * scale
    }
}

impl QueueStage {
    fn new(demand: f64, cores: f64) -> QueueStage {
        let length = (cores.ceil() as usize).max(1);
        let ratio = demand / cores;
        let mut entry = vec![1.0];
        let mut term = 1.0;
        for j in 1..length {
            // f(j − 1)·d·(1/j − 1/c): positive as j < c.
            entry.push(term * demand * (1.0 / j as f64 - 1.0 / cores));
            term *= demand / j as f64;
        }
        let mut before = vec![0.0; length];
        before[0] = 1.0;
        QueueStage { ratio, entry, before, newest: 0, with: 1.0 }
    }

    fn push(&mut self, before: f64) -> f64 {
        let length = self.before.len();
        self.newest = (self.newest + 1) % length;
        self.before[self.newest] = before;
        let mut sum = self.with * self.ratio;
        for (j, weight) in self.entry.iter().enumerate() {
            sum += weight * self.before[(self.newest + length - j) % length];
        }
        self.with = sum;
        sum
    }

    fn rescale(&mut self, scale: f64) {
        self.with *= scale;
        self.before.iter_mut().for_each(|constant| *constant *= scale);
    }
}
