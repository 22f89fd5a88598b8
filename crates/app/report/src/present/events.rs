//! Deployments and other changes of the system: what they are, and how a suspect's onset lies to them. Timing is context and
//! never stated as a cause.

use super::changes::phrases::whole_length;
use crate::document::{Cell, Prose, Section, Table, TableRow, columns};
use crate::times::Calendar;
use crate::{
    ReplicasRunning, Report, SuspectEvent, SystemEvent, SystemEventKind, SystemEventSource, names, numbers,
};

/// Columns given to a name, and to what somebody wrote.
const NAME_ROOM: usize = 48;
const TEXT_ROOM: usize = 120;

/// Events listed.
const MOST: usize = 100;

/// The caution that follows every statement on timing.
const NO_PROOF: &str = "Timing alone does not prove a cause.";

fn quoted(name: &str) -> String {
    format!("`{}`", names::label(name, NAME_ROOM).replace('`', "'"))
}

/// A change in words: "version `1.4.3` of `cart` was deployed".
pub fn event_phrase(event: &SystemEvent) -> String {
    let service = if event.service.is_empty() { "the system".to_owned() } else { quoted(&event.service) };
    let version = event.version.as_deref().map(quoted);
    let mut phrase = match (event.kind, version, event.source) {
        (SystemEventKind::Deployment, Some(version), SystemEventSource::Spans) => {
            format!("version {version} of {service} was first seen{}", running(event.running))
        }
        (SystemEventKind::Deployment, Some(version), SystemEventSource::Declared) => {
            format!("version {version} of {service} was deployed{}", running(event.running))
        }
        (SystemEventKind::Deployment, None, _) => format!("{service} was deployed"),
        (SystemEventKind::Scaling, ..) => match event.replicas {
            Some(replicas) => {
                format!("{service} was scaled to {}", numbers::counted(replicas, "replica"))
            }
            None => format!("{service} was scaled"),
        },
        (SystemEventKind::Configuration, ..) => format!("the configuration of {service} changed"),
        (SystemEventKind::Other, ..) => format!("{service} was changed"),
    };
    if let Some(zone) = &event.zone {
        phrase.push_str(&format!(" in zone {}", quoted(zone)));
    }
    if !event.text.trim().is_empty() {
        let text = names::label(event.text.trim(), TEXT_ROOM).replace('`', "'");
        phrase.push_str(&format!(" (\u{201c}{text}\u{201d})"));
    }
    phrase
}

/// ` (9 of 18 replicas)`, as far as it is known.
fn running(running: Option<ReplicasRunning>) -> String {
    running.map_or_else(String::new, |ReplicasRunning { replicas, of }| {
        format!(" ({} of {})", numbers::count(replicas), numbers::counted(of, "replica"))
    })
}

/// How an onset lies to the events near it, in sentences; times with their date. Empty without any.
pub fn suspect_events_sentence(events: &[SuspectEvent]) -> String {
    sentence(events, &Calendar::dated())
}

fn phrase(event: &SuspectEvent, calendar: &Calendar) -> String {
    let time = calendar.time(event.event.at());
    let (changed, service) = (event_phrase(&event.event), &event.event.service);
    let mut text = match event.is_within_onset {
        true => format!("inside the interval of its onset, {changed} at {time} UTC"),
        false => format!("it began {} after {changed} at {time} UTC", whole_length(event.before_s)),
    };
    if let Some(ReplicasRunning { replicas, of }) = event.suspected_running {
        let run = if of == 1 { "runs" } else { "run" };
        let total = numbers::counted(of, "suspected replica");
        text.push_str(&format!("; {} of {total} of {} {run} it", numbers::count(replicas), quoted(service)));
    }
    text
}

/// The events near an onset in a sentence without a period; empty without any.
pub(crate) fn near(events: &[SuspectEvent], calendar: &Calendar) -> String {
    let phrases: Vec<String> = events.iter().map(|event| phrase(event, calendar)).collect();
    phrases.join("; ")
}

/// The same as sentences.
pub(crate) fn sentence(events: &[SuspectEvent], calendar: &Calendar) -> String {
    match near(events, calendar) {
        near if near.is_empty() => near,
        near => format!("{}. {NO_PROOF}", names::capitalized(&near)),
    }
}

/// All events of the time of the report.
pub(crate) fn section(report: &Report, calendar: &Calendar) -> Option<Section> {
    let columns = columns![Text "time, UTC", Text "change"];
    let table = Table::new("Deployments and other changes", &columns);
    let table = table.at_most(MOST, &report.events, |event| {
        let time = Cell::time(calendar, event.at());
        TableRow::new([time, Cell::text(Prose::quoted(&event_phrase(event)))])
    });
    let section = Section::new("events", "Deployments and other changes")
        .remark("what was declared, and versions that spans report for the first time");
    (!report.events.is_empty()).then(|| section.block(table))
}
