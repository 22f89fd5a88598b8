//! The clauses of an incident: what the reports of all kinds of data say about it together.

use super::behavior;
use super::cause::{short, summary};
use super::evidence::{attribute, compared_with, is_new, sides};
use super::headline::{NAME_ROOM, quoted};
use super::lead::{blamed, brief_onset, load, location, operation, requests_hit, times, widespread};
use crate::cause::conclude;
use crate::cause::kernel::may_be_calls_of_suspect;
use crate::cause::samples::{CpuOfCalls, without_cores};
use crate::present::events;
use crate::times::Calendar;
use crate::{
    Cause, CauseClass, Certainty, ChangeReport, Clause, ClauseKind, EvidenceSource, KernelDiagnosis,
    KernelVerdict, LinkEnd, Report, Scope, Suspect, SystemEvent, Verdict, names, numbers,
};
use laggard_model::Nanos;

/// Other operations named, kinds of requests named, and kinds of causes ruled out.
const OTHERS: usize = 3;
const KINDS: usize = 2;
const RULED_OUT: usize = 3;
/// From this p-value down, a difference counts as shown.
const SHOWN_LEVEL: f64 = 1e-3;

/// The evidence of other kinds than traces.
#[derive(Clone, Copy, Default)]
pub struct OtherEvidence<'a> {
    /// The CPU of servers, from samples.
    pub changes: Option<&'a ChangeReport>,
    /// Waits of executions on the suspected replica, against normal ones.
    pub kernel: Option<&'a KernelDiagnosis>,
    /// Whether any deployment or other change of the system is known besides those of the report: only then can there be none
    /// near the onset.
    pub events_known: bool,
}

impl Report {
    /// Concludes the kind of cause from this report and other evidence, and states everything clause by clause.
    pub fn conclude(&mut self, other: OtherEvidence<'_>) {
        self.cause = conclude(self, other.changes, other.kernel);
        let caution = other.changes.and_then(|changes| without_cores(self, changes));
        self.cautions.extend(caution);
        self.clauses = clauses(self, other);
    }
}

/// The statements of a diagnosis together with other evidence, in the order of [`ClauseKind`]. Empty unless the verdict is
/// `suspects`.
fn clauses(report: &Report, other: OtherEvidence<'_>) -> Vec<Clause> {
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out);
    let (Some(lead), Verdict::Suspects) = (lead, report.verdict) else { return Vec::new() };
    let mut out = Clauses { report, lead, list: Vec::new() };
    out.what();
    out.location();
    out.since();
    out.impact();
    if let Some(cause) = &report.cause {
        out.cause(cause);
    }
    out.change(other.events_known || !report.events.is_empty());
    if let Some(cpu) = other.changes.and_then(|changes| {
        CpuOfCalls::from_full_machines(report, lead, changes)
            .or_else(|| CpuOfCalls::from_suspect(report, lead, changes))
    }) {
        out.capacity(&cpu);
    }
    if let Some(kernel) = other.kernel {
        out.wait(kernel);
    }
    if let Some(cause) = &report.cause {
        out.about_other_causes(cause);
    }
    out.list
}

/// The clauses as text, one a line; at most `lines`, the least important left out first.
pub fn clauses_text(clauses: &[Clause], lines: usize) -> String {
    let mut sorted: Vec<&Clause> = clauses.iter().collect();
    sorted.truncate(lines);
    let line = |clause: &&Clause| match clause.kind {
        ClauseKind::What => clause.text.clone(),
        kind => format!("{}: {}", kind.title(), clause.text),
    };
    sorted.iter().map(line).collect::<Vec<String>>().join("\n")
}

struct Clauses<'a> {
    report: &'a Report,
    lead: &'a Suspect,
    list: Vec<Clause>,
}

impl Clauses<'_> {
    fn add(&mut self, kind: ClauseKind, certainty: Certainty, source: EvidenceSource, text: String) {
        self.list.push(Clause { kind, text, certainty, sources: vec![source] });
    }

    fn what(&mut self) {
        let (report, lead) = (self.report, self.lead);
        let mut text = widespread(report);
        text.push_str(&match (&lead.between, lead.is_behavior_only()) {
            (_, true) => format!("{} {}", operation(lead), behavior::phrases(report, lead)),
            (None, false) if is_new(lead) => format!(
                "{} is new: never called in {}, calls take {}",
                operation(lead),
                compared_with(report),
                numbers::time(lead.effect_ns)
            ),
            (None, false) => format!("{}: {}", operation(lead), times(report, lead)),
            (Some(between), false) => {
                let sides = sides(between, NAME_ROOM);
                format!(
                    "Between {} and {} ({}): {}",
                    quoted(&sides.caller),
                    quoted(&sides.callee),
                    quoted(&between.callee_operation),
                    times(report, lead)
                )
            }
        });
        if !lead.is_behavior_only() && !lead.behavior.is_empty() {
            text.push_str(&format!("; it {}", behavior::phrases(report, lead)));
        }
        text.push('.');
        let others = report.suspects.iter().filter(|other| other.stands_out && other.rank != lead.rank);
        let others: Vec<String> =
            others.map(|other| format!("{} {}", other.service, other.operation).trim().to_owned()).collect();
        if !others.is_empty() {
            text.push_str(&format!(" Also suspected: {}.", names::list(&others, OTHERS, NAME_ROOM)));
        }
        let certainty = match smallest_p_value(lead) {
            Some(p_value) if p_value <= SHOWN_LEVEL => Certainty::Shown,
            _ => Certainty::Likely,
        };
        self.add(ClauseKind::What, certainty, EvidenceSource::Traces, text);
    }

    fn location(&mut self) {
        let lead = self.lead;
        let mut parts = Vec::new();
        let end = lead.between.as_ref().map(|between| between.end);
        match end {
            None => {}
            Some(LinkEnd::Caller) => parts.push(format!("Likely at {}, the caller", blamed(lead))),
            Some(LinkEnd::Callee) => parts.push(format!("Likely at {}, the callee", blamed(lead))),
            Some(LinkEnd::Unknown) => parts.push("At either end, or between them".to_owned()),
        }
        if lead.scope == Scope::Replicas || lead.replicas_seen > 0 {
            let service =
                if end == Some(LinkEnd::Unknown) { format!(" of {}", blamed(lead)) } else { String::new() };
            parts.push(format!("On {}{service}{}", location(lead), load(lead)));
        }
        if let Some(first) = lead.attributes.first() {
            parts.push(names::capitalized(&attribute(first)));
        }
        if parts.is_empty() {
            return;
        }
        let certainty = match lead.scope {
            Scope::Replicas => Certainty::Shown,
            Scope::All if lead.scope_undecided => Certainty::Possible,
            Scope::All => Certainty::Likely,
        };
        self.add(ClauseKind::Where, certainty, EvidenceSource::Traces, format!("{}.", parts.join(". ")));
    }

    fn since(&mut self) {
        let calendar = Calendar::dated();
        let (text, certainty) = match (self.report.onset_of(self.lead), self.report.window) {
            (Some(onset), _) => (format!("{}.", brief_onset(&onset, &calendar)), Certainty::Shown),
            (None, Some(window)) => {
                let text = format!(
                    "{} UTC or earlier: it is slow from the start of the window on, or the data do not show when it began.",
                    calendar.time(window.since)
                );
                (text, Certainty::Possible)
            }
            (None, None) => return,
        };
        self.add(ClauseKind::Since, certainty, EvidenceSource::Traces, text);
    }

    fn impact(&mut self) {
        let (report, lead) = (self.report, self.lead);
        if lead.requests_hit == 0 {
            return;
        }
        let hit = requests_hit(lead.requests_hit, report.input.requests);
        let concerned = report.categories.iter().filter(|category| lead.categories.contains(&category.id));
        let mut kinds: Vec<String> = concerned
            .map(|category| format!("{} {}", category.service, category.operation).trim().to_owned())
            .collect();
        kinds.dedup();
        let of_kinds = match kinds.is_empty() {
            true => String::new(),
            false => format!(" ({})", names::list(&kinds, KINDS, NAME_ROOM)),
        };
        let takes = match lead.request_effect_ns {
            0 => String::new(),
            effect => format!(", which take {} longer", numbers::time(effect)),
        };
        let lost_ns: u64 = lead.affected.iter().map(|affected| affected.lost_ns).sum();
        let length = report.window.and_then(|window| window.until.since(window.since).non_negative());
        let hour = Nanos::from_secs(3_600).ns() as f64;
        let an_hour = match length {
            Some(length) if length.ns() > 0 && lost_ns > 0 => {
                let lost = lost_ns as f64 * hour / length.ns() as f64;
                format!("; users lose {} an hour", numbers::time_float(lost))
            }
            _ => String::new(),
        };
        let text = format!("Hit {hit}{of_kinds}{takes}{an_hour}.");
        self.add(ClauseKind::Impact, Certainty::Shown, EvidenceSource::Traces, text);
    }

    fn cause(&mut self, cause: &Cause) {
        let mut text = summary(cause);
        let for_it = cause.evidence.iter().filter(|piece| piece.weight > 0.0 && piece.class == cause.class);
        let for_it: Vec<_> = for_it.collect();
        if let Some(strongest) = for_it.first() {
            text.push_str(&format!(" {}", strongest.text));
        }
        if cause.class == CauseClass::Unknown {
            return;
        }
        let mut sources: Vec<EvidenceSource> = for_it.iter().map(|piece| piece.source).collect();
        sources.sort();
        sources.dedup();
        self.list.push(Clause { kind: ClauseKind::Cause, text, certainty: cause.certainty, sources });
    }

    fn change(&mut self, events_known: bool) {
        let lead = self.lead;
        let calendar = Calendar::dated();
        let near = events::sentence(&lead.events, &calendar);
        let text = match (near.is_empty(), &lead.onset) {
            (false, _) => near,
            (true, Some(_)) if events_known => {
                "No deployment or other change is known shortly before it began.".to_owned()
            }
            (true, Some(_)) => return,
            (true, None) => match self.latest_change(&calendar) {
                Some(text) => text,
                None => return,
            },
        };
        self.add(ClauseKind::Change, Certainty::Possible, EvidenceSource::Events, text);
    }

    /// The latest change of the suspect's service, where it is not known when the suspect became slow.
    fn latest_change(&self, calendar: &Calendar) -> Option<String> {
        let is_own = |event: &&SystemEvent| event.service.is_empty() || event.service == self.lead.service;
        let event = self.report.events.iter().rev().find(is_own)?;
        let (change, time) = (names::capitalized(&events::event_phrase(event)), calendar.time(event.at()));
        Some(format!("{change} at {time} UTC; the data do not show whether it began before or after that."))
    }

    /// CPU on the suspect's servers.
    fn capacity(&mut self, cpu: &CpuOfCalls) {
        let servers = names::list(&cpu.servers, KINDS, NAME_ROOM);
        let share = cpu.busy / cpu.cores;
        let remaining = match share {
            share if share >= 1.0 => "nothing is left".to_owned(),
            share => format!("{} times the load would fill it", numbers::ratio(1.0 / share.max(0.01))),
        };
        let mut text =
            format!("The CPU of {servers} is {} busy since then; {remaining}.", numbers::share(share));
        if cpu.is_increase() {
            let more = numbers::ratio(cpu.more);
            let fewer = self.fewer_requests(cpu).map_or_else(String::new, |share| {
                format!(": it can serve about {} fewer requests", numbers::share(share))
            });
            text.push_str(&format!(" {more} cores of it are more than transactions took before{fewer}."));
        }
        self.add(ClauseKind::Capacity, Certainty::Likely, EvidenceSource::Samples, text);
    }

    /// Share of the requests that the CPU can serve no longer, by the utilization law: what each takes in addition where the code
    /// is the cause, what is left for them where another process is. `None` for other causes.
    fn fewer_requests(&self, cpu: &CpuOfCalls) -> Option<f64> {
        match self.report.cause.as_ref()?.class {
            CauseClass::Code => Some(cpu.more / cpu.busy),
            CauseClass::ForeignLoad => Some(cpu.more / cpu.cores),
            _ => None,
        }
    }

    fn wait(&mut self, kernel: &KernelDiagnosis) {
        let certainty = match kernel.verdict {
            KernelVerdict::Slower if may_be_calls_of_suspect(kernel) => Certainty::Shown,
            KernelVerdict::SlowerOverall => Certainty::Likely,
            KernelVerdict::Slower
            | KernelVerdict::NothingFound
            | KernelVerdict::FewSlower
            | KernelVerdict::InsufficientData => return,
        };
        self.add(ClauseKind::Wait, certainty, EvidenceSource::Kernel, kernel.headline.clone());
    }

    fn about_other_causes(&mut self, cause: &Cause) {
        for text in &cause.contradictions {
            // A contradiction quotes the evidence it is between.
            let quoted = cause.evidence.iter().filter(|piece| text.contains(&piece.text));
            let mut sources: Vec<EvidenceSource> = quoted.map(|piece| piece.source).collect();
            sources.sort();
            sources.dedup();
            let (kind, certainty) = (ClauseKind::Contradiction, Certainty::Likely);
            self.list.push(Clause { kind, text: text.clone(), certainty, sources });
        }
        let against = cause.evidence.iter().filter(|piece| piece.weight < 0.0).take(RULED_OUT);
        let texts: Vec<String> =
            against.map(|piece| format!("Not {}: {}", short(piece.class), piece.text)).collect();
        if !texts.is_empty() {
            self.add(ClauseKind::RuledOut, Certainty::Likely, EvidenceSource::Traces, texts.join(" "));
        }
    }
}

/// Of all its evidence.
fn smallest_p_value(suspect: &Suspect) -> Option<f64> {
    suspect.p_values().min_by(f64::total_cmp)
}
