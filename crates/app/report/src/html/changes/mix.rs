//! The transaction mix over time, stacked.

use super::super::markup::Markup;
use super::super::remark;
use super::super::time_axis::TimeAxis;
use super::plot::Plot;
use crate::changes::{ChangeEventKind, ChangeReport, MixSeries};

/// Height in pixels.
const HEIGHT: f64 = 180.0;

/// Colors that can be told apart, the last for what is pooled.
const COLORS: usize = 9;

pub(super) fn write(m: &mut Markup, report: &ChangeReport) {
    let Some(mix) = &report.mix else { return };
    remark(
        m,
        "Shares of the transactions, from bottom to top in the order of the list. Lines mark where the mix moved.",
    );
    legend(m, mix);
    let points = mix.shares.iter().map(Vec::len).max().unwrap_or(0);
    let length_ns = (points as f64 * mix.step_s * 1e9).clamp(0.0, 9e18);
    let axis = TimeAxis { since_ns: mix.since_ns, until_ns: mix.since_ns.saturating_add(length_ns as i64) };
    m.open("figure", &[("class", "timeline")]);
    let height = HEIGHT.to_string();
    let picture = [
        ("class", "strips"),
        ("role", "img"),
        ("aria-labelledby", "mix-picture"),
        ("width", "100%"),
        ("height", &*height),
    ];
    m.open("svg", &picture);
    m.element("title", &[("id", "mix-picture")], "Shares of transaction types over time, stacked");
    let plot = Plot { points, height: HEIGHT, bottom: 0.0, top: 1.0 };
    plot.open(m, 0.0);
    let mut below = vec![Some(0.0); points];
    for (at, shares) in mix.shares.iter().enumerate() {
        let above = stacked(&below, shares);
        plot.band(m, &format!("k{}", at.min(COLORS - 1)), &below, &above);
        below = above;
    }
    m.close("svg");
    for ns in axis.ticks() {
        axis.line(m, "grid", ns, [HEIGHT - 5.0, HEIGHT]);
    }
    let moved = report.events.iter().filter(|event| event.kind == ChangeEventKind::WorkloadChange);
    moved.take(60).for_each(|event| axis.line(m, "moved", event.onset.at_ns, [0.0, HEIGHT]));
    m.close("svg");
    axis.names(m);
    m.close("figure");
}

/// A layer's upper edge; unknown where either is.
fn stacked(below: &[Option<f64>], shares: &[Option<f64>]) -> Vec<Option<f64>> {
    let share = |at: usize| shares.get(at).copied().flatten();
    below.iter().enumerate().map(|(at, low)| Some((*low)? + share(at)?)).collect()
}

fn legend(m: &mut Markup, mix: &MixSeries) {
    m.open("ul", &[("class", "legend")]);
    for (at, name) in mix.transactions.iter().enumerate() {
        m.open("li", &[]);
        m.raw("<svg width=\"12\" height=\"12\" aria-hidden=\"true\">");
        let class = format!("k{}", at.min(COLORS - 1));
        m.shape("rect", &class, &[("x", 0.0), ("y", 0.0), ("width", 12.0), ("height", 12.0)]);
        m.close("svg");
        m.name("operation", name, 40);
        m.close("li");
    }
    m.close("ul");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_stack_and_gaps_stay() {
        let low = [Some(0.25), Some(0.5), None];
        assert_eq!(stacked(&low, &[Some(0.5), None, Some(0.1)]), [Some(0.75), None, None]);
    }
}
