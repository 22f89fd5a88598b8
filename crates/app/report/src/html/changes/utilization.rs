//! Utilization observed and predicted over time, what stays unexplained, and the throughput.

use super::super::markup::Markup;
use super::super::remark;
use super::super::time_axis::{TimeAxis, percent};
use super::plot::{Plot, data, round_up};
use super::{SERVERS, rest};
use crate::changes::{
    ChangeEventKind, ChangeReport, SegmentState, ServerChanges, UtilizationSeries, by_verdict, calendar,
    event_word, heading_of, letter, segment_word,
};
use crate::numbers;
use crate::times::Calendar;

/// Room for marks above the strips, and heights of the strips, in pixels.
const ABOVE: f64 = 34.0;
const UTILIZATION: f64 = 190.0;
const RESIDUAL: f64 = 64.0;
const THROUGHPUT: f64 = 56.0;
/// Room between two strips; holds the title of the lower.
const BETWEEN: f64 = 26.0;

/// Segments drawn, the longest first.
const SEGMENTS: usize = 400;

/// Marks of changes and of deployments drawn.
const MARKS: usize = 60;

pub(super) fn drawable(report: &ChangeReport) -> bool {
    report.servers.iter().any(|server| !server.series.observed.is_empty())
}

pub(super) fn write(m: &mut Markup, report: &ChangeReport) {
    remark(
        m,
        "The line is what was observed, the dashed line what the transactions explain by the model in force (its letter stands above). \
         Below: what stays unexplained, and transactions a second. Red marks an application change, \
         a shaded time what transactions do not explain, a dotted line a deployment.",
    );
    let drawn: Vec<&ServerChanges> =
        by_verdict(report).into_iter().filter(|server| !server.series.observed.is_empty()).collect();
    for (at, server) in drawn.iter().take(SERVERS).enumerate() {
        Chart::of(report, server).draw(m, at);
    }
    rest(m, drawn.len(), SERVERS, "servers");
}

/// One server's strips.
struct Chart<'a> {
    report: &'a ChangeReport,
    server: &'a ServerChanges,
    series: &'a UtilizationSeries,
    axis: TimeAxis,
    calendar: Calendar,
}

impl Chart<'_> {
    fn of<'a>(report: &'a ChangeReport, server: &'a ServerChanges) -> Chart<'a> {
        let series = &server.series;
        let length_ns = series.observed.len() as f64 * series.step_s * 1e9;
        let axis = TimeAxis {
            since_ns: series.since_ns,
            until_ns: series.since_ns.saturating_add(length_ns.clamp(0.0, 9e18) as i64),
        };
        Chart { report, server, series, axis, calendar: calendar(report) }
    }

    fn draw(&self, m: &mut Markup, at: usize) {
        if self.report.servers.len() > 1 {
            m.within("h3", &[], |m| {
                m.name("server", &heading_of(&self.server.server, &self.server.tier), 60);
            });
        }
        let rate = data(&self.series.transactions_per_s, 1.0);
        let observed = data(&self.series.observed, 100.0);
        let predicted = data(&self.series.predicted, 100.0);
        let (since, step) = (self.axis.since_ns / 1_000_000, self.series.step_s * 1e3);
        let figure = [
            ("class", "timeline"),
            ("data-since", &*since.to_string()),
            ("data-step", &*step.to_string()),
            ("data-observed", &*observed),
            ("data-predicted", &*predicted),
            ("data-rate", &*rate),
        ];
        m.open("figure", &figure);
        self.picture(m, at);
        self.axis.names(m);
        m.raw("<output class=\"readout\" hidden></output>\n");
        m.close("figure");
    }

    fn picture(&self, m: &mut Markup, at: usize) {
        let height = ABOVE + UTILIZATION + 2.0 * BETWEEN + RESIDUAL + THROUGHPUT;
        let (title, height) = (format!("timeline-{at}"), height.to_string());
        let attributes = [
            ("class", "strips"),
            ("role", "img"),
            ("aria-labelledby", &*title),
            ("width", "100%"),
            ("height", &*height),
        ];
        m.open("svg", &attributes);
        m.element("title", &[("id", &title)], &self.words());
        self.segments(m);
        self.grid(m);
        self.utilization(m);
        self.residual(m);
        self.throughput(m);
        self.marks(m);
        m.close("svg");
    }

    fn words(&self) -> String {
        let [first, last] = self.calendar.ends(self.axis.since_ns, self.axis.until_ns);
        let events = numbers::counted(self.server.changes.len() as u64, "change");
        format!("CPU utilization from {first} to {last} UTC with {events}; the tables below hold the same")
    }

    /// The stretches behind the strips, with the letter of the model above.
    fn segments(&self, m: &mut Markup) {
        let mut last_model = None;
        let mut free_from = 0.0;
        for segment in self.server.segments.iter().take(SEGMENTS) {
            let class = match segment.state {
                SegmentState::Normal => format!("back s{}", segment.model.unwrap_or(0) % 4),
                SegmentState::Anomalous => "back odd".to_owned(),
                SegmentState::Pending => "back pending".to_owned(),
            };
            let (from, to) = (self.axis.x(segment.since_ns), self.axis.x(segment.until_ns));
            let (x, width) = (percent(from), percent((to - from).max(0.05)));
            let (y, height) =
                ((ABOVE - 14.0).to_string(), (UTILIZATION + 14.0 + BETWEEN + RESIDUAL).to_string());
            let place =
                [("class", &*class), ("x", &*x), ("y", &*y), ("width", &*width), ("height", &*height)];
            let [since, until] = self.calendar.ends(segment.since_ns, segment.until_ns);
            let words = format!("{since} to {until}: {}", segment_word(segment));
            m.within("rect", &place, |m| m.element("title", &[], &words));
            let new = segment.model.filter(|_| last_model != segment.model);
            if let Some(model) = new.filter(|_| from >= free_from) {
                let (x, y) = (percent(from + 0.3), (ABOVE - 3.0).to_string());
                m.element("text", &[("class", "letter"), ("x", &x), ("y", &y)], &letter(model));
                free_from = from + 2.0;
            }
            last_model = segment.model.or(last_model);
        }
    }

    fn grid(&self, m: &mut Markup) {
        let bottom = ABOVE + UTILIZATION + 2.0 * BETWEEN + RESIDUAL + THROUGHPUT;
        for ns in self.axis.ticks() {
            self.axis.line(m, "grid", ns, [ABOVE, bottom]);
        }
    }

    fn utilization(&self, m: &mut Markup) {
        let series = self.series;
        let top = round_up(largest(&[&series.observed_high, &series.predicted]));
        let plot = Plot { points: series.observed.len(), height: UTILIZATION, bottom: 0.0, top };
        for share in [0.0, 0.5, 1.0] {
            level(m, ABOVE + plot.y(share * top), &numbers::share(share * top));
        }
        plot.open(m, ABOVE);
        if series.windows_per_point > 1 {
            plot.band(m, "spread", &series.observed_low, &series.observed_high);
        }
        plot.line(m, "observed", &series.observed);
        plot.line(m, "predicted", &series.predicted);
        m.close("svg");
    }

    fn residual(&self, m: &mut Markup) {
        let series = self.series;
        let y = ABOVE + UTILIZATION + BETWEEN;
        let most = largest(&[&series.residual_high]).max(-least(&series.residual_low));
        let end = round_up(most.max(0.01));
        let plot = Plot { points: series.observed.len(), height: RESIDUAL, bottom: -end, top: end };
        title(m, y, &format!("unexplained: observed minus predicted, ±{}", numbers::share(end)));
        plot.open(m, y);
        let zero = vec![Some(0.0); series.residual_low.len()];
        let high: Vec<Option<f64>> = series.residual_high.iter().map(|r| r.map(|r| r.max(0.0))).collect();
        let low: Vec<Option<f64>> = series.residual_low.iter().map(|r| r.map(|r| r.min(0.0))).collect();
        plot.band(m, "above", &zero, &high);
        plot.band(m, "below", &low, &zero);
        m.close("svg");
        level(m, y + plot.y(0.0), "");
    }

    fn throughput(&self, m: &mut Markup) {
        let rates = &self.series.transactions_per_s;
        let y = ABOVE + UTILIZATION + 2.0 * BETWEEN + RESIDUAL;
        let top = round_up(largest(&[rates]));
        let plot = Plot { points: rates.len(), height: THROUGHPUT, bottom: 0.0, top };
        title(m, y, &format!("transactions a second, up to {}", rate(top)));
        plot.open(m, y);
        let zero = vec![Some(0.0); rates.len()];
        plot.band(m, "rate", &zero, rates);
        m.close("svg");
        level(m, y + THROUGHPUT, "");
    }

    /// Changes and deployments.
    fn marks(&self, m: &mut Markup) {
        let bottom = ABOVE + UTILIZATION + BETWEEN + RESIDUAL;
        let inside = |ns: i64| (self.axis.since_ns..=self.axis.until_ns).contains(&ns);
        let deployments = self.report.deployments.iter().filter(|deployment| inside(deployment.at_ns));
        for deployment in deployments.take(MARKS) {
            self.axis.line(m, "deployment", deployment.at_ns, [8.0, bottom]);
            let x = percent(self.axis.x(deployment.at_ns));
            let place = [("class", "pin"), ("cx", &*x), ("cy", "6"), ("r", "4")];
            let words = format!("deployment {} at {}", deployment.name, self.calendar.time(deployment.at_ns));
            m.within("circle", &place, |m| m.element("title", &[], &words));
        }
        let alarms = self.server.changes.iter().filter(|change| {
            matches!(change.kind, ChangeEventKind::ApplicationChange | ChangeEventKind::Rollback)
        });
        for alarm in alarms.take(MARKS) {
            let (from, to) = (self.axis.x(alarm.onset.earliest_ns), self.axis.x(alarm.onset.latest_ns));
            let (x, width) = (percent(from), percent(to - from));
            let (y, height) = (ABOVE.to_string(), (bottom - ABOVE).to_string());
            let place =
                [("class", "interval"), ("x", &*x), ("y", &*y), ("width", &*width), ("height", &*height)];
            let words = format!("{} at {}", event_word(alarm.kind), self.calendar.time(alarm.onset.at_ns));
            m.within("rect", &place, |m| m.element("title", &[], &words));
            self.axis.line(m, "alarm", alarm.onset.at_ns, [ABOVE - 14.0, bottom]);
        }
    }
}

/// A horizontal line with its value.
fn level(m: &mut Markup, y: f64, name: &str) {
    let at = format!("{y:.1}");
    m.element("line", &[("class", "grid"), ("x1", "0%"), ("x2", "100%"), ("y1", &at), ("y2", &at)], "");
    if !name.is_empty() {
        let at = format!("{:.1}", if y < ABOVE + 12.0 { y + 12.0 } else { y - 3.0 });
        m.element("text", &[("class", "level"), ("x", "3"), ("y", &at)], name);
    }
}

fn title(m: &mut Markup, y: f64, text: &str) {
    m.element("text", &[("class", "level"), ("x", "3"), ("y", &format!("{:.1}", y - 6.0))], text);
}

/// `12`, `1,200`, `0.5`
fn rate(value: f64) -> String {
    if value >= 10.0 {
        numbers::count(value.round() as u64)
    } else {
        format!("{}", (value * 100.0).round() / 100.0)
    }
}

fn largest(series: &[&Vec<Option<f64>>]) -> f64 {
    let known = series.iter().flat_map(|values| values.iter().flatten());
    known.copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
}

fn least(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::min)
}
