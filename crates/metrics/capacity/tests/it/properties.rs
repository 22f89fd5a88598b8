//! Properties of every network.

use laggard_capacity::{
    Algorithm, Class, ClassNetwork, ClassStation, ExactMva, Network, Service, Station, bounds, most_clients,
    solve_classes_by,
};
use proptest::prelude::*;

fn stations() -> impl Strategy<Value = Vec<Station>> {
    let station = (0.0..0.1_f64, 1_u32..4, prop_oneof![Just(None), (0.3..20.0_f64).prop_map(Some)]);
    let station = station.prop_map(|(demand_s, replicas, cores)| Station {
        demand_s,
        replicas,
        service: cores.map_or(Service::Delay, |cores| Service::Queue { cores }),
        answered: 1.0,
    });
    prop::collection::vec(station, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn more_clients_lower_neither_throughput_nor_response_time(stations in stations(), think_s in 0.01..2.0_f64) {
        let network = Network::new(stations, think_s).unwrap();
        let limit = bounds(&network);
        let mut exact = ExactMva::new(&network);
        let (mut throughput, mut response_s) = (0.0, network.unqueued_s() * (1.0 - 1e-9));
        for clients in 1..200 {
            let got = exact.step();
            prop_assert!(got.throughput >= throughput * (1.0 - 1e-9));
            prop_assert!(got.response_s >= response_s * (1.0 - 1e-9));
            let n = f64::from(clients);
            prop_assert!(got.throughput <= limit.throughput_at_most(&network, n) * (1.0 + 1e-9));
            prop_assert!(got.throughput >= limit.throughput_at_least(&network, n) * (1.0 - 1e-9));
            prop_assert!(got.response_s >= limit.inside_at_least_s(&network, n) * (1.0 - 1e-9));
            prop_assert!(got.stations.iter().all(|load| load.utilization <= 1.0 + 1e-9));
            let clients_inside: f64 = got.stations.iter().map(|load| load.clients).sum();
            prop_assert!((clients_inside + got.throughput * think_s - n).abs() < 1e-6 * n);
            (throughput, response_s) = (got.throughput, got.response_s);
        }
    }

    #[test]
    fn the_answer_meets_the_target_and_one_more_client_does_not(
        stations in stations(), think_s in 0.01..2.0_f64, target_s in 0.0..1.0_f64
    ) {
        let network = Network::new(stations, think_s).unwrap();
        let largest = most_clients(&network, target_s, 2_000, 1e12);
        let mut exact = ExactMva::new(&network);
        prop_assert!(largest.clients == 0 || exact.advance_to(largest.clients).response_s <= target_s);
        prop_assert!(largest.at_limit == (largest.clients == 2_000));
        prop_assert!(largest.at_limit || exact.step().response_s > target_s);
    }

    #[test]
    fn one_class_by_steps_is_one_class_by_convolution(
        stations in stations(), think_s in 0.01..2.0_f64, clients in 1_u64..60
    ) {
        let network = Network::new(stations.clone(), think_s).unwrap();
        let same = |station: &Station| ClassStation {
            demands_s: vec![station.demand_s], replicas: station.replicas, service: station.service,
        };
        let classes = ClassNetwork::new(
            vec![Class { clients, think_s }], stations.iter().map(same).collect()
        ).unwrap();
        let convolution = solve_classes_by(&classes, Algorithm::ExactConvolution);
        let mut exact = ExactMva::new(&network);
        let steps = exact.advance_to(clients);
        prop_assert!((steps.throughput / convolution.throughput[0] - 1.0).abs() < 1e-8);
        for (a, b) in steps.stations.iter().zip(&convolution.stations) {
            prop_assert!((a.clients - b[0].clients).abs() < 1e-8 * clients as f64);
        }
    }
}
