//! Slow periods: a strip of the window to look at, and what was slow in each.

use super::markup::Markup;
use super::{NAME_ROOM, operation, remark};
use crate::times::{Calendar, tick};
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

/// Room a number and a tick's name need, in percent of the width, on a wide page and on a phone.
const NUMBER_ROOM: [f64; 2] = [2.4, 6.5];
const TICK_ROOM: [f64; 2] = [9.0, 22.0];

const SECOND: i64 = 1_000_000_000;

/// Steps between ticks, in seconds.
const STEPS: [i64; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
    604_800, 2_592_000,
];

/// Ticks at most, unless the time is longer than all steps allow.
const TICKS: i64 = 10;

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
    since_ns: i64,
    until_ns: i64,
    incidents: &'a [Incident],
    tallest: f64,
}

impl Strip<'_> {
    fn of<'a>(report: &Report, incidents: &'a [Incident]) -> Strip<'a> {
        let window = report.window.as_ref();
        let ends = |end: fn(&Incident) -> i64, known: Option<i64>| incidents.iter().map(end).chain(known);
        let heights = incidents.iter().map(height);
        Strip {
            since_ns: ends(|one| one.since_ns, window.map(|w| w.since_ns)).min().unwrap_or(0),
            until_ns: ends(|one| one.until_ns, window.map(|w| w.until_ns)).max().unwrap_or(0),
            incidents,
            tallest: heights.fold(0.0, f64::max),
        }
    }

    /// Place of a time, in percent.
    fn x(&self, ns: i64) -> f64 {
        let length = (self.until_ns as f64 - self.since_ns as f64).max(1.0);
        ((ns as f64 - self.since_ns as f64) / length * 100.0).clamp(0.0, 100.0)
    }

    fn draw(&self, m: &mut Markup, calendar: &Calendar) {
        let [first, last] = calendar.ends(self.since_ns, self.until_ns);
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
        let ticks = self.ticks();
        for &ns in &ticks {
            self.line(m, "grid", ns, [ABOVE, ABOVE + STRIP]);
        }
        self.incidents.iter().for_each(|incident| self.bar(m, incident, calendar));
        self.numbers(m);
        let floor = format!("{}", ABOVE + STRIP);
        let axis = [("class", "axis"), ("x1", "0%"), ("x2", "100%"), ("y1", &floor), ("y2", &floor)];
        m.element("line", &axis, "");
        m.close("svg");
        m.raw("<svg class=\"ticks\" width=\"100%\" height=\"20\" aria-hidden=\"true\">\n");
        let dated = ticks.windows(2).next().is_some_and(|pair| pair[1] - pair[0] >= 86_400 * SECOND);
        let places = ticks.iter().map(|&ns| self.x(ns)).collect::<Vec<f64>>();
        labels(m, "14", TICK_ROOM, &places, |at| tick(ticks[at], dated));
        m.close("svg");
        m.close("figure");
    }

    fn bar(&self, m: &mut Markup, incident: &Incident, calendar: &Calendar) {
        let (from, to) = (self.x(incident.since_ns), self.x(incident.until_ns));
        let share = if self.tallest > 0.0 { height(incident) / self.tallest } else { 1.0 };
        let high = (share * STRIP).max(LOWEST);
        let (x, width) = (percent(from), percent((to - from).max(NARROWEST)));
        let (y, high) = (format!("{:.1}", ABOVE + STRIP - high), format!("{high:.1}"));
        let place = [("class", "hit"), ("x", &*x), ("y", &*y), ("width", &*width), ("height", &*high)];
        let [first, last] = calendar.ends(incident.since_ns, incident.until_ns);
        let words = format!("{first} to {last}: up to {} the usual latency", evidence::worst(incident));
        m.within("rect", &place, |m| m.element("title", &[], &words));
        if let Some(onset) = &incident.onset {
            self.line(m, "median", onset.at_ns, [ABOVE, ABOVE + STRIP]);
        }
    }

    fn line(&self, m: &mut Markup, class: &str, ns: i64, y: [f64; 2]) {
        let x = percent(self.x(ns));
        let [y1, y2] = y.map(|y| y.to_string());
        m.element("line", &[("class", class), ("x1", &x), ("x2", &x), ("y1", &y1), ("y2", &y2)], "");
    }

    fn numbers(&self, m: &mut Markup) {
        let middle = |one: &Incident| (self.x(one.since_ns) + self.x(one.until_ns)) / 2.0;
        let places = self.incidents.iter().map(middle).collect::<Vec<f64>>();
        labels(m, "12", NUMBER_ROOM, &places, |at| (at + 1).to_string());
    }

    /// Round times inside the strip.
    fn ticks(&self) -> Vec<i64> {
        let length = self.until_ns.saturating_sub(self.since_ns);
        let fits = |step: &&i64| length / (**step * SECOND) <= TICKS;
        let step = STEPS.iter().find(fits).map_or_else(|| length / TICKS, |step| step * SECOND).max(1);
        let first = self.since_ns.saturating_add((-self.since_ns.rem_euclid(step)).rem_euclid(step));
        (0..=TICKS + 1)
            .map(|at| first.saturating_add(step.saturating_mul(at)))
            .take_while(|&ns| ns <= self.until_ns)
            .collect()
    }
}

/// Labels as far as there is room; a phone leaves out more of them.
fn labels(m: &mut Markup, y: &str, room: [f64; 2], places: &[f64], name: impl Fn(usize) -> String) {
    let (mut free_from, mut free_from_phone) = (room[0] / 2.0 - 1.0, room[1] / 2.0 - 4.0);
    for (at, &x) in places.iter().enumerate() {
        if x < free_from || x > 100.0 - (room[0] / 2.0 - 1.0) {
            continue;
        }
        free_from = x + room[0];
        let mut class = "tick wide-only";
        if x >= free_from_phone && x <= 100.0 - (room[1] / 2.0 - 4.0) {
            free_from_phone = x + room[1];
            class = "tick";
        }
        m.element("text", &[("class", class), ("x", &percent(x)), ("y", y)], &name(at));
    }
}

/// What a bar's height stands for; nothing for what is not a number.
fn height(incident: &Incident) -> f64 {
    let share = incident.excess_share;
    if share.is_finite() { share.max(0.0).ln_1p() } else { 0.0 }
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(since: i64, until: i64) -> Strip<'static> {
        Strip { since_ns: since, until_ns: until, incidents: &[], tallest: 0.0 }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let minute = 60 * SECOND;
        let five: Vec<i64> = (2..=9).map(|at| at * 5 * minute).collect();
        assert_eq!(strip(7 * minute, 47 * minute).ticks(), five);
        assert_eq!(strip(-3, SECOND).ticks(), [0, SECOND]);
        assert_eq!(strip(5, 5).ticks(), [0_i64; 0]);
        for (since, until) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MAX, i64::MAX)] {
            assert!(strip(since, until).ticks().len() as i64 <= TICKS + 2);
        }
    }

    #[test]
    fn places_are_to_scale() {
        let strip = strip(1_000, 3_000);
        assert_eq!(
            [1_000, 1_500, 3_000, i64::MAX, i64::MIN].map(|ns| strip.x(ns)),
            [0.0, 25.0, 100.0, 100.0, 0.0]
        );
    }
}
