//! Slow periods: a strip of the window to look at, and what was slow in each.

use super::markup::Markup;
use super::time_axis::{TimeAxis, labels, percent};
use super::{NAME_ROOM, operation, remark};
use crate::times::Calendar;
use crate::{Incident, IncidentSuspect, Report, evidence, numbers};

/// Periods listed unfolded, and those the page can bear.
const UNFOLDED: usize = 16;
const MOST: usize = 500;

/// Height of the strip and of the room for numbers above it, in pixels. Widths are in percent.
const STRIP: f64 = 44.0;
const ABOVE: f64 = 18.0;

/// The lowest bar, in pixels, and the narrowest, in percent.
const LOWEST: f64 = 6.0;
const NARROWEST: f64 = 0.25;

/// Room a number needs, in percent of the width, on a wide page and on a phone.
const NUMBER_ROOM: [f64; 2] = [2.4, 6.5];

pub(super) fn write(m: &mut Markup, report: &Report) {
    let calendar = Calendar::of(report);
    let text = format!(
        "Times in which requests took longer than in the rest of the window ({}). The taller a bar, the slower \
         (logarithmic); a line marks when it began, where the data say so.",
        calendar.zone()
    );
    remark(m, &text);
    let shown = &report.incidents[..report.incidents.len().min(MOST)];
    Strip::of(report, shown).draw(m, &calendar);
    let (open, folded) = shown.split_at(shown.len().min(UNFOLDED));
    list(m, open, 1, &calendar);
    if !folded.is_empty() {
        m.open("details", &[("class", "fold")]);
        m.element("summary", &[], &format!("{} further periods", numbers::count(folded.len() as u64)));
        list(m, folded, 1 + open.len(), &calendar);
        m.close("details");
    }
    if report.incidents.len() > shown.len() {
        remark(m, "The rest is in the JSON output.");
    }
}

/// The window to scale.
struct Strip<'a> {
    axis: TimeAxis,
    incidents: &'a [Incident],
    tallest: f64,
}

impl Strip<'_> {
    fn of<'a>(report: &Report, incidents: &'a [Incident]) -> Strip<'a> {
        let window = report.window.as_ref();
        let ends = |end: fn(&Incident) -> i64, known: Option<i64>| incidents.iter().map(end).chain(known);
        let heights = incidents.iter().map(height);
        let axis = TimeAxis {
            since_ns: ends(|one| one.since_ns, window.map(|w| w.since_ns)).min().unwrap_or(0),
            until_ns: ends(|one| one.until_ns, window.map(|w| w.until_ns)).max().unwrap_or(0),
        };
        Strip { axis, incidents, tallest: heights.fold(0.0, f64::max) }
    }

    fn draw(&self, m: &mut Markup, calendar: &Calendar) {
        let [first, last] = calendar.ends(self.axis.since_ns, self.axis.until_ns);
        let periods = numbers::counted(self.incidents.len() as u64, "slow period");
        let height = format!("{}", ABOVE + STRIP + 2.0);
        m.open("figure", &[("class", "strip")]);
        let picture =
            [("role", "img"), ("aria-labelledby", "strip"), ("width", "100%"), ("height", height.as_str())];
        m.open("svg", &picture);
        m.element(
            "title",
            &[("id", "strip")],
            &format!("{periods} between {first} and {last} UTC; the list below holds the same"),
        );
        for ns in self.axis.ticks() {
            self.axis.line(m, "grid", ns, [ABOVE, ABOVE + STRIP]);
        }
        self.incidents.iter().for_each(|incident| self.bar(m, incident, calendar));
        self.numbers(m);
        let floor = format!("{}", ABOVE + STRIP);
        let axis = [("class", "axis"), ("x1", "0%"), ("x2", "100%"), ("y1", &floor), ("y2", &floor)];
        m.element("line", &axis, "");
        m.close("svg");
        self.axis.names(m);
        m.close("figure");
    }

    fn bar(&self, m: &mut Markup, incident: &Incident, calendar: &Calendar) {
        let (from, to) = (self.axis.x(incident.since_ns), self.axis.x(incident.until_ns));
        let share = if self.tallest > 0.0 { height(incident) / self.tallest } else { 1.0 };
        let high = (share * STRIP).max(LOWEST);
        let (x, width) = (percent(from), percent((to - from).max(NARROWEST)));
        let (y, high) = (format!("{:.1}", ABOVE + STRIP - high), format!("{high:.1}"));
        let place = [("class", "hit"), ("x", &*x), ("y", &*y), ("width", &*width), ("height", &*high)];
        let [first, last] = calendar.ends(incident.since_ns, incident.until_ns);
        let words = format!("{first} to {last}: up to {} the usual latency", evidence::worst(incident));
        m.within("rect", &place, |m| m.element("title", &[], &words));
        if let Some(onset) = &incident.onset {
            self.axis.line(m, "median", onset.at_ns, [ABOVE, ABOVE + STRIP]);
        }
    }

    fn numbers(&self, m: &mut Markup) {
        let middle = |one: &Incident| (self.axis.x(one.since_ns) + self.axis.x(one.until_ns)) / 2.0;
        let places = self.incidents.iter().map(middle).collect::<Vec<f64>>();
        labels(m, "12", NUMBER_ROOM, &places, |at| (at + 1).to_string());
    }
}

/// What a bar's height stands for; nothing for what is not a number.
fn height(incident: &Incident) -> f64 {
    let share = incident.excess_share;
    if share.is_finite() { share.max(0.0).ln_1p() } else { 0.0 }
}

fn list(m: &mut Markup, incidents: &[Incident], first: usize, calendar: &Calendar) {
    m.open("ul", &[("class", "periods")]);
    for (at, incident) in incidents.iter().enumerate() {
        m.open("li", &[]);
        when(m, first + at, incident, calendar);
        m.open("ul", &[("class", "slow-in")]);
        for suspect in &incident.suspects {
            m.within("li", &[], |m| culprit(m, suspect));
        }
        m.close("ul");
        m.close("li");
    }
    m.close("ul");
}

fn when(m: &mut Markup, number: usize, incident: &Incident, calendar: &Calendar) {
    let [first, last] = calendar.ends(incident.since_ns, incident.until_ns);
    m.open("div", &[]);
    m.element("span", &[("class", "period-number")], &number.to_string());
    m.text(" ");
    m.element("strong", &[], &format!("{first} to {last}"));
    m.element(
        "span",
        &[("class", "line")],
        &format!("up to {} the usual latency", evidence::worst(incident)),
    );
    if let Some(onset) = &incident.onset {
        m.element("span", &[("class", "line")], &format!("began {}", evidence::onset(onset, calendar)));
    }
    m.close("div");
}

fn culprit(m: &mut Markup, suspect: &IncidentSuspect) {
    operation(m, &suspect.service, &suspect.operation);
    if let Some(between) = &suspect.between {
        m.text(" ");
        m.name("between", &evidence::link(between, NAME_ROOM / 2), NAME_ROOM + 4);
    }
    m.text(" ");
    m.element("span", &[("class", "effect")], &evidence::incident_effect(suspect));
}
