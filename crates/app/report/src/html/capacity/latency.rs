//! Where the latency of transactions goes, as stacked bars.

use super::super::markup::Markup;
use super::super::{NAME_ROOM, remark, scroller};
use super::{color, number, number_title};
use crate::capacity::{CapacityReport, TransactionLatency, latency};
use crate::numbers;

/// Rows that the page can bear.
const ROWS: usize = 200;

/// Width and height of a bar.
const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 14.0;

/// Callees with a name in the legend.
const CALLEES: usize = 6;

pub(super) fn write(m: &mut Markup, report: &CapacityReport) {
    remark(
        m,
        "Means of what was observed. Waiting is everything at the front tier that is not its processors' work.",
    );
    legend(m, report);
    let longest = report.latency.iter().map(|one| one.response_s).fold(0.0, f64::max);
    scroller(m, "Latency", |m| {
        m.open("table", &[("class", "parts")]);
        m.raw("<caption class=\"away\">Parts of the latency by transaction</caption>\n<thead><tr><th scope=\"col\">transaction</th>");
        for title in ["transactions", "response", "service", "waiting", "calls"] {
            number_title(m, title);
        }
        m.raw("<th scope=\"col\"><span class=\"away\">parts</span></th></tr></thead>\n<tbody>\n");
        for one in report.latency.iter().take(ROWS) {
            row(m, one, longest);
        }
        m.raw("</tbody>\n");
        m.close("table");
    });
}

fn row(m: &mut Markup, one: &TransactionLatency, longest: f64) {
    let calls_s: f64 = one.callees_s.iter().sum();
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| m.name("operation", &one.transaction, NAME_ROOM));
    number(m, &numbers::count(one.count), one.count as f64);
    for value in [one.response_s, one.service_s, one.queueing_s, calls_s] {
        number(m, &latency(value), value);
    }
    m.open("td", &[]);
    let (width, height) = (WIDTH.to_string(), HEIGHT.to_string());
    m.open("svg", &[("class", "stack"), ("width", &width), ("height", &height), ("aria-hidden", "true")]);
    let mut x = 0.0;
    for (at, part) in
        [one.service_s, one.queueing_s].into_iter().chain(one.callees_s.iter().copied()).enumerate()
    {
        let wide = if longest > 0.0 { part / longest * WIDTH } else { 0.0 };
        m.shape("rect", &color("k", at), &[("x", x), ("y", 0.0), ("width", wide), ("height", HEIGHT)]);
        x += wide;
    }
    m.close("svg");
    m.close("td");
    m.close("tr");
}

fn legend(m: &mut Markup, report: &CapacityReport) {
    m.open("ul", &[("class", "legend")]);
    let own = ["service", "waiting"].map(str::to_owned);
    for (at, name) in own.iter().chain(report.callees.iter().take(CALLEES)).enumerate() {
        m.open("li", &[]);
        m.raw("<svg width=\"12\" height=\"12\" aria-hidden=\"true\">");
        m.shape("rect", &color("k", at), &[("x", 0.0), ("y", 0.0), ("width", 12.0), ("height", 12.0)]);
        m.close("svg");
        match at < own.len() {
            true => m.text(name),
            false => m.name("operation", name, 40),
        }
        m.close("li");
    }
    m.close("ul");
}
