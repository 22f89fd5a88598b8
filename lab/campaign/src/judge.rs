//! A run against its truth.

use crate::CampaignError;
use crate::clauses::Claim;
use crate::incidents::{ListedIncident, Snapshot, read};
use crate::peers;
use crate::recording::Recording;
use crate::results::{Detection, RunResult};
use crate::rules;
use crate::truth::FaultTruth;

/// How far the onset may be from the truth: two evaluations.
const ONSET_S_MAX: f64 = 120.0;

/// Judges a recording.
///
/// # Errors
/// When a part of it cannot be read.
pub(crate) fn judge(recording: &Recording) -> Result<RunResult, CampaignError> {
    let truth: FaultTruth = recording.json("truth.json")?;
    let snapshots = read(recording)?;
    let conditions = &recording.conditions;
    let alarms = rules::alarms(recording, &recording.normal()?)?;
    let last = snapshots.last().map(|snapshot| snapshot.incidents.as_slice()).unwrap_or_default();
    let (early, late): (Vec<_>, Vec<_>) =
        last.iter().partition(|incident| incident.opened_ns <= conditions.began_ns);
    let mut late: Vec<&ListedIncident> = late;
    late.sort_by_key(|incident| incident.opened_ns);
    let detection = detection(&late, &snapshots, &truth, recording);
    let early: Vec<String> = early.iter().map(|incident| incident.headline.clone()).collect();
    Ok(RunResult {
        run: recording.name(),
        fault: conditions.fault.clone(),
        summary: truth.summary.clone(),
        is_harmless: truth.is_harmless(),
        expected: truth.target(),
        causes: truth.causes().iter().map(|&cause| cause.to_owned()).collect(),
        began_ns: conditions.began_ns - conditions.moved_ns,
        minutes: (conditions.ended_ns - conditions.began_ns) as f64 / 6e10,
        clients: conditions.clients,
        machine: conditions.machine.clone(),
        nice: conditions.nice,
        load: (conditions.load_before, conditions.load_after),
        is_replay: conditions.moved_ns != 0,
        agents: conditions.agents,
        detection,
        early,
        rules: alarms,
        peers: peers::answers(recording, &truth)?,
        note: None,
    })
}

/// The incidents that opened during the fault: the one that is right, else the first.
fn detection(
    late: &[&ListedIncident],
    snapshots: &[Snapshot],
    truth: &FaultTruth,
    recording: &Recording,
) -> Option<Detection> {
    let onset_ns = truth.onset_unix_ns + recording.conditions.moved_ns;
    let is_right = |incident: &&&ListedIncident| names_target(incident, truth, onset_ns);
    let lead = late.iter().find(is_right).or(late.first())?;
    let claim = Claim::from_incident(lead);
    let onset_error_s = onset_error_s(lead, onset_ns);
    let others = late.iter().filter(|incident| incident.id != lead.id);
    let mut false_statements = false_statements(lead, &claim, truth, names_target(lead, truth, onset_ns));
    false_statements.extend(others.flat_map(|incident| {
        let claim = Claim::from_incident(incident);
        let is_right = is_target(&claim, truth);
        (!is_right).then(|| format!("another incident: {}", incident.headline))
    }));
    if let Some(onset_error_s) = onset_error_s.filter(|error_s| error_s.abs() > ONSET_S_MAX) {
        false_statements.push(format!("it began {onset_error_s:+.0} s from the truth"));
    }
    let first = snapshots
        .iter()
        .flat_map(|snapshot| &snapshot.incidents)
        .find(|incident| incident.id == lead.id && incident.verdict_ns.is_some());
    Some(Detection {
        minutes: (lead.opened_ns - onset_ns) as f64 / 6e10,
        incidents: late.len(),
        first_verdict: first.map(|incident| incident.headline.clone()).unwrap_or_default(),
        headline: lead.clause("what").unwrap_or(&lead.headline).to_owned(),
        place: lead.clause("where").unwrap_or_default().to_owned(),
        class: lead.class.clone(),
        is_target: names_target(lead, truth, onset_ns),
        is_target_at_first: first.is_some_and(|incident| names_target(incident, truth, onset_ns)),
        is_replica: replicas_are_right(&claim, truth),
        is_cause: lead.class.as_ref().is_some_and(|class| truth.has_cause(class)),
        onset_error_s,
        kernel: lead.clause("wait").map(str::to_owned),
        clauses: lead.clauses.clone(),
        false_statements,
    })
}

/// The start of an incident less the onset, in seconds; `None` if the verdict says that the start is not known.
fn onset_error_s(incident: &ListedIncident, onset_ns: i64) -> Option<f64> {
    let since = incident.clauses.iter().find(|clause| clause.kind == "since")?;
    (since.certainty != "possible").then_some((incident.since_ns - onset_ns) as f64 / 1e9)
}

/// Whether an incident names the target. Where the truth is a service or a machine, many names are right: then it must not have
/// begun long before the fault.
fn names_target(incident: &ListedIncident, truth: &FaultTruth, onset_ns: i64) -> bool {
    let is_vague = truth.all().iter().all(|truth| truth.operation.is_none() && truth.edge.is_none());
    let is_earlier = onset_error_s(incident, onset_ns).is_some_and(|error_s| error_s < -ONSET_S_MAX);
    is_target(&Claim::from_incident(incident), truth) && !(is_vague && is_earlier)
}

/// Whether the first name is that of the fault: its edge, operation, or service; of a fault of the whole machine, anything.
fn is_target(claim: &Claim, truth: &FaultTruth) -> bool {
    truth.all().into_iter().any(|truth| is_target_of(claim, truth))
}

fn is_target_of(claim: &Claim, truth: &FaultTruth) -> bool {
    if let Some(edge) = &truth.edge {
        return claim.edge.as_ref() == Some(edge);
    }
    let Some(service) = &truth.service else { return truth.is_everywhere };
    let Some((named, operation)) = &claim.operation else {
        // Of a service without an operation, waits in front of it are right as well.
        return truth.operation.is_none()
            && claim.edge.as_ref().is_some_and(|(caller, callee)| caller == service || callee == service);
    };
    named == service && truth.operation.as_ref().is_none_or(|expected| expected == operation)
}

/// Whether exactly the right replicas are named, and the tenant if there is one.
fn replicas_are_right(claim: &Claim, truth: &FaultTruth) -> bool {
    let is_right = |truth: &FaultTruth| {
        let mut named = claim.replicas.clone();
        let mut expected = truth.replicas.clone();
        named.sort();
        expected.sort();
        let tenant = truth.tenant.as_ref();
        named == expected
            && tenant.is_none_or(|tenant| claim.attribute.as_ref().is_some_and(|(_, value)| value == tenant))
    };
    truth.all().into_iter().any(is_right)
}

/// Statements that contradict the truth, as far as a program can see: the first name, replicas, the class of cause where it is
/// said to be likely or shown, and classes ruled out.
fn false_statements(
    incident: &ListedIncident,
    claim: &Claim,
    truth: &FaultTruth,
    is_target: bool,
) -> Vec<String> {
    let mut out = Vec::new();
    if truth.is_harmless() {
        out.push(format!("nothing is wrong: {}", incident.headline));
        return out;
    }
    if !is_target {
        out.push(format!("what: {}", incident.clause("what").unwrap_or(&incident.headline)));
    }
    let known: Vec<&String> = truth.all().into_iter().flat_map(|truth| &truth.replicas).collect();
    let wrong: Vec<&str> =
        claim.replicas.iter().filter(|name| !known.contains(name)).map(String::as_str).collect();
    if !wrong.is_empty() {
        out.push(format!("where: it is not limited to {}", wrong.join(", ")));
    }
    let location = incident.clause("where").unwrap_or_default();
    if !known.is_empty() && location.contains("On all ") {
        out.push(format!("where: {location}"));
    }
    let cause =
        incident.clauses.iter().find(|clause| clause.kind == "cause" && clause.certainty != "possible");
    if let (Some(clause), Some(class)) = (cause, &incident.class)
        && !truth.has_cause(class)
    {
        out.push(format!("cause: {}", clause.text));
    }
    let ruled_out = incident.clause("ruled-out").unwrap_or_default();
    // What is true of some replicas alone is a matter of replicas, whatever its class.
    let of_replicas = (!known.is_empty()).then_some("machine");
    for class in truth.all().into_iter().filter_map(|truth| truth.cause.as_deref()).chain(of_replicas) {
        if ruled_out.contains(&format!("Not {}", ruled_out_phrase(class))) {
            out.push(format!("ruled out, but true: {ruled_out}"));
        }
    }
    out
}

/// How *Ruled out* names a class.
fn ruled_out_phrase(class: &str) -> &'static str {
    match class {
        "code" => "the code",
        "configuration" => "a setting or a limit",
        "load" => "the load",
        "machine" => "one replica or its machine",
        "foreign-load" => "other processes on the machine",
        "network" => "the network, or a queue",
        "waiting" => "waiting without CPU",
        "dependency" => "something that is called",
        "errors" => "errors",
        "data" => "what is asked for",
        _ => "uneven load",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents::StatedClause;

    fn truth() -> FaultTruth {
        FaultTruth {
            service: Some("store".to_owned()),
            operation: Some("GET /item".to_owned()),
            replicas: vec!["store-2".to_owned()],
            cause: Some("waiting".to_owned()),
            also: vec!["machine".to_owned()],
            ..FaultTruth::default()
        }
    }

    fn incident(what: &str, location: &str, class: &str) -> ListedIncident {
        let clause = |kind: &str, text: &str| StatedClause {
            kind: kind.to_owned(),
            certainty: "likely".to_owned(),
            text: text.to_owned(),
        };
        ListedIncident {
            clauses: vec![clause("what", what), clause("where", location), clause("cause", "Likely so.")],
            class: Some(class.to_owned()),
            ..ListedIncident::default()
        }
    }

    /// An incident that rules out one replica.
    fn incident_with(what: &str, location: &str) -> ListedIncident {
        let mut incident = incident(what, location, "waiting");
        let text = "Not one replica or its machine: it is slow on all 3 replicas alike.".to_owned();
        let certainty = "likely".to_owned();
        incident.clauses.push(StatedClause { kind: "ruled-out".to_owned(), certainty, text });
        incident
    }

    #[test]
    fn a_right_verdict_has_no_false_statement() {
        let incident =
            incident("`store` operation `GET /item`: 61 ms.", "On 1 of 3 replicas (store-2).", "machine");
        let claim = Claim::from_incident(&incident);
        assert!(is_target(&claim, &truth()) && replicas_are_right(&claim, &truth()));
        assert_eq!(
            false_statements(&incident, &claim, &truth(), is_target(&claim, &truth())),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_contradicts_the_truth_is_listed() {
        let incident =
            incident("`store` operation `GET /home`: 61 ms.", "On 1 of 3 replicas (store-1).", "code");
        let claim = Claim::from_incident(&incident);
        let listed = false_statements(&incident, &claim, &truth(), is_target(&claim, &truth()));
        assert_eq!(listed.len(), 3, "{listed:?}");
        let everywhere = incident_with("`store` operation `GET /item`: 61 ms.", "On all 3 replicas.");
        let of_everywhere = Claim::from_incident(&everywhere);
        let listed = false_statements(&everywhere, &of_everywhere, &truth(), true);
        assert!(listed[0].starts_with("where: On all") && listed[1].starts_with("ruled out"), "{listed:?}");
        let harmless = FaultTruth::default();
        assert!(false_statements(&incident, &claim, &harmless, false)[0].starts_with("nothing is wrong"));
    }

    #[test]
    fn an_edge_and_the_parts_of_two_faults_are_scored_by_name() {
        let edge = ("store".to_owned(), "recommendations".to_owned());
        let on_edge = FaultTruth { edge: Some(edge.clone()), service: None, ..truth() };
        let claim = Claim { edge: Some(edge), ..Claim::default() };
        assert!(is_target(&claim, &on_edge) && !is_target(&claim, &truth()));
        let both = FaultTruth { more: vec![truth(), on_edge], ..FaultTruth::default() };
        assert!(is_target(&claim, &both) && both.has_cause("machine"));
    }

    #[test]
    fn an_earlier_incident_of_the_service_is_a_different_one() {
        let of_service = FaultTruth { operation: None, replicas: vec![], ..truth() };
        let mut incident = incident("`store` operation `SELECT`: 3 ms.", "On all 3 replicas.", "waiting");
        incident.clauses.push(StatedClause {
            kind: "since".to_owned(),
            certainty: "shown".to_owned(),
            text: "22:08:10 UTC".to_owned(),
        });
        incident.since_ns = 1_000_000_000_000;
        assert!(names_target(&incident, &of_service, 1_060_000_000_000));
        assert!(!names_target(&incident, &of_service, 1_600_000_000_000));
    }
}
