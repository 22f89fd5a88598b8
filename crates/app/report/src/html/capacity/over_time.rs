//! Capacity by stretch of time, with the load.

use super::super::markup::Markup;
use super::super::remark;
use super::super::time_axis::TimeAxis;
use super::chart::{Chart, round_up};
use crate::capacity::{CapacityReport, amount, binding_sentence};

/// Height in pixels.
const HEIGHT: f64 = 180.0;

pub(super) fn drawable(report: &CapacityReport) -> bool {
    report.answer.as_ref().is_some_and(|answer| answer.windows.len() > 1)
}

pub(super) fn write(m: &mut Markup, report: &CapacityReport) {
    let Some(answer) = &report.answer else { return };
    let (Some(first), Some(last)) = (answer.windows.first(), answer.windows.last()) else { return };
    remark(m, "What the system could take with the mix of each time, and the load it had. The least binds.");
    m.within("p", &[], |m| m.sentence(&binding_sentence(report, answer)));
    legend(m);
    let closed = answer.clients.is_some();
    let most = |at: usize| {
        let row = &answer.windows[at];
        row.clients.map_or(row.throughput, |clients| clients as f64)
    };
    let load = |at: usize| match closed {
        true => report.observed[at].clients.unwrap_or(f64::NAN),
        false => report.observed[at].throughput,
    };
    let largest = (0..answer.windows.len()).map(most).chain((0..report.observed.len()).map(load));
    let top = round_up(largest.filter(|value| value.is_finite()).fold(0.0, f64::max));
    // Times are counted from the first, so that they keep their digits.
    let since = |ns: i64| (ns.saturating_sub(first.since_ns)) as f64;
    let chart = Chart { left: 0.0, right: since(last.until_ns).max(1.0), top, height: HEIGHT };
    m.open("figure", &[("class", "chart")]);
    chart.draw(m, "chart-over-time", "Capacity and load over time", |m| {
        for share in [0.0, 0.5, 1.0] {
            chart.level(m, "grid", share * top, &amount(share * top));
        }
        chart.stretched(m, |m| {
            let steps = answer
                .windows
                .iter()
                .enumerate()
                .flat_map(|(at, row)| [(since(row.since_ns), most(at)), (since(row.until_ns), most(at))]);
            chart.line(m, "cap-line", steps);
            let steps = report
                .observed
                .iter()
                .enumerate()
                .flat_map(|(at, row)| [(since(row.since_ns), load(at)), (since(row.until_ns), load(at))]);
            chart.line(m, "load-line", steps);
        });
        if let Some(row) = answer.binding.and_then(|at| answer.windows.get(at as usize)) {
            chart.upright(m, "cap", 0.5 * (since(row.since_ns) + since(row.until_ns)));
        }
    });
    TimeAxis { since_ns: first.since_ns, until_ns: last.until_ns }.names(m);
    m.close("figure");
}

fn legend(m: &mut Markup) {
    m.open("ul", &[("class", "legend keys")]);
    for (class, words) in [("cap-line", "capacity"), ("load-line", "load"), ("cap", "the mix that binds")] {
        m.open("li", &[]);
        m.raw("<svg width=\"26\" height=\"10\" aria-hidden=\"true\">");
        m.shape("line", class, &[("x1", 0.0), ("x2", 26.0), ("y1", 5.0), ("y2", 5.0)]);
        m.close("svg");
        m.text(words);
        m.close("li");
    }
    m.close("ul");
}
