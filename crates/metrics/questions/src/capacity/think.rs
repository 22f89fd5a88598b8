//! Clients and their think time, by Little's law `N = X·(R + Z)`.

use super::loads::Load;
use super::model::Model;
use super::what_if::duration_text;
use laggard_capacity::open_solution;
use laggard_report::{ClientsBasis, ThinkTime};

/// Share of the time in the system below which a negative think time is attributed to rounding.
const SLACK: f64 = 0.02;

/// Sets the clients and the think time of the model; returns limitations as sentences.
pub(super) fn set_clients(
    model: &mut Model,
    everything: &Load,
    loads: &[Load],
    requested_s: Option<f64>,
) -> Vec<String> {
    let measured = everything.clients.is_finite() && everything.clients > 0.0;
    match (measured, requested_s) {
        (true, _) => estimated(model, loads),
        (false, Some(seconds)) => {
            model.clients = ClientsBasis::FromThinkTime;
            model.system.think_s = seconds;
            model.think = Some(ThinkTime { seconds, source: "Given.".to_owned() });
            vec![]
        }
        (false, None) => vec![
            "Neither clients nor their think time are known: the answer is a rate of random arrivals. Provide --think, or \
             samples of active clients, for an answer in clients."
                .to_owned(),
        ],
    }
}

/// `Z = N/X − R`, over all loads with known clients.
fn estimated(model: &mut Model, loads: &[Load]) -> Vec<String> {
    let (mut clients, mut transactions, mut inside) = (0.0, 0.0, 0.0);
    let mut measured = true;
    for load in loads.iter().filter(|load| load.clients.is_finite()) {
        measured &= load.response_s.is_finite();
        clients += load.clients * load.seconds;
        transactions += load.transactions();
        inside += load.transactions() * inside_s(model, load);
    }
    let (cycle_s, inside_s) = (clients / transactions, inside / transactions);
    model.clients = ClientsBasis::Measured;
    model.system.think_s = (cycle_s - inside_s).max(0.0);
    let by = if measured { "response times" } else { "the model's response times" };
    let source = format!("From mean clients, throughput and {by}: N/X − R.");
    model.think = Some(ThinkTime { seconds: model.system.think_s, source });
    if inside_s > (1.0 + SLACK) * cycle_s {
        return vec![format!(
            "By Little's law, the counted clients would spend {} per transaction in the system, less than the {} that \
             transactions take: clients are undercounted, or others send requests, too. No think time is assumed.",
            duration_text(cycle_s),
            duration_text(inside_s)
        )];
    }
    vec![]
}

/// Time of a transaction in the system, including work after the response; measured if known, otherwise modeled.
fn inside_s(model: &Model, load: &Load) -> f64 {
    let solution = model.network(&load.counts).and_then(|network| open_solution(&network, load.throughput()));
    let Some(solution) = solution else {
        return if load.response_s.is_finite() { load.response_s } else { 0.0 };
    };
    let modeled_s: f64 = solution.stations.iter().map(|station| station.residence_s).sum();
    match load.response_s.is_finite() {
        true => load.response_s + (modeled_s - solution.response_s),
        false => modeled_s,
    }
}

/// Sets the clients of loads from the specified think time, if they are not measured.
pub(super) fn fill_clients(model: &Model, loads: &mut [Load]) {
    if model.clients != ClientsBasis::FromThinkTime {
        return;
    }
    for load in loads {
        load.clients = load.throughput() * (inside_s(model, load) + model.system.think_s);
    }
}
