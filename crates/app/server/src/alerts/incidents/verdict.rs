//! The verdict on an incident: what its traces, the samples of the servers concerned, the system's events, and earlier incidents
//! say together.

use super::super::detection::Detection;
use super::super::evaluate::{Finding, compare};
use super::super::finding::AlertFinding;
use super::super::lifecycle::{Alert, AlertList};
use super::super::servers::schedule::windows_of;
use super::super::store_reader::StoreReader;
use super::{
    IncidentRecord, IncidentState, IncidentVerdict, history, objective_clauses, server_clauses,
    traffic_clauses, waits,
};
use crate::events::TenantEvents;
use crate::recordings::TenantRecordings;
use crate::stored_facts::stored_facts;
use laggard_engine::LocalEngine;
use laggard_metrics_questions::{ChangesQuestion, ChangesSettings, SampleFacts, changes};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use laggard_report::{
    CauseClass, Certainty, ChangeReport, Clause, ClauseKind, EvidenceSource, InputFacts, OtherEvidence,
    Report, Suspect, Verdict,
};
use laggard_samples::WindowSettings;

/// The first verdict is reached when an incident opens; while it lasts, another after this, then after twice as long, and so on.
const REVISED_AFTER: Nanos = Nanos::from_secs(120);

/// Recordings of an incident: of a culprit and a peer.
const RECORDINGS: u64 = 2;

/// How long before the window the CPU of servers is compared with.
const SAMPLES_BEFORE: Nanos = Nanos::from_secs(6 * 3_600);

// Limit: servers whose CPU is examined for an incident | samples add nothing to its verdict
/// Servers of a tier, or slow replicas with their peers; with their machines and all servers on these, if they are not more.
const SERVERS_MAX: usize = 100;

/// Servers beside the slow ones whose CPU is compared.
const PEERS_MAX: usize = 20;

/// Inputs of verdicts.
pub(in crate::alerts) struct Evidence<'a> {
    pub(in crate::alerts) reader: &'a StoreReader,
    pub(in crate::alerts) events: &'a TenantEvents,
    pub(in crate::alerts) recordings: &'a TenantRecordings,
    pub(in crate::alerts) detection: &'a Detection,
    pub(in crate::alerts) list: &'a AlertList,
    pub(in crate::alerts) at: Timestamp,
    /// The latest start of a stored span.
    pub(in crate::alerts) newest: Option<Timestamp>,
}

impl IncidentRecord {
    /// Whether a verdict is to be reached: there is none, it lacks an alert or a recording, or much more of the incident is
    /// known by now.
    pub(in crate::alerts) fn needs_verdict(
        &self,
        recordings: &TenantRecordings,
        newest: Option<Timestamp>,
        at: Timestamp,
    ) -> bool {
        let Some(verdict) = &self.verdict else { return !self.was_examined };
        if verdict.recordings < RECORDINGS
            && waits::arrived(&waits::of_incident(recordings, self), newest, at) == RECORDINGS
        {
            return true;
        }
        let then = verdict.at_ns.saturating_sub(self.opened_ns).max(0);
        let now = at.unix_ns().saturating_sub(self.opened_ns);
        let is_open = self.state == IncidentState::Open;
        is_open
            && (verdict.alerts < self.alerts.len() as u64
                || now >= then.saturating_mul(2).max(REVISED_AFTER.ns() as i64))
    }
}

impl Evidence<'_> {
    /// The verdict on an incident as of now, with the onset that it states; `None` where nothing can be read.
    pub(in crate::alerts) fn verdict(
        &self,
        incident: &IncidentRecord,
    ) -> Option<(IncidentVerdict, Option<Timestamp>)> {
        let alerts: Vec<&Alert> = self.list.of_incident(incident).collect();
        let lead = alerts.first()?;
        let operation = alerts.iter().find(|alert| alert.finding.operation().is_some());
        let (mut list, mut class, onset) = match operation {
            Some(alert) => match (self.of_requests(incident, alert), &incident.verdict) {
                (Some(said), _) => said,
                // A window that shows nothing any more takes back nothing that was shown.
                (None, Some(earlier)) => {
                    let (at_ns, alerts) = (self.at.unix_ns(), incident.alerts.len() as u64);
                    let recordings = self.recordings_of(incident);
                    return Some((IncidentVerdict { at_ns, alerts, recordings, ..earlier.clone() }, None));
                }
                (None, None) => (vec![finding_clause(alert)], None, None),
            },
            None => (Vec::new(), None, None),
        };
        for server in alerts.iter().filter_map(|alert| alert.finding.server()) {
            let opened_it = lead.finding.server() == Some(server);
            list.push(server_clauses::clause(server, opened_it));
            list.extend(server_clauses::capacity(server));
            class = class.or_else(|| Some(server_clauses::class(server)));
        }
        for objective in alerts.iter().filter_map(|alert| alert.finding.objective()) {
            let opened_it = lead.finding.objective() == Some(objective);
            let mut own = objective_clauses::clauses(objective, opened_it);
            own.retain(|clause| clause.kind != ClauseKind::Since || operation.is_none());
            // The subject that opened the incident comes first.
            list.splice(0..0, own);
        }
        if operation.is_none() && lead.finding.server().is_some() {
            list.extend(server_clauses::context(lead, self.events));
            list.extend(self.changed_servers(lead));
        }
        list.extend(history::clause(self.list, incident));
        list.sort_by_key(|clause| clause.kind);
        let verdict = IncidentVerdict {
            at_ns: self.at.unix_ns(),
            alerts: incident.alerts.len() as u64,
            recordings: self.recordings_of(incident),
            class,
            clauses: list,
        };
        Some((verdict, onset))
    }

    fn recordings_of(&self, incident: &IncidentRecord) -> u64 {
        waits::arrived(&waits::of_incident(self.recordings, incident), self.newest, self.at)
    }

    /// What the requests of an alert, and the samples of its servers, say; `None` without suspects.
    fn of_requests(
        &self,
        incident: &IncidentRecord,
        alert: &Alert,
    ) -> Option<(Vec<Clause>, Option<CauseClass>, Option<Timestamp>)> {
        if let Some(traffic) = alert.finding.operation().and_then(traffic_clauses::of) {
            // What the requests take that still arrive says nothing about it.
            let clauses = std::iter::once(finding_clause(alert)).chain(traffic.clauses).collect();
            return Some((clauses, traffic.class, traffic.onset));
        }
        let mut report = self.report(alert)?;
        if let Some(finding) = alert.finding.operation() {
            put_subject_first(finding, &mut report.suspects);
        }
        let lead = report.suspects.iter().find(|suspect| suspect.stands_out);
        let onset = lead.and_then(|lead| report.onset_of(lead)).map(|onset| onset.at);
        let changes = self.changes(&report);
        let requests = waits::of_incident(self.recordings, incident);
        if requests.is_empty() && incident.state == IncidentState::Open {
            waits::request(self.recordings, incident, &report, self.at);
        }
        let is_here = waits::arrived(&requests, self.newest, self.at) == RECORDINGS;
        let kernel = is_here.then(|| waits::comparison(self.recordings, &requests, &report, self.reader));
        let kernel = kernel.flatten();
        report.conclude(OtherEvidence {
            changes: changes.as_ref(),
            kernel: kernel.as_ref(),
            events_known: !self.events.is_empty(),
        });
        let mut list = report.clauses;
        // The window of the alert may show less than when it fired; then its finding stands.
        if !list.iter().any(|clause| clause.kind == ClauseKind::What) {
            list.insert(0, finding_clause(alert));
        }
        Some((list, report.cause.map(|cause| cause.class), onset))
    }

    /// The diagnosis of the window of an alert against the time before it.
    fn report(&self, alert: &Alert) -> Option<Report> {
        let (window, baseline) = (Window::from(alert.window), self.usual(alert));
        let sample = self.reader.requests(&[window, baseline]).ok()?;
        let requests = &sample.requests;
        let facts = InputFacts { events: self.events.around(window), ..stored_facts(requests) };
        let report = compare(requests, window, baseline, &facts, LocalEngine::new(self.reader.threads));
        (report.verdict == Verdict::Suspects).then_some(report)
    }

    /// The baseline of the finding, unless the slow-down reaches into it.
    fn usual(&self, alert: &Alert) -> Window {
        match alert.baseline.until_ns <= alert.healthy_ns.max(alert.since_ns) {
            true => alert.baseline.into(),
            false => self.detection.baseline_before(Timestamp::from_unix_ns(alert.healthy_ns)),
        }
    }

    /// What changed in the CPU of the servers that the lead suspect is slow on; `None` without their samples.
    fn changes(&self, report: &Report) -> Option<ChangeReport> {
        let lead = report.suspects.iter().find(|suspect| suspect.stands_out)?;
        let window = report.window?;
        let since = window.since.minus(SAMPLES_BEFORE);
        let tiers = if lead.replicas.is_empty() { vec![lead.service.clone()] } else { Vec::new() };
        // The samples of healthy peers show whether another process runs there instead.
        let seen = report.heat_map.as_ref().map_or(&[][..], |map| &map.replicas);
        let peers = seen.iter().filter(|replica| !lead.replicas.contains(replica)).take(PEERS_MAX);
        let servers = if lead.replicas.is_empty() {
            Vec::new()
        } else {
            lead.replicas.iter().chain(peers).cloned().collect()
        };
        let selected = WindowSettings { servers, tiers, with_machines: true, ..WindowSettings::default() };
        let window = Window { since, until: window.until };
        self.changes_of(window, &selected)
            .or_else(|| self.changes_of(window, &WindowSettings { with_machines: false, ..selected }))
    }

    /// On which servers of its tier the change is that a server's alert is about.
    fn changed_servers(&self, alert: &Alert) -> Option<Clause> {
        let finding = alert.finding.server().filter(|server| !server.tier.is_empty())?;
        let onset = alert.finding.onset_ns().map(Timestamp::from_unix_ns)?;
        let window =
            Window { since: onset.minus(SAMPLES_BEFORE), until: self.newest.unwrap_or(self.at).max(onset) };
        let selected = WindowSettings { tiers: vec![finding.tier.clone()], ..WindowSettings::default() };
        let report = self.changes_of(window, &selected)?;
        server_clauses::changed(&report.events, &finding.server, onset)
    }

    /// `None` without samples, or with those of too many servers.
    fn changes_of(&self, window: Window, selected: &WindowSettings) -> Option<ChangeReport> {
        let table = windows_of(self.reader, window, selected).ok()??;
        if table.servers.len() > SERVERS_MAX {
            return None;
        }
        let settings = ChangesSettings::default();
        changes(&ChangesQuestion {
            table: &table,
            facts: &SampleFacts::default(),
            deployments: &[],
            settings: &settings,
            threads: self.reader.threads,
        })
        .ok()
    }
}

/// Puts what the alert is about before suspects that do not explain it: failures before what takes longer, and an operation before
/// those that other requests call.
fn put_subject_first(finding: &Finding, suspects: &mut [Suspect]) {
    let is_same = |suspect: &Suspect| {
        (&suspect.service, &suspect.operation) == (&finding.service, &finding.operation) && suspect.stands_out
    };
    let Some(index) = suspects.iter().position(is_same) else { return };
    let explains = |other: &Suspect| {
        other.categories.iter().any(|category| suspects[index].categories.contains(category))
    };
    let is_first = finding.has_errors() || !suspects[..index].iter().any(explains);
    if is_first {
        suspects[..=index].rotate_right(1);
    }
}

/// The verdict of an alert without a diagnosis.
fn finding_clause(alert: &Alert) -> Clause {
    let source = match alert.finding {
        AlertFinding::Operation(_) | AlertFinding::Objective(_) => EvidenceSource::Traces,
        AlertFinding::Server(_) => EvidenceSource::Samples,
    };
    Clause {
        kind: ClauseKind::What,
        text: alert.finding.summary(),
        certainty: Certainty::Shown,
        sources: vec![source],
    }
}
