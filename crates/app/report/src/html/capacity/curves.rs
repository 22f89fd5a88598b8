//! Throughput, latency and utilization against clients, with what was observed.

use super::super::markup::Markup;
use super::super::remark;
use super::chart::{Chart, round_up};
use super::color;
use crate::capacity::{
    CapacityAnswer, CapacityReport, CurvePoint, ObservedLoad, TierKind, amount, latency, limit, most_amount,
};
use crate::numbers;

/// Height in pixels of each chart.
const HEIGHT: f64 = 170.0;

/// Dots a chart can bear.
const DOTS: usize = 400;

pub(super) fn drawable(report: &CapacityReport) -> bool {
    report.answer.as_ref().is_some_and(|answer| !answer.curve.is_empty())
}

/// One quantity: what of a curve and what of an observation.
struct Quantity {
    id: &'static str,
    title: &'static str,
    of_curve: fn(&CurvePoint) -> f64,
    of_observed: fn(&ObservedLoad) -> Option<f64>,
    words: fn(f64) -> String,
}

const THROUGHPUT: Quantity = Quantity {
    id: "chart-throughput",
    title: "Throughput, requests a second",
    of_curve: |point| point.throughput,
    of_observed: |load| Some(load.throughput),
    words: amount,
};

const RESPONSE: Quantity = Quantity {
    id: "chart-response",
    title: "Mean response time",
    of_curve: |point| point.response_s,
    of_observed: |load| load.response_s,
    words: latency,
};

pub(super) fn write(m: &mut Markup, report: &CapacityReport) {
    let Some(answer) = &report.answer else { return };
    let drawing = Drawing { report, answer };
    let what = if answer.clients.is_some() { "clients" } else { "requests a second" };
    remark(
        m,
        &format!(
            "Against {what}. Dots are what was observed, each with the mix of its time; lines are the model. The \
             upright line is the capacity, the dotted one the load now."
        ),
    );
    legend(m, report, answer);
    if answer.clients.is_some() {
        drawing.quantity(m, &THROUGHPUT, 0.0);
    }
    drawing.quantity(m, &RESPONSE, 2.5 * report.latency_max_s);
    drawing.utilization(m);
}

fn legend(m: &mut Markup, report: &CapacityReport, answer: &CapacityAnswer) {
    let mut keys = vec![("curve", "the mix that binds")];
    if !answer.curve_all.is_empty() {
        keys.push(("curve-all", "the mix of all data"));
    }
    if report.what_if.is_some() {
        keys.push(("curve-what", "after the changes asked about"));
    }
    m.open("ul", &[("class", "legend keys")]);
    for (class, words) in keys {
        m.open("li", &[]);
        m.raw("<svg width=\"26\" height=\"10\" aria-hidden=\"true\">");
        m.shape("line", class, &[("x1", 0.0), ("x2", 26.0), ("y1", 5.0), ("y2", 5.0)]);
        m.close("svg");
        m.text(words);
        m.close("li");
    }
    m.close("ul");
}

struct Drawing<'a> {
    report: &'a CapacityReport,
    answer: &'a CapacityAnswer,
}

impl Drawing<'_> {
    /// What stands below: clients, or the rate.
    fn across(&self, point: &CurvePoint) -> f64 {
        if self.answer.clients.is_some() { point.clients } else { point.throughput }
    }

    fn across_observed(&self, load: &ObservedLoad) -> f64 {
        match self.answer.clients {
            Some(_) => load.clients.unwrap_or(f64::NAN),
            None => load.throughput,
        }
    }

    fn now(&self) -> f64 {
        let load = self.report.load;
        let now = match self.answer.clients {
            Some(_) => load.and_then(|load| load.clients),
            None => load.map(|load| load.throughput),
        };
        now.unwrap_or(f64::NAN)
    }

    fn what_if(&self) -> Option<&CapacityAnswer> {
        self.report.what_if.as_ref().map(|what_if| &what_if.answer)
    }

    fn right(&self) -> f64 {
        let curves = self.answer.curve.iter().chain(self.what_if().into_iter().flat_map(|it| &it.curve));
        round_up(curves.map(|point| self.across(point)).fold(0.0, f64::max))
    }

    fn observed(&self) -> impl Iterator<Item = &ObservedLoad> {
        let step = self.report.observed.len().div_ceil(DOTS).max(1);
        self.report.observed.iter().step_by(step)
    }

    /// A chart of one quantity; `top_max` > 0 cuts it.
    fn quantity(&self, m: &mut Markup, quantity: &Quantity, top_max: f64) {
        let curves = [&self.answer.curve, &self.answer.curve_all];
        let what_if = self.what_if().map(|answer| &answer.curve);
        let all = curves.into_iter().chain(what_if).flatten().map(quantity.of_curve);
        let seen = self.report.observed.iter().filter_map(quantity.of_observed);
        let largest = all.chain(seen).filter(|value| value.is_finite()).fold(0.0, f64::max);
        let top = round_up(if top_max > 0.0 { largest.min(top_max) } else { largest });
        let chart = Chart { left: 0.0, right: self.right(), top, height: HEIGHT };
        m.element("h3", &[], quantity.title);
        m.open("figure", &[("class", "chart")]);
        let name = format!("{}; the tables below hold the same", quantity.title);
        chart.draw(m, quantity.id, &name, |m| {
            for share in [0.0, 0.5, 1.0] {
                chart.level(m, "grid", share * top, &(quantity.words)(share * top));
            }
            m.within("g", &[("class", "points")], |m| {
                for load in self.observed() {
                    let value = (quantity.of_observed)(load).unwrap_or(f64::NAN);
                    chart.dot(m, self.across_observed(load), value, &self.words(load));
                }
            });
            chart.stretched(m, |m| {
                let line = |m: &mut Markup, class: &str, curve: &[CurvePoint]| {
                    chart.line(
                        m,
                        class,
                        curve.iter().map(|point| (self.across(point), (quantity.of_curve)(point))),
                    );
                };
                line(m, "curve-all", &self.answer.curve_all);
                if let Some(curve) = what_if {
                    line(m, "curve-what", curve);
                }
                line(m, "curve", &self.answer.curve);
            });
            if quantity.id == RESPONSE.id {
                let target_s = self.report.latency_max_s;
                chart.target(m, target_s, &format!("target {}", limit(target_s)));
            }
            self.marks(m, &chart);
        });
        chart.axis(m, amount_tick);
        m.close("figure");
    }

    fn marks(&self, m: &mut Markup, chart: &Chart) {
        chart.upright(m, "now", self.now());
        chart.upright(m, "cap", most_amount(self.answer));
    }

    fn words(&self, load: &ObservedLoad) -> String {
        let clients =
            load.clients.map_or_else(String::new, |clients| format!("{} clients, ", amount(clients)));
        let response = load.response_s.map_or_else(String::new, |seconds| format!(", {}", latency(seconds)));
        format!("{clients}{} requests/s{response}", amount(load.throughput))
    }

    /// Utilization of every tier with processors.
    fn utilization(&self, m: &mut Markup) {
        let Some(model) = &self.report.model else { return };
        let tiers: Vec<usize> =
            (0..model.tiers.len()).filter(|&at| model.tiers[at].kind == TierKind::Cpu).take(8).collect();
        let chart = Chart { left: 0.0, right: self.right(), top: 1.0, height: HEIGHT };
        m.element("h3", &[], "Utilization");
        m.open("ul", &[("class", "legend keys")]);
        for (place, &at) in tiers.iter().enumerate() {
            m.open("li", &[]);
            m.raw("<svg width=\"26\" height=\"10\" aria-hidden=\"true\">");
            m.shape("line", &color("l", place), &[("x1", 0.0), ("x2", 26.0), ("y1", 5.0), ("y2", 5.0)]);
            m.close("svg");
            m.name("operation", &model.tiers[at].tier, 40);
            m.close("li");
        }
        m.close("ul");
        m.open("figure", &[("class", "chart")]);
        chart.draw(m, "chart-utilization", "Utilization by tier; the tables below hold the same", |m| {
            for share in [0.0, 0.5, 1.0] {
                chart.level(m, "grid", share, &numbers::share(share));
            }
            for (place, &at) in tiers.iter().enumerate() {
                m.within("g", &[("class", &*color("k", place))], |m| {
                    for load in self.observed() {
                        let used = load.utilization.get(at).copied().flatten().unwrap_or(f64::NAN);
                        chart.dot(m, self.across_observed(load), used, &self.words(load));
                    }
                });
            }
            chart.stretched(m, |m| {
                for (place, &at) in tiers.iter().enumerate() {
                    let point = |point: &CurvePoint| {
                        let used = point.utilization.get(at).copied().flatten().unwrap_or(f64::NAN);
                        (self.across(point), used)
                    };
                    chart.line(m, &color("l", place), self.answer.curve.iter().map(point));
                }
            });
            self.marks(m, &chart);
        });
        chart.axis(m, amount_tick);
        m.close("figure");
    }
}

/// `200`, `1,500`, `0.5`
fn amount_tick(value: f64) -> String {
    if value >= 10.0 {
        numbers::count(value.round() as u64)
    } else {
        format!("{}", (value * 100.0).round() / 100.0)
    }
}
