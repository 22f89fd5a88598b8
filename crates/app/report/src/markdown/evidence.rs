//! Slow periods, the baseline, and what speaks against suspects, in few lines.

use super::{code, operation, prose, row, shown_of, table};
use crate::times::Calendar;
use crate::{Between, IncidentSuspect, Report, Suspect, evidence, names, numbers};

/// Suspects named in a period.
const IN_PERIOD: usize = 2;

/// Columns given to a side of a link.
const SIDE_ROOM: usize = 40;

/// Columns of the table of suspects that it has only when a suspect has something for them.
pub(super) struct Columns {
    shift: bool,
    onset: bool,
    evidence: bool,
    shift_title: &'static str,
}

impl Columns {
    pub(super) fn of(report: &Report, limit: usize) -> Columns {
        let any = |has: fn(&Suspect) -> bool| report.suspects.iter().take(limit).any(has);
        Columns {
            shift: any(|suspect| suspect.shift.is_some()),
            onset: any(|suspect| suspect.onset.is_some()),
            evidence: any(|suspect| !suspect.evidence.is_empty()),
            shift_title: if report.baseline.is_some() { "over the baseline" } else { "over the rest" },
        }
    }

    pub(super) fn titles(&self) -> Vec<&'static str> {
        let titles = [(self.shift, self.shift_title), (self.onset, "since"), (self.evidence, "evidence")];
        titles.into_iter().filter(|&(shown, _)| shown).map(|(_, title)| title).collect()
    }

    pub(super) fn cells(&self, report: &Report, suspect: &Suspect) -> Vec<String> {
        let shift = suspect.shift.as_ref().map(|shift| match shift.factor.is_finite() {
            true => format!("{} ({})", numbers::factor(shift.factor), evidence::interval(shift)),
            false => "new".to_owned(),
        });
        let onset = suspect.onset.as_ref().map(|onset| evidence::onset(onset, &Calendar::of(report)));
        let words: Vec<String> = suspect.evidence.iter().take(8).map(|word| names::label(word, 20)).collect();
        let cells = [(self.shift, shift), (self.onset, onset), (self.evidence, Some(words.join(", ")))];
        let shown = cells.into_iter().filter(|(shown, _)| *shown);
        shown.map(|(_, text)| prose(&text.unwrap_or_default())).collect()
    }
}

/// ` (frontend → cartservice)`, or nothing.
pub(super) fn link(between: Option<&Between>) -> String {
    let Some(between) = between else { return String::new() };
    let sides = evidence::sides(between, SIDE_ROOM);
    format!(" ({} → {})", code(&sides.caller), code(&sides.callee))
}

/// The periods; of more than fit, the worst, in order of time.
pub(super) fn periods(report: &Report, limit: usize) -> Vec<String> {
    let mut worst: Vec<usize> = (0..report.incidents.len()).collect();
    worst.sort_by(|&a, &b| {
        report.incidents[b].excess_share.total_cmp(&report.incidents[a].excess_share).then(a.cmp(&b))
    });
    worst.truncate(limit);
    worst.sort_unstable();
    let calendar = Calendar::of(report);
    let title = shown_of("slow period", limit, report.incidents.len());
    let title = format!("{title}, {}", calendar.zone());
    let rows = worst.into_iter().map(|at| {
        let incident = &report.incidents[at];
        let [first, last] = calendar.ends(incident.since_ns, incident.until_ns);
        let began = incident.onset.as_ref().map_or(String::new(), |onset| calendar.onset(onset));
        let suspects: Vec<String> = incident.suspects.iter().take(IN_PERIOD).map(culprit).collect();
        row(&[format!("{first} to {last}"), began, evidence::worst(incident), suspects.join("; ")])
    });
    table(&[&title, "began", "latency up to", "slow in it"], "l l r l", rows)
}

fn culprit(suspect: &IncidentSuspect) -> String {
    let name = operation(&suspect.service, &suspect.operation);
    let effect = prose(&evidence::incident_effect(suspect));
    format!("{name}{} {effect}", link(suspect.between.as_ref()))
}

pub(super) fn baseline(report: &Report) -> Vec<String> {
    let Some(baseline) = &report.baseline else { return Vec::new() };
    let started =
        evidence::baseline_window(baseline).map_or(String::new(), |window| format!(", started {window}"));
    let requests = numbers::counted(baseline.requests, "request");
    vec![prose(&format!("{} The baseline has {requests}{started}.", evidence::change(baseline)))]
}
