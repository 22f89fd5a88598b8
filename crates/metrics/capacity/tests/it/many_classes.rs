//! Several classes: the exact ones against brute force over all states and each other, the approximate ones
//! against the exact ones.

use crate::golden::close;
use laggard_capacity::{
    Algorithm, Class, ClassNetwork, ClassSolution, ClassStation, Network, Service, Station, WORK_MAX, solve,
    solve_classes, solve_classes_by,
};

fn station(demands_s: &[f64], cores: f64) -> ClassStation {
    ClassStation { demands_s: demands_s.to_vec(), replicas: 1, service: Service::Queue { cores } }
}

fn delay(demands_s: &[f64]) -> ClassStation {
    ClassStation { demands_s: demands_s.to_vec(), replicas: 1, service: Service::Delay }
}

fn class(clients: u64, think_s: f64) -> Class {
    Class { clients, think_s }
}

/// One queue with processor sharing among two classes that think: the Markov chain's product form, by summing over
/// every state: weight `Π Z^t/t! · (j!/Π n!)·Π dⁿ / Π_{i≤j} min(i, c)`.
fn brute_force(classes: &[Class; 2], demands_s: [f64; 2], cores: f64) -> [f64; 2] {
    let (mut all, mut mean) = (0.0, [0.0; 2]);
    for first in 0..=classes[0].clients {
        for second in 0..=classes[1].clients {
            let mut weight = 1.0;
            for (index, there) in [first, second].into_iter().enumerate() {
                let thinking = classes[index].clients - there;
                weight *= (1..=thinking).map(|i| classes[index].think_s / i as f64).product::<f64>();
                weight *= (1..=there).map(|i| demands_s[index] / i as f64).product::<f64>();
            }
            weight *= (1..=first + second).map(|i| i as f64 / (i as f64).min(cores)).product::<f64>();
            all += weight;
            mean[0] += weight * first as f64;
            mean[1] += weight * second as f64;
        }
    }
    [mean[0] / all, mean[1] / all]
}

#[test]
fn exact_is_the_sum_over_all_states() {
    let classes = [class(9, 0.4), class(6, 1.1)];
    for cores in [0.5, 1.0, 1.5, 2.0, 3.0, 20.0] {
        let expected = brute_force(&classes, [0.05, 0.3], cores);
        let network = ClassNetwork::new(classes.to_vec(), vec![station(&[0.05, 0.3], cores)]).unwrap();
        for algorithm in [Algorithm::Exact, Algorithm::ExactConvolution] {
            let got = solve_classes_by(&network, algorithm);
            close(got.stations[0][0].clients, expected[0], 1e-10);
            close(got.stations[0][1].clients, expected[1], 1e-10);
        }
    }
}

#[test]
fn lattice_and_convolution_agree() {
    let classes = vec![class(12, 1.0), class(0, 1.0), class(7, 0.0), class(5, 3.0)];
    let mut replicated = station(&[0.03, 0.02, 0.2, 0.1], 1.0);
    replicated.replicas = 3;
    let stations = vec![
        station(&[0.05, 0.01, 0.0, 0.2], 1.0),
        replicated,
        delay(&[0.1, 0.3, 0.0, 0.05]),
        station(&[0.01, 0.02, 0.03, 0.04], 0.5),
    ];
    let network = ClassNetwork::new(classes, stations).unwrap();
    let lattice = solve_classes_by(&network, Algorithm::Exact);
    let convolution = solve_classes_by(&network, Algorithm::ExactConvolution);
    assert_eq!(lattice.algorithm, Algorithm::Exact);
    assert_eq!(convolution.algorithm, Algorithm::ExactConvolution);
    agree(&lattice, &convolution, 1e-9);
    assert_eq!(lattice.throughput[1], 0.0);
    assert!(lattice.response_s[1] > 0.36, "what a first client of the class would see");
}

#[track_caller]
fn agree(a: &ClassSolution, b: &ClassSolution, tolerance: f64) {
    for class in 0..a.throughput.len() {
        close(a.throughput[class], b.throughput[class], tolerance);
        close(a.response_s[class], b.response_s[class], tolerance);
    }
}

/// Classes with equal demands are one class.
#[test]
fn equal_classes_equal_one_class() {
    let network =
        Network::new(vec![Station::cores(0.1, 4.0), Station::queue(0.02).replicated(2)], 0.7).unwrap();
    let one = solve(&network, 40, WORK_MAX);
    let mut second = station(&[0.02; 2], 1.0);
    second.replicas = 2;
    let stations = vec![station(&[0.1; 2], 4.0), second];
    let classes = ClassNetwork::new(vec![class(25, 0.7), class(15, 0.7)], stations).unwrap();
    let two = solve_classes_by(&classes, Algorithm::ExactConvolution);
    close(two.throughput.iter().sum(), one.throughput, 1e-10);
    close(two.response_s[0], one.response_s, 1e-10);
    close(two.response_s[1], one.response_s, 1e-10);
}

/// Worst relative errors of throughput and of response time.
fn worst(exact: &ClassSolution, got: &ClassSolution) -> (f64, f64) {
    let error = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (b / a - 1.0).abs()).fold(0.0, f64::max);
    (error(&exact.throughput, &got.throughput), error(&exact.response_s, &got.response_s))
}

#[test]
fn linearizer_is_close_to_exact() {
    for scale in [1, 2, 4] {
        for cores in [1.0, 4.0] {
            let classes = vec![class(8 * scale, 1.0), class(6 * scale, 3.0)];
            let stations = vec![
                station(&[0.02 * cores, 0.08 * cores], cores),
                station(&[0.03, 0.01], 1.0),
                delay(&[0.05, 0.0]),
            ];
            let network = ClassNetwork::new(classes, stations).unwrap();
            let exact = solve_classes_by(&network, Algorithm::Exact);
            let linear = worst(&exact, &solve_classes_by(&network, Algorithm::Linearizer));
            let schweitzer = worst(&exact, &solve_classes_by(&network, Algorithm::Schweitzer));
            assert!(linear.0 < 0.02 && linear.1 < 0.05, "{scale} {cores}: {linear:?}");
            assert!(schweitzer.0 < 0.06 && schweitzer.1 < 0.25, "{scale} {cores}: {schweitzer:?}");
            assert!(linear.1 <= schweitzer.1);
        }
    }
}

#[test]
fn the_solution_names_the_algorithm_chosen_by_size() {
    let algorithm = |clients, cores| {
        let stations = vec![station(&[0.02; 2], cores)];
        let classes = ClassNetwork::new(vec![class(clients, 1.0), class(clients, 2.0)], stations).unwrap();
        solve_classes(&classes).algorithm
    };
    assert_eq!(algorithm(20, 1.0), Algorithm::Exact);
    assert_eq!(algorithm(20, 2.0), Algorithm::ExactConvolution);
    assert_eq!(algorithm(10_000, 1.0), Algorithm::Linearizer);
    assert_eq!(algorithm(10_000, 2.0), Algorithm::Linearizer);
}

#[test]
fn large_networks_obey_little_and_saturation() {
    let classes: Vec<Class> = (0..20).map(|index| class(500, 2.0 + index as f64)).collect();
    let tier = |tier: usize| {
        let demands_s: Vec<f64> =
            (0..20).map(|index| 0.001 * (1.0 + ((index * 7 + tier * 3) % 11) as f64)).collect();
        station(&demands_s, [1.0, 8.0, 16.0][tier % 3])
    };
    let network = ClassNetwork::new(classes, (0..10).map(tier).collect()).unwrap();
    let got = solve_classes(&network);
    assert_eq!(got.algorithm, Algorithm::Linearizer);
    for class in 0..20 {
        let clients: f64 = got.stations.iter().map(|station| station[class].clients).sum();
        let thinking = got.throughput[class] * network.classes()[class].think_s;
        close(clients + thinking, 500.0, 1e-9);
    }
    for station in &got.stations {
        assert!(station.iter().map(|load| load.utilization).sum::<f64>() <= 1.0 + 1e-6);
    }
}
