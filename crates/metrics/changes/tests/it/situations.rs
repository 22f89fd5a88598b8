//! Situations for the simulator: variants of servers and workloads.

use super::queue::{Arrivals, Discipline, Queue};

/// A family of queues.
#[derive(Clone)]
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    change: fn(&mut Queue, &RandomDraw),
}

/// The random parameters of a queue.
struct RandomDraw {
    load: f64,
    /// Uniform numbers, 0..1.
    uniform: Vec<f64>,
}

pub(crate) fn all() -> Vec<Situation> {
    vec![
        Situation { name: "processor sharing", change: |_, _| {} },
        Situation { name: "… few clients (closed)", change: |queue, draw| closed(queue, draw) },
        Situation { name: "… four cores", change: |queue, _| queue.cores = 4 },
        Situation { name: "… service variation 2", change: |queue, _| queue.service_cv = 2.0 },
        Situation { name: "… service variation ½", change: |queue, _| queue.service_cv = 0.5 },
        Situation { name: "… the load moves", change: |queue, _| vary(queue) },
        Situation { name: "… 8 % used beside", change: |queue, _| queue.overhead = 0.08 },
        Situation { name: "… time spent elsewhere", change: |queue, draw| elsewhere(queue, draw) },
        Situation { name: "first come, first served", change: |queue, _| first_come(queue) },
        Situation {
            name: "first come, first served, few clients (closed)",
            change: |queue, draw| {
                first_come(queue);
                closed(queue, draw);
            },
        },
    ]
}

impl Situation {
    /// A queue at about this load with demands of 7 to 175 ms, and the demands.
    pub(crate) fn queue(&self, load: f64, types: usize, seed: u64) -> (Queue, Vec<f64>) {
        let seed = seed * 1000 + (load * 100.0) as u64 * 7 + types as u64;
        let mut state = seed;
        let uniform: Vec<f64> = (0..4 * types + 1).map(|_| draw(&mut state)).collect();
        let base = [0.01, 0.025, 0.05, 0.125];
        let demand: Vec<f64> = (0..types)
            .map(|j| base[(uniform[j] * 4.0) as usize] * (0.7 + 0.7 * uniform[types + j]))
            .collect();
        let shares: Vec<f64> = (0..types).map(|j| 0.5 + uniform[2 * types + j]).collect();
        let all: f64 = shares.iter().sum();
        let rates: Vec<f64> = (0..types).map(|j| load * shares[j] / all / demand[j]).collect();
        let mut queue = Queue::open(&demand, &rates, seed);
        (self.change)(&mut queue, &RandomDraw { load, uniform: uniform[3 * types..].to_vec() });
        if let (Arrivals::Open { rates, .. }, true) = (&mut queue.arrivals, queue.cores > 1) {
            rates.iter_mut().for_each(|rate| *rate *= queue.cores as f64);
        }
        (queue, demand)
    }
}

/// Four to twelve clients a type that think long enough for about this load.
fn closed(queue: &mut Queue, draw: &RandomDraw) {
    let clients: Vec<usize> =
        (0..queue.demand_s.len()).map(|j| 4 + (draw.uniform[j] * 9.0) as usize).collect();
    let work_s: f64 = clients.iter().zip(&queue.demand_s).map(|(count, demand)| *count as f64 * demand).sum();
    queue.arrivals = Arrivals::Closed { clients, think_s: work_s / draw.load };
}

/// The workload changes every ten minutes.
fn vary(queue: &mut Queue) {
    let levels = [0.5, 1.0, 0.7, 1.1, 0.4, 0.9];
    if let Arrivals::Open { load, .. } = &mut queue.arrivals {
        *load = levels.iter().flat_map(|level| vec![*level; 60]).collect();
    }
}

/// Up to as much time as on the CPU, by type.
fn elsewhere(queue: &mut Queue, draw: &RandomDraw) {
    queue.elsewhere_s = queue.demand_s.iter().zip(&draw.uniform).map(|(demand, u)| demand * u).collect();
}

fn first_come(queue: &mut Queue) {
    queue.discipline = Discipline::FirstComeFirstServed;
}

/// SplitMix64, 0..1.
fn draw(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
