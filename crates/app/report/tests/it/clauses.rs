//! The clauses of an incident with hand-written suspects and samples.

use crate::cause::{samples, slow};
use crate::fixtures::{against_baseline, all_replicas, healthy, kernel_diagnosis as kernels, three_replicas};
use laggard_model::Nanos;
use laggard_report::*;

fn clauses(report: &Report, other: OtherEvidence<'_>) -> Vec<Clause> {
    let mut report = report.clone();
    report.conclude(other);
    report.clauses
}

fn of(report: &Report) -> Vec<Clause> {
    clauses(report, OtherEvidence::default())
}

fn text(clauses: &[Clause], kind: ClauseKind) -> Option<&str> {
    clauses.iter().find(|clause| clause.kind == kind).map(|clause| clause.text.as_str())
}

#[test]
fn there_are_no_clauses_without_suspects() {
    assert_eq!(of(&healthy()), []);
}

#[test]
fn clauses_are_complete_and_in_order() {
    let mut report = slow(three_replicas(), 0.5, &["a"]);
    let window = report.window.unwrap();
    let time = window.since.plus(Nanos::from_secs(300));
    let (earliest, latest) = (time.minus(Nanos::from_secs(30)), time.plus(Nanos::from_secs(10)));
    report.suspects[0].onset = Some(Onset { at: time, earliest, latest });
    let all = of(&report);
    let kinds: Vec<ClauseKind> = all.iter().map(|clause| clause.kind).collect();
    let mut sorted = kinds.clone();
    sorted.sort();
    assert_eq!(kinds, sorted);
    let lead = &report.suspects[0];
    let what = text(&all, ClauseKind::What).unwrap();
    assert!(what.contains(&format!("`{}`", lead.operation)), "{what}");
    assert_eq!(text(&all, ClauseKind::Where), Some("On 1 of 3 replicas (a)."));
    let since = text(&all, ClauseKind::Since).unwrap();
    assert!(since.contains(" UTC (") && since.starts_with("20"), "{since}");
    let impact = text(&all, ClauseKind::Impact).unwrap();
    assert!(
        impact.contains("users lose 1,800 s an hour") || impact.contains("users lose 1800 s an hour"),
        "{impact}"
    );
    assert!(text(&all, ClauseKind::Cause).unwrap().contains("one replica or its machine"));
}

#[test]
fn a_slowdown_with_unknown_onset_may_have_started_earlier() {
    let report = slow(against_baseline(), 0.5, &[]);
    let all = of(&report);
    let since = all.iter().find(|clause| clause.kind == ClauseKind::Since).unwrap();
    assert!(since.text.contains("or earlier") && since.certainty == Certainty::Possible);
}

#[test]
fn a_suspect_of_the_only_slow_period_is_slow_since_that_began() {
    let mut report = slow(against_baseline(), 0.5, &[]);
    let (lead, window) = (&mut report.suspects[0], report.window.unwrap());
    lead.evidence = vec!["period".to_owned()];
    let time = window.since.plus(Nanos::from_secs(300));
    let suspects = vec![IncidentSuspect {
        service: lead.service.clone(),
        operation: lead.operation.clone(),
        between: None,
        factor: 9.0,
        effect_ns: 1,
        share: 1.0,
    }];
    let period = Incident {
        time: Window { since: time, until: window.until.minus(Nanos::from_secs(5)) },
        excess_share: 8.0,
        onset: Some(Onset { at: time, earliest: time, latest: time }),
        suspects,
    };
    let since = |incidents: &[Incident]| {
        let report = Report { incidents: incidents.to_vec(), ..report.clone() };
        let clauses = of(&report);
        clauses.into_iter().find(|clause| clause.kind == ClauseKind::Since).unwrap().certainty
    };
    assert_eq!(since(std::slice::from_ref(&period)), Certainty::Shown);
    assert_eq!(since(&[period.clone(), period]), Certainty::Possible, "since which of them?");
    assert_eq!(since(&[]), Certainty::Possible);
}

#[test]
fn sample_clauses_name_remaining_capacity_and_unexplained_cpu() {
    let report = slow(three_replicas(), 0.5, &["a"]);
    let changes = samples(&report, &[("a", 1.0)]);
    let other = OtherEvidence { changes: Some(&changes), ..OtherEvidence::default() };
    let all = clauses(&report, other);
    let capacity = text(&all, ClauseKind::Capacity).unwrap();
    // Of four cores 20.5 % were busy, and one more is.
    assert!(
        capacity.starts_with("The CPU of a is 45 % busy since then; 2.20 times the load would fill it."),
        "{capacity}"
    );
    assert!(capacity.contains("1.00 cores of it are more"), "{capacity}");
    let calm = samples(&report, &[]);
    let other = OtherEvidence { changes: Some(&calm), ..OtherEvidence::default() };
    let capacity = clauses(&report, other);
    assert!(!text(&capacity, ClauseKind::Capacity).unwrap().contains("cores of it are more"));
}

#[test]
fn the_absence_of_a_change_is_stated_only_where_changes_are_known() {
    let mut report = slow(all_replicas(), 0.5, &[]);
    let time = report.window.unwrap().since.plus(Nanos::from_secs(300));
    report.suspects[0].onset = Some(Onset { at: time, earliest: time, latest: time });
    report.suspects[0].events.clear();
    assert_eq!(text(&of(&report), ClauseKind::Change), None);
    let other = OtherEvidence { events_known: true, ..OtherEvidence::default() };
    let all = clauses(&report, other);
    assert!(text(&all, ClauseKind::Change).unwrap().starts_with("No deployment"));
}

#[test]
fn the_text_is_limited_to_the_requested_lines() {
    let report = slow(three_replicas(), 0.5, &["a"]);
    let all = of(&report);
    assert!(all.len() > 3);
    assert_eq!(clauses_text(&all, 3).lines().count(), 3);
    let text = clauses_text(&all, 10);
    assert_eq!(text.lines().count(), all.len());
    assert!(text.lines().nth(1).unwrap().starts_with("Where: "), "{text}");
}

#[test]
fn the_wait_of_slow_executions_is_a_clause_in_every_output() {
    let mut report = slow(three_replicas(), 0.5, &["a"]);
    let kernel = kernels::slower();
    report.conclude(OtherEvidence { kernel: Some(&kernel), ..OtherEvidence::default() });
    let clause = report.clauses.iter().find(|clause| clause.kind == ClauseKind::Wait).unwrap();
    assert_eq!((clause.text.as_str(), clause.certainty), (kernel.headline.as_str(), Certainty::Shown));
    assert_eq!(clause.sources, [EvidenceSource::Kernel]);
    for output in [Output::Text, Output::Markdown, Output::Html] {
        let mut out = Vec::new();
        let style = TextStyle { color: ColorChoice::Off, width: 100 };
        render(output, &report, &style, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Waits for"), "{text}");
    }
}

#[test]
fn a_change_is_stated_with_its_time_where_the_onset_is_not_known() {
    let mut report = slow(all_replicas(), 0.5, &[]);
    let service = report.suspects[0].service.clone();
    let time = report.window.unwrap().since;
    let deployed = |service: &str, version: &str| SystemEvent {
        version: Some(version.to_owned()),
        ..SystemEvent::declared(SystemEventKind::Deployment, service.to_owned(), time)
    };
    report.suspects[0].events.clear();
    report.events = vec![deployed(&service, "1.4.3"), deployed("another", "2.0")];
    let all = of(&report);
    let change = text(&all, ClauseKind::Change).unwrap();
    assert!(change.starts_with(&format!("Version `1.4.3` of `{service}` was deployed at ")), "{change}");
    assert!(change.ends_with("whether it began before or after that."), "{change}");
    report.events.remove(0);
    assert_eq!(text(&of(&report), ClauseKind::Change), None, "that of another service says nothing");
}
