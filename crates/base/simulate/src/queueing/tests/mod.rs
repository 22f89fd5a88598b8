//! Closed networks against exact results of queueing theory.

mod closed;

use super::{Discipline, WorkShape};
use closed::{ClosedClass, ClosedNetwork, ClosedStation, Estimate, Visit, simulate_closed};

fn station(discipline: Discipline, cores: f64, replicas: u16) -> ClosedStation {
    ClosedStation { discipline, cores, replicas }
}

fn visit(station: usize, visits: f64, service_s: f64) -> Visit {
    Visit { station, visits, service_s, shape: WorkShape::Exponential }
}

fn network(stations: Vec<ClosedStation>, classes: Vec<ClosedClass>) -> ClosedNetwork {
    ClosedNetwork { stations, classes, warm_up_s: 500.0, measured_s: 20_000.0, seed: 3 }
}

/// Exact single-class mean value analysis of queues with these demands (Reiser and Lavenberg 1980).
fn exact(demands_s: &[f64], think_s: f64, clients: u32) -> (f64, f64) {
    let mut queue = vec![0.0; demands_s.len()];
    let (mut throughput, mut response_s) = (0.0, 0.0);
    for population in 1..=clients {
        let residence: Vec<f64> =
            demands_s.iter().zip(&queue).map(|(demand, queue)| demand * (1.0 + queue)).collect();
        response_s = residence.iter().sum();
        throughput = f64::from(population) / (think_s + response_s);
        queue = residence.iter().map(|residence| throughput * residence).collect();
    }
    (throughput, response_s)
}

/// Within 1 % or four standard errors.
fn assert_near(measured: Estimate, expected: f64, what: &str) {
    let tolerance = (0.01 * expected).max(4.0 * measured.standard_error);
    assert!(tolerance < 0.05 * expected, "{what}: {measured:?} is too uncertain");
    assert!((measured.mean - expected).abs() < tolerance, "{what}: {measured:?}, expected {expected}");
}

#[test]
fn two_queues_agree_with_mean_value_analysis() {
    for discipline in [Discipline::ProcessorSharing, Discipline::FirstComeFirstServed] {
        for clients in [1, 10, 40] {
            let visits = vec![visit(0, 1.0, 0.05), visit(1, 2.5, 0.01)];
            let class = ClosedClass { clients, think_s: 1.0, visits };
            let closed = network(vec![station(discipline, 1.0, 1); 2], vec![class]);
            let run = simulate_closed(&closed).unwrap();
            let (throughput, response_s) = exact(&[0.05, 0.025], 1.0, clients);
            assert_near(run.throughput[0], throughput, "throughput");
            assert_near(run.response_s[0], response_s, "response");
            assert!((run.utilization[0] - throughput * 0.05).abs() < 0.02);
            let residence: f64 = run.residence_s[0].iter().sum();
            assert!((residence - run.response_s[0].mean).abs() < 0.01 * response_s);
        }
    }
}

#[test]
fn processor_sharing_is_insensitive_to_service_variation_but_fifo_is_not() {
    let response = |discipline, shape| {
        let visits = vec![Visit { station: 0, visits: 1.0, service_s: 0.1, shape }];
        let class = ClosedClass { clients: 10, think_s: 1.0, visits };
        simulate_closed(&network(vec![station(discipline, 1.0, 1)], vec![class])).unwrap().response_s[0]
    };
    let (_, response_s) = exact(&[0.1], 1.0, 10);
    for shape in [WorkShape::Constant, WorkShape::Gamma { cv: 2.0 }, WorkShape::Lognormal { cv: 1.5 }] {
        assert_near(response(Discipline::ProcessorSharing, shape), response_s, "shared");
    }
    let constant = response(Discipline::FirstComeFirstServed, WorkShape::Constant);
    assert!(constant.mean < 0.9 * response_s, "{constant:?} against {response_s}");
}

#[test]
fn servers_with_one_queue_and_servers_behind_a_balancer() {
    // Machine repair: 6 clients, think 1, service 0.5, 2 servers. The birth-death chain has
    // p(k) ∝ Π (6−j)/1 / (min(j+1, 2)/0.5).
    let mut weight = vec![1.0];
    for busy in 0..6 {
        let up = f64::from(6 - busy);
        let down = f64::from((busy + 1).min(2)) / 0.5;
        weight.push(weight[busy as usize] * up / down);
    }
    let total: f64 = weight.iter().sum();
    let thinking: f64 = weight.iter().enumerate().map(|(k, weight)| (6 - k) as f64 * weight / total).sum();
    for discipline in [Discipline::ProcessorSharing, Discipline::FirstComeFirstServed] {
        let class = ClosedClass { clients: 6, think_s: 1.0, visits: vec![visit(0, 1.0, 0.5)] };
        let run = simulate_closed(&network(vec![station(discipline, 2.0, 1)], vec![class])).unwrap();
        assert_near(run.throughput[0], thinking, "two servers");
    }
    // Three stations behind a balancer are three stations with a third of the visits each.
    let class = ClosedClass { clients: 20, think_s: 1.0, visits: vec![visit(0, 1.0, 0.12)] };
    let run =
        simulate_closed(&network(vec![station(Discipline::ProcessorSharing, 1.0, 3)], vec![class])).unwrap();
    let (throughput, response_s) = exact(&[0.04; 3], 1.0, 20);
    assert_near(run.throughput[0], throughput, "balanced");
    assert_near(run.response_s[0], response_s, "balanced");
}

#[test]
fn classes_share_and_delays_do_not_queue() {
    // With equal demands, two classes of 5 are one of 10.
    let class =
        |clients| ClosedClass { clients, think_s: 1.0, visits: vec![visit(0, 1.0, 0.1), visit(1, 1.0, 0.5)] };
    let stations = vec![station(Discipline::ProcessorSharing, 1.0, 1), station(Discipline::Delay, 1.0, 1)];
    let run = simulate_closed(&network(stations, vec![class(5), class(5)])).unwrap();
    let (throughput, response_s) = exact(&[0.1], 1.5, 10);
    for class in 0..2 {
        assert_near(run.throughput[class], throughput / 2.0, "half");
        assert_near(run.response_s[class], response_s + 0.5, "with the delay");
        assert!((run.residence_s[class][1] - 0.5).abs() < 0.01);
    }
    assert!((run.utilization[1] - throughput * 0.5).abs() < 0.05, "{:?}", run.utilization);
}

#[test]
fn inconsistent_settings_are_rejected() {
    let class = ClosedClass { clients: 1, think_s: 0.0, visits: Vec::new() };
    let endless = network(vec![station(Discipline::Delay, 1.0, 1)], vec![class.clone()]);
    assert!(simulate_closed(&endless).is_err());
    let unknown = ClosedClass { think_s: 1.0, visits: vec![visit(7, 1.0, 1.0)], ..class };
    assert!(simulate_closed(&network(Vec::new(), vec![unknown])).is_err());
    let no_server = network(vec![station(Discipline::FirstComeFirstServed, 0.5, 1)], Vec::new());
    assert!(simulate_closed(&no_server).is_err());
}
