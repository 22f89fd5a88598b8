//! Slow periods, the baseline, and what speaks against each suspect.

use super::page::Page;
use super::paint::{Paint, Piece};
use super::sections::more;
use super::table::{Fit, Table};
use crate::comparison::signed_time;
use crate::times::Calendar;
use crate::{Incident, IncidentSuspect, Report, Suspect, evidence, facts, numbers};

/// Slow periods listed; the other outputs list all.
const PERIODS: usize = 16;

/// Suspects named in a period.
const IN_PERIOD: usize = 2;

/// Columns given to a side of a link, and to an operation in a period.
const SIDE_ROOM: usize = 44;
const LONG_SIDE_ROOM: usize = 80;
const OPERATION_ROOM: usize = 56;

/// The same in a line, for suspects further down.
pub(super) fn brief_note(table: &mut Table, suspect: &Suspect) {
    let link = suspect.between.as_ref().map(|between| evidence::link(between, SIDE_ROOM));
    let shift = suspect.shift.as_ref().filter(|shift| shift.factor.is_finite());
    let shift =
        shift.map(|shift| format!("{} ({})", numbers::factor(shift.factor), evidence::interval(shift)));
    match (link, shift) {
        (Some(link), Some(shift)) => table.note("between ", vec![Piece::plain(format!("{link}, {shift}"))]),
        (Some(link), None) => table.note("between ", vec![Piece::plain(link)]),
        (None, Some(shift)) => table.note("is ", vec![Piece::plain(shift)]),
        (None, None) => {}
    }
}

/// Notes under a suspect: where, since when, and how that is known.
pub(super) fn notes(table: &mut Table, report: &Report, suspect: &Suspect) {
    if let Some(between) = &suspect.between {
        table.note("between ", vec![Piece::strong(evidence::long_link(between, LONG_SIDE_ROOM))]);
    }
    if let Some(shift) = &suspect.shift {
        let text = evidence::shift(shift, evidence::compared_with(report));
        table.note("is ", vec![Piece::plain(text)]);
    }
    if let Some(onset) = &suspect.onset {
        table.note("since ", vec![Piece::plain(evidence::onset(onset, &Calendar::of(report)))]);
    }
    let words = evidence::words(&suspect.evidence);
    if !words.is_empty() {
        table.note("because ", vec![Piece::plain(words.join("; "))]);
    }
}

pub(super) fn periods(page: &mut Page, report: &Report) {
    if report.incidents.is_empty() {
        return;
    }
    let columns = [
        ("#", Fit::Number),
        ("from", Fit::Fixed),
        ("to", Fit::Fixed),
        ("latency up to", Fit::Number),
        ("began", Fit::Fixed),
    ];
    let calendar = Calendar::of(report);
    let remark = format!("requests took longer than in the rest of the window ({})", calendar.zone());
    page.heading("Slow periods", &remark);
    let mut table = Table::new(1, &columns);
    for (at, incident) in report.incidents.iter().take(PERIODS).enumerate() {
        let [first, last] = calendar.ends(incident.since_ns, incident.until_ns);
        table.row(vec![
            Piece::plain((at + 1).to_string()),
            Piece::plain(first),
            Piece::plain(last),
            Piece::new(&evidence::worst(incident), Paint::Bad),
            Piece::plain(began(incident, &calendar)),
        ]);
        for suspect in incident.suspects.iter().take(IN_PERIOD) {
            table.note("", culprit(suspect));
        }
        let left = incident.suspects.len().saturating_sub(IN_PERIOD);
        if left > 0 {
            table.note("", vec![Piece::faint(format!("and {left} more"))]);
        }
    }
    table.print(page);
    more(page, report.incidents.len(), PERIODS, "slow periods");
}

/// `04:27:19 (04:26:19 to 04:27:19)`
fn began(incident: &Incident, calendar: &Calendar) -> String {
    let Some(onset) = &incident.onset else { return String::new() };
    let at = calendar.onset(onset);
    match calendar.interval(onset) {
        Some([first, last]) => format!("{at} ({first} to {last})"),
        None => at,
    }
}

/// The operation to blame, the call on which the time was spent, and how much that was.
fn culprit(suspect: &IncidentSuspect) -> Vec<Piece> {
    let name = facts::operation(&suspect.service, &suspect.operation, OPERATION_ROOM);
    let between = suspect
        .between
        .as_ref()
        .map_or(String::new(), |between| format!(" ({})", evidence::link(between, SIDE_ROOM)));
    let effect = format!("{between}: {}", evidence::incident_effect(suspect));
    vec![Piece::strong(name), Piece::plain(effect)]
}

pub(super) fn baseline(page: &mut Page, report: &Report) {
    let Some(baseline) = &report.baseline else { return };
    page.heading("Against the baseline", "mean latency of requests, and why it changed");
    let columns =
        [("", Fit::Fixed), ("requests", Fit::Number), ("mean", Fit::Number), ("started", Fit::Name)];
    let mut table = Table::new(1, &columns);
    let mut row = |name: &str, requests: String, mean: Piece, started: String| {
        table.row(vec![Piece::plain(name), Piece::plain(requests), mean, Piece::faint(started)]);
    };
    let before = Piece::plain(numbers::time_float(baseline.mean_ns));
    let started = evidence::baseline_window(baseline).unwrap_or_default();
    row("baseline", numbers::count(baseline.requests), before, started);
    for part in evidence::parts(baseline) {
        let paint = if part.ns > 0.0 { Paint::Bad } else { Paint::Good };
        row(part.name, String::new(), Piece::new(&signed_time(part.ns), paint), String::new());
    }
    let now = Piece::strong(numbers::time_float(baseline.window_mean_ns));
    let timed = report.window.as_ref().is_some_and(|window| window.since_ns != window.until_ns);
    let started = facts::window(report).filter(|_| timed).unwrap_or_default();
    row("now", numbers::count(report.input.requests), now, started);
    table.print(page);
}
