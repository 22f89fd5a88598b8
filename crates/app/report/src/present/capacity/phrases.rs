//! Phrases about capacity.

use crate::names::{quoted, some_of};
use crate::numbers;
use crate::times::Calendar;
use crate::{CapacityAnswer, CapacityReport, ModelAccuracy, TierKind, TierModel, Trust, WhatIfLoad};

/// Transactions of a mix that are named.
const MIX_NAMED: usize = 4;

/// A limit as people write it: `500 ms`, `1.5 s`.
pub(crate) fn limit(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", three_digits(s)),
        s if s >= 1e-3 => format!("{} ms", three_digits(s * 1e3)),
        s => format!("{} µs", three_digits(s * 1e6)),
    }
}

fn three_digits(value: f64) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return 0.0;
    }
    let scale = 10_f64.powf((2.0 - value.log10().floor()).max(0.0));
    (value * scale).round() / scale
}

/// A number of clients or of requests a second: `620`, `88.1`, `0.42`.
pub(crate) fn amount(value: f64) -> String {
    match value {
        v if !v.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        v if v >= 100.0 => numbers::count(v.round() as u64),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// `88.1 requests/s`
pub(crate) fn rate(value: f64) -> String {
    format!("{} requests/s", amount(value))
}

/// `620 clients (88.1 requests/s)`, or the rate alone.
pub(crate) fn most(answer: &CapacityAnswer) -> String {
    match answer.clients {
        Some(1) => format!("1 client ({})", rate(answer.throughput)),
        Some(clients) => format!("{} clients ({})", numbers::count(clients), rate(answer.throughput)),
        None => rate(answer.throughput),
    }
}

/// A capacity in its own unit, to compare two.
pub(crate) fn most_amount(answer: &CapacityAnswer) -> f64 {
    answer.clients.map_or(answer.throughput, |clients| clients as f64)
}

/// The median capacity over the intervals, in its own unit; `None` if there is one interval or one mix for all.
pub(crate) fn median_amount(answer: &CapacityAnswer) -> Option<String> {
    let has_median = answer.limiting_window.is_some() && answer.windows.len() > 1;
    has_median.then(|| match answer.clients_median {
        Some(median) => amount(median),
        None => rate(answer.throughput_median),
    })
}

/// The remaining capacity, after `now …:`.
pub(crate) fn left(used: f64) -> String {
    match used {
        u if !u.is_finite() => "nothing is left".to_owned(),
        u if u > 1.005 => format!("{} more than it can take", numbers::share(u - 1.0)),
        u if u >= 0.995 => "nothing is left".to_owned(),
        u if (u - 0.5).abs() < 0.015 => "half is left".to_owned(),
        u if (u - 1.0 / 3.0).abs() < 0.01 => "two thirds are left".to_owned(),
        u => format!("{} is left", numbers::share(1.0 - u)),
    }
}

/// `+47 %`, `−12 %`, against another capacity.
pub(crate) fn gain(before: f64, after: f64) -> String {
    match after / before - 1.0 {
        change if !change.is_finite() => String::new(),
        change if change.abs() < 0.005 => "as many".to_owned(),
        change if change > 0.0 => format!("{} more", numbers::share(change)),
        change => format!("{} fewer", numbers::share(-change)),
    }
}

/// A tier's size: `2 servers of 4 cores`.
pub(crate) fn tier_size(tier: &TierModel) -> String {
    match (tier.kind, tier.cores) {
        (TierKind::Cpu, Some(cores)) => {
            let cores =
                if cores == 1.0 { "1 core".to_owned() } else { format!("{} cores", three_digits(cores)) };
            match tier.servers {
                1 => cores,
                servers => format!("{} servers of {cores}", numbers::count(u64::from(servers))),
            }
        }
        (TierKind::Calls, _) => "calls, time as measured".to_owned(),
        _ => "other waiting".to_owned(),
    }
}

/// `40 % `cart`, 35 % `home`` and how many others.
pub(crate) fn mix_words(names: &[String], shares: &[f64]) -> String {
    let mut order: Vec<usize> =
        (0..shares.len().min(names.len())).filter(|&index| shares[index] > 0.0).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    let part = |index: usize| format!("{} {}", numbers::share(shares[index]), quoted(&names[index]));
    some_of(order.into_iter().map(part), MIX_NAMED)
}

/// How far the model is off, as a sentence.
pub(crate) fn accuracy_sentence(accuracy: &ModelAccuracy) -> String {
    let mut parts = Vec::new();
    let mut part = |what: &str, error: Option<f64>| {
        if let Some(error) = error {
            parts.push(format!("{what} {}", numbers::share(error)));
        }
    };
    part("throughput", accuracy.throughput);
    part("response time", accuracy.response);
    for tier in accuracy.utilization.iter().take(4) {
        part(&format!("utilization of {}", quoted(&tier.tier)), Some(tier.error));
    }
    if parts.is_empty() {
        return "There are no observations to compare the model with.".to_owned();
    }
    let intervals = numbers::counted(accuracy.intervals, "interval");
    format!("Error of the model over {intervals}: {}.", parts.join(", "))
}

/// The word for how far an answer can be trusted.
pub(crate) const fn trust_word(trust: Trust) -> &'static str {
    match trust {
        Trust::Good => "good",
        Trust::Fair => "fair",
        Trust::Poor => "poor",
    }
}

/// When the mix was least favorable, and what it was; as a sentence. Empty without one.
pub(crate) fn least_favorable_mix(report: &CapacityReport, answer: &CapacityAnswer) -> String {
    let Some(model) = &report.model else { return String::new() };
    let mix = mix_words(&model.transactions, &answer.mix);
    let Some(window) = answer.limiting_window.and_then(|index| answer.windows.get(index as usize)) else {
        return format!("With the mix {mix}.");
    };
    let [since, until] = Calendar::dated().ends(window.time);
    format!("The least favorable mix was at {since}–{until}: {mix}.")
}

/// The load of a what-if question, as a sentence.
pub(crate) fn load_sentence(load: &WhatIfLoad) -> String {
    let clients = load.clients.map_or_else(String::new, |clients| format!(" ({} clients)", amount(clients)));
    let times = if load.factor == 1.0 { "the".to_owned() } else { format!("{} times the", load.factor) };
    format!(
        "At {times} current load{clients}: {} requests/s, {}, {} the target.",
        amount(load.throughput),
        numbers::seconds(load.response_s),
        if load.within_target { "within" } else { "beyond" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_capacity_is_phrased_by_size() {
        for (used, text) in [
            (0.5, "half is left"),
            (0.25, "75 % is left"),
            (1.0, "nothing is left"),
            (1.2, "20 % more than it can take"),
            (f64::INFINITY, "nothing is left"),
        ] {
            assert_eq!(left(used), text);
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(limit(0.5), "500 ms");
        assert_eq!(limit(1.5), "1.5 s");
        assert_eq!(limit(0.012_34), "12.3 ms");
        assert_eq!(limit(1_200.0), "1200 s");
        assert_eq!(amount(88.123), "88.1");
        assert_eq!(amount(1_620.4), "1,620");
        assert_eq!(gain(100.0, 147.0), "47 % more");
        assert_eq!(gain(100.0, 88.0), "12 % fewer");
        assert_eq!(gain(0.0, 0.0), "");
    }

    #[test]
    fn the_largest_shares_come_first() {
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
        let words = mix_words(&names, &[0.1, 0.4, 0.2, 0.15, 0.15, 0.0]);
        assert_eq!(words, "40 % `b`, 20 % `c`, 15 % `d`, 15 % `e` and 1 more");
    }
}
