//! Executions as points on two principal components.

use super::super::markup::Markup;
use super::super::remark;
use super::super::time_axis::percent;
use crate::kernel::{ExecutionSet, KernelDiagnosis, ProjectedExecution, Projection};
use crate::numbers;

/// Pixels of the picture.
const HEIGHT: f64 = 340.0;

/// Pixels left free above and below.
const MARGIN: f64 = 14.0;

/// Clusters with a color of their own.
const COLORS: u32 = 8;

/// Points drawn.
const POINTS: usize = 3_000;

pub(super) fn drawable(report: &KernelDiagnosis) -> bool {
    report.projection.as_ref().is_some_and(|one| one.points.len() > 1)
}

pub(super) fn write(m: &mut Markup, report: &KernelDiagnosis) {
    let Some(projection) = &report.projection else { return };
    remark(
        m,
        &format!(
            "Each execution by its {}, on the two principal components of both sets. Near points are \
             alike; the kinds (clusters) are colored, the number in the legend is the kind\u{2019}s.",
            projection.of
        ),
    );
    legend(m, projection);
    let height = HEIGHT.to_string();
    let attributes = [
        ("class", "points"),
        ("role", "img"),
        ("aria-labelledby", "points-picture"),
        ("width", "100%"),
        ("height", &*height),
    ];
    m.open("svg", &attributes);
    m.element("title", &[("id", "points-picture")], "Executions on two principal components");
    let range = Range::of(&projection.points);
    // What stands out is drawn last, on top.
    for anomalous in [false, true] {
        let chosen = projection.points.iter().take(POINTS).filter(|point| point.anomalous == anomalous);
        chosen.for_each(|point| draw(m, &range, point));
    }
    m.close("svg");
    let left = projection.points.len().saturating_sub(POINTS) as u64 + projection.left_out;
    if left > 0 {
        remark(m, &format!("{} are not drawn.", numbers::counted(left, "execution")));
    }
}

/// The ends of both axes.
struct Range {
    x: [f64; 2],
    y: [f64; 2],
}

impl Range {
    fn of(points: &[ProjectedExecution]) -> Range {
        let ends = |value: fn(&ProjectedExecution) -> f64| {
            let values = points.iter().map(value).filter(|value| value.is_finite());
            let [low, high] = values
                .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| [low.min(at), high.max(at)]);
            if low < high { [low, high] } else { [low - 1.0, low + 1.0] }
        };
        Range { x: ends(|point| point.x), y: ends(|point| point.y) }
    }
}

fn place(value: f64, [low, high]: [f64; 2]) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

fn color(cluster: Option<u32>) -> String {
    cluster.map_or_else(|| "noise".to_owned(), |cluster| format!("c{}", cluster % COLORS))
}

fn draw(m: &mut Markup, range: &Range, point: &ProjectedExecution) {
    if !point.x.is_finite() || !point.y.is_finite() {
        return;
    }
    let x = percent(2.0 + 96.0 * place(point.x, range.x));
    let y = format!("{:.1}", HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * place(point.y, range.y));
    let sample = point.set == ExecutionSet::Sample;
    let class = format!(
        "{} {}{}",
        if sample { "of-sample" } else { "of-normal" },
        color(point.cluster),
        if point.anomalous { " odd-one" } else { "" }
    );
    let radius = if sample { "5" } else { "4" };
    m.open("circle", &[("class", &class), ("cx", &x), ("cy", &y), ("r", radius)]);
    let set = if sample { "sample" } else { "normal" };
    let kind = point.cluster.map_or_else(|| "of no kind".to_owned(), |cluster| format!("kind {cluster}"));
    let slower = if point.anomalous { ", slower" } else { "" };
    m.element("title", &[], &format!("{set} {}: {kind}{slower}", point.number));
    m.close("circle");
}

fn legend(m: &mut Markup, projection: &Projection) {
    m.raw("<ul class=\"legend\" aria-label=\"Legend\">\n");
    for (class, text) in [
        ("of-normal c0", "filled: normal"),
        ("of-sample c0", "hollow: sample"),
        ("of-sample c0 odd-one", "thick: slower than its kind"),
    ] {
        mark(m, class, text);
    }
    let mut kinds: Vec<Option<u32>> = projection.points.iter().map(|point| point.cluster).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds.iter().take(12) {
        let text = kind.map_or_else(|| "no kind".to_owned(), |kind| format!("kind {kind}"));
        mark(m, &format!("of-normal {}", color(*kind)), &text);
    }
    if kinds.len() > 12 {
        m.element("li", &[], &format!("and {} more", kinds.len() - 12));
    }
    m.close("ul");
}

fn mark(m: &mut Markup, class: &str, text: &str) {
    m.open("li", &[]);
    m.raw("<svg class=\"points\" width=\"14\" height=\"14\" aria-hidden=\"true\">");
    m.shape("circle", class, &[("cx", 7.0), ("cy", 7.0), ("r", 4.5)]);
    m.close("svg");
    m.text(text);
    m.close("li");
}
