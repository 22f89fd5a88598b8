//! Slow periods as a table and a strip.

use super::{MOST, SIDE_ROOM, evidence, pictures};
use crate::document::{
    Axis, Cell, CellKind, Detail, Emphasis, PageLink, Prose, Section, SpanStyle, Table, TableRow, Tone,
    columns,
};
use crate::times::Calendar;
use crate::{Incident, IncidentSuspect, Report};

/// Slow periods that text shows.
const PERIODS: u32 = 16;
/// Slow periods marked as the worst.
const WORST: usize = 5;
/// Suspects named in one.
const IN_PERIOD: usize = 2;

/// The periods, in order of time; the worst are marked where there are many.
pub(super) fn periods(report: &Report, calendar: &Calendar) -> Section {
    let columns = columns![Number "#", Text "from", Text "to", Number "latency up to", Text "began"];
    let numbered: Vec<(usize, &Incident)> = report.incidents.iter().enumerate().collect();
    let table = Table::new("Slow periods", &columns).preview(PERIODS);
    let mut worst: Vec<usize> = (0..report.incidents.len()).collect();
    let excess = |index: usize| report.incidents[index].excess_share;
    worst.sort_by(|&a, &b| excess(b).total_cmp(&excess(a)).then(a.cmp(&b)));
    let marked = if report.incidents.len() > WORST { &worst[..WORST] } else { &[] };
    let table = table.at_most(MOST, &numbered, |&(index, incident)| {
        let row = period(index, incident, calendar);
        if marked.contains(&index) { row.emphasis(Emphasis::Worse) } else { row }
    });
    let zone = calendar.zone();
    let section = Section::new("periods", "Slow periods")
        .remark(format!("requests took longer than in the rest of the window ({zone})"))
        .introduction(format!(
            "Times in which requests took longer than in the rest of the window ({zone}). The taller a bar, the slower \
             (logarithmic); a line marks when it began, where the data say so."
        ));
    section.block(pictures::strip(report, calendar)).block(table)
}

fn period(index: usize, incident: &Incident, calendar: &Calendar) -> TableRow {
    let [first, last] = calendar.ends(incident.time);
    let instant = |text: String, time| Cell::worded(CellKind::Time, text, Axis::instant(time));
    let began = incident.onset.as_ref().map_or_else(Cell::empty, |onset| {
        let began = calendar.onset(onset);
        let text = match calendar.interval(onset) {
            Some([first, last]) => format!("{began} ({first} to {last})"),
            None => began,
        };
        instant(text, onset.at)
    });
    let factor = 1.0 + incident.excess_share;
    let diagnosis = PageLink::diagnosis(incident.time);
    let row = TableRow::new([
        Cell::count(index as u64 + 1),
        instant(first, incident.time.since).page(diagnosis),
        instant(last, incident.time.until),
        Cell::factor(factor).tone(Tone::Bad),
        began,
    ]);
    let (named, further) = incident.suspects.split_at(incident.suspects.len().min(IN_PERIOD));
    let row = named.iter().fold(row, |row, suspect| row.note(Detail::Summary, "", slow_in(suspect)));
    further.iter().fold(row, |row, suspect| row.note(Detail::Page, "", slow_in(suspect)))
}

/// The operation to blame, the call on which the time was spent, and how much that was.
fn slow_in(suspect: &IncidentSuspect) -> Prose {
    let name = Prose::operation(&suspect.service, &suspect.operation);
    let name = match &suspect.between {
        Some(between) => {
            let sides = evidence::sides(between, SIDE_ROOM);
            name.plain(" (")
                .named(SpanStyle::Name, &sides.caller)
                .plain(" → ")
                .named(SpanStyle::Name, &sides.callee)
                .plain(")")
        }
        None => name,
    };
    name.plain(": ").plain(evidence::incident_effect(suspect))
}
