//! Evidence on the kind of cause from spans.

use crate::present::diagnose::{evidence as phrases, headline};
use crate::{
    CauseClass, CauseEvidence, EvidenceSource, Report, Scope, Suspect, SuspectAttribute, SuspectEvent,
    SystemEventKind, names, numbers,
};
use std::collections::BTreeMap;

/// Requests per second that changed by less than this factor are the same.
const SAME_RATE: f64 = 1.25;
/// Share of the requests hit that have an attribute's value, from which on it sets them apart.
const MOST: f64 = 0.9;
/// From this number of slow operations on, their common replica is more likely the cause than any of them.
const SEVERAL: u64 = 3;
/// A version that has run for so long without being slow, seconds, is hardly slow by itself.
const RAN_MIN_S: f64 = 60.0;
/// Attributes of the request that describe its content.
const OF_DATA: [&str; 3] = ["tenant", "account", "route"];

pub(super) fn evidence(report: &Report) -> Vec<CauseEvidence> {
    let suspects: Vec<&Suspect> = report.suspects.iter().filter(|suspect| suspect.stands_out).collect();
    let Some(lead) = suspects.first() else { return Vec::new() };
    let mut out = Evidence::default();
    out.behavior(lead);
    out.attributes(lead);
    out.replicas(lead, &suspects);
    out.location(lead);
    out.rate(report);
    out.pieces
}

/// Which replicas are slow, of how many.
pub(super) fn slow_replicas(report: &Report) -> String {
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out);
    lead.map_or_else(String::new, only_slow)
}

fn only_slow(lead: &Suspect) -> String {
    let is = if lead.replicas.len() == 1 { "is" } else { "are" };
    let order = if lead.in_succession { ", one after the other" } else { "" };
    let slow = super::servers(&lead.replicas);
    let all = numbers::counted(lead.replicas_seen, "replica");
    format!("Only {slow} of {all} {is} slow{order}.")
}

/// Whether never more than one replica is slow.
pub(super) fn is_one_at_a_time(lead: &Suspect) -> bool {
    lead.replicas.len() == 1 || lead.in_succession
}

/// How long a version had run before a suspect became slow, seconds, if it was there clearly before.
fn ran_before_onset_s(lead: &Suspect, version: &SuspectAttribute) -> Option<f64> {
    let is_its_deployment = |event: &&SuspectEvent| {
        event.event.kind == SystemEventKind::Deployment
            && event.event.version.as_deref() == Some(version.value.as_str())
            && version.service.as_ref().is_none_or(|service| *service == event.event.service)
    };
    let deployment = lead.events.iter().find(is_its_deployment)?;
    Some(deployment.before_s).filter(|before_s| !deployment.is_within_onset && *before_s >= RAN_MIN_S)
}

#[derive(Default)]
struct Evidence {
    pieces: Vec<CauseEvidence>,
}

impl Evidence {
    fn add(&mut self, class: CauseClass, weight: f64, text: String) {
        self.pieces.push(CauseEvidence { class, weight, source: EvidenceSource::Traces, text });
    }

    /// Failing, and calls that are made no longer, for the first time, or more often.
    fn behavior(&mut self, lead: &Suspect) {
        let operation = names::quoted(&lead.operation);
        for change in &lead.behavior {
            let (now, usual) = (numbers::share(change.rate), numbers::share(change.usual_rate));
            let callee =
                change.callees.first().map_or_else(String::new, |callee| names::quoted(&callee.operation));
            match change.kind.as_str() {
                "errors" => self.add(
                    CauseClass::Errors,
                    4.0,
                    format!("{now} of the calls of {operation} fail ({usual} before)."),
                ),
                "missing-calls" => {
                    let text = format!("{operation} calls {callee} in {now} of its calls ({usual} before).");
                    self.add(CauseClass::Code, 2.5, text);
                }
                "unprocessed-messages" => {
                    let text = format!(
                        "{operation} processed {now} of the messages of {callee} ({usual} before): the others wait in a queue, or are lost."
                    );
                    self.add(CauseClass::Waiting, 2.5, text);
                }
                "new-calls" => self.add(
                    CauseClass::Code,
                    3.0,
                    format!("{operation} calls {callee}, which it never did before."),
                ),
                "more-calls" => self.add(
                    CauseClass::Code,
                    2.5,
                    format!(
                        "{operation} calls {callee} {} times per call ({} before).",
                        numbers::ratio(change.rate),
                        numbers::ratio(change.usual_rate)
                    ),
                ),
                _ => {}
            }
        }
        if phrases::is_new(lead) {
            self.add(CauseClass::Code, 3.0, format!("{operation} was never called before."));
        }
    }

    /// Common attributes of the requests hit.
    fn attributes(&mut self, lead: &Suspect) {
        let sets_apart =
            |attribute: &&SuspectAttribute| attribute.hit_share >= MOST && attribute.share < MOST;
        let Some(first) = lead.attributes.iter().find(sets_apart) else { return };
        let text = format!(
            "{} of the requests hit have {}, which {} of all have.",
            numbers::share(first.hit_share),
            names::quoted(&format!("{}={}", first.key, first.value)),
            numbers::share(first.share)
        );
        if first.key == "version" {
            match ran_before_onset_s(lead, first) {
                // All requests since then have it, so that it sets the slow ones apart whatever the reason.
                Some(ran_s) => {
                    let ran = numbers::time_float(ran_s * 1e9);
                    self.add(CauseClass::Code, 2.0, format!("{text} It had run for {ran} before that."));
                }
                None => self.add(CauseClass::Code, 4.0, text),
            }
        } else if OF_DATA.contains(&first.key.as_str()) {
            self.add(CauseClass::Data, 4.0, text);
        } else if ["zone", "host"].contains(&first.key.as_str()) {
            self.add(CauseClass::Machine, 2.0, text);
        }
    }

    /// Which replicas are slow, and what else is on them.
    fn replicas(&mut self, lead: &Suspect, suspects: &[&Suspect]) {
        if let Some(load) = phrases::load(lead) {
            let replicas = if lead.replicas.len() == 1 { "replica" } else { "replicas" };
            self.add(CauseClass::UnevenLoad, 4.0, format!("The slow {replicas} {load}."));
        }
        if lead.scope != Scope::Replicas {
            if lead.replicas_seen > 1 && !lead.scope_undecided && lead.between.is_none() {
                let all = headline::all_replicas(lead.replicas_seen);
                let symptom = if lead.is_behavior_only() { "is affected" } else { "is slow" };
                let text = format!("{} {symptom} on {all} alike.", names::quoted(&lead.operation));
                self.add(CauseClass::Machine, -2.0, text);
            }
            return;
        }
        let mut operations: BTreeMap<&String, u64> = BTreeMap::new();
        let on_replicas = suspects.iter().filter(|suspect| suspect.scope == Scope::Replicas);
        for replica in on_replicas.flat_map(|suspect| &suspect.replicas) {
            *operations.entry(replica).or_default() += 1;
        }
        let Some(replica) = lead.replicas.first().filter(|_| is_one_at_a_time(lead)) else { return };
        let (points, text) = match operations.get(replica).copied().unwrap_or(1) {
            0 | 1 => (2.0, only_slow(lead)),
            several => {
                let slow = super::servers(&lead.replicas);
                let text = format!("{several} operations are slow on {slow} and not elsewhere.");
                (if several >= SEVERAL { 4.0 } else { 2.0 }, text)
            }
        };
        self.add(CauseClass::Machine, points, text);
    }

    /// Where the time is spent.
    fn location(&mut self, lead: &Suspect) {
        if lead.is_behavior_only() {
            return;
        }
        if let Some(between) = &lead.between {
            let sides = phrases::sides(between, headline::NAME_ROOM);
            let text = format!(
                "The time is spent between {} and {}, in neither of them.",
                names::quoted(&sides.caller),
                names::quoted(&sides.callee)
            );
            return self.add(CauseClass::Network, 2.5, text);
        }
        // What some replicas only wait for is not in the callee.
        if lead.kind == "client" && lead.scope == Scope::All {
            let text = format!(
                "The time is spent in what {} calls, which sends no spans of its own.",
                names::quoted(&lead.operation)
            );
            self.add(CauseClass::Dependency, 2.0, text);
        }
    }

    /// Whether there are more requests.
    fn rate(&mut self, report: &Report) {
        let Some(baseline) = &report.baseline else { return };
        let per_s = |requests: u64, window: Option<crate::Window>| {
            let length = window.map(|window| window.until.since(window.since).non_negative())?;
            length.map(|length| requests as f64 / (length.ns() as f64 / 1e9).max(1.0))
        };
        let now = per_s(report.input.requests, report.window);
        let (Some(now), Some(before)) = (now, per_s(baseline.requests, baseline.window)) else { return };
        let ratio = now / before.max(f64::MIN_POSITIVE);
        if ratio >= SAME_RATE {
            let text = format!(
                "There are {} times as many requests per second as in the baseline.",
                numbers::ratio(ratio)
            );
            self.add(CauseClass::Load, if baseline.widespread_slowdown.is_some() { 3.0 } else { 1.5 }, text);
        } else {
            let text = format!(
                "There are no more requests per second than in the baseline ({} times as many).",
                numbers::ratio(ratio)
            );
            self.add(CauseClass::Load, -2.0, text);
        }
    }
}
