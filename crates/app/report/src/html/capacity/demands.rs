//! Tiers, and what transactions demand of them.

use super::super::markup::Markup;
use super::super::{NAME_ROOM, remark, scroller};
use super::{number, number_title};
use crate::capacity::{CapacityReport, latency, tier_size};
use crate::numbers;

/// Rows and tiers that the page can bear.
const ROWS: usize = 200;
const TIERS: usize = 8;

/// Utilization from which a tier is marked.
const BUSY: f64 = 0.9;

pub(super) fn tiers(m: &mut Markup, report: &CapacityReport) {
    let Some(model) = &report.model else { return };
    remark(m, "Demand is what a mean transaction takes without waiting; the rest holds at capacity.");
    scroller(m, "Tiers", |m| {
        m.open("table", &[("class", "parts")]);
        m.raw("<caption class=\"away\">Tiers at capacity</caption>\n<thead><tr><th scope=\"col\">tier</th><th scope=\"col\">size</th>");
        for title in ["demand", "time at capacity", "utilization at capacity", "used beside"] {
            number_title(m, title);
        }
        m.raw("<th scope=\"col\">where it comes from</th></tr></thead>\n<tbody>\n");
        for (at, tier) in model.tiers.iter().enumerate().take(ROWS) {
            let load = report.answer.as_ref().and_then(|answer| answer.tiers.get(at));
            m.open("tr", &[]);
            m.within("th", &[("scope", "row")], |m| m.name("operation", &tier.tier, NAME_ROOM));
            m.element("td", &[("class", "size")], &tier_size(tier));
            number(m, &latency(tier.mean_s), tier.mean_s);
            let residence_s = load.map_or(f64::NAN, |load| load.residence_s);
            number(m, &latency(residence_s), residence_s);
            match load.and_then(|load| load.utilization) {
                Some(used) if used >= BUSY => m.within("td", &[("class", "number")], |m| {
                    m.element("span", &[("class", "busy")], &numbers::share(used));
                }),
                Some(used) => number(m, &numbers::share(used), used),
                None => number(m, "–", -1.0),
            }
            number(m, &numbers::share(tier.background), tier.background);
            m.within("td", &[], |m| m.sentence(&tier.source));
            m.close("tr");
        }
        m.raw("</tbody>\n");
        m.close("table");
    });
}

pub(super) fn transactions(m: &mut Markup, report: &CapacityReport) {
    let Some(model) = &report.model else { return };
    remark(
        m,
        "Seconds a transaction takes at each tier without waiting, with 95 % intervals where they are known, and its \
         mean response time at capacity.",
    );
    scroller(m, "Demands", |m| {
        m.open("table", &[("class", "parts")]);
        m.raw("<caption class=\"away\">Demands of transactions by tier</caption>\n<thead><tr><th scope=\"col\">transaction</th>");
        number_title(m, "share");
        for tier in model.tiers.iter().take(TIERS) {
            m.open("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")]);
            m.name("operation", &tier.tier, 24);
            m.close("th");
        }
        number_title(m, "response at capacity");
        m.raw("</tr></thead>\n<tbody>\n");
        for (at, name) in model.transactions.iter().enumerate().take(ROWS) {
            row(m, report, at, name);
        }
        m.raw("</tbody>\n");
        m.close("table");
    });
    if model.transactions.len() > ROWS || model.tiers.len() > TIERS {
        remark(m, "More transactions and tiers are in the JSON output.");
    }
}

fn row(m: &mut Markup, report: &CapacityReport, at: usize, name: &str) {
    let Some(model) = &report.model else { return };
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| m.name("operation", name, NAME_ROOM));
    number(m, &numbers::share(model.mix[at]), model.mix[at]);
    for tier in model.tiers.iter().take(TIERS) {
        let value = tier.demands_s.get(at).copied().unwrap_or(f64::NAN);
        m.open("td", &[("class", "number"), ("data-value", &format!("{value}"))]);
        m.text(&latency(value));
        if let (Some(low), Some(high)) = (tier.low_s.get(at), tier.high_s.get(at))
            && low.is_finite()
            && high.is_finite()
        {
            m.element("span", &[("class", "interval")], &format!("{} to {}", latency(*low), latency(*high)));
        }
        m.close("td");
    }
    let response_s = report
        .answer
        .as_ref()
        .and_then(|answer| answer.transactions.get(at))
        .map_or(f64::NAN, |transaction| transaction.response_s);
    number(m, &latency(response_s), response_s);
    m.close("tr");
}
