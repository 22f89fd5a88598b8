//! Time in each state, normal against sample: boxes and points on one logarithmic axis.

use super::super::markup::Markup;
use super::super::remark;
use super::super::time_axis::percent;
use super::{Column, number, rest};
use crate::kernel::{DurationRow, KernelDiagnosis, row_name};
use crate::numbers;

/// States drawn.
const STATES: usize = 24;

/// Points drawn of a set.
const POINTS: usize = 120;

/// The left end: one microsecond, or less stands at the edge.
const LOW: f64 = 1e3;

pub(super) fn drawable(report: &KernelDiagnosis) -> bool {
    !report.durations.is_empty()
}

pub(super) fn write(m: &mut Markup, report: &KernelDiagnosis) {
    remark(
        m,
        "Time of an execution in each state. Upper strip: normal, lower: sample. A box holds the middle half, the line \
         in it is the median; the scale is logarithmic, and what is below 1 \u{b5}s stands at the left edge.",
    );
    let values = report.durations.iter().flat_map(|row| row.normal_ns.iter().chain(&row.sample_ns));
    let most = values.copied().max().unwrap_or(0).max(1_000_000) as f64;
    let axis = Axis { high: 10_f64.powf(most.log10().ceil()) };
    m.open("div", &[("class", "strips-list")]);
    for row in report.durations.iter().take(STATES) {
        let name = row_name(report, row.letter);
        m.open("div", &[("class", "strip-row")]);
        m.within("div", &[("class", "strip-name")], |m| m.text(&name));
        m.raw("<svg class=\"strip-picture\" width=\"100%\" height=\"38\" aria-hidden=\"true\">\n");
        for tick in axis.ticks() {
            let x = percent(axis.x(tick));
            m.element("line", &[("class", "grid"), ("x1", &x), ("x2", &x), ("y1", "0"), ("y2", "38")], "");
        }
        strip(m, &axis, &row.normal_ns, 2.0, "normal-strip");
        strip(m, &axis, &row.sample_ns, 20.0, "sample-strip");
        m.close("svg");
        m.close("div");
    }
    m.open("div", &[("class", "strip-row")]);
    m.raw("<div class=\"strip-name\"></div><svg class=\"strip-picture\" width=\"100%\" height=\"18\" aria-hidden=\"true\">\n");
    let ticks = axis.ticks();
    for (at, tick) in ticks.iter().enumerate() {
        let class = match at {
            0 => "tick at-start",
            at if at + 1 == ticks.len() => "tick at-end",
            at if at % 2 == 1 || at + 2 == ticks.len() => "tick wide-only",
            _ => "tick",
        };
        let x = percent(axis.x(*tick));
        m.element("text", &[("class", class), ("x", &x), ("y", "13")], &decade(*tick));
    }
    m.close("svg");
    m.close("div");
    m.close("div");
    rest(m, report.durations.len(), STATES, "states");
    table(m, report);
}

/// `1 µs`, `10 ms`, `1 s`.
fn decade(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{} \u{b5}s", (ns / 1e3).round()),
        ns if ns < 1e9 => format!("{} ms", (ns / 1e6).round()),
        ns => format!("{} s", numbers::count((ns / 1e9).round() as u64)),
    }
}

/// From times to places.
struct Axis {
    high: f64,
}

impl Axis {
    /// Percent from the left.
    fn x(&self, ns: f64) -> f64 {
        ((ns.max(LOW) / LOW).log10() / (self.high / LOW).log10() * 98.0 + 1.0).clamp(1.0, 99.0)
    }

    fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / LOW).log10().round() as i32;
        (0..=decades).map(|at| LOW * 10_f64.powi(at)).collect()
    }
}

/// The value below which a share of the sorted values lies; 0 of none.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).map_or(0.0, |&value| value as f64)
}

fn strip(m: &mut Markup, axis: &Axis, sorted: &[u64], y: f64, class: &str) {
    if sorted.is_empty() {
        return;
    }
    m.open("g", &[("class", class)]);
    let middle = format!("{}", y + 8.0);
    let [low, q1, median, q3, high] =
        [0.05, 0.25, 0.5, 0.75, 0.95].map(|share| axis.x(quantile(sorted, share)));
    let [x1, x2] = [low, high].map(percent);
    m.element("line", &[("x1", &x1), ("x2", &x2), ("y1", &middle), ("y2", &middle)], "");
    let (x, width, top) = (percent(q1), percent((q3 - q1).max(0.3)), format!("{}", y + 2.0));
    m.element("rect", &[("x", &x), ("width", &width), ("y", &top), ("height", "12")], "");
    let step = sorted.len().div_ceil(POINTS);
    for value in sorted.iter().step_by(step.max(1)) {
        m.element("circle", &[("cx", &percent(axis.x(*value as f64))), ("cy", &middle), ("r", "1.6")], "");
    }
    let (x, bottom) = (percent(median), format!("{}", y + 15.0));
    let top = format!("{}", y + 1.0);
    m.element("line", &[("class", "mid"), ("x1", &x), ("x2", &x), ("y1", &top), ("y2", &bottom)], "");
    m.close("g");
}

fn table(m: &mut Markup, report: &KernelDiagnosis) {
    m.open("details", &[("class", "fold alternative")]);
    m.element("summary", &[], "The same as a table");
    let columns = [
        Column::Text("state"),
        Column::Number("normal median"),
        Column::Number("normal 95th"),
        Column::Number("sample median"),
        Column::Number("sample 95th"),
    ];
    super::table(m, "Time by state", &columns, |m| {
        report.durations.iter().take(STATES).for_each(|row| table_row(m, report, row));
    });
    m.close("details");
}

fn table_row(m: &mut Markup, report: &KernelDiagnosis, row: &DurationRow) {
    let name = row_name(report, row.letter);
    m.open("tr", &[]);
    m.element("th", &[("scope", "row")], &name);
    for (set, share) in
        [(&row.normal_ns, 0.5), (&row.normal_ns, 0.95), (&row.sample_ns, 0.5), (&row.sample_ns, 0.95)]
    {
        let value = quantile(set, share);
        number(m, &numbers::time_float(value), value);
    }
    m.close("tr");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_is_logarithmic_and_holds_everything() {
        let axis = Axis { high: 1e9 };
        assert_eq!(axis.ticks().len(), 7);
        assert!((axis.x(1e6) - 50.0).abs() < 1e-9);
        assert_eq!((axis.x(0.0), axis.x(1e300)), (1.0, 99.0));
        assert_eq!([1e3, 1e5, 1e6, 1e9].map(decade), ["1 µs", "100 µs", "1 ms", "1 s"]);
    }
}
