//! Reference results: `mva/cases`, `mva/fig16`.

use laggard_capacity::{
    Algorithm, CalleeVisits, Class, ClassNetwork, ClassStation, ExactMva, Network, Service, Solution,
    Station, WORK_MAX, curve, front_demand, mean_visits_demand, most_clients, seidmann, solve_classes_by,
};
use laggard_testkit::golden;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|each| each.as_f64().unwrap()).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[track_caller]
pub(crate) fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance * expected.abs().max(1e-12), "{got} is not {expected}");
}

fn network(case: &Value) -> Network {
    let servers = numbers(&case["servers"]);
    let stations =
        numbers(&case["demands"]).iter().zip(servers).map(|(d, c)| Station::cores(*d, c)).collect();
    Network::new(stations, number(&case["think"])).unwrap()
}

fn populations(results: &Value) -> Vec<u64> {
    results.as_array().unwrap().iter().map(|result| result["n"].as_u64().unwrap()).collect()
}

fn compare(got: &Solution, expected: &Value, tolerance: f64) {
    close(got.throughput, number(&expected["X"]), tolerance);
    close(got.response_s, number(&expected["R"]), tolerance);
    for (index, load) in got.stations.iter().enumerate() {
        close(load.residence_s, numbers(&expected["R_k"])[index], tolerance);
        close(load.clients, numbers(&expected["Q_k"])[index], tolerance);
        close(load.utilization, numbers(&expected["U_k"])[index], tolerance);
    }
    if let Some(convolution) = expected["X_convolution"].as_f64() {
        close(got.throughput, convolution, 1e-9);
    }
}

#[test]
fn golden_cases() {
    let reference = golden("mva/cases");
    for case in reference["cases"].as_array().unwrap() {
        let network = network(case);
        let single = numbers(&case["servers"]).iter().all(|servers| *servers == 1.0);
        let tolerance = if single { 1e-9 } else { 1e-6 };
        let got = curve(&network, &populations(&case["results"]), WORK_MAX);
        for (got, expected) in got.iter().zip(case["results"].as_array().unwrap()) {
            compare(got, expected, tolerance);
        }
        let replaced = case["seidmann"].as_array().map_or(&[][..], Vec::as_slice);
        for expected in replaced {
            let network = seidmann(&network);
            let got = curve(&network, &[expected["n"].as_u64().unwrap()], WORK_MAX);
            close(got[0].throughput, number(&expected["X"]), 1e-9);
            close(got[0].response_s, number(&expected["R"]), 1e-9);
        }
        for expected in case["sla"].as_array().map_or(&[][..], Vec::as_slice) {
            let most = case["N"].as_u64().unwrap();
            let got = most_clients(&network, number(&expected["gamma_r"]), most, WORK_MAX);
            assert_eq!(got.clients, expected["n_max"].as_u64().unwrap());
            assert_eq!(got.at_limit, expected["truncated"].as_bool().unwrap());
        }
    }
}

#[test]
fn replicas_are_stations_of_their_own() {
    let reference = golden("mva/cases");
    let case =
        reference["cases"].as_array().unwrap().iter().find(|case| case["name"] == "three_front_servers");
    let case = case.unwrap();
    let tiers = vec![Station::queue(0.006).replicated(3), Station::queue(0.004)];
    let network = Network::new(tiers, number(&case["think"])).unwrap();
    let mut exact = ExactMva::new(&network);
    for expected in case["results"].as_array().unwrap() {
        let got = exact.advance_to(expected["n"].as_u64().unwrap());
        close(got.throughput, number(&expected["X"]), 1e-9);
        close(got.response_s, number(&expected["R"]), 1e-9);
        close(got.stations[0].clients, 3.0 * numbers(&expected["Q_k"])[0], 1e-9);
        close(got.stations[0].utilization, numbers(&expected["U_k"])[0], 1e-9);
    }
}

#[test]
fn schweitzer_fixed_point() {
    let reference = golden("mva/cases");
    let case = &reference["schweitzer"];
    let station = |demand_s: &f64| ClassStation {
        demands_s: vec![*demand_s],
        replicas: 1,
        service: Service::Queue { cores: 1.0 },
    };
    let stations = numbers(&case["demands"]).iter().map(station).collect();
    let class = Class { clients: case["N"].as_u64().unwrap(), think_s: number(&case["think"]) };
    let network = ClassNetwork::new(vec![class], stations).unwrap();
    let got = solve_classes_by(&network, Algorithm::Schweitzer);
    close(got.throughput[0], number(&case["X"]), 1e-6);
    close(got.response_s[0], number(&case["R"]), 1e-6);
}

#[test]
fn demands_of_a_mix() {
    let case = golden("mva/fig16");
    let shares = numbers(&case["p"]);
    close(front_demand(&shares, &numbers(&case["C_front"])), number(&case["S_front"]), 1e-12);
    let visits = case["calls_per_transaction"].as_array().unwrap();
    let demands = case["C_db"].as_array().unwrap();
    let calls: Vec<Vec<CalleeVisits>> = visits
        .iter()
        .zip(demands)
        .map(|(visits, demands)| {
            let pairs = numbers(visits).into_iter().zip(numbers(demands));
            pairs.map(|(visits, demand_s)| CalleeVisits { visits, demand_s }).collect()
        })
        .collect();
    close(mean_visits_demand(&shares, &calls), number(&case["D_db"]), 1e-12);
}
