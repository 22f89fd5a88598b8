//! Textbook cases with a closed form, and examples worked by hand.

use crate::golden::close;
use laggard_capacity::{
    ExactMva, Network, NetworkError, OutboundTime, Station, WORK_MAX, bounds, busy_demand, erlang_c,
    latency_parts, most_clients, most_throughput, open_solution, own_latency, seidmann, solve,
    solve_fractional,
};

/// `c` repairmen, `clients` machines that run for `think_s`: the birth-death chain solved directly.
fn machine_repairman(clients: usize, cores: usize, demand_s: f64, think_s: f64) -> (f64, f64) {
    let mut weights = vec![1.0];
    for down in 1..=clients {
        let fails = (clients - down + 1) as f64 / think_s;
        let repairs = down.min(cores) as f64 / demand_s;
        weights.push(weights[down - 1] * fails / repairs);
    }
    let all: f64 = weights.iter().sum();
    let mean: f64 = weights.iter().enumerate().map(|(down, weight)| down as f64 * weight).sum::<f64>() / all;
    let throughput = (clients as f64 - mean) / think_s;
    (throughput, mean / throughput)
}

#[test]
fn machine_repairman_with_several_repairmen() {
    for (clients, cores) in [(1, 1), (5, 2), (20, 3), (60, 8), (100, 16), (150, 4)] {
        let (throughput, response_s) = machine_repairman(clients, cores, 0.05, 0.5);
        let network = Network::new(vec![Station::cores(0.05, cores as f64)], 0.5).unwrap();
        let got = solve(&network, clients as u64, WORK_MAX);
        close(got.throughput, throughput, 1e-10);
        close(got.response_s, response_s, 1e-10);
    }
}

/// Where `1 − Σ p` has long lost all digits: 16 cores, ten times as many clients as saturate them.
#[test]
fn no_cancellation_far_beyond_saturation() {
    let network = Network::new(vec![Station::cores(0.16, 16.0), Station::queue(0.004)], 1.0).unwrap();
    let mut exact = ExactMva::new(&network);
    for clients in 1..=20_000_u64 {
        let got = exact.step();
        let bounds = bounds(&network);
        assert!(got.throughput <= bounds.throughput_at_most(&network, clients as f64) * (1.0 + 1e-12));
    }
    let got = exact.solution();
    close(got.throughput, 100.0, 1e-12);
    close(got.response_s, 199.0, 1e-12);
    // The other station sees random arrivals of 100 a second: ρ = 0.4.
    close(got.stations[1].clients, 0.4 / 0.6, 1e-9);
}

/// Balanced network without think time: `X = N / (D·(N + K − 1))`.
#[test]
fn balanced_network() {
    let network = Network::new(vec![Station::queue(0.02); 5], 0.0).unwrap();
    for clients in [1, 2, 7, 400] {
        let got = solve(&network, clients, WORK_MAX);
        close(got.throughput, clients as f64 / (0.02 * (clients as f64 + 4.0)), 1e-12);
    }
}

/// By hand, two stations (1 s, 2 s), no think time. N = 1: R = 1 + 2, X = 1/3, Q = 1/3 and 2/3. N = 2:
/// R = 4/3 + 10/3 = 14/3, X = 3/7, Q = 4/7 and 10/7. N = 3: R = 11/7 + 34/7 = 45/7, X = 7/15.
#[test]
fn a_network_computed_by_hand() {
    let network = Network::new(vec![Station::queue(1.0), Station::queue(2.0)], 0.0).unwrap();
    let expected = [(1.0 / 3.0, 2.0 / 3.0), (3.0 / 7.0, 10.0 / 7.0), (7.0 / 15.0, 34.0 / 15.0)];
    let mut exact = ExactMva::new(&network);
    for (throughput, queue) in expected {
        let got = exact.step();
        close(got.throughput, throughput, 1e-14);
        close(got.stations[1].clients, queue, 1e-14);
    }
}

/// One client, two cores each at half the speed it could use: a quota below one core stretches the service.
#[test]
fn a_quota_below_one_core_stretches_service() {
    let network = Network::new(vec![Station::cores(0.1, 0.5)], 1.0).unwrap();
    let got = solve(&network, 1, WORK_MAX);
    close(got.response_s, 0.2, 1e-14);
    close(got.stations[0].utilization, 0.2 / 1.2, 1e-12);
}

/// A quota of 1.5 cores: the birth-death chain with rates 1, 1.5, 1.5 … over the demand.
#[test]
fn a_quota_between_one_core_and_two() {
    let (clients, demand_s, think_s) = (12, 0.1, 0.6);
    let mut weights = vec![1.0];
    for there in 1..=clients {
        let rate = f64::from(there).min(1.5) / demand_s;
        weights.push(weights[there as usize - 1] * f64::from(clients - there + 1) / think_s / rate);
    }
    let all: f64 = weights.iter().sum();
    let mean: f64 =
        weights.iter().enumerate().map(|(index, weight)| index as f64 * weight).sum::<f64>() / all;
    let network = Network::new(vec![Station::cores(demand_s, 1.5)], think_s).unwrap();
    close(solve(&network, clients as u64, WORK_MAX).stations[0].clients, mean, 1e-11);
}

/// Many clients that think long are random arrivals: M/M/c with Erlang's C.
#[test]
fn the_limit_of_many_clients_is_erlang() {
    // Two cores, one busy: C = 1/3, R = S·(1 + C/(c(1−ρ))) = 0.1·4/3.
    close(erlang_c(2, 1.0), 1.0 / 3.0, 1e-14);
    close(erlang_c(1, 0.7), 0.7, 1e-14);
    assert_eq!(erlang_c(4, 4.0), 1.0);
    let open = open_solution(&Network::new(vec![Station::cores(0.1, 2.0)], 1.0).unwrap(), 10.0).unwrap();
    close(open.response_s, 0.4 / 3.0, 1e-13);
    let clients = 200_000;
    let closed = Network::new(vec![Station::cores(0.1, 2.0)], clients as f64 / 10.0 - 0.4 / 3.0).unwrap();
    close(solve(&closed, clients, 1e12).response_s, open.response_s, 1e-4);
}

#[test]
fn open_model_of_single_queues() {
    let network = Network::new(vec![Station::queue(0.005), Station::queue(0.008), Station::delay(0.1)], 0.0);
    let network = network.unwrap();
    let got = open_solution(&network, 100.0).unwrap();
    close(got.response_s, 0.005 / 0.5 + 0.008 / 0.2 + 0.1, 1e-13);
    assert!(open_solution(&network, 125.0).is_none());
    let most = most_throughput(&network, 0.15).unwrap();
    close(most.response_s, 0.15, 1e-9);
    assert!(most_throughput(&network, 0.1).is_none());
    let delay = Network::new(vec![Station::delay(0.1)], 0.0).unwrap();
    assert!(most_throughput(&delay, 1.0).is_none(), "no load is too much");
}

#[test]
fn seidmann_keeps_demand_and_saturation() {
    let network = Network::new(vec![Station::cores(0.02, 4.0), Station::queue(0.004)], 1.0).unwrap();
    let replaced = seidmann(&network);
    assert_eq!(replaced.stations(), [Station::queue(0.005), Station::delay(0.015), Station::queue(0.004)]);
    close(replaced.unqueued_s(), network.unqueued_s(), 1e-15);
}

#[test]
fn approximate_search_agrees_with_stepping() {
    let network = Network::new(vec![Station::cores(0.02, 4.0), Station::queue(0.004)], 1.0).unwrap();
    for target_s in [0.01, 0.024, 0.03, 0.1, 2.0] {
        let exact = most_clients(&network, target_s, 1_000_000, WORK_MAX);
        let halved = most_clients(&network, target_s, 1_000_000, 0.0);
        let difference = (exact.clients as f64 - halved.clients as f64).abs();
        assert!(
            difference <= 1.0 + 0.02 * exact.clients as f64,
            "{target_s}: {} {}",
            exact.clients,
            halved.clients
        );
        assert!(!exact.at_limit && !halved.at_limit);
    }
    assert!(most_clients(&network, 2.0, 100, 0.0).at_limit);
    assert_eq!(most_clients(&network, 0.001, 100, WORK_MAX).clients, 0);
}

#[test]
fn fractional_populations_interpolate_between_neighbors() {
    let network = Network::new(vec![Station::queue(1.0), Station::queue(2.0)], 0.0).unwrap();
    close(solve_fractional(&network, 1.5, WORK_MAX).throughput, (1.0 / 3.0 + 3.0 / 7.0) / 2.0, 1e-14);
    close(solve_fractional(&network, 2.0, WORK_MAX).throughput, 3.0 / 7.0, 1e-14);
    assert_eq!(solve_fractional(&network, 0.0, WORK_MAX).throughput, 0.0);
}

#[test]
fn bounds_are_the_asymptotes() {
    let network = Network::new(vec![Station::cores(0.02, 4.0), Station::queue(0.008)], 1.0).unwrap();
    let got = bounds(&network);
    assert_eq!(got.bottleneck, Some(1));
    close(got.throughput_max, 125.0, 1e-12);
    close(got.knee_clients, 1.028 * 125.0, 1e-12);
    close(got.clients_at_most(&network, 0.5), 187.5, 1e-12);
    close(got.inside_at_least_s(&network, 250.0), 1.0, 1e-12);
}

#[test]
fn equation_six() {
    let calls = [OutboundTime { calls: 20.0, time_s: 0.004 }, OutboundTime { calls: 0.0, time_s: f64::NAN }];
    // 100 ms less 2 calls of 4 ms each; 30 ms of the rest is CPU.
    close(own_latency(0.1, 10.0, &calls).unwrap(), 0.092, 1e-12);
    let parts = latency_parts(0.1, 10.0, 0.03, &calls).unwrap();
    close(parts.queueing_s, 0.062, 1e-12);
    assert_eq!(parts.callees_s, [0.008, 0.0]);
    assert_eq!(own_latency(0.005, 10.0, &calls), None, "calls in parallel");
    close(busy_demand(30.0, 600.0), 0.05, 1e-15);
    assert!(busy_demand(1.0, 0.0).is_nan());
}

#[test]
fn invalid_networks_are_errors() {
    let bad = |stations, think_s| Network::new(stations, think_s).unwrap_err();
    assert_eq!(bad(vec![Station::queue(-1.0)], 0.0), NetworkError::Demand(-1.0));
    assert!(matches!(bad(vec![Station::queue(f64::NAN)], 0.0), NetworkError::Demand(_)));
    assert_eq!(bad(vec![Station::cores(1.0, 0.0)], 0.0), NetworkError::Cores(0.0));
    assert_eq!(bad(vec![Station::cores(1.0, 1e9)], 0.0), NetworkError::Cores(1e9));
    assert_eq!(bad(vec![Station::queue(1.0).replicated(0)], 0.0), NetworkError::Replicas(0));
    assert_eq!(bad(vec![Station::queue(1.0)], f64::INFINITY), NetworkError::Think(f64::INFINITY));
    assert_eq!(bad(vec![Station::queue(0.0)], 0.0), NetworkError::Cycle(0.0));
    assert_eq!(bad(vec![], 0.0), NetworkError::Cycle(0.0));
}

/// Half of the time at the queue passes after the answer: the same throughput, half of the response time.
#[test]
fn work_after_the_answer_uses_cores_but_is_not_in_the_response_time() {
    let undivided = Network::new(vec![Station::queue(0.01)], 0.2).unwrap();
    let half = Network::new(vec![Station::queue(0.01).answered(0.5)], 0.2).unwrap();
    let (all, part) = (solve(&undivided, 25, WORK_MAX), solve(&half, 25, WORK_MAX));
    close(part.throughput, all.throughput, 1e-15);
    close(part.response_s, all.response_s / 2.0, 1e-14);
    close(solve(&half, 25, 0.0).response_s, part.response_s, 0.04);
    let open = open_solution(&half, 50.0).unwrap();
    close(open.response_s, 0.01, 1e-13);
    close(open.clients, 1.0, 1e-13);
    assert!(Network::new(vec![Station::queue(0.01).answered(1.5)], 0.2).is_err());
}
