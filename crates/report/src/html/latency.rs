//! How long requests took: those that a suspect slowed, and those none did.

use super::markup::Markup;
use super::{remark, scroller};
use crate::{LatencySplit, Report, numbers};

/// Size of the drawing, in pixels: a panel per kind of request over one time axis.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = 752.0;
const PANEL: f64 = 88.0;
const PANEL_GAP: f64 = 34.0;
const TOP: f64 = 26.0;
const AXIS: f64 = TOP + 2.0 * PANEL + PANEL_GAP;
const HEIGHT: f64 = AXIS + 26.0;

/// Bins the page can bear.
const BINS: usize = 400;

/// Room a tick's label needs, in pixels.
const TICK_ROOM: f64 = 62.0;

pub(super) fn drawable(report: &Report) -> bool {
    report.latency.as_ref().is_some_and(|split| {
        let bins = split.hit.len();
        let edges = &split.edges_ns;
        (1..=BINS).contains(&bins)
            && split.unhit.len() == bins
            && edges.len() == bins + 1
            && edges.iter().all(|edge| edge.is_finite() && *edge > 0.0)
            && edges.is_sorted_by(|a, b| a < b)
    })
}

pub(super) fn write(m: &mut Markup, report: &Report) {
    let Some(split) = report.latency.as_ref() else { return };
    let panels = [
        Panel {
            name: "that no suspect slowed",
            class: "unhit",
            counts: &split.unhit,
            edges: &split.edges_ns,
        },
        Panel { name: "that a suspect slowed", class: "hit", counts: &split.hit, edges: &split.edges_ns },
    ];
    remark(
        m,
        "Share of requests by latency; each group adds up to 100 % of itself. The time axis is logarithmic; \
         the line marks the median.",
    );
    scroller(m, "Latency distributions", |m| picture(m, split, &panels));
    m.open("details", &[("class", "fold")]);
    m.raw("<summary>The same as a table</summary>\n");
    scroller(m, "Latency distributions as a table", |m| table(m, split));
    m.close("details");
}

/// One histogram.
struct Panel<'a> {
    name: &'static str,
    class: &'static str,
    counts: &'a [u64],
    edges: &'a [f64],
}

impl Panel<'_> {
    fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    fn share(&self, bin: usize) -> f64 {
        self.counts[bin] as f64 / self.total().max(1) as f64
    }

    /// The median, interpolated in the logarithm inside its bin; `None` without requests.
    fn median_ns(&self) -> Option<f64> {
        let half = self.total() as f64 / 2.0;
        let mut below = 0.0;
        for (bin, &count) in self.counts.iter().enumerate() {
            let count = count as f64;
            if count > 0.0 && below + count >= half {
                let ratio = self.edges[bin + 1] / self.edges[bin];
                return Some(self.edges[bin] * ratio.powf((half - below) / count));
            }
            below += count;
        }
        None
    }

    fn title(&self) -> String {
        let requests = numbers::counted(self.total(), "request");
        let median = self
            .median_ns()
            .map_or(String::new(), |ns| format!(", median about {}", numbers::time_float(ns)));
        format!("{requests} {}{median}", self.name)
    }
}

fn picture(m: &mut Markup, split: &LatencySplit, panels: &[Panel<'_>; 2]) {
    m.raw("<svg class=\"latency\" viewBox=\"0 0 760 262\" role=\"img\" aria-labelledby=\"latency-text\">");
    let text = format!("Latency: {}; {}", panels[0].title(), panels[1].title());
    m.element("title", &[("id", "latency-text")], &text);
    ticks(m, &split.edges_ns);
    let shares = panels.iter().flat_map(|panel| (0..panel.counts.len()).map(|bin| panel.share(bin)));
    let tallest = shares.fold(0.0, f64::max);
    for (at, panel) in panels.iter().enumerate() {
        draw(m, panel, TOP + at as f64 * (PANEL + PANEL_GAP), tallest);
    }
    m.close("svg");
}

/// Place of a latency on the axis.
fn x(edges: &[f64], ns: f64) -> f64 {
    let (first, last) = (edges[0].ln(), edges[edges.len() - 1].ln());
    LEFT + (ns.ln() - first) / (last - first) * (RIGHT - LEFT)
}

fn draw(m: &mut Markup, panel: &Panel<'_>, top: f64, tallest: f64) {
    let base = top + PANEL;
    m.element(
        "text",
        &[("class", "panel-title"), ("x", "8"), ("y", &format!("{:.1}", top - 8.0))],
        &panel.title(),
    );
    for bin in (0..panel.counts.len()).filter(|&bin| panel.counts[bin] > 0) {
        let (from, to) = (x(panel.edges, panel.edges[bin]), x(panel.edges, panel.edges[bin + 1]));
        let height = (panel.share(bin) / tallest * PANEL).max(1.0);
        let place = [
            ("x", from + 0.5),
            ("y", base - height),
            ("width", (to - from - 1.0).max(0.5)),
            ("height", height),
        ];
        m.open_shape("rect", panel.class, &place);
        m.element("title", &[], &bin_words(panel, bin));
        m.close("rect");
    }
    m.shape("line", "axis", &[("x1", LEFT), ("x2", RIGHT), ("y1", base), ("y2", base)]);
    if let Some(median) = panel.median_ns() {
        let at = x(panel.edges, median);
        m.shape("line", "median", &[("x1", at), ("x2", at), ("y1", top), ("y2", base)]);
    }
}

fn bin_words(panel: &Panel<'_>, bin: usize) -> String {
    let (from, to) = (numbers::time_float(panel.edges[bin]), numbers::time_float(panel.edges[bin + 1]));
    let requests = numbers::counted(panel.counts[bin], "request");
    format!("{from} to {to}: {requests}, {} of the group", numbers::share(panel.share(bin)))
}

/// Marks at 1, 2 and 5 times powers of ten, as many as there is room for.
fn ticks(m: &mut Markup, edges: &[f64]) {
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let mut free_from = LEFT;
    for ns in tick_values(first, last) {
        let at = x(edges, ns);
        m.shape("line", "grid", &[("x1", at), ("x2", at), ("y1", TOP), ("y2", AXIS)]);
        if at < free_from || at > RIGHT - TICK_ROOM / 2.0 {
            continue;
        }
        free_from = at + TICK_ROOM;
        let (tx, ty) = (format!("{at:.1}"), format!("{:.1}", AXIS + 18.0));
        m.element("text", &[("class", "tick"), ("x", &tx), ("y", &ty)], &tick_name(ns));
    }
}

fn tick_values(first: f64, last: f64) -> Vec<f64> {
    let decades = (last / first).log10();
    let mantissas: &[f64] = if decades > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (low, high) = (first.log10().floor() as i32, last.log10().ceil() as i32);
    let all =
        (low..=high).flat_map(|power| mantissas.iter().map(move |mantissa| mantissa * 10_f64.powi(power)));
    all.filter(|ns| (first..=last).contains(ns)).collect()
}

/// `20 ms`, not `20.0 ms`.
fn tick_name(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    match units.iter().find(|(unit, _)| ns >= *unit * 0.999) {
        Some((unit, name)) => format!("{} {name}", numbers::count((ns / unit).round() as u64)),
        None => format!("{ns:.0} ns"),
    }
}

fn table(m: &mut Markup, split: &LatencySplit) {
    m.raw("<table class=\"plain\">\n<caption class=\"away\">Requests by latency</caption>\n<thead><tr>");
    m.raw("<th scope=\"col\">from</th><th scope=\"col\">to</th>");
    m.raw("<th scope=\"col\">no suspect</th><th scope=\"col\">a suspect</th></tr></thead>\n<tbody>\n");
    for bin in 0..split.hit.len() {
        m.open("tr", &[]);
        m.element("th", &[("scope", "row")], &numbers::time_float(split.edges_ns[bin]));
        m.element("td", &[("class", "number")], &numbers::time_float(split.edges_ns[bin + 1]));
        m.element("td", &[("class", "number")], &numbers::count(split.unhit[bin]));
        m.element("td", &[("class", "number")], &numbers::count(split.hit[bin]));
        m.close("tr");
    }
    m.raw("</tbody></table>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle_of_its_bin() {
        let edges = [1e6, 1e7, 1e8];
        let panel = |counts| Panel { name: "", class: "", counts, edges: &edges };
        // Half of ten requests is reached halfway through the first bin: the geometric mean of its ends.
        let median = panel(&[10, 0]).median_ns().unwrap();
        assert!((median - 1e6 * 10_f64.sqrt()).abs() < 1.0, "{median}");
        assert_eq!(panel(&[0, 0]).median_ns(), None);
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(tick_values(3e6, 6e7), [5e6, 1e7, 2e7, 5e7]);
        assert_eq!(tick_name(2e7), "20 ms");
        assert_eq!(tick_name(1e9), "1 s");
        assert_eq!((WIDTH, HEIGHT), (760.0, 262.0), "the viewBox in the markup says so");
    }
}
