//! Approximate mean value analysis against exact, over drawn networks; and its speed at full size.
//!
//! `cargo run --release -p laggard-experiments --example mva_accuracy -- [NETWORKS]`

#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_capacity::{
    Algorithm, Class, ClassNetwork, ClassSolution, ClassStation, Service, solve_classes, solve_classes_by,
};
use std::time::Instant;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.uniform())
    }
}

fn draw(random: &mut Random, cores_max: f64) -> ClassNetwork {
    let classes = 2 + (random.uniform() * 2.0) as usize;
    let clients = if classes == 2 { 60.0 } else { 14.0 };
    let kinds = (0..classes)
        .map(|_| Class { clients: random.between(2.0, clients) as u64, think_s: random.between(0.2, 4.0) })
        .collect();
    let stations = 2 + (random.uniform() * 3.0) as usize;
    let station = |random: &mut Random| {
        let cores = random.between(1.0, cores_max + 0.99).floor();
        ClassStation {
            demands_s: (0..classes).map(|_| cores * random.between(0.003, 0.15)).collect(),
            replicas: 1,
            service: Service::Queue { cores },
        }
    };
    ClassNetwork::new(kinds, (0..stations).map(|_| station(random)).collect()).expect("numbers in range")
}

fn worst(exact: &ClassSolution, got: &ClassSolution) -> [f64; 2] {
    let error = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (b / a - 1.0).abs()).fold(0.0, f64::max);
    [error(&exact.throughput, &got.throughput), error(&exact.response_s, &got.response_s)]
}

fn busiest(solution: &ClassSolution) -> f64 {
    let sums = solution.stations.iter().map(|classes| classes.iter().map(|load| load.utilization).sum());
    sums.fold(0.0, f64::max)
}

fn accuracy(networks: usize, cores_max: f64) {
    let mut random = Random(1);
    for algorithm in [Algorithm::Linearizer, Algorithm::Schweitzer] {
        let mut errors: [Vec<[f64; 2]>; 2] = Default::default();
        for _ in 0..networks {
            let network = draw(&mut random, cores_max);
            let exact = solve_classes_by(&network, Algorithm::Exact);
            let beyond = usize::from(busiest(&exact) >= 0.95);
            errors[beyond].push(worst(&exact, &solve_classes_by(&network, algorithm)));
        }
        for (name, errors) in [("below 95 %", &errors[0]), ("above", &errors[1])] {
            let quantile = |which: usize, share: f64| {
                let mut sorted: Vec<f64> = errors.iter().map(|error| error[which]).collect();
                sorted.sort_by(f64::total_cmp);
                sorted.get(((sorted.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(f64::NAN)
                    * 100.0
            };
            println!(
                "cores to {cores_max:2}  {:26} {name:11} n {:4}  X median {:.2} worst {:.2} %  R median {:.2} p95 {:.2} worst {:.2} %",
                algorithm.name(),
                errors.len(),
                quantile(0, 0.5),
                quantile(0, 1.0),
                quantile(1, 0.5),
                quantile(1, 0.95),
                quantile(1, 1.0),
            );
        }
    }
}

/// 10,000 clients, 20 classes, 10 tiers.
fn speed(scale: f64, cores: f64) {
    let mut random = Random(3);
    let classes: Vec<Class> =
        (0..20).map(|_| Class { clients: 500, think_s: random.between(3.0, 12.0) }).collect();
    let station = |random: &mut Random| ClassStation {
        demands_s: (0..20).map(|_| cores * scale * random.between(0.0001, 0.002)).collect(),
        replicas: 1,
        service: Service::Queue { cores },
    };
    let stations = (0..10).map(|_| station(&mut random)).collect();
    let network = ClassNetwork::new(classes, stations).expect("numbers in range");
    let start = Instant::now();
    let solution = solve_classes(&network);
    println!(
        "10,000 clients x 20 classes x 10 tiers of {cores} cores, busiest at {:.3}: {:?}, {}",
        busiest(&solution),
        start.elapsed(),
        solution.algorithm.name()
    );
}

fn main() {
    let networks = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    for cores_max in [1.0, 4.0, 16.0] {
        accuracy(networks, cores_max);
    }
    for cores in [1.0, 8.0, 64.0] {
        for scale in [0.3, 0.9, 1.0, 1.3, 3.0] {
            speed(scale, cores);
        }
    }
}
