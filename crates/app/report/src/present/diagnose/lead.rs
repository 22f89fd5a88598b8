//! The sentence about the lead suspect.

use super::evidence::{attribute, compared_with, is_new, is_the_shift, sides};
use super::headline::{NAME_ROOM, REPLICAS_NAMED, all_replicas, quoted, some_replicas, undecided};
use super::{behavior, evidence};
use crate::present::events;
use crate::times::Calendar;
use crate::{Incident, LinkEnd, Report, Scope, Suspect, names, numbers};

/// The slow operation, by how much, since when and with what consequence, and further suspects.
pub(super) fn sentence(report: &Report, lead: &Suspect) -> String {
    let is_behavior = lead.is_behavior_only();
    let mut text = widespread(report);
    text.push_str(&match is_behavior {
        true => behaves(report, lead),
        false if is_new(lead) => new(report, lead),
        false => slow(report, lead),
    });
    if !is_behavior {
        text.push_str(&consequence(lead, report.input.requests));
        text.push_str(&load(lead));
        if !lead.behavior.is_empty() {
            text.push_str(&format!("; it {}", behavior::phrases(report, lead)));
        }
    }
    text.push_str(&attributes(lead));
    if let Some(between) = &lead.between {
        text.push_str(&blame(lead, between.end));
    }
    match report.suspects.iter().filter(|suspect| suspect.stands_out).count() {
        0 | 1 => {}
        2 => text.push_str("; 1 other operation is suspected"),
        all => {
            let others = numbers::count(all as u64 - 1);
            text.push_str(&format!("; {others} other operations are suspected"));
        }
    }
    text.push('.');
    let context = events::sentence(&lead.events, &Calendar::of(report));
    if !context.is_empty() {
        text.push_str(&format!(" {context}"));
    }
    text.push_str(&periods(report, lead));
    if let Some(unexplained) = report.baseline.as_ref().and_then(evidence::unexplained) {
        text.push_str(&format!(" {unexplained}"));
    }
    text
}

/// That most operations are slower at once; with a blank after it.
pub(super) fn widespread(report: &Report) -> String {
    let Some(slowdown) = report.baseline.as_ref().and_then(|baseline| baseline.widespread_slowdown) else {
        return String::new();
    };
    format!(
        "{} of {} are slower than in the baseline at once ({} in the median): suspect what they share, such as a machine, \
         a network, or a database. ",
        numbers::count(slowdown.slower),
        numbers::counted(slowdown.compared, "operation"),
        numbers::factor(slowdown.factor)
    )
}

/// Where the slowest requests spend their time, when nothing shows that they are new.
pub(super) fn tail_sentence(report: &Report, lead: &Suspect) -> String {
    let seen = report.input.requests;
    format!(
        "Nothing shows that anything is slower than it should be. The slowest requests spend their time in {}{}: {}{}{}. {}",
        operation(lead),
        lead.between.as_ref().map_or_else(String::new, |_| " or its calls".to_owned()),
        times(report, lead),
        consequence(lead, seen),
        attributes(lead),
        if report.baseline.is_some() {
            "The comparison with the baseline does not show that this is new."
        } else {
            "This may be what the system always does; a baseline would settle it."
        },
    )
}

/// The attributes of the requests hit, with a semicolon before them; of several the first.
fn attributes(lead: &Suspect) -> String {
    lead.attributes.first().map_or_else(String::new, |first| format!("; {}", attribute(first)))
}

/// That its replicas are slow because they receive more calls than others, with a semicolon before it.
pub(super) fn load(lead: &Suspect) -> String {
    let replicas = match lead.replicas.len() as u64 {
        1 => "this replica".to_owned(),
        replicas => format!("these {}", numbers::counted(replicas, "replica")),
    };
    evidence::load(lead).map_or_else(String::new, |load| format!("; {replicas} {load}"))
}

/// Failures, early ends, or other calls, and how many requests they hit.
fn behaves(report: &Report, lead: &Suspect) -> String {
    let hit = requests_hit(lead.requests_hit, report.input.requests);
    let location = if lead.replicas.is_empty() { String::new() } else { format!(" on {}", location(lead)) };
    let effect = match lead.effect_ns {
        0 => "this hit".to_owned(),
        effect => format!("this adds {} to", numbers::time(effect)),
    };
    let since = lead.onset.as_ref();
    let since = since
        .map_or_else(String::new, |onset| format!(" since {}", brief_onset(onset, &Calendar::of(report))));
    if let [only] = lead.behavior.as_slice()
        && only.kind == behavior::SOME_REPLICAS
    {
        let rate = numbers::share(only.rate);
        return format!(
            "{} is performed{location} only, in {rate} of its callers' calls; {effect} {hit}",
            operation(lead)
        );
    }
    format!("{}{location} {}{since}; {effect} {hit}", operation(lead), behavior::phrases(report, lead))
}

fn slow(report: &Report, lead: &Suspect) -> String {
    let subject = match &lead.between {
        Some(between) => {
            let sides = sides(between, NAME_ROOM);
            let (caller, callee) = (quoted(&sides.caller), quoted(&sides.callee));
            format!("Between {caller} and {callee} ({})", quoted(&between.callee_operation))
        }
        None => format!("{} is slow on {}", operation(lead), location(lead)),
    };
    format!("{subject}: {}{}", times(report, lead), when(report, lead))
}

fn new(report: &Report, lead: &Suspect) -> String {
    let location = if lead.between.is_some() { String::new() } else { format!(" on {}", location(lead)) };
    let subject = match &lead.between {
        Some(between) => {
            let sides = sides(between, NAME_ROOM);
            let (caller, callee) = (quoted(&sides.caller), quoted(&sides.callee));
            format!("The call of {} from {caller} to {callee}", quoted(&between.callee_operation))
        }
        None => operation(lead),
    };
    let effect = numbers::time(lead.effect_ns);
    let (against, when) = (compared_with(report), when(report, lead));
    format!("{subject} is new: never called in {against}, calls take {effect}{location}{when}")
}

/// `calls take 248 ms longer (55×) than in the baseline`
pub(super) fn times(report: &Report, lead: &Suspect) -> String {
    // A shift is that of all replicas together.
    let Some(shift) = lead.shift.filter(|_| lead.scope != Scope::Replicas) else {
        let slow = lead.slow_calls.filter(|_| lead.scope != Scope::Replicas);
        let share = slow.map_or_else(String::new, |slow| {
            format!("{}; ", evidence::slow_calls(&slow, compared_with(report)))
        });
        return format!("{share}slow calls take {}{}", numbers::effect(lead.effect_ns), factor(lead.factor));
    };
    let against = compared_with(report);
    if is_the_shift(lead) {
        let effect = numbers::time(lead.effect_ns);
        return format!("calls take {effect} longer{} than in {against}", factor(lead.factor));
    }
    let (ratio, slow) = (numbers::factor(shift.factor), numbers::effect(lead.effect_ns));
    format!("calls take {ratio} the time in {against} (slow ones {slow})")
}

/// Since when, or in which period; with a blank before it.
fn when(report: &Report, lead: &Suspect) -> String {
    let calendar = Calendar::of(report);
    if let Some(onset) = &lead.onset {
        return format!(" since {}", brief_onset(onset, &calendar));
    }
    if !report.is_slow_in_periods(lead) {
        return String::new();
    }
    match report.incidents_of(lead).as_slice() {
        [] => String::new(),
        [only] => format!(" {}", period(report, only, &calendar)),
        some => {
            let all = numbers::counted(report.incidents.len() as u64, "slow period");
            format!(" in {} of {all}", numbers::count(some.len() as u64))
        }
    }
}

/// `04:27:19 UTC (04:26:19–04:27:19)`
pub(super) fn brief_onset(onset: &crate::Onset, calendar: &Calendar) -> String {
    let time = format!("{} UTC", calendar.onset(onset));
    match calendar.interval(onset) {
        Some([first, last]) => format!("{time} ({first}–{last})"),
        None => time,
    }
}

/// `between 04:27 and 04:31 UTC`, or since its start when it lasts until the end of the window.
fn period(report: &Report, incident: &Incident, calendar: &Calendar) -> String {
    let lasting = report.window.as_ref().is_some_and(|window| incident.time.until >= window.until);
    if let (true, Some(onset)) = (lasting, &incident.onset) {
        return format!("since {}", brief_onset(onset, calendar));
    }
    if lasting {
        return format!("since {} UTC", calendar.time(incident.time.since));
    }
    let [first, last] = calendar.ends(incident.time);
    format!("between {first} and {last} UTC")
}

/// A sentence on slow periods; none if the only one is already in the first sentence.
fn periods(report: &Report, lead: &Suspect) -> String {
    let calendar = Calendar::of(report);
    let worst = report.incidents.iter().max_by(|a, b| {
        // Of equals, the first.
        a.excess_share.total_cmp(&b.excess_share).then(b.time.since.cmp(&a.time.since))
    });
    let Some(worst) = worst else { return String::new() };
    let mentioned =
        lead.onset.is_none() && report.is_slow_in_periods(lead) && !report.incidents_of(lead).is_empty();
    let period = period(report, worst, &calendar);
    match report.incidents.len() as u64 {
        1 if mentioned => String::new(),
        1 => format!(" Requests were slow {period}."),
        all => format!(" There were {} slow periods, the worst {period}.", numbers::count(all)),
    }
}

pub(super) fn operation(suspect: &Suspect) -> String {
    if suspect.service.is_empty() {
        return format!("Operation {}", quoted(&suspect.operation));
    }
    format!("{} operation {}", quoted(&suspect.service), quoted(&suspect.operation))
}

pub(super) fn blamed(suspect: &Suspect) -> String {
    quoted(if suspect.service.is_empty() { &suspect.operation } else { &suspect.service })
}

pub(super) fn location(suspect: &Suspect) -> String {
    let named = suspect.replicas.len() as u64;
    if suspect.scope == Scope::Replicas && named > 0 {
        let names: Vec<String> = suspect.replicas.iter().map(|name| name.replace('`', "'")).collect();
        let list = names::list(&names, REPLICAS_NAMED, NAME_ROOM);
        let order = if suspect.in_succession { "; one after the other" } else { "" };
        return format!("{} ({list}{order})", some_replicas(named, suspect.replicas_seen));
    }
    if suspect.scope_undecided && suspect.replicas_seen > 1 {
        return undecided(suspect.replicas_seen);
    }
    match suspect.replicas.as_slice() {
        [only] => format!("{} ({})", all_replicas(1), names::label(&only.replace('`', "'"), NAME_ROOM)),
        _ => all_replicas(suspect.replicas_seen),
    }
}

fn blame(lead: &Suspect, end: LinkEnd) -> String {
    let location = where_else(lead);
    if end != LinkEnd::Unknown {
        return format!("; {} is to blame{location}", blamed(lead));
    }
    let replicas = if location.is_empty() { location } else { format!("{location} of {}", blamed(lead)) };
    format!("{replicas}; either end, or what is between them, is to blame")
}

/// `, on all 4 replicas`; nothing when there is one only and its name is not known.
fn where_else(lead: &Suspect) -> String {
    if lead.replicas_seen <= 1 && lead.replicas.is_empty() {
        return String::new();
    }
    format!(", on {}", location(lead))
}

fn factor(value: f64) -> String {
    if value.is_finite() { format!(" ({})", numbers::factor(value)) } else { String::new() }
}

/// The effect of the slow calls on requests; the share is left out when it is not known.
fn consequence(lead: &Suspect, all: u64) -> String {
    if lead.requests_hit == 0 {
        // Known by comparison only: no single request is known to be slow.
        let share = numbers::share(lead.share);
        return if lead.share.is_finite() {
            format!(" and explain {share} of the excess latency")
        } else {
            String::new()
        };
    }
    let requests = requests_hit(lead.requests_hit, all);
    if !lead.share.is_finite() {
        return format!(" and hit {requests}");
    }
    format!(", hit {requests} and explain {} of the excess latency", numbers::share(lead.share))
}

pub(super) fn requests_hit(hit: u64, all: u64) -> String {
    if all < hit {
        return numbers::counted(hit, "request");
    }
    format!("{} of {}", numbers::count(hit), numbers::counted(all, "request"))
}
