//! Clients and their think time, by Little's law `N = X·(R + Z)`.

use super::loads::Load;
use super::model::Model;
use super::what_if::length;
use laggard_capacity::open_solution;
use laggard_report::{ClientsBasis, ThinkTime};

/// Part of the time in the system below which a negative think time is rounding.
const SLACK: f64 = 0.02;

/// Settles where clients come from; what limits trust in that, as sentences.
pub(super) fn set_clients(model: &mut Model, everything: &Load, given_s: Option<f64>) -> Vec<String> {
    let measured = everything.clients.is_finite() && everything.clients > 0.0;
    match (measured, given_s) {
        (true, _) => estimated(model, everything),
        (false, Some(seconds)) => {
            model.clients = ClientsBasis::FromThinkTime;
            model.system.think_s = seconds;
            model.think = Some(ThinkTime { seconds, source: "Given.".to_owned() });
            vec![]
        }
        (false, None) => vec![
            "Neither clients nor their think time are known: the answer is a rate of requests that arrive at random. \
             Give --think, or samples of active clients, for an answer in clients."
                .to_owned(),
        ],
    }
}

/// `Z = N/X − R`, over all windows.
fn estimated(model: &mut Model, everything: &Load) -> Vec<String> {
    let (response_s, by) = match everything.response_s.is_finite() {
        true => (everything.response_s, "response time"),
        false => (modelled_response_s(model, everything), "the model's response time"),
    };
    let inside_s = everything.clients / everything.throughput();
    let think_s = (inside_s - response_s).max(0.0);
    model.clients = ClientsBasis::Measured;
    model.system.think_s = think_s;
    let source = format!("From the mean number of clients, throughput and {by}: N/X − R.");
    model.think = Some(ThinkTime { seconds: think_s, source });
    if response_s > (1.0 + SLACK) * inside_s {
        return vec![format!(
            "By Little's law {:.1} clients at {:.1} requests a second leave {} for each, less than the response time \
             of {}: clients are undercounted, or requests have others inside. No think time is assumed.",
            everything.clients,
            everything.throughput(),
            length(inside_s),
            length(response_s)
        )];
    }
    vec![]
}

/// As if requests arrived at random.
fn modelled_response_s(model: &Model, load: &Load) -> f64 {
    let solution = model.network(&load.counts).and_then(|network| open_solution(&network, load.throughput()));
    solution.map_or(0.0, |solution| solution.response_s)
}

/// Clients of loads that do not tell them, from the think time given.
pub(super) fn fill_clients(model: &Model, loads: &mut [Load]) {
    if model.clients != ClientsBasis::FromThinkTime {
        return;
    }
    for load in loads {
        let response_s = match load.response_s.is_finite() {
            true => load.response_s,
            false => modelled_response_s(model, load),
        };
        load.clients = load.throughput() * (response_s + model.system.think_s);
    }
}
