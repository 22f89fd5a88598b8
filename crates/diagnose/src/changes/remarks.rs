//! What was ruled out, what limits trust, what is missing; whole sentences.

use super::ToldDeployment;
use super::observed::ObservedServer;
use crate::views::rfc3339;
use laggard_report::{ChangeEventKind, ChangeReport, ChangeVerdict, SegmentState, ServerChanges};
use laggard_samples::WindowTable;

/// A name in backticks, without any of its own.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// A server at the start of a sentence.
pub(super) fn server_name(server: &str, tier: &str) -> String {
    match (server, tier) {
        ("", "") => "The server".to_owned(),
        ("", tier) => format!("The server of tier {}", quoted(tier)),
        (server, _) => quoted(server),
    }
}

/// What is worth knowing of how a server was observed.
pub(super) fn observed_cautions(server: &ServerChanges, observed: &ObservedServer) -> Vec<String> {
    let name = server_name(&server.server, &server.tier);
    let mut out = Vec::new();
    if observed.pooled > 0 {
        out.push(format!(
            "{name}: the {} least frequent transaction types are pooled as `(other)`; what changes in one of them is seen \
             only in their sum.",
            observed.pooled
        ));
    }
    if observed.sharing > 1 {
        out.push(format!(
            "{name}: no sample tells which server served which transaction; those of the system were divided evenly \
             among {} servers.",
            observed.sharing
        ));
    }
    if observed.overlapping > 0 {
        out.push(format!(
            "{name}: outbound calls took longer than the transaction that made them in {} cases (a type in a window); its \
             time at the server is unknown there.",
            observed.overlapping
        ));
    }
    if observed.observations.response_s.rows() == 0 {
        out.push(format!(
            "{name}: no response times of its own are known, so that changes cannot be checked against the times of \
             single transactions."
        ));
    } else if !observed.cores_known {
        out.push(format!(
            "{name}: its cores are not known; 1 was assumed (--cores). Service times under load depend on it."
        ));
    }
    out
}

/// What was looked at and found fine.
pub(super) fn ruled_out(report: &ChangeReport, deployments: &[ToldDeployment]) -> Vec<String> {
    let mut out = Vec::new();
    let moved = count(report, ChangeEventKind::WorkloadChange);
    if moved > 0 {
        let times = if moved == 1 { "once".to_owned() } else { format!("{moved} times") };
        out.push(format!(
            "The transaction mix moved {times} and the model still held: that was the load, not the application."
        ));
    }
    out.extend(report.servers.iter().filter_map(unchanged));
    let steady: Vec<&ServerChanges> = report
        .servers
        .iter()
        .filter(|server| server.verdict <= ChangeVerdict::WorkloadChange && judged(server))
        .collect();
    if !steady.is_empty() && steady.len() < report.servers.len() {
        out.push(format!(
            "No change of the application on {} of {} servers.",
            steady.len(),
            report.servers.len()
        ));
    }
    let followed = |deployment: &ToldDeployment| {
        let changes = report.servers.iter().flat_map(|server| &server.changes);
        changes
            .filter_map(|change| change.deployment.as_ref())
            .any(|it| it.at_ns == deployment.time.unix_ns())
    };
    let window = report.input.window.as_ref();
    for deployment in deployments.iter().filter(|deployment| !followed(deployment)) {
        let at = deployment.time.unix_ns();
        if window.is_some_and(|window| (window.since_ns..window.until_ns).contains(&at)) {
            out.push(format!(
                "No change of cost followed deployment {} at {}.",
                quoted(&deployment.name),
                rfc3339(deployment.time)
            ));
        }
    }
    out
}

fn judged(server: &ServerChanges) -> bool {
    server.verdict != ChangeVerdict::InsufficientData
}

fn count(report: &ChangeReport, kind: ChangeEventKind) -> usize {
    report.events.iter().filter(|event| event.kind == kind).count()
}

/// Transactions that did not change at the last application change.
fn unchanged(server: &ServerChanges) -> Option<String> {
    let last =
        server.changes.iter().rev().find(|change| change.kind == ChangeEventKind::ApplicationChange)?;
    let compared = last.signature.iter().filter(|row| row.before_s.is_finite() && row.after_s.is_finite());
    let (all, same) = (compared.clone().count(), compared.filter(|row| !row.changed).count());
    let name = server_name(&server.server, &server.tier);
    (same > 0 && same < all)
        .then(|| format!("{name}: the service time of {same} of {all} transactions did not change."))
}

/// What limits trust in the whole.
pub(super) fn cautions(
    report: &ChangeReport,
    table: &WindowTable,
    deployments: &[ToldDeployment],
) -> Vec<String> {
    let mut out = Vec::new();
    let pending = report.servers.iter().filter(|server| {
        server.segments.last().is_some_and(|segment| segment.state == SegmentState::Pending)
    });
    for server in pending {
        let windows = server.segments.last().map_or(0, |segment| segment.windows);
        out.push(format!(
            "{}: the last {windows} windows are too few to judge yet.",
            server_name(&server.server, &server.tier)
        ));
    }
    let gaps = report.input.gaps;
    if gaps * 10 > report.input.windows {
        out.push(format!(
            "{gaps} of {} windows have no transactions; a change inside a gap is dated to its edges only.",
            report.input.windows
        ));
    }
    for deployment in deployments {
        let at = deployment.time;
        if at < table.since
            || report.input.window.as_ref().is_some_and(|window| at.unix_ns() >= window.until_ns)
        {
            out.push(format!(
                "Deployment {} at {} lies outside the data.",
                quoted(&deployment.name),
                rfc3339(at)
            ));
        }
    }
    out
}
