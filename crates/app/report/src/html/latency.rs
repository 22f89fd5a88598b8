//! How long requests took: those that a suspect slowed, and those none did.

use super::markup::Markup;
use super::{remark, scroller};
use crate::{LatencySplit, Report, numbers};

/// Height of a histogram, in pixels. Widths are in percent, so that the chart fits a phone.
const PANEL: f64 = 88.0;

/// Where the time axis starts and ends, in percent of the width.
const LEFT: f64 = 5.0;
const RIGHT: f64 = 95.0;

/// Bins the page can bear.
const BINS: usize = 400;

/// Room a tick's label needs, in percent of the width, on a wide page and on a phone.
const TICK_ROOM: f64 = 7.5;
const TICK_ROOM_PHONE: f64 = 17.0;

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
    picture(m, &split.edges_ns, &panels);
    m.open("details", &[("class", "fold alternative")]);
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

fn picture(m: &mut Markup, edges: &[f64], panels: &[Panel<'_>; 2]) {
    let shares = panels.iter().flat_map(|panel| (0..panel.counts.len()).map(|bin| panel.share(bin)));
    let tallest = shares.fold(0.0, f64::max);
    for panel in panels {
        let title_id = format!("latency-{}", panel.class);
        m.open("figure", &[("class", "latency")]);
        m.element("figcaption", &[], &panel.title());
        m.open(
            "svg",
            &[("role", "img"), ("aria-labelledby", &title_id), ("width", "100%"), ("height", "90")],
        );
        m.element("title", &[("id", &title_id)], &panel.title());
        grid(m, edges);
        draw(m, panel, tallest);
        m.close("svg");
        m.close("figure");
    }
    m.raw("<svg class=\"ticks\" width=\"100%\" height=\"20\" aria-hidden=\"true\">\n");
    tick_names(m, edges);
    m.close("svg");
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

/// Place of a latency on the axis.
fn x(edges: &[f64], ns: f64) -> f64 {
    let (first, last) = (edges[0].ln(), edges[edges.len() - 1].ln());
    LEFT + (ns.ln() - first) / (last - first) * (RIGHT - LEFT)
}

fn draw(m: &mut Markup, panel: &Panel<'_>, tallest: f64) {
    for bin in (0..panel.counts.len()).filter(|&bin| panel.counts[bin] > 0) {
        let (from, to) = (x(panel.edges, panel.edges[bin]), x(panel.edges, panel.edges[bin + 1]));
        let height = (panel.share(bin) / tallest * PANEL).max(1.0);
        let (left, wide) = (percent(from), percent((to - from) * 0.94));
        let (top, high) = (format!("{:.1}", PANEL - height), format!("{height:.1}"));
        let place = [("class", panel.class), ("x", &left), ("y", &top), ("width", &wide), ("height", &high)];
        m.within("rect", &place, |m| m.element("title", &[], &bin_words(panel, bin)));
    }
    line(m, "axis", [LEFT, RIGHT], [PANEL, PANEL]);
    if let Some(median) = panel.median_ns() {
        let at = x(panel.edges, median);
        line(m, "median", [at, at], [0.0, PANEL]);
    }
}

/// A line; `x` in percent, `y` in pixels.
fn line(m: &mut Markup, class: &str, x: [f64; 2], y: [f64; 2]) {
    let ([x1, x2], [y1, y2]) = (x.map(percent), y.map(|y| y.to_string()));
    m.element("line", &[("class", class), ("x1", &x1), ("x2", &x2), ("y1", &y1), ("y2", &y2)], "");
}

fn bin_words(panel: &Panel<'_>, bin: usize) -> String {
    let (from, to) = (numbers::time_float(panel.edges[bin]), numbers::time_float(panel.edges[bin + 1]));
    let requests = numbers::counted(panel.counts[bin], "request");
    format!("{from} to {to}: {requests}, {} of the group", numbers::share(panel.share(bin)))
}

fn grid(m: &mut Markup, edges: &[f64]) {
    for ns in tick_values(edges[0], edges[edges.len() - 1]) {
        let at = x(edges, ns);
        line(m, "grid", [at, at], [0.0, PANEL]);
    }
}

/// Names as many ticks as there is room for; a phone leaves out more of them.
fn tick_names(m: &mut Markup, edges: &[f64]) {
    let (mut free_from, mut free_from_phone) = (0.0, 0.0);
    for ns in tick_values(edges[0], edges[edges.len() - 1]) {
        let at = x(edges, ns);
        if at < free_from {
            continue;
        }
        free_from = at + TICK_ROOM;
        let mut class = "tick wide-only";
        if at >= free_from_phone {
            free_from_phone = at + TICK_ROOM_PHONE;
            class = "tick";
        }
        m.element("text", &[("class", class), ("x", &percent(at)), ("y", "14")], &tick_name(ns));
    }
}

/// 1, 2 and 5 times powers of ten within the axis, in nanoseconds.
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
    m.raw("<th scope=\"col\">From</th><th scope=\"col\" class=\"number\">To</th>");
    m.raw("<th scope=\"col\" class=\"number\">No suspect</th><th scope=\"col\" class=\"number\">A suspect</th></tr></thead>\n<tbody>\n");
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
    }
}
